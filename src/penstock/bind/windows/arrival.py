"""The order in which rows arrive, and the functions of Timeplus that go by it: lag, lags and neighbor, first and last.

    lag(x)             lag(x) OVER (PARTITION BY substream ORDER BY position)
    lags(x, 1, 3)      [lag(x, 1), lag(x, 2), lag(x, 3)]
    neighbor(x, -2)    lag(x, 2)
    first_value(x)     min_by(x, position)
    latest(x)          max_by(x, position)

Each row of a stream has a position, hidden (`POSITION`). Rows of a join arrive with the later one of both sides, and
groups of a window with their window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from penstock.bind.arrival_order import asks_in_flink, group_arrival, is_flink, row_arrival
from penstock.bind.level import Context, Level
from penstock.bind.scope import RelationInScope
from penstock.bind.time_windows.times import END, START
from penstock.catalog.model import EVENT_TIME
from penstock.catalog.reserved import ARRIVED, HIDDEN, POSITION, SEQUENCE_NUMBER, WINDOW_ORDER
from penstock.catalog.types import Type
from penstock.sql.complaints import wrong
from penstock.sql.nodes import SUBSTREAMS, TableFunction
from penstock.sql.text import spark_sql
from penstock.sql.trees import aggregate_calls, at, call, call_name, cast_to, core_of

_LOOKING_BACK = frozenset({"lag", "lags", "neighbor"})
_ENDS = {"first_value": "min_by", "last_value": "max_by"}
_MOST_AT_ONCE = 1000
_FORMS = {
    "lag": "lag(x[, n[, default]])",
    "lags": "lags(x, from, to[, default])",
    "neighbor": "neighbor(x, -n[, default])",
}


def looks_back(tree: exp.Expression, level: Level) -> bool:
    """True for a call that looks back in the order of arrival, in the dialect of Timeplus."""
    if level.context.catalog.settings.get("dialect") != "timeplus":
        return False
    if isinstance(tree, exp.Window):
        return tree.args.get("order") is None and call_name(core_of(tree.this)) in _LOOKING_BACK
    return call_name(tree) in _LOOKING_BACK and not _is_ordered(tree)


def _is_ordered(tree: exp.Expression) -> bool:
    """True for the call inside an OVER, which says the order of its rows."""
    around = tree.parent
    while isinstance(around, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        around = around.parent
    return isinstance(around, exp.Window) and tree.arg_key == "this"


def bind_looking_back(tree: exp.Expression, level: Level) -> exp.Expression:
    """A call of lag, lags or neighbor, with OVER (PARTITION BY …) or of the substreams, over the rows so far."""
    core = core_of(tree.this) if isinstance(tree, exp.Window) else tree
    keys = tree.args.get("partition_by") if isinstance(tree, exp.Window) else _substreams(level)
    value, distances, default = _arguments(core)
    partition = [level.bind(key) for key in keys or []]
    order = [exp.Ordered(this=item, desc=False, nulls_first=False) for item in arrival_order(tree, level)]
    bound = level.bind(value)
    otherwise = [_of_type(level.bind(item), level.shape(bound), level) for item in default]
    calls = [
        exp.Window(
            this=call("lag", bound.copy(), exp.Literal.number(distance), *(item.copy() for item in otherwise)),
            partition_by=[item.copy() for item in partition],
            order=exp.Order(expressions=[item.copy() for item in order]),
        )
        for distance in distances
    ]
    return at(call("array", *calls) if call_name(core) == "lags" else calls[0], tree)


def is_end(tree: exp.Expression, level: Level) -> bool:
    """True for an aggregate of the first or the last value, in the dialect of Timeplus."""
    return level.context.catalog.settings.get("dialect") == "timeplus" and _is_end(tree)


def _is_end(tree: exp.Expression) -> bool:
    return (
        call_name(tree) in _ENDS
        and len(tree.expressions) == 1
        and not isinstance(tree.expressions[0], exp.Distinct)
        and not isinstance(tree.parent, exp.IgnoreNulls)
        and not _is_ordered(tree)
    )


def bind_end(tree: exp.Expression, level: Level) -> exp.Expression | None:
    """The value of the row that arrived first or last; of rows without an order that of the least or greatest time.

    None where the call has no time: the order of whole rows is meant then.
    """
    relations = level.scope.relations
    known = [level.scope.qualified(item.alias, POSITION, tree) for item in relations]
    order = [item.tree.copy() for item in known if item is not None]
    if not order or len(order) < len(relations):
        if EVENT_TIME not in tree.meta:
            return None
        order = [level.column([EVENT_TIME], tree)]
    (value,) = tree.expressions
    by = call("greatest", *order) if len(order) > 1 else order[0]
    return at(call(_ENDS[call_name(tree) or ""], level.bind_inside_aggregate(value), by), tree)


def _of_type(default: exp.Expression, kind: Type | None, level: Level) -> exp.Expression:
    """The default as a value of the type that it stands in for."""
    return default if kind is None or level.shape(default) in (kind, "void") else cast_to(default, kind)


def _substreams(level: Level) -> Sequence[exp.Expression]:
    """The keys of PARTITION BY behind FROM."""
    return () if level.select is None else level.select.meta.get(SUBSTREAMS) or ()


def _arguments(core: exp.Expression) -> tuple[exp.Expression, range, list[exp.Expression]]:
    """The value, how far back, and the default if there is one; SqlError for other arguments."""
    name, (value, *rest) = call_name(core) or "", core.expressions or [exp.Null()]
    wanted = {"lag": 0, "lags": 2, "neighbor": 1}[name]
    given = [_whole(item) for item in rest[: max(wanted, 1)]]
    default = rest[max(wanted, 1) :]
    if not core.expressions or len(given) < wanted or None in given or len(default) > 1:
        raise _malformed(name, core)
    numbers = [1] if not given else [number for number in given if number is not None]
    first, last = (-numbers[0], -numbers[0]) if name == "neighbor" else (numbers[0], numbers[-1])
    if first < 1 or last < first or last - first >= _MOST_AT_ONCE:
        raise _malformed(name, core)
    return value, range(first, last + 1), default


def _malformed(name: str, place: exp.Expression) -> Exception:
    hint = "it looks back only: n is a whole number from 1 on, and lags goes from the nearer to the farther one"
    return wrong(code="LOOKING_BACK", message=f"expected {_FORMS[name]}", place=place, hint=hint)


def _whole(tree: exp.Expression) -> int | None:
    """A whole number as it is written."""
    if isinstance(tree, exp.Neg):
        found = _whole(tree.this)
        return None if found is None else -found
    known = isinstance(tree, exp.Literal) and not tree.is_string and tree.name.isdigit()
    return int(tree.name) if known else None


def asks_for_arrival(tree: exp.Expression, context: Context) -> bool:
    """True for a query in which something goes by when, or in which order, rows arrive."""
    if is_flink(context.catalog):
        return asks_in_flink(tree, context.catalog)
    if context.catalog.settings.get("dialect") != "timeplus":
        return False
    taking_in = context.taking_in
    return (taking_in is not None and taking_in.aged_by == ARRIVED) or any(_asks(node) for node in tree.walk())


def _asks(node: Any) -> bool:
    match node:
        case TableFunction():
            of_clock = any(call_name(item) == "now" for item in node.expressions)
            return of_clock or node.name in ("CHANGELOG", "DEDUP")
        case exp.Column():
            return node.name in HIDDEN or node.name.lower() == SEQUENCE_NUMBER
        case _:
            return _is_end(node) or (call_name(node) in _LOOKING_BACK and not _is_ordered(node))


def handed_on(select: exp.Select, level: Level) -> list[tuple[str, exp.Expression]]:
    """The columns by which a query tells when, and in which order, its rows arrive; none where they have no order."""
    if select.args.get("distinct") is not None:
        return []
    if is_flink(level.context.catalog):
        position = group_arrival(level.scope) if _is_aggregated(select) else row_arrival(level.scope)
        return [] if position is None else [(POSITION, position)]
    if _is_aggregated(select):
        return _order_of_windows(select, level)
    found = []
    for name in (POSITION, ARRIVED):
        known = [level.scope.qualified(item.alias, name, select) for item in level.scope.relations]
        trees = [item.tree.copy() for item in known if item is not None]
        if trees and len(trees) == len(known):
            found.append((name, call("greatest", *trees) if len(trees) > 1 else trees[0]))
    return found or _order_within(select, level)


def _order_of_windows(select: exp.Select, level: Level) -> list[tuple[str, exp.Expression]]:
    bounds = _bounds(select)
    return [(WINDOW_ORDER, level.bind(bounds[0]))] if bounds else []


def _order_within(select: exp.Select, level: Level) -> list[tuple[str, exp.Expression]]:
    """The order of the windows that a relation's rows are results of."""
    relations = level.scope.relations
    known = level.scope.qualified(relations[0].alias, WINDOW_ORDER, select) if len(relations) == 1 else None
    return [] if known is None else [(WINDOW_ORDER, known.tree.copy())]


