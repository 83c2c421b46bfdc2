"""Aggregates as partial results that can be added up.

`SUM(x)` over a change of weighted rows is the sum of `x * weight`, and the state of a group is the sum of all that
its changes contributed; an aggregate with this property needs no row of its input. A partial is a value for each row
of a change, over the input's columns and `__weight`, and the function that merges such values: `sum`, or `min`,
`max`, … where nothing is ever retracted. An answer is computed from the merged partials. Sums of BIGINT, and those of
DECIMALs with many digits, are kept in two halves, so that only an answer can overflow, never a sum on the way to one.
DOUBLE sums are partials only while
nothing is retracted (SEMANTICS A6), and their state is the last total: the order of adding decides the last bit, so
what earlier changes contributed is not added up a second time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

from penstock.catalog.reserved import WEIGHT
from penstock.catalog.types import FRACTIONAL, Type, is_decimal
from penstock.circuit.raised import raising_on_spark, sum_too_long, sum_too_wide
from penstock.plan.nodes import Aggregate, AggregateCall
from penstock.plan.scalar import Scalar, quoted

PRESENT = "__rows"

_SMALL = ("tinyint", "smallint", "int")
EXACT_DIGITS = 18  # a DECIMAL of so many digits times a weight still fits 38 digits
_AVERAGED_SCALE = 8  # digits behind the point with which an average is exact arithmetic of 38 digits
_LIMB = 4294967296
WIDE_LIMB_DIGITS = 18  # of the lower half of a DECIMAL that has more of them
_LARGEST_DIGITS = 38
_KEPT_SCALE = 6  # digits behind the point that Spark leaves to the product of the longest DECIMALs
_RUNNING = {
    "min": "min",
    "max": "max",
    "bool_and": "bool_and",
    "every": "bool_and",
    "bool_or": "bool_or",
    "some": "bool_or",
    "any": "bool_or",
    "bit_and": "bit_and",
    "bit_or": "bit_or",
}


@dataclass(frozen=True)
class Partial:
    """One partial result: its column, its value for a row of a change, and the aggregate that merges values.

    Of a `total` the state holds the value after each change, in place of what the change contributed.
    """

    name: str
    value: str
    merge: str = "sum"
    total: bool = False


@dataclass(frozen=True)
class Partials:
    """The partials of a whole Aggregate, and the answers over their merged columns, in the order of the aggregates."""

    columns: tuple[Partial, ...]
    answers: tuple[tuple[str, str], ...]


TypeOf = Callable[[Scalar], Type | None]
Decomposed = tuple[tuple[Partial, ...], str]


def partials_of(node: Aggregate, type_of: TypeOf, *, append_only: bool) -> Partials | None:
    """The decomposition of an Aggregate, or None if one of its functions has none or a type is not certain.

    `type_of` gives the type of an argument, None where it is not known.
    """
    columns = {(WEIGHT, "sum"): Partial(PRESENT, WEIGHT)}
    answers: list[tuple[str, str]] = []
    for position, (name, call) in enumerate(node.aggregates):
        found = _partial(call, f"__p{position}", type_of, append_only=append_only)
        if found is None:
            return None
        answer = found[1]
        for partial in (_filtered(item, call) for item in found[0]):
            kept = columns.setdefault((partial.value, partial.merge), partial)
            answer = answer.replace(quoted(partial.name), quoted(kept.name))
        answers.append((name, answer))
    return Partials(tuple(columns.values()), tuple(answers))


def _filtered(partial: Partial, call: AggregateCall) -> Partial:
    if call.filter is None:
        return partial
    return replace(partial, value=f"CASE WHEN {call.filter.text} THEN {partial.value} END")


def _partial(call: AggregateCall, name: str, type_of: TypeOf, *, append_only: bool) -> Decomposed | None:
    if call.distinct:
        return None
    function = call.function
    if function == "count":
        return _count(call.arguments, name)
    if len(call.arguments) != 1:
        return None
    value = call.arguments[0].text
    if function == "count_if":
        return (Partial(name, f"if({value}, {WEIGHT}, 0L)"),), f"coalesce({quoted(name)}, 0L)"
    if function not in ("sum", "avg", "mean") and function not in _RUNNING:
        return None
    kind = type_of(call.arguments[0])
    if function == "sum":
        return _sum(call, kind, name, append_only=append_only)
    if function in ("avg", "mean"):
        return _average(call, kind, name, append_only=append_only)
    if append_only and kind is not None and "variant" not in kind:
        return (Partial(name, value, _RUNNING[function]),), quoted(name)
    return None


def _count(arguments: tuple[Scalar, ...], name: str) -> Decomposed:
    tests = [f"({item.text}) IS NOT NULL" for item in arguments if item.text not in ("*", "1")]
    counted = WEIGHT if not tests else f"if({' AND '.join(tests)}, {WEIGHT}, 0L)"
    return (Partial(name, counted),), f"coalesce({quoted(name)}, 0L)"


def _sum(call: AggregateCall, kind: Type | None, name: str, *, append_only: bool) -> Decomposed | None:
    value = call.arguments[0].text
    seen = Partial(f"{name}n", f"if(({value}) IS NULL, 0L, {WEIGHT})")
    some = f"coalesce({quoted(seen.name)}, 0L) <> 0"
    if kind in _SMALL:
        return (seen, Partial(name, f"({value}) * {WEIGHT}")), f"if({some}, {quoted(name)}, NULL)"
    if kind == "bigint":
        high = Partial(f"{name}h", f"shiftright({value}, 32) * {WEIGHT}")
        low = Partial(f"{name}l", f"(({value}) & {_LIMB - 1}L) * {WEIGHT}")
        return (seen, high, low), f"if({some}, {_joined(quoted(high.name), quoted(low.name), call.call.text)}, NULL)"
    if kind is not None and is_decimal(kind):
        precision, scale = decimal_shape(kind)
        if precision > EXACT_DIGITS:  # a DECIMAL with nothing before its point has no power of ten for its units
            return _wide_sum(call, kind, seen, name) if scale < _LARGEST_DIGITS else None
        return _decimal_sum(value, kind, seen, name)
    if kind in FRACTIONAL and append_only:
        weighted = f"cast({value} as double) * {WEIGHT}"
        return (seen, Partial(name, weighted, total=True)), f"if({some}, {quoted(name)}, NULL)"
    return None


def _joined(high: str, low: str, fragment: str) -> str:
    """The BIGINT of two halves; the error of Spark's sum where there is none."""
    carried = f"({high} + shiftright({low}, 32))"
    fits = f"{carried} BETWEEN -2147483648L AND 2147483647L"
    return f"if({fits}, shiftleft({carried}, 32) + ({low} & {_LIMB - 1}L), {raising_on_spark(sum_too_long(fragment))})"


