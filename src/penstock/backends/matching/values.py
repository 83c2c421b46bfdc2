"""Conditions and measures as functions over the rows of a match, with the meaning that they have on Spark.

NULL is None. Times are microseconds, dates days. Values of DOUBLE that are compared come as `("ordered", x)`, by which
NaN is equal to itself and above all others. Whole numbers have the type that the operator names.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal
from typing import Any

from penstock.backends.matching.program import Code
from penstock.circuit.raised import Raised

ALL = ""  # the name under which the rows of all variables are kept
_RANGES = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}
_EXACT = Context(prec=100)


class MatchError(ValueError):
    """An error of a condition or measure, with the text by which it is known again."""

    def __init__(self, raising: Raised) -> None:
        self.raising = raising
        super().__init__(raising.told)

    def within(self, fragment: str) -> MatchError:
        """The same, of an expression."""
        return MatchError(replace(self.raising, fragment=fragment))


@dataclass
class Labels:
    """The rows of a match so far: for each variable and subset their places, in ascending order.

    `place` is the present row, `number` that of the match. `classes` are the variables of the rows from `start` on.
    """

    rows: Sequence[Sequence[Any]]
    groups: Mapping[str, tuple[str, ...]]  # the names under which a row of a variable is kept
    start: int = 0
    place: int = 0
    number: int = 0
    places: dict[str, list[int]] = field(default_factory=dict)
    classes: list[str] = field(default_factory=list)
    reach: int | None = None

    def begin(self, start: int) -> None:
        """Forget all rows: another match begins."""
        self.start = self.place = start
        self.classes = []
        self.places = {name: [] for names in self.groups.values() for name in names}

    def push(self, variable: str) -> None:
        """Take one more row."""
        place = self.start + len(self.classes)
        self.classes.append(variable)
        for name in self.groups[variable]:
            self.places[name].append(place)

    def pop(self, count: int) -> None:
        """Have only the first rows."""
        while len(self.classes) > count:
            for name in self.groups[self.classes.pop()]:
                self.places[name].pop()

    def seen(self, variables: tuple[str, ...], *, final: bool) -> Sequence[int]:
        """The places of the rows of some variables, up to the present row unless `final`."""
        names = variables or (ALL,)
        if len(names) == 1:
            found = self.places.get(names[0], [])
        else:
            found = sorted({place for name in names for place in self.places.get(name, [])})
        if final or not found or found[-1] <= self.place:
            return found
        return found[: bisect_right(found, self.place)]


Value = Callable[[Labels], Any]
Row = Callable[[Labels], int | None]


def row_of(code: Code) -> Row:
    """The place of a row of the match; None where there is none."""
    kind = code[0]
    if kind == "own":
        return lambda labels: labels.place
    if kind in ("min", "max"):
        _, variables, final, read = code
        return lambda labels: _best(labels, variables, final, read, kind == "max")
    _, variables, offset, final = code
    if kind == "first":
        return lambda labels: _at(labels.seen(variables, final=final), offset)
    return lambda labels: _at(labels.seen(variables, final=final), -1 - offset)


def _at(places: Sequence[int], index: int) -> int | None:
    return places[index] if -len(places) <= index < len(places) else None


def _best(labels: Labels, variables: tuple[str, ...], final: bool, read: int, greatest: bool) -> int | None:  # noqa: FBT001
    present = [place for place in labels.seen(variables, final=final) if labels.rows[place][read] is not None]
    choose = max if greatest else min
    return choose(present, key=lambda place: ordered(labels.rows[place][read])) if present else None


def ordered(value: Any) -> Any:
    """A value of DOUBLE as it is compared; any other as it is."""
    return (
        (1, 0.0)
        if isinstance(value, float) and math.isnan(value)
        else (0, value)
        if isinstance(value, float)
        else value
    )


def value_of(code: Code) -> Value:
    """The function that a condition or a measure is."""
    name = code[0]
    if name in _LEAVES:
        return _LEAVES[name](*code[1:])
    operands = [value_of(item) if isinstance(item, tuple) else item for item in code[1:]]
    return _OPERATORS[name](*operands)


def _constant(value: Any) -> Value:
    return lambda _labels: value


def _column(read: int) -> Value:
    return lambda labels: labels.rows[labels.place][read]


def _taken(row: Code, read: int) -> Value:
    found = row_of(row)

    def value(labels: Labels) -> Any:
        place = found(labels)
        return None if place is None else labels.rows[place][read]

    return value


def _classifier(row: Code) -> Value:
    found = row_of(row)

    def value(labels: Labels) -> str | None:
        place = found(labels)
        inside = place is not None and 0 <= place - labels.start < len(labels.classes)
        return labels.classes[place - labels.start] if inside and place is not None else None

    return value


def _present(labels: Labels, variables: tuple[str, ...], final: bool, read: int) -> list[Any]:  # noqa: FBT001
    values = (labels.rows[place][read] for place in labels.seen(variables, final=final))
    return [value for value in values if value is not None]


def _count(variables: tuple[str, ...], final: bool, read: int | None) -> Value:  # noqa: FBT001
    if read is None:
        return lambda labels: len(labels.seen(variables, final=final))
    return lambda labels: len(_present(labels, variables, final, read))


def _sum(variables: tuple[str, ...], final: bool, read: int) -> Value:  # noqa: FBT001
    def value(labels: Labels) -> Any:
        found = _present(labels, variables, final, read)
        return _total(found) if found else None

    return value


def _total(values: list[Any]) -> Any:
    if isinstance(values[0], Decimal):
        total = Decimal(0)
        for item in values:
            total = _EXACT.add(total, item)
        return total
    if isinstance(values[0], float):
        return _added(values)
    return _fitting(sum(values), "bigint")


def _added(values: list[Any]) -> float:
    """The sum in the order of the rows, as both engines add."""
    total = 0.0
    for item in values:
        total += float(item)
    return total


def _average(variables: tuple[str, ...], final: bool, read: int) -> Value:  # noqa: FBT001
    def value(labels: Labels) -> float | None:
        found = _present(labels, variables, final, read)
        return _added(found) / len(found) if found else None

    return value


def _whole_average(variables: tuple[str, ...], final: bool, read: int) -> Value:  # noqa: FBT001
    def value(labels: Labels) -> int | None:
        found = _present(labels, variables, final, read)
        return _towards_zero(_fitting(sum(found), "bigint"), len(found)) if found else None

    return value


def _towards_zero(value: int, divisor: int) -> int:
    found = abs(value) // abs(divisor)
    return found if (value < 0) == (divisor < 0) else -found


_LEAVES: dict[str, Callable[..., Value]] = {
    "constant": _constant,
    "decimal": lambda digits: _constant(Decimal(digits)),
    "column": _column,
    "at": _taken,
    "classifier": _classifier,
    "match number": lambda: lambda labels: labels.number,
    "matched": lambda: lambda _labels: 1,
    "reach": lambda: lambda labels: labels.reach,
    "count": _count,
    "sum": _sum,
    "average": _average,
    "whole average": _whole_average,
}


def _strict(work: Callable[..., Any]) -> Callable[..., Value]:
    """An operator that gives NULL if an operand is NULL."""

    def made(*operands: Value) -> Value:
        def value(labels: Labels) -> Any:
            found = []
            for operand in operands:
                item = operand(labels)
                if item is None:
                    return None
                found.append(item)
            return work(*found)

        return value

    return made


def _and(one: Value, other: Value) -> Value:
    def value(labels: Labels) -> bool | None:
        left = one(labels)
        if left is False:
            return False
        right = other(labels)
        return False if right is False else None if None in (left, right) else True

    return value


def _or(one: Value, other: Value) -> Value:
    def value(labels: Labels) -> bool | None:
        left = one(labels)
        if left is True:
            return True
        right = other(labels)
        return True if right is True else None if None in (left, right) else False

    return value


def _alike(one: Value, other: Value) -> Value:
    return lambda labels: one(labels) == other(labels)


def _in(value: Value, *listed: Value) -> Value:
    def found(labels: Labels) -> bool | None:
        wanted = value(labels)
        if wanted is None:
            return None
        items = [item(labels) for item in listed]
        return True if wanted in [item for item in items if item is not None] else None if None in items else False

    return found


def _first_present(*operands: Value) -> Value:
    def value(labels: Labels) -> Any:
        return next((found for operand in operands if (found := operand(labels)) is not None), None)

    return value


def _case(*parts: Value) -> Value:
    """Conditions, each with its value behind it, and then the value where none holds."""

    def value(labels: Labels) -> Any:
        for condition, chosen in zip(parts[:-1:2], parts[1:-1:2], strict=True):
            if condition(labels) is True:
                return chosen(labels)
        return parts[-1](labels)

    return value


def _extreme(choose: Callable[..., Any]) -> Callable[..., Value]:
    def made(*operands: Value) -> Value:
        def value(labels: Labels) -> Any:
            found = [item for operand in operands if (item := operand(labels)) is not None]
            return choose(found, key=ordered) if found else None

        return value

    return made


def _fitting(value: int, kind: str) -> int:
    if not -(1 << _RANGES[kind]) <= value < 1 << _RANGES[kind]:
        raise MatchError(Raised("ARITHMETIC_OVERFLOW", "22003", f"{kind} overflow"))
    return value


def _whole(work: Callable[[int, int], int]) -> Callable[..., Value]:
    """An operator on whole numbers of a type, the first operand."""

    def made(kind: str, one: Value, other: Value) -> Value:
        return _strict(lambda left, right: _fitting(work(left, right), kind))(one, other)

    return made


_BY_ZERO = Raised("DIVIDE_BY_ZERO", "22012", "Division by zero")
_NO_REST = Raised("REMAINDER_BY_ZERO", "22012", "Remainder by zero")


def _divided(one: float, other: float) -> float:
    if other == 0:
        raise MatchError(_BY_ZERO)
    return one / other


def _rest(one: Any, other: Any) -> Any:
    if other == 0:
        raise MatchError(_NO_REST)
    if isinstance(one, int):
        return one - other * _towards_zero(one, other)
    return math.nan if math.isinf(one) or math.isnan(one) or math.isnan(other) else math.fmod(one, other)


def _product(one: float, other: float) -> float:
    return one * other


_OPERATORS: dict[str, Callable[..., Value]] = {
    "and": _and,
    "or": _or,
    "not": _strict(lambda value: not value),
    "is null": lambda one: lambda labels: one(labels) is None,
    "is true": lambda one: lambda labels: one(labels) is True,
    "is false": lambda one: lambda labels: one(labels) is False,
    "=": _strict(lambda one, other: one == other),
    "<>": _strict(lambda one, other: one != other),
    "<": _strict(lambda one, other: one < other),
    "<=": _strict(lambda one, other: one <= other),
    ">": _strict(lambda one, other: one > other),
    ">=": _strict(lambda one, other: one >= other),
    "<=>": _alike,
    "in": _in,
    "coalesce": _first_present,
    "case": _case,
    "greatest": _extreme(max),
    "least": _extreme(min),
    "ordered": _strict(ordered),
    "double": _strict(float),
    "whole +": _whole(lambda one, other: one + other),
    "whole -": _whole(lambda one, other: one - other),
    "whole *": _whole(lambda one, other: one * other),
    "exact +": _strict(lambda one, other: _EXACT.add(Decimal(one), Decimal(other))),
    "exact -": _strict(lambda one, other: _EXACT.subtract(Decimal(one), Decimal(other))),
    "exact *": _strict(lambda one, other: _EXACT.multiply(Decimal(one), Decimal(other))),
    "double +": _strict(lambda one, other: one + other),
    "double -": _strict(lambda one, other: one - other),
    "double *": _strict(_product),
    "/": _strict(_divided),
    "%": _strict(_rest),
    "abs": _strict(abs),
    "whole abs": lambda kind, one: _strict(lambda value: _fitting(abs(value), kind))(one),
}
