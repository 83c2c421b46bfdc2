"""Sums of DECIMALs of so many digits that they may overflow, which DuckDB would do in its own way.

    rows far from the last digit    added up as they are: no table has the rows to make these overflow
    all others                      in two halves, digits 1–19 and 20–38 in units of the last one, which cannot either

The halves make one HUGEINT, as long as it has at most 38 digits.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

_DIGITS = 38
_HALF = 10**19
_WHOLE = 10**38
_OF_SUM = 10  # digits of a sum beyond those of its DECIMALs
SUMMED = 28  # digits of a DECIMAL whose sum has ten more: no table has the rows to fill these
Call = Callable[[str, str], str]


def wide_parts(value: str, scale: int) -> tuple[str, str, str]:
    """A DECIMAL as the three parts of a sum: one that is near, and the halves of one that is not; the others NULL."""
    near = f"abs({value}) < CAST('{Decimal(10) ** (SUMMED - scale):f}' AS DECIMAL(38,{scale}))"
    units = in_units(value)
    return (
        f"CASE WHEN {near} THEN {value} END",
        f"CASE WHEN NOT {near} THEN {units} // {_HALF} END",
        f"CASE WHEN NOT {near} THEN {units} % {_HALF} END",
    )


def wide_sum(call: Call, value: str, scale: int, failing: str) -> str:
    """The sum of a DECIMAL, or what fails; `call` gives the column that holds an aggregate of some value."""
    near, high, low = (call("sum", part) for part in wide_parts(value, scale))
    total = _whole(f"coalesce({in_units(near)}, 0)", high, low, scale, failing)
    return f"CASE WHEN {high} IS NULL THEN CAST({near} AS DECIMAL(38,{scale})) ELSE {total} END"


def added(before: str, parts: tuple[str, str, str], scale: int, failing: str) -> str:
    """A sum with the three parts of another one, or what fails; each may be NULL."""
    near, high, low = parts
    bound = f"CAST('{Decimal(10) ** (_DIGITS - 1 - scale):f}' AS DECIMAL(38,{scale}))"
    short = f"{high} IS NULL AND coalesce(abs({before}) < {bound} AND abs({near}) < {bound}, true)"
    simple = f"CASE WHEN {before} IS NULL THEN {near} WHEN {near} IS NULL THEN {before} ELSE {before} + {near} END"
    units, come = (f"coalesce({in_units(sum_)}, 0)" for sum_ in (before, near))
    upper, lower = f"(coalesce({high}, 0) + {come} // {_HALF})", f"(coalesce({low}, 0) + {come} % {_HALF})"
    return f"CASE WHEN {short} THEN {simple} ELSE {_whole(units, upper, lower, scale, failing)} END"


def _whole(units: str, high: str, low: str, scale: int, failing: str) -> str:
    """A number of units and two halves as a DECIMAL, or what fails if that has more than 38 digits."""
    lower = f"({low} + {units} % {_HALF})"
    upper = f"({high} + {units} // {_HALF} + {lower} // {_HALF})"
    total = f"({upper} * {_HALF} + {lower} % {_HALF})"
    fits = f"CASE WHEN abs({upper}) <= {_HALF} THEN abs({total}) < {_WHOLE} ELSE false END"
    return f"CASE WHEN {fits} THEN {of_units(total, scale)} ELSE {failing} END"


def in_units(value: str) -> str:
    """A DECIMAL in units of its last digit, as a HUGEINT."""
    return f"CAST(replace(CAST({value} AS VARCHAR), '.', '') AS HUGEINT)"


def of_units(value: str, scale: int) -> str:
    """A HUGEINT that counts units of the last digit, as a DECIMAL of 38 digits."""
    whole = f"CAST({value} AS DECIMAL(38,0))"
    return f"{whole} * CAST('{Decimal(10) ** -scale:f}' AS DECIMAL({scale},{scale}))" if scale else whole


def averaged(total: str, count: str, precision: int, scale: int) -> str:
    """The average of DECIMALs by their sum and count, a HUGEINT: four more digits, rounded half away from zero.

    One division tells it where ten thousand times the sum, which has at most ten digits more than they, can be told.
    """
    digits = precision + _OF_SUM
    if digits + max(scale, 5) <= _DIGITS:
        one = f"CAST({10**scale} AS DECIMAL({scale + 1},0))"
        whole = f"CAST({total} * {one} AS HUGEINT)" if scale else f"CAST({total} AS HUGEINT)"
        half = f"CASE WHEN {total} < 0 THEN -{count} ELSE {count} END"
        units = f"(20000 * {whole} + {half}) // (2 * {count})"
    else:
        whole = in_units(total)
        rest = f"(20000 * ({whole} % {count}) + CAST(sign({whole}) AS HUGEINT) * {count}) // (2 * {count})"
        units = f"10000 * ({whole} // {count}) + {rest}"
    return f"CAST({of_units(f'({units})', scale + 4)} AS DECIMAL({precision + 4},{scale + 4}))"
