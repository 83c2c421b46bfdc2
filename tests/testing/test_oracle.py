"""oracle_*: the batch oracle itself, against answers written by hand; no Penstock plan takes part."""

from __future__ import annotations

from datetime import datetime

import pytest

from penstock.backends.spark.fetched import fetched_rows
from penstock.catalog.model import Catalog, Column, Function, View
from penstock.errors import UnsupportedError
from penstock.sql.parse import parse_expression, parse_query
from penstock.testing.oracle import Oracle

SCHEMA = "g int, x int, s string, at timestamp"
ROWS = [
    (1, 3, "c", datetime.fromisoformat("2024-01-01 10:05")),
    (1, 1, "z", datetime.fromisoformat("2024-01-01 10:55")),
    (1, 2, None, datetime.fromisoformat("2024-01-01 11:00")),
    (1, None, "m", None),
    (2, 2, "b", datetime.fromisoformat("2024-01-01 11:30")),
    (2, 2, "a", datetime.fromisoformat("2024-01-01 11:30")),
]


def answer(spark, text, dialect="penstock", clock=None, functions=(), *, meanings=frozenset()):
    view = View("v", text, parse_query(text, dialect), (), None, dialect=dialect, meanings=meanings)
    catalog = Catalog().with_view(view)
    for function in functions:
        catalog = catalog.with_function(function)
    oracle = Oracle(spark, dialect)
    frame = spark.createDataFrame(ROWS, SCHEMA)
    tables = {"t": frame}
    try:
        [(_, found)] = oracle.recompute(catalog, tables, clock)
        return sorted(fetched_rows(found), key=repr)
    finally:
        oracle.close(tables)


def of_group(spark, expression, **options):
    return [row[1] for row in answer(spark, f"SELECT g, {expression} AS e FROM t GROUP BY g", **options)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("collect_list(s)", [["m", "z", "c"], ["a", "b"]]),
        ("array_agg(x)", [[1, 2, 3], [2, 2]]),
        ("first(s)", ["m", "a"]),
        ("first(x)", [None, 2]),
        ("first(x, true)", [1, 2]),
        ("first(x) IGNORE NULLS", [1, 2]),
        ("last(s)", ["c", "b"]),
        ("any_value(s)", ["m", "a"]),
        ("max_by(s, x)", ["c", "b"]),
        ("min_by(s, x)", ["z", "b"]),
        ("max_by(s, g)", ["c", "b"]),
        ("listagg(s, ',')", ["m,z,c", "a,b"]),
        ("collect_list(s) FILTER (WHERE x > 1)", [["c"], ["a", "b"]]),
        ("first(s) FILTER (WHERE x > 1)", [None, "a"]),
        ("listagg(s) FILTER (WHERE x > 100)", [None, None]),
        ("max_by(s, x) FILTER (WHERE x > 100)", [None, None]),
    ],
)
def test_rows_are_taken_in_ascending_order_of_the_whole_row(spark, expression, expected):
    assert of_group(spark, expression) == expected


def test_ties_of_windows_go_by_the_whole_row(spark):
    found = answer(spark, "SELECT s, row_number() OVER (PARTITION BY g ORDER BY x DESC) AS n FROM t WHERE g = 2")
    assert found == [("a", 1), ("b", 2)]
    found = answer(spark, "SELECT s, lag(s) OVER (PARTITION BY g ORDER BY x) AS p FROM t WHERE g = 2")
    assert found == [("a", None), ("b", "a")]


def test_ties_of_limit_go_by_the_output_row(spark):
    assert answer(spark, "SELECT s, x FROM t WHERE g = 2 ORDER BY x LIMIT 1") == [("a", 2)]
    assert answer(spark, "SELECT * FROM t WHERE g = 2 LIMIT 1")[0][2] == "a"


def test_qualify(spark):
    text = "SELECT g, s FROM t QUALIFY row_number() OVER (PARTITION BY g ORDER BY x DESC NULLS LAST) = 1"
    assert answer(spark, text) == [(1, "c"), (2, "a")]
    named = "SELECT g, s, rank() OVER (PARTITION BY g ORDER BY x DESC) AS r FROM t QUALIFY r = 1 AND g = 2"
    assert answer(spark, named) == [(2, "a", 1), (2, "b", 1)]
    assert answer(spark, "SELECT DISTINCT g FROM t QUALIFY count(*) OVER (PARTITION BY g) > 2") == [(1,)]


def test_windows_of_time(spark):
    text = (
        "SELECT TUMBLE_START(at, INTERVAL '1' HOUR) AS b, TUMBLE_END(at, INTERVAL '1' HOUR) AS e, COUNT(*) AS n "
        "FROM t WHERE g = 1 AND at IS NOT NULL GROUP BY TUMBLE(at, INTERVAL '1' HOUR)"
    )
    ten, eleven, twelve = (datetime.fromisoformat(f"2024-01-01 {hour}:00") for hour in (10, 11, 12))
    assert answer(spark, text) == [(ten, eleven, 2), (eleven, twelve, 1)]
    source = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '1' HOUR))"
    table = f"SELECT window_start, COUNT(*) AS n FROM {source} GROUP BY window_start"
    assert answer(spark, table) == [(ten, 2), (eleven, 3)]


