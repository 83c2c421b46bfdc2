"""The direction of an expression: up or down, as its columns go.

    floor(t TO HOUR)     increasing where t is
    100 - n              decreasing where n is increasing
    month(t)             neither

Only what a rule here says is monotonic; everything else is not. `shifts` tells of a session time zone whose clocks are
put back, in which local time does not follow time; what is said of days and months needs the `types` of the columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from enum import StrEnum

from penstock.analysis.local_time import (
    WITHOUT_ZONE,
    adds_months,
    counts_locally,
    followed_time,
    kind_of,
    one_order,
    reads_local_clock,
)
from penstock.catalog.types import Type, is_interval, is_numeric, is_temporal
from penstock.catalog.zones import NO_SHIFTS, Shifts
from penstock.plan.forms import (
    COMPARED,
    MATCHED,
    NULL,
    Call,
    Case,
    Cast,
    Constant,
    Form,
    Keyword,
    Reference,
    is_clock,
    is_constant,
)
from penstock.types.functions import WITH_UNIT


class Direction(StrEnum):
    """Where values go when the columns go up; `increasing` allows standing still."""

    STRICTLY_INCREASING = "strictly_increasing"
    INCREASING = "increasing"
    STRICTLY_DECREASING = "strictly_decreasing"
    DECREASING = "decreasing"
    CONSTANT = "constant"
    NONE = "none"

    @property
    def up(self) -> bool:
        """True if values never go down, and are not all the same."""
        return self in (Direction.STRICTLY_INCREASING, Direction.INCREASING)

    @property
    def down(self) -> bool:
        """True if values never go up, and are not all the same."""
        return self in (Direction.STRICTLY_DECREASING, Direction.DECREASING)

    def reversed(self) -> Direction:
        """The direction of the negated values."""
        return _REVERSED.get(self, self)

    def weakened(self) -> Direction:
        """The direction of values that were rounded: they may stand still."""
        return Direction.INCREASING if self.up else Direction.DECREASING if self.down else self


_REVERSED = {
    Direction.STRICTLY_INCREASING: Direction.STRICTLY_DECREASING,
    Direction.STRICTLY_DECREASING: Direction.STRICTLY_INCREASING,
    Direction.INCREASING: Direction.DECREASING,
    Direction.DECREASING: Direction.INCREASING,
}

Columns = Mapping[str, Direction]
Types = Mapping[str, Type | None]

# Functions that follow one argument up, by the place of that argument; the others must be constant.
RISING: Mapping[str, int] = {
    **dict.fromkeys(
        ("floor", "ceil", "ceiling", "round", "bround", "sqrt", "cbrt", "ln", "log10", "log2", "log1p", "exp", "expm1",
         "sign", "signum", "positive", "year", "to_date", "date", "to_timestamp", "trunc", "date_add", "dateadd",
         "date_sub", "add_months", "last_day", "unix_timestamp", "to_unix_timestamp", "unix_seconds", "unix_millis",
         "unix_micros", "unix_date", "timestamp_seconds", "timestamp_millis", "timestamp_micros",
         "date_from_unix_date", "datediff", "date_diff", "next_day", "timestamp_ntz", "timestamp_ltz", "shiftright",
         "int", "bigint", "smallint", "tinyint", "float", "double",
         "timestamp", "decimal", "asinh", "atan", "tanh", "sinh", "degrees", "radians", "rint"),
        0,
    ),
    **dict.fromkeys(("date_trunc", "date_part", "datepart"), 1),
}  # fmt: skip
FALLING: Mapping[str, int] = {"datediff": 1, "date_diff": 1}

_DIFFERENCES = frozenset({"datediff", "date_diff", "timestampdiff"})
_LOCAL = frozenset({"timestamp", "to_timestamp", "timestamp_ntz", "timestamp_ltz"})

# What reads the date of a time, and what reads a time without a zone as one of the session's.
_OF_DATES = frozenset({
    "year", "to_date", "date", "trunc", "date_add", "dateadd", "date_sub", "add_months", "last_day", "datediff",
    "date_diff", "next_day", "date_trunc", "date_part", "datepart", "unix_date",
})  # fmt: skip
_OF_MOMENTS = frozenset({
    "unix_timestamp", "to_unix_timestamp", "unix_seconds", "unix_millis", "unix_micros", "date_trunc",
})  # fmt: skip

# What is written as an operator and follows nothing.
_OPERATORS = COMPARED | MATCHED | {
    "and", "or", "not", "is null", "is true", "is false", "in", "between", "%", "||", "[]", "()", "&", "|", "^", "~",
}  # fmt: skip

_RISING_PARTS = frozenset({"YEAR", "YEARS", "Y", "YR", "YRS", "YEAROFWEEK", "EPOCH", "CENTURY", "MILLENNIUM"})


def direction(form: Form, columns: Columns, *, shifts: Shifts = NO_SHIFTS, types: Types | None = None) -> Direction:
    """The direction of an expression, given that of its columns; a column not among them has none."""
    return _Reading(columns, types or {}, shifts).of(form)


class _Reading:
    def __init__(self, columns: Columns, types: Types, shifts: Shifts) -> None:
        self._columns = columns
        self._types = types
        self._shifts = shifts

    def of(self, form: Form) -> Direction:
        """The direction of one form, from those below it."""
        if isinstance(form, Reference):
            return self._columns.get(form.name, Direction.NONE)
        if isinstance(form, Call) and is_clock(form):
            return self.clock(form)
        if is_constant(form):
            return Direction.CONSTANT
        followed = followed_time(form)
        if followed is not None:
            return self.of(followed).weakened()
        match form:
            case Cast():
                return self.cast(form)
            case Call():
                return self._operated(form)
            case _:
                return Direction.NONE

    def _operated(self, form: Call) -> Direction:
        match form.function, form.arguments:
            case "+", (one, other):
                return self.add(form, one, other)
            case "-", (one, other):
                return self.subtract(form, one, other)
            case "*", (one, other):
                return self.multiply(one, other)
            case "/" | "div", (one, other):
                return self.divide(one, other)
            case "-", (one,):
                return self.of(one).reversed()
            case "extract", (part, time):
                return self.extract(part, time)
            case "floor to" | "ceil to", (time, _):
                return self.round_to_unit(form.function, time)
            case _:
                return Direction.NONE if form.function in _OPERATORS else self.call(form)

    def clock(self, form: Call) -> Direction:
        """The time of the day starts again, and the clock on the wall may be put back."""
        again = form.function == "current_time"
        dates = form.function in ("current_date", "curdate")
        back = (dates and self._shifts.dates) or (reads_local_clock(form) and self._shifts.most > 0)
        return Direction.NONE if again or back else Direction.INCREASING

    def _by_calendar(self, form: Call) -> bool:
        """True if a sum, a difference or a call with a unit may go down where its times go up."""
        return adds_months(form, self._types) or (self._shifts.most > 0 and counts_locally(form, self._types))

    def _dates_again(self, *times: Form) -> bool:
        """True if the dates or hours of these times may come, go, and come again."""
        return self._shifts.dates and any(
            not is_constant(time) and kind_of(time, self._types) not in WITHOUT_ZONE for time in times
        )

    def _skips(self, *times: Form) -> bool:
        """True if a time without a zone may be read as one that the clock on the wall skipped."""
        return self._shifts.most > 0 and any(
            not is_constant(time) and kind_of(time, self._types) not in ("timestamp", "date") for time in times
        )

    def add(self, form: Call, one: Form, other: Form) -> Direction:
        """Two that go the same way together."""
        if self._by_calendar(form):
            return Direction.NONE
        return _sum(self.of(one), self.of(other), is_null(one) or is_null(other))

    def subtract(self, form: Call, one: Form, other: Form) -> Direction:
        """The second goes the other way; `x - pmod(x, 10)` is x rounded down."""
        if rounds_down(form):
            return self.of(one).weakened()
        if self._by_calendar(form):
            return Direction.NONE
        return _sum(self.of(one), self.of(other).reversed(), is_null(one) or is_null(other))

    def multiply(self, one: Form, other: Form) -> Direction:
        """By a constant whose sign is known."""
        if is_null(one) or is_null(other):
            return Direction.CONSTANT
        for factor, value in ((other, one), (one, other)):
            sign = sign_of(factor)
            if sign is not None:
                return _scaled(self.of(value), sign)
        return Direction.NONE

    def divide(self, one: Form, other: Form) -> Direction:
        """By a constant whose sign is known; a whole-number division rounds."""
        if is_null(one) or is_null(other):
            return Direction.CONSTANT
        sign = sign_of(other)
        if sign == 0:
            return Direction.CONSTANT  # it gives nothing
        return Direction.NONE if not sign else _scaled(self.of(one), sign).weakened()

    def cast(self, form: Cast) -> Direction:
        """Numbers and times keep their order in each other's types, texts do not."""
        inner, target = form.argument, form.type
        if is_null(inner):
            return Direction.CONSTANT
        if isinstance(inner, Reference) and self._types.get(inner.name) == target:
            return self.of(inner)
        if self._shifts.most and target.startswith("timestamp") and kind_of(inner, self._types) != "date":
            return Direction.NONE
        if target == "date" and self._dates_again(inner):
            return Direction.NONE
        ordered = is_numeric(target) or is_temporal(target) or is_interval(target)
        return self.of(inner).weakened() if ordered else Direction.NONE

    def extract(self, part: Form, time: Form) -> Direction:
        """The year of a time goes up, its month starts again."""
        rising = isinstance(part, Keyword) and part.word.upper() in _RISING_PARTS and not self._dates_again(time)
        return self.of(time).weakened() if rising else Direction.NONE

    def round_to_unit(self, function: str, time: Form) -> Direction:
        """FLOOR(t TO HOUR)."""
        skips = self._skips(time) or (function == "ceil to" and self._shifts.most > 0)
        return Direction.NONE if self._dates_again(time) or skips else self.of(time).weakened()

    def call(self, form: Call) -> Direction:
        """A function that follows one argument, the others constant."""
        name, arguments = form.function, form.arguments
        if name in ("greatest", "least"):
            alike = one_order((kind_of(item, self._types) for item in arguments), self._shifts)
            return _common([self.of(item) for item in arguments]) if alike else Direction.NONE
        if name in _PARTS and not _rising_part(arguments[0]):
            return Direction.NONE
        if (self._shifts.most and name in _LOCAL) or (name in _OF_DATES and self._dates_again(*arguments[:2])):
            return Direction.NONE
        if name in _OF_MOMENTS and self._skips(*arguments):
            return Direction.NONE
        unit = len(arguments) == 3 and name in WITH_UNIT  # noqa: PLR2004 - unit and two more
        if unit and (self._by_calendar(form) or (name in _DIFFERENCES and self._skips(*arguments[1:]))):
            return Direction.NONE
        rising, falling = (2, 1 if name in _DIFFERENCES else None) if unit else (RISING.get(name), FALLING.get(name))
        found = Direction.CONSTANT
        for place, item in enumerate(arguments):
            if unit and place == 0:
                continue
            below = self.of(item).weakened()
            if below is not Direction.CONSTANT:
                below = below if place == rising else below.reversed() if place == falling else Direction.NONE
            found = _sum(found, below, null=False)
        return found


