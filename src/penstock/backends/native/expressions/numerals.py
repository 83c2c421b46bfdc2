"""Texts that Spark reads as numbers with a fraction: by Java's grammar of DOUBLE and FLOAT, and by that of BigDecimal.

    '1e3', ' +.5', '5.', '1.5f', 'NaN', '-inf', '0x1.8p3' as DOUBLE
    '1e3', ' +.5', '5.', '٣' as DECIMAL

The first gives SQL of the value, and SQL of whether the text has none; the second has three ways to fail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.backends.native.expressions.digits import MOST, Digits, digits_of
from penstock.backends.native.expressions.kinds import RANGE, storage
from penstock.backends.native.expressions.once import once
from penstock.backends.native.proof import not_proven
from penstock.backends.native.raised import text_literal
from penstock.catalog.types import Type

# What Java trims: all up to the blank.
_AROUND = r"[\x00-\x20]*"
_NUMBER = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_WORD = r"[+-]?(?:NaN|(?i:infinity|inf))|(?i:nan)"
_HEX = r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+"
_HEX_PARTS = r"0[xX]([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]([+-]?[0-9]+)"
# Bits of a fraction, the exponent of the least one, and that from which on all is infinite.
_BITS = {"double": (53, -1074, 1024), "float": (24, -149, 128)}
_KEPT = 15  # hexadecimal digits, which are at least 57 bits: more than any fraction has
_FARTHEST = 10**10
# The first of ten digits each, of all that Java knows in a character of 16 bits.
_ZEROS = (
    0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6, 0xE50, 0xED0, 0xF20,
    0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0,
    0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10,
)  # fmt: skip
_DIGITS = "".join(chr(zero + digit) for zero in _ZEROS for digit in range(10))
_EXACT = rf"^{_AROUND}([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?{_AROUND}$"
_MOST_OF_EXPONENT = 10  # digits, of which Java takes no more
_LEAST, _MOST = RANGE["int"]


def fraction_of_text(text: str, target: Type) -> tuple[str, str]:
    """A number, which may end in f or d, a hexadecimal one, or a word."""
    kind = storage(target)
    plain = f"regexp_full_match({text}, '{_AROUND}[+-]?{_NUMBER}[fFdD]?{_AROUND}')"
    number = f"TRY_CAST(regexp_extract({text}, '[+-]?{_NUMBER}') AS {kind})"
    word = f"regexp_full_match({text}, '{_AROUND}(?:{_WORD}){_AROUND}')"
    negative = f"contains({text}, '-')"
    infinite = f"CASE WHEN {negative} THEN '-inf'::{kind} ELSE 'inf'::{kind} END"
    named = f"CASE WHEN regexp_matches({text}, '[fF]') THEN {infinite} ELSE 'nan'::{kind} END"
    hexadecimal = f"regexp_full_match({text}, '{_AROUND}{_HEX}[fFdD]?{_AROUND}')"
    value = (
        f"CASE WHEN {plain} THEN {number} WHEN {word} THEN {named}"
        f" WHEN {hexadecimal} THEN {_of_hexadecimal(text, target)} END"
    )
    some = f"{_AROUND}(?:[+-]?{_NUMBER}[fFdD]?|{_WORD}|{_HEX}[fFdD]?){_AROUND}"
    return value, f"NOT regexp_full_match({text}, '{some}')"


def _of_hexadecimal(text: str, target: Type) -> str:
    """The nearest number to a whole one and a power of two: the digits behind the first ones count as one bit."""
    whole, behind, power = (f"regexp_extract({text}, '{_HEX_PARTS}', {group})" for group in (1, 2, 3))

    def of_digits(digits: str, point: str, exponent: str) -> str:
        more = f"CASE WHEN length({digits}) > {_KEPT} THEN 1 ELSE 0 END"
        first = f"TRY_CAST('0x0' || left({digits}, {_KEPT}) AS BIGINT)"
        least = f"({exponent}) - 4 * ({point}) + 4 * greatest(length({digits}) - {_KEPT}, 0) - 1"
        return once([f"({first} * 2 + {more})", f"({least})"], lambda units, low: _nearest(units, low, target))

    digits = f"regexp_replace({whole} || {behind}, '^0+|0+$', '', 'g')"
    zeros = f"length(regexp_extract({whole} || {behind}, '0*$'))"
    point = f"length({behind}) - {zeros}"
    far = f"CASE WHEN contains({power}, '-') THEN {-_FARTHEST} ELSE {_FARTHEST} END"
    exponent = f"greatest(least(coalesce(TRY_CAST({power} AS HUGEINT), {far}), {_FARTHEST}), {-_FARTHEST})"
    size = once([digits, f"({point})", exponent], of_digits)
    sign = f"CASE WHEN regexp_matches({text}, '^{_AROUND}-') THEN '-1'::DOUBLE ELSE '1'::DOUBLE END"
    return f"CAST({size} * {sign} AS {storage(target)})"


def _nearest(units: str, low: str, target: Type) -> str:
    """Whole units of a power of two as a DOUBLE that has the bits of the type: the even one of two that are as near."""
    bits, least, top = _BITS[target]
    cut = f"greatest(length(bin({units})) - {bits}, {least} - ({low}), 0)"

    def rounded(cut: str) -> str:
        power = f"(1::HUGEINT << CAST(least({cut}, 63) AS INTEGER))"
        kept, rest = f"({units} // {power})", f"({units} % {power})"
        up = f"{rest} * 2 > {power} OR ({rest} * 2 = {power} AND {kept} % 2 = 1)"
        found = f"CAST({kept} + CASE WHEN {up} THEN 1 ELSE 0 END AS DOUBLE)"
        shift = f"least({low} + {cut}, 1023)"
        value = f"{found} * pow(2::DOUBLE, {shift})"
        beyond = f"{low} + length(bin({units})) > {top}"
        infinite = f"{value} >= pow(2::DOUBLE, 128)" if target == "float" else "FALSE"
        return f"CASE WHEN {units} = 0 THEN '0'::DOUBLE WHEN {beyond} OR {infinite} THEN 'inf'::DOUBLE ELSE {value} END"

    return once([cut], rounded)


@dataclass(frozen=True, slots=True)
class Failing:
    """SQL of what an exact number is where a text has none."""

    malformed: str
    too_long: str
    out_of_range: Callable[[str], str]  # of SQL of the number as Spark writes it


def exact_of_text(text: str, target: Type, failing: Failing) -> str:
    """An exact number, rounded half up to the digits of its type."""
    found = digits_of(target)
    if found is None:
        not_proven(f"cast(string as {target})")
    digits = f"CASE WHEN strlen({text}) = length({text}) THEN {text} ELSE {_in_ascii(text)} END"
    read = once([digits], lambda known: _exact(known, found, failing))
    if not found.whole:
        return f"CASE WHEN {text} IS NOT NULL THEN {read} END"
    behind = rf"(?:\.[0-9]{{0,{found.scale}}})?" if found.scale else ""
    quick = f"regexp_full_match({text}, '[+-]?[0-9]{{1,{found.whole}}}{behind}')"
    usual = f"TRY_CAST({text} AS {storage(target)})"
    return f"CASE WHEN {quick} THEN {usual} WHEN {text} IS NOT NULL THEN {read} END"


def _in_ascii(text: str) -> str:
    """The same with digits of ASCII."""
    return f"translate({text}, {text_literal(_DIGITS)}, {text_literal('0123456789' * len(_ZEROS))})"


def _exact(text: str, found: Digits, failing: Failing) -> str:
    sign, whole, behind, power = (f"regexp_extract({text}, '{_EXACT}', {group})" for group in (1, 2, 3, 4))
    digits = f"({whole} || {behind})"
    unsigned = f"regexp_replace({power}, '^[+-]?0*', '')"
    exponent = f"coalesce(TRY_CAST({power} AS BIGINT), 0)"
    scale = f"(length({behind}) - {exponent})"
    malformed = (
        f"NOT regexp_full_match({text}, '{_EXACT}') OR {digits} = '' OR length({unsigned}) > {_MOST_OF_EXPONENT}"
        f" OR {exponent} NOT BETWEEN {_LEAST} AND {_MOST} OR {scale} NOT BETWEEN {_LEAST} AND {_MOST}"
    )
    minus = f"CASE WHEN {sign} = '-' AND regexp_matches({digits}, '[1-9]') THEN '-' ELSE '' END"
    significant = f"CASE WHEN {digits} = '' THEN '' ELSE coalesce(nullif(ltrim({digits}, '0'), ''), '0') END"
    moved = f"CASE WHEN {significant} = '0' THEN 0 ELSE {scale} END"  # zero is zero whatever its exponent
    parts = [f"({minus})", f"({significant})", f"({moved})"]
    answer = once(parts, lambda one, two, three: _at_scale(one, two, three, found, failing))
    return f"CASE WHEN {malformed} THEN {failing.malformed} ELSE {answer} END"


def _at_scale(minus: str, digits: str, scale: str, found: Digits, failing: Failing) -> str:
    """A whole number of so many digits behind the point, with the scale of the type."""
    kept = f"greatest(length({digits}) + {found.scale} - {scale}, -1)"
    moved = f"{digits} || repeat('0', greatest({kept} - length({digits}), 0))"
    up = f"CASE WHEN substring({digits}, {kept} + 1, 1) >= '5' AND {kept} >= 0 THEN 1 ELSE 0 END"
    units = f"TRY_CAST('0' || left({moved}, greatest({kept}, 0)) AS HUGEINT) + {up}"

    def checked(units: str) -> str:
        padded = f"lpad(CAST({units} AS VARCHAR), {MOST + 1}, '0')"
        point = MOST + 1 - found.scale
        text = f"{minus} || left({padded}, {point}) || '.' || substring({padded}, {point + 1})"
        bad = f"{units} IS NULL OR {units} >= {10**found.digits}"
        return f"CASE WHEN {bad} THEN {failing.out_of_range(shown)} ELSE CAST({text} AS {storage(found.type)}) END"

    point = f"length({digits}) - {scale}"
    shown = (
        f"{minus} || CASE WHEN {scale} <= 0 THEN {digits} || repeat('0', -{scale}) WHEN {point} <= 0"
        f" THEN '0.' || {digits} ELSE left({digits}, {point}) || '.' || substring({digits}, {point} + 1) END"
    )
    long = f"{point} > {MOST}"
    return f"CASE WHEN {long} THEN {failing.too_long} ELSE {once([f'({units})'], checked)} END"
