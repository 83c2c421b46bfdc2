"""The clauses of a standing query that its policy takes over, and the columns that stand behind those it shows.

ORDER BY, LIMIT and LIMIT … BY speak of what is shown, so the relation goes without them. What the rows are grouped and
ordered by is given as further columns, unless it is among those that are shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from penstock.bind.emission.by_event import for_each_row, order_of_events
from penstock.bind.emission.whole_sessions import by_whole_sessions
from penstock.bind.query.substreams import take_substreams
from penstock.bind.taking_in import SESSION_NUMBER
from penstock.bind.time_windows.closing_sessions import CLOSING, Closing
from penstock.catalog.model import Catalog
from penstock.errors import Span
from penstock.plan.emission import Row, SessionClose, Trigger
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.nodes import SUBSTREAMS
from penstock.sql.text import spark_sql
from penstock.sql.trees import aggregate_calls, call, call_name

VERSION, DELTA = "__emit_version", "__tp_delta"
_HIDDEN = "__shown_by"
_GROUP_FUNCTIONS, _ENDS = ("tumble", "hop", "session"), ("start", "end")
_STRUCTS = ("window", "session_window")  # Spark's own windows, whose ends are fields


@dataclass
class Clauses:
    """A query without the clauses of its policy; items of GROUP BY and ORDER BY are given by the names of columns.

    Each is the position of an item of the SELECT list, or of a column that was added behind it (counted from 0 there).
    """

    tree: exp.Expression
    added: list[exp.Expression] = field(default_factory=list)
    groups: list[Place] = field(default_factory=list)
    partition: list[Place] = field(default_factory=list)
    order: list[tuple[Place, bool, bool]] = field(default_factory=list)
    limit: int | None = None
    limit_each: int | None = None
    limit_by: list[Place] = field(default_factory=list)
    grouped: bool = False
    aggregated: bool = False
    session: Place | None = None
    counter: Place | None = None
    version: str | None = None
    delta: str | None = None

    def place_of(self, tree: exp.Expression) -> Place:
        """The column that an expression is, added where it is none yet."""
        items = self.tree.expressions
        if isinstance(tree, exp.Literal) and not tree.is_string and 0 < int(tree.name) <= len(items):
            return Place(item=int(tree.name) - 1)
        for at, item in enumerate(items):
            if _is_item(tree, item):
                return Place(item=at)
        text = spark_sql(tree)
        for at, item in enumerate(self.added):
            if spark_sql(item) == text:
                return Place(added=at)
        self.added.append(tree.copy())
        return Place(added=len(self.added) - 1)


@dataclass(frozen=True, slots=True)
class Place:
    """A column: an item of the SELECT list, or one that was added."""

    item: int | None = None
    added: int | None = None


def _is_item(tree: exp.Expression, item: exp.Expression) -> bool:
    if isinstance(item, exp.Alias):
        named = isinstance(tree, exp.Column) and not tree.table and tree.name == item.alias
        return named or spark_sql(item.this) == spark_sql(tree)
    return not isinstance(item, exp.Star) and spark_sql(item) == spark_sql(tree)


def taken_apart(
    tree: exp.Expression,
    catalog: Catalog,
    *,
    ends_with_limit: bool,
    trigger: Trigger | None = None,
    place: Span | None = None,
    counted: bool = False,
    closes: bool = False,
) -> Clauses:
    """A copy of a query, without the clauses that its policy takes over.

    LIMIT with ORDER BY is a relation of its own, the first so many rows, unless `ends_with_limit`. AFTER SESSION CLOSE
    groups by sessions as well. PER EVENT has a row for each that comes, in the order in which they arrive.
    Groups that are to be `counted` have their number of rows as well. Where windows are shown when the query `closes`
    them, those of sessions are grouped by their end as well.
    """
    found = Clauses(tree.copy())
    if not isinstance(found.tree, exp.Select):
        return found
    select = found.tree
    found.version = _replaced(select, _is_version, VERSION, exp.cast(exp.Literal.number(0), "bigint"))
    found.delta = _replaced(select, _is_delta, DELTA, exp.cast(exp.Literal.number(1), "tinyint"))
    aggregates = any(next(aggregate_calls(item), None) for item in select.expressions)
    take_substreams(select)
    if closes:
        by_whole_sessions(select)
    group = select.args.get("group")
    found.grouped = group is not None
    found.aggregated = found.grouped or aggregates
    if isinstance(trigger, SessionClose) and found.aggregated:
        found.session = _by_session(select, found, trigger, place)
        group = select.args["group"]
    _group(found, [] if group is None else group.expressions)
    for key in select.meta.get(SUBSTREAMS, []) if found.aggregated else []:
        found.partition.append(found.place_of(key))
    if ends_with_limit or select.args.get("limit") is None:
        _take_order(select, found)
    if isinstance(trigger, Row):
        _by_event(select, found, catalog)
    if counted and found.aggregated and not select.args.get("distinct"):
        found.added.append(call("count", exp.Star()))  # behind all others, since it is no column to order or group by
        found.counter = Place(added=len(found.added) - 1)
    for at, item in enumerate(found.added):
        select.append("expressions", exp.alias_(item.copy(), f"{_HIDDEN}{at}"))
    return found


def _group(found: Clauses, items: list[exp.Expression]) -> None:
    """Tell rows apart by what they are grouped by; the rows of a SELECT DISTINCT by what it gives."""
    keys = [key for item in items for key in _keys(_selected(item, found.tree))]
    places = [found.place_of(key) for key in keys]
    if found.tree.args.get("distinct") and found.added:
        found.added.clear()
        return
    found.groups = places


def _by_event(select: exp.Select, found: Clauses, catalog: Catalog) -> None:
    """A row for each that comes, in the order of arrival where rows keep that: an aggregate needs it."""
    order = order_of_events(select, catalog)
    if found.aggregated:
        for_each_row(select, order)
        found.grouped = True
    found.order = found.order or [(found.place_of(item), False, True) for item in order]


def _by_session(select: exp.Select, found: Clauses, trigger: SessionClose, place: Span | None) -> Place:
    """GROUP BY the number of the session as well; the place of that."""
    number = exp.column(exp.to_identifier(SESSION_NUMBER, quoted=True))
    group = select.args.get("group") or exp.Group(expressions=[])
    group.append("expressions", number.copy())
    select.set("group", group)
    select.meta[CLOSING] = Closing(trigger, place)
    found.grouped = True
    return found.place_of(number)


def _selected(item: exp.Expression, select: exp.Expression) -> exp.Expression:
    """Spark's window of the SELECT list for which a name or a place in GROUP BY stands, or the item itself."""
    for place, given in enumerate(select.expressions, 1):
        named = isinstance(item, exp.Column) and len(item.parts) == 1 and given.alias.lower() == item.name.lower()
        numbered = isinstance(item, exp.Literal) and not item.is_string and item.name == str(place)
        window: exp.Expression = given.unalias()
        if (named or numbered) and call_name(window) in _STRUCTS:
            return window
    return item