def _decimal_sum(value: str, kind: Type, seen: Partial, name: str) -> Decomposed:
    precision, scale = decimal_shape(kind)
    weighted = f"cast(({value}) * cast({WEIGHT} as decimal(19,0)) as decimal(38,{scale}))"
    answer = f"cast({quoted(name)} as decimal({min(38, precision + 10)},{scale}))"
    return (seen, Partial(name, weighted)), f"if(coalesce({quoted(seen.name)}, 0L) <> 0, {answer}, NULL)"


def _wide_sum(call: AggregateCall, kind: Type, seen: Partial, name: str) -> Decomposed:
    """The sum of a DECIMAL with many digits, as two whole numbers: the last digits, and those before them.

    Spark gives each result of DECIMALs a type, by which digits may be lost. None are here: what is multiplied is whole
    afterwards, and what is taken off leaves zeros at the end.
    """
    precision, scale = decimal_shape(kind)
    value = f"cast({call.arguments[0].text} as decimal({precision},{scale}))"
    rest = f"({value} % {_power(WIDE_LIMB_DIGITS - scale)})"
    weight = f"cast({WEIGHT} as decimal(19,0))"
    high = f"cast(({value} - {rest}) * {_power(scale - WIDE_LIMB_DIGITS)} as decimal({_LARGEST_DIGITS},0))"
    low = f"cast({rest} * {_power(scale)} as decimal({_LARGEST_DIGITS},0))"
    halves = [
        Partial(f"{name}{half}", f"cast({units} * {weight} as decimal({_LARGEST_DIGITS},0))")
        for half, units in (("h", high), ("l", low))
    ]
    raising = raising_on_spark(sum_too_wide(call.call.text))
    answer = _of_halves(quoted(halves[0].name), quoted(halves[1].name), kind, raising)
    return (seen, *halves), f"if(coalesce({quoted(seen.name)}, 0L) <> 0, {answer}, NULL)"


