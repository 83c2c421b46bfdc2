"""Standing queries as things a person handles: they begin, are read, end, and do not stand in each other's way."""

from __future__ import annotations

import asyncio

import pytest

import penstock
from penstock.pipeline import standing, subscription
from penstock.steps.events import QueriesEnded

PROGRAM = """CREATE TABLE t (k INT, x INT);
CREATE TABLE s (at TIMESTAMP LATENESS INTERVAL 1 SECOND, x INT);
CREATE VIEW v AS SELECT k, SUM(x) AS total FROM t GROUP BY k;"""
WINDOWS = "FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(at), INTERVAL 5 SECONDS))"


@penstock.LaterSession
def no_spark():
    pytest.fail("Spark was asked for")


@pytest.fixture
def pipeline():
    with penstock.Pipeline(PROGRAM, spark=no_spark) as opened:
        yield opened


def read(query):
    found = []
    while (emission := query.get(0)) is not None:
        found.append(list(emission))
    return found


def test_an_emission_is_the_rows_of_one_step(pipeline):
    query = pipeline.subscribe("SELECT * FROM v EMIT ON UPDATE", clock="2024-01-01 10:00:00")
    pipeline.step({"t": [(1, 2), (1, 3), (2, 4)]}, clock="2024-01-01 10:00:01")
    emission = query.get(0)
    assert sorted(emission) == [(1, 5), (2, 4)]
    assert (emission.columns, emission.step, emission.query) == (("k", "total"), 1, query.name)
    assert (query.get(0), query.shown, len(emission), emission[0] in emission) == (None, 2, 2, True)


def test_a_query_that_begins_late_shows_what_there_is(pipeline):
    pipeline.step({"t": [(1, 2)]})
    query = pipeline.subscribe("SELECT * FROM v EMIT CHANGES")
    pipeline.step({"t": [(1, 3)]})
    assert read(query) == [[("+I", 1, 5)]]
    pipeline.step({"t": [(1, 1), (2, 2)]})
    assert read(query) == [[("-U", 1, 5), ("+U", 1, 6), ("+I", 2, 2)]]


def test_queries_have_names_and_are_no_views(pipeline):
    first, second = (
        pipeline.subscribe("SELECT * FROM v EMIT STREAM"),
        pipeline.subscribe("SELECT 1 EMIT CHANGES", name="one"),
    )
    assert [query.name for query in pipeline.queries] == ["q1", "one"]
    assert set(pipeline.catalog.views) == {"v"}
    assert set(pipeline.step({"t": [(1, 2)]})) == {"v", "error_view"}
    for taken in ("one", "v", "t"):
        with pytest.raises(penstock.SqlError, match="is there already"):
            pipeline.subscribe("SELECT 1", name=taken)
    first.close()
    assert [query.name for query in pipeline.queries] == ["one"]
    pipeline.subscribe("SELECT * FROM v EMIT STREAM", name="q1")
    assert len(second.columns) == 2


def test_what_a_query_reads_stays_until_it_ends(pipeline):
    with pipeline.subscribe("SELECT * FROM v EMIT CHANGES"):
        with pytest.raises(penstock.PenstockError, match="standing query q1 reads it"):
            pipeline.execute("DROP VIEW v")
        pipeline.execute("CREATE VIEW w AS SELECT k FROM t")
        pipeline.step({"t": [(1, 1)]})
    pipeline.execute("DROP VIEW v")


def test_limit_ends_a_query_over_its_life(pipeline):
    query = pipeline.subscribe("SELECT k, x FROM t LIMIT 3 EMIT ON UPDATE")
    for rows in ([(1, 1), (2, 2)], [(3, 3), (4, 4)], [(5, 5)]):
        pipeline.step({"t": rows})
    assert [len(rows) for rows in read(query)] == [2, 1]
    assert query.has_ended
    assert list(query) == []
    assert pipeline.queries == []
    assert read(pipeline.subscribe("SELECT k FROM t LIMIT 0 EMIT ON UPDATE")) == []


