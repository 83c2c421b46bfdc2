"""Whole queries: WITH, set operations, VALUES, parentheses; and the way out for what no plan node expresses."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.bind.diagnose import NotIncremental, ReadsAround, unsupported
from penstock.bind.from_.relations import bind_values
from penstock.bind.level import Bound, Context, Level, NeedDomain
from penstock.bind.query.fallback import recomputed
from penstock.bind.query.setoperations import bind_set_operation
from penstock.bind.select.ordering import limit_of, ordered, ordering_of
from penstock.bind.select.select import bind_select, refuse_streaming
from penstock.catalog.model import Catalog
from penstock.errors import PenstockError, SqlError
from penstock.plan.nodes import Plan, Project
from penstock.plan.scalar import column


def bind_query(tree: exp.Expression, catalog: Catalog, source: str = "", *, keep_order: bool = True) -> Plan:
    """The plan of a query over a catalogue; its fields have the query's column names, made different where equal.

    An ORDER BY at the top stays as a TopK without a limit, for a query whose answer is shown, unless
    `keep_order` is False; a view has no order. Raises SqlError or UnsupportedError, with `source` filled in.
    """
    return bind_named(tree, catalog, source, keep_order=keep_order).plan


def bind_named(tree: exp.Expression, catalog: Catalog, source: str = "", *, keep_order: bool = False) -> Bound:
    """As `bind_query`, with the column names as the query has them, equal ones included."""
    try:
        bound = bind_tree(tree, Context(catalog), keep_order=keep_order)
    except PenstockError as error:
        raise error.with_source(source) from None
    return bound


def bind_tree(tree: exp.Expression, context: Context, *, keep_order: bool = False) -> Bound:
    """A query in its context; what cannot be bound to nodes is recomputed, as narrowly as possible."""
    refuse_streaming(tree)
    context = with_ctes(tree, context)
    try:
        return _bind(tree, context, keep_order=keep_order)
    except NotIncremental as reason:
        if context.enclosing is not None:
            raise
        return recomputed(tree, context, reason)


def _bind(tree: exp.Expression, context: Context, *, keep_order: bool) -> Bound:
    match tree:
        case exp.Select():
            return bind_select(tree, context, keep_order=keep_order)
        case exp.SetOperation():
            bound = bind_set_operation(tree, context)
            return _limited(tree, bound, context, keep_order=keep_order)
        case exp.Values():
            return _limited(tree, bind_values(tree, context), context, keep_order=keep_order)
        case exp.Subquery():
            plain = limit_of(tree) is None and tree.args.get("order") is None
            bound = bind_tree(tree.this, context, keep_order=keep_order and plain)
            return bound if plain else _limited(tree, bound, context, keep_order=keep_order)
        case exp.Table():
            star = exp.Select(expressions=[exp.Star()], from_=exp.From(this=tree))
            return bind_select(star, context)
        case _:
            raise unsupported(code="QUERY", message=f"{type(tree).__name__.upper()} as a query", place=tree)


def with_ctes(tree: exp.Expression, context: Context) -> Context:
    """The context with what the tree's WITH declares."""
    clause = tree.args.get("with_")
    if clause is None:
        return context
    if clause.args.get("recursive"):
        from penstock.bind.program.recursion import bind_recursive_ctes

        return bind_recursive_ctes(clause, context)
    for cte in clause.expressions:
        context = context.with_cte(cte.alias, bind_cte(cte, context))
    return context


def bind_apart(tree: exp.Expression, context: Context) -> Bound:
    """A derived table or a CTE, which sees nothing of the query around it.

    In a subquery it may read what encloses that, as in Spark: a derived table is lateral then (`ReadsAround`), and with
    a CTE the whole query is recomputed.
    """
    try:
        return bind_tree(tree, context.alone())
    except SqlError as error:
        if context.enclosing is None or not _reads_outside(tree, context):
            raise error from None
    raise ReadsAround(tree)


def _reads_outside(tree: exp.Expression, context: Context) -> bool:
    """Whether the enclosing query's columns are what the tree lacks."""
    try:
        bind_tree(tree, replace(context, domain=None, outers={}))
    except NeedDomain:
        return True
    except SqlError:
        return False
    return True


def bind_cte(cte: exp.CTE, context: Context) -> Bound:
    """A CTE, read like a derived table wherever it is named."""
    from penstock.bind.diagnose import wrong

    bound = bind_apart(cte.this, context)
    alias = cte.args["alias"]
    names = tuple(part.name for part in alias.args.get("columns") or [])
    if names and len(names) != len(bound.names):
        message = f"{cte.alias} has {len(bound.names)} columns, but {len(names)} names are given"
        raise wrong(code="WRONG_NUMBER_OF_NAMES", message=message, place=alias)
    return replace(bound, names=names or bound.names, level=None)


def _limited(tree: exp.Expression, bound: Bound, context: Context, *, keep_order: bool) -> Bound:
    """ORDER BY and LIMIT behind a set operation, VALUES or parentheses."""
    limit = limit_of(tree)
    if limit is None and not (keep_order and tree.args.get("order") is not None):
        return bound
    level = Level(replace(context, enclosing=None, domain=None))
    if context.enclosing is not None and context.domain is None and context.outers:
        raise NeedDomain
    level.see(bound.plan)
    items = [column(item.name, item.type, item.nullable).tree for item in bound.fields]
    level.aliases = {name.lower(): item for name, item in zip(bound.names, items, strict=True)}
    order = ordering_of(tree, list(bound.names), list(items), level)
    carried = tuple(bound.plan.names[len(bound.names) :])
    names = {column(name).text: name for name in bound.plan.names}
    if any(not isinstance(item, exp.Column) for item in order.trees()):
        reason = "ORDER BY an expression behind a set operation"
        raise NotIncremental(reason, tree.args["order"], rewriting="the expression as one more column of both sides")
    return replace(bound, plan=ordered(bound.plan, order.over(names), limit, carried), level=None)


def renamed(bound: Bound, names: tuple[str, ...]) -> Plan:
    """The query's columns under other names."""
    items = zip(names, bound.fields, strict=True)
    return Project(bound.plan, tuple((name, column(item.name, item.type, item.nullable)) for name, item in items))
