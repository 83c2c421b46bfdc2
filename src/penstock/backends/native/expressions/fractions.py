"""A DOUBLE or FLOAT as text, in Java's notation: `0.5`, `1.0E10`, `-2.5E-7`, `Infinity`.

Java up to 18 writes large numbers, and numbers next to zero, with other digits than the fewest that tell a number from
its neighbours (`7.7505033744720701E18` for `7.75050337447207E18`); later ones do not. Between these every version
writes the fewest, and of two texts as near the one with the even digit; the others are asked for (`native.asked`).
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.backends.native.asked import WRITTEN
from penstock.backends.native.expressions.kinds import storage
from penstock.backends.native.expressions.once import once
from penstock.catalog.types import Type

# Between these every Java writes the fewest digits. Of DOUBLEs: from the least number that has all its bits up to where
# a whole number has bits that do not tell. Of FLOATs all between have been compared (docs/adr/0035).
_ALIKE = {
    "double": ("2.2250738585072014e-308", "9007199254740992"),
    "float": ("1e-6", "16777216"),
}
_SIX = len("123.456")


def text_of_fraction(text: str, kind: Type) -> str:
    """SQL of the text, as Spark casts it."""
    least, most = (f"{edge}::{storage(kind)}" for edge in _ALIKE[kind])

    def written(value: str) -> str:
        size = f"abs({value})"
        alike = f"{size} = 0 OR {size} >= {least} AND {size} < {most} OR NOT isfinite({value})"
        asked = f"{WRITTEN}('{kind}', {value})"
        return f"CASE WHEN {value} IS NULL THEN NULL WHEN {alike} THEN {shortest(value, kind)} ELSE {asked} END"

    return once([text], written)


def shortest(text: str, kind: Type) -> str:
    """SQL of the text with the fewest digits that tell the number from its neighbours, which is also in messages."""
    size = f"CAST(abs({text}) AS DOUBLE)"
    usual = f"{size} = 0 OR {size} >= 0.001::DOUBLE AND {size} < 10000000::DOUBLE"
    sign, digits = f"CASE WHEN {text} < 0 THEN '-' ELSE '' END", _WRITERS[kind](f"abs({text})")
    plain = _WRITERS[kind](text)
    return (
        f"CASE WHEN isnan({text}) THEN 'NaN' WHEN {usual} THEN {plain} ELSE {sign} ||"
        f" CASE WHEN isinf({text}) THEN 'Infinity' ELSE {once([digits], _scientific)} END END"
    )


def _few(value: str) -> str:
    """A FLOAT in digits: DuckDB writes up to two more than are needed, but of whole numbers, or where six will do."""
    plain = f"CAST({value} AS VARCHAR)"
    tried = [f"printf('%.{digits}g', {value})" for digits in (7, 8)]
    enough = f"strlen(ltrim({plain}, '-0.')) <= {_SIX} OR suffix({plain}, '.0')"
    fewer = " ".join(f"WHEN CAST({item} AS FLOAT) = {value} THEN {item}" for item in tried)
    return f"CASE WHEN {enough} THEN {plain} {fewer} ELSE {plain} END"


def _scientific(written: str) -> str:
    """`10000000000.0`, `1e+10` or `0.00025` as `1.0E10` or `2.5E-4`."""
    power = f"contains({written}, 'e')"
    mantissa = f"split_part({written}, 'e', 1)"
    digits = f"rtrim(ltrim(replace({mantissa}, '.', ''), '0'), '0')"
    exponent = (
        f"CASE WHEN {power} THEN CAST(split_part({written}, 'e', 2) AS INTEGER)"
        f" WHEN starts_with({written}, '0.') THEN length(ltrim(substring({written}, 3), '0')) - length({written}) + 1"
        f" ELSE strpos({written}, '.') - 2 END"
    )
    rest = f"CASE WHEN length({digits}) > 1 THEN substring({digits}, 2) ELSE '0' END"
    return f"left({digits}, 1) || '.' || {rest} || 'E' || CAST({exponent} AS VARCHAR)"


_WRITERS: dict[Type, Callable[[str], str]] = {"double": lambda value: f"CAST({value} AS VARCHAR)", "float": _few}