def test_order_and_limit_by_are_those_of_what_is_shown(pipeline):
    query = pipeline.subscribe("SELECT k, x FROM t ORDER BY x DESC, k LIMIT 2 BY k EMIT ON UPDATE")
    pipeline.step({"t": [(1, 1), (1, 3), (2, 2), (1, None), (1, 9)]})
    pipeline.step({"t": [(1, 99), (2, 5), (2, 6)]})
    assert read(query) == [[(1, 9), (1, 3), (2, 2)], [(2, 6)]]


def test_a_reader_that_stops_reading_is_told_and_the_rest_goes_on(pipeline, monkeypatch):
    monkeypatch.setattr(standing, "MOST_WAITING", 5)
    slow, other = (
        pipeline.subscribe("SELECT * FROM t EMIT CHANGES"),
        pipeline.subscribe("SELECT * FROM t EMIT ON UPDATE"),
    )
    for at in range(8):
        pipeline.step({"t": [(at, at)]})
        other.get(0)
    assert pipeline.queries == [other]
    waiting = [slow.get(0) for _ in range(5)]
    assert all(item is not None for item in waiting)
    with pytest.raises(penstock.DataError, match="q1 has ended: 6 rows that nobody has read"):
        slow.get(0)
    assert (slow.get(0), slow.shown) == (None, 6), "what comes after the end is not kept"
    assert pipeline.query("SELECT COUNT(*) FROM t").rows == [(8,)]


def test_who_stops_reading_the_changes_of_a_view_is_told_and_the_rest_goes_on(pipeline, monkeypatch):
    monkeypatch.setattr(subscription, "MOST_WAITING", 5)
    slow, other = pipeline.changes("v"), pipeline.changes("v")
    for at in range(4):
        pipeline.step({"t": [(at, at), (at + 10, at)]})
        assert len(other.get(0)) == 2
    assert [len(slow.get(0)) for _ in range(2)] == [2, 2]
    with pytest.raises(penstock.DataError, match="changes of v end here: 6 rows that nobody has read"):
        slow.get(0)
    assert (slow.get(0), slow.get(), list(slow)) == (None, None, []), "what comes after the end is not kept"
    assert pipeline.query("SELECT COUNT(*) FROM v").rows == [(8,)]


def test_a_refused_step_shows_nothing(pipeline):
    query = pipeline.subscribe("SELECT 10 / x AS y FROM t EMIT ON UPDATE")
    pipeline.step({"t": [(1, 5)]})
    with pytest.raises(penstock.DataError):
        pipeline.step({"t": [(1, 2), (1, 0)]})
    pipeline.step({"t": [(1, 1)]})
    assert read(query) == [[(2.0,)], [(10.0,)]]


def test_it_can_be_waited_for_in_a_coroutine(pipeline):
    query = pipeline.subscribe("SELECT k FROM t LIMIT 2 EMIT ON UPDATE")
    pipeline.step({"t": [(1, 1)]})
    pipeline.step({"t": [(2, 1)]})

    async def all_of_it():
        return [list(emission) async for emission in query]

    assert asyncio.run(all_of_it()) == [[(1,)], [(2,)]]


def test_the_end_of_the_input_shows_what_waits(pipeline):
    query = pipeline.subscribe(f"SELECT window_end, SUM(x) {WINDOWS} GROUP BY window_end EMIT AFTER WATERMARK")
    pipeline.step({"s": [("2024-01-01 00:00:01", 1), ("2024-01-01 00:00:02", 2)]})
    assert read(query) == []
    pipeline.end_of_input()
    assert [row[1] for (row,) in read(query)] == [3]
    pipeline.step({"s": [("2024-01-01 00:00:04", 9), ("2024-01-01 00:00:30", 1)]})  # what comes all the same
    pipeline.step({"s": [("2024-01-01 00:01:30", 1)]})
    assert [row[1] for (row,) in read(query)] == [1]


