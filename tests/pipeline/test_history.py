"""The past: AS OF a step or a time, positions from which queries start, and what is refused."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest
from click.testing import CliRunner

import penstock
from penstock.cli.main import main
from penstock.steps.saved_positions import Position

PROGRAM = """
CREATE STREAM clicks (who INT, at TIMESTAMP NOT NULL LATENESS INTERVAL 0 SECONDS);
CREATE TABLE people (who INT PRIMARY KEY, name STRING);
CREATE MATERIALIZED VIEW per_name AS
SELECT p.name, COUNT(*) AS n FROM clicks c JOIN people p USING (who) GROUP BY p.name;
"""
HOURLY = "SELECT STREAM FLOOR(at TO HOUR) AS h, COUNT(*) AS n FROM clicks GROUP BY FLOOR(at TO HOUR)"


def at(text):
    return datetime.fromisoformat(f"2024-01-01 {text}")


def click(who, time):
    return (who, f"2024-01-01 {time}")


@pytest.fixture
def pipeline():
    with penstock.Pipeline(PROGRAM, engine="native") as found:
        found.step({"people": [(1, "ann"), (2, "bob")]}, clock=at("00:00"))
        found.step({"clicks": [click(1, "10:00"), click(2, "10:20")]}, clock=at("01:00"))
        found.execute("SAVE POSITION here")
        found.step({"clicks": [click(1, "11:00"), click(1, "11:20")]}, clock=at("02:00"))
        found.step({"people": [(1, "zoe")]}, clock=at("03:00"))
        yield found


def shown(query):
    found = []
    while (emission := query.get(0)) is not None:
        found += emission.rows
    return found


@pytest.mark.parametrize(
    ("point", "rows"),
    [
        ("STEP 0", []),
        ("STEP 1", []),
        ("STEP 2", [("ann", 1), ("bob", 1)]),
        ("POSITION here", [("ann", 1), ("bob", 1)]),
        ("POSITION HERE", [("ann", 1), ("bob", 1)]),
        ("STEP 3", [("ann", 3), ("bob", 1)]),
        ("STEP 4", [("bob", 1), ("zoe", 3)]),
        ("TIMESTAMP '2023-12-31 00:00:00'", []),
        ("TIMESTAMP '2024-01-01 02:59:59'", [("ann", 3), ("bob", 1)]),
        ("TIMESTAMP TIMESTAMP '2024-01-01 03:00:00'", [("bob", 1), ("zoe", 3)]),
        ("TIMESTAMP CAST('2024-01-01 05:00:00' AS TIMESTAMP) - INTERVAL 3 HOURS", [("ann", 3), ("bob", 1)]),
    ],
)
def test_tables_streams_and_views_are_as_they_were(pipeline, point, rows):
    assert pipeline.query(f"SELECT * FROM per_name ORDER BY name AS OF {point}").rows == rows


def test_python_and_the_command_line_ask_it_too(pipeline, tmp_path):
    count = "SELECT COUNT(*) FROM clicks"
    asked = [2, at("01:30"), "2024-01-01 01:30:00", "here", pipeline.positions[0]]
    assert [pipeline.query(count, as_of=point).rows for point in asked] == [[(2,)]] * 5
    assert pipeline.query(f"{count} AS OF STEP 1", as_of=3).rows == [(0,)]
    program = tmp_path / "p.sql"
    program.write_text("CREATE TABLE t (x INT); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2);")
    answer = CliRunner().invoke(main, ["query", str(program), "SELECT COUNT(*) AS n FROM t", "--as-of", "1"])
    assert (answer.exit_code, "1" in answer.stdout.split()) == (0, True)


def test_the_clock_of_a_query_is_that_of_its_step_and_set_operations_are_whole(pipeline):
    assert pipeline.query("SELECT now() AS OF STEP 2").rows == [(at("01:00"),)]
    both = "SELECT COUNT(*) FROM clicks UNION ALL SELECT COUNT(*) FROM people AS OF STEP 1"
    assert sorted(pipeline.query(both).rows) == [(0,), (2,)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT * FROM per_name AS OF STEP 9", "NO_SUCH_STEP"),
        ("SELECT * FROM per_name AS OF TIMESTAMP '2030-01-01 00:00:00'", "NO_SUCH_STEP"),
        ("SELECT * FROM per_name AS OF POSITION her", "UNKNOWN_POSITION"),
        ("SELECT * FROM (SELECT * FROM per_name AS OF STEP 1)", "POINT_MISPLACED"),
        ("SELECT * FROM clicks START AT here", "POINT_MISPLACED"),
        ("SELECT * FROM per_name AS OF TIMESTAMP NULL", "BAD_VALUE"),
        ("SELECT * FROM per_name AS OF STEP x", "SYNTAX_ERROR"),
    ],
)
def test_what_cannot_be_asked(pipeline, text, code):
    with pytest.raises(penstock.PenstockError) as refused:
        pipeline.query(text)
    assert [item.code for item in refused.value.diagnostics] == [code]


@pytest.mark.parametrize(
    "text",
    [
        "CREATE VIEW v AS SELECT * FROM clicks AS OF STEP 1",
        "CREATE VIEW v AS SELECT * FROM clicks EMIT CHANGES START AT here",
        "INSERT INTO people SELECT who, 'x' FROM clicks AS OF STEP 1",
        "INSERT INTO people SELECT STREAM who, 'x' FROM clicks START AT here",
    ],
)
def test_a_point_is_of_a_query_alone(pipeline, text):
    with pytest.raises(penstock.SqlError, match="and nowhere else"):
        pipeline.execute(text)
    assert pipeline.steps == 4


def test_words_that_are_names_elsewhere():
    with penstock.Pipeline("CREATE TABLE t (start INT, step INT, position INT)", engine="native") as found:
        found.step({"t": [(1, 2, 3)]})
        assert found.query("SELECT start AS of, step, position FROM t AS start").rows == [(1, 2, 3)]
        assert found.query("SELECT t.start FROM t WHERE start = 1 AS OF STEP 1").rows == [(1,)]


def test_several_queries_start_from_one_position(pipeline):
    here = Position(2, at("01:00"), "here")
    first = pipeline.subscribe(f"{HOURLY} START AT here")
    pipeline.step({"clicks": [click(2, "12:00")]})
    second = pipeline.subscribe(HOURLY, at=here)
    changes = pipeline.subscribe("SELECT who, COUNT(*) AS n FROM clicks GROUP BY who EMIT CHANGES START AT STEP 2")
    other = pipeline.subscribe("SELECT who FROM clicks START AT here EMIT ON UPDATE")
    late = pipeline.subscribe(HOURLY)
    pipeline.step({"clicks": [click(2, "13:00")]})
    hours = [(at("11:00"), 2), (at("12:00"), 1)]
    assert (sorted(shown(first)), sorted(shown(second)), shown(late)) == (hours, hours, [])
    assert sorted(shown(changes)) == [("+I", 1, 2), ("+I", 2, 2)]
    assert sorted(shown(other)) == [(1,), (1,), (2,), (2,)]


def test_rows_of_a_stream_meet_a_table_that_has_not_changed_since(pipeline):
    joined = "SELECT STREAM c.at, p.name FROM clicks c JOIN people p USING (who) START AT"
    with pytest.raises(penstock.DataError, match="people has changed since step 2"):
        pipeline.subscribe(f"{joined} here")
    query = pipeline.subscribe(f"{joined} STEP 4")
    pipeline.step({"clicks": [click(1, "12:00")]})
    assert shown(query) == [(at("12:00"), "zoe")]
    with pytest.raises(penstock.SqlError, match="reads no stream"):
        pipeline.subscribe("SELECT * FROM people START AT here")


def test_positions_are_listed_move_and_go(pipeline, tmp_path):
    pipeline.execute("SAVE POSITION Here; SAVE POSITION other; DROP POSITION other; DROP POSITION IF EXISTS other")
    assert pipeline.positions == (Position(4, at("03:00"), "Here"),)
    with pytest.raises(penstock.SqlError, match="no position other is saved"):
        pipeline.execute("DROP POSITION other")
    assert pipeline.position() == Position(4, at("03:00"))
    with penstock.Pipeline(PROGRAM, engine="native", directory=tmp_path) as kept:
        kept.step({"people": [(1, "ann")]}, clock=at("00:00"))
        saved = kept.position("p")
        kept.position("q")
        assert json.loads((tmp_path / "log" / "positions.json").read_text())["positions"] == [
            {"name": "p", "step": 1, "clock": "2024-01-01T00:00:00"},
            {"name": "q", "step": 1, "clock": "2024-01-01T00:00:00"},
        ]
        again = type(kept._opened().stepper.positions)(tmp_path / "log" / "positions.json")
    assert again.all == (saved, Position(1, at("00:00"), "q"))


def test_more_than_is_kept_is_refused_with_how_much_there_is():
    program = """
    CREATE STREAM s (x INT) WITH ('history' = '2 hours');
    CREATE STREAM n (x INT) WITH ('history' = 'none');
    CREATE TABLE k (x INT PRIMARY KEY, y INT) WITH ('history' = '2 hours');
    """
    with penstock.Pipeline(program, engine="native", directory=None) as found:
        log = found._opened().stepper.log
        for hour in range(6):
            rows = {"s": [(hour,)], "n": [(hour,)], "k": [(hour % 3, hour)]}
            found.step(rows, clock=at("00:00") + timedelta(hours=hour))
        assert log.reaches(found.catalog.tables["s"], 4)
        with pytest.raises(penstock.DataError, match="the history of s reaches back to step 4 only"):
            found.query("SELECT * FROM s AS OF STEP 5")
        with pytest.raises(penstock.SqlError, match="keeps no history"):
            found.query("SELECT * FROM n AS OF STEP 5")
        with pytest.raises(penstock.DataError, match="reaches back to step 4 only"):
            found.subscribe("SELECT STREAM x FROM s START AT STEP 2")
        query = found.subscribe("SELECT STREAM x FROM s START AT STEP 3")
        with pytest.raises(penstock.SqlError, match="keeps no history"):
            found.subscribe("SELECT STREAM x FROM n START AT STEP 5")
        # A key's row is there now, so the log need not reach further back than the point.
        assert sorted(found.query("SELECT * FROM k AS OF STEP 4").rows) == [(0, 3), (1, 1), (2, 2)]
        assert sorted(found.query("SELECT * FROM k AS OF STEP 3").rows) == [(0, 0), (1, 1), (2, 2)]
        with pytest.raises(penstock.DataError, match="the history of k reaches back to step 4 only"):
            found.query("SELECT * FROM k AS OF STEP 2")
        found.step({"s": [(6,)]})
        assert shown(query) == [(3,), (4,), (5,), (6,)]


def test_a_view_with_lateness_has_no_past():
    program = """
    CREATE TABLE t (x INT, at TIMESTAMP);
    CREATE VIEW v AS SELECT * FROM t;
    LATENESS v.at INTERVAL 1 HOUR;
    """
    with penstock.Pipeline(program, engine="native") as found:
        found.step({"t": [click(1, "10:00")]})
        with pytest.raises(penstock.DataError, match="what it had let pass by then is not kept"):
            found.query("SELECT * FROM v AS OF STEP 1")


@pytest.mark.parametrize("engine", ["native", pytest.param("spark", marks=pytest.mark.spark)])
def test_a_view_that_has_no_rows_yet_has_none_though_its_stream_keeps_no_history(engine):
    program = """
    CREATE STREAM sale (customer INT) WITH ('history' = 'none');
    CREATE TABLE customer (id INT PRIMARY KEY) WITH ('history' = 'none');
    CREATE MATERIALIZED VIEW unserved AS
        SELECT id FROM customer c WHERE NOT EXISTS (SELECT 1 FROM sale s WHERE s.customer = c.id);
    CREATE VIEW plain AS SELECT id + 1 AS id FROM unserved;
    """
    with penstock.Pipeline(program, engine=engine) as pipeline:
        pipeline.step({"sale": [(1,)], "customer": [(1,)]})
        assert pipeline.query("SELECT * FROM unserved").rows == []
        assert pipeline.query("SELECT * FROM plain").rows == []
        assert pipeline.content("plain").rows == []
        pipeline.step({"customer": [(2,)]})
        assert pipeline.query("SELECT * FROM plain").rows == pipeline.content("plain").rows == [(3,)]
