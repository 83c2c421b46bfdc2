"""Sums of DECIMALs of so many digits that they may overflow, which DuckDB would do in its own way.

    rows far from the last digit    added up as they are: no table has the rows to make these overflow
    all others                      in two halves, digits 1–19 and 20–38 in units of the last one, which cannot either

The halves make one HUGEINT, as long as it has at most 38 digits.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

_HALF = 10**19
_WHOLE = 10**38
_FAR = 28  # digits of a summand that ten more make a sum
Call = Callable[[str, str], str]


def wide_sum(call: Call, value: str, scale: int, failing: str) -> str:
    """The sum of a DECIMAL, or what fails; `call` gives the column that holds an aggregate of some value."""
    bound = f"CAST('{Decimal(10) ** (_FAR - scale):f}' AS DECIMAL(38,{scale}))"
    near = f"abs({value}) < {bound}"
    units = in_units(value)
    small = call("sum", f"CASE WHEN {near} THEN {value} END")
    high = call("sum", f"CASE WHEN NOT {near} THEN {units} // {_HALF} END")
    low = call("sum", f"CASE WHEN NOT {near} THEN {units} % {_HALF} END")
    whole = f"coalesce({in_units(small)}, 0)"
    lower = f"({low} + {whole} % {_HALF})"
    upper = f"({high} + {whole} // {_HALF} + {lower} // {_HALF})"
    total = f"({upper} * {_HALF} + {lower} % {_HALF})"
    fits = f"CASE WHEN abs({upper}) <= {_HALF} THEN abs({total}) < {_WHOLE} ELSE false END"
    added = f"CASE WHEN {fits} THEN {of_units(total, scale)} ELSE {failing} END"
    return f"CASE WHEN {high} IS NULL THEN CAST({small} AS DECIMAL(38,{scale})) ELSE {added} END"


def in_units(value: str) -> str:
    """A DECIMAL in units of its last digit, as a HUGEINT."""
    return f"CAST(replace(CAST({value} AS VARCHAR), '.', '') AS HUGEINT)"


def of_units(value: str, scale: int) -> str:
    """A HUGEINT that counts units of the last digit, as a DECIMAL of 38 digits."""
    whole = f"CAST({value} AS DECIMAL(38,0))"
    return f"{whole} * CAST('{Decimal(10) ** -scale:f}' AS DECIMAL({scale},{scale}))" if scale else whole


def averaged(total: str, count: str, precision: int, scale: int) -> str:
    """The average of DECIMALs by their sum and count, a HUGEINT: four more digits, rounded half away from zero."""
    whole = in_units(total)
    rest = f"(20000 * ({whole} % {count}) + CAST(sign({whole}) AS HUGEINT) * {count}) // (2 * {count})"
    units = of_units(f"(10000 * ({whole} // {count}) + {rest})", scale + 4)
    return f"CAST({units} AS DECIMAL({precision + 4},{scale + 4}))"
