"""Aggregates without GROUP BY in two steps: within buckets of rows, then over the buckets.

    max(x), count(*)          →   max(m), coalesce(sum(c), 0)
      a                             m: max(x), c: count(*)   by bucket of x
                                      a

A change touches the buckets of its rows, and all buckets together are few rows. Only functions whose answer over all
rows follows from those over parts of them can be taken apart so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.catalog.types import FRACTIONAL, INTEGRAL, TEMPORAL, Type, is_decimal
from penstock.circuit.partials import decimal_shape
from penstock.circuit.raised import raising_on_spark, sum_too_long
from penstock.plan.nodes import Aggregate, AggregateCall, Plan
from penstock.plan.parsing import parse_scalar
from penstock.plan.scalar import Scalar, column, quoted, render_scalar

BUCKETS = 1024
BUCKET = "__bucket"
BUCKET_TITLE = "bucket of values"
_LEAST, _LARGEST = "-9223372036854775808BD", "9223372036854775807BD"
_SAME = frozenset(["min", "max", "bool_and", "bool_or", "every", "some", "any"])
_COUNTS = frozenset(["count", "count_if"])
_PLAIN = frozenset([*INTEGRAL, *TEMPORAL, "string", "boolean"])

TypeOf = Callable[[Scalar], Type | None]


def in_buckets(node: Aggregate, type_of: TypeOf) -> Aggregate | None:
    """The same answer over at most `BUCKETS` rows; None where it cannot be taken apart."""
    if node.groups or not node.aggregates or any(call.distinct for _, call in node.aggregates):
        return None
    bucket = next((found for _, call in node.aggregates if (found := _bucket(call, type_of)) is not None), None)
    if bucket is None:
        return None
    inner: list[tuple[str, AggregateCall]] = []
    outer: list[tuple[str, AggregateCall]] = []
    for place, (name, call) in enumerate(node.aggregates):
        parts = _taken_apart(call, f"__b{place}", type_of)
        if parts is None:
            return None
        inner.append((f"__b{place}", parts[0]))
        outer.append((name, parts[1]))
    buckets = Aggregate(node.input, ((BUCKET, bucket),), tuple(inner))
    return replace(node, input=buckets, aggregates=tuple(outer))


def is_by_bucket(plan: Plan | None) -> bool:
    """True of the aggregate within the buckets."""
    return isinstance(plan, Aggregate) and [name for name, _ in plan.groups] == [BUCKET]


def _bucket(call: AggregateCall, type_of: TypeOf) -> Scalar | None:
    """The bucket of a row, by an argument for which rows that are equal have equal hashes."""
    if call.function not in _SAME | _COUNTS | {"sum"} or len(call.arguments) != 1 or call.arguments[0].text == "*":
        return None
    kind = type_of(call.arguments[0])
    if kind is None or (kind not in _PLAIN and kind not in FRACTIONAL and not is_decimal(kind)):
        return None
    value = f"({call.arguments[0].text})"
    if call.filter is not None:  # a row that the FILTER leaves out may have an argument that cannot be evaluated
        value = f"(CASE WHEN {call.filter.text} THEN {value} END)"
    if kind in FRACTIONAL:
        value += " + 0"  # which makes one zero of both
    return _scalar(f"cast(pmod(xxhash64({value}), {BUCKETS}L) as int)", "int")


def _taken_apart(call: AggregateCall, name: str, type_of: TypeOf) -> tuple[AggregateCall, AggregateCall] | None:
    """The call within a bucket, and the call over the buckets."""
    if call.function in _SAME:
        return call, _over(call.function, name, call)
    if call.function in _COUNTS:
        return call, _over("sum", name, call, "coalesce({}, 0L)")
    if call.function != "sum":
        return None
    kind = type_of(call.arguments[0])
    if kind in INTEGRAL:
        wide = f"sum(cast({call.arguments[0].text} as decimal(38,0)))"
        raising = raising_on_spark(sum_too_long(call.call.text)).replace("{", "{{").replace("}", "}}")
        shape = f"if({{0}} BETWEEN {_LEAST} AND {_LARGEST}, cast({{0}} as bigint), if({{0}} IS NULL, NULL, {raising}))"
        return replace(call, call=_scalar(_filtered(wide, call), "decimal(38,0)")), _over("sum", name, call, shape)
    if kind in FRACTIONAL:
        return call, _over("sum", name, call)
    if kind is not None and is_decimal(kind):
        precision, scale = decimal_shape(kind)
        return call, _over("sum", name, call, f"cast({{}} as decimal({min(38, precision + 10)},{scale}))")
    return None


def _filtered(text: str, call: AggregateCall) -> str:
    return text if call.filter is None else f"{text} FILTER (WHERE {call.filter.text})"


def _over(function: str, name: str, call: AggregateCall, shape: str = "{}") -> AggregateCall:
    text = shape.format(f"{function}({quoted(name)})")
    return AggregateCall(function, (column(name),), replace(_scalar(text, call.call.type), span=call.call.span))


def _scalar(text: str, kind: Type | None) -> Scalar:
    tree = parse_scalar(text)
    return Scalar(render_scalar(tree), tree, kind)
