"""Functions whose answer depends on the order of the rows, rewritten so that it does not.

The order is the ascending one of the whole input row, NULLs first (SEMANTICS 0). `first(x)` is the x of the least row,
`min_by(x, struct(row))`; `collect_list(x)` is taken from a sorted list of rows; among rows with the same y, both
`max_by(x, y)` and `min_by(x, y)` take the last one, as Spark does when rows come in that order.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from penstock.bind.row_order.sorted_lists import entry, first_value, in_order, values
from penstock.bind.row_order.whole_row import Row
from penstock.bind.scalars import scalar_of
from penstock.catalog.sorting import is_sorted
from penstock.catalog.types import INTEGRAL
from penstock.plan.nodes import Field
from penstock.sql.trees import call, call_name, core_of, directions, filter_of, ignores_nulls

_FIRST = frozenset(["first", "first_value", "any_value"])
_LAST = frozenset(["last", "last_value"])
_LISTS = frozenset(["collect_list", "array_agg"])
_TEXTS = frozenset(["listagg", "string_agg"])
_NUMBER_OF = {"date": "unix_date", "timestamp": "unix_micros"}


def deterministic_aggregate(
    tree: exp.Expression,
    row: Row,
    fields: Mapping[str, Field],
    leading: Row = (),
    *,
    beside_distinct: bool = False,
    arrived: Row = (),
) -> exp.Expression:
    """The aggregate call with an answer that no order of rows changes; other calls as they are.

    `row` is the whole row; `leading` stands before it in the order of `first`, `last` and lists. Spark splits an
    aggregation with DISTINCT into several, and cannot do so with the ORDER BY of `listagg` (`beside_distinct`). Where
    rows have `arrived` in an order, different values of `listagg` stand as they came first.
    """
    name = call_name(core_of(tree)) or ""
    if name in _FIRST or name in _LAST:
        return _end(tree, _struct(*leading, *row), last=name in _LAST)
    if name in _LISTS and not is_distinct(tree):
        return _list(tree, (*leading, *row), fields)
    if name in _LISTS or name == "collect_set":
        return call("sort_array", tree)
    if name in _TEXTS and arrived and is_distinct(tree) and tree.find(exp.WithinGroup) is None:
        return _different_texts(tree, row)
    if name in _TEXTS:
        return _text_of_list(tree, row) if beside_distinct else _text(tree, row)
    if name == "mode" and len(core_of(tree).expressions) == 1 and not isinstance(tree, exp.WithinGroup):
        return _with_core(tree, call("mode", core_of(tree).expressions[0], exp.Boolean(this=True)))
    if name == "max_by" and not is_distinct(tree):
        value, by = core_of(tree).expressions
        return _with_core(tree, call(name, value.copy(), _struct(by, *row)), _not_null(by))
    if name == "min_by" and not is_distinct(tree):
        return _last_of_least(tree, row, scalar_of(core_of(tree).expressions[1], fields).type)
    return tree


def is_distinct(tree: exp.Expression) -> bool:
    """True for a call over DISTINCT values."""
    arguments = core_of(tree).expressions
    return bool(arguments) and isinstance(arguments[0], exp.Distinct)


def _struct(*items: exp.Expression) -> exp.Expression:
    parts: list[exp.Expression] = []
    for index, item in enumerate(items):
        parts += [exp.Literal.string(f"o{index}"), item.copy()]
    return call("named_struct", *parts)


def _with_core(tree: exp.Expression, core: exp.Expression, condition: exp.Expression | None = None) -> exp.Expression:
    """Another call in the place of this one, under the same FILTER and one more condition."""
    written = filter_of(tree)
    conditions = [] if written is None else [written.copy()]
    conditions += [condition] if condition is not None else []
    if not conditions:
        return core
    whole = conditions[0]
    for item in conditions[1:]:
        whole = exp.And(this=exp.Paren(this=whole), expression=exp.Paren(this=item))
    return exp.Filter(this=core, expression=exp.Where(this=whole))


def _not_null(tree: exp.Expression) -> exp.Expression:
    return call("isnotnull", tree.copy())


def _end(tree: exp.Expression, row: exp.Expression, *, last: bool) -> exp.Expression:
    value = core_of(tree).expressions[0]
    value = value.expressions[0] if isinstance(value, exp.Distinct) else value
    condition = _not_null(value) if ignores_nulls(tree) else None
    return _with_core(tree, call("max_by" if last else "min_by", value.copy(), row), condition)


def _last_of_least(tree: exp.Expression, row: Row, kind: str | None) -> exp.Expression:
    """`min_by`: the last row among those with the least value, as the greatest one where the order can be turned."""
    value, by = core_of(tree).expressions
    number = call(_NUMBER_OF[kind], by.copy()) if kind in _NUMBER_OF else by.copy()
    if kind in _NUMBER_OF or kind in INTEGRAL:
        turned = exp.BitwiseNot(this=exp.Paren(this=number))
        return _with_core(tree, call("max_by", value.copy(), _struct(turned, *row)), _not_null(by))
    keys = [(by, False, True)]
    rows = _with_core(tree, call("collect_list", entry(keys, row, value)), _not_null(by))
    return first_value(in_order(rows, keys, last_first=True))


def _list(tree: exp.Expression, row: Row, fields: Mapping[str, Field]) -> exp.Expression:
    """`collect_list`: the values of the rows in their order."""
    value = core_of(tree).expressions[0]
    if not is_sorted(scalar_of(value, fields).type):
        rows = _with_core(tree, call("collect_list", entry([], row, value)), _not_null(value))
        return values(in_order(rows, []))
    rows = _with_core(tree, call("collect_list", _struct_with(value, row)), _not_null(value))
    return values(call("sort_array", rows))


def nth_of(tree: exp.Expression, row: Row, fields: Mapping[str, Field]) -> exp.Expression:
    """`nth_value(x, n)` as the n-th of the sorted rows, as `get(sort_array(collect_list(…)), n - 1).v`."""
    value, place = core_of(tree).expressions
    condition = _not_null(value) if ignores_nulls(tree) else None
    before = exp.Sub(this=exp.Paren(this=place.copy()), expression=exp.Literal.number(1))
    if not is_sorted(scalar_of(value, fields).type):
        rows = _with_core(tree, call("collect_list", entry([], row, value)), condition)
        return first_value(in_order(rows, []), before)
    rows = _with_core(tree, call("collect_list", _struct_with(value, row)), condition)
    return first_value(call("sort_array", rows), before)


def _struct_with(value: exp.Expression, row: Row) -> exp.Expression:
    """A row as one value that sorts as it does, with another value at its end."""
    found = _struct(*row)
    found.append("expressions", exp.Literal.string("v"))
    found.append("expressions", value.copy())
    return found


def _text(tree: exp.Expression, row: Row) -> exp.Expression:
    """Listagg in the order that is written, then that of the whole row; a DISTINCT one in the order of its values."""
    group = tree.find(exp.WithinGroup)
    core = core_of(tree)
    order = group.expression.copy() if group is not None else exp.Order(expressions=[])
    added = [] if is_distinct(tree) and group is not None else list(row)
    if is_distinct(tree) and group is None:
        added = [core.expressions[0].expressions[0].copy()]
    for item in added:
        order.append("expressions", exp.Ordered(this=item.copy(), desc=False, nulls_first=True))
    return _with_core(tree, exp.WithinGroup(this=core.copy(), expression=order))


def _different_texts(tree: exp.Expression, row: Row) -> exp.Expression:
    """Listagg of DISTINCT values, each at the place of its first row."""
    core = core_of(tree)
    value, separator = core.expressions[0].expressions[0], [*core.expressions[1:], exp.Literal.string("")][0]
    rows = _with_core(tree, call("collect_list", _struct_with(value, row)), _not_null(value))
    different = call("array_distinct", values(call("sort_array", rows)))
    none = exp.EQ(this=call("size", rows.copy()), expression=exp.Literal.number(0))
    return call("if", none, exp.Null(), call("array_join", different, separator.copy()))


def _text_of_list(tree: exp.Expression, row: Row) -> exp.Expression:
    """The same from a list, in SQL that Spark can evaluate beside DISTINCT aggregates."""
    group, core = tree.find(exp.WithinGroup), core_of(tree)
    none_between = exp.Literal.string("")
    value, separator = core.expressions[0], [*core.expressions[1:], none_between][0]
    if not isinstance(separator, exp.Literal):  # NULL
        separator = call("coalesce", separator, none_between)
    collect, keys = "collect_list", [] if group is None else [_key(item) for item in group.expression.expressions]
    if isinstance(value, exp.Distinct):
        value, collect = value.expressions[0], "collect_set"
        keys, row = [(value, *key[1:]) for key in keys[:1]] or [(value, False, True)], ()
    rows = _with_core(tree, call(collect, entry(keys, row, value)), _not_null(value))
    joined = call("array_join", values(in_order(rows, keys)), separator.copy())
    none = exp.EQ(this=call("size", rows.copy()), expression=exp.Literal.number(0))
    return call("if", none, exp.Null(), joined)


def _key(item: exp.Expression) -> tuple[exp.Expression, bool, bool]:
    return (item.this, *directions(item))
