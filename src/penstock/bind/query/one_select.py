"""One SELECT: FROM, WHERE, GROUP BY, HAVING, OVER, QUALIFY, the SELECT list, DISTINCT, ORDER BY … LIMIT."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery, Correlation
from penstock.bind.diagnose import NotIncremental, unsupported, wrong
from penstock.bind.domain import NeedDomain
from penstock.bind.from_.generators import select_generator, with_generators
from penstock.bind.from_.relations import bind_from, refuse_unread
from penstock.bind.level import Context, Level
from penstock.bind.row_order.whole_row import Row, whole_row
from penstock.bind.scalars import fields_of, scalar_of, unique_names
from penstock.bind.select.aggregates import Aggregation, aggregated
from penstock.bind.select.column_names import name_of
from penstock.bind.select.grouping import Grouping, grouping_of
from penstock.bind.select.ordering import Limit, Ordering, limit_of, ordered, ordering_of
from penstock.bind.select.stars import expand, is_star
from penstock.bind.subqueries.attach import attached, filtered
from penstock.bind.subqueries.correlation import split_correlated
from penstock.bind.time_windows.group_functions import with_group_windows
from penstock.bind.trees import (
    OUTER,
    aggregate_calls,
    call_name,
    cast_to,
    conjuncts,
    has_mark,
    is_generator,
    replace_nodes,
    window_calls,
)
from penstock.bind.windows.named_windows import named_windows
from penstock.bind.windows.over import windowed
from penstock.bind.windows.top_k import filter_ranks
from penstock.plan.nodes import Distinct, Plan, Project
from penstock.plan.scalar import Scalar, column, column_tree
from penstock.sql.text import spark_sql


@dataclass
class Pieces:
    """What stands behind FROM and WHERE, bound: everything here is rewritten by GROUP BY and OVER alike."""

    names: list[str]
    items: list[exp.Expression]
    having: list[exp.Expression]
    qualify: list[exp.Expression]
    order: Ordering

    def trees(self) -> list[exp.Expression]:
        """All expressions, in a fixed order."""
        return [*self.items, *self.having, *self.qualify, *self.order.trees()]

    def with_trees(self, trees: list[exp.Expression]) -> Pieces:
        """The same pieces with rewritten expressions."""
        rest = iter(trees)

        def take(old: list[exp.Expression]) -> list[exp.Expression]:
            return [next(rest) for _ in old]

        items, having, qualify = take(self.items), take(self.having), take(self.qualify)
        return Pieces(self.names, items, having, qualify, self.order.with_trees(list(rest)))


def bind_select(select: exp.Select, context: Context, *, keep_order: bool = False) -> BoundQuery:
    """The plan of one SELECT; raises SqlError, UnsupportedError or NotIncremental."""
    refuse_streaming(select)
    refuse_unread(select)
    level = Level(replace(context, windows=MappingProxyType(named_windows(select))))
    plan = bind_from(select, level)
    plan = _where(select, plan, level)
    plan = with_group_windows(select, plan, level)
    _name_windows(select, level)
    listed = [found for item in select.expressions for found in _item(item, level)]
    names, items = [name for name, _ in listed], [tree for _, tree in listed]
    grouping = grouping_of(select, names, items, level)
    pieces = _pieces(select, names, items, grouping, level)
    plan = with_generators(plan, level.generators, level)
    if grouping is not None and _read_generated(grouping, level):
        plan, level.selected = with_generators(plan, level.selected, level), []
    made = None
    if grouping is not None or select.args.get("having") or _has_aggregates(pieces, level):
        trees = [*pieces.trees(), *(tree for tree, _ in level.selected)]
        made = aggregated(plan, grouping, trees, level)
        plan, pieces = made.plan, pieces.with_trees(made.trees[: len(pieces.trees())])
        if made.single_row and level.keys and pieces.having:
            raise NeedDomain
        made = replace(made, single_row=made.single_row and not _may_lack_rows(select))
        level.selected = [(tree, fields) for tree, (_, fields) in zip(made.trees[-1:], level.selected, strict=False)]
        made = replace(made, single_row=made.single_row and not level.selected)
    plan = with_generators(plan, level.selected, level)
    _refuse_outer(pieces)
    plan, pieces = _computed(plan, pieces, level, whole_row(plan, level.scope if made is None else None))
    plan, single = _output(select, plan, pieces, level, keep_order=keep_order), made is not None and made.single_row
    empty = _empty_value(made, pieces) if made is not None else None
    return BoundQuery(plan, tuple(pieces.names), Correlation(tuple(level.keys), tuple(level.residual)), empty, single)


def refuse_streaming(select: exp.Expression) -> None:
    """SELECT STREAM and EMIT are emission, which this version does not have."""
    if select.meta.get("stream"):
        hint = "leave STREAM out: every view is kept up to date as it is"
        raise unsupported(code="SELECT_STREAM", message="SELECT STREAM", place=select.meta["stream"], hint=hint)
    if select.meta.get("emit"):
        text, span = select.meta["emit"]
        raise unsupported(
            code="EMIT",
            message=text,
            place=span,
            hint="leave EMIT out: every change is shown in its step",
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
    return filtered(plan, split_correlated(list(conjuncts(condition)), level), level)


def _may_lack_rows(select: exp.Select) -> bool:
    """Whether a global aggregate need not have its one row."""
    limit = limit_of(select)
    left_out = limit is not None and (limit.offset > 0 or limit.rows == 0)
    return left_out or any(select.args.get(clause) is not None for clause in ("having", "qualify"))


def _pieces(
    select: exp.Select, names: list[str], items: list[exp.Expression], grouping: Grouping | None, level: Level
) -> Pieces:
    having, qualify = select.args.get("having"), select.args.get("qualify")
    keys = frozenset(spark_sql(tree) for tree in (() if grouping is None else grouping.trees))
    return Pieces(
        names,
        items,
        [] if having is None else list(conjuncts(_having(having.this, level, keys))),
        [] if qualify is None else list(conjuncts(level.bind_output(qualify.this))),
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
    return bound if level.shape(bound) in (None, "boolean") else cast_to(bound, "boolean")


def _name_windows(select: exp.Select, level: Level) -> None:
    """`GROUP BY window(…)` gives the SELECT list a struct named `window`."""
    group = select.args.get("group")
    for item in [] if group is None else group.expressions:
        if call_name(item) == "window":
            level.aliases.setdefault("window", level.bind(item))


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
    name = name_of(item)
    if isinstance(item, exp.Alias):
        level.aliases.setdefault(name.lower(), tree)
    return [(name, tree)]


def _aliases(item: exp.Expression) -> list[str]:
    if isinstance(item, exp.Aliases):
        return [part.name for part in item.expressions]
    return [item.alias] if isinstance(item, exp.Alias) else []


def _has_aggregates(pieces: Pieces, level: Level) -> bool:
    trees = [*pieces.trees(), *(tree for tree, _ in level.selected)]
    return any(next(aggregate_calls(tree), None) is not None for tree in trees)


def _read_generated(grouping: Grouping, level: Level) -> bool:
    generated = {item.name for _, fields in level.selected for item in fields}
    return any(node.name in generated for tree in grouping.trees for node in tree.find_all(exp.Column))


def _refuse_outer(pieces: Pieces) -> None:
    if any(has_mark(tree, OUTER) for tree in pieces.trees()):
        raise NeedDomain


def _computed(plan: Plan, pieces: Pieces, level: Level, row: Row) -> tuple[Plan, Pieces]:
    """HAVING, subqueries in the SELECT list, OVER and QUALIFY."""
    plan = filtered(plan, pieces.having, level)
    rest = replace(pieces, having=[])
    if level.residual and any(next(window_calls(tree), None) is not None for tree in rest.trees()):
        raise NeedDomain
    plan, trees = attached(plan, rest.trees(), level)
    plan, trees = windowed(plan, trees, row, level)
    pieces = rest.with_trees(trees)
    if pieces.qualify:
        plan = filter_ranks(plan, pieces.qualify)
    return plan, replace(pieces, qualify=[])


def _output(select: exp.Select, plan: Plan, pieces: Pieces, level: Level, *, keep_order: bool) -> Plan:
    fields = fields_of(plan)
    outputs = list(zip(unique_names(pieces.names), pieces.items, strict=True)) + level.carried
    items = [(name, scalar_of(tree, fields)) for name, tree in outputs]
    limit = limit_of(select)
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on") is not None:
        raise unsupported(
            code="DISTINCT_ON", message="DISTINCT ON", place=select, hint="use QUALIFY ROW_NUMBER() OVER (…) = 1"
        )
    if distinct is not None:
        plan = Distinct(Project(plan, tuple(items)))
        if limit is None and (not keep_order or not pieces.order.keys):
            return plan
        shown = [(name, column(name, item.type, item.nullable)) for name, item in items]
        return _sorted(plan, shown, replace(pieces, order=_over_outputs(pieces.order, outputs)), limit, level)
    if level.residual and (limit is not None or select.args.get("qualify")):
        raise NeedDomain
    if limit is None and (not keep_order or not pieces.order.keys):
        return Project(plan, tuple(items))
    return _sorted(plan, items, pieces, limit, level)


def _sorted(plan: Plan, items: list[tuple[str, Scalar]], pieces: Pieces, limit: Limit | None, level: Level) -> Plan:
    """The SELECT list with what ORDER BY needs beside it, sorted, and the rest dropped again."""
    fields = fields_of(plan)
    names = {scalar.text: name for name, scalar in items}
    hidden: list[tuple[str, Scalar]] = []
    for index, tree in enumerate(pieces.order.trees()):
        scalar = scalar_of(tree, fields)
        if scalar.text not in names:
            names[scalar.text] = f"__o{index}"
            hidden.append((f"__o{index}", scalar))
    wide = Project(plan, tuple(items + hidden))
    sorted_plan = ordered(wide, pieces.order.over(names), limit, tuple(name for name, _ in level.carried))
    if not hidden:
        return sorted_plan
    return Project(sorted_plan, tuple((name, column(name, item.type, item.nullable)) for name, item in items))


def _over_outputs(order: Ordering, outputs: list[tuple[str, exp.Expression]]) -> Ordering:
    """ORDER BY of a SELECT DISTINCT, over the columns of the SELECT list."""
    names = {spark_sql(tree): name for name, tree in outputs}

    def shown(node: exp.Expression) -> exp.Expression | None:
        if isinstance(node, exp.Identifier | exp.DataType | exp.Var | exp.Literal):
            return None
        name = names.get(spark_sql(node))
        return None if name is None else column_tree(name)

    trees = [replace_nodes(tree, shown) for tree in order.trees()]
    for tree, written in zip(trees, order.trees(), strict=True):
        if any(found.name not in names.values() for found in tree.find_all(exp.Column)):
            message = "ORDER BY of a SELECT DISTINCT can only read what the SELECT list has"
            raise wrong(code="ORDER_BY_NOT_SELECTED", message=message, place=written)
    return order.with_trees(trees)


def _empty_value(made: Aggregation, pieces: Pieces) -> exp.Expression | None:
    if len(pieces.items) != 1 or not made.single_row:
        return None
    return made.empty_value(pieces.items[0])
