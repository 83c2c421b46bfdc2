"""Sums of DECIMALs of so many digits that they may overflow, which DuckDB would do in its own way.

    rows far from the last digit    added up as they are: no table has the rows to make these overflow
    all others                      in two halves, digits 1–19 and 20–38 in units of the last one, which cannot either

The halves make one HUGEINT, as long as it has at most 38 digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

_HALF = 10**19
_WHOLE = 10**38
SUMMED = 28  # digits of a DECIMAL whose sum has ten more: no table has the rows to fill these
Call = Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class WideSum:
    """A sum in its three parts: of what is far from the last digit, and the halves of all others, which may be NULL."""

    near: str
    high: str
    low: str
    scale: int

    @property
    def units(self) -> str:
        """The sum in units of its last digit, as a HUGEINT; only for one that `fits`."""
        return f"({self._upper} * {_HALF} + {self._lower} % {_HALF})"

    @property
    def fits(self) -> str:
        """The condition that it has at most 38 digits."""
        whole = f"CASE WHEN abs({self._upper}) <= {_HALF} THEN abs({self.units}) < {_WHOLE} ELSE false END"
        return f"({self.high} IS NULL OR {whole})"

    def answer(self, failing: str) -> str:
        """The sum, or what fails."""
        added = f"CASE WHEN {self.fits} THEN {of_units(self.units, self.scale)} ELSE {failing} END"
        return f"CASE WHEN {self.high} IS NULL THEN CAST({self.near} AS DECIMAL(38,{self.scale})) ELSE {added} END"

    @property
    def _upper(self) -> str:
        return f"({self.high} + {self._whole} // {_HALF} + {self._lower} // {_HALF})"

    @property
    def _lower(self) -> str:
        return f"({self.low} + {self._whole} % {_HALF})"

    @property
    def _whole(self) -> str:
        return f"coalesce({in_units(self.near)}, 0)"


def wide_parts(value: str, scale: int) -> tuple[str, str, str]:
    """A DECIMAL as the three parts of a sum: one that is near, and the halves of one that is not; the others NULL."""
    near = f"abs({value}) < CAST('{Decimal(10) ** (SUMMED - scale):f}' AS DECIMAL(38,{scale}))"
    units = in_units(value)
    return (
        f"CASE WHEN {near} THEN {value} END",
        f"CASE WHEN NOT {near} THEN {units} // {_HALF} END",
        f"CASE WHEN NOT {near} THEN {units} % {_HALF} END",
    )


def of_total(units: str, scale: int) -> tuple[str, str, str]:
    """The three parts of a sum that has so many units of its last digit, a HUGEINT."""
    near = f"abs({units}) < {10**SUMMED}"
    return (
        f"CASE WHEN {near} THEN {of_units(units, scale)} END",
        f"CASE WHEN NOT {near} THEN {units} // {_HALF} END",
        f"CASE WHEN NOT {near} THEN {units} % {_HALF} END",
    )


def wide_sum(call: Call, value: str, scale: int, failing: str) -> str:
    """The sum of a DECIMAL, or what fails; `call` gives the column that holds an aggregate of some value."""
    near, high, low = (call("sum", part) for part in wide_parts(value, scale))
    return WideSum(near, high, low, scale).answer(failing)


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
