"""Several sources of one table, one after the other: `'start_after'`.

    WITH ('connector' = 'kafka', 'topic' = 'orders', …,
          'start_after' = 'delta', 'start_after.path' = 'lake/orders')

An earlier source is what its properties say without `start_after.`; so it may itself have one before it. It is read to
the end that it has while it is read, and then the next one begins. Positions in a step's manifest have, beside what
each source says, which one it is (`source`, from 0), so a pipeline goes on in the one where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.catalog.model import Column, Table
from penstock.catalog.properties import CONNECTOR, START_AFTER, TABLE, PropertyPlace
from penstock.sources.lag import Lag, Troubled, lag_of
from penstock.sources.patience import is_awaited
from penstock.steps.rows.batch import Batch, concatenated
from penstock.steps.rows.rejected import Rejections

if TYPE_CHECKING:
    from penstock.sources.api import TableSource

_PREFIX = START_AFTER + "."
_SOURCE, _TAKEN = "source", "taken"


def earlier(table: Table, metadata: Callable[[Table], Sequence[str]]) -> Table | None:
    """The table as the source before its own sees it; None if there is none.

    `metadata` tells the names of METADATA that a table's connector fills; other such columns are filled by name.
    """
    if START_AFTER not in table.properties:
        return None
    of_table = {item.name for item in TABLE} - {START_AFTER, _PREFIX + "*"}
    given = {name: value for name, value in table.properties.items() if name in of_table}
    given |= {name.removeprefix(_PREFIX): value for name, value in table.properties.items() if name.startswith(_PREFIX)}
    found = replace(table, properties={**given, CONNECTOR: table.properties[START_AFTER]}, places=_places(table))
    known = metadata(found)
    return replace(found, columns=tuple(_filled_by_name(column, known) for column in table.columns))


def _places(table: Table) -> dict[str, PropertyPlace]:
    """The places of the properties under the names that they have for the earlier source."""
    found = {name.removeprefix(_PREFIX): item for name, item in table.places.items() if name.startswith(_PREFIX)}
    own = table.places.get(START_AFTER)
    return {**table.places, **found, **({} if own is None else {CONNECTOR: own})}


def _filled_by_name(column: Column, known: Sequence[str]) -> Column:
    return column if column.metadata is None or column.metadata in known else replace(column, metadata=None)


@dataclass
class SuccessiveSource:
    """The sources of one table, in their order; all but the last have an end."""

    table: Table
    sources: Sequence[TableSource]
    _at: int = 0
    _committed: int = 0
    _again: list[int] = field(default_factory=list)

    def read(self, rows: int, rejections: Rejections, *, ended: bool = False) -> Batch | None:
        """Up to about `rows` new rows of the source that it has come to, or those that `seek` has named."""
        if self._again:
            read = [self.sources[number].read(rows, rejections) for number in self._again]
            found = [batch for batch in read if batch is not None]
            return self._own(concatenated(found)) if found else None
        told = len(rejections.rows)
        while self._at < len(self.sources) - 1:
            batch = self.sources[self._at].read(rows, rejections, ended=True)
            if batch is not None or len(rejections.rows) > told:
                return None if batch is None else self._own(batch)
            if is_awaited(self.sources[self._at]):
                return None
            self._at += 1
        return self._own(self.sources[-1].read(rows, rejections, ended=ended))

    def _own(self, batch: Batch | None) -> Batch | None:
        """The rows as those of the table itself."""
        return None if batch is None else replace(batch, table=self.table)

    def taken(self) -> dict[str, Any]:
        """The ranges of all sources that were read, each with the number of its source."""
        read: list[dict[str, Any]] = []
        for number, source in enumerate(self.sources):
            taken = source.taken()
            if "read" in taken:
                read += [{_SOURCE: number, **item} for item in taken["read"]]
            elif taken:
                read.append({_SOURCE: number, _TAKEN: dict(taken)})
        connector = self.table.properties[CONNECTOR].lower()
        return {"connector": connector, "read": read} if read else {}

    def seek(self, taken: Mapping[str, Any]) -> None:
        """Have each source stand before what it has given to a step."""
        self._again = []
        for number, own in self._of_each(taken):
            self.sources[number].seek(own)
            self._again.append(number)
            self._at = self._committed = number

    def skip(self, taken: Mapping[str, Any]) -> None:
        """Have each source stand behind what it has given to a step."""
        for number, own in self._of_each(taken):
            self.sources[number].skip(own)
            self._at = self._committed = max(self._at, number)

    def _of_each(self, taken: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """The ranges of each source; of one that the program has got since, as before another, there are none."""
        items = taken.get("read", ())
        for number, source in enumerate(self.sources):
            mine = [item for item in items if item.get(_SOURCE, len(self.sources) - 1) == number]
            for item in mine:
                if _TAKEN in item:
                    yield number, item[_TAKEN]
            read = [{name: value for name, value in item.items() if name != _SOURCE} for item in mine]
            ranges = [item for item in read if _TAKEN not in item]
            if ranges:
                yield number, {"connector": source.table.properties[CONNECTOR].lower(), "read": ranges}

    def note_in(self, folder: Path) -> None:
        """Let each source keep its notes in a folder of its own."""
        for number, source in enumerate(self.sources):
            note_in = getattr(source, "note_in", None)
            if note_in is not None:
                note_in(folder / str(number))

    def stepped(self, number: int) -> None:
        """The step that has what was read."""
        for source in self.sources:
            stepped = getattr(source, "stepped", None)
            if stepped is not None:
                stepped(number)

    def commit(self) -> None:
        """Take note that what has been read is part of a step; those that have ended let go of what they hold."""
        for source in self.sources:
            source.commit()
        self._again = []
        for source in self.sources[self._committed : self._at]:
            _close(source)
        self._committed = self._at

    def rewind(self) -> None:
        """Go back to the last commit, in the source that it was in."""
        for source in self.sources:
            source.rewind()
        self._at = self._committed

    def waiting(self) -> tuple[int, int]:
        """Bytes and streams that wait in the sources that are not read to their end."""
        found = [source.waiting() for source in self.sources[self._at :]]
        return sum(size for size, _ in found), sum(streams for _, streams in found)

    def behind(self) -> Lag:
        """The lag of the source that is being read."""
        return lag_of(self.sources[self._at])

    @property
    def is_awaited(self) -> bool:
        """True while the source that is being read does not answer."""
        return is_awaited(self.sources[self._at])

    def remark(self) -> str:
        """The remarks of those that are not read to their end."""
        found = (getattr(source, "remark", str)() for source in self.sources[self._at :])
        return "; ".join(text for text in found if text)

    def trouble(self) -> str:
        """The error of the source that is being read."""
        source = self.sources[self._at]
        return source.trouble() if isinstance(source, Troubled) else ""

    def close(self) -> None:
        """Let go of what they hold."""
        for source in self.sources:
            _close(source)

    def describe(self) -> str:
        """The sources as their user names them, in their order."""
        prefix = f"{self.table.name} from "
        return prefix + ", then ".join(source.describe().removeprefix(prefix) for source in self.sources)


def _close(source: TableSource) -> None:
    close = getattr(source, "close", None)
    if close is not None:
        close()
