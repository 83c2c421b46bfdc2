"""Values of Python as those of a column: what fits, what becomes of it, what is refused."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from itertools import count

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.steps.tables import NO_DEFAULTS

from penstock.catalog.model import Column, Table
from penstock.errors import DataError
from penstock.pipeline.verification import _without_rounding
from penstock.steps.intake.inputs import batch_of
from penstock.steps.rows.batch import RowReader
from penstock.steps.rows.defaults import Defaults
from penstock.steps.rows.rejected import Rejections
from penstock.steps.rows.values import BadValue, converter


@pytest.mark.parametrize(
    ("value", "json"),
    [
        (5, "5"),
        (np.int64(5), "5"),
        (np.bool_(1), "true"),
        (Decimal("3.14159265358979323846"), "3.14159265358979323846"),
        ({"pi": [Decimal("1.50"), None]}, '{"pi": [1.50, null]}'),
        (datetime(2024, 1, 1, tzinfo=UTC), '"2024-01-01 00:00:00+00:00"'),
        ("a\0decimal", '"a\\u0000decimal"'),
    ],
)
def test_a_variant_is_the_json_of_a_value(value, json):
    assert converter("variant")(value) == json


@pytest.mark.parametrize("value", [b"ab", {1, 2}, object(), float("nan"), Decimal("NaN")])
def test_what_json_has_no_value_for_is_refused(value):
    with pytest.raises(BadValue):
        converter("variant")(value)


MISSING = [None, pd.NaT, pd.NA]
KINDS = (
    "int bigint double decimal(10,2) boolean string varchar(3) binary date timestamp timestamp_ntz time variant void"
)


@pytest.mark.parametrize("missing", MISSING, ids=repr)
@pytest.mark.parametrize("kind", [*KINDS.split(), "interval month", "interval day to second", "array<int>"])
def test_what_pandas_puts_where_there_is_no_value_is_null(kind, missing):
    reader = RowReader(Table("t", (Column("x", kind),)), NO_DEFAULTS)
    assert reader.read([(missing,), {"x": missing}], Rejections()).rows.column(0).null_count == 2
    required = RowReader(Table("t", (Column("x", kind, nullable=False),)), NO_DEFAULTS)
    with pytest.raises(DataError, match="column x: found NULL, expected"):
        required.read([(missing,)], Rejections())


@pytest.mark.parametrize("missing", MISSING, ids=repr)
def test_a_missing_value_within_another_is_null(missing):
    kind = "struct<a: array<timestamp>, m: map<string,double>>"
    reader = RowReader(Table("t", (Column("x", kind),)), NO_DEFAULTS)
    found = reader.read([({"a": [missing], "m": {"k": missing}},)], Rejections())
    assert found.rows.column(0).to_pylist() == [{"a": [None], "m": [("k", None)]}]


@pytest.mark.parametrize("missing", [pd.NaT, pd.NA], ids=repr)
def test_a_missing_value_is_no_json_and_no_key_of_a_map(missing):
    for kind, value in (("variant", [missing]), ("map<date,int>", {missing: 1})):
        with pytest.raises(BadValue, match="found"):
            converter(kind)(value)


def test_nan_of_a_row_is_a_number_and_nan_of_a_data_frame_is_null():
    reader = RowReader(Table("t", (Column("x", "double"), Column("y", "array<double>"))), NO_DEFAULTS)
    nan = float("nan")
    (row,) = batch_of(reader.table, [(nan, [nan])], reader).rows.to_pylist()
    assert (str(row["x"]), str(row["y"])) == ("nan", "[nan]")
    (row,) = batch_of(reader.table, pd.DataFrame({"x": [nan], "y": [[nan]]}), reader).rows.to_pylist()
    assert (row["x"], str(row["y"])) == (None, "[nan]")
    (row,) = batch_of(reader.table, pa.table({"x": [nan], "y": [[nan]]}), reader).rows.to_pylist()
    assert (str(row["x"]), str(row["y"])) == ("nan", "[nan]")


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("int", [1.0, float("nan")]),
        ("int", pd.array([1, pd.NA], dtype="Int64")),
        ("double", pd.array([1.0, None], dtype="Float64")),
        ("string", ["a", float("nan")]),
        ("string", ["a", pd.NA]),
        ("timestamp", [pd.Timestamp("2024-01-01"), pd.NaT]),
        ("date", [pd.Timestamp("2024-01-01").date(), pd.NaT]),
        ("boolean", [True, None]),
        ("map<string,int>", [{"a": 1}, pd.NaT]),
    ],
)
def test_every_missing_value_of_a_data_frame_is_null(kind, values):
    reader = RowReader(Table("t", (Column("x", kind),)), NO_DEFAULTS)
    found = batch_of(reader.table, pd.DataFrame({"x": values}), reader).rows.column(0)
    assert [value.is_valid for value in found] == [True, False]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("decimal(10,2)", float("nan")),
        ("decimal(10,2)", Decimal("NaN")),
        ("int", float("nan")),
        ("timestamp", datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=5)))),
        ("string", "\ud83d"),
        ("interval month", 1 << 31),
        ("map<int,int>", [(1, 2), (1, 3)]),
        ("map<float,int>", [(float("nan"), 2), (float("nan"), 3)]),
        ("map<array<int>,int>", [([1], 2), ([1], 3)]),
    ],
)
def test_what_no_column_can_hold_is_refused_and_other_rows_stay(kind, value):
    reader = RowReader(Table("t", (Column("x", kind),)), NO_DEFAULTS)
    with pytest.raises(DataError, match="column x: found"):
        reader.read([(value,)], Rejections())
    assert len(reader.read([(value,), (None,)], Rejections(tolerant=True))) == 1


def test_arrow_gives_what_tuples_give():
    reader = RowReader(Table("t", (Column("d", "decimal(10,2)"), Column("f", "float"))), NO_DEFAULTS)
    found = reader.read_arrow(pa.table({"d": [1.005, 2.675, 0.125], "f": [1e38, float("inf"), None]}), Rejections())
    assert found.rows["d"].to_pylist() == [Decimal("1.01"), Decimal("2.68"), Decimal("0.13")]
    assert found.rows["f"].to_pylist()[1] == float("inf")
    with pytest.raises(DataError, match="out of range"):
        reader.read_arrow(pa.table({"f": [1e39]}), Rejections())


class Numbered(Defaults):
    """Another value each time it is asked."""

    def __init__(self):
        self._numbers = count()

    def value(self, _):
        return next(self._numbers)


def test_rows_that_come_together_have_one_default_but_random_ones():
    columns = (Column("x", "int"), Column("n", "int", default="now()"), Column("r", "int", default="uuid()"))
    reader = RowReader(Table("t", columns), Numbered())
    assert reader.read([{"x": 1}, {"x": 2}], Rejections()).rows.to_pylist() == [
        {"x": 1, "n": 0, "r": 1},
        {"x": 2, "n": 0, "r": 2},
    ]
    assert reader.read([{"x": 1}], Rejections()).rows["n"].to_pylist() == [3]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ((1.0, 2), (1.0 + 1e-12, 2), True),
        ((None, 1.0), (1.0, None), False),
        ((float("nan"),), (float("nan"),), True),
        ((float("nan"),), (float("inf"),), False),
    ],
)
def test_only_rounding_is_forgiven_by_verify(one, other, same):
    assert (not _without_rounding([(1, one), (-1, other)])) == same
