"""The least value that a generator gives for a row, or the values that it gives in each of its columns.

explode(sequence(a, b, 5))                                     a
explode(filter(sequence(a, b, 5), x -> x > c))                 a
explode(transform(sequence(a, b, 5), x -> timestamp_micros(x)))   timestamp_micros(a)
"""

from __future__ import annotations

from penstock.analysis.direction import Direction, direction, sign_of
from penstock.plan.forms import Call, Form, Lambda, Parameter, Reference, Span, references, swapped

_EXPLODES = frozenset({"explode", "explode_outer", "posexplode", "posexplode_outer"})


def first_generated(generator: Form) -> Form | None:
    """An expression of the input row that no generated value is below; None if it is not plain to see."""
    match generator:
        case Call(function, (array, *_)) if function in _EXPLODES:
            return _least_element(array)
        case _:
            return None


def each_generated(generator: Form) -> tuple[tuple[Form, ...], ...]:
    """The expressions of the input row that `inline` gives, column by column; none if they are not plain to see.

    inline(array(struct(a, b), struct(a, c)))      (a, a), (b, c)
    """
    match generator:
        case Call("inline" | "inline_outer", (Call("array", rows),)) if rows:
            found = [_fields(row) for row in rows]
            return tuple(zip(*found, strict=True)) if len({len(row) for row in found}) == 1 else ()
        case _:
            return ()


def _fields(row: Form) -> tuple[Form, ...]:
    match row:
        case Call("named_struct", arguments):
            return arguments[1::2]
        case Call("struct", arguments):
            return arguments
        case _:
            return ()


def _least_element(array: Form) -> Form | None:
    match array:
        case Call("sequence", (first, _, step)):
            forward = isinstance(step, Span) and not step.value.startswith("-")
            return first if forward or sign_of(step) == 1 else None
        case Call("filter", (inner, _)):
            return _least_element(inner)
        case Call("transform", (inner, Lambda() as function)):
            return _mapped(_least_element(inner), function)
        case _:
            return None


def _mapped(least: Form | None, function: Lambda) -> Form | None:
    """The function at the least element, if it goes up with its element and reads nothing else."""
    if least is None or len(function.parameters) != 1 or references(function.body):
        return None
    element = Parameter(function.parameters[0])
    over_column = swapped(function.body, lambda item: Reference(element.name) if item == element else None)
    if not direction(over_column, {element.name: Direction.INCREASING}).up:
        return None
    return swapped(function.body, lambda item: least if item == element else None)
