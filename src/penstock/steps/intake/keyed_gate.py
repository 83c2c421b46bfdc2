"""LATENESS of a view where each value of some columns has a waterline of its own: the substreams of a standing query.

The rules are those of `gates`, key by key. A row is judged by what its own key has seen in earlier steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from penstock.analysis.declarations import late_view_columns
from penstock.backends.api import Delta, KeyedLines
from penstock.backends.columns import python_rows
from penstock.backends.gates import Parted
from penstock.backends.rows import canonical_row, python_values
from penstock.catalog.model import View
from penstock.catalog.types import Type
from penstock.plan.showing import OwnWaterline
from penstock.steps.intake.lateness import NONE_YET, LateColumn, Waterline, comparable, late_column
from penstock.steps.rows.rejected import LATE, Rejections, row_json

Lines = dict[Any, Waterline]


@dataclass(frozen=True)
class KeyedGate:
    """The waterline of each key; `changes` are those of the last step, which `lines` may lack.

    `kinds` are the types of the keys.
    """

    view: str
    late: LateColumn
    keys: tuple[int, ...]
    kinds: tuple[Type, ...]
    lines: Lines = field(default_factory=dict, compare=False)
    changes: Mapping[Any, Waterline] = field(default_factory=lambda: MappingProxyType({}))

    def parted(self, delta: Delta) -> Parted:
        """The change without its late rows."""
        self.lines.update(self.changes)  # this gate is what the last committed step has left
        delta = delta.lasting()
        rows = delta.arrow()
        keys = [canonical_row(row) for row in python_values(rows.select(list(self.keys)))]
        times = comparable(rows.column(self.late.place))
        late = [self.late.is_late(time, self.lines.get(key, NONE_YET)) for key, time in zip(keys, times, strict=True)]
        greatest: dict[Any, Any] = {}
        for key, time in zip(keys, times, strict=True):
            if time is not None and (key not in greatest or time > greatest[key]):
                greatest[key] = time
        changes = {key: self.late.moved(self.lines.get(key, NONE_YET), [time]) for key, time in greatest.items()}
        after = replace(self, changes=MappingProxyType(changes))
        if not any(late):
            return Parted(delta, None, after)
        passed = rows.filter(pa.array([not item for item in late], pa.bool_()))
        kept = delta.replaced(passed)
        return Parted(kept, self._reported(rows.filter(pa.array(late, pa.bool_()))), after)

    def _reported(self, rows: pa.Table) -> pa.Table:
        rejections = Rejections()
        for row in python_rows(rows):
            text = row_json(dict(zip(rows.column_names[:-1], row[:-1], strict=True)))
            for _ in range(abs(row[-1])):
                rejections.add(self.view, LATE, text)
        return rejections.change()

    def line(self, key: object) -> Any:
        """The waterline of a key; None if it has none yet."""
        return (self.changes.get(key) or self.lines.get(key, NONE_YET)).at

    @property
    def known(self) -> KeyedLines:
        """The waterlines of all keys."""
        lines = {**self.lines, **self.changes}
        return KeyedLines((*self.kinds, self.late.column.type), tuple((key, line.at) for key, line in lines.items()))

    def seen(self, own: OwnWaterline) -> None:
        """There is no time for all rows."""
        del own

    def closed(self, own: OwnWaterline) -> KeyedGate:
        """The filter for which all windows that have rows are over."""
        found = {
            key: replace(line, at=max(line.at or line.seen, own.end_after(line.seen)))
            for key, line in {**self.lines, **self.changes}.items()
            if line.seen is not None
        }
        return replace(self, changes=MappingProxyType(found))


def keyed_gate(view: View) -> KeyedGate:
    """The filter behind a view whose keys have waterlines of their own."""
    ((place, column),) = late_view_columns(view)
    assert column.lateness is not None  # noqa: S101 - it is chosen for that
    names = [item.name.lower() for item in view.columns]
    keys = tuple(names.index(name.lower()) for name in column.lateness.keys)
    kinds = tuple(view.columns[place].type for place in keys)
    return KeyedGate(view.name, late_column(view.name, column, place), keys, kinds)