@pytest.mark.parametrize("silence", [True, False])
def test_rows_behind_the_end_are_late_for_a_waterline_of_the_query(silence):
    text = (
        "SELECT window_end, SUM(x) FROM TABLE(TUMBLE(TABLE p, DESCRIPTOR(at), INTERVAL 5 SECONDS)) GROUP BY window_end"
    )
    with penstock.Pipeline("CREATE TABLE p (at TIMESTAMP, x INT)", spark=no_spark) as pipeline:
        start = "2024-01-01 10:00:00"
        query = pipeline.subscribe(f"{text} EMIT AFTER WATERMARK AND TIMEOUT 3s", clock=start)
        pipeline.step({"p": [("2024-01-01 00:00:01", 1)]}, clock=start)
        if silence:
            pipeline.step({}, clock="2024-01-01 10:00:03")
        else:
            pipeline.end_of_input()
        assert [row[1] for (row,) in read(query)] == [1]
        pipeline.step({"p": [("2024-01-01 00:00:04", 9), ("2024-01-01 00:00:05", 7)]}, clock="2024-01-01 10:00:04")
        pipeline.step({"p": [("2024-01-01 00:00:10", 1)]}, clock="2024-01-01 10:00:04")
        assert [row[1] for (row,) in read(query)] == [7]
        assert pipeline.rejected() == {(f"{query.name} (rows)", "Late value"): 1}


def test_closing_the_pipeline_ends_its_queries(pipeline):
    query = pipeline.subscribe("SELECT k FROM t EMIT ON UPDATE")
    pipeline.step({"t": [(1, 1)]})
    pipeline.close()
    assert [list(emission) for emission in query] == [[(1,)]]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT k FROM (SELECT k FROM t EMIT CHANGES) EMIT CHANGES", "EMIT_IN_SUBQUERY"),
        ("SELECT k FROM t EMIT CHANGES EMIT STREAM", "EMIT_CLAUSE"),
        ("SELECT k, SUM(x) FROM t GROUP BY k EMIT AFTER WATERMARK", "NO_WATERLINE"),
        ("SELECT k FROM t EMIT PERIODIC 0s", "EMIT_LENGTH"),
        ("SELECT k FROM t EMIT PERIODIC -1s", "EMIT_LENGTH"),
        ("SELECT k FROM t EMIT PERIODIC 1M", "EMIT_LENGTH"),
        ("SELECT k FROM t EMIT DELTA PERIODIC 1s", "EMIT_FORM"),
        ("SELECT k, SUM(x) AS s FROM t GROUP BY k EMIT PER EVENT", "PER_EVENT"),
        (f"SELECT window_end, SUM(x) {WINDOWS} GROUP BY window_end EMIT CHANGES AFTER WATERMARK", "EMIT_FORM"),
        (
            f"SELECT window_end, SUM(x) {WINDOWS} PARTITION BY nothing GROUP BY window_end EMIT AFTER WATERMARK",
            "UNKNOWN_COLUMN",
        ),
        ("SELECT k FROM t LIMIT k EMIT CHANGES", "BAD_LIMIT"),
        ("SELECT nothing FROM t EMIT CHANGES", "UNKNOWN_COLUMN"),
        ("INSERT INTO t VALUES (1, 1)", "NOT_A_QUERY"),
    ],
)
def test_what_cannot_stand_is_refused_and_leaves_nothing(pipeline, text, code):
    with pytest.raises(penstock.PenstockError) as refused:
        pipeline.subscribe(text)
    assert refused.value.code == code, refused.value.render()
    assert pipeline.queries == []
    assert pipeline.step({"t": [(1, 1)]})["v"].rows == [(1, (1, 1))]


def test_a_query_with_emit_is_not_answered_once(pipeline):
    with pytest.raises(penstock.UnsupportedError, match="EMIT CHANGES") as refused:
        pipeline.query("SELECT k FROM t EMIT CHANGES")
    assert "subscribe()" in refused.value.render()


