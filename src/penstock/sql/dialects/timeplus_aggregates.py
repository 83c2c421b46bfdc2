"""The aggregates of Timeplus in Spark's words, and their forms with a condition: `sum_if(x, x > 0)`.

What Timeplus estimates (`unique`, `p90` …) is exact here, since it has to be taken back exactly.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from penstock.errors import Diagnostic
from penstock.sql.dialects.rewriting import call, copied
from penstock.sql.failure import ParseFailure
from penstock.sql.rules import Rewrite
from penstock.sql.text import span_of
from penstock.sql.trees import aggregate_calls

_EVENT_TIME = "_tp_time"
_K = 2  # arguments of max_k without context


def _count(tree: exp.Anonymous) -> exp.Expression:
    """count() is count(*)."""
    return tree if tree.expressions else call("count", exp.Star())


def _distinct(tree: exp.Anonymous) -> exp.Expression:
    """unique(a, b) is count(DISTINCT a, b)."""
    return call("count", exp.Distinct(expressions=list(tree.expressions)))


def _best(*, greatest: bool) -> Rewrite:
    """max_k(x, k[, y, …]): the k greatest values, greatest first; with context, each as a struct (x, y, …)."""

    def rewrite(tree: exp.Anonymous) -> exp.Expression:
        if len(tree.expressions) < _K:
            return tree
        value, count, *context = tree.expressions
        rows: exp.Expression = call("collect_list", call("struct", value, *context) if context else value)
        if context:
            there = exp.Not(this=exp.Is(this=exp.Paren(this=copied(value)), expression=exp.Null()))
            rows = exp.Filter(this=rows, expression=exp.Where(this=there))
        return call("slice", call("sort_array", rows, exp.Boolean(this=not greatest)), exp.Literal.number(1), count)

    return rewrite


def _most_frequent(tree: exp.Anonymous) -> exp.Expression:
    """top_k(x, k[, counted]): the k most frequent values, each beside its count; of equal counts the smaller."""
    if len(tree.expressions) < _K:
        return tree
    value, count, *counted = tree.expressions
    bare = bool(counted) and isinstance(counted[0], exp.Boolean) and not counted[0].this
    values, one, other = (exp.to_identifier(name) for name in ("__values", "__one", "__other"))
    same = exp.Lambda(this=exp.EQ(this=other.copy(), expression=one.copy()), expressions=[other])
    times = call("size", call("filter", values.copy(), same))
    pair = call("named_struct", _text("below"), exp.Neg(this=times), _text("value"), one.copy())
    pairs = call("transform", call("array_distinct", values.copy()), exp.Lambda(this=pair, expressions=[one]))
    first = call("slice", call("sort_array", pairs), exp.Literal.number(1), count)
    shown = call("transform", first, exp.Lambda(this=_shown(bare=bare), expressions=[exp.to_identifier("__pair")]))
    # The list stands outside of the lambdas, whose variables could hide its columns.
    lists = call("array", call("collect_list", value))
    return call("element_at", call("transform", lists, exp.Lambda(this=shown, expressions=[values])), _ONE.copy())


def _shown(*, bare: bool) -> exp.Expression:
    def part(name: str) -> exp.Expression:
        return exp.Dot(this=exp.to_identifier("__pair"), expression=exp.to_identifier(name))

    if bare:
        return part("value")
    return call("named_struct", _text("value"), part("value"), _text("count"), exp.Neg(this=part("below")))


def _text(value: str) -> exp.Expression:
    return exp.Literal.string(value)


_ONE = exp.Literal.number(1)


def _list(*, last: bool = False, ordered: bool = False) -> Rewrite:
    """group_array(x[, n]) and its like: all values, or so many of them."""

    def rewrite(tree: exp.Anonymous) -> exp.Expression:
        value, *count = tree.expressions or [exp.Null()]
        found = call("collect_list", value)
        found = call("sort_array", found) if ordered else found
        if not count:
            return found
        if last:
            return call("reverse", call("slice", call("reverse", found), _ONE.copy(), count[0]))
        return call("slice", found, _ONE.copy(), count[0])

    return rewrite


def _unique_list(tree: exp.Anonymous) -> exp.Expression:
    return call("sort_array", call("collect_set", *tree.expressions))


def _percentile(level: str) -> Rewrite:
    return lambda tree: call("percentile", *tree.expressions, exp.Literal.number(level))


def _by_arrival(name: str) -> Rewrite:
    """latest(x) is the value of the row that arrived last; where rows have no such order, that of the last time."""

    def rewrite(tree: exp.Anonymous) -> exp.Expression:
        found = call(name, *tree.expressions[:1])
        found.meta[_EVENT_TIME] = True
        return found

    return rewrite


def _quantile(tree: exp.Anonymous) -> exp.Expression:
    """quantile(0.9)(x) and quantile(x, 0.9); without a level it is the median."""
    return call("percentile", *tree.expressions) if len(tree.expressions) > 1 else call("median", *tree.expressions)


def _percentiles(tree: exp.Anonymous) -> exp.Expression:
    """quantiles(0.5, 0.9)(x): an array of them."""
    value, *levels = tree.expressions or [exp.Null()]
    return call("percentile", value, call("array", *levels)) if levels else tree


def _named(name: str) -> Rewrite:
    return lambda tree: call(name, *tree.expressions)


_PERCENTILES = {"P50": "0.5", "P90": "0.9", "P95": "0.95", "P99": "0.99"}
_AGGREGATES: Mapping[str, Rewrite] = {
    "COUNT": _count,
    **dict.fromkeys(("UNIQ", "UNIQ_EXACT", "UNIQUE", "UNIQUE_EXACT", "COUNT_DISTINCT"), _distinct),
    "MAX_K": _best(greatest=True),
    "MIN_K": _best(greatest=False),
    **dict.fromkeys(("TOP_K", "TOP_K_EXACT"), _most_frequent),
    "GROUP_ARRAY": _list(),
    "GROUP_ARRAY_LAST": _list(last=True),
    "GROUP_ARRAY_SORTED": _list(ordered=True),
    "GROUP_UNIQ_ARRAY": _unique_list,
    "EARLIEST": _by_arrival("first_value"),
    "LATEST": _by_arrival("last_value"),
    "ARG_MIN": _named("min_by"),
    "ARG_MAX": _named("max_by"),
    "ANY": lambda tree: call("any_value", *tree.expressions, exp.true()),  # of those that are there
    "ANY_LAST": lambda tree: call("last", *tree.expressions, exp.true()),
    "MEDIAN": _named("median"),
    **dict.fromkeys(("QUANTILE", "QUANTILE_EXACT"), _quantile),
    **dict.fromkeys(("QUANTILES", "QUANTILES_EXACT"), _percentiles),
    **{name: _percentile(level) for name, level in _PERCENTILES.items()},
}
_WITH_CONDITION = (
    *("SUM", "AVG", "MIN", "MAX", "FIRST", "LAST", "FIRST_VALUE", "LAST_VALUE"),
    *("STDDEV_SAMP", "STDDEV_POP", "VAR_SAMP", "VAR_POP"),
)


def _conditional(name: str) -> Rewrite:
    """sum_if(x, condition) is sum(x) FILTER (WHERE condition); so is each aggregate that the call stands for."""

    def rewrite(tree: exp.Anonymous) -> exp.Expression:
        if not tree.expressions:
            return tree
        *arguments, condition = tree.expressions
        if name == "COUNT" and not arguments:
            return tree  # Spark's own
        plain = call(name.lower(), *arguments)
        whole = exp.Paren(this=_AGGREGATES[name](plain) if name in _AGGREGATES else plain)
        for found in list(aggregate_calls(whole)):
            found.replace(_filtered(found.copy(), copied(condition)))
        made: exp.Expression = whole.this
        return made

    return rewrite


def _filtered(found: exp.Expression, condition: exp.Expression) -> exp.Expression:
    if isinstance(found, exp.Filter):
        both = exp.And(this=exp.Paren(this=condition), expression=exp.Paren(this=found.expression.this))
        return exp.Filter(this=found.this, expression=exp.Where(this=both))
    return exp.Filter(this=found, expression=exp.Where(this=condition))


def _missing(reason: str, hint: str) -> Rewrite:
    """A refusal of an aggregate whose answer would not follow from the rows that are there."""

    def rewrite(tree: exp.Anonymous) -> exp.Expression:
        message = f"there is no {tree.name.lower()} here: {reason}"
        raise ParseFailure(None, Diagnostic("UNKNOWN_FUNCTION", message, span_of(tree), hint=hint))

    return rewrite


_MISSING: Mapping[str, Rewrite] = {
    "HISTOGRAM": _missing(
        "its bins follow from the order in which rows have come, and rows cannot be taken back from them",
        "GROUP BY floor(x / 10) counts in bins of a width; width_bucket(x, 0, 100, 10) numbers them",
    ),
    "MOVING_SUM": _missing(
        "a group has no order in which its rows could be added up one by one",
        "sum(x) OVER (ORDER BY _tp_time ROWS 4 PRECEDING), or EMIT PER EVENT, which shows the sum after each row",
    ),
}
AGGREGATES: Mapping[str, Rewrite] = {
    **_AGGREGATES,
    **_MISSING,
    **{f"{name}_IF": _conditional(name) for name in (*_AGGREGATES, *_WITH_CONDITION)},
}
