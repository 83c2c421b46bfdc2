"""FROM: tables, views, CTEs, derived tables, VALUES; each becomes a plan whose fields are named `alias.column`."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery
from penstock.bind.diagnose import NotIncremental, ReadsAround, is_another_case, unknown_relation
from penstock.bind.from_.arriving import bind_arriving
from penstock.bind.from_.constant_rows import constant_rows
from penstock.bind.from_.derived import bind_apart
from penstock.bind.from_.generators import bind_lateral_view, is_lateral
from penstock.bind.from_.joins import joined
from penstock.bind.from_.laterals import bind_around, bind_lateral
from penstock.bind.from_.pivots import bind_pivots
from penstock.bind.from_.values import bind_values
from penstock.bind.from_.versions import as_of_a_point, is_versioned, with_condition_of_where
from penstock.bind.level import Context, Level
from penstock.bind.matching.clause import bind_match_recognize
from penstock.bind.relation import ONE_ROW, SINCE, TAIL, aliased, rows_of
from penstock.bind.scalars import fields_of, scalar_of, unique_names
from penstock.bind.scope import Relation, Scope
from penstock.bind.taking_in import taking_in_view
from penstock.bind.time_windows.tables import bind_window_table
from penstock.catalog.model import View
from penstock.catalog.reserved import HIDDEN, keeps_waterlines
from penstock.plan.nodes import Join, JoinKind, Plan, Project
from penstock.plan.scalar import column
from penstock.sql.complaints import unsupported
from penstock.sql.nodes import RowMatches, TableFunction


def bind_from(select: exp.Select, level: Level) -> Plan:
    """The plan of FROM with all its joins and lateral views; the level's scope is set."""
    clause = select.args.get("from_")
    plan: Plan = ONE_ROW
    if clause is not None:
        plan, level.scope = _first(clause.this, level)
        joins = list(clause.this.args.get("joins") or []) + list(select.args.get("joins") or [])
        for join in joins:
            join = with_condition_of_where(join, select, level.scope)  # noqa: PLW2901 - the same, said otherwise
            plan, level.scope = joined(plan, level.scope, join, level)
    else:
        plan = over_domain(plan, level)
    for lateral in select.args.get("laterals") or []:
        plan = bind_lateral_view(plan, lateral, level)
    level.remember_fields(plan)
    return plan


def _first(tree: exp.Expression, level: Level) -> Relation:
    """The first item of FROM, beside the enclosing query's values: a lateral one may read them."""
    if is_lateral(tree):
        return _with_clauses_behind(
            *bind_lateral(over_domain(ONE_ROW, level), Scope(), _alone(tree), level), tree, level
        )
    try:
        plan, scope = level.bind_relation(tree)
    except ReadsAround as error:
        if error.tree is not tree:
            raise
        return _with_clauses_behind(
            *bind_around(over_domain(ONE_ROW, level), Scope(), _alone(tree), level), tree, level
        )
    return over_domain(plan, level), scope


def _alone(tree: exp.Expression) -> exp.Join:
    """An item of FROM as if it were joined; a copy, since the item stays where it is."""
    return exp.Join(this=tree.copy())


def over_domain(plan: Plan, level: Level) -> Plan:
    """The plan for every row of the enclosing query's values, in a subquery that is bound over them."""
    domain = level.context.domain
    if domain is None:
        return plan
    level.remember_fields(domain.leaf)
    level.carried = [(name, column(name).tree) for name in domain.leaf.names]
    return domain.leaf if plan == ONE_ROW else Join(domain.leaf, plan, JoinKind.INNER)


def bind_relation(tree: exp.Expression, level: Level) -> Relation:
    """One item of FROM."""
    return _with_clauses_behind(*_relation(tree, level), tree, level)


def _with_clauses_behind(plan: Plan, scope: Scope, tree: exp.Expression, level: Level) -> Relation:
    """An item of FROM with the PIVOTs behind it."""
    level.remember_fields(plan)
    if tree.args.get("pivots"):
        plan, scope = bind_pivots(plan, scope, tree, level)
        level.remember_fields(plan)
    if tree.args.get("sample") is not None:
        hint = "choose rows by a condition on a hash of the key, such as pmod(hash(id), 100) < 10"
        raise unsupported(code="SAMPLE", message="a random sample cannot be kept up to date", place=tree, hint=hint)
    return plan, scope


def _relation(tree: exp.Expression, level: Level) -> Relation:
    match tree:
        case exp.Table() | exp.Lateral() | exp.Unnest() if is_lateral(tree):
            return bind_lateral(ONE_ROW, Scope(), _alone(tree), level)
        case exp.Table() if isinstance(tree.this, exp.Anonymous):
            return constant_rows(tree, level)
        case exp.Table():
            return _named(tree, level)
        case exp.Subquery() if isinstance(tree.this, exp.Table | exp.Join) or _is_join_group(tree):
            return _parenthesised(tree, level)
        case exp.Subquery():
            return _derived(tree, level)
        case exp.Values():
            return aliased(bind_values(tree, level.context), tree, level, "__values")
        case TableFunction() if tree.name in ("CHANGELOG", "DEDUP"):
            return bind_arriving(tree, level)
        case TableFunction():
            return bind_window_table(tree, level)
        case RowMatches():
            return bind_match_recognize(tree, level)
        case _:
            reason = f"{type(tree).__name__.upper()} in FROM"
            raise NotIncremental(reason, tree)


