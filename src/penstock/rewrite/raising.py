"""Whether evaluating an expression can raise: division by zero, overflow, a cast that does not fit.

A condition that can raise must not be evaluated for rows that something else would have removed first. The answer is
yes unless a rule here says no.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from penstock.catalog.types import FRACTIONAL, INTEGRAL, Type, is_decimal, is_numeric, is_temporal
from penstock.plan.expressions import bare, is_clock
from penstock.plan.nodes import Plan
from penstock.plan.scalar import Scalar

Types = Mapping[str, Type | None]

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
    """Whether the expression has a value, or NULL, for every row; `types` are those of the columns it reads."""
    return _safe(scalar.tree, types)


def can_only_overflow(scalar: Scalar, types: Types) -> bool:
    """Whether the expression is a sum or difference of two whole numbers, each a column or a literal."""
    node = bare(scalar.tree)
    if not isinstance(node, exp.Add | exp.Sub):
        return False
    sides = (bare(node.this), bare(node.expression))
    return all(isinstance(side, exp.Column | exp.Literal) and kind_of(side, types) in INTEGRAL for side in sides)


def _safe(tree: exp.Expression, types: Types) -> bool:
    node = bare(tree)
    rule = next((rule for kinds, rule in _RULES if isinstance(node, kinds)), None)
    return is_clock(node) or (rule is not None and rule(node, types))


def _leaf(_node: Any, _types: Types) -> bool:
    return True


def _children(node: Any, types: Types) -> bool:
    return all(_safe(child, types) for child in node.iter_expressions())


def _comparison(node: Any, types: Types) -> bool:
    return _children(node, types) and _comparable(node.this, node.expression, types)


def _between(node: Any, types: Types) -> bool:
    bounds = (node.args["low"], node.args["high"])
    return all(_safe(item, types) and _comparable(node.this, item, types) for item in bounds) and _safe(
        node.this, types
    )


def _in(node: Any, types: Types) -> bool:
    if node.args.get("query") is not None or node.args.get("unnest") is not None:
        return False
    items = node.expressions
    return _safe(node.this, types) and all(_safe(i, types) and _comparable(node.this, i, types) for i in items)


def _like(node: Any, types: Types) -> bool:
    pattern = bare(node.expression)
    plain = isinstance(pattern, exp.Literal) and pattern.is_string and "\\" not in pattern.name
    return plain and _safe(node.this, types) and kind_of(node.this, types) == "string"


def _is(node: Any, types: Types) -> bool:
    return _safe(node.this, types)


def _arithmetic(node: Any, types: Types) -> bool:
    """Floating point does not overflow; a constant distance from the clock does not either."""
    if not _children(node, types):
        return False
    kinds = kind_of(node.this, types), kind_of(node.expression, types)
    if all(kind in FRACTIONAL for kind in kinds):
        return True
    return not any(node.find_all(exp.Column)) and any(is_clock(item) for item in node.walk()) and "interval" in kinds


def _call(node: Any, types: Types) -> bool:
    name = str(node.this).lower()
    if name not in _TOTAL or not all(_safe(item, types) for item in node.expressions):
        return False
    # Arguments of several types are cast to a common one, which may fail.
    kinds = {kind_of(item, types) for item in node.expressions if not isinstance(bare(item), exp.Literal | exp.Null)}
    return None not in kinds and (name in _MIXED or len(kinds) <= 1)


_MIXED = frozenset({"if", "nvl2", "date_trunc", "substring", "substr", "left", "right"})


def _case(node: Any, types: Types) -> bool:
    if node.args.get("this") is not None:
        return False
    results = [item.args["true"] for item in node.args["ifs"]]
    if (otherwise := node.args.get("default")) is not None:
        results.append(otherwise)
    kinds = {kind_of(item, types) for item in results if not isinstance(bare(item), exp.Null)}
    conditions = all(_safe(item.this, types) for item in node.args["ifs"])
    return conditions and all(_safe(item, types) for item in results) and None not in kinds and len(kinds) <= 1


def _cast(node: Any, types: Types) -> bool:
    if isinstance(node, exp.TryCast) or node.meta.get("typed_literal") or node.meta.get("number"):
        return _safe(node.this, types)
    source, target = kind_of(node.this, types), kind_of(node, types)
    if source is None or target is None or not _safe(node.this, types):
        return False
    return target in {source, "string"} or _widens(source, target)


def _widens(source: Type, target: Type) -> bool:
    if source in INTEGRAL and target in INTEGRAL:
        return INTEGRAL.index(source) <= INTEGRAL.index(target)
    moments = ("timestamp", "timestamp_ntz", "date")
    return (is_numeric(source) and target in FRACTIONAL) or (source in moments and target in moments)


_RULES: tuple[tuple[Any, Callable[[Any, Types], bool]], ...] = (
    ((exp.Column, exp.Literal, exp.Boolean, exp.Null, exp.Interval), _leaf),
    ((exp.And, exp.Or, exp.Not), _children),
    ((exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ), _comparison),
    (exp.Between, _between),
    (exp.In, _in),
    ((exp.Like, exp.ILike), _like),
    (exp.Is, _is),
    ((exp.Add, exp.Sub, exp.Mul), _arithmetic),
    (exp.Case, _case),
    (exp.Cast, _cast),
    (exp.Anonymous, _call),
)


def _comparable(one: exp.Expression, other: exp.Expression, types: Types) -> bool:
    """Whether Spark compares the two without a cast that can fail."""
    first, second = bare(one), bare(other)
    if isinstance(first, exp.Null) or isinstance(second, exp.Null):
        return True
    kinds = kind_of(first, types), kind_of(second, types)
    if None in kinds:
        return False
    return _compatible(first, second, *kinds) or _compatible(second, first, *kinds[::-1])


def _compatible(_one: exp.Expression, other: exp.Expression, left: Any, right: Any) -> bool:
    if left == right or (is_numeric(left) and is_numeric(right) and not (is_decimal(left) and is_decimal(right))):
        return True
    if is_temporal(left) and is_temporal(right):
        return True
    return isinstance(other, exp.Literal) and other.is_string and _reads_as(other.name, left)


def _reads_as(text: str, kind: Type) -> bool:
    if kind == "date":
        return _DATE.fullmatch(text) is not None
    if is_temporal(kind):
        return _MOMENT.fullmatch(text) is not None
    return kind in ("int", "bigint", *FRACTIONAL) and _WHOLE.fullmatch(text) is not None


def kind_of(tree: exp.Expression, types: Types) -> Type | None:
    """The type of an expression where it is plain to see."""
    node = bare(tree)
    if isinstance(node, exp.Column):
        return types.get(node.name)
    if isinstance(node, exp.Literal):
        return _literal_kind(node)
    if isinstance(node, exp.Interval):
        return "interval"
    if isinstance(node, exp.Cast):
        from penstock.sql.text import type_of

        return type_of(node.to)
    if isinstance(node, exp.Boolean | exp.Predicate | exp.Connector | exp.Not):
        return "boolean"
    if isinstance(node, exp.Anonymous):
        return _call_kind(node, types)
    if isinstance(node, exp.Add | exp.Sub):
        return _sum_kind(kind_of(node.this, types), kind_of(node.expression, types))
    return None


def _literal_kind(literal: exp.Literal) -> Type:
    if literal.is_string:
        return "string"
    value = int(literal.name) if literal.name.isdigit() else None
    return "decimal" if value is None or value >= 2**63 else "int" if value < 2**31 else "bigint"


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


def _call_kind(node: exp.Anonymous, types: Types) -> Type | None:
    name = str(node.this).lower()
    if name in ("coalesce", "nvl", "ifnull", "greatest", "least") and node.expressions:
        kinds = {kind_of(item, types) for item in node.expressions}
        return kinds.pop() if len(kinds) == 1 else None
    return _RESULTS.get(name)


def _sum_kind(left: Type | None, right: Type | None) -> Type | None:
    if left == right and left in FRACTIONAL:
        return left
    if left in INTEGRAL and right in INTEGRAL:
        return max(left, right, key=INTEGRAL.index)
    return left if right == "interval" and left is not None and is_temporal(left) and left != "date" else None
