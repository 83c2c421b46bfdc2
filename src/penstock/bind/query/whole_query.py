"""Whole queries: WITH, set operations, VALUES, parentheses; and the way out for what no plan node expresses."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery
from penstock.bind.diagnose import NotIncremental
from penstock.bind.domain import NeedDomain
from penstock.bind.from_.values import bind_values
from penstock.bind.level import Context, Level
from penstock.bind.query.ctes import with_ctes
from penstock.bind.query.limited_groups import refuse_limit_by, with_limited_groups
from penstock.bind.query.one_select import bind_select, refuse_emit
from penstock.bind.query.recompute import recomputed
from penstock.bind.query.set_operations import bind_set_operation
from penstock.bind.query_settings import without_idle_settings
from penstock.bind.select.ordering import limit_of, ordered, ordering_of
from penstock.bind.windows.arrival import asks_for_arrival
from penstock.plan.scalar import column
from penstock.sql.complaints import unsupported
from penstock.sql.points import refuse_point


def bind_whole_query(tree: exp.Expression, context: Context, *, keep_order: bool) -> BoundQuery:
    """A query in its context; what cannot be bound to nodes is recomputed, as narrowly as possible."""
    refuse_emit(tree)
    tree = with_limited_groups(without_idle_settings(tree))
    refuse_point(tree)
    if not context.arrival and asks_for_arrival(tree, context):
        context = replace(context, arrival=True)
    context = with_ctes(tree, context)
    try:
        return _bind(tree, context, keep_order=keep_order)
    except NotIncremental as reason:
        if context.enclosing is not None:
            raise
        return recomputed(tree, context, reason)


def _bind(tree: exp.Expression, context: Context, *, keep_order: bool) -> BoundQuery:
    match tree:
        case exp.Select():
            return bind_select(tree, context, keep_order=keep_order)
        case exp.SetOperation():
            bound = bind_set_operation(tree, context)
            return _limited(tree, bound, context, keep_order=keep_order)
        case exp.Values() if any(tree.args.get(key) for key in ("alias", "pivots", "sample")):
            bound = bind_select(exp.Select(expressions=[exp.Star()], from_=exp.From(this=_bare_values(tree))), context)
            return _limited(tree, bound, context, keep_order=keep_order)
        case exp.Values():
            return _limited(tree, bind_values(tree, context), context, keep_order=keep_order)
        case exp.Subquery():
            plain = limit_of(tree) is None and tree.args.get("order") is None
            bound = context.bind_query(tree.this, keep_order=keep_order and plain)
            return bound if plain else _limited(tree, bound, context, keep_order=keep_order)
        case exp.Table():
            star = exp.Select(expressions=[exp.Star()], from_=exp.From(this=tree))
            return bind_select(star, context)
        case _:
            raise unsupported(code="QUERY", message=f"{type(tree).__name__.upper()} as a query", place=tree)


def _bare_values(tree: exp.Values) -> exp.Values:
    """The rows with their names, and without the ORDER BY and LIMIT behind them."""
    rows: exp.Values = tree.copy()
    for key in ("order", "limit", "offset"):
        rows.set(key, None)
    return rows


def _limited(tree: exp.Expression, bound: BoundQuery, context: Context, *, keep_order: bool) -> BoundQuery:
    """ORDER BY and LIMIT behind a set operation, VALUES or parentheses."""
    refuse_limit_by(tree.args.get("limit"))
    limit = limit_of(tree)
    if limit is None and not (keep_order and tree.args.get("order") is not None):
        return bound
    level = Level(replace(context, enclosing=None, domain=None))
    if context.enclosing is not None and context.domain is None and context.outers:
        raise NeedDomain
    level.remember_fields(bound.plan)
    items = [column(item.name, item.type, item.nullable).tree for item in bound.fields]
    level.aliases = {name.lower(): item for name, item in zip(bound.names, items, strict=True)}
    order = ordering_of(tree, list(bound.names), list(items), level)
    carried = tuple(bound.plan.names[len(bound.names) :])
    names = {column(name).text: name for name in bound.plan.names}
    if any(not isinstance(item, exp.Column) for item in order.trees()):
        reason = "ORDER BY an expression behind a set operation"
        raise NotIncremental(reason, tree.args["order"], rewriting="the expression as one more column of both sides")
    return replace(bound, plan=ordered(bound.plan, order.over(names), limit, carried), correlation=None)
