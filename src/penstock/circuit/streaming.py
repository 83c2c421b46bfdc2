"""SELECT STREAM: each row once, when no accepted input can change it (C1).

A relation that takes no row back is shown as its rows come. The others wait for a waterline: a window's rows until the
window is over, sorted rows until none can come before them. A query without such progress is refused (C4).
"""

from __future__ import annotations

from dataclasses import replace

from penstock.analysis.changelog import append_only, retracting
from penstock.analysis.generated import each_generated
from penstock.analysis.growth import Growth
from penstock.analysis.waterline import Reader
from penstock.catalog.model import Catalog, View
from penstock.catalog.settings import ALLOW, REJECT, UNBOUNDED_STATE, WARN
from penstock.catalog.shown_names import ShownNames
from penstock.circuit.boundedness import state_facts
from penstock.circuit.build import build_circuit
from penstock.circuit.forgetting import Unsettled
from penstock.circuit.operators import Operator
from penstock.errors import Diagnostic, Span, SqlError
from penstock.plan.emission import Batch, Content, WindowClose
from penstock.plan.expressions import place_of
from penstock.plan.forms import Call, Form
from penstock.plan.looking_ahead import looks_ahead
from penstock.plan.nodes import Aggregate, Arrived, Arriving, Generate, Join, JoinKind, Plan, Scan, TopK
from penstock.plan.showing import Showing
from penstock.rewrite import rewrite

_AGGREGATE = "Streaming aggregation requires at least one monotonic expression in GROUP BY clause"
_ORDER = "Streaming ORDER BY must start with monotonic expression"
_MEETING = (
    "keep the rows of the stream, as in FROM stream LEFT JOIN table, or take those that meet a row, with JOIN; "
    "without STREAM a view of the same query is kept up to date"
)


def streamed(view: View, catalog: Catalog) -> Showing:
    """The policy of a SELECT STREAM, its trigger chosen; SqlError for one whose rows never become final."""
    assert view.showing is not None  # noqa: S101 - the caller has asked
    plan = rewrite(view.plan)
    reader = Reader(catalog)
    _check_arrivals(plan, catalog)
    _check_meetings(plan, catalog, view.showing.span)
    _check_aggregates(view, reader, catalog)
    _check_order(view, plan, reader)
    waits = bool(view.showing.order) or _groups(view.plan) or not append_only(plan, catalog)
    if waits:
        _check_final(plan, catalog, reader, view.showing.span)
    _check_state(view, plan, catalog)
    if waits:
        return replace(view.showing, trigger=WindowClose(), content=Content.FINAL)
    return replace(view.showing, trigger=Batch(), content=Content.CHANGED)


def check_meetings(view: View, catalog: Catalog) -> None:
    """SqlError for a query in which a stream meets tables, but rows of a table are given without one of the stream."""
    if view.showing is not None and any(isinstance(node, Arrived) for node in view.plan.walk()):
        _check_meetings(rewrite(view.plan), catalog, view.showing.span or view.showing.clause.span)


def _reads_stream(plan: Plan) -> bool:
    return any(isinstance(node, Scan) and node.tail for node in plan.walk())


def _groups(plan: Plan) -> bool:
    """True if rows of streams are grouped: also what has groups alone is shown when these are over."""
    return any(isinstance(node, Aggregate) and _reads_stream(node) for node in plan.walk())


def _check_aggregates(view: View, reader: Reader, catalog: Catalog) -> None:
    """Each group of rows of streams has to end: by a key that goes up with them."""
    span = None if view.showing is None else view.showing.span
    for node in view.plan.walk():
        if isinstance(node, Aggregate) and _reads_stream(node) and not _progresses(node, reader):
            hint = "group by a window of a column with LATENESS, or by FLOOR(c TO …), CEIL(c TO …) of one"
            read = _read_from(node, catalog)
            message = _AGGREGATE if read is None else f"{_AGGREGATE} of view {read.name}"
            found = Diagnostic("NO_PROGRESS", message, _place_of_groups(node) or span, hint=hint)
            raise SqlError(found, None if read is None else read.source)


