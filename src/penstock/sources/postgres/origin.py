"""The cluster that a position is one in: its system identifier and its timeline.

A server that takes over for another (a standby that is promoted, a recovery to a point in time) has the same identifier
and a new timeline, which has what was before its switch from the old one, and nothing that was written behind that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.sources.postgres.connection import Database
from penstock.sources.postgres.messages import lsn_number, lsn_text

_ORIGIN = """
SELECT (pg_control_system()).system_identifier::text, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
"""


@dataclass(frozen=True, slots=True)
class Origin:
    """A cluster, as it was."""

    system: str
    timeline: int

    def to_json(self) -> dict[str, Any]:
        """As a manifest has it."""
        return {"system": self.system, "timeline": self.timeline}

    def __str__(self) -> str:
        return f"system identifier {self.system}, timeline {self.timeline}"


def origin_from(facts: Mapping[str, Any]) -> Origin | None:
    """The origin that a manifest has, if it has one."""
    return Origin(facts["system"], facts["timeline"]) if "system" in facts else None


def origin_of(connection: Any) -> Origin:
    """The cluster at the other end of a connection."""
    system, timeline = connection.execute(_ORIGIN).fetchone()
    return Origin(system, int(timeline, 16))


def difference(known: Origin, position: int, now: Origin, database: Database) -> str | None:
    """The thing that is there in the place of what has the position; None if it is the same."""
    if now.system != known.system:
        return str(now)
    if now.timeline == known.timeline:
        return None
    switch = switch_from(_history(database, now.timeline), known.timeline)
    if switch is None:
        return f"{now}, which does not come from that one"
    return None if position <= switch else f"{now}, which has left that one at {lsn_text(switch)}"


def _history(database: Database, timeline: int) -> str:
    """The timelines that one comes from, a line each; there is none of the first."""
    if timeline == 1:
        return ""
    with database.connect(autocommit=True, replication="database") as replicating:
        found = replicating.pgconn.exec_(f"TIMELINE_HISTORY {timeline}".encode())
        return (found.get_value(0, 1) or b"").decode() if found.ntuples else ""


def switch_from(history: str, timeline: int) -> int | None:
    """Where a timeline was left, by the history of one that comes from it."""
    for line in history.splitlines():
        number, _, rest = line.strip().partition("\t")
        if number.isdigit() and int(number) == timeline:
            return lsn_number(rest.split()[0])
    return None
