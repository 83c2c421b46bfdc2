"""A standing query: a query with EMIT, or one of a dialect in which queries stand, as views to install."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from types import MappingProxyType
from typing import Any

from sqlglot import exp

from penstock.bind.binder import context_of
from penstock.bind.bound_query import BoundQuery
from penstock.bind.emission.arrivals import meeting_as_they_come
from penstock.bind.emission.clauses import DELTA, VERSION, Clauses, Place, taken_apart
from penstock.bind.emission.falling import with_falling_groups, with_falling_order
from penstock.bind.emission.policy import (
    Kind,
    check,
    closes_windows,
    content_of,
    is_stamped,
    of_flink_settings,
    refined,
    trigger_of,
    with_delay,
)
from penstock.bind.emission.seeking import seek_of
from penstock.bind.emission.streamed import as_select, carrying_times
from penstock.bind.emission.window_columns import END, carrying_windows, window_bounds
from penstock.bind.modality import check_streamed, streamed
from penstock.bind.query_settings import (
    INCLUDED,
    MERGES,
    QUERY_MODE,
    SEEK_TO,
    asks_once,
    check_settings,
    places_of,
    settings_of,
    switch,
)
from penstock.bind.scalars import unique_names
from penstock.bind.taking_in import HasWaterline, Start, TakingIn, with_taking_in
from penstock.bind.time_windows.in_group_by import FORMS
from penstock.catalog.model import EVENT_TIME, NOTHING, Catalog, ClosingSessions, Column, Table, View
from penstock.catalog.reserved import ARRIVED
from penstock.catalog.settings import RUNTIME_MODE, STREAMING
from penstock.errors import Diagnostic, PenstockError, Span, SqlError
from penstock.plan.emission import Batch, EmitClause, GroupDelay, Refine, Row, SessionClose, Trigger, WindowClose
from penstock.plan.emitclause import emit_in_subquery, read_emit
from penstock.plan.nodes import Aggregate, MatchRecognize, Plan, Project, Scan
from penstock.plan.refinement import counts_rows, is_refined
from penstock.plan.scalar import column
from penstock.plan.showing import Ordering, OwnSessions, Showing
from penstock.sql.border import compiling
from penstock.sql.nesting import room_for_nesting
from penstock.sql.nodes import SUBSTREAMS, TableFunction
from penstock.sql.points import POINT, is_begun, point_of
from penstock.sql.text import span_of
from penstock.sql.trees import aggregate_calls, call_name

_MICROSECOND = timedelta(microseconds=1)
_WINDOWS = frozenset({"TUMBLE", "HOP", "SESSION", "CUMULATE"})


@dataclass(frozen=True)
class StandingQuery:
    """The views of a standing query, those that it reads first; the last one is the query itself."""

    views: tuple[View, ...]

    @property
    def view(self) -> View:
        """The query itself."""
        return self.views[-1]


def any_waterline(catalog: Catalog, plan: Plan, name: str) -> bool:
    """Waterlines are for when a query begins to stand; its names and clauses can be checked without."""
    del catalog, plan, name
    return True


def shown_by(view: str) -> str:
    """The name of the standing query that shows a view with EMIT."""
    return f"{view} (shown)"


def stands(tree: exp.Expression, catalog: Catalog) -> bool:
    """True for a query that is shown as its rows change, and not answered once."""
    if asks_once(tree):
        return False
    if tree.meta.get("emit") or is_begun(tree) or streamed(tree) or is_refined(settings_of(tree)):
        return True
    return catalog.settings.get("dialect") == "timeplus" and any(
        _is_stream(table, tree, catalog) for table in tree.find_all(exp.Table)
    )


def shows_changelog(tree: exp.Expression, catalog: Catalog) -> bool:
    """True for a query without EMIT of dialect flink in streaming mode, which shows its changes on the command line."""
    settings = catalog.settings
    if settings.get("dialect") != "flink" or settings.get(RUNTIME_MODE, STREAMING).lower() != STREAMING:
        return False
    return point_of(tree) is None and not asks_once(tree) and not stands(tree, catalog)


def relations_named(tree: exp.Expression) -> set[str]:
    """The names in FROM, anywhere in a query."""
    return {table.name for table in tree.find_all(exp.Table)}


def _is_stream(table: exp.Table, tree: exp.Expression, catalog: Catalog) -> bool:
    """True for a stream that is not read by table(…)."""
    found = catalog.tables.get(table.name.lower())
    named = {cte.alias for cte in tree.find_all(exp.CTE)}
    above = table.parent
    whole = isinstance(above, TableFunction) and above.name == "TABLE"
    return found is not None and found.stream and table.name not in named and not whole


def bind_standing(
    tree: exp.Expression,
    catalog: Catalog,
    source: str,
    name: str,
    has_waterline: HasWaterline,
    *,
    start: Start = Start(),  # noqa: B008 - it is frozen
    properties: Mapping[str, str] = NOTHING,
    places: Mapping[str, Span] = MappingProxyType({}),
) -> StandingQuery:
    """A standing query called `name`; raises SqlError or UnsupportedError, with `source` filled in.

    `has_waterline` tells of a column of a plan whether a waterline is known for it already; `properties` are those of
    the view that it shows, at their `places`.
    """
    try:
        with compiling(tree), room_for_nesting():
            found = _Binding(tree, catalog, name, has_waterline, start, properties=properties, places=places).bound()
        views = tuple(view if view.source is not None else replace(view, source=source or None) for view in found.views)
        return replace(found, views=views)
    except PenstockError as error:
        raise error.with_source(source) from None


class _Binding:
    """One standing query while it is bound."""

    def __init__(
        self,
        tree: exp.Expression,
        catalog: Catalog,
        name: str,
        has_waterline: HasWaterline,
        start: Start,
        *,
        properties: Mapping[str, str],
        places: Mapping[str, Span],
    ) -> None:
        self._start = start
        self._has_waterline = has_waterline
        self.catalog = catalog
        self.name = name
        dialect = catalog.settings.get("dialect", "penstock")
        self.clause = _clause(tree)
        is_streamed = streamed(tree)
        self.begins = is_begun(tree)
        self.stream_span = next(
            (item.meta["stream"] for item in tree.find_all(exp.Query) if "stream" in item.meta), None
        )
        self.places: Mapping[str, Span | None] = {**_places(tree), **places}
        tree, self.settings = _without_emit(tree, dialect)
        if is_streamed:
            check_streamed(tree, catalog)
            tree = as_select(tree)
        ends = dialect == "timeplus" or is_streamed or not _is_top(tree)
        self.order_place = tree.args.get("order")
        refining = {**self.settings, **properties}
        counted = counts_rows(refining, self.places)
        self.clauses: Clauses = taken_apart(
            tree,
            catalog,
            ends_with_limit=ends,
            trigger=self.clause.trigger,
            place=self.clause.span,
            counted=counted,
            closes=closes_windows(self.clause, dialect),
        )
        windowed = self._is_windowed()
        told = self.clauses.delta is not None
        running = self.clauses.aggregated or _is_over_groups(self.clauses.tree, catalog)
        self.kind = Kind(self.clauses.aggregated, windowed, dialect, told, is_streamed, running)
        self.trigger: Trigger = (
            refined(self.clause, refining, self.kind, self.places)
            or of_flink_settings(self.clause, catalog.settings, self.kind)
            or trigger_of(self.clause, self.kind)
        )
        check(self.clause, self.trigger, self.kind)

    def bound(self) -> StandingQuery:
        taking_in = self._taking_in()
        bound = context_of(self.catalog, taking_in).bind_query(self.clauses.tree)
        self._check_age(taking_in)
        self._check_begins(bound, taking_in)
        catalog = with_taking_in(self.catalog, taking_in)
        names = unique_names(list(bound.names))
        items = zip(names, bound.fields, strict=True)
        closes = self.kind.timeplus and _waits_for_waterline(self.trigger)
        meets = self.kind.streamed or closes or isinstance(self.trigger, Row)
        rows = meeting_as_they_come(bound.plan, catalog) if meets else bound.plan
        plan: Plan = Project(rows, tuple((new, column(item.name, item.type, item.nullable)) for new, item in items))
        matched = isinstance(self.trigger, WindowClose) and any(
            isinstance(node, MatchRecognize) for node in plan.walk()
        )
        if self.kind.streamed:
            plan = with_falling_groups(plan, catalog, self._has_waterline)
        if (self.kind.streamed or matched) and not self.kind.aggregated:
            plan = carrying_times(plan, catalog, self._has_waterline)
        if not self.clauses.aggregated and not isinstance(self.trigger, Batch | Row):
            plan = carrying_windows(plan, catalog, self._has_waterline)
        visible = len(names) - len(self.clauses.added)
        order = self._order(visible)
        if self.kind.streamed:
            plan, order = with_falling_order(plan, order, catalog, self._has_waterline)
        columns = tuple(Column(item.name, item.type, item.nullable) for item in plan.fields)  # type: ignore[arg-type]
        showing = replace(self._showing(bound, plan, visible, taking_in, catalog), order=order)
        view = View(self.name, "", None, columns, plan, "standing", showing=showing)
        return StandingQuery((*taking_in.views, view))

    def _is_windowed(self) -> bool:
        """True if the rows are those of windows: grouped by a window's bounds, or from a sub-query that is."""
        if not _has_windows(self.clauses.tree):
            return False
        taking_in = TakingIn(self.name, self.catalog, self._has_waterline)
        bound = context_of(self.catalog, taking_in).bind_query(self.clauses.tree.copy())
        names = unique_names(list(bound.names))
        items = zip(names, bound.fields, strict=True)
        plan: Plan = Project(
            bound.plan, tuple((new, column(item.name, item.type, item.nullable)) for new, item in items)
        )
        catalog = with_taking_in(self.catalog, taking_in)
        if not self.clauses.aggregated:
            plan = carrying_windows(plan, catalog, any_waterline)
        bounds = window_bounds(plan, catalog)
        visible = len(names) - len(self.clauses.added)
        groups = {_at(place, visible) for place in self.clauses.groups}
        if self.clauses.aggregated:
            by_what_it_shows = self.clauses.grouped and not groups  # SELECT DISTINCT
            return bool(bounds) if by_what_it_shows else bool(groups & bounds.keys())
        return bool(bounds) and any(isinstance(node, Aggregate) for node in plan.walk())

    def _taking_in(self) -> TakingIn:
        """The rows that it takes in: in the dialect of Timeplus of streams from now on, and those that are not late."""
        timeplus = self.kind.timeplus
        is_streamed = self.kind.streamed
        waits = _waits_for_waterline(self.trigger) or self.clause.timeout is not None or self.clause.delay is not None
        own = self.kind.windowed and (timeplus or waits)
        delay = self._delay() // _MICROSECOND if own else None
        last = self.clause.last
        seek = seek_of(
            {name: value.lower() for name, value in self.settings.items()},
            self.clauses.tree,
            self._start.clock,
            self.catalog,
            self.places.get(SEEK_TO),
        )
        tails = (is_streamed or self.begins or (timeplus and last is None)) and not seek.past
        age = None if last is None else last.interval // _MICROSECOND
        leaves = self.kind.aggregated and not self.kind.windowed
        keys = tuple(self.clauses.tree.meta.get(SUBSTREAMS) or ())
        return TakingIn(
            self.name,
            self.catalog,
            self._has_waterline,
            tails=tails,
            delay=delay,
            age=age,
            aged_by=ARRIVED if last is not None and last.on_proctime else EVENT_TIME,
            leaves=leaves,
            since=seek.since,
            start=self._start,
            keys=keys,
            sessions=self._sessions(),
            streamed=is_streamed,
        )

    def _check_begins(self, bound: BoundQuery, taking_in: TakingIn) -> None:
        """SqlError for START AT of a query that reads no stream."""
        if self.begins is None:
            return
        plans = [bound.plan, *(view.plan for view in taking_in.views)]
        if not any(isinstance(node, Scan) and node.tail for plan in plans for node in plan.walk()):
            message = f"{self.begins.text}: the query reads no stream, and a table has no rows that come after a point"
            hint = "CREATE STREAM keeps what comes; AS OF answers a query over the contents as they were"
            raise SqlError(Diagnostic("START_AT", message, self.begins.span, hint=hint))

    def _check_age(self, taking_in: TakingIn) -> None:
        """SqlError for LAST over rows none of which has the time that it goes by."""
        if self.clause.last is None or taking_in.has_aged:
            return
        time = "the time at which they arrive" if self.clause.last.on_proctime else EVENT_TIME
        message = f"EMIT LAST goes by {time}, which the rows of this query do not have"
        hint = "streams of dialect timeplus have it; of other rows say it in WHERE: at >= now() - INTERVAL 1 HOUR"
        raise SqlError(Diagnostic("EMIT_FORM", message, self.clause.span, hint=hint))

    def _delay(self) -> timedelta:
        """The time for which late rows are waited for."""
        if isinstance(self.trigger, Refine):
            return self.trigger.last if self.trigger.updates else self.trigger.complete
        return self.clause.delay or timedelta(0)

    def _sessions(self) -> ClosingSessions | None:
        """The sessions that AFTER SESSION CLOSE asks for; the columns by which they are made are not known yet."""
        if not isinstance(self.trigger, SessionClose):
            return None
        silence = None if self.clause.timeout is None else self.clause.timeout // _MICROSECOND
        merges, included = (switch(self.settings, name, self.places.get(name)) for name in (MERGES, INCLUDED))
        longest = self.trigger.maxspan // _MICROSECOND
        return ClosingSessions((), "", None, None, longest, silence, bool(merges), included is not False)

    def _own_sessions(self, taking_in: TakingIn, at: Callable[[Place], int]) -> OwnSessions | None:
        """The sessions of the query as its policy knows them."""
        place, view = self.clauses.session, next((item for item in taking_in.views if _numbers(item)), None)
        if place is None or view is None or not isinstance(self.trigger, SessionClose):
            return None
        return OwnSessions(view.name.lower(), at(place), self.trigger.only)

    def _order(self, visible: int) -> tuple[Ordering, ...]:
        return tuple(Ordering(_at(place, visible), *how) for place, *how in self.clauses.order)

    def _showing(self, bound: BoundQuery, plan: Plan, visible: int, taking_in: TakingIn, catalog: Catalog) -> Showing:
        clauses, clause = self.clauses, self.clause

        at = partial(_at, visible=visible)
        groups = tuple(at(place) for place in clauses.groups)
        bounds = window_bounds(plan, catalog)
        windows = {place: bound for place, bound in bounds.items() if not groups or place in groups}
        names = list(bound.names)
        return Showing(
            with_delay(clause, self.trigger, windowed=self.kind.windowed),
            content_of(clause, self.trigger, self.kind),
            self.trigger,
            visible,
            groups,
            self.kind.aggregated and not self.clauses.grouped,
            tuple(windows),
            tuple(place for place, bound in windows.items() if bound == END),
            tuple(at(place) for place in clauses.partition),
            names.index(VERSION) if VERSION in names else None,
            names.index(DELTA) if DELTA in names else None,
            is_stamped(clause, self.kind),
            clause.word == "CHANGES" and not self.kind.told and not self.kind.timeplus,
            self._order(visible),
            clauses.limit,
            clauses.limit_each,
            tuple(at(place) for place in clauses.limit_by),
            tuple(taking_in.waterlines),
            frozenset(_tables_below(plan, catalog)),
            tuple(_shown_name(item, clauses) for item in names[:visible]),
            self._own_sessions(taking_in, at),
            streamed=self.kind.streamed and clause.trigger is None and not is_refined(self.settings),
            span=self.stream_span,
            order_span=None if self.order_place is None else span_of(self.order_place),
            counter=None if clauses.counter is None else at(clauses.counter),
        )