def _is_join_group(tree: exp.Subquery) -> bool:
    return isinstance(tree.this, exp.Subquery) and bool(tree.this.args.get("joins"))


def _parenthesised(tree: exp.Subquery, level: Level) -> Relation:
    """`(a JOIN b ON …)`: joins in parentheses; an alias hides the names inside."""
    plan, scope = level.bind_relation(tree.this)
    for join in tree.this.args.get("joins") or []:
        plan, scope = joined(plan, scope, join, level)
    if tree.alias:
        visible = scope.star() or ()
        names = [item.name for item in visible]
        scalars = [scalar_of(item.tree, fields_of(plan)) for item in visible]
        items = tuple(zip(unique_names(names), scalars, strict=True))
        return aliased(BoundQuery(Project(plan, items), tuple(names)), tree, level, tree.alias)
    return plan, scope


def _of_stream_in_from(tree: exp.Table) -> str | None:
    """The hint for `FROM STREAM s` of Spark, which is read as a relation `stream` under the name s."""
    if tree.name.lower() != "stream" or not tree.alias:
        return None
    return f"STREAM stands behind SELECT: SELECT STREAM … FROM {tree.alias}"


def _named(tree: exp.Table, level: Level) -> Relation:
    if is_versioned(tree):
        return as_of_a_point(tree, level)
    name = str(tree.name)
    _refuse_qualifiers(tree)
    cte = level.context.ctes.get(name.lower())
    if cte is not None and not tree.args.get("db"):
        return aliased(cte, tree, level, name)
    found = level.context.catalog.relation(name)
    if found is None or tree.args.get("db") or is_another_case(found, name, level.context.rules):
        written = ".".join(part.name for part in tree.parts)
        known = (*level.context.ctes, *level.context.catalog.relation_names())
        raise unknown_relation(written, known, tree.this, hint=_of_stream_in_from(tree))
    taking_in = level.context.taking_in
    if taking_in is not None and taking_in.reads_through(found):
        return aliased(_read_through(found, level), tree, level, name)
    told = _telling(found, level) if isinstance(found, View) and level.context.arrival else None
    if told is not None:
        bound = told if taking_in is None else replace(told, plan=taking_in.recent(told.plan, found))
        return aliased(bound, tree, level, name)
    if taking_in is not None and taking_in.is_tail(found):
        tree.meta[TAIL] = True
        tree.meta[SINCE] = taking_in.start.after
    alias = tree.args.get("alias")
    renamed = alias is not None and bool(alias.args.get("columns"))
    bound = rows_of(found, tree, hidden=not renamed, kept=not renamed and _asks_for_waterlines(level))
    if taking_in is not None:
        bound = replace(bound, plan=taking_in.recent(bound.plan, found))
    return aliased(bound, tree, level, name)


def _asks_for_waterlines(level: Level) -> bool:
    """True for a query that names a column by which rows keep waterlines, as who verifies a view's content does."""
    return level.select is not None and any(
        keeps_waterlines(item.name) for part in level.select.expressions for item in part.find_all(exp.Column)
    )


def _telling(found: View, level: Level) -> BoundQuery | None:
    """A view as the query that it is, where that tells in which order its rows arrive; else None."""
    if not isinstance(found.query, exp.Expression) or found.lateness or found.recursive or found.is_hidden:
        return None
    tree = found.query.copy()
    tree.meta.pop("emit", None)
    inside = _around(found, level)
    passing = taking_in_view(found.name, level.context.catalog)  # what passes in it is there
    bound = replace(inside, taking_in=passing, hands_on=True).bind_query(tree)
    hidden = tuple(name for name in bound.names if name in HIDDEN)
    if not hidden:
        return None
    return replace(bound, names=(*(item.label for item in found.columns), *hidden), correlation=None)


def _around(found: View, level: Level) -> Context:
    """The surroundings in which the query of a view is read again: none but the catalogue, in the view's dialect."""
    inside = level.context.alone()
    return replace(
        inside, catalog=inside.catalog.read_as(found), ctes=MappingProxyType({}), windows=MappingProxyType({})
    )


def _read_through(found: View, level: Level) -> BoundQuery:
    """A view as the query that it is, over what comes from now on."""
    inside = _around(found, level)
    bound = inside.bind_query(found.query)
    return replace(bound, names=tuple(item.label for item in found.columns))


def _refuse_qualifiers(tree: exp.Table) -> None:
    for key in ("when", "changes"):
        if tree.args.get(key) is not None:
            message, hint = "versions of a table other than FOR SYSTEM_TIME AS OF", "read the table as it is now"
            raise unsupported(code="TABLE_VERSION", message=message, place=tree, hint=hint)


def _derived(tree: exp.Subquery, level: Level) -> Relation:
    return aliased(bind_apart(tree, level.context), tree, level, "__derived")