def _keys(item: exp.Expression) -> list[exp.Expression]:
    """The columns by which an item of GROUP BY tells rows apart: the bounds of a window, the keys of all its sets."""
    name = call_name(item) or ""
    if name in _GROUP_FUNCTIONS:
        arguments = item.expressions
        return [exp.Anonymous(this=f"{name}_{end}", expressions=[each.copy() for each in arguments]) for end in _ENDS]
    if name in _STRUCTS:
        return [exp.Dot(this=item.copy(), expression=exp.Identifier(this=end, quoted=True)) for end in _ENDS]
    if isinstance(item, exp.GroupingSets | exp.Cube | exp.Rollup):
        keys = {spark_sql(key): key for one in item.expressions for each in _of_set(one) for key in _keys(each)}
        return [*keys.values(), exp.Anonymous(this="grouping_id", expressions=[])]
    return [item]


def _of_set(one: exp.Expression) -> list[exp.Expression]:
    match one:
        case exp.Tuple() | exp.GroupingSets() | exp.Cube() | exp.Rollup():
            return [key for item in one.expressions for key in _of_set(item)]
        case exp.Paren():
            return _of_set(one.this)
        case _:
            return [one]


def _of_items(tree: exp.Expression, select: exp.Select) -> bool:
    """True for an expression over items of the SELECT list."""
    return all(any(_is_item(read, item) for item in select.expressions) for read in tree.find_all(exp.Column))


def _take_order(select: exp.Select, found: Clauses) -> None:
    order = select.args.pop("order", None)
    for item in [] if order is None else order.expressions:
        descending = bool(item.args.get("desc"))
        nulls_first = item.args.get("nulls_first")
        place = found.place_of(item.this)
        if place.added is not None and select.args.get("distinct") and not _of_items(item.this, select):
            message = "ORDER BY of a SELECT DISTINCT can only read what the SELECT list has"
            raise wrong(code="ORDER_BY_NOT_SELECTED", message=message, place=item)
        found.order.append((place, descending, not descending if nulls_first is None else bool(nulls_first)))
    limit = select.args.pop("limit", None)
    if limit is None:
        return
    rows = _count(limit)
    by = limit.expressions
    if by and limit.args.get("offset") is not None:
        message = "OFFSET of LIMIT … BY in a query that stands"
        hint = "a view can have it: CREATE VIEW v AS SELECT … LIMIT 1 OFFSET 1 BY k"
        raise unsupported(code="LIMIT", message=message, place=limit, hint=hint)
    if by:
        found.limit_each, found.limit_by = rows, [found.place_of(item) for item in by]
    else:
        found.limit = rows


def _count(limit: exp.Expression) -> int:
    tree = limit.args.get("expression")
    if not isinstance(tree, exp.Literal) or tree.is_string or not tree.name.isdigit():
        message = "LIMIT of a standing query is a whole number"
        message += "" if tree is None else f", found {spark_sql(tree)[:60]}"
        raise wrong(
            code="BAD_LIMIT", message=message, place=tree or limit, hint="LIMIT 10 ends the query after ten rows"
        )
    return int(tree.name)


def _is_version(tree: exp.Expression) -> bool:
    return call_name(tree) == "emit_version" and not tree.expressions


def _is_delta(tree: exp.Expression) -> bool:
    return isinstance(tree, exp.Column) and tree.name == "_tp_delta" and not tree.table


def _replaced(select: exp.Select, wanted: object, alias: str, value: exp.Expression) -> str | None:
    """Have a constant stand for an item that the policy fills in; the name under which it is shown."""
    assert callable(wanted)  # noqa: S101
    for at, item in enumerate(select.expressions):
        inner = item.this if isinstance(item, exp.Alias) else item
        if wanted(inner):
            name = item.alias if isinstance(item, exp.Alias) else spark_sql(inner)
            select.expressions[at] = exp.alias_(value, alias)
            return str(name)
    return None
