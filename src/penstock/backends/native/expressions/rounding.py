"""Numbers rounded, and functions of DOUBLE whose every bit is the same on both: what a processor computes itself."""

from __future__ import annotations

import math
from collections.abc import Callable

from penstock.backends.native.expressions.casts import cast
from penstock.backends.native.expressions.digits import MOST, Digits, digits_of
from penstock.backends.native.expressions.kinds import RANGE, storage
from penstock.backends.native.expressions.once import once
from penstock.backends.native.expressions.site import Rule, Site, number_constant, whole_constant
from penstock.backends.native.proof import Proven
from penstock.catalog.types import FRACTIONAL, INTEGRAL, is_decimal, is_numeric


def _to_whole(function: str) -> Rule:
    """Floor and ceil: a BIGINT, and an exact number of an exact one."""

    def rule(site: Site) -> Proven:
        (value,) = site.values
        digits = digits_of(value.type)
        if value.type in INTEGRAL:
            return cast(value, "bigint", site.fragment)
        if value.type in FRACTIONAL:
            return Proven(once([value], lambda text: _saturated(f"{function}({text})")), "bigint", value.raises)
        if digits is None:
            site.refuse()
        found = Digits(digits.whole + 1 if digits.scale else digits.digits, 0)
        if found.digits > MOST or not digits.scale:
            return value if not digits.scale else site.refuse()
        return Proven(f"CAST({function}({value.text}) AS {storage(found.type)})", found.type, value.raises)

    return rule


def _saturated(whole: str) -> str:
    """As Java casts a DOUBLE to a BIGINT: 0 for NaN, the largest one for all that is larger."""
    least, most = RANGE["bigint"]
    return (
        f"CASE WHEN isnan({whole}) THEN 0 WHEN {whole} >= CAST({most} AS DOUBLE) THEN {most}"
        f" WHEN {whole} < CAST({least} AS DOUBLE) THEN {least} ELSE CAST({whole} AS BIGINT) END"
    )


def _rounded(site: Site) -> Proven:
    """Round of an exact number, to a constant number of digits behind the point: half up, away from zero."""
    value = site.values[0]
    digits = digits_of(value.type)
    places = whole_constant(site.forms[1]) if len(site.forms) > 1 else 0
    if value.type in INTEGRAL and places is not None and places >= 0:
        return value
    if digits is None or not is_decimal(value.type) or places is None or places < 0:
        site.refuse()
    scale = min(places, digits.scale)
    found = Digits(digits.whole + 1 + scale, scale)
    if not found.fits:
        site.refuse("whose result may have too many digits")
    return Proven(f"CAST({value.text} AS {storage(found.type)})", found.type, value.raises)


def _sign(site: Site) -> Proven:
    """1.0, -1.0, or the value itself: 0.0, -0.0, NaN."""
    if not is_numeric(site.types[0]):
        site.refuse()
    value = cast(site.values[0], "double", site.fragment)
    text = once(
        [value],
        lambda known: (
            f"CASE WHEN isnan({known}) OR {known} = 0 THEN {known} WHEN {known} > 0 THEN 1::DOUBLE"
            f" WHEN {known} < 0 THEN -1::DOUBLE END"
        ),
    )
    return Proven(text, "double", value.raises)


def _root(site: Site) -> Proven:
    """sqrt, which is NaN below zero."""
    if not is_numeric(site.types[0]):
        site.refuse()
    value = cast(site.values[0], "double", site.fragment)
    text = once([value], lambda known: f"CASE WHEN {known} < 0 THEN 'nan'::DOUBLE ELSE sqrt({known}) END")
    return Proven(text, "double", value.raises)


def _power(site: Site) -> Proven:
    """Power of 2, 1 and 0.5, which Java multiplies and roots out; others it computes in another way than DuckDB."""
    if not all(map(is_numeric, site.types)):
        site.refuse()
    value = cast(site.calm().values[0], "double", site.fragment)
    number = number_constant(site.forms[1])
    exponent = None if number is None else _EXPONENTS.get(number)
    if exponent is None:
        site.refuse("but for powers of 2, 1 and 0.5")
    return Proven(once([value], exponent), "double", value.raises)


def _half(known: str) -> str:
    """The root, which is 0.0 of -0.0, and infinite of both infinities."""
    return f"CASE WHEN {known} < 0 AND isfinite({known}) THEN 'nan'::DOUBLE ELSE sqrt(abs({known})) END"


def _times(factor: float) -> Rule:
    """A DOUBLE multiplied."""

    def rule(site: Site) -> Proven:
        if not is_numeric(site.types[0]):
            site.refuse()
        value = cast(site.values[0], "double", site.fragment)
        return Proven(f"({value.text} * '{factor!r}'::DOUBLE)", "double", value.raises)

    return rule


def _nearest(site: Site) -> Proven:
    """Rint: the nearest whole number as a DOUBLE, the even one of two."""
    if not is_numeric(site.types[0]):
        site.refuse()
    value = cast(site.values[0], "double", site.fragment)
    return Proven(f"round_even({value.text}, 0)", "double", value.raises)


def _constant(number: float) -> Rule:
    return lambda _: Proven(f"'{number!r}'::DOUBLE", "double")


_EXPONENTS: dict[float, Callable[[str], str]] = {
    2.0: lambda known: f"({known} * {known})",
    1.0: lambda known: known,
    0.5: _half,
}
RULES: dict[tuple[str, int | None], Rule] = {
    ("floor", 1): _to_whole("floor"),
    ("ceil", 1): _to_whole("ceil"),
    ("ceiling", 1): _to_whole("ceil"),
    ("round", 1): _rounded,
    ("round", 2): _rounded,
    ("sign", 1): _sign,
    ("signum", 1): _sign,
    ("sqrt", 1): _root,
    **{(name, 2): _power for name in ("power", "pow")},
    ("degrees", 1): _times(180 / math.pi),
    ("radians", 1): _times(math.pi / 180),
    ("rint", 1): _nearest,
    ("pi", 0): _constant(math.pi),
    ("e", 0): _constant(math.e),
}
