"""Expressions whose evaluation can raise: division by zero, overflow, a cast that does not fit.

A condition that can raise must not be evaluated for rows that something else would have removed first. The answer is
yes unless a rule here says no.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from penstock.catalog.types import FRACTIONAL, INTEGRAL, Type, is_decimal, is_numeric, is_temporal
from penstock.plan.forms import (
    COMPARED,
    MATCHED,
    NULL,
    Call,
    Case,
    Cast,
    Constant,
    Form,
    Reference,
    Span,
    is_clock,
    reads_clock,
    references,
)
from penstock.plan.nodes import Plan
from penstock.plan.scalar import Scalar

Types = Mapping[str, Type | None]
TIMES = ("timestamp", "timestamp_ntz")

# Total functions: they give an answer, or NULL, for every argument of the types that they take.
_TOTAL = frozenset({
    "coalesce", "nvl", "ifnull", "nullif", "nvl2", "if", "isnull", "isnotnull", "isnan", "nanvl", "greatest", "least",
    "lower", "upper", "lcase", "ucase", "trim", "ltrim", "rtrim", "length", "char_length", "character_length",
    "startswith", "endswith", "contains", "concat", "substring", "substr", "left", "right", "reverse", "initcap",
    "date_trunc", "year", "month", "day", "dayofmonth", "quarter", "dayofweek", "dayofyear", "weekofyear", "weekday",
    "hour", "minute", "second", "last_day", "size", "cardinality", "array_contains", "map_keys", "map_values",
})  # fmt: skip
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?")
_WHOLE = re.compile(r"[+-]?\d{1,9}")


def types_of(plan: Plan) -> Types:
    """The types of a relation's columns by name."""
    return {item.name: item.type for item in plan.fields}


def cannot_raise(scalar: Scalar, types: Types) -> bool:
    """True if the expression has a value, or NULL, for every row; `types` are those of the columns it reads."""
    return _safe(scalar.form, types)


def can_only_overflow(scalar: Scalar, types: Types) -> bool:
    """True if the expression is a sum or difference of two whole numbers, each a column or a literal."""
    match scalar.form:
        case Call("+" | "-", (_, _) as sides):
            return all(_is_plain(side) and kind_of(side, types) in INTEGRAL for side in sides)
        case _:
            return False


def is_lock(scalar: Scalar, types: Types) -> bool:
    """True for a comparison of times of rows, each a column or as far from one as an interval says."""
    match scalar.form:
        case Call("between", operands):
            return _are_times(operands, types)
        case Call(function, operands) if function in COMPARED:
            return _are_times(operands, types)
        case _:
            return False


def _are_times(operands: tuple[Form, ...], types: Types) -> bool:
    return all(_is_time(item, types) for item in operands)


def _is_time(form: Form, types: Types) -> bool:
    match form:
        case Reference(name):
            return types.get(name) in TIMES
        case Call("+" | "-", (Reference() as column, Span())):
            return _is_time(column, types)
        case _:
            return False


def _is_plain(form: Form) -> bool:
    return isinstance(form, Reference) or _is_literal(form)


def _is_literal(form: Form) -> bool:
    """True if it is a text or a number as it is written."""
    return isinstance(form, Constant) and (form.is_text or form.is_number)


def _safe(form: Form, types: Types) -> bool:
    match form:
        case Reference() | Span():
            return True
        case Constant():
            return form.type != "binary"
        case Case():
            return _case(form, types)
        case Cast():
            return _cast(form, types)
        case Call() if not is_clock(form):
            return _call(form, types)
        case _:
            return is_clock(form)


def _call(form: Call, types: Types) -> bool:
    safe = all(_safe(item, types) for item in form.arguments)
    match form:
        case Call("and" | "or" | "not"):
            return safe
        case Call("between" | "in", (value, *others)):
            return safe and all(_comparable(value, item, types) for item in others)
        case Call(function, (one, other)) if function in COMPARED:
            return safe and _comparable(one, other, types)
        case Call("like" | "ilike", (value, pattern)):
            plain = isinstance(pattern, Constant) and pattern.is_text and "\\" not in pattern.value
            return plain and _safe(value, types) and kind_of(value, types) == "string"
        case Call("is null" | "is true" | "is false"):
            return safe
        case Call("+" | "-" | "*", (one, other)):
            return safe and _arithmetic(form, kind_of(one, types), kind_of(other, types))
        case _:
            return safe and _total(form, types)


def _arithmetic(form: Call, one: Type | None, other: Type | None) -> bool:
    """Floating point does not overflow; a constant distance from the clock does not either."""
    if one in FRACTIONAL and other in FRACTIONAL:
        return True
    return not references(form) and reads_clock(form) and "interval" in (one, other)