def arrival_order(place: exp.Expression, level: Level) -> list[exp.Expression]:
    """The bound values by which the rows of a query arrive; SqlError where they have no order."""
    if level.select is not None and _is_aggregated(level.select):
        return _order_of_groups(level.select, place, level)
    windows = [] if level.select is None else _order_within(level.select, level)
    if windows:
        return [tree for _, tree in windows]
    found = [position_of(relation, place, level) for relation in level.scope.relations]
    if not found:
        raise _unordered(place)
    return [call("greatest", *found), *(item.copy() for item in found)] if len(found) > 1 else found


def _is_aggregated(select: exp.Select) -> bool:
    return select.args.get("group") is not None or any(
        next(aggregate_calls(item), None) is not None for item in select.expressions
    )


def _order_of_groups(select: exp.Select, place: exp.Expression, level: Level) -> list[exp.Expression]:
    bounds = _bounds(select)
    if not bounds:
        message = f"{spark_sql(place)} over groups that have no order of arrival"
        hint = "group by window_start or window_end, or say the order: OVER (ORDER BY …)"
        raise wrong(code="NO_ARRIVAL", message=message, place=place, hint=hint)
    return [level.bind(item) for item in bounds]


def _bounds(select: exp.Select) -> list[exp.Expression]:
    """The bounds of windows that a query groups by."""
    group = select.args.get("group")
    return [item for item in (group.expressions if group else []) if item.name in (START, END)]


def position_of(relation: RelationInScope, place: exp.Expression, level: Level) -> exp.Expression:
    """The bound position of a relation's rows; SqlError if they have none."""
    found = level.scope.qualified(relation.alias, POSITION, place)
    if found is None:
        raise _unordered(place, relation.alias)
    return found.tree.copy()


def _unordered(place: exp.Expression, alias: str = "") -> Exception:
    of = f" of {alias}" if alias else ""
    what = place.name.lower() if isinstance(place, TableFunction) else spark_sql(place)
    message = f"{what} goes by the order in which rows arrive, which the rows{of} do not have"
    hint = "streams have it, and queries that choose rows of one; of others say the order: OVER (ORDER BY …)"
    return wrong(code="NO_ARRIVAL", message=message, place=place, hint=hint)
