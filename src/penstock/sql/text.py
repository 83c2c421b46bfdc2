"""Trees back to text: Spark SQL on one line, and places in the program."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import ErrorLevel
from sqlglot.generators.databricks import DatabricksGenerator

from penstock.errors import Diagnostic, Span, SqlError, UnsupportedError
from penstock.sql.nesting import room_for_nesting
from penstock.sql.nodes import RowMatches, SessionCall, TableFunction, UnsignedRightShift

# Transformations that would replace Spark's own syntax by older one.
_REWRITTEN = (exp.Select, exp.Table, exp.Unnest, exp.ILike, exp.Array, exp.Interval, exp.Cast, exp.Ceil, exp.Floor)
_PLURAL_UNITS = {f"{unit}S": unit for unit in ("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")} | {
    "MILLISECONDS": "MILLISECOND",
    "MICROSECONDS": "MICROSECOND",
}


class SparkText(DatabricksGenerator):
    """Prints a tree as Spark reads it, functions and literals as they were written."""

    TRANSFORMS: ClassVar[dict[Any, Any]] = {
        kind: transform for kind, transform in DatabricksGenerator.TRANSFORMS.items() if kind not in _REWRITTEN
    } | {
        TableFunction: lambda self, tree: self.tablefunction_sql(tree),
        RowMatches: lambda self, tree: self.rowmatches_sql(tree),
        SessionCall: lambda self, tree: self.func(tree.name, *tree.expressions, normalize=False),
        exp.NullSafeEQ: lambda self, tree: self.binary(tree, "<=>"),
        exp.RegexpLike: lambda self, tree: self.binary(tree, "RLIKE"),
        exp.BitwiseLeftShift: lambda self, tree: self.binary(tree, "<<"),
        exp.BitwiseRightShift: lambda self, tree: self.binary(tree, ">>"),
        UnsignedRightShift: lambda self, tree: self.binary(tree, ">>>"),
    }
    EXPRESSIONS_WITHOUT_NESTED_CTES: ClassVar[set[Any]] = set()  # a WITH stays where it was written
    JSON_PATH_SINGLE_QUOTE_ESCAPE = True  # Spark reads d:['a b'], and fails at double quotes
    TYPE_MAPPING: ClassVar[dict[Any, str]] = {
        **DatabricksGenerator.TYPE_MAPPING,
        exp.DType.TIME: "TIME",
        exp.DType.TIMESTAMPNTZ: "TIMESTAMP_NTZ",
        exp.DType.TIMESTAMPLTZ: "TIMESTAMP_LTZ",
    }

    def literal_sql(self, expression: exp.Literal) -> str:
        """A literal; a string with escapes in its own spelling."""
        return str(expression.meta.get("raw") or super().literal_sql(expression))

    def datatype_sql(self, expression: exp.DataType) -> str:
        """A type; one without parts is written once, since programs have thousands of them among their values."""
        if _is_plain(expression):
            return _plain_type(expression.this)
        return str(super().datatype_sql(expression))

    def tablealias_sql(self, expression: exp.TableAlias) -> str:
        """An alias; that of a CTE with the most rounds of its recursion."""
        text = str(super().tablealias_sql(expression))
        rounds = expression.args.get("rounds")
        return text if rounds is None else f"{text} MAX RECURSION LEVEL {self.sql(rounds)}"

    def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
        """A cast, a typed literal (DATE '…') or a number with its suffix."""
        if number := expression.meta.get("number"):
            return str(number)
        if expression.meta.get("typed_literal"):
            return f"{self.sql(expression, 'to')} {self.sql(expression, 'this')}"
        return str(super().cast_sql(expression, safe_prefix))

    def not_sql(self, expression: exp.Not) -> str:
        """NOT stands inside the predicate: x IS NOT NULL, x NOT IN (…)."""
        inner = expression.this
        several = isinstance(inner.args.get("expression"), exp.Any | exp.All)  # x NOT LIKE ALL (…) is about each
        if several or inner.args.get("negate"):
            return f"NOT ({self.sql(inner)})"
        if isinstance(inner, exp.Is | exp.In | exp.Between | exp.Like | exp.ILike | exp.RegexpLike):
            text, left = self.sql(inner), self.sql(inner, "this")
            between = " IS " if isinstance(inner, exp.Is) else " "
            if text.startswith(left + between):
                rest = text[len(left) + len(between) :]
                return f"{left}{between}NOT {rest}"
        return f"NOT {self.sql(expression, 'this')}"

    def group_sql(self, expression: exp.Group) -> str:
        """GROUP BY (), which Spark does not have, is GROUP BY GROUPING SETS (())."""
        items = expression.expressions
        if items and all(isinstance(item, exp.Tuple) and not item.expressions for item in items):
            return f"{self.seg('GROUP BY')} GROUPING SETS (())"
        return str(super().group_sql(expression))

    def interval_sql(self, expression: exp.Interval) -> str:
        """INTERVAL '1' HOUR, INTERVAL '1:00' HOUR TO MINUTE."""
        unit = expression.args.get("unit")
        if isinstance(unit, exp.IntervalSpan):
            span = f"{_singular(self.sql(unit, 'this'))} TO {_singular(self.sql(unit, 'expression'))}"
            return f"INTERVAL {self.sql(expression, 'this')} {span}"
        name = f" {_singular(self.sql(unit))}" if unit is not None else ""
        return f"INTERVAL {self.sql(expression, 'this')}{name}"

    def floor_sql(self, expression: exp.Floor) -> str:
        """FLOOR(t TO unit) is what Spark calls date_trunc."""
        return f"date_trunc('{self.sql(expression, 'to')}', {self.sql(expression, 'this')})"

    def ceil_sql(self, expression: exp.Ceil) -> str:
        """CEIL(t TO unit): the unit that a moment before one unit later lies in."""
        unit = _singular(self.sql(expression, "to"))
        step = {"QUARTER": "INTERVAL '3' MONTH", "WEEK": "INTERVAL '7' DAY"}.get(unit, f"INTERVAL '1' {unit}")
        this = self.sql(expression, "this")
        return f"date_trunc('{unit}', ({this}) + {step} - INTERVAL '0.000001' SECOND)"

    def unnest_sql(self, expression: exp.Unnest) -> str:
        """UNNEST in FROM is Spark's generator; `UNNEST(a) AS x` names the relation and its column."""
        alias = expression.args.get("alias")
        name = self.sql(alias, "this") if alias is not None and alias.this else ""
        columns = [self.sql(column) for column in alias.columns] if alias is not None else []
        position = expression.args.get("offset")
        if position:
            item = self._unnest_with_position(expression, columns or [name or "col"], position)
            text = f"{item} AS {name}" if name else item
        else:
            columns = columns or ([name] if name and len(expression.expressions) == 1 else [])
            listed = f"({', '.join(columns)})" if columns else ""
            text = self._generator(expression) + (f" AS {name or 'u'}{listed}" if name or columns else "")
        return f"LATERAL {text}" if isinstance(expression.parent, exp.Join) else text

    def _generator(self, expression: exp.Unnest) -> str:
        arrays = [self.sql(item) for item in expression.expressions]
        return f"explode({arrays[0]})" if len(arrays) == 1 else f"inline(arrays_zip({', '.join(arrays)}))"

    def _unnest_with_position(self, expression: exp.Unnest, columns: list[str], position: Any) -> str:
        """WITH ORDINALITY counts from 1, WITH OFFSET and posexplode from 0."""
        if len(expression.expressions) > 1:
            message = "UNNEST of several arrays WITH ORDINALITY is not supported"
            hint = "put the arrays together first: UNNEST(arrays_zip(a, b)) WITH ORDINALITY"
            raise UnsupportedError(Diagnostic("UNSUPPORTED", message, span_of(expression), hint=hint))
        number = "pos" if expression.meta.get("from_zero") else "pos + 1"
        name = self.sql(position) if isinstance(position, exp.Expression) else "ordinality"
        array = self.sql(expression.expressions[0])
        return f"(SELECT col AS {columns[0]}, {number} AS {name} FROM posexplode({array}) AS p(pos, col))"

    def tablefunction_sql(self, expression: TableFunction) -> str:
        """A function over a relation, in the standard's form; Spark has no such functions."""
        arguments = [self._relation_argument(item) for item in expression.expressions]
        if keys := expression.args.get("partition_by"):
            arguments[0] += f" PARTITION BY {', '.join(self.sql(key) for key in keys)}"
        inner = f"{expression.name}({', '.join(arguments)})"
        text = inner if expression.name == "TABLE" else f"TABLE({inner})"
        alias = self.sql(expression, "alias")
        return f"{text} AS {alias}" if alias else text

    def rowmatches_sql(self, expression: RowMatches) -> str:
        """MATCH_RECOGNIZE, for people: Spark does not have it."""
        parts = [self.sql(expression, "order").strip()]
        if keys := expression.args.get("partition_by"):
            parts.insert(0, f"PARTITION BY {', '.join(self.sql(key) for key in keys)}")
        parts.append(f"PATTERN ({expression.args['pattern'].name})")
        text = f"{self.sql(expression, 'this')} MATCH_RECOGNIZE ({' '.join(parts)} …)"
        alias = self.sql(expression, "alias")
        return f"{text} AS {alias}" if alias else text

    def _relation_argument(self, item: exp.Expression) -> str:
        return f"TABLE {self.sql(item)}" if isinstance(item, exp.Table) else str(self.sql(item))


