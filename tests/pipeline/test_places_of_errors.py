"""The place of an error that is found only when a query is answered: in the query, or in the view that it reads."""

from __future__ import annotations

import pytest

import penstock

PROGRAM = """CREATE STREAM trades (ts TIMESTAMP NOT NULL LATENESS INTERVAL 0 SECONDS, sym STRING, qty INT);
CREATE VIEW rel AS SELECT sym, SUM(qty) AS s FROM trades GROUP BY sym;
CREATE STREAM o (k INT) WITH ('history' = '2 hours');
CREATE VIEW double AS SELECT k * 2 AS k FROM o;
"""


@penstock.LaterSession
def no_spark():
    pytest.fail("Spark was asked for")


@pytest.fixture
def pipeline():
    with penstock.Pipeline(PROGRAM, spark=no_spark, engine="native", retain="materialized") as opened:
        for hour in range(8):
            opened.step({"o": [(hour,)]}, clock=f"2025-01-01 {hour + 2:02}:00:00")
        yield opened


def refused(call, text):
    with pytest.raises(penstock.PenstockError) as found:
        call(text)
    return found.value.render()


@pytest.mark.parametrize("relation", ["o", "double"])
def test_a_history_that_has_gone_is_said_of_the_relation_that_needs_it(pipeline, relation):
    said = refused(pipeline.query, f"SELECT 1 AS one FROM (SELECT k\nFROM {relation} AS a) b")
    assert "HISTORY_GONE" in said
    assert "at line 2, column 6" in said


def test_a_view_without_progress_is_named_and_shown(pipeline):
    said = refused(pipeline.subscribe, "SELECT STREAM * FROM rel")
    assert "GROUP BY clause of view rel" in said
    assert "   2 | CREATE VIEW rel" in said
    assert "of view" not in refused(pipeline.subscribe, "SELECT STREAM sym, SUM(qty) FROM trades GROUP BY sym")


def test_offset_is_the_reason(pipeline):
    said = refused(pipeline.subscribe, "SELECT STREAM ts, sym FROM trades ORDER BY ts OFFSET 1 ROWS")
    assert "OFFSET" in said.splitlines()[0]


def test_a_table_that_is_not_there_has_no_waterline_to_advance(pipeline):
    assert "UNKNOWN_RELATION" in refused(pipeline.execute, "ADVANCE nope.n TO 1")
    assert "NO_LATENESS" in refused(pipeline.execute, "ADVANCE rel.s TO 1")


def test_a_setting_that_has_none_of_its_values_is_refused_where_it_is_set(pipeline):
    said = refused(pipeline.execute, "SET unbounded_state='maybe'")
    assert "expected 'reject', 'warn' or 'allow'" in said
    assert "at line 1, column 21" in said
