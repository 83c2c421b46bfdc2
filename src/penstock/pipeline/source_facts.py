"""The standing of each source: how far it is, what waits, how quickly rows come, and what went wrong last.

The run loop tells a meter what it has read; whoever asks is given what the meter has noted, and waits for no step.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from penstock.catalog.model import Table
from penstock.pipeline.source_positions import OF_A_RANGE
from penstock.sources.api import TableSource
from penstock.sources.lag import Lag, Troubled, lag_of
from penstock.steps.rows.rejected import Rejected

_SHOWN = 8  # streams whose positions are shown
_LENGTH = 300
_NOT_YET = "not read yet"
_TAKEN = "taken"


@dataclass(frozen=True, slots=True)
class SourceFact:
    """The standing of a table's source.

    `position` has, for each stream that was read, what tells it apart and `at`, behind which it goes on; it is that of
    the last step. `rows` counts those that have been read in this process. `idle_since` is None while rows come.
    Times are UTC; `error` is what it met last, a broken row or a receiver that was away, at `error_at`.
    """

    table: str
    source: str
    connector: str
    state: str
    position: tuple[Mapping[str, Any], ...]
    lag: Lag
    rows: int
    rows_per_second: float
    idle_since: datetime | None
    error: str
    error_at: datetime | None

    @property
    def position_text(self) -> str:
        """The position on one line: of many streams those that were read last."""
        return position_text(self.position)


@dataclass
class Meter:
    """The meter of one source."""

    source: TableSource
    now: Callable[[], float] = time.time
    rows: int = 0
    rows_per_second: float = 0.0
    lag: Lag | None = None
    error: str = ""
    error_at: float | None = None
    failed: bool = False
    _idle: float | None = None
    _counted: tuple[float, int] = field(default=(0.0, 0))

    def __post_init__(self) -> None:
        """Nothing has come yet."""
        self._idle = self.now()
        self._counted = self._idle, 0

    @property
    def idle_seconds(self) -> float:
        """The seconds for which nothing has come."""
        return 0.0 if self._idle is None else max(0.0, self.now() - self._idle)

    def looked(self, rows: int) -> None:
        """A look has brought so many rows."""
        self.failed = False
        if rows:
            self._idle = None
        elif self._idle is None:
            self._idle = self.now()

    def stepped(self, rows: int) -> None:
        """A step has taken so many rows."""
        self.rows += rows

    def met(self, error: str, *, failed: bool = False) -> None:
        """Something is wrong; with `failed` nothing more comes."""
        self.error, self.error_at, self.failed = error, self.now(), failed

    def measure(self) -> Lag:
        """Take note of the lag, of the rate since the last time, and of what the source has trouble with."""
        if isinstance(self.source, Troubled) and (trouble := self.source.trouble()):
            self.met(trouble)
        at, (since, before) = self.now(), self._counted
        if at > since:
            self.rows_per_second = (self.rows - before) / (at - since)
            self._counted = at, self.rows
        self.lag = lag_of(self.source)
        return self.lag

    def fact(self, taken: Iterable[Mapping[str, Any]]) -> SourceFact:
        """The standing now, where the steps so far have taken this."""
        source = self.source
        return SourceFact(
            source.table.name,
            source.describe(),
            source.table.properties["connector"].lower(),
            self._state(),
            _positions(taken),
            self.lag or Lag(),
            self.rows,
            self.rows_per_second,
            _moment(self._idle),
            self.error,
            _moment(self.error_at),
        )

    def _state(self) -> str:
        if self.failed:
            return "failed"
        if self.lag is None and not self.rows:
            return _NOT_YET
        return "reading" if self._idle is None else "idle"


class Meters:
    """The meters of a pipeline's sources, by their tables' names in lower case."""

    def __init__(self) -> None:
        self._meters: dict[str, Meter] = {}

    def of(self, source: TableSource) -> Meter:
        """The meter of a source; a source that takes the place of another begins anew."""
        name = source.table.name.lower()
        known = self._meters.get(name)
        if known is None or known.source is not source:
            known = self._meters[name] = Meter(source)
        return known

    def rejected(self, rows: Iterable[Rejected]) -> None:
        """Rows that a step has set aside: the last of each table is what its source met last."""
        last = {item.relation.lower(): item for item in rows}
        for name, item in last.items():
            if name in self._meters:
                self._meters[name].met(f"{item.message}: {item.metadata[:_LENGTH]}")


def not_read_yet(table: Table, taken: Iterable[Mapping[str, Any]]) -> SourceFact:
    """The standing of a source that nobody has opened since the process began."""
    connector = table.properties["connector"].lower()
    source = f"{table.name} from {connector}"
    return SourceFact(table.name, source, connector, _NOT_YET, _positions(taken), Lag(), 0, 0.0, None, "", None)


def position_text(position: Sequence[Mapping[str, Any]]) -> str:
    """The positions of streams on one line: of many those that were read last."""
    shown = "; ".join(_stream_text(item) for item in position[-_SHOWN:])
    others = len(position) - _SHOWN
    return f"{shown}; and {others} others" if others > 0 else shown


def taken_text(taken: Iterable[Mapping[str, Any]]) -> str:
    """The positions behind what the steps of a directory have taken of a source, on one line."""
    return position_text(_positions(taken))


def _positions(taken: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    found = []
    for part in taken:
        for item in part.get("read", ()):
            stream = {name: value for name, value in item.items() if name not in (*OF_A_RANGE, _TAKEN)}
            if _TAKEN in item:  # one of several sources, in its own words
                found += [{**stream, **inner} for inner in _positions([item[_TAKEN]])]
            else:
                found.append({**stream, "at": item.get("to")})
    return tuple(found)


def _stream_text(item: Mapping[str, Any]) -> str:
    """A stream and the place in it: `orders/0@42`."""
    named = [str(value) for name, value in item.items() if name != "at" and isinstance(value, str | int)]
    at = item["at"]
    if isinstance(at, Mapping):
        at = next(iter(at.values())) if at else ""
    text = at if isinstance(at, str | int) else json.dumps(at, default=str)
    return (f"{'/'.join(named)}@{text}" if named else str(text))[:_LENGTH]


def _moment(at: float | None) -> datetime | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).replace(tzinfo=None, microsecond=0)
