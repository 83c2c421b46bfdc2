# ruff: noqa: DTZ001 - points in time are naive UTC datetimes, at the API too
"""Operations folded into changes, and lateness, on the driver."""

import math
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from tests.steps.tables import CLOCK, Bench, declared

from penstock.analysis.bounds import parse_bound
from penstock.errors import DataError, SqlError
from penstock.steps.intake.fold import Judge, fold_keyed
from penstock.steps.intake.lateness import comparable, declared_lateness, furthest
from penstock.steps.rows.rejected import Rejections


def test_rows_without_a_key_are_a_multiset():
    t = Bench("CREATE TABLE t (a INT, b STRING)")
    assert t.step([(1, "x"), (1, "x"), ("-", (1, "x"))]) == ([(1, (1, "x")), (1, (1, "x")), (-1, (1, "x"))], [])
    assert t.step([("-", (1, "x"))]) == ([(-1, (1, "x"))], [])
    with pytest.raises(DataError, match="row 1: the row to delete is not there"):
        t.fold([("-", (1, "x"))])


def test_a_deletion_finds_nan_and_zero_of_either_sign():
    t = Bench("CREATE TABLE t (a DOUBLE)")
    t.step([(float("nan"),), (-0.0,)])
    assert len(t.step([("-", (float("nan"),)), ("-", (0.0,))])[0]) == 2


def test_a_tolerant_step_leaves_out_only_the_deletion_that_is_not_possible():
    t = Bench("CREATE TABLE t (a INT)")
    change, messages = t.step([(1,), ("-", (2,)), ("-", (1,))], tolerant=True)
    assert sorted(change) == [(-1, (1,)), (1, (1,))]
    assert messages == ["Row to delete not found"]


def test_append_only_refuses_deletions_and_replacement():
    t = Bench("CREATE STREAM t (a INT)")
    with pytest.raises(DataError) as error:
        t.fold([(1,), ("-", (1,))])
    assert error.value.code == "APPEND_ONLY"
    k = Bench("CREATE TABLE k (a INT PRIMARY KEY, b INT) WITH ('append_only' = 'true')")
    k.step([(1, 1)])
    with pytest.raises(DataError, match="append_only"):
        k.fold([(1, 2)])


def test_from_a_source_only_the_row_that_replaces_another_is_set_aside():
    k = Bench("CREATE TABLE k (a INT PRIMARY KEY, b INT) WITH ('append_only' = 'true')")
    k.step([(1, 1)])
    change, messages = k.step([(1, 2), (2, 2), ("-", (1,)), ("~", (1, 3))], tolerant=True)
    assert change == [(1, (2, 2))]
    assert messages == ["Bad row"] * 3
    t = Bench("CREATE TABLE t (a INT)")
    assert t.step([(1,), ("~", (1,))], tolerant=True) == ([(1, (1,))], ["Bad row"])


def test_a_part_of_an_append_only_batch_may_hold_insertions_alone():
    k = Bench("CREATE TABLE k (a INT PRIMARY KEY, b INT) WITH ('append_only' = 'true')")
    rejections = Rejections()
    batch = k.reader.read([(1, 1), (2, 2), ("-", (1,))], rejections)
    judge = Judge(k.lateness, CLOCK, rejections)
    assert fold_keyed(batch.taken(0, 2), judge, k.store).change.num_rows == 2
    with pytest.raises(DataError, match="row 3"):
        fold_keyed(batch, judge, k.store)


def test_a_key_folds_in_arrival_order():
    t = Bench("CREATE TABLE t (k INT PRIMARY KEY, a INT, b STRING)")
    assert t.step([(1, 1, "x"), ("~", (1, 2, None)), (2, 2, "y"), ("-", (2, None, None))])[0] == [(1, (1, 2, "x"))]
    assert t.step([("-", (1,)), ("~", (1, 9, None)), (1, 2, "x")])[0] == []
    assert t.step([("-", (7,)), ("-", (1,))])[0] == [(-1, (1, 2, "x"))]