def _rising_part(part: Form) -> bool:
    """`date_part('YEAR', t)`: the part is a text that can be read here."""
    return isinstance(part, Constant) and part.value.upper() in _RISING_PARTS


_PARTS = frozenset({"date_part", "datepart"})


def _sum(one: Direction, other: Direction, null: bool) -> Direction:  # noqa: FBT001 - a property of the two
    if null or one is other is Direction.CONSTANT:
        return Direction.CONSTANT
    if one is Direction.CONSTANT or other is Direction.CONSTANT:
        return other if one is Direction.CONSTANT else one
    if (one.up and other.up) or (one.down and other.down):
        strict = Direction.STRICTLY_INCREASING if one.up else Direction.STRICTLY_DECREASING
        return strict if strict in (one, other) else one.weakened()
    return Direction.NONE


def _common(found: list[Direction]) -> Direction:
    total = Direction.CONSTANT
    for item in found:
        total = _sum(total, item.weakened(), null=False)
    return total


def _scaled(found: Direction, sign: int) -> Direction:
    if sign == 0:
        return Direction.CONSTANT
    return found if sign > 0 else found.reversed()


def rounds_down(form: Form) -> bool:
    """True if it is `x - pmod(x, k)`, x rounded down to a multiple of k, or `x - x % k`, rounded towards zero.

    In `x - pmod(x - y, k)`, where y is constant or x rounded down, it is a multiple counted from y.
    """
    match form:
        case Call("-", (value, Call("%", (rest, step)))):
            return rest == value and sign_of(step) == 1
        case Call("-", (value, Call("pmod", (rest, step)))) if sign_of(step) == 1:
            return rest == value or _counted_from(value, rest)
        case _:
            return False


