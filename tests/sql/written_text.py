"""A tree in Penstock's own words: as the text for Spark, with the constructs that Spark does not have."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from penstock.sql.points import point_of
from penstock.sql.text import _DIALECT, SparkText


class WrittenText(SparkText):
    """Writes EMIT, STREAM, SETTINGS, AS OF, PARTITION BY behind FROM, FLOOR … TO and the calls of relations."""

    TRANSFORMS: ClassVar[dict[Any, Any]] = SparkText.TRANSFORMS | {
        exp.Floor: lambda self, tree: f"FLOOR({self.sql(tree, 'this')} TO {self.sql(tree, 'to')})",
        exp.Ceil: lambda self, tree: f"CEIL({self.sql(tree, 'this')} TO {self.sql(tree, 'to')})",
        exp.AtTimeZone: lambda self, tree: f"{self.sql(tree, 'this')} AT TIME ZONE {self.sql(tree, 'zone')}",
        exp.Kwarg: lambda self, tree: f"{tree.name} => {self._argument(tree.expression)}",
    }

    def _argument(self, tree: exp.Expression) -> str:
        return f"TABLE {self.sql(tree)}" if isinstance(tree, exp.Table) else str(self.sql(tree))

    def group_sql(self, expression: exp.Group) -> str:
        """GROUP BY () as it is written."""
        return str(super(SparkText, self).group_sql(expression))

    def unnest_sql(self, expression: exp.Unnest) -> str:
        """UNNEST as it is written."""
        items = ", ".join(self.sql(item) for item in expression.expressions)
        alias = self.sql(expression, "alias")
        return f"UNNEST({items})" + (f" AS {alias}" if alias else "")

    def anonymous_sql(self, expression: exp.Anonymous) -> str:
        """POSITION(a IN b), and the plus before a value, as they are written."""
        if expression.meta.get("in"):
            return " IN ".join(self.sql(item) for item in expression.expressions).join((f"{expression.name}(", ")"))
        return str(super().anonymous_sql(expression))

    def select_sql(self, expression: exp.Select) -> str:
        """A SELECT with what stands behind it."""
        if expression.meta.get("stream"):
            expression.set("operation_modifiers", [exp.Var(this="STREAM")])
        return str(super().select_sql(expression)) + self._end(expression)

    def set_operations(self, expression: exp.SetOperation) -> str:
        """A set operation with what stands behind all of it."""
        return str(super().set_operations(expression)) + self._end(expression)

    def _end(self, query: exp.Query) -> str:
        text = ""
        for key, words in (("partition_by", "PARTITION BY"), ("settings", "SETTINGS")):
            if items := query.args.get(key):
                text += f" {words} {', '.join(self.sql(item) for item in items)}"
        point = point_of(query)
        text += "" if point is None else f" {point.text}"
        emit = query.meta.get("emit")
        return text if emit is None else f"{text} {emit[0]}"


def written(tree: exp.Expression) -> str:
    """The text of a tree."""
    writer = WrittenText(
        dialect=_DIALECT, normalize_functions=False, comments=False, unsupported_level=ErrorLevel.IGNORE
    )
    return str(writer.generate(tree, copy=True))
