"""Aggregates that have the type of their argument in the systems that follow standard SQL, and lists that keep NULLs.

| call | of whole numbers | of DECIMAL(p, s) |
| --- | --- | --- |
| `AVG(x)` | `SUM(x) / COUNT(x)`, cut off | DECIMAL(p, s), cut off; in Flink DECIMAL(38, max(s, 6)), rounded |
| `VAR_POP(x)`, `VAR_SAMP(x)` | `(SUM(x * x) - SUM(x) * SUM(x) / n) / n`, or `/ (n - 1)`, each cut off | as AVG |
| `STDDEV_POP(x)`, `STDDEV_SAMP(x)` | the root of that, cut off | as AVG |
| `COVAR_POP(y, x)` and its kin | refused | Spark's |
| the same OVER a window in Calcite | Spark's, with a warning | as AVG |
| `ARRAY_AGG(x)` | with NULLs | with NULLs |

What is of DOUBLE is Spark's, what is of REAL is a REAL again.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from penstock.bind.level import Level
from penstock.bind.peers.casts import cut_towards_zero
from penstock.bind.row_order.sorted_lists import entry, in_order, values
from penstock.catalog.types import INTEGRAL, Type, is_decimal
from penstock.sql.complaints import wrong
from penstock.sql.trees import call, call_name, cast_to, core_of, data_type, directions, filter_of, ignores_nulls
from penstock.types.common import as_decimal

_AVERAGES = frozenset({"avg", "mean"})
_SAMPLES = frozenset({"stddev", "stddev_samp", "std", "variance", "var_samp"})
_ROOTS = frozenset({"stddev", "stddev_samp", "stddev_pop", "std"})
_VARIANCES = _SAMPLES | {"stddev_pop", "var_pop"}
_OF_PAIRS = frozenset({"covar_pop", "covar_samp", "regr_sxx", "regr_syy", "regr_sxy"})
_MOST_DIGITS, _LEAST_SCALE = 38, 6
_SPARKS = "sparks"  # in the meta of a call: its name is Spark's
_HINT = "CAST(x AS DOUBLE) has fractions, CAST(x AS BIGINT) none"


def bound_statistic(node: exp.Expression, level: Level) -> exp.Expression | None:
    """Such a call with its FILTER and OVER, bound in the dialect's meaning; None for one that is as in Spark."""
    meanings = level.context.rules.meanings
    name = call_name(_core(node)) if isinstance(node, _WHOLE) else None
    if name is None or _SPARKS in _core(node).meta:
        return None
    if "argument_types" in meanings:
        if name in _AVERAGES | _VARIANCES:
            return _of_argument(name, node, level)
        if name in _OF_PAIRS:
            _refuse_whole_pairs(name, node, level)
    if "lists_keep_nulls" in meanings and name == "array_agg" and _value(node) is not None:
        level.context.meanings.add("lists_keep_nulls")
        return level.bind(_list(node, null_if_empty="null_for_no_rows" in meanings))
    return None


_WHOLE = (exp.Anonymous, exp.Filter, exp.Window, exp.IgnoreNulls, exp.RespectNulls)


def _of_argument(name: str, node: exp.Expression, level: Level) -> exp.Expression | None:
    value = _value(node)
    kind = None if value is None else level.shape(level.bind(value.copy()))
    if value is not None and kind is None:
        message = f"whether {name.upper()} is of whole numbers is not known, since a type is not"
        raise wrong(code="TYPE_UNKNOWN", message=message, place=node, hint=_HINT)
    if kind in INTEGRAL and isinstance(node, exp.Window) and "whole_groups_alone" in level.context.rules.meanings:
        level.warn(
            "DIALECT_MEANING",
            f"{name.upper()} of whole numbers OVER a window is a DOUBLE here, and a whole number there",
            node,
            "CAST(… AS BIGINT) cuts it off",
        )
        return level.bind(_in_double(node))
    if kind == "double":
        return None
    level.context.meanings.add("whole_averages" if kind in INTEGRAL and name in _AVERAGES else "argument_types")
    if kind in INTEGRAL:
        made = _average(node) if name in _AVERAGES else _variance(node, name)
        return level.bind(exp.Cast(this=made, to=data_type(kind or "")))
    if kind == "float":
        return level.bind(cast_to(_in_double(node), kind))
    return level.bind(_decimal(name, node, kind, level)) if kind is not None and is_decimal(kind) else None


def _average(node: exp.Expression) -> exp.Expression:
    return exp.IntDiv(this=_renamed(node, "sum"), expression=_count(node))


def _variance(node: exp.Expression, name: str) -> exp.Expression:
    """In whole numbers, as the quotients of the definition are."""
    total, squares = (
        _sum_of(node, lambda value: value),
        _sum_of(node, lambda value: exp.Mul(this=value, expression=value.copy())),
    )
    mean = exp.Paren(
        this=exp.IntDiv(this=exp.Paren(this=exp.Mul(this=total, expression=total.copy())), expression=_count(node))
    )
    rows = _count(node, less=1) if name in _SAMPLES else _count(node)
    found = exp.IntDiv(this=exp.Paren(this=exp.Sub(this=squares, expression=mean)), expression=rows)
    return cast_to(call("sqrt", found), "bigint") if name in _ROOTS else exp.Paren(this=found)


