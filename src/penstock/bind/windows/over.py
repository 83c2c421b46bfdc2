"""OVER: a Window node for each partition, with all its calls, under the calls' places in the query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlglot import exp

from penstock.bind.arrival_order import by_arrival
from penstock.bind.judging import rows_not_before
from penstock.bind.level import Level
from penstock.bind.row_order.whole_row import Row
from penstock.bind.scalars import fields_of, scalar_of
from penstock.bind.windows.frames import settled_frame
from penstock.bind.windows.tied_rows import determined_call, needs_rank, over_rank
from penstock.plan.nodes import Plan, Window
from penstock.plan.scalar import column_tree
from penstock.sql.text import spark_sql
from penstock.sql.trees import call, call_name, core_of, replace_nodes, window_calls

_RANKS = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile")


def windowed(plan: Plan, trees: list[exp.Expression], row: Row, level: Level) -> tuple[Plan, list[exp.Expression]]:
    """The plan with every OVER call of the trees beside its rows, and the trees over those columns.

    `row` is the whole row, by which rows go that ORDER BY leaves tied.
    """
    calls: dict[str, exp.Window] = {}
    for tree in trees:
        for node in window_calls(tree):
            calls.setdefault(spark_sql(node), node)  # type: ignore[arg-type]
    if not calls:
        return plan, trees
    for time in _times(calls.values()):
        plan = rows_not_before(plan, time, level)
    names = {text: f"__w{index}" for index, text in enumerate(calls)}
    partitioned = {
        text: _over_domain(by_arrival(settled_frame(node), plan, level), level) for text, node in calls.items()
    }
    plan, ranks = _with_ranks(plan, list(partitioned.values()))
    by_partition: dict[str, list[tuple[str, exp.Window, exp.Expression]]] = {}
    for text, node in partitioned.items():
        rank = ranks.get(_ordering(node))
        determined = determined_call(over_rank(node, rank), row, fields_of(plan), rank)
        by_partition.setdefault(_partition(node), []).append((names[text], node, determined))
    for group in by_partition.values():
        plan = _node(plan, group)
    level.remember_fields(plan)
    return plan, [_replaced(tree, names) for tree in trees]


def _times(calls: Iterable[exp.Window]) -> list[exp.Expression]:
    """The values by which rows go up in calls that may judge them; what ranks rows takes them whenever they come."""
    found: dict[str, exp.Expression] = {}
    for node in calls:
        order = node.args.get("order")
        first = None if order is None else order.expressions[0]
        if first is not None and not first.args.get("desc") and call_name(core_of(node.this)) not in _RANKS:
            found.setdefault(spark_sql(first.this), first.this)
    return list(found.values())


def _partition(node: exp.Window) -> str:
    return ", ".join(spark_sql(item) for item in node.args.get("partition_by") or [])


def _ordering(node: exp.Window) -> str:
    """The partition and order of a call, as text."""
    order = node.args.get("order")
    return f"{_partition(node)} {'' if order is None else spark_sql(order)}"


def _over_domain(node: exp.Window, level: Level) -> exp.Window:
    """The call with the partition of the enclosing query's values."""
    copy = node.copy()
    carried = [tree.copy() for _, tree in level.carried]
    if carried:
        copy.set("partition_by", [*carried, *(copy.args.get("partition_by") or [])])
    return copy


def _with_ranks(plan: Plan, calls: list[exp.Window]) -> tuple[Plan, dict[str, exp.Expression]]:
    """The plan with the rank of each row in the orders of calls that need it, by the text of the order."""
    ranks: dict[str, exp.Expression] = {}
    for node in calls:
        text = _ordering(node)
        if not needs_rank(node) or text in ranks or node.args.get("order") is None:
            continue
        name = f"__rank{len(ranks)}"
        ranks[text] = column_tree(name)
        over = node.copy()
        over.set("this", call("dense_rank"))
        over.set("spec", None)
        plan = _node(plan, [(name, over, over)])
    return plan, ranks


def _node(plan: Plan, group: list[tuple[str, exp.Window, exp.Expression]]) -> Window:
    fields = fields_of(plan)
    partition = tuple(scalar_of(item, fields) for item in group[0][1].args.get("partition_by") or [])
    return Window(plan, partition, tuple((name, scalar_of(tree, fields)) for name, _, tree in group))


def _replaced(tree: exp.Expression, names: Mapping[str, str]) -> exp.Expression:
    def replacement(node: exp.Expression) -> exp.Expression | None:
        return column_tree(names[spark_sql(node)]) if isinstance(node, exp.Window) else None

    return replace_nodes(tree, replacement)
