"""OVER calls with answers that no order of equal rows changes.

`ROW_NUMBER`, `LAG`, frames in ROWS and the like depend on the order of rows that are equal in ORDER BY; for them the
order goes on with the whole row, ascending, NULLs first. `RANK` and frames in RANGE treat equal rows alike and stay
as they are; there `first_value`, `last_value`, `nth_value` and lists go by the row's rank in the order, computed
beforehand, and then by the whole row.

Spark has no frames in GROUPS: they are frames in RANGE over the row's rank in the order, which goes up by one from each
group of equal rows to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp

from penstock.bind.row_order.deterministic import deterministic_aggregate, nth_of
from penstock.bind.row_order.sorted_lists import Key, entry, first_value, in_order, values
from penstock.bind.row_order.whole_row import Row
from penstock.catalog.word_list import word_list
from penstock.plan.nodes import Field
from penstock.sql.complaints import wrong
from penstock.sql.text import spark_sql
from penstock.sql.trees import call, call_name, conjunction, core_of, filter_of, frame_of, ignores_nulls, replace_nodes

_NUMBERED = word_list("row_number ntile lag lead")
_RANKED = word_list("first first_value any_value last last_value nth_value collect_list array_agg")
_LISTED = word_list("collect_list array_agg")
_ONE = exp.Literal.number(1)
_TIED = word_list("collect_set listagg string_agg max_by min_by mode")


def needs_rank(node: exp.Window) -> bool:
    """True if the answer depends on the order of rows within a frame that takes equal rows together."""
    name = call_name(core_of(node.this)) or ""
    frame = frame_of(node)
    return frame == "GROUPS" or (node.args.get("order") is not None and name in _RANKED and frame != "ROWS")


def in_groups(node: exp.Expression) -> bool:
    """True for a window call, or a window's definition, with a frame in GROUPS."""
    return isinstance(node, exp.Window) and frame_of(node) == "GROUPS"


def _by_rows(node: exp.Window) -> bool:
    return frame_of(node) == "ROWS"


def over_rank(node: exp.Window, rank: exp.Expression | None) -> exp.Window:
    """A frame in GROUPS as one in RANGE over the rank; every other call as it is."""
    if frame_of(node) != "GROUPS":
        return node
    if rank is None or node.args.get("order") is None:
        hint = "say by what the rows of a group are equal"
        raise wrong(code="GROUPS_WITHOUT_ORDER", message="a frame in GROUPS needs ORDER BY", place=node, hint=hint)
    copy = node.copy()
    copy.set("order", exp.Order(expressions=[exp.Ordered(this=rank.copy(), desc=False, nulls_first=True)]))
    copy.args["spec"].set("kind", "RANGE")
    return copy


def determined_call(
    node: exp.Window, row: Row, fields: Mapping[str, Field], rank: exp.Expression | None
) -> exp.Expression:
    """The call with an answer that no order of equal rows changes."""
    name, order = call_name(core_of(node.this)) or "", node.args.get("order")
    if _by_rows(node) or (order is not None and name in _NUMBERED):
        _complete(node, row)
        if name not in _TIED:
            return node
    leading = () if rank is None or not needs_rank(node) else (rank.copy(),)
    if name == "nth_value":
        return _over(nth_of(node.this, (*leading, *row), fields), node)
    if name in _RANKED or name in _TIED:
        return _over(deterministic_aggregate(node.this, row, fields, leading), node)
    return node


def deterministic_window(node: exp.Window, row: Row, keys: Sequence[Key]) -> exp.Expression:
    """The same where no plan can have the rank beside the rows, by a list that is sorted by the keys of ORDER BY."""
    name = call_name(core_of(node.this)) or ""
    if name in _NUMBERED or _by_rows(node):
        _complete(node, row)
        if name not in _TIED:
            return node
    if name in _TIED:
        return _over(deterministic_aggregate(node.this, row, {}), node)
    return sorted_in_frame(node, row, keys) if name in _RANKED else node


def sorted_in_frame(node: exp.Window, row: Row, keys: Sequence[Key]) -> exp.Expression:
    """`first_value` and its kin from the frame's rows as a list, sorted by the keys and then by the whole row."""
    core, name = core_of(node.this), call_name(core_of(node.this)) or ""
    listed = call("collect_list", entry(keys, row, core.expressions[0]))
    present = name in _LISTED or ignores_nulls(node.this)
    conditions = [filter_of(node.this), call("isnotnull", core.expressions[0].copy()) if present else None]
    condition = conjunction(item.copy() for item in conditions if item is not None)
    whole = listed if condition is None else exp.Filter(this=listed, expression=exp.Where(this=condition))
    rows = in_order(_over(whole, node), keys)
    if name in _LISTED:
        return values(rows)
    if name == "nth_value":
        return first_value(rows, exp.Sub(this=exp.Paren(this=core.expressions[1].copy()), expression=_ONE.copy()))
    return first_value(call("reverse", rows) if name in ("last", "last_value") else rows)


def _over(made: exp.Expression, node: exp.Window) -> exp.Expression:
    """The aggregate inside a deterministic expression with the window's OVER."""
    inner = made
    while isinstance(inner, exp.Dot) or call_name(inner) in ("transform", "sort_array", "array_sort", "get"):
        inner = inner.this if isinstance(inner, exp.Dot) else inner.expressions[0]
    copy = node.copy()
    copy.set("this", _unfiltered(inner))
    if inner is made:
        return copy
    return replace_nodes(made, lambda item: copy if item is inner else None)


def _unfiltered(tree: exp.Expression) -> exp.Expression:
    """Spark has no FILTER before OVER: the last argument becomes NULL where the condition does not hold."""
    if not isinstance(tree, exp.Filter):
        return tree.copy()
    core = tree.this.copy()
    arguments = list(core.expressions)
    arguments[-1] = exp.Case(ifs=[exp.If(this=tree.expression.this.copy(), true=arguments[-1])])
    core.set("expressions", arguments)
    return core  # type: ignore[no-any-return]


def _complete(node: exp.Window, row: Iterable[exp.Expression]) -> None:
    """Let the ORDER BY, which may be missing, go on with the whole row."""
    order = node.args.get("order") or exp.Order(expressions=[])
    present = {spark_sql(item.this) for item in order.expressions}
    for item in row:
        if spark_sql(item) not in present:
            order.append("expressions", exp.Ordered(this=item.copy(), desc=False, nulls_first=True))
    if order.expressions:
        node.set("order", order)
