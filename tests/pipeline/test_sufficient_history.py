"""Queries over a history of which something has gone: those that need none of it are answered, the others refused."""

from __future__ import annotations

import json
import random
import re
import shutil
from datetime import UTC, datetime, timedelta

import pytest

import penstock
from penstock.steps import log

START = datetime(2024, 1, 1)  # noqa: DTZ001 - UTC, as all clocks
PROGRAM = """
CREATE STREAM s (at TIMESTAMP NOT NULL LATENESS INTERVAL 2 HOURS, k INT, x INT) WITH ('history' = '{history}');
CREATE TABLE names (k INT PRIMARY KEY, name STRING);
CREATE VIEW plain AS SELECT at + INTERVAL 1 HOUR AS later, k, x FROM s WHERE x > 0;
CREATE VIEW sums AS SELECT at, SUM(x) OVER (ORDER BY at) AS total FROM s;
CREATE MATERIALIZED VIEW counts AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;
"""


def hour(number):
    return START + timedelta(hours=number)


def text(number):
    return f"TIMESTAMP '{hour(number)}'"


def filled(pipeline, steps=8):
    """A row each hour, at the hour; the clock of a step is that of its row."""
    pipeline.step({"names": [(0, "zero"), (1, "one")]}, clock=hour(0))
    for number in range(steps):
        pipeline.step({"s": [(str(hour(number)), number % 2, number)]}, clock=hour(number))
    return pipeline


@pytest.fixture(scope="module")
def pipeline():
    """A stream from which the rows of hours 0 to 4 have gone."""
    with penstock.Pipeline(PROGRAM.format(history="2 hours"), engine="native") as found:
        yield filled(found)


@pytest.fixture(scope="module")
def whole():
    with penstock.Pipeline(PROGRAM.format(history="all"), engine="native") as found:
        yield filled(found)


ANSWERED = (
    "SELECT * FROM s WHERE at > {4}",
    "SELECT COUNT(*), SUM(x) FROM s WHERE at >= {5}",
    "SELECT x FROM s WHERE at = {6}",
    "SELECT x FROM s WHERE {5} <= at AND k = 1",
    "SELECT x FROM s WHERE at BETWEEN {5} AND {6}",
    "SELECT x FROM s WHERE x > 3 AND at > '2024-01-01 04:00:00'",
    "SELECT x FROM s WHERE at >= '2024-01-01 04:00:00.000001'",
    "SELECT x FROM s WHERE at > {0} + INTERVAL 4 HOURS",
    "SELECT x FROM s WHERE at + INTERVAL 1 HOUR > {5}",
    "SELECT x FROM s WHERE FLOOR(at TO HOUR) >= {5}",
    "SELECT k, x FROM plain WHERE later > {5}",
    "SELECT later FROM (SELECT * FROM plain WHERE k = 1) WHERE later BETWEEN {6} AND {9}",
    "WITH w AS (SELECT * FROM s WHERE at > {4}) SELECT w.x, v.x FROM w JOIN w AS v ON w.k = v.k",
    "SELECT s.x, n.name FROM s LEFT JOIN names n ON s.k = n.k WHERE s.at >= {5}",
    "SELECT n.name, t.x FROM names n LEFT JOIN (SELECT * FROM s WHERE at > {4}) t ON n.k = t.k",
    "SELECT x FROM s WHERE at > {4} UNION ALL SELECT k FROM s WHERE at > {5}",
    "SELECT x, SUM(x) OVER (ORDER BY at) FROM s WHERE at > {4}",
    "SELECT name FROM names WHERE k IN (SELECT k FROM s WHERE at > {6})",
    "SELECT n FROM counts JOIN s USING (k) WHERE at > {4}",
    "SELECT at, x FROM s WHERE at > {4} ORDER BY x DESC LIMIT 2",
    "SELECT x FROM s WHERE at > {4} AS OF STEP 8",
)
REFUSED = (
    "SELECT * FROM s",
    "SELECT * FROM s WHERE at >= {4}",
    "SELECT * FROM s WHERE at > {3}",
    "SELECT * FROM s WHERE at < {6}",
    "SELECT * FROM s WHERE at > {4} OR k = 1",
    "SELECT * FROM s WHERE NOT at > {4}",
    "SELECT * FROM s WHERE x > 4",
    "SELECT * FROM s WHERE at BETWEEN {4} AND {6}",
    "SELECT * FROM s WHERE at > (SELECT MAX(at) FROM s)",
    "SELECT * FROM plain WHERE later >= {5}",
    "SELECT * FROM sums WHERE at > {4}",
    "SELECT s.x, t.x FROM s JOIN s t ON s.k = t.k WHERE s.at > {4}",
    "SELECT n.name, s.x FROM names n LEFT JOIN s ON n.k = s.k AND s.x > 5",
    "SELECT * FROM (SELECT * FROM s LIMIT 3) WHERE at > {4}",
    "SELECT x FROM s WHERE at > {4} UNION ALL SELECT k FROM s",
    "SELECT x FROM s WHERE at > TIMESTAMP '{0}' - INTERVAL 1 DAY AS OF STEP 7",
)


def written(query):
    return re.sub(r"\{(\d)\}", lambda found: text(int(found[1])), query.replace("TIMESTAMP '{0}'", "{0}"))