def test_dicts_by_name_leave_columns_out():
    t = Bench("CREATE TABLE t (k INT PRIMARY KEY, a INT, b STRING)")
    assert t.step([{"K": 1, "b": "x"}, ("~", {"k": 1, "a": 5})])[0] == [(1, (1, 5, "x"))]
    with pytest.raises(DataError) as error:
        t.fold([{"k": 1, "bb": "x"}])
    assert error.value.code == "UNKNOWN_COLUMN"
    assert "k, a, b" in error.value.render()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((None, 1, "x"), "column k: found NULL, expected INT NOT NULL"),
        ((1, "one", "x"), "column a: found 'one' (str), expected DECIMAL(4,1)"),
        ((1, 12345, "x"), "column a: found 12345 (int): more than 3 digits before the point"),
        ((2**31, 1, "x"), "column k: found 2147483648 (int): out of range"),
        ((1.5, 1, "x"), "column k: found 1.5 (float): it has a fraction, expected INT"),
        ((1, 1, 5), "column b: found 5 (int), expected STRING"),
        ((1, 1), "found 2 values, expected 3 (k, a, b)"),
        (5, "found 5 (int), expected a tuple of 3 values"),
    ],
)
def test_a_row_that_does_not_fit_is_named(row, message):
    t = Bench("CREATE TABLE t (k INT PRIMARY KEY, a DECIMAL(4,1), b STRING)")
    with pytest.raises(DataError) as error:
        t.fold([(1, 1, "x"), row])
    assert "table t, row 2" in error.value.render()
    assert message in error.value.render()


def test_lateness_is_judged_by_the_steps_before():
    t = Bench("CREATE TABLE t (id INT, ts TIMESTAMP LATENESS INTERVAL 1 HOUR)")
    assert t.step([(1, "2024-01-01 02:00:00"), (2, "2024-01-01 00:00:00"), (3, None)])[1] == []
    assert t.waterline("ts") == datetime(2024, 1, 1, 1)
    change, messages = t.step(
        [(4, "2024-01-01 00:59:59"), (5, "2024-01-01 01:00:00"), ("-", (2, "2024-01-01 00:00:00"))]
    )
    assert [row[0] for _, row in change] == [5]
    assert messages == ["Late value", "Late value"]


def test_without_a_key_a_row_late_in_one_column_still_moves_the_other():
    t = Bench("CREATE TABLE t (id INT, a BIGINT LATENESS 10, b BIGINT LATENESS 10)")
    t.step([(0, 100, 100)])
    t.step([(1, 50, 500)])
    assert (t.waterline("a"), t.waterline("b")) == (90, 490)


def test_with_a_key_only_what_was_accepted_moves_it():
    t = Bench("CREATE TABLE t (id INT PRIMARY KEY, a BIGINT LATENESS 10, b BIGINT LATENESS 10)")
    t.step([(0, 100, 100)])
    assert t.step([(1, 50, 500), (2, 95, 99)]) == ([(1, (2, 95, 99))], ["Late value"])
    assert t.step([(3, 200, 300), (4, 200, 490)])[0] == [(1, (3, 200, 300)), (1, (4, 200, 490))]


def test_sequences_on_keys_with_lateness():
    t = Bench("CREATE TABLE kv (k BIGINT PRIMARY KEY, x BIGINT LATENESS 0)")
    assert t.step([(1, 1), (1, 1), ("-", (2, None)), (3, 1)]) == ([(1, (1, 1)), (1, (3, 1))], [])
    change, messages = t.step([(1, 1), ("-", (1, None)), (2, 2), (3, 3), (4, 3), ("-", (4, None)), (4, 5)])
    assert sorted(change) == [(-1, (1, 1)), (-1, (3, 1)), (1, (2, 2)), (1, (3, 3)), (1, (4, 5))]
    assert messages == []
    change, messages = t.step([(1, 5), (2, 6), ("-", (3, None)), (4, 6)])
    assert (sorted(change), messages) == ([(-1, (4, 5)), (1, (1, 5)), (1, (4, 6))], ["Late value"] * 2)
    change, messages = t.step([(5, 5), (6, 6), (7, 7), (4, 8)])
    assert (sorted(change), messages) == ([(-1, (4, 6)), (1, (4, 8)), (1, (6, 6)), (1, (7, 7))], ["Late value"])


