"""A program that is proven works, and is asked, changed and looked at, without a JVM."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pytest
from pyspark import SparkContext

import penstock
from penstock.errors import DataError, Diagnostic
from penstock.steps.intake import keystore, rowcounts

PROGRAM = """
CREATE TABLE o (id INT, amount DOUBLE, at TIMESTAMP DEFAULT TIMESTAMP '2020-01-01 00:00:00', seen INT LATENESS 5);
CREATE TABLE k (id INT PRIMARY KEY, name VARCHAR(10));
CREATE MATERIALIZED VIEW v AS SELECT id, SUM(amount) AS s, COUNT(*) AS n, MAX(at) AS m FROM o GROUP BY id;
CREATE VIEW w AS SELECT v.id, CAST(v.n AS STRING) AS x FROM v JOIN o ON v.id = o.id WHERE o.amount > 1;
"""
AT = datetime(2020, 1, 1)  # noqa: DTZ001 - UTC, as all times


class SparkStartedError(Exception):
    """A session has been asked for."""


@pytest.fixture
def pipeline(monkeypatch):
    def refuse(*_, **__):
        raise SparkStartedError

    monkeypatch.setattr("penstock.pipeline.opening.running_session", lambda: None)
    monkeypatch.setattr("penstock.backends.spark.session.running_session", lambda: None)
    monkeypatch.setattr(SparkContext, "getOrCreate", refuse)
    monkeypatch.setattr("penstock.pipeline.opening.open_session", refuse)
    with penstock.Pipeline(PROGRAM, engine="auto") as opened:
        yield opened


def test_statements_are_steps(pipeline):
    inserted = pipeline.execute("INSERT INTO o (id, amount, seen) VALUES (1, 2.5, 1), (2, 3.5, 2), (2, -0.5, 9)")
    assert sorted(inserted["w"].rows) == [(1, (1, "1")), (1, (2, "2"))]
    pipeline.execute("INSERT INTO k VALUES (1, 'ann'), (2, 'bob'), (3, 'cid')")
    pipeline.execute("UPDATE k SET name = concat(name, '!') WHERE id = 2")
    pipeline.execute("DELETE FROM k WHERE id = 1")
    assert pipeline.query("SELECT * FROM k ORDER BY id").rows == [(2, "bob!"), (3, "cid")]
    copied = pipeline.execute("INSERT INTO o SELECT id + 10, amount, at, 10 FROM o WHERE id = 1")
    assert copied["v"].rows == [(1, (11, 2.5, 1, AT))]
    pipeline.execute("ADVANCE o.seen TO 20")
    assert pipeline.waterlines() == {"o.seen": 20}


def test_an_update_reads_other_tables_and_views(pipeline):
    pipeline.execute("INSERT INTO k VALUES (1, 'ann'), (2, 'bob'), (3, 'cid')")
    pipeline.execute("INSERT INTO o (id, amount, seen) VALUES (1, 2.5, 1), (2, 3.5, 2), (2, 4.5, 3)")
    pipeline.execute("UPDATE k SET name = (SELECT MAX(n) FROM v WHERE v.id = k.id) WHERE id IN (SELECT id FROM o)")
    assert pipeline.query("SELECT * FROM k ORDER BY id").rows == [(1, "1"), (2, "2"), (3, "cid")]
    pipeline.execute("UPDATE k AS a SET id = id + (SELECT MAX(id) FROM k), name = 'new' WHERE name < 'b'")
    assert pipeline.query("SELECT * FROM k ORDER BY id").rows == [(3, "cid"), (4, "new"), (5, "new")]
    pipeline.execute(
        "UPDATE o SET amount = (SELECT COUNT(*) FROM k), id = 9 WHERE EXISTS (SELECT 1 FROM v WHERE n > id)"
    )
    assert sorted(pipeline.query("SELECT id, amount FROM o").rows) == [(1, 2.5), (2, 3.5), (2, 4.5)]
    pipeline.execute(
        "UPDATE o SET amount = (SELECT COUNT(*) FROM k), id = 9 WHERE amount > (SELECT MIN(amount) FROM o)"
    )
    assert sorted(pipeline.query("SELECT id, amount FROM o").rows) == [(1, 2.5), (9, 3.0), (9, 3.0)]


def test_an_update_that_reads_too_many_rows_or_gives_none_is_refused(pipeline):
    pipeline.execute("INSERT INTO k VALUES (1, 'ann'), (2, 'bob')")
    with pytest.raises(DataError, match="more than one row"):
        pipeline.execute("UPDATE k SET name = (SELECT name FROM k)")
    with pytest.raises(DataError, match="NOT NULL"):
        pipeline.execute("UPDATE k SET id = (SELECT MAX(id) FROM o)")
    with pytest.raises(DataError, match="10"):
        pipeline.execute("UPDATE k SET name = (SELECT CONCAT(MAX(name), ' with a name too long') FROM k)")
    assert pipeline.query("SELECT * FROM k ORDER BY id").rows == [(1, "ann"), (2, "bob")]


def test_a_transaction_sees_its_own_changes(pipeline):
    pipeline.execute("INSERT INTO k VALUES (1, 'ann')")
    pipeline.begin()
    pipeline.execute("INSERT INTO k VALUES (2, 'bob')")
    pipeline.execute("DELETE FROM k WHERE id = 1")
    assert pipeline.query("SELECT id FROM k").rows == [(2,)]
    pipeline.rollback()
    assert pipeline.query("SELECT id FROM k").rows == [(1,)]


def test_an_answer_is_rows_arrow_and_text(pipeline, capsys):
    pipeline.step({"o": [(1, 2.5, AT, 1), (2, None, None, 2)]})
    found = pipeline.query("SELECT id, s, m FROM v ORDER BY id DESC")
    assert found.rows == list(found) == [(2, None, None), (1, 2.5, AT)]
    assert found.columns == ("id", "s", "m")
    assert found.arrow().schema.types == [pa.int32(), pa.float64(), pa.timestamp("us", "UTC")]
    assert len(found) == 2
    found.show(1)
    assert capsys.readouterr().out.splitlines() == ["id | s    | m", "---+------+-----", " 2 | NULL | NULL", "(1 row)"]
    assert sorted(pipeline.content("v").rows) == [(1, 2.5, 1, AT), (2, None, 1, None)]
    assert pipeline.query("SELECT count(*), min(now()) FROM o").rows[0][0] == 2


@pytest.mark.parametrize("steps", [50, pytest.param(200, marks=pytest.mark.extended)])
def test_the_contents_of_views_follow_many_steps(pipeline, steps):
    for step in range(steps):
        pipeline.step({"o": [(step % 3, 1.0, AT, step)]})
    assert sorted(pipeline.query("SELECT id, n FROM v").rows) == [(at, len(range(at, steps, 3))) for at in range(3)]


def test_a_refused_step_leaves_no_trace_in_contents(pipeline):
    pipeline.step({"k": [(1, "ann")]})
    with pytest.raises(DataError, match="VARCHAR"):
        pipeline.execute("INSERT INTO k VALUES (2, 'much too long a name')")
    with pytest.raises(DataError, match="Division by zero"):
        pipeline.query("SELECT 1 / (id - 1) FROM k")
    assert pipeline.query("SELECT * FROM k").rows == [(1, "ann")]


def test_many_rows_come_and_go(pipeline, monkeypatch):
    for module in (keystore, rowcounts):
        monkeypatch.setattr(module, "HELD_ROWS", 10)
    rows = pa.table({"id": pa.array(range(2000), pa.int32()), "name": [f"n{number % 7}" for number in range(2000)]})
    for given in (rows, rows.to_pandas(), list(zip(*(column.to_pylist() for column in rows.columns), strict=True))):
        pipeline.step({"k": given})
        assert pipeline.query("SELECT count(*), count(DISTINCT name) FROM k").rows == [(2000, 7)]
    pipeline.step(
        {"k": [*(("-", (number,)) for number in range(1000)), *(("~", (number, "x")) for number in range(900, 1100))]}
    )
    assert pipeline.query("SELECT count(*), min(name), count_if(name = 'x') FROM k").rows == [(1000, "n0", 100)]
    pipeline.step({"k": [(number, "y") for number in range(30)]})
    assert pipeline.query("SELECT count(*), count_if(name = 'y') FROM k").rows == [(1030, 30)]


def test_many_rows_without_a_key_are_deleted(pipeline):
    rows = [(number % 50, 1.0, AT, number) for number in range(2000)]
    pipeline.step({"o": rows})
    change = pipeline.step({"o": [("-", row) for row in rows[1996:]] + [(1, 1.0, AT, 3000)] * 600})
    assert (1, (1, 640.0, 640, AT)) in change["v"].rows
    with pytest.raises(DataError, match="row 600: the row to delete is not there"):
        pipeline.step({"o": [(1, 1.0, AT, 3001)] * 599 + [("-", (1, 1.0, AT, 3002))]})
    pipeline.step({"o": [("-", (1, 1.0, AT, 3000))]})
    assert pipeline.query("SELECT count(*) FROM o").rows == [(2595,)]


def test_what_only_spark_knows_asks_for_spark(pipeline):
    with pytest.raises(SparkStartedError):
        pipeline.query("SELECT soundex(name) FROM k")


def test_a_content_that_cannot_follow_refuses_the_step(pipeline, monkeypatch):
    """Its rows are a part of the step: what has no room leaves no trace, and the pipeline goes on."""
    pipeline.step({"o": [(1, 2.5, AT, 1)]})
    with monkeypatch.context() as patched:
        patched.setattr("penstock.engine.view_content.ViewContent.propose", no_room)
        with pytest.raises(DataError, match="no room"):
            pipeline.step({"o": [(2, 1.0, AT, 2)]})
    assert pipeline.content("v").rows == [(1, 2.5, 1, AT)]
    pipeline.step({"o": [(3, 1.0, AT, 2)]})
    assert sorted(pipeline.content("v").rows) == [(1, 2.5, 1, AT), (3, 1.0, 1, AT)]


def no_room(*_):
    raise DataError(Diagnostic("MEMORY_LIMIT", "no room"))


def test_a_view_that_is_gone_gives_its_tables_back(pipeline):
    store = pipeline._opened().stepper.engine.store
    count = "SELECT count(*) FROM duckdb_tables() WHERE NOT temporary"
    pipeline.step({"o": [(1, 2.5, AT, 1)]})
    before = store.value(count)
    pipeline.execute("CREATE VIEW more AS SELECT name, min(id) AS m FROM k GROUP BY name")
    pipeline.step({"k": [(1, "ann")]})
    assert store.value(count) > before
    pipeline.execute("DROP VIEW more")
    assert store.value(count) == before


LATE = """
CREATE MATERIALIZED VIEW sums AS SELECT id, SUM(amount) AS s, COUNT(*) AS n FROM o GROUP BY id;
CREATE MATERIALIZED VIEW named AS SELECT k.name, o.at FROM k JOIN o ON k.id = o.id WHERE o.amount > 1;
CREATE MATERIALIZED VIEW shares AS SELECT 6 / id AS share FROM k;
CREATE MATERIALIZED VIEW rejected AS SELECT table_or_view_name AS name, message FROM error_view;
CREATE MATERIALIZED VIEW early AS SELECT MIN(top) AS least FROM seen;
CREATE MATERIALIZED VIEW bare AS SELECT * FROM k;
CREATE MATERIALIZED VIEW counted AS SELECT COUNT(*) AS n FROM k;
"""


def test_a_view_that_is_made_late_starts_with_what_its_tables_have(pipeline):
    pipeline.execute("CREATE VIEW seen AS SELECT seen AS top FROM o; LATENESS seen.top 100")
    pipeline.execute("INSERT INTO o (id, amount, seen) VALUES (1, 2.5, 10), (2, 3.5, 9), (3, -0.5, 10)")
    pipeline.execute("INSERT INTO o (id, amount, seen) VALUES (4, 1.0, 1)")
    pipeline.execute("INSERT INTO k VALUES (0, 'zed'), (1, 'ann'), (2, 'bob'), (3, 'cid')")
    pipeline.execute("DELETE FROM k WHERE id = 0")  # 6 / 0 is evaluated no more
    pipeline.execute("UPDATE k SET name = 'bert' WHERE id = 2")
    pipeline.execute(LATE)
    pipeline.execute("INSERT INTO k VALUES (4, 'dan')")
    found = {
        name: sorted(pipeline.content(name).rows) for name in pipeline.catalog.views if name not in ("v", "w", "seen")
    }
    assert found == {
        "sums": [(1, 2.5, 1), (2, 3.5, 1), (3, -0.5, 1)],
        "named": [("ann", AT), ("bert", AT)],
        "shares": [(1.5,), (2.0,), (3.0,), (6.0,)],
        "rejected": [("o", "Late value")],
        "early": [(9,)],
        "bare": [(1, "ann"), (2, "bert"), (3, "cid"), (4, "dan")],
        "counted": [(4,)],
    }


def test_rows_that_came_and_went_are_nothing_to_a_late_view(pipeline):
    pipeline.execute("CREATE TABLE plain (x INT)")
    pipeline.execute("INSERT INTO plain VALUES (0), (2)")
    pipeline.execute("DELETE FROM plain WHERE x = 0")
    pipeline.execute("CREATE MATERIALIZED VIEW halves AS SELECT 1 / x AS half FROM plain")
    pipeline.step({"k": [(1, "ann")]})
    assert pipeline.content("halves").rows == [(0.5,)]


@penstock.LaterSession
def no_spark():
    raise SparkStartedError


@pytest.mark.parametrize(("column", "values"), [("INT", [1, 2, 1]), ("DOUBLE", [0.0, float("nan"), -0.0])])
def test_rows_wait_to_be_final(column, values):
    """Rows that are equal become one, those that go while they wait are never shown."""
    program = f"""CREATE TABLE t (at TIMESTAMP LATENESS INTERVAL 1 HOUR, x {column});
        CREATE VIEW v WITH ('emit_final' = 'at') AS SELECT at, x FROM t;"""
    with penstock.Pipeline(program, spark=no_spark, engine="native") as pipeline:
        one, two, three = (f"2024-01-01 10:0{number}:00" for number in range(3))
        for row in ((one, values[0]), (two, values[1]), (one, values[2]), (three, values[1])):
            assert pipeline.step({"t": [row]})["v"].rows == []
        pipeline.execute(f"DELETE FROM t WHERE at = TIMESTAMP '{three}'")
        shown = pipeline.step({"t": [("2024-01-01 12:00:00", None)]})["v"].rows
        assert sorted(weight for weight, _ in shown) == [1, 2]
        assert [row[1] for weight, row in shown if weight == 2] == [values[0]]
        assert len(pipeline.query("SELECT * FROM v").rows) == 4


@pytest.mark.parametrize("retain", ["all", "materialized"])
def test_a_view_of_all_columns_of_a_table_is_kept_in_the_process(retain, tmp_path):
    program = "CREATE TABLE t (k INT, x STRING); CREATE MATERIALIZED VIEW m AS SELECT * FROM t;"
    for times in (1, 2):
        with penstock.Pipeline(program, spark=no_spark, engine="native", retain=retain, directory=tmp_path) as pipeline:
            pipeline.step({"t": [(times, "a"), (times, None)]})
            pipeline.execute("DELETE FROM t WHERE x IS NULL")
            assert sorted(pipeline.query("SELECT k, x FROM m").rows) == [(number + 1, "a") for number in range(times)]
            assert pipeline.content("m").arrow().num_rows == times