def test_the_clock_is_the_steps(spark):
    clock = datetime.fromisoformat("2024-01-01 11:15")
    found = answer(spark, "SELECT now() AS a, current_date() AS d, COUNT(*) AS n FROM t WHERE at > now()", clock=clock)
    assert found == [(clock, clock.date(), 2)]


def test_integer_averages_of_flink(spark):
    assert of_group(spark, "AVG(x)", dialect="flink") == [2, 2]
    text = "SELECT AVG(x) AS a, AVG(CAST(x AS DOUBLE)) AS b FROM t WHERE x <> 3"
    assert answer(spark, text, dialect="flink", meanings=frozenset({"whole_averages"})) == [(1, 1.75)]


def test_functions_of_the_program(spark):
    twice = Function("twice", (Column("n", "int"),), "int", parse_expression("n * 2"), "n * 2")
    assert answer(spark, "SELECT SUM(twice(x)) AS s FROM t", functions=[twice]) == [(20,)]


def test_views_come_in_the_order_in_which_they_read_each_other(spark):
    texts = {"top": "SELECT s FROM mid", "mid": "SELECT SUM(x) AS s FROM t"}
    catalog = Catalog()
    for name, text in texts.items():
        catalog = catalog.with_view(View(name, text, parse_query(text), (), None))
    oracle = Oracle(spark, "penstock")
    tables = {"t": spark.createDataFrame(ROWS, SCHEMA)}
    found = {view.name: fetched_rows(frame) for view, frame in oracle.recompute(catalog, tables, None)}
    oracle.close(tables)
    assert found == {"mid": [(10,)], "top": [(10,)]}


def test_asof_join(spark):
    text = (
        "SELECT a.s AS s, b.s AS before FROM t AS a LEFT ASOF JOIN t AS b MATCH_CONDITION (b.at < a.at) ON a.g = b.g "
        "WHERE a.at IS NOT NULL"
    )
    assert answer(spark, text) == [("a", None), ("b", None), ("c", None), ("z", "c"), (None, "z")]


def test_sessions(spark):
    text = (
        "SELECT g, window_start, window_end, COUNT(*) AS n "
        "FROM TABLE(SESSION(TABLE t PARTITION BY g, DESCRIPTOR(at), INTERVAL '50' MINUTES)) "
        "GROUP BY g, window_start, window_end"
    )
    starts = ["10:05", "10:55", "11:30"]
    ends = ["10:55", "11:50", "12:20"]
    found = [(str(row[1])[11:16], str(row[2])[11:16], row[3]) for row in answer(spark, text)]
    assert found == list(zip(starts, ends, [1, 2, 2], strict=True))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL 1 HOUR, INTERVAL 30 MINUTES)", ["10:30-11:30"]),
        ("TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL 1 HOUR, INTERVAL '-6' MINUTES)", ["10:54-11:54"]),
        ("HOP(TABLE t, DESCRIPTOR(at), INTERVAL 30 MINUTES, INTERVAL 1 HOUR)", ["10:00-11:00", "10:30-11:30"]),
        ("CUMULATE(TABLE t, DESCRIPTOR(at), INTERVAL 20 MINUTES, INTERVAL 1 HOUR)", ["10:00-11:00"]),
    ],
)
def test_fixed_windows(spark, function, expected):
    found = answer(spark, f"SELECT window_start, window_end FROM TABLE({function}) WHERE s = 'z'")
    assert [f"{start:%H:%M}-{end:%H:%M}" for start, end in found] == expected


def test_recursion_is_the_least_fixpoint(spark):
    columns = (Column("x", "int"), Column("y", "int"))
    texts = {
        "closure": "SELECT * FROM edges UNION SELECT * FROM further",
        "further": "SELECT e.x, c.y FROM edges e JOIN closure c ON e.y = c.x",
    }
    catalog = Catalog()
    for name, text in texts.items():
        catalog = catalog.with_view(View(name, text, parse_query(text), columns, None))
    tables = {"edges": spark.createDataFrame([(1, 2), (2, 3), (3, 1)], "x int, y int")}
    oracle = Oracle(spark, "penstock")
    found = {view.name: fetched_rows(frame) for view, frame in oracle.recompute(catalog, tables, None)}
    oracle.close(tables)
    assert sorted(found["closure"]) == [(x, y) for x in (1, 2, 3) for y in (1, 2, 3)]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT window_start FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '1:00' HOURS TO MINUTES))",
        "SELECT * FROM t LEFT ASOF JOIN t AS u MATCH_CONDITION (t.at >= u.at) ON t.g = u.g",
    ],
)
def test_what_the_oracle_has_no_words_for_is_refused(spark, text):
    with pytest.raises(UnsupportedError, match="oracle"):
        answer(spark, text)