def asked(pipeline, query):
    return sorted(pipeline.query(written(query)).rows, key=repr)


@pytest.mark.parametrize("query", ANSWERED)
def test_oracle_what_needs_none_of_what_has_gone_is_answered(pipeline, whole, query):
    assert asked(pipeline, query) == asked(whole, query)
    assert asked(whole, query)


@pytest.mark.parametrize("query", REFUSED)
def test_what_needs_more_is_refused_with_a_condition_that_works(pipeline, query):
    with pytest.raises(penstock.DataError, match="reaches back to step 7 only") as refused:
        asked(pipeline, query)
    (found,) = refused.value.diagnostics
    assert (found.code, found.span is not None) == ("HISTORY_GONE", True)
    condition = re.match(r"(WHERE .+) needs no more than there is", found.hint)[1]
    assert pipeline.query(f"SELECT x FROM s {condition} ORDER BY x").rows == [(5,), (6,), (7,)]


def test_the_clock_of_a_query_counts():
    with penstock.Pipeline(PROGRAM.format(history="2 hours"), engine="native") as found:
        now = datetime.now(UTC).replace(tzinfo=None)
        for back in range(7, -1, -1):
            clock = now - timedelta(hours=back)
            found.step({"s": [(str(clock), 0, back)]}, clock=clock)
        recent = "SELECT x FROM s WHERE at > now() - INTERVAL {} MINUTES ORDER BY x"
        assert found.query(recent.format(150)).rows == [(0,), (1,), (2,)]
        with pytest.raises(penstock.DataError, match="reaches back to step 6 only"):
            found.query(recent.format(190))


def test_what_has_gone_is_known_again_after_a_restart(tmp_path):
    program = PROGRAM.format(history="2 hours")
    query = written("SELECT x FROM s WHERE at > {4} ORDER BY x")
    with penstock.Pipeline(program, engine="native", directory=tmp_path) as found:
        filled(found)
        manifest = json.loads((tmp_path / "log" / "steps" / "000000000002.json").read_text())
        assert manifest["tables"]["s"]["latest"] == {"at": {"datetime": "2024-01-01T00:00:00"}}
    for state_is_there in (True, False):
        if not state_is_there:
            shutil.rmtree(tmp_path / "state", ignore_errors=True)
        with penstock.Pipeline(program, engine="native", directory=tmp_path) as found:
            assert found.query(query).rows == [(5,), (6,), (7,)]
            with pytest.raises(penstock.DataError, match="reaches back to step 7 only"):
                found.query(query.replace(">", ">="))


def test_oracle_rows_in_no_order_of_time(monkeypatch):
    """Of rows whose times are in no order the greatest that has gone decides, also where pieces have been merged."""
    monkeypatch.setattr(log, "LOG_PIECES", 3)
    monkeypatch.setattr(log, "HELD_ROWS", 8)
    chosen, rows = random.Random(7), []
    text = "CREATE STREAM s (at TIMESTAMP, d DATE, x INT) WITH ('history' = '3 hours');"
    with penstock.Pipeline(text, engine="native") as found:
        asked = refused = 0
        for step in range(1, 25):
            new = [(hour(chosen.randrange(-20, 20) + step), step * 10 + place) for place in range(chosen.randrange(4))]
            new = [(None if chosen.random() < 0.1 else at, at.date(), x) for at, x in new]
            rows += [(step, *row) for row in new]
            found.step({"s": [(at and str(at), str(day), x) for at, day, x in new]}, clock=hour(step))
            bound = hour(chosen.randrange(-20, 20) + step)
            wanted = sorted(x for _, at, _, x in rows if at is not None and at >= bound)
            kept = found._opened().stepper.log._segments(found.catalog.tables["s"])
            first = min((number for segment in kept for number, _ in segment.steps), default=0)
            lost = any(at is not None and at >= bound for number, at, _, _ in rows if number < first)
            query = f"SELECT x FROM s WHERE at >= TIMESTAMP '{bound}' ORDER BY x"
            try:
                assert [x for (x,) in found.query(query).rows] == wanted
                asked += 1
            except penstock.DataError:
                refused += 1
                assert lost
    assert asked > 5
    assert refused > 5


@pytest.mark.spark
def test_spark_answers_the_same(spark):
    with penstock.Pipeline(PROGRAM.format(history="2 hours"), spark=spark, engine="spark") as found:
        filled(found)
        assert found.query(written("SELECT x FROM s WHERE at > {4} ORDER BY x")).rows == [(5,), (6,), (7,)]
        with pytest.raises(penstock.DataError, match="reaches back to step 7 only"):
            found.query(written("SELECT x FROM s WHERE at >= {4}"))


def test_a_table_without_a_time_has_nothing_to_go_by():
    with penstock.Pipeline("CREATE STREAM s (x INT) WITH ('history' = '2 hours')", engine="native") as found:
        for number in range(6):
            found.step({"s": [(number,)]}, clock=hour(number))
        with pytest.raises(penstock.DataError, match="reaches back to step 4 only") as refused:
            found.query("SELECT x FROM s WHERE x > 4")
    assert refused.value.diagnostics[0].hint == "read a MATERIALIZED view, or keep a longer history"
