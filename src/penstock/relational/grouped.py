"""Groups of rows that wait for their aggregates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.relational.columns import ATOM, Column, col, column_of
from penstock.relational.saying import call, refused
from penstock.relational.time_windows import TimeWindow

if TYPE_CHECKING:
    from penstock.relational.relation import Relation

_WINDOW = (col("window_start"), col("window_end"))


@dataclass(frozen=True)
class Grouped:
    """Rows in groups, made by `Relation.group_by`; `agg` makes a relation of the keys and some aggregates."""

    relation: Relation
    keys: tuple[Column, ...]

    def window(self, window: TimeWindow) -> Grouped:
        """The same groups in each window of time, whose columns, and what sessions are `by`, are keys as well."""
        if {"window_start", "window_end"} & {key.text for key in self.keys}:
            raise refused(
                message=f"{call('window', window)}: these groups have a window already",
                hint="one window for each group_by",
            )
        known = {key.text for key in self.keys}
        own = (Column(key, level=ATOM) for key in window.keys if key not in known)
        return Grouped(self.relation.window(window), (*_WINDOW, *own, *self.keys))

    def agg(self, *aggregates: Any) -> Relation:
        """The keys, and aggregates: expressions such as `F.sum("x").alias("total")`, or a dict `{"x": "sum"}`."""
        if not aggregates:
            raise refused(
                message="agg() has nothing to compute",
                hint="agg(F.count().alias('n')); select(…).distinct() for the keys",
            )
        given = [item for one in aggregates for item in (_of_dict(one) if isinstance(one, Mapping) else [one])]
        relation = self.relation
        found = relation._columns(given, "agg")  # noqa: SLF001 - the other half of it
        block = relation.block.opened()
        items = tuple(item.item for item in (*self.keys, *found))
        made = replace(block, items=items, keys=tuple(key.text for key in self.keys))
        bound = relation._bound(made, call("agg", *given))  # noqa: SLF001 - the other half of it
        return replace(bound, grouped=self, aggregates=tuple(given))

    def count(self) -> Relation:
        """The keys, and the number of rows as `count`."""
        return self.agg(Column("count(*)", "count", level=ATOM))

    def sum(self, *names: str) -> Relation:
        """The keys, and the sum of each column."""
        return self._each("sum", names)

    def avg(self, *names: str) -> Relation:
        """The keys, and the mean of each column."""
        return self._each("avg", names)

    def min(self, *names: str) -> Relation:
        """The keys, and the least value of each column."""
        return self._each("min", names)

    def max(self, *names: str) -> Relation:
        """The keys, and the greatest value of each column."""
        return self._each("max", names)

    def _each(self, function: str, names: tuple[str, ...]) -> Relation:
        return self.agg(dict.fromkeys(names, function))

    mean = avg


def _of_dict(given: Mapping[str, str]) -> list[Column]:
    return [
        Column(f"{function}({'*' if name == '*' else column_of(name).text})", level=ATOM)
        for name, function in given.items()
    ]
