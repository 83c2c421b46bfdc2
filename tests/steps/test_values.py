"""Values of Python as those of a column: what fits, what becomes of it, what is refused."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from itertools import count

import numpy as np
import pyarrow as pa
import pytest
from tests.steps.tables import NO_DEFAULTS

from penstock.catalog.model import Column, Table
from penstock.errors import DataError
from penstock.pipeline.verification import _without_rounding
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


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("decimal(10,2)", float("nan")),
        ("decimal(10,2)", Decimal("NaN")),
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
