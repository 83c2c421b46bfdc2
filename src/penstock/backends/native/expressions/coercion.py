"""Casts that Spark adds by itself in ANSI mode, where types are not those that an operator takes."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.backends.native.expressions.casts import cast
from penstock.backends.native.expressions.digits import digits_of
from penstock.backends.native.expressions.kinds import common
from penstock.backends.native.expressions.literals import number, read
from penstock.backends.native.expressions.site import Site, constant_text, whole_constant
from penstock.backends.native.proof import Proven
from penstock.catalog.types import INTEGRAL, Type, is_decimal
from penstock.plan.forms import Form


def coerced(site: Site, place: int, target: Type) -> Proven:
    """An argument as a value of another type."""
    return as_type(site, site.forms[place], site.values[place], target)


def as_type(site: Site, form: Form, value: Proven, target: Type) -> Proven:
    """A value of the expression in another type; what cannot be read raises an error of the whole expression."""
    if value.type == target:  # before the text of the whole expression is written for nothing
        return value
    text = constant_text(form)
    if text is not None and target in ("date", "timestamp", "timestamp_ntz"):
        found = read(text, target)
        if found is None:
            site.refuse(f"with {text!r} as {target}")
        return found
    whole = whole_constant(form)
    if whole is not None and value.type in INTEGRAL:
        return _whole(whole, value, target, site)
    return cast(value, target, site.fragment)


def _whole(literal: int, value: Proven, target: Type, site: Site) -> Proven:
    """A whole number that is written, in the other type from the start."""
    found = digits_of(target)
    if target != "double" and (found is None or len(str(abs(literal))) > found.whole):
        return cast(value, target, site.fragment)
    return number(str(abs(literal)), target, "-" if literal < 0 else "")


def alike(site: Site, forms: Sequence[Form], values: Sequence[Proven]) -> list[Proven]:
    """Values one of which is the answer, in the type that they have together."""
    target = common([value.type for value in values])
    if target is None:
        site.refuse("together")
    return [as_type(site, form, value, target) for form, value in zip(forms, values, strict=True)]


def operands(site: Site) -> list[Proven]:
    """Both sides of an operator: beside an exact number, a whole literal has the digits that it needs."""
    values = [coerced_beside(site, place, site.values[1 - place].type) for place in (0, 1)]
    if all(is_decimal(value.type) for value in values):
        return values
    return alike(site, site.forms, values)


def coerced_beside(site: Site, place: int, other: Type) -> Proven:
    """A whole number beside an exact one as an exact one; any other value as it is."""
    value = site.values[place]
    if not is_decimal(other) or value.type not in INTEGRAL:
        return value
    literal = whole_constant(site.forms[place])
    found = digits_of(value.type)
    target = f"decimal({len(str(abs(literal)))},0)" if literal is not None else found.type if found else value.type
    return as_type(site, site.forms[place], value, target)
