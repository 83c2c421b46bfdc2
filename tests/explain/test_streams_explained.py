"""EXPLAIN STREAM as values, its words, and a query with sub-queries of its own; the texts are lessons in goldens/."""

from __future__ import annotations

import json

import pytest

from penstock.analysis.waterline import has_waterline
from penstock.bind.emission.standing import bind_standing
from penstock.explain import explain, explain_standing
from penstock.sql.parse import parse
from programs import compiled

TABLES = """CREATE STREAM orders (at TIMESTAMP LATENESS INTERVAL 0 SECONDS, n BIGINT LATENESS {}, k INT);
"""


def relations(program):
    return json.loads(explain(compiled(program), "v", ("json",), program))["views"][0]["stream"]


def test_a_view_and_what_it_reads():
    program = f"{TABLES.format('3 ROWS')}CREATE VIEW v AS SELECT FLOOR(at TO HOUR) AS h, -n AS d, k FROM orders;"
    view, stream = relations(program)
    assert view == {
        "relation": "v",
        "kind": "view",
        "line": 2,
        "column": 13,
        "sorted": [{"column": "h", "descending": False}],
        "sortable": [
            {
                "column": "d",
                "descending": True,
                "delay": "once -(-orders.n) has passed its negative, where orders.n is 3 rows behind",
                "state": "the rows from there on",
                "sources": [{"column": "orders.n", "rows": 3}],
            }
        ],
        "progress": {"h": "date_trunc('HOUR', `orders.at`)", "d": "-(-`orders.n`)"},
    }
    assert (stream["relation"], stream["kind"], stream["sorted"][0]["column"]) == ("orders", "stream", "at")
    assert stream["sortable"][0]["state"] == "4 rows, and those that equal the last of them"


@pytest.mark.parametrize(
    ("bound", "sorted_by", "delay"),
    [
        ("0", ["at", "n"], None),
        ("0 ROWS", ["at", "n"], None),
        ("5", ["at"], "5 behind"),
        ("1 ROWS", ["at"], "1 row behind"),
    ],
)
def test_a_stream_is_sorted_by_what_is_never_late(bound, sorted_by, delay):
    found = relations(f"{TABLES.format(bound)}CREATE VIEW v AS SELECT n FROM orders;")[1]
    assert [item["column"] for item in found["sorted"]] == sorted_by
    assert [item["delay"] for item in found["sortable"]] == ([] if delay is None else [delay])


def test_no_progress_has_a_reason_and_its_place():
    found = relations(f"{TABLES.format('0')}CREATE VIEW v AS\nSELECT k, SUM(n) AS s FROM orders GROUP BY k;")[0]
    assert (found["sorted"], found["sortable"], found["progress"]) == ([], [], {})
    assert found["no_progress"] == {"because": "no key of GROUP BY follows orders.n", "line": 3, "column": 11}


def standing(text, tables=None):
    catalog = compiled(TABLES.format("0") if tables is None else tables)
    (statement,) = parse(text, "penstock")
    found = bind_standing(statement.query, catalog, text, "query", has_waterline)
    return explain_standing(found, catalog, statement.options, text)


def test_a_query_that_stands_and_a_falling_key():
    said = standing("EXPLAIN STREAM SELECT STREAM -n AS d, COUNT(*) AS c FROM orders GROUP BY -n")
    assert "sortable: by d DESC, once -(-orders.n) has passed its negative; keeps the rows from there on" in said
    assert "progress: d\n" in said
    assert "stream orders\n" in said.replace(" at 1:15", "")


def test_rows_of_order_by_come_sorted():
    tables = "CREATE STREAM orders (at TIMESTAMP NOT NULL LATENESS INTERVAL 1 HOUR, n INT NOT NULL LATENESS 3, k INT);"
    said = standing("EXPLAIN STREAM SELECT STREAM at, k FROM orders ORDER BY at", tables)
    assert "sorted:   by at\n" in said
    falling = standing("EXPLAIN STREAM SELECT STREAM -n AS d, k FROM orders ORDER BY -n DESC, k", tables)
    assert "sorted:   by d DESC\n" in falling


def test_a_column_that_is_carried_is_told_by_what_it_comes_of():
    tables = "CREATE STREAM orders (at TIMESTAMP NOT NULL LATENESS INTERVAL 1 HOUR, n BIGINT, k INT);"
    text = "EXPLAIN STREAM SELECT STREAM k, SUM(n) OVER (ORDER BY at ROWS 2 PRECEDING) AS s FROM orders"
    said = standing(text, tables)
    assert "closes" not in said
    assert "progress: orders.at, which is not selected\n" in said


def test_the_words_and_a_view_called_stream():
    for text in ("EXPLAIN STREAM v", "EXPLAIN (STREAM) v"):
        (asked,) = parse(text, "penstock")
        assert (asked.options, asked.target) == (("stream",), "v")
    (asked,) = parse("EXPLAIN stream", "penstock")
    assert (asked.options, asked.target) == ((), "stream")
