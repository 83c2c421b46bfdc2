"""A change on the driver, asked without a session."""

from datetime import datetime

import pyarrow as pa
import pytest

from penstock.backends.spark.change import Delta
from penstock.backends.spark.schemas import spark_schema
from penstock.backends.spark.workspace import Workspace
from penstock.catalog.reserved import WEIGHT
from penstock.catalog.types import Type

NOON = datetime(2024, 6, 1, 12)  # noqa: DTZ001 - UTC, as all waterlines


def change(kind: Type, values: pa.Array, weights: list[int]) -> Delta:
    rows = pa.table({"at": values, WEIGHT: pa.array(weights, pa.int64())})
    return Workspace(None).change(rows, spark_schema([("at", kind)], weighted=True))


def weighted(delta: Delta) -> list[tuple[object, int]]:
    return [(row["at"], row[WEIGHT]) for row in delta.arrow().to_pylist()]


@pytest.mark.parametrize(
    ("kind", "values", "limit", "below"),
    [
        ("int", pa.array([1, None, 3, 2], pa.int32()), 2.5, [(1, 1), (2, -1)]),
        ("double", pa.array([1.0, float("nan"), 3.0, 2.0]), 3.0, [(1.0, 1), (2.0, -1)]),
        ("timestamp_ntz", pa.array([NOON, None], pa.timestamp("us")), NOON, []),
    ],
    ids=["int", "double", "timestamp_ntz"],
)
def test_a_change_is_parted_by_a_waterline(kind, values, limit, below):
    whole = change(kind, values, [1, 1, 1, -1][: len(values)])
    shown, waiting = whole.parted(0, limit)
    assert weighted(shown) == below
    assert shown.count() + waiting.count() == whole.count()
    assert shown.takes_back() is any(weight < 0 for _, weight in below)
    assert shown.schema == waiting.schema == whole.schema


def test_other_rows_stand_in_the_place_of_a_changes():
    whole = change("int", pa.array([1, 2], pa.int32()), [1, -1])
    found = whole.replaced(whole.arrow().slice(0, 1))
    assert weighted(found) == [(1, 1)]
    assert whole.takes_back()
    assert not found.takes_back()


def test_no_rows_of_nested_columns_in_no_piece_are_a_relation(spark):
    kinds = pa.schema([("k", pa.string()), ("a", pa.list_(pa.int32())), ("s", pa.struct({"at": pa.timestamp("us")}))])
    frame = Workspace(spark).given(pa.Table.from_batches([], schema=kinds))
    assert (frame.columns, frame.collect()) == (["k", "a", "s"], [])
