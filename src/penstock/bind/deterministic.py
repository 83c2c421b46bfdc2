"""Functions whose answer depends on the order of the rows, rewritten so that it does not.

The order is the ascending one of the whole input row, NULLs first (SEMANTICS 0). `first(x)` is the x of the least row,
`min_by(x, struct(row))`; `collect_list(x)` is taken from a sorted list of rows; `max_by(x, y)` takes the last and
`min_by(x, y)` the first among rows with the same y.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.trees import call, call_name, core_of, filter_of, ignores_nulls
from penstock.plan.nodes import Plan
from penstock.plan.scalar import column_tree

_FIRST = frozenset(["first", "first_value", "any_value"])
_LAST = frozenset(["last", "last_value"])
_LISTS = frozenset(["collect_list", "array_agg"])
_TEXTS = frozenset(["listagg", "string_agg"])


def settled(tree: exp.Expression, plan: Plan, leading: tuple[exp.Expression, ...] = ()) -> exp.Expression:
    """The aggregate call with an answer that no order of rows changes; other calls as they are.

    `leading` stands before the whole row in the order of `first`, `last` and lists.
    """
    name = call_name(core_of(tree)) or ""
    if name in _FIRST or name in _LAST:
        return _end(tree, _row(plan, *leading), last=name in _LAST)
    if name in _LISTS and not _is_distinct(tree):
        return _list(tree, _row(plan, *leading))
    if name in _LISTS or name == "collect_set":
        return call("sort_array", tree)
    if name in _TEXTS:
        return _text(tree, plan)
    if name == "mode" and len(core_of(tree).expressions) == 1 and not isinstance(tree, exp.WithinGroup):
        return _with_core(tree, call("mode", core_of(tree).expressions[0], exp.Boolean(this=True)))
    if name in ("max_by", "min_by") and not _is_distinct(tree):
        return _extreme(tree, plan, name)
    return tree


def _is_distinct(tree: exp.Expression) -> bool:
    arguments = core_of(tree).expressions
    return bool(arguments) and isinstance(arguments[0], exp.Distinct)


def whole_row(plan: Plan) -> list[exp.Expression]:
    """The fields that make the order of rows: all that Spark can compare."""
    return [column_tree(item.name) for item in plan.fields if comparable(item.type)]


def comparable(kind: str | None) -> bool:
    """Whether values of the type can be sorted (an unknown type is taken to be)."""
    return kind is None or not ("map<" in kind or "variant" in kind or kind == "void" or "interval" in kind)


def _row(plan: Plan, *first: exp.Expression) -> exp.Expression:
    parts: list[exp.Expression] = []
    for index, item in enumerate([*first, *whole_row(plan)]):
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


def _extreme(tree: exp.Expression, plan: Plan, name: str) -> exp.Expression:
    value, by, *rest = core_of(tree).expressions
    return _with_core(tree, call(name, value.copy(), _row(plan, by), *rest), _not_null(by))


def _list(tree: exp.Expression, row: exp.Expression) -> exp.Expression:
    value = core_of(tree).expressions[0]
    row.append("expressions", exp.Literal.string("v"))
    row.append("expressions", value.copy())
    rows = _with_core(tree, call("collect_list", row), _not_null(value))
    return call("transform", call("sort_array", rows), _lambda("v"))


def nth_of(tree: exp.Expression, plan: Plan, leading: tuple[exp.Expression, ...] = ()) -> exp.Expression:
    """`nth_value(x, n)` as the n-th of the sorted rows, as `get(sort_array(collect_list(…)), n - 1).v`."""
    value, place = core_of(tree).expressions
    row = _row(plan, *leading)
    row.append("expressions", exp.Literal.string("v"))
    row.append("expressions", value.copy())
    rows = _with_core(tree, call("collect_list", row), _not_null(value) if ignores_nulls(tree) else None)
    before = exp.Sub(this=exp.Paren(this=place.copy()), expression=exp.Literal.number(1))
    return exp.Dot(this=call("get", call("sort_array", rows), before), expression=exp.Identifier(this="v"))


def _lambda(name: str) -> exp.Lambda:
    variable = exp.Identifier(this="e", quoted=False)
    return exp.Lambda(this=exp.Dot(this=variable, expression=exp.Identifier(this=name)), expressions=[variable.copy()])


def _text(tree: exp.Expression, plan: Plan) -> exp.Expression:
    """Listagg in the order that is written, then that of the whole row; a DISTINCT one in the order of its values."""
    group = tree.find(exp.WithinGroup)
    core = core_of(tree)
    order = group.expression.copy() if group is not None else exp.Order(expressions=[])
    added = [] if _is_distinct(tree) and group is not None else whole_row(plan)
    if _is_distinct(tree) and group is None:
        added = [core.expressions[0].expressions[0].copy()]
    for item in added:
        order.append("expressions", exp.Ordered(this=item, desc=False, nulls_first=True))
    return _with_core(tree, exp.WithinGroup(this=core.copy(), expression=order))