def test_a_view_with_emit_is_shown_by_its_policy_and_read_as_it_is():
    program = f"""CREATE TABLE s (at TIMESTAMP, x INT);
    CREATE VIEW w AS SELECT window_end, SUM(x) AS total {WINDOWS} GROUP BY window_end EMIT AFTER WATERMARK;
    CREATE VIEW most AS SELECT MAX(total) AS m FROM w;
    CREATE VIEW c AS SELECT COUNT(*) AS n FROM s EMIT CHANGES"""
    with penstock.Pipeline(program, spark=no_spark) as pipeline:
        changes = pipeline.step({"s": [("2024-01-01 00:00:01", 3)]})
        assert (changes["w"].rows, changes["most"].rows) == ([], [(1, (3,))])
        assert (changes["c"].columns, changes["c"].rows) == (("change", "n"), [(1, ("+I", 1))])
        changes = pipeline.step({"s": [("2024-01-01 00:00:06", 1)]})
        assert [row[1] for _, row in changes["w"].rows] == [3]
        assert [row for _, row in changes["c"].rows] == [("-U", 1), ("+U", 2)]
        assert sorted(row[1] for row in pipeline.query("SELECT * FROM w").rows) == [1, 3]
        pipeline.execute("DROP VIEW c")
        pipeline.execute("CREATE OR REPLACE VIEW most AS SELECT MIN(total) AS m FROM w EMIT ON UPDATE")
        assert pipeline.step({"s": [("2024-01-01 00:00:20", 9)]})["most"].rows == [(1, (1,))]
        assert pipeline.queries == []
        with pytest.raises(penstock.SqlError, match="LOCAL"):
            pipeline.execute("CREATE LOCAL VIEW l AS SELECT x FROM s EMIT CHANGES")
        with pytest.raises(penstock.SqlError, match="PERIODIC"):
            pipeline.execute("CREATE VIEW l AS SELECT x FROM s EMIT PERIODIC 0s")
        assert set(pipeline.catalog.views) == {"w", "most"}


def ended(folder, text, **how):
    """The queries that are said to have ended when a directory is opened, with what then is done."""
    told = []
    with penstock.Pipeline(text, engine="native", directory=folder, on_event=told.append, **how) as pipeline:
        assert pipeline.steps == 1
    return [line for event in told if isinstance(event, QueriesEnded) for line in str(event).splitlines()]


def test_queries_that_ended_with_their_session_are_named_once(tmp_path):
    table = "CREATE TABLE t (k INT); CREATE TABLE u (n BIGINT);"
    long = f"SELECT COUNT(*) AS n\n  FROM t WHERE k IN ({', '.join(map(str, range(90)))}) EMIT CHANGES"
    with penstock.Pipeline(table, engine="native", directory=tmp_path) as pipeline:
        pipeline.step({"t": [(1,)]})
        pipeline.subscribe("SELECT k FROM t EMIT CHANGES", name="mine")
        pipeline.subscribe(long)
        pipeline.subscribe("SELECT k + 1 AS k FROM t EMIT CHANGES", lasting=True)
        pipeline.subscribe("SELECT k FROM t EMIT CHANGES", name="closed").close()
    lines = ended(tmp_path, table)
    assert lines[0] == "query mine ended with the session that asked it: SELECT k FROM t EMIT CHANGES"
    assert lines[1].startswith(
        "query q1 ended with the session that asked it: SELECT COUNT(*) AS n FROM t WHERE k IN (0,"
    )
    assert lines[1].endswith("…")
    assert len(lines) == 2
    assert ended(tmp_path, table) == []
    assert not (tmp_path / "queries.json").exists()


def test_a_session_that_was_killed_says_so_too(tmp_path):
    table = "CREATE TABLE t (k INT);"
    with penstock.Pipeline(table, engine="native", directory=tmp_path) as pipeline:
        pipeline.step({"t": [(1,)]})
        pipeline.subscribe("SELECT k FROM t EMIT CHANGES", name="mine")
        left = (tmp_path / "queries.json").read_text()
        pipeline.queries[0].close()
        pipeline.execute("CREATE VIEW v AS SELECT 1 AS one")
        assert not (tmp_path / "queries.json").exists()
    (tmp_path / "queries.json").write_text(left)
    assert [line.partition(":")[0] for line in ended(tmp_path, table)] == [
        "query mine ended with the session that asked it"
    ]
