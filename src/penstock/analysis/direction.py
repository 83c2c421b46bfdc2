"""Whether an expression goes up or down as its columns do.

    floor(t TO HOUR)     increasing where t is
    100 - n              decreasing where n is increasing
    month(t)             neither

Only what a rule here says is monotonic; everything else is not. `shifts` tells of a session time zone whose clocks are
put back, in which local time does not follow time; what is said of days and months needs the `types` of the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any

from sqlglot import exp

from penstock.analysis.local_time import (
    WITHOUT_ZONE,
    adds_months,
    counts_locally,
    followed_time,
    is_constant,
    kind_of,
    one_order,
    reads_local_clock,
)
from penstock.catalog.types import Type, is_interval, is_numeric, is_temporal
from penstock.catalog.zones import NO_SHIFTS, Shifts
from penstock.plan.expressions import bare, is_clock
from penstock.sql.text import type_of
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
        """Whether values never go down, and are not all the same."""
        return self in (Direction.STRICTLY_INCREASING, Direction.INCREASING)

    @property
    def down(self) -> bool:
        """Whether values never go up, and are not all the same."""
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

_RISING_PARTS = frozenset({"YEAR", "YEARS", "Y", "YR", "YRS", "YEAROFWEEK", "EPOCH", "CENTURY", "MILLENNIUM"})


def direction(
    tree: exp.Expression, columns: Columns, *, shifts: Shifts = NO_SHIFTS, types: Types | None = None
) -> Direction:
    """The direction of an expression, given that of its columns; a column not among them has none."""
    return _Reading(columns, types or {}, shifts).of(tree)


class _Reading:
    def __init__(self, columns: Columns, types: Types, shifts: Shifts) -> None:
        self._columns = columns
        self._types = types
        self._shifts = shifts

    def of(self, tree: exp.Expression) -> Direction:
        """The direction of one node, from those below it."""
        node = bare(tree)
        if isinstance(node, exp.Column):
            return self._columns.get(node.name, Direction.NONE)
        if is_clock(node):
            return self.clock(node)
        if is_constant(node):
            return Direction.CONSTANT
        followed = followed_time(node)
        if followed is not None:
            return self.of(followed).weakened()
        rule = next((rule for kinds, rule in _RULES if isinstance(node, kinds)), None)
        return Direction.NONE if rule is None else rule(self, node)

    def clock(self, node: exp.Expression) -> Direction:
        """The time of the day starts again, and the clock on the wall may be put back."""
        name = str(node.name).lower()
        again = isinstance(node, exp.CurrentTime) or name == "current_time"
        dates = isinstance(node, exp.CurrentDate) or name in ("current_date", "curdate")
        back = (dates and self._shifts.dates) or (reads_local_clock(node) and self._shifts.most > 0)
        return Direction.NONE if again or back else Direction.INCREASING

    def _by_calendar(self, node: exp.Expression) -> bool:
        """Whether a sum, a difference or a call with a unit may go down where its times go up."""
        return adds_months(node, self._types) or (self._shifts.most > 0 and counts_locally(node, self._types))

    def _dates_again(self, *times: exp.Expression) -> bool:
        """Whether the dates or hours of these times may come, go, and come again."""
        return self._shifts.dates and any(
            not is_constant(time) and kind_of(time, self._types) not in WITHOUT_ZONE for time in times
        )

    def _skips(self, *times: exp.Expression) -> bool:
        """Whether a time without a zone may be read as one that the clock on the wall skipped."""
        return self._shifts.most > 0 and any(
            not is_constant(time) and kind_of(time, self._types) not in ("timestamp", "date") for time in times
        )

    def add(self, node: Any) -> Direction:
        """Two that go the same way together."""
        if self._by_calendar(node):
            return Direction.NONE
        return _sum(self.of(node.this), self.of(node.expression), is_null(node.this) or is_null(node.expression))

    def subtract(self, node: Any) -> Direction:
        """The second goes the other way; `x - pmod(x, 10)` is x rounded down."""
        if rounds_down(node):
            return self.of(node.this).weakened()
        if self._by_calendar(node):
            return Direction.NONE
        null = is_null(node.this) or is_null(node.expression)
        return _sum(self.of(node.this), self.of(node.expression).reversed(), null)

    def multiply(self, node: Any) -> Direction:
        """By a constant whose sign is known."""
        if is_null(node.this) or is_null(node.expression):
            return Direction.CONSTANT
        for factor, other in ((node.expression, node.this), (node.this, node.expression)):
            sign = sign_of(factor)
            if sign is not None:
                return _scaled(self.of(other), sign)
        return Direction.NONE

    def divide(self, node: Any) -> Direction:
        """By a constant whose sign is known; a whole-number division rounds."""
        if is_null(node.this) or is_null(node.expression):
            return Direction.CONSTANT
        sign = sign_of(node.expression)
        return Direction.NONE if not sign else _scaled(self.of(node.this), sign).weakened()

    def negate(self, node: Any) -> Direction:
        """The other way."""
        return self.of(node.this).reversed()

    def cast(self, node: Any) -> Direction:
        """Numbers and times keep their order in each other's types, texts do not."""
        if is_null(node.this):
            return Direction.CONSTANT
        target = type_of(node.to)
        inner = bare(node.this)
        if isinstance(inner, exp.Column) and self._types.get(inner.name) == target:
            return self.of(inner)
        if self._shifts.most and target.startswith("timestamp") and kind_of(inner, self._types) != "date":
            return Direction.NONE
        if target == "date" and self._dates_again(inner):
            return Direction.NONE
        ordered = is_numeric(target) or is_temporal(target) or is_interval(target)
        return self.of(node.this).weakened() if ordered else Direction.NONE

    def extract(self, node: Any) -> Direction:
        """The year of a time goes up, its month starts again."""
        part = str(node.this.name).upper()
        rising = part in _RISING_PARTS and not self._dates_again(node.expression)
        return self.of(node.expression).weakened() if rising else Direction.NONE

    def round_to_unit(self, node: Any) -> Direction:
        """FLOOR(t TO HOUR)."""
        unit = node.args.get("to")
        skips = self._skips(node.this) or (isinstance(node, exp.Ceil) and self._shifts.most > 0)
        again = unit is not None and (self._dates_again(node.this) or skips)
        return Direction.NONE if again else self.of(node.this).weakened()

    def call(self, node: Any) -> Direction:
        """A function that follows one argument, the others constant."""
        name, arguments = str(node.this).lower(), node.expressions
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
        if unit and (self._by_calendar(node) or (name in _DIFFERENCES and self._skips(*arguments[1:]))):
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