def _place_of_groups(node: Aggregate) -> Span | None:
    """The place of what rows are grouped by, or without such of the aggregates; of GROUPING SETS they are below."""
    below = node.input
    keys = [below.generator] if isinstance(below, Generate) else []
    spans = [item.span for item in (*keys, *(key for _, key in node.groups)) if item.span is not None]
    return Span(min(item.start for item in spans), max(item.end for item in spans)) if spans else place_of(node)


def _read_from(node: Aggregate, catalog: Catalog) -> View | None:
    """The view whose query has an aggregate; None for one that a query has itself."""
    for view in catalog.named_views():
        own = (item for item in view.plan.walk() if isinstance(item, Aggregate)) if view.plan is not None else ()
        if any(item.names == node.names and place_of(item) == place_of(node) for item in own):
            return view
    return None


def _progresses(node: Aggregate, reader: Reader) -> bool:
    """True if a key goes up: in every set, where there are several."""
    if not reader.of(node):
        return False
    below = node.input
    sets = each_generated(below.generator.form) if isinstance(below, Generate) else ()
    if not isinstance(below, Generate) or not sets:
        return True
    known, types = reader.of(below.input), {item.name: item.type for item in below.input.fields}
    return all(
        any(not _is_left_out(key) and reader.bound(key, known, types) is not None for key in keys)
        for keys in zip(*sets, strict=True)
    )


def _is_left_out(key: Form) -> bool:
    """True for a key that a set of GROUPING SETS leaves out: it is NULL there."""
    return isinstance(key, Call) and key.function == "nullif"


def _check_arrivals(plan: Plan, catalog: Catalog) -> None:
    """Rows that meet a table when they come have to have come for good."""
    for node in plan.walk():
        found = retracting(node.input, catalog) if isinstance(node, Arriving) else None
        if found is not None:
            message = f"rows that meet a table may still change: {found.operator}, {found.reason}"
            hint = "join the stream itself with the table, and group what comes of it"
            raise SqlError(Diagnostic("NO_PROGRESS", message, found.span, hint=hint), found.source)


def _check_meetings(plan: Plan, catalog: Catalog, span: Span | None) -> None:
    """All that comes of a meeting has to come with a row of the stream: a table's own rows would come in each step."""
    for node in plan.walk():
        if isinstance(node, Arrived) and not _comes_with_stream(node.input):
            join = next(item for item in node.input.walk() if isinstance(item, Join) and _gives_others(item))
            message = _said_of_others(join, catalog)
            raise SqlError(Diagnostic("NO_PROGRESS", message, place_of(join) or span, hint=_MEETING))


def _gives_others(join: Join) -> bool:
    """True for a join that gives rows without one of the stream that a side of it comes with."""
    return not _comes_with_stream(join) and any(map(_comes_with_stream, join.inputs))


def _comes_with_stream(plan: Plan) -> bool:
    """True if each row is made of a stream's row of this step, and of what it meets."""
    match plan:
        case Arriving():
            return True
        case Join(kind=JoinKind.INNER):
            return any(map(_comes_with_stream, plan.inputs))
        case Join(kind=JoinKind.LEFT | JoinKind.SEMI | JoinKind.ANTI):
            return _comes_with_stream(plan.left)
        case Join(kind=JoinKind.RIGHT):
            return _comes_with_stream(plan.right)
        case _:
            return bool(plan.inputs) and all(map(_comes_with_stream, plan.inputs))


