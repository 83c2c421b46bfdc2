"""Digits of exact numbers, as Spark counts them (`DecimalType`, `DecimalPrecisionTypeCoercion`)."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.catalog.types import INTEGRAL, Type, is_decimal

MOST = 38
_LEAST_SCALE = 6
_OF_INTEGRAL = dict(zip(INTEGRAL, (3, 5, 10, 20), strict=True))


@dataclass(frozen=True, slots=True)
class Digits:
    """`decimal(digits,scale)`."""

    digits: int
    scale: int

    @property
    def whole(self) -> int:
        """The digits before the point."""
        return self.digits - self.scale

    @property
    def type(self) -> Type:
        """The type, in Spark's words, which are DuckDB's as well."""
        return f"decimal({self.digits},{self.scale})"

    @property
    def fits(self) -> bool:
        """True if there are not more than both engines have."""
        return self.digits <= MOST and 0 <= self.scale <= self.digits

    @property
    def adjusted(self) -> Digits:
        """The digits that Spark keeps of too many: those before the point stay."""
        if self.digits <= MOST:
            return self
        scale = max(MOST - self.whole, min(self.scale, _LEAST_SCALE))
        return Digits(MOST, scale)


def digits_of(kind: Type) -> Digits | None:
    """The digits of an exact number's type, None for another type."""
    if kind in INTEGRAL:
        return Digits(_OF_INTEGRAL[kind], 0)
    if not is_decimal(kind):
        return None
    if "(" not in kind:
        return Digits(10, 0)
    digits, scale = kind[kind.index("(") + 1 : -1].split(",")
    return Digits(int(digits), int(scale))


def together(left: Digits, right: Digits) -> Digits:
    """Digits that take all values of both; they may be too many."""
    scale = max(left.scale, right.scale)
    return Digits(max(left.whole, right.whole) + scale, scale)
