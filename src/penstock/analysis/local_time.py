"""What is read from a clock that is put back once a year.

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

from sqlglot import exp

from penstock.catalog.types import Type, is_interval, is_numeric, is_temporal
from penstock.catalog.zones import Shifts, repeats_within_hours
from penstock.errors import SqlError
from penstock.plan.expressions import bare, is_clock
from penstock.plan.nodes import Field
from penstock.sql.text import type_of
from penstock.types.durations import duration_of
from penstock.types.infer import infer

_HOUR = 3_600_000_000
_DAY = 24 * _HOUR
WITHOUT_ZONE = ("date", "timestamp_ntz")
_ELAPSED_UNITS = frozenset({"HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"})
_WITHOUT_MONTHS = ("interval day", "interval hour", "interval minute", "interval second")
_ADDING = ("dateadd", "date_add", "timestampadd")  # of a unit, a number, and a time
_MONTH_UNITS = ("MONTH", "QUARTER", "YEAR")


def followed_time(node: exp.Expression) -> exp.Expression | None:
    """The time that the expression goes up with, None if it is not of these forms."""
    if isinstance(node, exp.Sub):
        return _hourly(node)
    arguments = _arguments(node, "to_utc_timestamp", 2)
    micros = None if arguments is None else _arguments(arguments[0], "timestamp_micros", 1)
    if arguments is None or micros is None:
        return None
    floor = bare(micros[0])
    while isinstance(floor, exp.Add) and _number(floor.expression) is not None:
        floor = bare(floor.this)
    read = None if not isinstance(floor, exp.Sub) else _read(floor.expression, bare(floor.this))
    if read is None or read[1] != bare(arguments[1]) or read[2] % _HOUR:
        return None
    return read[0]


def counts_locally(node: exp.Expression, types: Mapping[str, Type | None]) -> bool:
    """Whether `a + b`, `a - b` or `f(unit, a, b)` may count by the local clock; `types` are those of the columns."""
    if isinstance(node, exp.Anonymous):
        adding = not str(node.this).lower().endswith("diff")
        if adding and node.expressions[0].name.upper() in _ELAPSED_UNITS:
            return False
        return any(kind_of(item, types) not in WITHOUT_ZONE for item in node.expressions[2 if adding else 1 :])
    operands = (node.this, node.expression)
    lengths = [_micros(item) for item in operands]
    kinds = [kind_of(item, types) for item in operands]
    if any(length is not None and length < _DAY for length in lengths) or any(is_numeric(kind) for kind in kinds):
        return False
    return any(kind not in WITHOUT_ZONE and not is_interval(kind) for kind in kinds)


def adds_months(node: exp.Expression, types: Mapping[str, Type | None]) -> bool:
    """Whether `a + b`, `a - b` or `f(unit, n, t)` may add months to what is not a date.

    They keep the time of day and end with the month: of two times the later may come out earlier, by less than a day.
    """
    if isinstance(node, exp.Anonymous):
        return bool(node.expressions[0].name.upper().startswith(_MONTH_UNITS))
    operands = (node.this, node.expression)
    kinds = [kind_of(item, types) for item in operands]
    lengths = [item for item, kind in zip(operands, kinds, strict=True) if not is_temporal(kind)]
    return "date" not in kinds and any(has_months(node, types) for item in lengths for node in item.walk())


def has_months(node: exp.Expression, types: Mapping[str, Type | None]) -> bool:
    """Whether a part of an expression is a length with months."""
    if isinstance(node, exp.Interval):
        return _micros(node) is None
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower() in ("make_interval", "try_make_interval", "make_ym_interval")
    column = types.get(node.name) if isinstance(node, exp.Column) else None
    kind = type_of(node.to) if isinstance(node, exp.Cast) else column or ""
    return is_interval(kind) and not kind.startswith(_WITHOUT_MONTHS)


def lowered(
    tree: exp.Expression, types: Mapping[str, Type | None], shifts: Shifts
) -> tuple[exp.Expression, exp.Expression] | None:
    """What `tree` goes up with but for one step of the kinds above, and what it is at least from now on.

    With d a length and s the most that the clock is moved, t + d of the local clock is within s of t + d of elapsed
    time, so it never goes below itself by 2 s. Months differ in length by 3 days, and their days end by one more.
    None if it has another form.
    """
    node, counted = bare(tree), []
    while (inner := _moved(node)) is not None:
        added = isinstance(node, exp.Add | exp.Sub | exp.Anonymous) and not is_clock(node)
        months = added and adds_months(node, types)
        if months or (shifts.most and (not added or counts_locally(node, types))):
            counted.append(months)
        node = inner
    if len(counted) != 1 or not is_temporal(kind_of(node, types)):
        return None
    hours = 3 * shifts.most
    if counted[0]:
        hours = 4 * 24 + 8 * shifts.most if shifts.most else 24
    return node, earlier(tree, hours)


def earlier(tree: exp.Expression, hours: int) -> exp.Expression:
    """A time, so many hours or a little more before."""
    unit, count = ("HOUR", hours) if hours < 24 else ("DAY", -(-hours // 24))  # noqa: PLR2004 - hours of a day
    slack = exp.Interval(this=exp.Literal.string(str(count)), unit=exp.Var(this=unit))
    return exp.Sub(this=exp.Paren(this=tree.copy()), expression=slack)


def one_order(kinds: Iterable[Type | None], shifts: Shifts) -> bool:
    """Whether values of these types, brought to one, keep their order: times without a zone may not."""
    found = {kind or "" for kind in kinds}
    return not shifts.most or not found & {"", "timestamp_ntz"} or found == {"timestamp_ntz"}


def _moved(node: exp.Expression) -> exp.Expression | None:
    """What an expression moves by a constant length, or reads on another clock."""
    if isinstance(node, exp.Cast) and type_of(node.to) in ("timestamp", "timestamp_ntz"):
        return bare(node.this)
    if is_clock(node) and reads_local_clock(node):
        return exp.Anonymous(this="now")
    arguments = next((found for name in _ADDING if (found := _arguments(node, name, 3)) is not None), None)
    if arguments is not None and is_constant(arguments[1]):
        return bare(arguments[2])
    if isinstance(node, exp.Add) and is_constant(node.this):
        return bare(node.expression)
    if isinstance(node, exp.Add | exp.Sub) and is_constant(node.expression):
        return bare(node.this)
    return None


def reads_local_clock(node: exp.Expression) -> bool:
    """Whether a reading of the clock is LOCALTIMESTAMP."""
    return isinstance(node, exp.Localtimestamp) or str(node.name).lower() == "localtimestamp"


def is_constant(tree: exp.Expression) -> bool:
    """Whether nothing in it reads a column or the clock."""
    return not any(isinstance(node, exp.Column) or is_clock(node) for node in tree.walk())


def kind_of(tree: exp.Expression, types: Mapping[str, Type | None]) -> Type:
    """The type of an expression, empty where it is not known."""
    if isinstance(bare(tree), exp.Interval) or _micros(tree) is not None:
        return "interval"
    return infer(tree, {name: Field(name, kind) for name, kind in types.items()})[0] or ""


def _micros(tree: exp.Expression) -> int | None:
    """How long an interval literal, or a sum of them, is at most; None for months and for anything else."""
    node = bare(tree)
    if isinstance(node, exp.Neg):
        return _micros(node.this)
    if isinstance(node, exp.Add | exp.Sub):
        one, two = _micros(node.this), _micros(node.expression)
        return None if one is None or two is None else one + two
    if not isinstance(node, exp.Interval):
        return None
    positive = exp.Interval(this=exp.Literal.string(str(node.this.name).lstrip("-")), unit=node.args.get("unit"))
    try:
        found = duration_of(positive)
    except (SqlError, ValueError):  # no length that can be read here
        return None
    return None if found.months else found.micros


def _hourly(node: exp.Sub) -> exp.Expression | None:
    read, micros = _read(node.expression, None), _arguments(node.this, "unix_micros", 1)
    if read is None or micros is None or _HOUR % read[2] or bare(micros[0]) != bare(read[0]):
        return None
    return micros[0]


def _read(past: exp.Expression, clock: exp.Expression | None) -> tuple[exp.Expression, exp.Expression, int] | None:
    """The time, the zone and the step of `pmod(local(t) - c, k)`; `clock`, if given, is what local(t) must be."""
    arguments = _arguments(past, "pmod", 2)
    step = None if arguments is None else _number(arguments[1])
    if arguments is None or not step or step < 0:
        return None
    reading = bare(arguments[0])
    if isinstance(reading, exp.Sub) and _number(reading.expression) is not None:
        reading = bare(reading.this)
    micros = _arguments(reading, "unix_micros", 1)
    local = None if micros is None else _arguments(micros[0], "from_utc_timestamp", 2)
    if local is None or (clock is not None and clock != reading):
        return None
    zone = bare(local[1])
    if not isinstance(zone, exp.Literal) or not repeats_within_hours(str(zone.name)):
        return None
    return bare(local[0]), zone, step


def _arguments(tree: exp.Expression, name: str, count: int) -> list[exp.Expression] | None:
    node = bare(tree)
    if not isinstance(node, exp.Anonymous) or str(node.this).lower() != name or len(node.expressions) != count:
        return None
    return list(node.expressions)


def _number(tree: exp.Expression) -> int | None:
    """A whole-number literal, cast or negated."""
    node, sign = bare(tree), 1
    while isinstance(node, exp.Neg | exp.Cast):
        sign = -sign if isinstance(node, exp.Neg) else sign
        node = bare(node.this)
    digits = isinstance(node, exp.Literal) and not node.is_string and node.name.lstrip("-").isdigit()
    return sign * int(node.name) if digits else None
