"""Types of expressions where a rule is certain; everything else stays None and Spark is asked (DESIGN).

The trees are bound: every column is a field of the input. ANSI mode as in Spark 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from penstock.catalog.types import FRACTIONAL, INTEGRAL, Type, is_decimal, is_interval, is_numeric
from penstock.sql.text import type_of as written_type
from penstock.sql.trees import call_name, core_of, is_aggregate_call
from penstock.types.common import MOST_DIGITS, as_decimal, common_type
from penstock.types.functions import aggregate_type, collation_kept, number_of, scalar_type, windowed_type
from penstock.types.nested import element_of, field_of, nested_type

Known = tuple[Type | None, bool]


class Typed(Protocol):
    """A column of which type and nullability are known, or that they are not: a field of a plan."""

    @property
    def type(self) -> Type | None:
        """The type; None until Spark has been asked."""

    @property
    def nullable(self) -> bool:
        """True if it can be NULL."""


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A lambda's parameter."""

    type: Type | None
    nullable: bool = True


UNKNOWN: Known = (None, True)
_BOOLEAN = (exp.Predicate, exp.And, exp.Or, exp.Not)
_NEVER_NULL = (exp.Is, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Exists)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv)
# Before the name of a lambda's parameter among the fields; no field's name begins like that.
_PARAMETER = "\0"


def infer(tree: exp.Expression, fields: Mapping[str, Typed]) -> Known:
    """The type of a bound expression, and whether it can be NULL."""
    match tree:
        case exp.Column():
            item = fields.get(tree.name)
            return UNKNOWN if item is None else (item.type, item.nullable)
        case exp.Identifier():
            item = fields.get(_PARAMETER + tree.name)
            return UNKNOWN if item is None else (item.type, True)
        case exp.Paren() | exp.Alias():
            return infer(tree.this, fields)
        case exp.Literal() | exp.Null() | exp.Boolean() | exp.Interval():
            return _constant(tree)
        case exp.TryCast():
            return written_type(tree.to), True
        case exp.Cast():
            return written_type(tree.to), infer(tree.this, fields)[1]
        case exp.Neg():
            kind, nullable = infer(tree.this, fields)
            return number_of(kind), nullable
        case exp.Case():
            return _case(tree, fields)
        case exp.DPipe():
            return _concatenation(tree, fields)
        case _ if isinstance(tree, _BOOLEAN):
            return "boolean", not isinstance(tree, _NEVER_NULL) and _any_nullable(tree, fields)
        case _ if isinstance(tree, _ARITHMETIC):
            return _arithmetic(tree, infer(tree.this, fields), infer(tree.expression, fields))
        case exp.Extract() if tree.name.upper() not in ("SECOND", "SECONDS", "S", "SEC", "SECS"):
            return "int", infer(tree.expression, fields)[1]
        case exp.Floor() | exp.Ceil():
            return "timestamp", infer(tree.this, fields)[1]
        case exp.Trim():
            return collation_kept("string", [infer(tree.this, fields)[0]]), True
        case exp.Dot():
            return field_of(infer(tree.this, fields)[0], tree.expression.name), True
        case exp.Bracket():
            return _element(tree, infer(tree.this, fields)[0]), True
        case exp.Window():
            return _window(tree, fields)
        case _:
            return _call(tree, fields)


def _constant(tree: exp.Expression) -> Known:
    if isinstance(tree, exp.Null):
        return "void", True
    if isinstance(tree, exp.Boolean):
        return "boolean", False
    if isinstance(tree, exp.Interval):
        return _interval(tree), False
    if tree.args.get("is_string"):
        return "string", False
    return number_type(str(tree.this)), False


def number_type(text: str) -> Type | None:
    """The type of a number as it is written, without a suffix; None if it is none."""
    if "e" in text.lower():
        return "double"
    if "." in text:
        whole, _, part = text.partition(".")
        return f"decimal({max(len(whole.lstrip('0')) + len(part), len(part), 1)},{len(part)})"
    value = int(text) if text.isdigit() else None
    if value is None:
        return None
    if value < 2**31:
        return "int"
    return "bigint" if value < 2**63 else f"decimal({len(text)},0)"


_OTHER_UNITS = {"WEEK": "day", "MILLISECOND": "second", "MICROSECOND": "second"}


def _interval(tree: exp.Expression) -> Type | None:
    unit = tree.args.get("unit")
    if unit is None or isinstance(unit, exp.IntervalSpan):
        return None
    name = unit.name.upper().removesuffix("S")
    if name == "QUARTER":
        return "interval month"
    if name in _OTHER_UNITS:
        return f"interval {_OTHER_UNITS[name]}"
    if name in ("YEAR", "MONTH"):
        return f"interval {name.lower()}"
    return f"interval {name.lower()}" if name in ("DAY", "HOUR", "MINUTE", "SECOND") else None


def _any_nullable(tree: exp.Expression, fields: Mapping[str, Typed]) -> bool:
    parts = [item for item in tree.args.values() if isinstance(item, exp.Expression)]
    parts += [item for items in tree.args.values() if isinstance(items, list) for item in items]
    return any(infer(item, fields)[1] for item in parts if isinstance(item, exp.Expression))