def _clause(tree: exp.Expression) -> EmitClause:
    found = tree.meta.get("emit")
    return EmitClause() if not found else read_emit(found[0], found[1])


def _waits_for_waterline(trigger: Trigger) -> bool:
    return isinstance(trigger, WindowClose | Refine) or (isinstance(trigger, GroupDelay) and trigger.and_watermark)


def _is_over_groups(tree: exp.Expression, catalog: Catalog) -> bool:
    """True for a query that chooses and computes rows of groups of a stream, which it has in FROM."""
    ctes = {cte.alias: cte.this for cte in tree.find_all(exp.CTE)}
    inner: Any = tree
    while isinstance(inner, exp.Select) and not inner.args.get("joins"):
        source = inner.args["from_"].this if inner.args.get("from_") is not None else None
        named = ctes.pop(source.name, None) if isinstance(source, exp.Table) else None
        inner = source.unnest() if isinstance(source, exp.Subquery) else named
        if isinstance(inner, exp.Select) and _groups(inner):
            return any(_is_stream(table, tree, catalog) for table in inner.find_all(exp.Table))
    return False


def _groups(select: exp.Select) -> bool:
    grouped = select.args.get("group") is not None
    return grouped or any(next(aggregate_calls(item), None) is not None for item in select.expressions)


