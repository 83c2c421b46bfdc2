"""What SHOW WATERLINES tells: each column with LATENESS or WATERMARK, what it has seen, what waits, what was late."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.runtime.holding import Holding
from penstock.runtime.lateness import LateColumn, TableLateness
from penstock.runtime.rejected import FUTURE, INFINITE, LATE


@dataclass(frozen=True)
class WaterlineFact:
    """One column: its waterline (None before any row), the largest value seen, and rows of its relation.

    `late` counts the rows of the relation that were late, `set_aside` those with an impossible value, `held` those
    that WATERMARK holds back now; `waits_for` says in words what moves the waterline.
    """

    relation: str
    column: str
    waterline: Any
    seen: Any
    late: int
    set_aside: int
    held: int
    waits_for: str

    @property
    def name(self) -> str:
        """The column as `relation.column`."""
        return f"{self.relation}.{self.column}"


def facts_of(
    relation: str, lateness: TableLateness, holding: Holding, rejected: Mapping[tuple[str, str], int]
) -> Iterator[WaterlineFact]:
    """The facts about one relation."""
    late = rejected.get((relation, LATE), 0)
    aside = rejected.get((relation, FUTURE), 0) + rejected.get((relation, INFINITE), 0)
    for item in lateness.columns:
        found = lateness.waterline(item)
        line = holding.line(item.column.name, found.at)
        yield WaterlineFact(relation, item.column.name, line, found.seen, late, aside, holding.count, _waits_for(item))
    with_lateness = {item.column.name for item in lateness.columns}
    for held in holding.columns:
        if held.column.name not in with_lateness:
            seen = holding.seen.get(held.name)
            waits = f"rows wait for {held.column.watermark} later ones"
            yield WaterlineFact(relation, held.column.name, None, seen, late, aside, holding.count, waits)


def _waits_for(item: LateColumn) -> str:
    lateness = item.column.lateness
    if item.rows is not None:
        return f"{item.rows} larger values"
    return "a larger value" if lateness is None else f"a value more than {lateness.bound} above it"