def _counted_from(value: Form, rest: Form) -> bool:
    """True if the rest is the value less a constant, or less the value rounded down."""
    match rest:
        case Call("-", (one, behind)) if one == value:
            again = isinstance(behind, Call) and behind.function == "-" and behind.arguments[0] == value
            return is_constant(behind) or (again and rounds_down(behind))
        case _:
            return False


def one_of(form: Form) -> tuple[Form, ...] | None:
    """The expressions of which the form gives one, or NULL: the branches of CASE, the arguments of COALESCE."""
    match form:
        case Case():
            otherwise = () if form.otherwise is None else (form.otherwise,)
            branches = (*(item.value for item in form.branches), *otherwise)
        case Call(function, arguments) if function in _PICKING:
            branches = arguments[_PICKING[function]]
        case _:
            return None
    return tuple(item for item in branches if not is_null(item))


_PICKING: Mapping[str, slice] = {
    **dict.fromkeys(("greatest", "least", "coalesce", "ifnull", "nvl"), slice(None)),
    "if": slice(1, None),
    "iff": slice(1, None),
    "nvl2": slice(1, None),
    "nullif": slice(0, 1),
    "nullifzero": slice(0, 1),
}


def is_null(form: Form) -> bool:
    """True if the expression is NULL, or NULL cast to a type."""
    while isinstance(form, Cast):
        form = form.argument
    return form == NULL


def sign_of(form: Form) -> int | None:
    """The sign of a numeric literal: -1, 0, 1; None for anything else."""
    match form:
        case Call("-", (inner,)):
            found = sign_of(inner)
            return None if found is None else -found
        case Cast(inner):
            return sign_of(inner)
        case Constant(value) if form.is_text or form.is_number:
            return _sign(value)
        case _:
            return None


def _sign(digits: str) -> int | None:
    try:
        value = Decimal(digits)
    except InvalidOperation:
        return None
    return 0 if value == 0 else 1 if value > 0 else -1


def rounded_down(form: Form) -> str | None:
    """The column whose value, rounded down in its own type, an expression is."""
    match form:
        case Call("date_trunc", (_, Reference(name))) | Call("floor to", (Reference(name), _)):
            return name
        case _:
            return None
