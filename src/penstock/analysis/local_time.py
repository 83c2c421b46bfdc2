"""Times that are read from a clock that is put back once a year.

Times that go up all the same:

t - pmod(local(t) - c, k)                        k divides an hour: what is repeated begins as often
instant(local(t) - pmod(local(t) - c, k) + n)    k is whole hours: of a reading that comes twice the first is meant

`local(t)` is the reading of the clock as microseconds, `unix_micros(from_utc_timestamp(t, zone))`, and `instant` its
inverse, `to_utc_timestamp(timestamp_micros(…), zone)`. `bind/from_/grids.py` writes windows so.

And what does not, since Spark counts days, months and the distance of two TIMESTAMPs by the local clock:

t + INTERVAL 1 DAY                               01:50, 01:10 an hour later   →   01:50, 01:10 of the next day
t - INTERVAL 24 HOURS                            the same: 24 hours are a day
t - TIMESTAMP '2024-01-01'                       local time less local time
CAST(t AS TIMESTAMP_NTZ)                         01:50, 01:10 an hour later
t - INTERVAL 1 MONTH                             30 March 23:00, 31 March 01:00   →   both 29 February, in every zone

What goes down so goes down by little: `lowered` says by how much at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.catalog.types import Type, is_interval, is_numeric, is_temporal
from penstock.catalog.zones import Shifts, repeats_within_hours
from penstock.plan.forms import (
    Call,
    Cast,
    Constant,
    Form,
    Keyword,
    Reference,
    Span,
    called,
    is_clock,
    is_constant,
)
from penstock.plan.inference import inferred, micros_at_most

_HOUR = 3_600_000_000
_DAY = 24 * _HOUR
WITHOUT_ZONE = ("date", "timestamp_ntz")
_ELAPSED_UNITS = frozenset({"HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"})
_WITHOUT_MONTHS = ("interval day", "interval hour", "interval minute", "interval second")
_ADDING = ("dateadd", "date_add", "timestampadd")  # of a unit, a number, and a time
_MONTH_UNITS = ("MONTH", "QUARTER", "YEAR")


def followed_time(form: Form) -> Form | None:
    """The time that the expression goes up with, None if it is not of these forms."""
    match form:
        case Call("-", (Call("unix_micros", (time,)), past)):
            read = _read(past, None)
            return None if read is None or _HOUR % read[2] or time != read[0] else time
        case Call("to_utc_timestamp", (Call("timestamp_micros", (floor,)), zone)):
            return _first_of_two(floor, zone)
        case _:
            return None


def _first_of_two(floor: Form, zone: Form) -> Form | None:
    while isinstance(floor, Call) and floor.function == "+" and _number(floor.arguments[1]) is not None:
        floor = floor.arguments[0]
    match floor:
        case Call("-", (clock, past)):
            read = _read(past, clock)
            return None if read is None or read[1] != zone or read[2] % _HOUR else read[0]
        case _:
            return None


def counts_locally(form: Call, types: Mapping[str, Type | None]) -> bool:
    """True if `a + b`, `a - b` or `f(unit, a, b)` may count by the local clock; `types` are those of the columns."""
    operands = form.arguments
    if form.function not in ("+", "-"):
        adding = not form.function.endswith("diff")
        if adding and _unit(form) in _ELAPSED_UNITS:
            return False
        return any(kind_of(item, types) not in WITHOUT_ZONE for item in operands[2 if adding else 1 :])
    lengths = [_micros(item) for item in operands]
    kinds = [kind_of(item, types) for item in operands]
    if any(length is not None and length < _DAY for length in lengths) or any(is_numeric(kind) for kind in kinds):
        return False
    return any(kind not in WITHOUT_ZONE and not is_interval(kind) for kind in kinds)


def adds_months(form: Call, types: Mapping[str, Type | None]) -> bool:
    """True if `a + b`, `a - b` or `f(unit, n, t)` may add months to what is not a date.

    They keep the time of day and end with the month: of two times the later may come out earlier, by less than a day.
    """
    operands = form.arguments
    if form.function not in ("+", "-"):
        return _unit(form).startswith(_MONTH_UNITS)
    kinds = [kind_of(item, types) for item in operands]
    lengths = [item for item, kind in zip(operands, kinds, strict=True) if not is_temporal(kind)]
    return "date" not in kinds and any(has_months(part, types) for item in lengths for part in item.walk())


def _unit(form: Call) -> str:
    """The unit that a function counts in, or the name of the column that is its first argument."""
    match form.arguments:
        case (Keyword(word), *_) | (Reference(word), *_) | (Constant(word), *_):
            return word.upper()
        case _:
            return ""


def has_months(form: Form, types: Mapping[str, Type | None]) -> bool:
    """True if a part of an expression is a length with months."""
    match form:
        case Span():
            return _micros(form) is None
        case Call(function):
            return function in ("make_interval", "try_make_interval", "make_ym_interval")
        case Reference(name):
            kind = types.get(name) or ""
        case Cast():
            kind = form.type
        case _:
            return False
    return is_interval(kind) and not kind.startswith(_WITHOUT_MONTHS)


def lowered(form: Form, types: Mapping[str, Type | None], shifts: Shifts) -> tuple[Form, Form] | None:
    """The form with which `form` goes up but for one step of the kinds above, and its lower limit from now on.

    With d a length and s the most that the clock is moved, t + d of the local clock is within s of t + d of elapsed
    time, so it never goes below itself by 2 s. Months differ in length by 3 days, and their days end by one more.
    None if it has another form.
    """
    node, counted = form, list[bool]()
    while (inner := _moved(node)) is not None:
        added = node if isinstance(node, Call) and not is_clock(node) else None
        months = added is not None and adds_months(added, types)
        if months or (shifts.most and (added is None or counts_locally(added, types))):
            counted.append(months)
        node = inner
    if len(counted) != 1 or not is_temporal(kind_of(node, types)):
        return None
    hours = 3 * shifts.most
    if counted[0]:
        hours = 4 * 24 + 8 * shifts.most if shifts.most else 24
    return node, earlier(form, hours)


def earlier(form: Form, hours: int) -> Form:
    """A time, so many hours or a little more before."""
    unit, count = ("HOUR", hours) if hours < 24 else ("DAY", -(-hours // 24))  # noqa: PLR2004 - hours of a day
    return Call("-", (form, Span(str(count), unit)))


def one_order(kinds: Iterable[Type | None], shifts: Shifts) -> bool:
    """True if values of these types, brought to one, keep their order: times without a zone may not."""
    found = {kind or "" for kind in kinds}
    return not shifts.most or not found & {"", "timestamp_ntz"} or found == {"timestamp_ntz"}


def _moved(form: Form) -> Form | None:
    """The part that an expression moves by a constant length, or reads on another clock."""
    match form:
        case Cast(inner, "timestamp" | "timestamp_ntz"):
            return inner
        case Call() if is_clock(form) and reads_local_clock(form):
            return Call("now")
        case Call(function, (_, amount, time)) if function in _ADDING and is_constant(amount):
            return time
        case Call("+", (length, time)) if is_constant(length):
            return time
        case Call("+" | "-", (time, length)) if is_constant(length):
            return time
        case _:
            return None


def reads_local_clock(form: Call) -> bool:
    """True if a reading of the clock is LOCALTIMESTAMP."""
    return form.function == "localtimestamp"


def kind_of(form: Form, types: Mapping[str, Type | None]) -> Type:
    """The type of an expression, empty where it is not known."""
    if isinstance(form, Span) or _micros(form) is not None:
        return "interval"
    return inferred(form, types) or ""


def _micros(form: Form) -> int | None:
    """The greatest length of an interval literal, or of a sum of them; None for months and for anything else."""
    match form:
        case Call("-", (inner,)):
            return _micros(inner)
        case Call("+" | "-", (left, right)):
            one, two = _micros(left), _micros(right)
            return None if one is None or two is None else one + two
        case Span(value, unit):
            return micros_at_most(Span(value.lstrip("-"), unit))
        case _:
            return None


def _read(past: Form, clock: Form | None) -> tuple[Form, Form, int] | None:
    """The time, the zone and the step of `pmod(local(t) - c, k)`; `clock`, if given, is what local(t) must be."""
    arguments = called(past, "pmod")
    step = None if arguments is None else _number(arguments[1])
    if arguments is None or not step or step < 0:
        return None
    reading = arguments[0]
    if isinstance(reading, Call) and reading.function == "-" and _number(reading.arguments[-1]) is not None:
        reading = reading.arguments[0]
    match reading:
        case Call("unix_micros", (Call("from_utc_timestamp", (time, Constant() as zone)),)):
            known = repeats_within_hours(zone.value) and clock in (None, reading)
            return (time, zone, step) if known else None
        case _:
            return None


def _number(form: Form) -> int | None:
    """A whole-number literal, cast or negated."""
    match form:
        case Call("-", (inner,)):
            found = _number(inner)
            return None if found is None else -found
        case Cast(inner):
            return _number(inner)
        case Constant() if form.is_number and form.value.lstrip("-").isdigit():
            return int(form.value)
        case _:
            return None