_RULES: tuple[tuple[Any, Callable[[_Reading, Any], Direction]], ...] = (
    (exp.Add, _Reading.add),
    (exp.Sub, _Reading.subtract),
    (exp.Mul, _Reading.multiply),
    ((exp.Div, exp.IntDiv), _Reading.divide),
    (exp.Neg, _Reading.negate),
    (exp.Cast, _Reading.cast),
    (exp.Extract, _Reading.extract),
    ((exp.Floor, exp.Ceil), _Reading.round_to_unit),
    (exp.Anonymous, _Reading.call),
)


def _rising_part(part: exp.Expression) -> bool:
    """`date_part('YEAR', t)`: the part is a text that can be read here."""
    node = bare(part)
    return isinstance(node, exp.Literal) and node.name.upper() in _RISING_PARTS


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


def rounds_down(node: exp.Expression) -> bool:
    """Whether it is `x - pmod(x, k)`, x rounded down to a multiple of k, or `x - x % k`, rounded towards zero.

    In `x - pmod(x - y, k)`, where y is constant or x rounded down, it is a multiple counted from y.
    """
    if not isinstance(node, exp.Sub):
        return False
    call, value = bare(node.expression), bare(node.this)
    if isinstance(call, exp.Mod):
        return bare(call.this) == value and sign_of(call.expression) == 1
    if not isinstance(call, exp.Anonymous) or str(call.this).lower() != "pmod" or sign_of(call.expressions[1]) != 1:
        return False
    rest = bare(call.expressions[0])
    if rest == value:
        return True
    behind = bare(rest.expression) if isinstance(rest, exp.Sub) and bare(rest.this) == value else None
    if behind is not None and is_constant(behind):
        return True
    return isinstance(behind, exp.Sub) and bare(behind.this) == value and rounds_down(behind)


def one_of(tree: exp.Expression) -> tuple[exp.Expression, ...] | None:
    """The expressions of which the tree gives one, or NULL: the branches of CASE, the arguments of COALESCE."""
    node = bare(tree)
    if isinstance(node, exp.Case):
        branches = [item.args["true"] for item in node.args["ifs"]] + [node.args.get("default")]
    elif isinstance(node, exp.Anonymous) and (picked := _PICKING.get(str(node.this).lower())) is not None:
        branches = list(node.expressions)[picked]
    else:
        return None
    return tuple(bare(item) for item in branches if item is not None and not is_null(item))


_PICKING: Mapping[str, slice] = {
    **dict.fromkeys(("greatest", "least", "coalesce", "ifnull", "nvl"), slice(None)),
    "if": slice(1, None),
    "iff": slice(1, None),
    "nvl2": slice(1, None),
    "nullif": slice(0, 1),
    "nullifzero": slice(0, 1),
}


def is_null(tree: exp.Expression) -> bool:
    """Whether the expression is NULL, or NULL cast to a type."""
    node = bare(tree)
    while isinstance(node, exp.Cast):
        node = bare(node.this)
    return isinstance(node, exp.Null)


def sign_of(tree: exp.Expression) -> int | None:
    """The sign of a numeric literal: -1, 0, 1; None for anything else."""
    node, turned = bare(tree), 1
    while isinstance(node, exp.Neg | exp.Cast):
        turned = -turned if isinstance(node, exp.Neg) else turned
        node = bare(node.this)
    if not isinstance(node, exp.Literal):
        return None
    try:
        value = Decimal(node.name)
    except InvalidOperation:
        return None
    return 0 if value == 0 else turned if value > 0 else -turned
