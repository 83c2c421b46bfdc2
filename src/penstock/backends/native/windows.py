"""Spark's window calls as DuckDB's: numbers and ranks, rows before and after, and every aggregate over a frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.backends.native.aggregates import Calls, Reader, Types, aggregated, shown
from penstock.backends.native.comparing import key, sorted_by
from penstock.backends.native.proof import NotProvenError, Proven, quoted
from penstock.catalog.types import TEMPORAL, is_decimal
from penstock.circuit.partials import decimal_shape
from penstock.plan.forms import Aggregated, Call, Constant, Edge, Form, Frame, Over, Reference, Span, is_constant
from penstock.types.common import MOST_DIGITS

_LENGTHS = {"DAY", "HOUR", "MINUTE", "SECOND"}
_RANK = "__rank"  # how the binder names the rank of a row in an order, which is far from the ends of INT


@dataclass(frozen=True)
class Seen:
    """A window call: its function's arguments, and the window as DuckDB has it, without and with its frame."""

    calls: Calls
    call: Call
    arguments: tuple[Proven, ...]
    ignoring: bool
    over: str
    framed: str

    def name(self, function: str, *arguments: str, over: str) -> str:
        """The column that holds the answer of a call of DuckDB."""
        nulls = " IGNORE NULLS" if self.ignoring else ""
        return self.calls.name(f"{function}({', '.join(arguments)}{nulls}) OVER ({over})")


def windowed(form: Form, types: Types, scalar: Reader, carry: tuple[str, ...], calls: Calls) -> Proven:
    """A window call, as an expression over what it adds to `calls`; what is carried is a further key."""
    if not isinstance(form, Over) or form.call is None:
        raise NotProvenError(what=f"the window call {shown(form)}")
    partition = [key(without_raising(scalar(item, types), calls.beneath)) for item in form.partition]
    partition += [quoted(name) for name in carry]
    values = [without_raising(scalar(item.value, types), calls.beneath) for item in form.order]
    order = [
        sorted_by(value, descending=item.descending, nulls_first=item.nulls_first)
        for value, item in zip(values, form.order, strict=True)
    ]
    over = f"PARTITION BY {', '.join(partition)}" if partition else ""
    over += f" ORDER BY {', '.join(order)}" if order else ""
    frame = "" if form.frame is None else f" {_frame(form.frame, form, types, scalar)}"
    rule = _RULES.get(form.call.function)
    if rule is None:
        return aggregated(form.function, types, scalar, calls, f" OVER ({over}{frame})")
    inner = form.function if isinstance(form.function, Aggregated) else Aggregated(form.call)
    if inner.distinct or inner.condition is not None or inner.within:
        raise NotProvenError(what=f"the window call {shown(form)}")
    arguments = tuple(scalar(item, types) for item in form.call.arguments)
    return rule(Seen(calls, form.call, arguments, inner.nulls == "ignore", over, over + frame))


def without_raising(value: Proven, beneath: dict[str, str]) -> Proven:
    """A value that a window goes by: DuckDB refuses what can raise, which becomes a column of a query below."""
    if not value.raises:
        return value
    return Proven(quoted(beneath.setdefault(value.text, f"__beneath{len(beneath)}")), value.type)


def _frame(frame: Frame, form: Over, types: Types, scalar: Reader) -> str:
    ends = []
    for edge in (frame.start, frame.end):
        if edge.side == "current row":
            ends.append("CURRENT ROW")
        elif edge.distance is None:
            ends.append(f"UNBOUNDED {edge.side.upper()}")
        else:
            distance = _rows(edge) if frame.kind == "rows" else _distance(edge.distance, form, types, scalar)
            ends.append(f"{distance} {edge.side.upper()}")
    return f"{frame.kind.upper()} BETWEEN {ends[0]} AND {ends[1]}"


def _rows(edge: Edge) -> str:
    if not isinstance(edge.distance, Constant) or not edge.distance.is_whole:
        raise NotProvenError(what="a frame of rows without a plain number")
    return edge.distance.value