def _has_windows(tree: exp.Expression) -> bool:
    """True if a query or one within it has windows of time, in FROM or in GROUP BY."""
    in_from = any(item.name in _WINDOWS for item in tree.find_all(TableFunction))
    return in_from or any(call_name(item) in FORMS for item in tree.find_all(exp.Anonymous))


def _numbers(view: View) -> bool:
    return any(item.sessions is not None for item in view.lateness.values())


def _at(place: Place, visible: int) -> int:
    return place.item if place.item is not None else visible + (place.added or 0)


def _without_emit(tree: exp.Expression, dialect: str) -> tuple[exp.Expression, dict[str, str]]:
    """The query without its EMIT and SETTINGS, and these settings, which are checked.

    EMIT in a sub-query is refused. In the dialect of Timeplus one that says when rows are shown changes nothing.
    """
    found = tree.copy()
    found.meta.pop("emit", None)
    if is_begun(found):
        del found.meta[POINT]
    settings: dict[str, str] = {}
    for inner in found.find_all(exp.Query):
        if inner.meta.get("emit"):
            text, span = inner.meta["emit"]
            if dialect != "timeplus" or not _says_when_alone(read_emit(text, span)):
                raise emit_in_subquery(text, span)
            del inner.meta["emit"]
    for inner in found.find_all(exp.Query):
        check_settings(inner)
        if asks_once(inner):
            raise _asks_once(inner)
        settings |= settings_of(inner)
        inner.args.pop("settings", None)
    return found, settings


