"""The columns that are computed for each row of the input, below the matcher, each under one name.

PREV and NEXT look at a fixed number of rows before or behind a row, whatever the match: they are LAG and LEAD.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from penstock.bind.level import Level
from penstock.bind.scalars import scalar_of
from penstock.catalog.types import Type
from penstock.sql.complaints import unsupported
from penstock.sql.text import spark_sql
from penstock.sql.trees import call, cast_to

_READ_AS_IT_IS = ("boolean", "tinyint", "smallint", "int", "bigint", "double", "string", "date")
NUMBER = "__number"


@dataclass
class Rows:
    """The rows of the input, with what is computed beside each.

    `columns` has the computed values by their texts, as names and trees; `reads` those that the matcher sees.
    """

    level: Level
    partition: Sequence[exp.Expression]
    order: Sequence[exp.Expression]
    columns: dict[str, tuple[str, exp.Expression]] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)

    def column(self, tree: exp.Expression) -> str:
        """The name of the column that holds a value."""
        text = spark_sql(tree)
        if text not in self.columns:
            self.columns[text] = (f"__m{len(self.columns)}", tree)
        return self.columns[text][0]

    def read(self, tree: exp.Expression, kind: Type | None, place: exp.Expression) -> int:
        """The place among the values that the matcher sees of a row."""
        name = self.column(self._readable(tree, kind, place))
        if name not in self.reads:
            self.reads.append(name)
        return self.reads.index(name)

    @staticmethod
    def _readable(tree: exp.Expression, kind: Type | None, place: exp.Expression) -> exp.Expression:
        """A value as the matcher takes it: times in microseconds, FLOAT as DOUBLE."""
        if kind in _READ_AS_IT_IS or (kind or "").startswith("decimal"):
            return tree
        if kind == "timestamp":
            return call("unix_micros", tree.copy())
        if kind in ("float", "void"):
            return cast_to(tree.copy(), "double")
        what = "a value whose type only Spark knows" if kind is None else f"a value of {kind.upper()}"
        message = f"{what}, beside values of other rows of a match"
        hint = "CAST it to a number, STRING, DATE, TIMESTAMP or BOOLEAN"
        raise unsupported(code="MATCH_EXPRESSION", message=message, place=place, hint=hint)

    def type(self, tree: exp.Expression) -> Type | None:
        """The type of a value of a row."""
        inner = tree.this.expressions[0] if isinstance(tree, exp.Window) else tree
        return scalar_of(inner, self.level.fields).type

    def shifted(self, tree: exp.Expression, distance: int) -> exp.Expression:
        """A value of the row so many rows before, or behind where the distance is below zero."""
        if not distance:
            return tree
        function = call("lag" if distance > 0 else "lead", tree.copy(), exp.Literal.number(abs(distance)))
        return self._over(function)

    @property
    def number(self) -> exp.Expression:
        """The number of a row in its partition, from 1."""
        return self._over(call("row_number"))

    def _over(self, function: exp.Expression) -> exp.Expression:
        window = exp.Window(this=function, over="OVER")
        if self.partition:
            window.set("partition_by", [item.copy() for item in self.partition])
        window.set("order", exp.Order(expressions=[item.copy() for item in self.order]))
        return window