def _sum_of(node: exp.Expression, of: Callable[[exp.Expression], exp.Expression]) -> exp.Expression:
    """The sum of what is made of the values, in 64 bits; of each different value once, where DISTINCT stands."""
    if _core(node).expressions[0].find(exp.Distinct) is None:
        return _with_core(node, "sum", lambda value: of(cast_to(exp.Paren(this=value), "bigint")))
    different = _with_core(node, "collect_list", lambda value: cast_to(exp.Paren(this=value), "bigint"))
    total, value = exp.Identifier(this="total", quoted=False), exp.Identifier(this="item", quoted=False)
    added = exp.Lambda(
        this=exp.Add(this=total, expression=exp.Paren(this=of(value))), expressions=[total.copy(), value.copy()]
    )
    return call("aggregate", different, cast_to(exp.Literal.number(0), "bigint"), added)


def _count(node: exp.Expression, less: int = 0) -> exp.Expression:
    """The number of values, NULL for none: it divides."""
    count = _renamed(node, "count")
    rows = exp.Sub(this=count, expression=exp.Literal.number(less)) if less else count
    return call("nullif", rows, exp.Literal.number(0))


def _decimal(name: str, node: exp.Expression, kind: Type, level: Level) -> exp.Expression:
    scale = (as_decimal(kind) or (0, 0))[1]
    if "wide_averages" in level.context.rules.meanings:
        return cast_to(_in_double(node), f"decimal({_MOST_DIGITS},{max(scale, _LEAST_SCALE)})")
    if name in _AVERAGES:
        exact: exp.Expression = exp.Div(this=_renamed(node, "sum"), expression=_count(node))
    else:
        exact = cast_to(_in_double(node), f"decimal({_MOST_DIGITS},{min(scale + _LEAST_SCALE, _MOST_DIGITS)})")
    return cast_to(cut_towards_zero(exp.Paren(this=exact), scale), kind)


def _in_double(node: exp.Expression) -> exp.Expression:
    """The call in Spark's meaning."""
    copy = node.copy()
    _core(copy).meta[_SPARKS] = True
    return copy


def _refuse_whole_pairs(name: str, node: exp.Expression, level: Level) -> None:
    kinds = [level.shape(level.bind(item.copy())) for item in _core(node).expressions]
    if kinds and all(kind in INTEGRAL for kind in kinds):
        message = f"{name.upper()} of whole numbers, which is computed in whole numbers there"
        raise wrong(code="TYPE_UNKNOWN", message=message, place=node, hint=_HINT)


def _list(node: exp.Expression, *, null_if_empty: bool) -> exp.Expression:
    """ARRAY_AGG: a list of structs, which are not NULL, and the values in them; in the order that it asks for."""
    order = _core(node).expressions[0].find(exp.Order)
    keys = [(item.this, *directions(item)) for item in order.expressions] if order is not None else []
    rows = _with_core(
        _without_nulls(node) if _ignores(node) else node, "collect_list", lambda value: entry(keys, [], value)
    )
    found = values(in_order(rows, keys) if keys else rows)
    if not null_if_empty:
        return found
    none = exp.EQ(this=call("size", rows.copy()), expression=exp.Literal.number(0))
    return call("if", none, exp.Null(), found)


def _ignores(node: exp.Expression) -> bool:
    inner = node.this if isinstance(node, exp.Window) else node
    return ignores_nulls(inner) or _core(node).find(exp.IgnoreNulls) is not None


def _without_nulls(node: exp.Expression) -> exp.Expression:
    """The call over the rows whose value is not NULL, by its FILTER."""
    copy = node.copy()
    inside = copy.this if isinstance(copy, exp.Window) else copy
    there = exp.Not(this=exp.Is(this=exp.Paren(this=_stripped(_core(copy).expressions[0])), expression=exp.Null()))
    known = filter_of(inside)
    condition = there if known is None else exp.And(this=exp.Paren(this=known.copy()), expression=there)
    filtered = exp.Filter(this=_core(copy).copy(), expression=exp.Where(this=condition))
    if inside is copy:
        return filtered
    inside.replace(filtered)
    return copy


def _stripped(argument: exp.Expression) -> exp.Expression:
    """The value in an argument with DISTINCT, ORDER BY or IGNORE NULLS."""
    place = argument
    while isinstance(place, exp.Order | exp.IgnoreNulls | exp.RespectNulls | exp.Distinct):
        place = place.expressions[0] if isinstance(place, exp.Distinct) else place.this
    return place.copy()


def _core(node: exp.Expression) -> exp.Expression:
    return core_of(node.this) if isinstance(node, exp.Window) else core_of(node)


def _value(node: exp.Expression) -> exp.Expression | None:
    """The argument of a call, without DISTINCT."""
    expressions = _core(node).expressions
    found = _stripped(expressions[0]) if expressions else None
    return None if isinstance(found, exp.Star) else found


def _renamed(node: exp.Expression, name: str) -> exp.Expression:
    return _with_core(node, name, lambda value: value)


def _with_core(node: exp.Expression, name: str, of: Callable[[exp.Expression], exp.Expression]) -> exp.Expression:
    """The call, with its FILTER and OVER, of another aggregate over what is made of its argument."""
    copy = node.copy()
    core = _core(copy)
    core.set("this", name)
    argument = core.expressions[0]
    value = of(_stripped(argument))
    core.set("expressions", [exp.Distinct(expressions=[value]) if argument.find(exp.Distinct) else value])
    return copy
