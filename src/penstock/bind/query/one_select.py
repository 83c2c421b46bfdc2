"""One SELECT: FROM, WHERE, GROUP BY, HAVING, OVER, QUALIFY, the SELECT list, DISTINCT, ORDER BY … LIMIT."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery, Correlation
from penstock.bind.diagnose import NotIncremental
from penstock.bind.domain import NeedDomain
from penstock.bind.from_.generators import select_generator, with_generators
from penstock.bind.from_.relations import bind_from
from penstock.bind.level import Context, Level
from penstock.bind.marks import OUTER, has_mark
from penstock.bind.query.clauses import Clauses
from penstock.bind.query.output import output_of
from penstock.bind.query.substreams import with_substreams
from penstock.bind.row_order.whole_row import Row, whole_row
from penstock.bind.select.aggregates import Aggregation, aggregated
from penstock.bind.select.column_names import written_name_of
from penstock.bind.select.grouping import Grouping, grouping_of
from penstock.bind.select.ordering import limit_of, ordering_of
from penstock.bind.select.stars import expand, is_star
from penstock.bind.subqueries.attach import attached, filtered
from penstock.bind.subqueries.correlation import split_correlated
from penstock.bind.time_windows.closing_sessions import with_closing_sessions
from penstock.bind.time_windows.in_group_by import on_time_for_windows, with_group_windows
from penstock.bind.time_windows.ungrouped import refuse_ungrouped_windows
from penstock.bind.windows.arrival import handed_on
from penstock.bind.windows.named_windows import named_windows
from penstock.bind.windows.over import windowed
from penstock.bind.windows.top_k import filter_ranks
from penstock.plan.emitclause import emit_in_subquery, read_emit
from penstock.plan.nodes import Plan
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.nodes import SHUFFLED, SUBSTREAMS
from penstock.sql.text import spark_sql
from penstock.sql.trees import aggregate_calls, cast_to, conjuncts, is_generator, window_calls
from penstock.types.check import check_condition


def bind_select(select: exp.Select, context: Context, *, keep_order: bool = False) -> BoundQuery:
    """The plan of one SELECT; raises SqlError, UnsupportedError or NotIncremental."""
    refuse_emit(select)
    select = with_substreams(select)
    inside = replace(context, windows=MappingProxyType(named_windows(select)), hands_on=False)
    level = Level(inside, select=select)
    plan = bind_from(select, level)
    for key in (*(select.meta.get(SUBSTREAMS) or ()), *(select.args.get(SHUFFLED) or ())):
        level.bind(key)  # also where nothing goes by it: it has to be there
    plan = on_time_for_windows(select, plan, level)
    plan = _where(select, plan, level)
    plan = with_group_windows(select, plan, level)
    plan = with_closing_sessions(select, plan, level)
    listed = [found for item in select.expressions for found in _item(item, level)]
    listed += handed_on(select, level) if context.hands_on else []
    names, items = [name for name, _ in listed], [tree for _, tree in listed]
    grouping = grouping_of(select, names, items, level)
    clauses = _clauses(select, names, items, grouping, level)
    plan = with_generators(plan, level.generators, level)
    if grouping is not None and _read_generated(grouping, level):
        plan, level.selected = with_generators(plan, level.selected, level), []
    plan, clauses, made = _aggregated(select, plan, grouping, clauses, level)
    plan = with_generators(plan, level.selected, level)
    _refuse_outer(clauses)
    plan, clauses = _computed(plan, clauses, level, whole_row(plan, level.scope if made is None else None))
    plan, single = output_of(select, plan, clauses, level, keep_order=keep_order), made is not None and made.single_row
    empty = _empty_value(made, clauses) if made is not None else None
    return BoundQuery(plan, tuple(clauses.names), Correlation(tuple(level.keys), tuple(level.residual)), empty, single)


def refuse_emit(select: exp.Expression) -> None:
    """Raise for EMIT: SqlError for a mistake in it or its place, else UnsupportedError, as there is one answer."""
    if select.meta.get("emit"):
        text, span = select.meta["emit"]
        read_emit(text, span)  # a mistake in it comes first
        if select.parent is not None:
            raise emit_in_subquery(text, span)
        raise unsupported(
            code="EMIT",
            message=text,
            place=span,
            hint="a query with EMIT stands: subscribe() to it, or write it in the shell",
        )


def _where(select: exp.Select, plan: Plan, level: Level) -> Plan:
    clause = select.args.get("where")
    if clause is None:
        return plan
    condition = level.bind(clause.this)
    found = next(aggregate_calls(condition), None)
    if found is not None and has_mark(found, OUTER):
        reason = "an aggregate of the enclosing query in a subquery"
        raise NotIncremental(reason, found)
    if found is not None:
        hint = "conditions on aggregates go into HAVING"
        raise wrong(
            code="AGGREGATE_IN_WHERE",
            message="an aggregate cannot stand in WHERE",
            place=found,
            hint=hint,
            sqlstate="42903",
        )
    check_condition(condition, level.fields, "WHERE")
    return filtered(plan, split_correlated(list(conjuncts(condition)), level), level)


def _aggregated(
    select: exp.Select, plan: Plan, grouping: Grouping | None, clauses: Clauses, level: Level
) -> tuple[Plan, Clauses, Aggregation | None]:
    """The groups of a SELECT and its clauses over them, as they are where nothing is grouped or aggregated."""
    if grouping is None and not select.args.get("having") and not _has_aggregates(clauses, level):
        return plan, clauses, None
    refuse_ungrouped_windows(select, () if grouping is None else grouping.trees, level)
    trees = [*clauses.trees(), *(tree for tree, _ in level.selected)]
    made = aggregated(plan, grouping, trees, level)
    clauses = clauses.with_trees(made.trees[: len(clauses.trees())])
    if made.single_row and level.keys and clauses.having:
        raise NeedDomain
    level.selected = [(tree, fields) for tree, (_, fields) in zip(made.trees[-1:], level.selected, strict=False)]
    single_row = made.single_row and not _may_lack_rows(select) and not level.selected
    return made.plan, clauses, replace(made, single_row=single_row)


def _may_lack_rows(select: exp.Select) -> bool:
    """True if a global aggregate need not have its one row."""
    limit = limit_of(select)
    left_out = limit is not None and (limit.offset > 0 or limit.rows == 0)
    return left_out or any(select.args.get(clause) is not None for clause in ("having", "qualify"))


def _clauses(
    select: exp.Select, names: list[str], items: list[exp.Expression], grouping: Grouping | None, level: Level
) -> Clauses:
    having, qualify = select.args.get("having"), select.args.get("qualify")
    keys = frozenset(spark_sql(tree) for tree in (() if grouping is None else grouping.trees))
    return Clauses(
        names,
        items,
        [] if having is None else list(conjuncts(_having(having.this, level, keys))),
        [] if qualify is None else list(conjuncts(_qualify(qualify.this, level))),
        ordering_of(select, names, items, level),
    )


def _having(tree: exp.Expression, level: Level, keys: frozenset[str]) -> exp.Expression:
    """HAVING: a column that is grouped by (`keys`, bound, as text) comes before an alias, and that before others.

    Unlike WHERE it takes any value that can be cast to BOOLEAN.
    """
    level.grouped_first = keys
    try:
        bound = level.bind_output(tree)
    finally:
        level.grouped_first = frozenset()
    check_condition(bound, level.fields, "HAVING")
    return bound if level.shape(bound) in (None, "boolean") else cast_to(bound, "boolean")


def _qualify(tree: exp.Expression, level: Level) -> exp.Expression:
    bound = level.bind_output(tree)
    check_condition(bound, level.fields, "QUALIFY")
    return bound


def _item(item: exp.Expression, level: Level) -> list[tuple[str, exp.Expression]]:
    if is_star(item):
        return list(expand(item, level))
    tree = level.bind(item.this if isinstance(item, exp.Alias | exp.Aliases) else item)
    if is_generator(tree):
        return select_generator(tree, _aliases(item), level)
    if isinstance(item, exp.Aliases):
        raise wrong(
            code="SEVERAL_ALIASES", message="several names for one value", place=item, hint="one name is enough"
        )
    name = written_name_of(item)
    if isinstance(item, exp.Alias):
        level.aliases.setdefault(name.lower(), tree)
    return [(name, tree)]


def _aliases(item: exp.Expression) -> list[str]:
    if isinstance(item, exp.Aliases):
        return [part.name for part in item.expressions]
    return [item.alias] if isinstance(item, exp.Alias) else []


def _has_aggregates(clauses: Clauses, level: Level) -> bool:
    trees = [*clauses.trees(), *(tree for tree, _ in level.selected)]
    return any(next(aggregate_calls(tree), None) is not None for tree in trees)


def _read_generated(grouping: Grouping, level: Level) -> bool:
    generated = {item.name for _, fields in level.selected for item in fields}
    return any(node.name in generated for tree in grouping.trees for node in tree.find_all(exp.Column))


def _refuse_outer(clauses: Clauses) -> None:
    if any(has_mark(tree, OUTER) for tree in clauses.trees()):
        raise NeedDomain


def _computed(plan: Plan, clauses: Clauses, level: Level, row: Row) -> tuple[Plan, Clauses]:
    """HAVING, subqueries in the SELECT list, OVER and QUALIFY."""
    plan = filtered(plan, clauses.having, level)
    rest = replace(clauses, having=[])
    if level.residual and any(next(window_calls(tree), None) is not None for tree in rest.trees()):
        raise NeedDomain
    plan, trees = attached(plan, rest.trees(), level)
    plan, trees = windowed(plan, trees, row, level)
    clauses = rest.with_trees(trees)
    if clauses.qualify:
        plan = filter_ranks(plan, clauses.qualify)
    return plan, replace(clauses, qualify=[])


def _empty_value(made: Aggregation, clauses: Clauses) -> exp.Expression | None:
    if len(clauses.items) != 1 or not made.single_row:
        return None
    return made.empty_value(clauses.items[0])
