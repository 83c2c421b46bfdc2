"""The order of arrival in dialect flink: aggregates that go by it, and OVER (… ORDER BY the time of arrival).

    LISTAGG(x)                          in the order in which the rows have arrived, then of the whole row
    FIRST_VALUE(x), LAST_VALUE(x)       of the row that has arrived first or last
    ROW_NUMBER() OVER (… ORDER BY pt)   ORDER BY pt, position
    … RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING AND CURRENT ROW
                                        over one number that is made of both, so that no two rows are peers

Each row of a table without a key has a position, hidden (`POSITION`), which goes up from step to step and within one.
Rows of a join arrive with the last one of all sides, and a group with the last of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from sqlglot import exp

from penstock.bind.event_time import is_arrival_time
from penstock.bind.level import Level
from penstock.bind.scope import Scope
from penstock.catalog.model import Catalog, Table, View
from penstock.catalog.reserved import POSITION
from penstock.catalog.word_list import word_list
from penstock.errors import SqlError
from penstock.plan.clock_calls import is_clock
from penstock.plan.nodes import Plan
from penstock.plan.scalar import column_tree
from penstock.sql.trees import bare, call, call_name, frame_of
from penstock.types.durations import duration_of

Row = tuple[exp.Expression, ...]

FLINK = "flink"
_AGGREGATES = word_list("listagg string_agg first_value last_value")
_CALLS = frozenset({"proctime", "current_timestamp", "now", "localtimestamp", "current_row_timestamp"})
# A time and a position as one number: digits enough for 232 million steps, and for microseconds up to the year 2286.
_ROOM = 10**18
_TIME, _FACTOR, _PLACE, _NUMBER = "decimal(16, 0)", "decimal(19, 0)", "decimal(18, 0)", "decimal(37, 0)"


def is_flink(catalog: Catalog) -> bool:
    """True in the dialect whose order of arrival this is."""
    return catalog.settings.get("dialect") == FLINK


def goes_by_arrival(call_: exp.Expression) -> bool:
    """True for an aggregate that takes its rows as they have arrived, in dialect flink."""
    return call_name(call_) in _AGGREGATES


def arrival_of_aggregates(level: Level) -> Row:
    """The values by which the rows of a query have arrived, for its aggregates; none in other dialects."""
    return positions_of(level.scope) if is_flink(level.context.catalog) else ()


def positions_of(scope: Scope) -> Row:
    """The values by which the rows of relations arrive: the latest position, then each; those that have none wait."""
    found = [item.tree for item in scope.columns if item.hidden and item.name == POSITION]
    return _latest(found)


def _latest(positions: Sequence[exp.Expression]) -> Row:
    copies = tuple(item.copy() for item in positions)
    return (call("greatest", *(item.copy() for item in positions)), *copies) if len(copies) > 1 else copies


def asks_in_flink(tree: exp.Expression, catalog: Catalog) -> bool:
    """True for a query that has an aggregate which goes by arrival, or OVER that may go by the time of it."""
    if any(goes_by_arrival(node) for node in tree.find_all(exp.Anonymous)):
        return True
    orders = [item.this for over in tree.find_all(exp.Window) for item in _order(over)]
    if not orders:
        return False
    names = _arrival_names(tree, catalog)
    return any(_is_call(item) or (isinstance(item, exp.Column) and item.name.lower() in names) for item in orders)


def _order(over: exp.Window) -> list[exp.Expression]:
    order = over.args.get("order")
    return [] if order is None else list(order.expressions)


def _is_call(tree: exp.Expression) -> bool:
    tree = bare(tree)
    return is_clock(tree) or call_name(tree) in _CALLS


def _arrival_names(tree: exp.Expression, catalog: Catalog) -> set[str]:
    """The lower-case names of columns that may have the time of arrival: of tables, and those that queries give on."""
    found = {item.name.lower() for table in catalog.tables.values() for item in _clocks(table)}
    queries = [view.query for view in catalog.views.values() if isinstance(view.query, exp.Expression)]
    given = [alias for query in (tree, *queries) for alias in query.find_all(exp.Alias)]
    size = -1
    while size != len(found):
        size = len(found)
        found |= {item.alias.lower() for item in given if _gives(item.this, found)}
        found |= {name for view in catalog.views.values() for name in _renamed(view, found)}
    return found


def _gives(tree: exp.Expression, names: set[str]) -> bool:
    return _is_call(tree) or (isinstance(tree, exp.Column) and tree.name.lower() in names)


def _renamed(view: View, names: set[str]) -> Iterator[str]:
    """The names of a view's columns that its query calls otherwise."""
    if isinstance(view.query, exp.Select):
        for item, shown in zip(view.query.expressions, view.columns, strict=False):
            if item.alias_or_name.lower() in names or _gives(item.unalias(), names):
                yield shown.name.lower()