def _case(tree: exp.Case, fields: Mapping[str, Typed]) -> Known:
    default = tree.args.get("default")
    values = [item.args["true"] for item in tree.args["ifs"]] + ([default] if default is not None else [])
    known = [infer(value, fields) for value in values]
    return common_type([kind for kind, _ in known]), default is None or any(nullable for _, nullable in known)


def _concatenation(tree: exp.Expression, fields: Mapping[str, Typed]) -> Known:
    left, right = infer(tree.this, fields), infer(tree.expression, fields)
    same = left[0] == right[0] and left[0] is not None and (left[0] == "string" or left[0].startswith("array<"))
    return (left[0] if same else None), left[1] or right[1]


def _arithmetic(tree: exp.Expression, left: Known, right: Known) -> Known:
    (one, one_null), (two, two_null) = left, right
    nullable = one_null or two_null
    if one is None or two is None:
        return None, nullable
    if one in ("date", "timestamp", "timestamp_ntz") or two in ("date", "timestamp", "timestamp_ntz"):
        return _time_arithmetic(tree, one, two), nullable
    if not (is_numeric(one) and is_numeric(two)):
        return None, nullable
    if isinstance(tree, exp.IntDiv):
        return "bigint", nullable
    if isinstance(tree, exp.Div):
        return (None if is_decimal(one) or is_decimal(two) else "double"), nullable
    if one in INTEGRAL and two in INTEGRAL:
        return max(one, two, key=INTEGRAL.index), nullable
    if "double" in (one, two):
        return "double", nullable
    if one in FRACTIONAL or two in FRACTIONAL:
        return ("float" if one == two else None), nullable
    return _decimal_arithmetic(tree, one, two), nullable


def _decimal_arithmetic(tree: exp.Expression, one: Type, two: Type) -> Type | None:
    if not (is_decimal(one) and is_decimal(two)):
        return None  # a literal beside a DECIMAL has the digits that it needs; Spark knows
    (p1, s1), (p2, s2) = as_decimal(one) or (0, 0), as_decimal(two) or (0, 0)
    if isinstance(tree, exp.Add | exp.Sub):
        scale = max(s1, s2)
        digits = max(p1 - s1, p2 - s2) + scale + 1
    elif isinstance(tree, exp.Mul):
        digits, scale = p1 + p2 + 1, s1 + s2
    else:
        return None
    return f"decimal({digits},{scale})" if digits <= MOST_DIGITS else None


def _time_arithmetic(tree: exp.Expression, one: Type, two: Type) -> Type | None:
    if one.startswith("timestamp") and is_interval(two):
        return one
    if isinstance(tree, exp.Add) and two.startswith("timestamp") and is_interval(one):
        return two
    if one == "date" and (
        two in ("int", "smallint", "tinyint") or two in ("interval day", "interval year", "interval month")
    ):
        return "date"
    return "interval day" if isinstance(tree, exp.Sub) and one == two == "date" else None


def _window(tree: exp.Window, fields: Mapping[str, Typed]) -> Known:
    core = core_of(tree.this)
    name = call_name(core) or ""
    kinds = [infer(item, fields) for item in core.args.get("expressions") or []]
    return windowed_type(name, [kind for kind, _ in kinds]), name not in (
        "row_number",
        "rank",
        "dense_rank",
        "ntile",
        "count",
    )


def _element(tree: exp.Bracket, kind: Type | None) -> Type | None:
    place = tree.expressions[0]
    if kind is not None and kind.startswith("struct<"):
        return field_of(kind, place.name) if isinstance(place, exp.Literal) else None
    return element_of(kind)


def with_parameters(body: exp.Lambda, types: Sequence[Type | None], fields: Mapping[str, Typed]) -> Mapping[str, Typed]:
    """The fields, and the parameters of a lambda, which have these types."""
    own = zip((item.name for item in body.expressions), types, strict=False)
    return {**fields, **{_PARAMETER + name: _Parameter(kind) for name, kind in own}}


def _of_lambda(body: exp.Expression, types: Sequence[Type | None], fields: Mapping[str, Typed]) -> Type | None:
    """The type that a lambda gives where its parameters have these types."""
    if not isinstance(body, exp.Lambda):
        return None
    return infer(body.this, with_parameters(body, types, fields))[0]


def _call(tree: exp.Expression, fields: Mapping[str, Typed]) -> Known:
    core = core_of(tree)
    name = call_name(core)
    if name is None:
        return UNKNOWN
    arguments = [item for item in core.expressions if not isinstance(item, exp.Star)]
    if arguments and isinstance(arguments[0], exp.Distinct):
        arguments = arguments[0].expressions
    known = [infer(item, fields) for item in arguments]
    kinds = [kind for kind, _ in known]
    if is_aggregate_call(tree):
        return aggregate_type(name, kinds), name not in (
            "count",
            "count_if",
            "approx_count_distinct",
            "collect_list",
            "regr_count",
        )
    nested = nested_type(name, arguments, kinds, lambda body, types: _of_lambda(body, types, fields))
    if nested is not None:
        return nested, name != "named_struct"
    if name in ("coalesce", "nvl", "ifnull"):
        return common_type(kinds), all(nullable for _, nullable in known)
    if name in ("if", "nvl2"):
        return common_type(kinds[1:]), any(nullable for _, nullable in known[1:])
    return scalar_type(name, kinds), name not in ("isnull", "isnotnull", "now", "current_timestamp", "current_date")
