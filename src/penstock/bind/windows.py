"""OVER: named windows put in place, ORDER BY completed where ties would leave the answer open, Window nodes.

`ROW_NUMBER`, `LAG`, frames in ROWS and the like depend on the order of rows that are equal in ORDER BY; for them the
order goes on with the whole row, ascending, NULLs first. `RANK` and frames in RANGE treat equal rows alike and stay
as they are; there `last_value` becomes the last of the current row's peers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlglot import exp

from penstock.bind import codes
from penstock.bind.deterministic import settled, whole_row
from penstock.bind.diagnose import wrong
from penstock.bind.level import Level, fields_of, scalar_of
from penstock.bind.trees import call_name, core_of, replace_nodes, window_calls
from penstock.catalog.functions import words
from penstock.errors import did_you_mean
from penstock.plan.nodes import Plan, Window
from penstock.plan.scalar import column_tree
from penstock.sql.text import spark_sql

_PEERS = frozenset(["rank", "dense_rank", "percent_rank", "cume_dist"])
_BY_POSITION = frozenset(words("row_number ntile lag lead first first_value any_value nth_value"))
_ENDS = frozenset(["last", "last_value"])
_LISTS = frozenset(
    words("collect_list array_agg collect_set listagg string_agg first last any_value max_by min_by mode")
)


def named_windows(select: exp.Select) -> dict[str, exp.Expression]:
    """The WINDOW clause: lower-case name → definition."""
    return {item.name.lower(): item for item in select.args.get("windows") or []}


def with_definition(node: exp.Window, windows: Mapping[str, exp.Expression]) -> exp.Window:
    """An OVER with the named window that it refers to put in; what OVER says itself refines it."""
    name = node.args.get("alias")
    if name is None:
        return node
    definition = windows.get(name.name.lower())
    if definition is None:
        close = did_you_mean(name.name, tuple(windows))
        raise wrong(codes.UNKNOWN_WINDOW, f"there is no window {name.name!r}", name, candidates=close)
    if isinstance(definition, exp.Window):
        definition = with_definition(definition, {key: item for key, item in windows.items() if item is not definition})
    copy = node.copy()
    copy.set("alias", None)
    for key in ("partition_by", "order", "spec"):
        value = definition.args.get(key)
        if not copy.args.get(key) and value:
            copy.set(key, [item.copy() for item in value] if isinstance(value, list) else value.copy())
    return copy


def windowed(plan: Plan, trees: list[exp.Expression], level: Level) -> tuple[Plan, list[exp.Expression]]:
    """The plan with every OVER call of the trees beside its rows, and the trees over those columns."""
    calls: dict[str, exp.Window] = {}
    for tree in trees:
        for node in window_calls(tree):
            calls.setdefault(spark_sql(node), node)  # type: ignore[arg-type]
    if not calls:
        return plan, trees
    base, names = plan, {text: f"__w{index}" for index, text in enumerate(calls)}
    by_partition: dict[str, list[tuple[str, exp.Window]]] = {}
    for text, node in calls.items():
        complete = _completed(node, base, level)
        partition = ", ".join(spark_sql(item) for item in complete.args.get("partition_by") or [])
        by_partition.setdefault(partition, []).append((names[text], complete))
    for group in by_partition.values():
        plan = _node(plan, group)
    level.see(plan)
    return plan, [_replaced(tree, names) for tree in trees]


def _node(plan: Plan, group: list[tuple[str, exp.Window]]) -> Window:
    fields = fields_of(plan)
    partition = tuple(scalar_of(item, fields) for item in group[0][1].args.get("partition_by") or [])
    return Window(plan, partition, tuple((name, scalar_of(_settled(node, plan), fields)) for name, node in group))


def _settled(node: exp.Window, plan: Plan) -> exp.Expression:
    """A list without an order inside a window is a sorted list."""
    name = call_name(core_of(node.this)) or ""
    if name not in _LISTS or node.args.get("order") is not None:
        return node
    made = settled(node.this, plan)
    return _over(made, node)


def _over(made: exp.Expression, node: exp.Window) -> exp.Expression:
    """The aggregate inside a settled expression with the window's OVER."""
    inner = made
    while isinstance(inner, exp.Anonymous) and call_name(inner) in ("transform", "sort_array"):
        inner = inner.expressions[0]
    copy = node.copy()
    copy.set("this", inner.copy())
    if inner is made:
        return copy
    return replace_nodes(made, lambda item: copy if item is inner else None)


def _replaced(tree: exp.Expression, names: Mapping[str, str]) -> exp.Expression:
    def replacement(node: exp.Expression) -> exp.Expression | None:
        return column_tree(names[spark_sql(node)]) if isinstance(node, exp.Window) else None

    return replace_nodes(tree, replacement)


def _completed(node: exp.Window, plan: Plan, level: Level) -> exp.Window:
    """The call with a complete order, and with the partition of the enclosing query's values."""
    copy = node.copy()
    carried = [tree.copy() for _, tree in level.carried]
    if carried:
        copy.set("partition_by", [*carried, *(copy.args.get("partition_by") or [])])
    name = call_name(core_of(copy.this)) or ""
    order = copy.args.get("order")
    if order is None or name in _PEERS:
        return copy
    spec = copy.args.get("spec")
    rows = spec is not None and str(spec.args.get("kind") or "").upper() == "ROWS"
    if name in _ENDS and not rows and _ends_at_peers(spec):
        return _last_of_peers(copy, plan)
    if rows or name in _BY_POSITION:
        _complete(order, whole_row(plan))
    return copy


def _complete(order: exp.Expression, row: Iterable[exp.Expression]) -> None:
    present = {spark_sql(item.this) for item in order.expressions}
    for item in row:
        if spark_sql(item) not in present:
            order.append("expressions", exp.Ordered(this=item, desc=False, nulls_first=True))


def _ends_at_peers(spec: exp.Expression | None) -> bool:
    return spec is None or str(spec.args.get("end") or "CURRENT ROW").upper() == "CURRENT ROW"


def _last_of_peers(node: exp.Window, plan: Plan) -> exp.Window:
    node.set("this", settled(node.this, plan))
    node.set("spec", exp.WindowSpec(kind="RANGE", start="CURRENT ROW", end="CURRENT ROW"))
    return node