def _clocks(table: Table) -> Iterator[exp.Expression]:
    return (item for item in table.columns if item.optional and not item.hidden and item.default is not None)  # type: ignore[misc]


def by_arrival(node: exp.Window, plan: Plan, level: Level) -> exp.Window:
    """The call with the order of arrival behind the time of it in ORDER BY; every other call as it is."""
    order = _order(node) if is_flink(level.context.catalog) else []
    made = [(item, _positions_behind(item.this, plan, level.context.catalog)) for item in order]
    if not any(positions for _, positions in made):
        return node
    copy = node.copy()
    if len(order) == 1 and frame_of(node) == "RANGE" and (numbers := _in_numbers(copy, made[0][1])) is not None:
        return numbers
    items = [found for item, positions in made for found in (item.copy(), *_directed(item, positions))]
    copy.set("order", exp.Order(expressions=items))
    return copy


def _directed(item: exp.Expression, positions: Row) -> Iterator[exp.Expression]:
    descending = bool(item.args.get("desc"))
    return (exp.Ordered(this=one.copy(), desc=descending, nulls_first=not descending) for one in positions)


def _positions_behind(tree: exp.Expression, plan: Plan, catalog: Catalog) -> Row:
    """The positions of the rows whose time of arrival this is; none for any other value."""
    all_of = [name for name in plan.names if name.rpartition(".")[2] == POSITION]
    if is_clock(bare(tree)):
        return _latest([column_tree(name) for name in all_of])
    if not is_arrival_time(plan, tree, catalog, alone=True, computed=True):
        return ()
    own = f"{cast('exp.Column', tree).name.rpartition('.')[0]}.{POSITION}"
    return (column_tree(own),) if own in all_of else ()


def _in_numbers(node: exp.Window, positions: Row) -> exp.Window | None:
    """A frame of RANGE with a length of time as one over numbers, in which no two rows are equal; else None."""
    spec = node.args["spec"]
    lengths = {key: spec.args.get(key) for key in ("start", "end")}
    timed = {key: micros for key, value in lengths.items() if (micros := _micros(value)) is not None}
    if not timed or any(isinstance(value, exp.Expression) and key not in timed for key, value in lengths.items()):
        return None
    item = node.args["order"].expressions[0]
    time = exp.cast(call("unix_micros", item.this.copy()), _TIME)
    place = exp.cast(call("coalesce", positions[0].copy(), exp.Literal.number(0)), _PLACE)
    room = exp.cast(exp.Literal.number(_ROOM), _FACTOR)
    number = exp.Add(this=exp.Paren(this=exp.Mul(this=time, expression=room)), expression=place)
    order = exp.Ordered(this=number, desc=bool(item.args.get("desc")), nulls_first=not item.args.get("desc"))
    node.set("order", exp.Order(expressions=[order]))
    for key, micros in timed.items():
        spec.set(key, exp.cast(exp.Literal.number((micros + 1) * _ROOM - 1), _NUMBER))
    return node


def _micros(value: object) -> int | None:
    """The microseconds of a length of time in a frame."""
    if not isinstance(value, exp.Expression) or not isinstance(bare(value), exp.Interval):
        return None
    try:
        length = duration_of(bare(value))
    except SqlError:
        return None
    return None if length.months else length.micros


def row_arrival(scope: Scope) -> exp.Expression | None:
    """The position of a row: that of the last of those that it is made of."""
    found = positions_of(scope)
    return found[0] if found else None


def group_arrival(scope: Scope) -> exp.Expression | None:
    """The position of a group: that of the last of its rows."""
    found = positions_of(scope)
    return call("max", found[0]) if found else None
