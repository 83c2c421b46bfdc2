"""Partials added up on the driver, against adding up in Python."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as T  # noqa: N812

from penstock.backends.spark.sums import STATES, addable, three_states
from penstock.circuit.partials import Partial

_GROUPS = ("place", "size")
_PARTIALS = (
    Partial("rows", "1"),
    Partial("total", "x"),
    Partial("exact", "d"),
    Partial("least", "x", "min"),
    Partial("most", "x", "max"),
    Partial("all", "b", "bool_and"),
    Partial("any", "b", "bool_or"),
)
_TYPES = pa.schema(
    [
        pa.field("__key", pa.int64()),
        pa.field("place", pa.string()),
        pa.field("size", pa.int32()),
        pa.field("rows", pa.int64()),
        pa.field("total", pa.int64()),
        pa.field("exact", pa.decimal128(38, 2)),
        pa.field("least", pa.int64()),
        pa.field("most", pa.int64()),
        pa.field("all", pa.bool_()),
        pa.field("any", pa.bool_()),
    ]
)
_MERGES = {"sum": sum, "min": min, "max": max, "bool_and": all, "bool_or": any}

_numbers = st.none() | st.integers(-50, 50)
_groups = st.tuples(st.none() | st.sampled_from(["", "a", "b"]), st.none() | st.integers(0, 1))


@st.composite
def _entries(draw: st.DrawFn) -> dict[str, Any]:
    place, size = draw(_groups)
    exact = draw(_numbers)
    return {
        # Of rows of one key, groups differ where hashes meet; of one group, the key is always the same.
        "__key": (size or 0) % 2,
        "place": place,
        "size": size,
        "rows": draw(st.integers(-2, 2)),
        "total": draw(_numbers),
        "exact": None if exact is None else Decimal(exact) / 100,
        "least": draw(_numbers),
        "most": draw(_numbers),
        "all": draw(st.none() | st.booleans()),
        "any": draw(st.none() | st.booleans()),
    }


def _merged(rows: list[dict[str, Any]], item: Partial) -> object:
    present = [row[item.name] for row in rows if row[item.name] is not None]
    return _MERGES[item.merge](present) if present else None


@given(state=st.none() | st.lists(_entries(), max_size=8), change=st.lists(_entries(), max_size=8))
def test_three_states_are_those_of_python(state: list[dict[str, Any]] | None, change: list[dict[str, Any]]) -> None:
    known = None if state is None else pa.Table.from_pylist(state, schema=_TYPES)
    found = three_states(known, pa.Table.from_pylist(change, schema=_TYPES), _GROUPS, _PARTIALS)
    assert found is not None
    assert found.column_names == ["__key", *_GROUPS, *(at + item.name for at in STATES for item in _PARTIALS)]
    expected = {}
    for row in change:
        group = row["__key"], row["place"], row["size"]
        sides = [
            [one for one in side if (one["__key"], one["place"], one["size"]) == group]
            for side in (state or [], change)
        ]
        expected[group] = [_merged(rows, item) for rows in (*sides, [*sides[0], *sides[1]]) for item in _PARTIALS]
    answers = {tuple(row)[:3]: list(row)[3:] for row in zip(*(column.to_pylist() for column in found), strict=True)}
    assert answers == expected
    assert found.num_rows == len(expected)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int64(), [(1 << 62), (1 << 62)]),
        (pa.int64(), [-(1 << 63), 0]),
        (pa.decimal128(38, 2), [Decimal("6e35"), Decimal("6e35")]),
    ],
)
def test_a_sum_that_may_not_fit_is_left_to_spark(kind: pa.DataType, values: list[Any]) -> None:
    change = pa.table({"__key": pa.array([1, 1]), "total": pa.array(values, kind)})
    assert three_states(None, change, (), (Partial("total", "x"),)) is None


def test_without_rows_there_are_no_groups() -> None:
    found = three_states(None, _TYPES.empty_table(), _GROUPS, _PARTIALS)
    assert found is not None
    assert found.num_rows == 0


@pytest.mark.parametrize(
    ("group", "partial", "merge", "answer"),
    [
        (T.StringType(), T.LongType(), "sum", True),
        (T.StringType(), T.DecimalType(38, 4), "sum", True),
        (T.StringType(), T.DecimalType(20, 4), "sum", False),  # Spark's sum is wider than its summands
        (T.StringType(), T.IntegerType(), "sum", False),
        (T.StringType(), T.StringType(), "min", False),  # Spark compares bytes
        (T.StringType(), T.DoubleType(), "max", False),  # NaN
        (T.DateType(), T.TimestampType(), "max", True),
        (T.DoubleType(), T.LongType(), "sum", False),  # two zeros in one group
        (T.StringType("UTF8_LCASE"), T.LongType(), "sum", False),
        (T.ArrayType(T.IntegerType()), T.LongType(), "sum", False),
        (T.StringType(), T.LongType(), "bit_and", False),
        (T.StringType(), T.BooleanType(), "bool_and", True),
    ],
)
def test_arrow_adds_up_only_what_it_finds_as_spark_does(
    group: T.DataType, partial: T.DataType, merge: str, *, answer: bool
) -> None:
    entries = T.StructType([T.StructField("g", group), T.StructField("p", partial)])
    assert addable(entries, ("g",), (Partial("p", "x", merge),)) is answer