def test_a_late_key_is_judged_by_itself_stored_or_not():
    t = Bench("CREATE TABLE t (ts BIGINT PRIMARY KEY LATENESS 100, val INT)")
    t.step([(0, 1), (100, 1), (200, 1)])
    assert t.step([(0, 5), ("-", (0, 1)), (7, 1)]) == ([], ["Late value"] * 3)


def test_nan_is_null_infinity_is_set_aside_and_moves_nothing():
    t = Bench("CREATE TABLE t (x DOUBLE LATENESS 1)")
    assert t.step([(float("nan"),), (float("inf"),), (5.0,)])[1] == ["Infinite value"]
    assert t.waterline("x") == 4.0


def test_ahead_guards_the_waterline_against_a_source_that_jumps():
    t = Bench("CREATE TABLE t (ts TIMESTAMP LATENESS INTERVAL 1 HOUR AHEAD INTERVAL 1 DAY)")
    assert t.step([("2999-01-01 00:00:00",), ("2024-06-02 12:00:00",)], clock=CLOCK)[1] == ["Future value"]
    assert t.waterline("ts") == datetime(2024, 6, 2, 11)


DAYS = [datetime(2024, 1, 2), None, datetime(2024, 3, 1)]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int8(), [3, None, -4]),
        (pa.float64(), [1.5, math.nan, None]),
        (pa.float32(), [math.nan]),
        (pa.decimal128(10, 2), [Decimal("1.10"), Decimal("7.00")]),
        (pa.date32(), DAYS),
        (pa.timestamp("us"), DAYS),
        (pa.timestamp("us", "UTC"), DAYS),
        (pa.int64(), []),
    ],
)
def test_the_furthest_value_is_the_largest_that_compares(kind, values):
    (item,) = declared_lateness(declared("CREATE TABLE t (c BIGINT LATENESS 2)")).columns
    column = pa.chunked_array([pa.array(values, kind)])
    present = [value for value in comparable(column) if value is not None]
    assert furthest(item, column) == [max(present, default=None)]
    assert furthest(replace(item, rows=2), column) == comparable(column)


def test_lateness_rows_is_the_next_largest_value_seen():
    table = declared("CREATE TABLE t (x INT LATENESS 2 ROWS)")
    lateness = declared_lateness(table)
    assert lateness.moved({"x": [5, 1]}).waterlines["x"].at is None
    assert lateness.moved({"x": [5, 1]}).moved({"x": [9, 3]}).waterlines["x"].at == 3


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("INTERVAL 1 HOUR", datetime(2024, 1, 1, 1), datetime(2024, 1, 1)),
        ("INTERVAL '1:30' HOURS TO MINUTES", datetime(2024, 1, 1, 1, 30), datetime(2024, 1, 1)),
        ("INTERVAL '1 02:00:00' DAY TO SECOND", datetime(2024, 1, 2, 2), datetime(2024, 1, 1)),
        ("INTERVAL 1 MONTH", datetime(2024, 3, 31), datetime(2024, 2, 29)),
        ("INTERVAL '1 day 3 hours'", datetime(2024, 1, 2, 3), datetime(2024, 1, 1)),
    ],
)
def test_bounds_of_time(text, value, expected):
    assert parse_bound(text, "timestamp").below(value) == expected


def test_bounds_that_do_not_fit():
    for text, kind in (
        ("INTERVAL 1 HOUR", "int"),
        ("5", "timestamp"),
        ("-1", "int"),
        ("INTERVAL '-1' HOUR", "timestamp"),
        ("x + 1", "int"),
    ):
        with pytest.raises(SqlError):
            parse_bound(text, kind)
