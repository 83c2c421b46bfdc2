"""Arithmetic of exact numbers, where every digit of the result fits; what Spark rounds to fit is not proven."""

from __future__ import annotations

from penstock.backends.native.expressions.digits import MOST, Digits, digits_of, together
from penstock.backends.native.expressions.kinds import storage
from penstock.backends.native.expressions.once import in_order, once
from penstock.backends.native.expressions.site import Site, any_raises, whole_constant
from penstock.backends.native.proof import Proven
from penstock.backends.native.raised import Failure

_IN_64_BITS = 18


def _digits(site: Site, values: list[Proven]) -> tuple[Digits, Digits]:
    one, two = (digits_of(value.type) for value in values)
    if one is None or two is None:
        site.refuse()
    return one, two


def operated(site: Site, sign: str, values: list[Proven]) -> Proven:
    """`+`, `-`, `*`: no result is too large for its type."""
    one, two = _digits(site, values)
    both = together(one, two)
    found = Digits(both.digits + 1, both.scale)
    if sign == "*":
        found = Digits(one.digits + two.digits + 1, one.scale + two.scale)
    if not found.fits or found.digits == MOST:
        site.refuse("whose result may have too many digits")
    target = storage(found.type)

    def body(left: str, right: str) -> str:
        if sign == "*":  # DuckDB multiplies small numbers in 64 bits, whatever the result needs
            wide = f"CAST({left} AS DECIMAL(38,{one.scale}))" if found.digits > _IN_64_BITS else left
            return f"CAST({wide} * {right} AS {target})"
        return f"CAST(CAST({left} AS {target}) {sign} CAST({right} AS {target}) AS {target})"

    return Proven(in_order(values, body), found.type, any_raises(values))


def divided(site: Site, values: list[Proven], failure: Failure | None) -> Proven:
    """`/`, by whole numbers: the nearest one to the quotient, and of two the one farther from zero.

    Spark rounds twice, first to 38 digits behind the point. That makes no difference as long as no quotient of such
    numbers lies that near to the middle between two results.
    """
    one, two = _digits(site, values)
    scale = max(6, one.scale + two.digits + 1)
    found = Digits(one.whole + two.scale + scale, scale).adjusted
    power = found.scale + two.scale - one.scale
    near = two.digits + found.scale + max(0, one.scale - two.scale)
    if not found.fits or power < 0 or one.digits + power > MOST or near > MOST:
        site.refuse("whose result may have too many digits")
    raises = any_raises(values)

    def body(divisor: str, dividend: str) -> str:
        nonlocal raises
        value = once(
            [f"{_units(dividend, one)} * {10**power}", _units(divisor, two)],
            lambda above, below: _with_scale(_rounded(above, below), found),
        )
        if whole_constant(site.forms[1]):
            return value
        if failure is None:
            return f"CASE WHEN {divisor} <> 0 THEN {value} END"
        raises = True
        return f"CASE WHEN {divisor} = 0 AND {dividend} IS NOT NULL THEN {failure.raising} ELSE {value} END"

    left, right = values
    return Proven(in_order([right, left], body), found.type, raises)


def _units(text: str, digits: Digits) -> str:
    """An exact number in units of its last digit."""
    if digits.digits + digits.scale > MOST:
        return f"CAST(replace(CAST({text} AS VARCHAR), '.', '') AS HUGEINT)"
    wide = f"CAST({text} AS DECIMAL(38,{digits.scale}))"
    one = f"CAST({10**digits.scale} AS DECIMAL({digits.scale + 1},0))"
    return f"CAST({wide} * {one} AS HUGEINT)" if digits.scale else f"CAST({text} AS HUGEINT)"


def _rounded(above: str, below: str) -> str:
    """Half up, away from zero."""
    away = f"CASE WHEN ({above} < 0) = ({below} < 0) THEN 1 ELSE -1 END"
    rounded = f"CASE WHEN abs({above} % {below}) * 2 >= abs({below}) THEN {away} ELSE 0 END"
    return f"({above} // {below} + {rounded})"


def _with_scale(units: str, found: Digits) -> str:
    """Units of the last digit as an exact number: DuckDB multiplies the units, and adds up the scales."""
    one = f"CAST('{'0.' + '0' * (found.scale - 1) + '1'}' AS DECIMAL({found.scale},{found.scale}))"
    return f"CAST(CAST({units} AS DECIMAL(38,0)) * {one} AS {storage(found.type)})"


def remainder(site: Site, values: list[Proven], failure: Failure | None) -> Proven:
    """`%`."""
    one, two = _digits(site, values)
    both = together(one, two)
    if not both.fits:
        site.refuse("which have too many digits together")
    found = Digits(min(one.whole, two.whole) + both.scale, both.scale)
    raises = any_raises(values)

    def body(divisor: str, dividend: str) -> str:
        nonlocal raises
        wide = storage(both.type)
        value = f"CAST(CAST({dividend} AS {wide}) % CAST({divisor} AS {wide}) AS {storage(found.type)})"
        if whole_constant(site.forms[1]):
            return value
        if failure is None:
            return f"CASE WHEN {divisor} <> 0 THEN {value} END"
        raises = True
        return f"CASE WHEN {divisor} = 0 AND {dividend} IS NOT NULL THEN {failure.raising} ELSE {value} END"

    left, right = values
    return Proven(in_order([right, left], body), found.type, raises)
