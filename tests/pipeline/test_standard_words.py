"""Words of standard SQL in the dialects that have them, rows in, rows out, retraction and NULLs."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

import penstock

TIMES = "CREATE TABLE t (id INT, a TIMESTAMP, b TIMESTAMP, c DATE, d DATE);"
ROWS = """INSERT INTO t VALUES
    (1, '2020-06-21 14:00:00', '1970-01-01 14:33:00', '2024-03-01', '2024-01-31'),
    (2, '2014-11-05 08:27:00', '2024-12-05 12:45:00', NULL, NULL), (3, NULL, NULL, NULL, NULL)"""
STANDARD = pytest.mark.parametrize("dialect", ["feldera", "calcite", "flink"])


def answer(program, dialect, *statements, engine="native"):
    with penstock.Pipeline(f"SET engine = '{engine}'; {program}", dialect=dialect) as pipeline:
        for statement in statements:
            pipeline.execute(statement)
        return sorted(pipeline.query("SELECT * FROM v").rows, key=str)


@pytest.mark.usefixtures("spark")
@STANDARD
def test_a_difference_has_the_unit_behind_it(dialect):
    view = (
        "CREATE VIEW v AS SELECT id, CAST((a - b) MONTH AS BIGINT) AS m, (a - b) SECONDS AS s, (c - d) DAY AS e FROM t"
    )
    rows = answer(TIMES + view, dialect, ROWS, "DELETE FROM t WHERE id = 3", engine="auto")
    assert rows == [
        (1, 605, timedelta(seconds=1592695620), timedelta(days=30)),
        (2, -121, timedelta(seconds=-318226680), None),
    ]


@pytest.mark.usefixtures("spark")
@STANDARD
def test_the_hours_of_a_difference_in_days_count_where_it_is_compared(dialect):
    view = "CREATE VIEW v AS SELECT id FROM t WHERE (a - b) DAY > INTERVAL '1' DAY"
    row = "INSERT INTO t VALUES (1, '2024-01-02 12:00:00', '2024-01-01 00:00:00', NULL, NULL)"
    assert answer(TIMES + view, dialect, row, engine="auto") == [(1,)]


def test_a_difference_has_no_weeks():
    with pytest.raises(penstock.SqlError, match="INTERVAL_UNIT"):
        answer(f"{TIMES} CREATE VIEW v AS SELECT (a - b) WEEK FROM t", "calcite")


@STANDARD
def test_unknown_and_pi_are_values(dialect):
    view = "CREATE VIEW v AS SELECT id, a > b OR UNKNOWN AS u, PI > 3.14 AS p FROM t"
    assert answer(TIMES + view, dialect, ROWS) == [(1, True, True), (2, None, True), (3, None, True)]


def test_a_comparison_with_each_of_a_list():
    program = "CREATE TABLE t (x INT); CREATE VIEW v AS SELECT x, x = SOME (1, 2) AS s, x > ALL (0, NULL) AS a FROM t"
    rows = answer(program, "penstock", "INSERT INTO t VALUES (1), (0), (NULL)")
    assert rows == [(0, False, False), (1, True, None), (None, None, None)]


UNSIGNED = "CREATE TABLE t (w TINYINT UNSIGNED, b BIGINT UNSIGNED); CREATE VIEW v AS SELECT w, b FROM t"


def test_whole_numbers_without_a_sign_are_carried_by_the_next_wider_type():
    rows = answer(UNSIGNED, "feldera", "INSERT INTO t VALUES (255, 18446744073709551615), (NULL, NULL)")
    assert rows == [(255, Decimal(18446744073709551615)), (None, None)]


@pytest.mark.parametrize("row", ["(256, 0)", "(-1, 0)", "(0, -1)", "(0, 18446744073709551616)"])
def test_their_range_is_checked(row):
    with pytest.raises(penstock.PenstockError, match="BAD_VALUE"):
        answer(UNSIGNED, "feldera", f"INSERT INTO t VALUES {row}")


def test_no_element_of_an_array_is_null():
    program = "CREATE TABLE t (x VARCHAR NOT NULL ARRAY, y ROW(p INT) ARRAY); CREATE VIEW v AS SELECT x, y FROM t"
    assert answer(program, "calcite", "INSERT INTO t VALUES (ARRAY['a'], NULL)") == [(["a"], None)]


def test_drop_cascade_takes_what_reads_it():
    program = "CREATE TABLE t (a INT); CREATE VIEW v AS SELECT a FROM t; CREATE VIEW w AS SELECT a FROM v;"
    rows = answer(
        f"{program} DROP VIEW v CASCADE; CREATE VIEW v AS SELECT a + 1 AS a FROM t",
        "penstock",
        "INSERT INTO t VALUES (1)",
    )
    assert rows == [(2,)]
    with pytest.raises(penstock.SqlError, match="HAS_DEPENDANTS"):
        answer(f"{program} DROP VIEW v RESTRICT", "penstock")
