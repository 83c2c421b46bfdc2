"""Random scalar expressions of a wanted type over the columns in scope; none of them can raise an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.testing.fuzz.dice import Dice
from penstock.testing.fuzz.tables import (
    ARRAY,
    BIGINT,
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    INT,
    MAP,
    SCALARS,
    STRING,
    STRUCT,
    TIMESTAMP,
    Column,
    literal,
    sql_type,
)

Scope = Sequence[Column]
_COMPARISONS = ("=", "<", ">", "<=", ">=", "<>", "<=>")

# `{int}` stands for an expression of that type; the same shape may name several.
_SHAPES: dict[str, tuple[str, ...]] = {
    INT: (
        "{int} + {int}", "{int} - 1", "abs({int})", "{int} % 3", "length({string})", "coalesce({int}, {int})",
        "CASE WHEN {boolean} THEN {int} ELSE {int} END", "nullif({int}, {int})", "greatest({int}, {int})",
        "CAST({boolean} AS INT)", "size({array})", "year({date})", "if({boolean}, {int}, {int})", "-{int}",
        "datediff({date}, {date})", "CASE {int} WHEN 1 THEN {int} WHEN 2 THEN 5 END", "try_cast({string} AS INT)",
        "hour({timestamp})", "EXTRACT(DAY FROM {date})", "POSITION('a' IN {string})", "array_max({array})",
        "({struct}).p", "try_element_at({map}, 'a')", "cardinality({map})",
    ),
    BIGINT: (
        "CAST({int} AS BIGINT)", "{bigint} + {int}", "{bigint} - {bigint}", "{int} DIV 2",
        "coalesce({bigint}, 0L)", "CEIL({double_finite})",
    ),
    DOUBLE: (
        "{double} + {double}", "{double} * 0.5D", "CAST({int} AS DOUBLE)", "coalesce({double}, {double})",
        "nanvl({double}, 0D)", "try_divide({int}, {int})", "CASE WHEN {boolean} THEN {double} END", "-{double}",
    ),
    STRING: (
        "concat({string}, {string})", "upper({string})", "substr({string}, 1, 1)", "{string} || 'x'",
        "CAST({int} AS STRING)", "coalesce({string}, '?')", "CASE WHEN {boolean} THEN {string} ELSE 'z' END",
        "CAST({date} AS STRING)", "date_format({timestamp}, 'yyyy-MM')", "TRIM(BOTH 'a' FROM {string})",
        "CAST({boolean} AS STRING)", "nullif({string}, '')", "CAST({decimal} AS STRING)",
        "({struct}).q",
    ),
    BOOLEAN: (
        "{boolean} AND {boolean}", "{boolean} OR {boolean}", "NOT ({boolean})", "{int} IN (1, 2, {int})",
        "{int} BETWEEN {int} AND 3", "{string} LIKE 'a%'", "{string} IS NULL", "{int} IS NOT NULL",
        "{int} IS DISTINCT FROM {int}", "{double} > 0", "isnan({double})", "array_contains({array}, 1)",
        "{boolean} IS TRUE", "{int} NOT IN (0, NULL)", "exists({array}, e -> e > 1)", "coalesce({boolean}, FALSE)",
        "{string} RLIKE '^[ab]'", "{bigint} < {double}",
    ),
    DATE: (
        "date_add({date}, 1)", "CAST({timestamp} AS DATE)", "trunc({date}, 'MM')",
        "coalesce({date}, DATE '2024-01-01')",
        "{date} - INTERVAL 1 DAY", "last_day({date})",
    ),
    TIMESTAMP: (
        "{timestamp} + INTERVAL '90' MINUTE", "date_trunc('HOUR', {timestamp})", "CAST({date} AS TIMESTAMP)",
        "coalesce({timestamp}, TIMESTAMP '2024-01-01 00:00:00')", "FLOOR({timestamp} TO DAY)",
        "CEIL({timestamp} TO WEEK)",
    ),
    DECIMAL: (
        "{decimal} + 1.5BD", "CAST({int} AS DECIMAL(10,2))", "coalesce({decimal}, 0BD)", "abs({decimal})",
        "round({decimal}, 1)",
    ),
    ARRAY: (
        "array({int}, {int})", "sort_array({array})", "transform({array}, e -> e + 1)", "filter({array}, e -> e > 0)",
        "array_distinct({array})", "slice({array}, 1, 1)", "map_values({map})",
    ),
    STRUCT: ("named_struct('p', {int}, 'q', {string})", "coalesce({struct}, {struct})"),
    MAP: ("map('a', {int}, 'b', 1)", "map_filter({map}, (k, v) -> v > 1)", "coalesce({map}, {map})"),
}  # fmt: skip

# What Spark and DuckDB read alike.
_SHARED: dict[str, tuple[str, ...]] = {
    INT: (
        "{int} + {int}", "{int} - 1", "abs({int})", "length({string})", "coalesce({int}, {int})",
        "nullif({int}, {int})", "CASE WHEN {boolean} THEN {int} ELSE {int} END", "CAST({boolean} AS INT)",
        "year({date})", "-{int}",
    ),
    BIGINT: ("CAST({int} AS BIGINT)", "{bigint} + {int}", "coalesce({bigint}, 0)"),
    DOUBLE: ("CAST({int} AS DOUBLE)", "coalesce({double}, {double})", "CASE WHEN {boolean} THEN {double} END"),
    STRING: (
        "{string} || {string}", "upper({string})", "CAST({int} AS STRING)", "coalesce({string}, '?')",
        "CASE WHEN {boolean} THEN {string} ELSE 'z' END", "nullif({string}, '')",
    ),
    BOOLEAN: (
        "{boolean} AND {boolean}", "{boolean} OR {boolean}", "NOT ({boolean})", "{int} IN (1, 2, {int})",
        "{int} BETWEEN {int} AND 3", "{string} LIKE 'a%'", "{string} IS NULL", "{int} IS DISTINCT FROM {int}",
        "{double} > 0", "{boolean} IS TRUE", "{int} NOT IN (0, NULL)", "coalesce({boolean}, FALSE)",
        "{bigint} < {double}",
    ),
    DATE: ("coalesce({date}, DATE '2024-01-01')",),
}  # fmt: skip


def shapes(dice: Dice, kind: str) -> tuple[str, ...]:
    """The shapes of expressions of a type."""
    return (_SHARED if dice.shared else _SHAPES)[kind]


def expression(dice: Dice, kind: str, scope: Scope, depth: int = 2) -> str:
    """An expression of a type."""
    if kind == "double_finite":
        return f"nanvl(CASE WHEN abs({expression(dice, DOUBLE, scope, 0)}) < 1e9D THEN 1.5D END, 0D)"
    columns = [column.text for column in scope if column.type == kind]
    if columns and (depth <= 0 or dice.often(0.6)):
        return dice.pick(columns)
    if depth <= 0 or dice.often(0.25):
        return literal(dice, kind)
    return filled(dice, dice.pick(shapes(dice, kind)), scope, depth - 1)


def filled(dice: Dice, shape: str, scope: Scope, depth: int) -> str:
    """A shape with an expression in each of its places."""
    while "{" in shape:
        before, _, rest = shape.partition("{")
        kind, _, after = rest.partition("}")
        shape = before + _closed(expression(dice, kind, scope, depth)) + after
    return shape


def _closed(text: str) -> str:
    """In parentheses where operators could bind otherwise."""
    return text if text.replace("_", "").replace(".", "").isalnum() else f"({text})"


def predicate(dice: Dice, scope: Scope, depth: int = 2) -> str:
    """A condition that reads a column where there is one."""
    makers: list[Callable[[], str]] = [
        lambda: comparison(dice, scope),
        lambda: comparison(dice, scope),
        lambda: filled(dice, dice.pick(shapes(dice, BOOLEAN)), scope, depth - 1),
    ]
    return dice.pick(makers)()


def comparison(dice: Dice, scope: Scope) -> str:
    """A column against a literal or another column."""
    candidates = comparable(scope)
    if not candidates:
        return "TRUE"
    left = dice.pick(candidates)
    others = [column.text for column in candidates if column.type == left.type and column.text != left.text]
    right = dice.pick(others) if others and dice.often(0.3) else literal(dice, left.type)
    return f"{left.text} {dice.pick(_COMPARISONS)} {right}"


def cast(text: str, kind: str) -> str:
    """The expression as exactly the type of a family."""
    return f"CAST({text} AS {sql_type(kind)})"


def comparable(scope: Scope) -> list[Column]:
    """The columns that can be compared with literals."""
    return [column for column in scope if column.type in SCALARS]
