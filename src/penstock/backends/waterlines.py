"""Values beside a waterline: which are below it, in Arrow and in Spark SQL.

A waterline is a plain Python value: a number, or a naive `datetime` in UTC (a DATE is its midnight).
"""

from __future__ import annotations

import math
import struct
from datetime import datetime, time, timedelta
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.catalog.types import INTEGRAL, Type, is_decimal
from penstock.types.common import MOST_DIGITS, as_decimal

_LEAST, _GREATEST = -(2**63), 2**63 - 1
_LARGEST_SINGLE = (2 - 2**-23) * 2.0**127


_EXACT = Context(prec=100)  # a DECIMAL has up to 38 digits, and a bound of lateness as many


def below(values: pa.ChunkedArray, limit: Any) -> pa.ChunkedArray:
    """For each value whether it is below the limit; NULL and NaN are not."""
    return pc.fill_null(pc.less(values, _threshold(limit, values.type)), False)  # noqa: FBT003


def above(values: pa.ChunkedArray, limit: Any) -> pa.ChunkedArray:
    """For each value whether it is above the limit (a point in time); NULL is not."""
    if pa.types.is_date(values.type):
        values = values.cast(pa.timestamp("us"))
    return pc.fill_null(pc.greater(values, _threshold(limit, values.type)), False)  # noqa: FBT003


def _threshold(limit: Any, kind: pa.DataType) -> pa.Scalar:
    """The least value of the column's type that is not below the limit."""
    if pa.types.is_date(kind):
        day = limit.date()
        return pa.scalar(day if limit.time() == time(0) else day + timedelta(days=1), kind)
    if pa.types.is_integer(kind):
        return pa.scalar(math.ceil(limit), pa.int64())
    if pa.types.is_decimal(kind):
        with localcontext() as context:
            context.prec = 2 * kind.precision + 2
            exact = Decimal(limit).quantize(Decimal(1).scaleb(-kind.scale), rounding=ROUND_CEILING)
        return pa.scalar(exact, pa.decimal128(38, kind.scale))
    return pa.scalar(limit, kind)


def rounded_up(limit: Any, kind: pa.DataType) -> pa.Scalar:
    """The same in that type."""
    return _threshold(limit, kind).cast(kind)


def value_literal(kind: str, limit: Any) -> str:
    """A waterline as Spark SQL that compares with a column of that type."""
    if kind in ("date", "timestamp_ntz"):
        return f"TIMESTAMP_NTZ '{limit}'"
    if kind == "timestamp":
        return f"TIMESTAMP '{limit} UTC'"
    return f"{limit!r}D" if isinstance(limit, float) else f"{limit}BD"


def typed_literal(at: Any, kind: Type) -> str:
    """A waterline as a value of its column's type, rounded up to it: no smaller value is below it."""
    if at is None:
        return f"CAST(NULL AS {kind})"
    if kind == "date":
        return f"DATE '{(at if at.time() == time(0) else _next_day(at)).date()}'"
    if isinstance(at, datetime):
        return f"TIMESTAMP_NTZ '{at}'" if kind == "timestamp_ntz" else f"TIMESTAMP '{at} UTC'"
    if kind in INTEGRAL:
        return f"CAST({min(max(math.ceil(at), _LEAST), _GREATEST)} AS BIGINT)"
    if is_decimal(kind):
        return f"CAST({_decimal(Decimal(at), kind)} AS {kind})"
    if kind == "float":
        return f"CAST('{_single(float(at))!r}' AS FLOAT)"
    return f"CAST('{at!r}' AS DOUBLE)" if isinstance(at, float) else f"CAST('{at}' AS DOUBLE)"


def _single(at: float) -> float:
    """The least number of four bytes that is not below."""
    try:
        bits: int = struct.unpack("<i", struct.pack("<f", at))[0]
    except OverflowError:
        return math.inf if at > 0 else -_LARGEST_SINGLE
    nearest: float = struct.unpack("<f", struct.pack("<i", bits))[0]
    if nearest >= at:
        return nearest
    following = 1 if bits >= 0 else -1
    found: float = struct.unpack("<f", struct.pack("<i", bits + following))[0]
    return found


def _decimal(at: Decimal, kind: Type) -> str:
    """Rounded up to the type, whose sums are rounded as those of the column are; what is beyond it is its end."""
    digits, scale = as_decimal(kind) or (MOST_DIGITS, 0)
    most = Decimal(10**digits - 1)
    whole = at.scaleb(scale, _EXACT).to_integral_value(ROUND_CEILING, _EXACT)
    return f"{min(max(whole, -most), most).scaleb(-scale, _EXACT):f}"


def _next_day(at: datetime) -> datetime:
    try:
        return at + timedelta(days=1)
    except OverflowError:
        return at