def _of_halves(high: str, low: str, kind: Type, raising: str) -> str:
    """The DECIMAL of two halves.

    In units of the last digit any sum of 38 digits is exact, and so is its product with a millionth or more; with less,
    the type of the product has too few digits behind the point, which is set into the text of the units. (Spark's `abs`
    keeps 34 digits.)
    """
    precision, scale = decimal_shape(kind)
    units = _units(high, low)
    if scale <= _KEPT_SCALE:
        value = f"{units} * {_power(-scale)}"
    else:
        digits = f"lpad(ltrim('-', cast({units} as string)), {_LARGEST_DIGITS + 1}, '0')"
        point = f"overlay({digits} PLACING '.' FROM {_LARGEST_DIGITS + 2 - scale} FOR 0)"
        value = f"concat(if({units} < 0, '-', ''), {point})"
    return f"coalesce(cast({value} as decimal({min(_LARGEST_DIGITS, precision + 10)},{scale})), {raising})"


def _units(high: str, low: str) -> str:
    """Two halves as one whole number, NULL if that has more than 38 digits.

    Part of the upper half is moved to the lower one: with its sign alone it may have one digit more than both together.
    """
    moved = f"if({high} < 0, -1BD, 1BD)"
    limb, both = _power(WIDE_LIMB_DIGITS), _power(2 * WIDE_LIMB_DIGITS)
    upper = f"cast({high} - {moved} * {limb} as decimal({_LARGEST_DIGITS},0))"
    return f"try_add(try_multiply({upper}, {limb}), cast({low} + {moved} * {both} as decimal({_LARGEST_DIGITS},0)))"


def _power(exponent: int) -> str:
    """A power of ten as a DECIMAL of as many digits as it needs."""
    return f"{Decimal(10) ** exponent:f}BD"


def _average(call: AggregateCall, kind: Type | None, name: str, *, append_only: bool) -> Decomposed | None:
    if kind is not None and is_decimal(kind):
        return _decimal_average(call.arguments[0].text, kind, name)
    if kind is None:
        return None
    found = _sum(call, kind, name, append_only=append_only)
    if found is None:
        return None
    columns, _ = found
    seen = quoted(columns[0].name)
    total = f"cast({quoted(name)} as double)"
    if kind == "bigint":
        total = f"(cast({quoted(name + 'h')} as double) * {_LIMB}D + cast({quoted(name + 'l')} as double))"
    return columns, f"if(coalesce({seen}, 0L) <> 0, {total} / {seen}, NULL)"


def _decimal_average(value: str, kind: Type, name: str) -> Decomposed | None:
    """The average with four more digits, rounded half away from zero, of the sum and the count.

    A division of DECIMALs has fewer digits than that may need, and rounds in its own place: so whole numbers alone are
    divided, of which the remainders have been taken off.
    """
    precision, scale = decimal_shape(kind)
    if precision > EXACT_DIGITS or scale > _AVERAGED_SCALE:
        return None
    partials, _ = _decimal_sum(value, kind, Partial(f"{name}n", f"if(({value}) IS NULL, 0L, {WEIGHT})"), name)
    number = f"cast({quoted(partials[0].name)} as decimal(19,0))"
    total = f"cast({quoted(name)} as decimal({precision + 10},{scale}))"
    rest = f"cast({total} % {number} as decimal({19 + scale},{scale}))"
    whole = f"cast(({total} - {rest}) / {number} as decimal({precision + 1},0))"
    # Ten thousandths of a unit of the last digit, twice, so that half of one is the number itself.
    units = f"cast({rest} * cast({10**scale} as decimal({scale + 1},0)) as decimal(27,0))"
    half = f"cast(sign({rest}) as decimal(1,0)) * {number}"
    doubled = f"(cast({units} * cast(20000 as decimal(5,0)) as decimal(33,0)) + {half})"
    twice = f"(cast(2 as decimal(1,0)) * {number})"
    digits = f"cast(({doubled} - {doubled} % {twice}) / {twice} as decimal({scale + 5},0))"
    behind = f"{digits} * {Decimal(10) ** -(scale + 4):f}BD"
    answer = f"cast({whole} + {behind} as decimal({precision + 4},{scale + 4}))"
    return partials, f"if(coalesce({quoted(partials[0].name)}, 0L) <> 0, {answer}, NULL)"


def decimal_shape(kind: Type) -> tuple[int, int]:
    """Precision and scale of a DECIMAL type."""
    if "(" not in kind:
        return 10, 0
    precision, scale = kind[kind.index("(") + 1 : -1].split(",")
    return int(precision), int(scale)