def _distance(distance: Form, form: Over, types: Types, scalar: Reader) -> str:
    """A distance in the values of the one sort key: a time, or a rank; an integer may overflow as Spark computes it."""
    by = form.order[0].value if len(form.order) == 1 else None
    kind = None if by is None else scalar(by, types).type
    if isinstance(distance, Span) and kind in TEMPORAL:
        return _span(distance, kind)
    ranked = isinstance(by, Reference) and by.name.startswith(_RANK) and kind == "int"
    if ranked and isinstance(distance, Constant) and distance.is_whole:
        return distance.value
    if kind is not None and _is_whole_decimal(kind) and is_constant(distance):
        value = scalar(distance, types)
        if value.type == kind:
            return value.text
    raise NotProvenError(what=f"a frame by distances of type {kind}")


def _is_whole_decimal(kind: str) -> bool:
    """True for a DECIMAL to which a distance of the same type can be added without too many digits."""
    if not is_decimal(kind):
        return False
    precision, scale = decimal_shape(kind)
    return scale == 0 and precision < MOST_DIGITS


def _span(span: Span, kind: str) -> str:
    unit = span.unit.upper().removesuffix("S")
    if not span.value.isdigit() or unit not in _LENGTHS or (kind == "date" and unit != "DAY"):
        raise NotProvenError(what=f"a frame of INTERVAL '{span.value}' {span.unit} by a {kind}")
    return f"INTERVAL '{span.value}' {unit}"


def _number(seen: Seen) -> Proven:
    arguments = (argument.text for argument in seen.arguments)
    return Proven(f"CAST({seen.name(seen.call.function, *arguments, over=seen.over)} AS INTEGER)", "int")


def _ntile(seen: Seen) -> Proven:
    """NTILE(n) for a plain number of buckets."""
    _whole(seen.call.arguments[0] if seen.call.arguments else Constant("1", "int"))
    return _number(seen)


def _share(seen: Seen) -> Proven:
    return Proven(seen.name(seen.call.function, over=seen.over), "double")


def _neighbour(seen: Seen) -> Proven:
    """LAG and LEAD: the value some rows away, or the default where there is no such row."""
    value, *others = seen.arguments
    if others:
        _whole(seen.call.arguments[1])
    default = others[1] if len(others) > 1 else None
    if default is not None and default.type not in (value.type, "void"):
        raise NotProvenError(what=f"{seen.call.function} of {value.type} with a default of {default.type}")
    texts = [value.text, *(item.text for item in others)]
    return Proven(seen.name(seen.call.function, *texts, over=seen.over), value.type)


def _whole(form: Form) -> None:
    inner = form.arguments[0] if isinstance(form, Call) and form.function == "-" and len(form.arguments) == 1 else form
    if not isinstance(inner, Constant) or not inner.is_whole:
        raise NotProvenError(what="a number of rows that is no plain number")


def _end(function: str) -> Callable[[Seen], Proven]:
    """The value of the frame's first or last row, in an order that the plan has completed."""

    def rule(seen: Seen) -> Proven:
        if len(seen.arguments) != 1:
            raise NotProvenError(what=f"{seen.call.function} of {len(seen.arguments)} arguments")
        (value,) = seen.arguments
        return Proven(seen.name(function, value.text, over=seen.framed), value.type)

    return rule


def _nth(seen: Seen) -> Proven:
    value, place = seen.arguments
    _whole(seen.call.arguments[1])
    return Proven(seen.name("nth_value", value.text, place.text, over=seen.framed), value.type)


_RULES: dict[str, Callable[[Seen], Proven]] = {
    **dict.fromkeys(["row_number", "rank", "dense_rank"], _number),
    "ntile": _ntile,
    **dict.fromkeys(["percent_rank", "cume_dist"], _share),
    **dict.fromkeys(["lag", "lead"], _neighbour),
    **dict.fromkeys(["first", "first_value", "any_value"], _end("first_value")),
    **dict.fromkeys(["last", "last_value"], _end("last_value")),
    "nth_value": _nth,
}
FUNCTIONS = frozenset(_RULES)