def _total(form: Call, types: Types) -> bool:
    if form.function not in _TOTAL:
        return False
    # Arguments of several types are cast to a common one, which may fail.
    kinds = {kind_of(item, types) for item in form.arguments if not _is_literal(item) and item != NULL}
    return None not in kinds and (form.function in _MIXED or len(kinds) <= 1)


_MIXED = frozenset({"if", "nvl2", "date_trunc", "substring", "substr", "left", "right"})


def _case(form: Case, types: Types) -> bool:
    if form.operand is not None:
        return False
    results = [item.value for item in form.branches]
    if form.otherwise is not None:
        results.append(form.otherwise)
    kinds = {kind_of(item, types) for item in results if item != NULL}
    conditions = all(_safe(item.condition, types) for item in form.branches)
    return conditions and all(_safe(item, types) for item in results) and None not in kinds and len(kinds) <= 1


def _cast(form: Cast, types: Types) -> bool:
    if form.safe or form.literal:
        return _safe(form.argument, types)
    source = kind_of(form.argument, types)
    if source is None or not _safe(form.argument, types):
        return False
    return form.type in {source, "string"} or _widens(source, form.type)


def _widens(source: Type, target: Type) -> bool:
    if source in INTEGRAL and target in INTEGRAL:
        return INTEGRAL.index(source) <= INTEGRAL.index(target)
    moments = ("timestamp", "timestamp_ntz", "date")
    return (is_numeric(source) and target in FRACTIONAL) or (source in moments and target in moments)


def _comparable(one: Form, other: Form, types: Types) -> bool:
    """True if Spark compares the two without a cast that can fail."""
    if NULL in (one, other):
        return True
    kinds = kind_of(one, types), kind_of(other, types)
    if None in kinds:
        return False
    return _compatible(other, *kinds) or _compatible(one, *kinds[::-1])


def _compatible(other: Form, left: Any, right: Any) -> bool:
    if left == right or (is_numeric(left) and is_numeric(right) and not (is_decimal(left) and is_decimal(right))):
        return True
    if is_temporal(left) and is_temporal(right):
        return True
    return isinstance(other, Constant) and other.is_text and _reads_as(other.value, left)


def _reads_as(text: str, kind: Type) -> bool:
    if kind == "date":
        return _DATE.fullmatch(text) is not None
    if is_temporal(kind):
        return _MOMENT.fullmatch(text) is not None
    return kind in ("int", "bigint", *FRACTIONAL) and _WHOLE.fullmatch(text) is not None


_TRUTHS = (
    COMPARED | MATCHED | {"and", "or", "not", "in", "between", "is null", "is true", "is false", "is distinct from"}
)


def kind_of(form: Form, types: Types) -> Type | None:
    """The type of an expression where it is plain to see."""
    match form:
        case Reference(name):
            return types.get(name)
        case Constant():
            return _constant_kind(form)
        case Span():
            return "interval"
        case Cast():
            return form.type
        case Call(function) if function in _TRUTHS:
            return "boolean"
        case Call("+" | "-", (one, other)):
            return _sum_kind(kind_of(one, types), kind_of(other, types))
        case Call():
            return _call_kind(form, types)
        case _:
            return None


def _constant_kind(form: Constant) -> Type | None:
    if form.is_text or form.type == "boolean":
        return form.type
    if not form.is_number:
        return None
    return form.type if form.type in ("int", "bigint") else "decimal"


_RESULTS: Mapping[str, Type] = {
    **dict.fromkeys(("lower", "upper", "trim", "ltrim", "rtrim", "substring", "substr", "concat", "initcap"), "string"),
    **dict.fromkeys(("length", "year", "month", "day", "hour", "minute", "second", "quarter", "dayofweek"), "int"),
    **dict.fromkeys(("isnull", "isnotnull", "isnan", "startswith", "endswith", "contains"), "boolean"),
    "date_trunc": "timestamp",
    "current_date": "date",
    "now": "timestamp",
    "current_timestamp": "timestamp",
    "localtimestamp": "timestamp_ntz",
}


def _call_kind(form: Call, types: Types) -> Type | None:
    if form.function in ("coalesce", "nvl", "ifnull", "greatest", "least") and form.arguments:
        kinds = {kind_of(item, types) for item in form.arguments}
        return kinds.pop() if len(kinds) == 1 else None
    return _RESULTS.get(form.function)


def _sum_kind(left: Type | None, right: Type | None) -> Type | None:
    if left == right and left in FRACTIONAL:
        return left
    if left in INTEGRAL and right in INTEGRAL:
        return max(left, right, key=INTEGRAL.index)
    return left if right == "interval" and left is not None and is_temporal(left) and left != "date" else None
