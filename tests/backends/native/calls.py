"""Calls of aggregates and window functions in every type for which they are proven, and rows of all types for them.

Sums of what is here are exact, in whatever order, so that answers in floating point can be compared.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa
from tests.backends.native.rows import _arrow

from penstock.backends.native.aggregates import AGGREGATES
from penstock.backends.native.listing import TYPES, Taken, aggregated, windowed
from penstock.backends.native.lists import LISTS
from penstock.backends.native.windows import FUNCTIONS
from penstock.catalog.types import INTEGRAL

NAN, INF = float("nan"), float("inf")
_DAY, _MOMENT = date(2024, 2, 29), datetime(2024, 2, 29, 12, 30)  # noqa: DTZ001 - UTC
_MOMENTS = [None, *(_MOMENT + timedelta(microseconds=item) for item in (0, 1, -1, 10**12, -(10**14)))]
_MOMENTS += [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)]  # noqa: DTZ001 - UTC
FINITE = [None, 0.0, -0.0, 1.5, -2.25, 0.5, 3.0, 1024.0]
VALUES: dict[str, list[Any]] = {
    "boolean": [None, True, False],
    "tinyint": [None, 0, 1, -1, 2, 127, -128],
    "smallint": [None, 0, 1, -1, 3, 32767, -32768],
    "int": [None, 0, 1, -1, 5, 2**31 - 1, -(2**31)],
    "bigint": [None, 0, 1, -1, 7, 2**50, -(2**50)],
    "decimal(10,2)": [None, *map(Decimal, ("0.00", "1.05", "-1.05", "99999999.99", "-99999999.99", "0.01"))],
    "float": [*FINITE, NAN, INF, -INF],
    "double": [*FINITE, NAN, INF, -INF],
    "string": [None, "", "a", "A", "ä", "a\u0000b", "aa", "\U0001f600", "z ", "\uffff"],
    "binary": [None, b"", b"\x00", b"a", b"\xff\xfe", "ä".encode()],
    "date": [None, *(_DAY + timedelta(days=item) for item in (0, 1, -1, 10_000)), date(1, 1, 1), date(9999, 12, 31)],
    "timestamp": _MOMENTS,
    "timestamp_ntz": _MOMENTS,
    "array<int>": [None, [], [1], [1, None], [2**31 - 1, -5]],
    "struct<x:int>": [None, {"x": 1}, {"x": None}, {"x": -7}],
    "map<string,int>": [None, [], [("a", 1)], [("a", None), ("b", 2)], [("b", 2), ("a", None)]],
}
# What statistics of pairs are asked of: the digits that they lose when numbers are large differ.
_SMALL = [None, 0, 1, -1, 2, 3, 7]
_GROUPS, _MOST = 40, 6
_WIDE = (*INTEGRAL, "decimal(10,2)")
_NESTED = {"struct<x:int>": pa.struct({"x": pa.int32()}), "map<string,int>": pa.map_(pa.string(), pa.int32())}
# FIRST is proven of one row; CORR raises on both where one side never changes, so its groups are large.
_GROUPED = {"first": "`id`", "corr": "`g` % 4 = 0"}
# What the binder makes of calls whose answer would depend on the order of rows, and calls that have one.
_SHAPES = {
    **{
        name: f"transform(sort_array({name}(named_struct('v', {{}}))), e -> e.v)"
        for name in ("collect_list", "array_agg")
    },
    "collect_set": "sort_array(collect_set({}))",
    "mode": "mode({}, true)",
    "percentile_cont": "percentile_cont(0.25) WITHIN GROUP (ORDER BY {})",
    "percentile_disc": "percentile_disc(0.25) WITHIN GROUP (ORDER BY {} DESC)",
    "listagg": "listagg({0}) WITHIN GROUP (ORDER BY {0})",
    "string_agg": "string_agg({0}) WITHIN GROUP (ORDER BY {0})",
}
# Numbers that say something: a share, a number of rows, of buckets.
_WHOLE = {"percentile": "0.25", "nth_value": "2", "ntile": "3"}


def column(kind: str, side: str) -> str:
    """The name of the column of a type on one of four sides; those of `c` and `d` have small numbers."""
    return side + "_" + "".join(letter if letter.isalnum() else "_" for letter in kind)


COLUMNS = {"id": "int", "g": "int"} | {column(kind, side): kind for kind in TYPES for side in "abcd"}


def rows(seed: int) -> pa.Table:
    """Rows in small groups, `g`; every fourth group holds only finite numbers, and some hold one row."""
    draw = random.Random(seed)
    groups = [group for group in range(_GROUPS) for _ in range(draw.randrange(1, _MOST))]
    found: dict[str, Any] = {"id": pa.array(range(len(groups)), pa.int32()), "g": pa.array(groups, pa.int32())}
    for name, kind in list(COLUMNS.items())[2:]:
        tame = FINITE if kind in ("float", "double") else _SMALL if name[0] in "cd" and kind in _WIDE else VALUES[kind]
        wild = tame if kind in _WIDE else VALUES[kind]
        values = [draw.choice(wild if group % 4 else tame) for group in groups]
        found[name] = pa.array(values, _NESTED.get(kind) or _arrow(kind))
    return pa.table(found)


@dataclass(frozen=True)
class Asked:
    """A call as Spark SQL, of the function `name` over arguments of the types `taken`.

    `by` is a column that is to be different in each row of a group, `group` what rows are grouped by.
    """

    text: str
    name: str
    taken: Taken
    by: str | None = None
    group: str = "`g`"


@cache
def aggregates() -> tuple[Asked, ...]:
    """Each aggregate in all types that the page says."""
    return tuple(_aggregates())


@cache
def windows() -> tuple[Asked, ...]:
    """Each window function in all types that the page says."""
    return tuple(_windows())


def _aggregates() -> Iterator[Asked]:
    for name in sorted(AGGREGATES):
        for taken in sorted(aggregated(name)):
            if name == "corr" and not set(taken) <= set(TYPES):
                continue  # a constant never changes
            texts = _arguments(name, taken)
            by = texts[1] if name in ("max_by", "min_by") else None
            if name in LISTS and "<" in taken[0]:
                continue  # the binder writes them with a comparison of their rows (test_nested_at_work)
            text = _SHAPES[name].format(texts[0]) if name in _SHAPES else f"{name}({', '.join(texts)})"
            yield Asked(text, name, taken, by, _GROUPED.get(name, "`g`"))


def _windows() -> Iterator[Asked]:
    for name in sorted(FUNCTIONS):
        for taken in sorted(windowed(name)):
            yield Asked(f"{name}({', '.join(_arguments(name, taken))})", name, taken)


def some(asked: Sequence[Asked], most: int) -> list[Asked]:
    """At most so many calls of each function, spread over its types."""
    found: list[Asked] = []
    for name in dict.fromkeys(item.name for item in asked):
        own = [item for item in asked if item.name == name]
        found += own[:: -(-len(own) // most)]
    return found


def _arguments(name: str, taken: Taken) -> list[str]:
    sides = "cd" if name.startswith(("regr_", "covar_", "corr")) else "ab"
    return [
        f"`{column(item, side)}`" if item in TYPES else _WHOLE.get(name, "1")
        for item, side in zip(taken, sides, strict=False)
    ]