def _said_of_others(join: Join, catalog: Catalog) -> str:
    """The rows that a join gives without one of the stream, and why they cannot be shown."""
    others = [side for side in join.inputs if not _comes_with_stream(side)]
    scanned = dict.fromkeys(item.relation for side in others for item in side.walk() if isinstance(item, Scan))
    names = ShownNames(catalog).text(" and ".join(scanned)) or "VALUES"
    if join.kind is JoinKind.SEMI:
        return (
            f"SEMI JOIN gives a row of {names} once, however many rows of the stream it meets, but each of these meets "
            "tables by itself, as it comes"
        )
    return (
        f"{join.kind.value.upper()} JOIN gives rows of {names} that no row of the stream has met, and takes them back "
        "when one does, but a stream takes nothing back"
    )


def _check_order(view: View, plan: Plan, reader: Reader) -> None:
    """Rows are sorted for good where the first key goes up."""
    showing = view.showing
    if showing is None or not showing.order:
        return
    first = showing.order[0]
    if first.descending or view.columns[first.place].name not in reader.of(plan):
        if any(isinstance(node, TopK) and node.offset and not node.partition for node in plan.walk()):
            message, hint = "SELECT STREAM with OFFSET waits for the end of the stream", "leave OFFSET out"
            raise SqlError(Diagnostic("NO_PROGRESS", message, showing.order_span, hint=hint))
        hint = "order first by a column with LATENESS or by what goes up with it, ascending, or by what goes down, DESC"
        raise SqlError(Diagnostic("NO_PROGRESS", _ORDER, showing.order_span, hint=hint))


def _check_final(plan: Plan, catalog: Catalog, reader: Reader, span: Span | None) -> None:
    if reader.of(plan):
        return
    found = retracting(plan, catalog)
    why = "" if found is None else f": {found.operator}, {found.reason}"
    message = f"SELECT STREAM shows a row once nothing can change it, but these rows can change for ever{why}"
    hint = "give the streams' times LATENESS, and the query a window, an order or a condition over them"
    if looks_ahead(plan):
        hint = (
            "rows are waited for where all that looks ahead to rows has one PARTITION BY, and one ORDER BY that begins "
            "with a column with LATENESS, ascending, NOT NULL or NULLS LAST; "
            "RANGE BETWEEN … AND INTERVAL … FOLLOWING waits for a time"
        )
    place, source = (span, None) if found is None else (found.span or span, found.source)
    raise SqlError(Diagnostic("NO_PROGRESS", message, place, hint=hint), source)


def _check_state(view: View, plan: Plan, catalog: Catalog) -> None:
    """Refuse state that a stream leaves behind for ever, unless the program says otherwise (D7).

    A row for each different key, from which all others go, is not refused: `ROWS 2 PRECEDING` of each product.
    """
    if catalog.settings.get(UNBOUNDED_STATE, REJECT).strip().lower() in (WARN, ALLOW):
        return
    assert view.showing is not None  # noqa: S101 - as above
    found: list[Diagnostic] = []
    operators = build_circuit({"": plan}, catalog).operators
    for fact in state_facts((item for item in operators if not _rows_leave(item)), catalog):
        if fact.growth is Growth.UNBOUNDED:
            message = f"the state of SELECT STREAM is not bounded: {fact.operator} keeps {fact.keeps}; {fact.because}"
            hint = fact.fix or f"a condition on the streams' times; SET {UNBOUNDED_STATE} = 'allow' lets it grow"
            found.append(Diagnostic("UNBOUNDED_STATE", message, fact.span or view.showing.span, hint=hint))
    if found:
        raise SqlError(found)


def _rows_leave(operator: Operator) -> bool:
    """True if the rows of streams that an operator keeps go when a waterline has passed them, or it keeps none.

    Those of a match that may go on for ever stay: `A B+` without WITHIN.
    """
    if operator.plan is None:
        return True
    streams = {place for place, item in enumerate(operator.plan.inputs) if _reads_stream(item)}
    return streams <= {item.trace for item in operator.expiries if not any(map(_goes_on, item.keep))}


def _goes_on(keep: object) -> bool:
    return isinstance(keep, Unsettled) and not (keep.ends or keep.short)