def _places(tree: exp.Expression) -> dict[str, Span | None]:
    """The places of the SETTINGS of a query and of those in it."""
    return {name: place for inner in tree.find_all(exp.Query) for name, place in places_of(inner).items()}


def _asks_once(query: Any) -> SqlError:
    message = "query_mode = 'table' asks for the rows that are there, and this query stands"
    hint = "ask the whole query so, without EMIT, or leave it out; table(s) in FROM reads one stream so"
    return SqlError(Diagnostic("BAD_SETTING", message, places_of(query).get(QUERY_MODE), hint=hint))


def _says_when_alone(clause: EmitClause) -> bool:
    """True for a clause that leaves open which rows count, which are late, and what a session is."""
    bounds = (clause.last, clause.delay, clause.timeout)
    return bounds == (None, None, None) and not isinstance(clause.trigger, SessionClose)


def _is_top(tree: exp.Expression) -> bool:
    """True for ORDER BY … LIMIT: the first so many rows, which are a relation."""
    limit = tree.args.get("limit")
    return tree.args.get("order") is not None and limit is not None and not limit.expressions


def _shown_name(name: str, clauses: Clauses) -> str:
    return {VERSION: clauses.version, DELTA: clauses.delta}.get(name) or name


def _tables_below(plan: Plan, catalog: Catalog) -> set[str]:
    """The tables that a plan reads, through views."""
    found: set[str] = set()
    waiting = [*plan.scanned]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop().lower()
        if name in seen:
            continue
        seen.add(name)
        relation = catalog.relation(name)
        if isinstance(relation, Table):
            found.add(name)
        elif relation is not None and relation.plan is not None:
            waiting += relation.plan.scanned
    return found
