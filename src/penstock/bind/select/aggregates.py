"""GROUP BY and aggregate functions: the Aggregate node, and what stands above it rewritten over its fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from penstock.bind.arrival_order import arrival_of_aggregates, goes_by_arrival
from penstock.bind.diagnose import NotIncremental
from penstock.bind.domain import NeedDomain
from penstock.bind.level import Level
from penstock.bind.marks import OUTER, has_mark
from penstock.bind.row_order.deterministic import deterministic_aggregate, is_distinct
from penstock.bind.row_order.whole_row import Row, whole_row
from penstock.bind.scalars import fields_of, scalar_of
from penstock.bind.select.empty_aggregates import empty_of, for_each_outer_value, is_null_when_empty, refuse_sketches
from penstock.bind.select.grouping import Grouping
from penstock.bind.select.grouping_sets import GROUPING_ID, expanded, grouping_bits
from penstock.bind.subqueries.attach import attached
from penstock.bind.subqueries.grouped import as_grouped
from penstock.bind.time_windows.times import END, START
from penstock.catalog.functions import UNREPEATABLE
from penstock.plan.nodes import Aggregate, AggregateCall, Plan, Project
from penstock.plan.scalar import Scalar, column, column_tree
from penstock.sql.complaints import wrong
from penstock.sql.text import spark_sql
from penstock.sql.trees import aggregate_calls, at, call_name, core_of, filter_of, replace_nodes, same


@dataclass(frozen=True)
class Aggregation:
    """The node, the rewritten expressions, and whether one row is there even over nothing."""

    plan: Plan
    trees: list[exp.Expression]
    single_row: bool
    functions: dict[str, str]

    def empty_value(self, tree: exp.Expression) -> exp.Expression | None:
        """The value of an expression over the aggregates where there are no rows; None if that is NULL."""
        if isinstance(tree, exp.Column) and is_null_when_empty(self.functions.get(tree.name)):
            return None
        return replace_nodes(tree, self._empty)

    def _empty(self, node: exp.Expression) -> exp.Expression | None:
        function = self.functions.get(node.name) if isinstance(node, exp.Column) else None
        return None if function is None else empty_of(function)


def aggregated(plan: Plan, grouping: Grouping | None, trees: list[exp.Expression], level: Level) -> Aggregation:
    """The Aggregate of a SELECT and the expressions above it."""
    found = grouping or Grouping(())
    trees = as_grouped(trees, found.trees, level)
    calls = _distinct_calls(trees)
    if level.residual or any(has_mark(tree, OUTER) for tree in [*found.trees, *calls.values()]):
        raise NeedDomain
    parts = [*found.trees, *calls.values()]
    plan, parts = attached(plan, parts, level)
    group_trees, call_trees = parts[: len(found.trees)], parts[len(found.trees) :]
    names = [_group_name(tree, index, level) for index, tree in enumerate(group_trees)]
    if found.sets is not None:
        plan, group_trees = expanded(plan, group_trees, found.sets)
    fields = fields_of(plan)
    groups = [(name, scalar_of(tree, fields)) for name, tree in zip(names, group_trees, strict=True)]
    groups += [(GROUPING_ID, scalar_of(column_tree(GROUPING_ID), fields))] if found.sets is not None else []
    groups += [(name, scalar_of(tree, fields)) for name, tree in level.carried]
    row = whole_row(plan, level.scope)
    arrived = arrival_of_aggregates(level)
    distinct = any(is_distinct(tree) for tree in call_trees)
    aggregates = tuple(
        (f"__a{index}", _call(tree, plan, row, arrived, beside_distinct=distinct))
        for index, tree in enumerate(call_trees)
    )
    node: Plan = Aggregate(plan, tuple(groups), aggregates)
    single_row = not found.trees and found.sets is None
    if single_row and (level.keys or level.context.domain is not None):
        refuse_sketches(call_trees)
    if single_row and level.context.domain is not None:
        node = for_each_outer_value(node, level.context.domain, {name: item.function for name, item in aggregates})
    level.carried = [(name, column_tree(name)) for name, _ in level.carried]
    columns: dict[str, exp.Expression] = {text: column_tree(f"__a{index}") for index, text in enumerate(calls)}
    pairs = zip(found.trees, names, strict=True)
    keys: dict[str, exp.Expression] = {same(tree): column_tree(name) for tree, name in pairs}
    node, ends = _with_ends(node, keys, columns, level)
    columns |= ends
    level.remember_fields(node)
    if found.sets is None:
        _refuse_grouping(trees)
    rewritten = [_over(tree, keys, columns) for tree in trees]
    readable = {*node.names, *(item.name for _, fields in level.selected for item in fields)}
    if any(has_mark(tree, OUTER) for tree in rewritten):
        raise NeedDomain
    for tree in rewritten:
        _refuse_ungrouped(tree, readable)
    functions = {name: item.function for name, item in aggregates}
    return Aggregation(node, rewritten, single_row, functions)


def _distinct_calls(trees: list[exp.Expression]) -> dict[str, exp.Expression]:
    calls: dict[str, exp.Expression] = {}
    for tree in trees:
        for item in aggregate_calls(tree):
            if call_name(core_of(item)) not in ("grouping", "grouping_id"):
                _refuse_nested(item)
                calls.setdefault(spark_sql(item), item)
    return calls


def _refuse_nested(tree: exp.Expression) -> None:
    core = core_of(tree)
    for argument in core.expressions:
        inner = next(aggregate_calls(argument), None)
        if inner is not None:
            message = "an aggregate cannot stand inside another one"
            hint = "compute the inner one in a subquery"
            raise wrong(code="NESTED_AGGREGATE", message=message, place=inner, hint=hint, sqlstate="42607")


def _group_name(tree: exp.Expression, index: int, level: Level) -> str:
    """The name of a key; of a window's bounds it says which they are, by which a query that stands knows them."""
    text = same(tree)
    for window in level.group_windows:
        if text in (same(window.start), same(window.end)):
            return f"__g{index}.{START if text == same(window.start) else END}"
    return str(tree.name) if isinstance(tree, exp.Column) else f"__g{index}"