def _singular(unit: str) -> str:
    upper = unit.upper()
    return _PLURAL_UNITS.get(upper, upper)


_DIALECT = Databricks()


def _is_plain(kind: exp.DataType) -> bool:
    """True for a type that is a name and nothing else."""
    return isinstance(kind.this, exp.DType) and not any(value for key, value in kind.args.items() if key != "this")


@cache
def _plain_type(name: exp.DType) -> str:
    return str(DatabricksGenerator.datatype_sql(_writer(), exp.DataType(this=name)))


def _writer() -> SparkText:
    return SparkText(
        dialect=_DIALECT,
        normalize_functions=False,
        comments=False,
        unsupported_level=ErrorLevel.IGNORE,
    )


_OF_VALUES = _writer()  # which are written without a change to their tree


def _is_value(tree: exp.Expression) -> bool:
    """True for a literal, and for one with a type before it."""
    if type(tree) is exp.Cast and _is_plain(tree.to):
        tree = tree.this
    return type(tree) is exp.Literal


def spark_sql(tree: exp.Expression) -> str:
    """The tree as Spark SQL on one line, with every function under the name it has in the tree."""
    if _is_field(tree):  # every third expression of a plan, and a writer costs a hundred times as much
        return "`" + tree.name.replace("`", "``") + "`"
    if _is_value(tree):  # 100,000 of them are usual
        return str(_OF_VALUES.sql(tree))
    try:
        with room_for_nesting():
            return str(_writer().generate(tree, copy=True))
    except RecursionError:
        message = "this expression is nested too deeply"
        raise SqlError(Diagnostic("NESTED_TOO_DEEPLY", message, span_of(tree))) from None


def _is_field(tree: exp.Expression) -> bool:
    """True for a column that is a quoted name and nothing else."""
    if type(tree) is not exp.Column or not isinstance(tree.this, exp.Identifier):
        return False
    return bool(tree.this.args.get("quoted")) and not any(value for key, value in tree.args.items() if key != "this")


def type_of(kind: exp.DataType) -> str:
    """A parsed type as Spark's simpleString."""
    written = kind.args.get("kind")
    return str(written) if written else spark_sql(kind).lower().replace(", ", ",")


def span_of(tree: exp.Expression) -> Span | None:
    """Where the tree stands in the program: from its first to its last token that left a trace."""
    places = [(node.meta["start"], node.meta["end"] + 1) for node in tree.walk() if "start" in node.meta]
    if not places:
        return None
    return Span(min(start for start, _ in places), max(end for _, end in places))


def relations_named(tree: Any) -> Iterator[tuple[str, Span | None]]:
    """The names of relations in a query, each with its place; none of what is no parsed query."""
    for table in tree.find_all(exp.Table) if isinstance(tree, exp.Expression) else ():
        if table.name:
            yield str(table.name), span_of(table.this)
