"""A DOUBLE as text, in Java's notation: `0.5`, `1.0E10`, `-2.5E-7`, `Infinity`.

Java up to 18 writes large whole numbers, and numbers next to zero, with other digits than the fewest that tell a number
from its neighbours (`7.7505033744720701E18` for `7.75050337447207E18`); later ones do not. Between these, every version
writes the fewest digits, as DuckDB does. The others are asked for (`native.asked`). Of a FLOAT DuckDB writes more than
Java, so that it is not proven.
"""

from __future__ import annotations

from penstock.backends.native.asked import WRITTEN
from penstock.backends.native.expressions.once import once

# Between these every Java writes the fewest digits: from the least number that has all its bits up to where a whole
# number has bits that do not tell.
_LEAST, _MOST = "2.2250738585072014e-308::DOUBLE", "9007199254740992::DOUBLE"


def text_of_double(text: str) -> str:
    """SQL of the text, as Spark casts it."""

    def written(value: str) -> str:
        size = f"abs({value})"
        alike = f"{size} = 0 OR {size} >= {_LEAST} AND {size} < {_MOST} OR NOT isfinite({value})"
        asked = f"{WRITTEN}('double', {value})"
        return f"CASE WHEN {value} IS NULL THEN NULL WHEN {alike} THEN {shortest(value)} ELSE {asked} END"

    return once([text], written)


def shortest(text: str) -> str:
    """SQL of the text with the fewest digits that tell the number from its neighbours, which is also in messages."""
    size = f"CAST(abs({text}) AS DOUBLE)"
    usual = f"{size} = 0 OR {size} >= 0.001::DOUBLE AND {size} < 10000000::DOUBLE"
    sign, digits = f"CASE WHEN {text} < 0 THEN '-' ELSE '' END", f"CAST(abs({text}) AS VARCHAR)"
    return (
        f"CASE WHEN isnan({text}) THEN 'NaN' WHEN {usual} THEN CAST({text} AS VARCHAR) ELSE {sign} ||"
        f" CASE WHEN isinf({text}) THEN 'Infinity' ELSE {once([digits], _scientific)} END END"
    )


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