def _with_ends(
    node: Plan, keys: dict[str, exp.Expression], columns: dict[str, exp.Expression], level: Level
) -> tuple[Plan, dict[str, exp.Expression]]:
    """The groups with the ends of their windows as columns, where these are computed from the starts."""
    ends = [(keys.get(same(item.start)), item.end) for item in level.group_windows if same(item.end) not in keys]
    named = [(f"{start.name.rpartition('.')[0]}.{END}", end) for start, end in ends if start is not None]
    found = {spark_sql(end): (name, end) for name, end in named}
    if not found:
        return node, {}
    fields = fields_of(node)
    items = [(item.name, column(item.name, item.type, item.nullable)) for item in node.fields]
    more = [(name, scalar_of(_over(end, keys, columns), fields)) for name, end in found.values()]
    return Project(node, (*items, *more)), {text: column_tree(name) for text, (name, _) in found.items()}


def _call(tree: exp.Expression, plan: Plan, row: Row, arrived: Row, *, beside_distinct: bool) -> AggregateCall:
    """One aggregate call, its answer made independent of the order of rows, which have `arrived` in one at most."""
    fields = fields_of(plan)
    core = core_of(tree)
    function = call_name(core) or ""
    if function in UNREPEATABLE:
        reason = f"{function}, whose answer depends on the order of the rows"
        raise NotIncremental(reason, tree)
    arguments = list(core.expressions)
    distinct = is_distinct(tree)
    if distinct:
        arguments = list(arguments[0].expressions)
    condition = filter_of(tree)
    typed = scalar_of(tree, fields)
    row = (*arrived, *row) if goes_by_arrival(core) else row
    whole = deterministic_aggregate(tree, row, fields, beside_distinct=beside_distinct, arrived=arrived)
    complete = Scalar(spark_sql(whole), whole, typed.type, typed.nullable, typed.span)
    return AggregateCall(
        function,
        tuple(scalar_of(item, fields) for item in arguments),
        complete,
        distinct,
        None if condition is None else scalar_of(condition, fields),
    )


def _over(tree: exp.Expression, keys: dict[str, exp.Expression], columns: dict[str, exp.Expression]) -> exp.Expression:
    """An expression over the input rewritten over the Aggregate's fields."""
    window_functions = {id(node) for window in tree.find_all(exp.Window) for node in _wrapped(window.this)}

    def replacement(node: exp.Expression) -> exp.Expression | None:
        if id(node) in window_functions:
            return None
        if call_name(node) in ("grouping", "grouping_id"):
            return grouping_bits(node, keys)
        found = None if not _may_match(node) else keys.get(same(node)) or columns.get(spark_sql(node))
        return None if found is None else at(found.copy(), node)

    return replace_nodes(tree, replacement)


def _may_match(node: exp.Expression) -> bool:
    return not isinstance(
        node, exp.Identifier | exp.DataType | exp.Var | exp.Literal | exp.Ordered | exp.Order | exp.If
    )


def _wrapped(tree: exp.Expression) -> Iterator[exp.Expression]:
    yield tree
    while isinstance(tree, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        tree = tree.this
        yield tree


def _refuse_ungrouped(tree: exp.Expression, names: set[str]) -> None:
    for found in tree.find_all(exp.Column):
        if found.name not in names:
            shown = found.name.rpartition(".")[2]
            message = f"{shown!r} is neither in GROUP BY nor inside an aggregate"
            hint = f"add it to GROUP BY, or take any_value({shown})"
            raise wrong(code="NOT_IN_GROUP_BY", message=message, place=found, hint=hint, sqlstate="42803")


def _refuse_grouping(trees: list[exp.Expression]) -> None:
    """GROUPING() has a meaning only beside GROUPING SETS, CUBE or ROLLUP."""
    for node in (node for tree in trees for node in tree.find_all(exp.Anonymous)):
        if call_name(node) in ("grouping", "grouping_id"):
            message = "GROUPING needs GROUPING SETS, CUBE or ROLLUP"
            raise wrong(code="GROUPING_WITHOUT_SETS", message=message, place=node, sqlstate="42K0E")
