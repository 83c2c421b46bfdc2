"""Functions of Timeplus whose meaning goes by the type of what they are given.

| call | of an array | of others |
| --- | --- | --- |
| `length(x)` | how many elements | Spark's |
| `empty(x)`, `not_empty(x)` | whether there is an element | whether there is a character |
| `array_sum(x)`, `array_avg(x)`, `array_cum_sum(x)` | of its numbers, or of what a function makes of them | refused |
| `array_compact(x)` | each element that differs from the one before | refused |
| `to_type_name(x)` | the name of the type, as the dialect has it | the same |
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from penstock.bind.level import Level
from penstock.catalog.types import INTEGRAL, Type
from penstock.sql.complaints import wrong
from penstock.sql.parse import parse_expression
from penstock.sql.trees import at, call, call_name, grouped

_NAMES = {
    "boolean": "bool", "tinyint": "int8", "smallint": "int16", "int": "int32", "bigint": "int64", "float": "float32",
    "double": "float64", "string": "string", "date": "date", "timestamp": "datetime64(6)", "void": "nullable(nothing)",
}  # fmt: skip


def bound_by_type(node: exp.Anonymous, level: Level) -> exp.Expression | None:
    """The call of such a function, bound; None for any other call."""
    name = call_name(node) or ""
    made = _MADE.get(name) if level.context.exact else None
    if made is None or not node.expressions:
        return None
    *function, value = node.expressions
    if function:
        if name not in _OF_NUMBERS or len(function) > 1:
            return None
        value = call("transform", value, function[0])
    bound = level.bind(value)
    kind = level.shape(bound)
    if name in ("length", "array_compact") and not _is_array(kind):
        return None
    if name in _OF_NUMBERS and not _is_array(kind):
        message = f"{name} takes an array of numbers{'' if kind is None else f', not {kind.upper()}'}"
        raise wrong(code="FUNCTION_ARGUMENTS", message=message, place=node)
    return at(grouped(made(bound, kind or "")), node)


def _is_array(kind: Type | None) -> bool:
    return kind is not None and kind.startswith("array<")


def _length(bound: exp.Expression, kind: Type) -> exp.Expression:
    return call("size" if _is_array(kind) else "length", bound)


def _empty(bound: exp.Expression, kind: Type) -> exp.Expression:
    return exp.EQ(this=_length(bound, kind), expression=exp.Literal.number(0))


def _not_empty(bound: exp.Expression, kind: Type) -> exp.Expression:
    return exp.GT(this=_length(bound, kind), expression=exp.Literal.number(0))


def _sum(bound: exp.Expression, kind: Type) -> exp.Expression:
    """The sum in 64 bits, of whole numbers without a point; NULLs are left out."""
    whole = kind.removeprefix("array<").removesuffix(">") in INTEGRAL
    return _with(f"aggregate(__x, CAST(0 AS {'BIGINT' if whole else 'DOUBLE'}), (s, e) -> s + coalesce(e, 0))", bound)


def _average(bound: exp.Expression, kind: Type) -> exp.Expression:
    total = exp.cast(_sum(bound, kind), "double")
    return exp.Div(this=total, expression=call("nullif", call("size", bound.copy()), exp.Literal.number(0)))


def _running(bound: exp.Expression, kind: Type) -> exp.Expression:
    whole = kind.removeprefix("array<").removesuffix(">") in INTEGRAL
    zero = f"CAST(0 AS {'BIGINT' if whole else 'DOUBLE'})"
    return _with(
        f"transform(__x, (v, i) -> aggregate(slice(__x, 1, i + 1), {zero}, (s, e) -> s + coalesce(e, 0)))", bound
    )


def _compact(bound: exp.Expression, _kind: Type) -> exp.Expression:
    return _with("filter(__x, (v, i) -> i = 0 OR NOT (v <=> get(__x, i - 1)))", bound)


def _type_name(_bound: exp.Expression, kind: Type) -> exp.Expression:
    return exp.Literal.string(_name(kind))


def _name(kind: str) -> str:
    if kind.startswith("array<"):
        return f"array({_name(kind.removeprefix('array<').removesuffix('>'))})"
    return _NAMES.get(kind, kind)


def _with(text: str, bound: exp.Expression) -> exp.Expression:
    """An expression with a bound value in the place of `__x`."""
    tree: exp.Expression = parse_expression(text).transform(
        lambda node: bound.copy() if isinstance(node, exp.Column) and node.name == "__x" else node
    )
    return tree


_MADE: dict[str, Callable[[exp.Expression, Type], exp.Expression]] = {
    "length": _length,
    "empty": _empty,
    "not_empty": _not_empty,
    "array_sum": _sum,
    "array_avg": _average,
    "array_cum_sum": _running,
    "array_compact": _compact,
    "to_type_name": _type_name,
}
_OF_NUMBERS = frozenset({"array_sum", "array_avg", "array_cum_sum"})
