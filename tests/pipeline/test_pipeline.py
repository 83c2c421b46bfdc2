# ruff: noqa: DTZ001 - points in time are naive UTC datetimes, at the API too
"""A pipeline from outside: steps, statements, transactions, what is refused, what is verified."""

import threading
from datetime import datetime

import pandas as pd
import pyarrow as pa
import pytest

import penstock

PROGRAM = """
CREATE TABLE orders (id INT PRIMARY KEY, customer STRING, amount BIGINT);
CREATE TABLE clicks (page STRING, at TIMESTAMP LATENESS INTERVAL 1 HOUR);
CREATE VIEW totals AS SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer;
CREATE MATERIALIZED VIEW pages AS SELECT page, COUNT(*) AS n FROM clicks GROUP BY page;
CREATE LOCAL VIEW large AS SELECT * FROM orders WHERE amount >= 100;
CREATE VIEW counted AS SELECT COUNT(*) AS n FROM large;
CREATE VIEW errors AS SELECT message, COUNT(*) AS n FROM error_view GROUP BY message;
"""


@pytest.fixture
def pipeline(spark):
    with penstock.Pipeline(PROGRAM, spark=spark) as found:
        yield found


def rows(changes, view):
    return sorted(changes[view].rows, key=repr)


def content(frame):
    return sorted((tuple(row) for row in frame.rows), key=repr)


def test_the_first_step_shows_what_views_answer_over_empty_tables(pipeline):
    changes = pipeline.step()
    assert rows(changes, "counted") == [(1, (0,))]
    assert rows(changes, "totals") == []
    assert "large" not in changes
    assert pipeline.step()["counted"].rows == []


def test_upserts_deletes_and_partial_updates_by_key(pipeline):
    assert rows(pipeline.step({"orders": [(1, "ann", 10), (2, "bob", 200)]}), "totals") == [
        (1, ("ann", 10)),
        (1, ("bob", 200)),
    ]
    changes = pipeline.step({"ORDERS": [("~", (1, None, 150)), ("-", (2,)), ("-", (9,))]})
    assert rows(changes, "totals") == [(-1, ("ann", 10)), (-1, ("bob", 200)), (1, ("ann", 150))]
    assert changes["counted"].rows == []
    assert all(pipeline.verify(view) for view in ("totals", "pages", "counted", "errors"))


def test_a_refused_step_leaves_no_trace(pipeline):
    pipeline.step({"orders": [(1, "ann", 10)], "clicks": [("home", "2024-01-01 10:00:00")]})
    for bad in (
        {"orders": [(1, "ann", 99)], "clicks": [("-", ("home", "2024-01-01 11:00:00"))]},
        {"orders": [(1, "ann", 99), (2, "bob", "many")]},
        {"orders": [(1, "ann", 99)], "nothing": []},
    ):
        with pytest.raises(penstock.DataError):
            pipeline.step(bad)
    assert pipeline.steps == 1
    assert rows(pipeline.step({"orders": [(2, "bob", 1)]}), "totals") == [(1, ("bob", 1))]
    assert pipeline.verify("totals")


def test_late_rows_go_to_the_error_view_which_views_read(pipeline):
    pipeline.step({"clicks": [("home", "2024-01-01 10:00:00")]})
    changes = pipeline.step({"clicks": [("home", "2024-01-01 08:59:59"), ("home", datetime(2024, 1, 1, 9))]})
    ((weight, (table, message, metadata)),) = changes["error_view"].rows
    assert (weight, table, message) == (1, "clicks", "Late value")
    assert metadata == '{"page": "home", "at": "2024-01-01 08:59:59"}'
    assert rows(changes, "errors") == [(1, ("Late value", 1))]
    assert content(pipeline.query("SELECT message FROM error_view")) == [("Late value",)]
    assert pipeline.waterlines() == {"clicks.at": datetime(2024, 1, 1, 9)}
    assert pipeline.rejected() == {("clicks", "Late value"): 1}


def test_advance_moves_the_waterline_in_a_step_of_its_own(pipeline):
    pipeline.execute("ADVANCE clicks.at TO TIMESTAMP '2024-01-01 12:00:00'")
    changes = pipeline.step({"clicks": [("home", "2024-01-01 11:59:59"), ("home", "2024-01-01 12:00:00")]})
    assert rows(changes, "pages") == [(1, ("home", 1))]
    with pytest.raises(penstock.SqlError, match="needs a column with LATENESS"):
        pipeline.execute("ADVANCE orders.id TO 5")


def test_statements_are_steps(pipeline):
    assert rows(pipeline.execute("INSERT INTO orders VALUES (1, 'ann', 10), (2, 'bob', 20)"), "totals") == [
        (1, ("ann", 10)),
        (1, ("bob", 20)),
    ]
    pipeline.execute("INSERT INTO orders (id, amount) SELECT id + 10, amount FROM orders WHERE customer = 'ann'")
    assert rows(pipeline.execute("UPDATE orders SET amount = amount + 1, customer = 'cid' WHERE id = 2"), "totals") == [
        (-1, ("bob", 20)),
        (1, ("cid", 21)),
    ]
    pipeline.execute("UPDATE orders SET id = id + 1")
    assert content(pipeline.query("SELECT id, customer, amount FROM orders")) == [
        (12, None, 10),
        (2, "ann", 10),
        (3, "cid", 21),
    ]
    assert rows(pipeline.execute("DELETE FROM orders WHERE customer IS NULL"), "totals") == [(-1, (None, 10))]
    assert pipeline.verify("totals")


def test_rows_without_a_key_are_updated_and_deleted_by_value(pipeline):
    pipeline.step({"clicks": [("a", None), ("a", None), ("b", None)]})
    assert rows(pipeline.execute("UPDATE clicks SET page = 'c' WHERE page = 'a'"), "pages") == [
        (-1, ("a", 2)),
        (1, ("c", 2)),
    ]
    assert rows(pipeline.execute("DELETE FROM clicks"), "pages") == [(-1, ("b", 1)), (-1, ("c", 2))]


def test_a_transaction_is_one_step_and_sees_itself(pipeline):
    pipeline.step({"orders": [(1, "ann", 10)]})
    changes = pipeline.execute("""
        BEGIN;
        INSERT INTO orders VALUES (2, 'ann', 5);
        UPDATE orders SET amount = amount * 2 WHERE customer = 'ann';
        DELETE FROM orders WHERE amount = 20;
        COMMIT
    """)
    assert pipeline.steps == 2
    assert rows(changes, "totals") == [(-1, ("ann", 10)), (1, ("ann", 10))] or rows(changes, "totals") == []
    assert content(pipeline.query("SELECT id, amount FROM orders")) == [(2, 10)]


def test_rollback_leaves_no_trace_and_a_refused_statement_keeps_the_transaction(pipeline):
    pipeline.execute("BEGIN; INSERT INTO orders VALUES (1, 'ann', 10)")
    assert content(pipeline.query("SELECT id FROM orders")) == [(1,)]
    with pytest.raises(penstock.PenstockError):
        pipeline.step({"clicks": [("-", ("none", None))]})
    assert pipeline.in_transaction
    pipeline.execute("ROLLBACK")
    assert content(pipeline.query("SELECT id FROM orders")) == []
    assert pipeline.steps == 0
    with pytest.raises(penstock.SqlError, match="no transaction"):
        pipeline.execute("COMMIT")


def test_rows_and_statements_in_one_step(pipeline):
    changes = pipeline.step({"orders": [(1, "ann", 10)]}, sql="UPDATE orders SET amount = 11")
    assert rows(changes, "totals") == [(1, ("ann", 11))]
    assert pipeline.steps == 1


def test_pandas_arrow_and_dataframes(pipeline, spark):
    pipeline.step({"orders": pd.DataFrame({"id": [1, 2], "customer": ["ann", None], "amount": [1.0, None]})})
    pipeline.step(
        {"orders": pa.table({"id": [2], "__op": ["-"], "customer": [None], "amount": pa.array([None], pa.int64())})}
    )
    frame = spark.createDataFrame([(3, "cid", 1), (3, "cid", 2)], "id INT, customer STRING, amount INT")
    with pytest.raises(penstock.DataError) as error:
        pipeline.step({"orders": frame})
    assert error.value.code == "DUPLICATE_KEY"
    pipeline.step({"orders": frame.selectExpr("*", "-amount AS __seq")})
    assert content(pipeline.query("SELECT id, customer, amount FROM orders")) == [(1, "ann", 1), (3, "cid", 1)]
    with pytest.raises(penstock.DataError, match="found STRING, expected BIGINT"):
        pipeline.step({"orders": spark.createDataFrame([(3, "cid", "x")], "id INT, customer STRING, amount STRING")})


def test_a_large_dataframe_stays_with_spark(pipeline, spark):
    pipeline.step({"orders": [(7, "ann", 1), (8, "old", 1)]})
    frame = (
        spark.range(60_000)
        .selectExpr("CAST(id AS INT) AS id", "'c' || id % 2 AS customer", "1L AS amount")
        .where("id <> 8")
    )
    assert rows(pipeline.step({"orders": frame}), "totals") == [
        (-1, ("ann", 1)),
        (1, ("c0", 29_999)),
        (1, ("c1", 30_000)),
    ]
    assert rows(pipeline.step({"orders": [("-", (7,)), (9, "ann", 1), (70_000, "ann", 1)]}), "totals") == [
        (-1, ("c1", 30_000)),
        (1, ("ann", 2)),
        (1, ("c1", 29_998)),
    ]
    clicks = spark.range(60_000).selectExpr(
        "'p' AS page", "TIMESTAMP '2024-01-01' + make_dt_interval(0, 0, 0, id) AS at"
    )
    pipeline.step({"clicks": clicks})
    assert pipeline.waterlines()["clicks.at"] == datetime(2024, 1, 1, 15, 39, 59)
    changes = pipeline.step({"clicks": clicks.selectExpr("*", "'-' AS __op")})
    assert rows(changes, "pages") == [(-1, ("p", 60_000)), (1, ("p", 56_399))]
    assert len(changes["error_view"].rows) == 56_399
    assert pipeline.verify("pages")
    assert pipeline.verify("totals")


def test_a_view_that_comes_late_starts_with_its_whole_content(pipeline):
    pipeline.step({"orders": [(1, "ann", 10)], "clicks": [("a", None), ("a", None)]})
    pipeline.execute("CREATE VIEW everything AS SELECT page, customer FROM clicks CROSS JOIN orders")
    assert content(pipeline.query("SELECT * FROM everything")) == [("a", "ann"), ("a", "ann")]
    with pytest.raises(penstock.DataError, match="has not had a step"):
        pipeline.verify("everything")
    changes = pipeline.step({"clicks": [("-", ("a", None))]})
    assert rows(changes, "everything") == [(1, ("a", "ann"))]
    assert rows(changes, "pages") == [(-1, ("a", 2)), (1, ("a", 1))]
    pipeline.execute("DROP VIEW everything")
    assert "everything" not in pipeline.step()


def test_an_expression_that_raises_fails_the_step_with_view_and_place(pipeline):
    pipeline.step({"orders": [(1, "ann", 10)]})
    pipeline.execute("CREATE VIEW shares AS SELECT id, 100 / amount AS share FROM orders")
    pipeline.step()
    with pytest.raises(penstock.DataError) as error:
        pipeline.step({"orders": [(2, "bob", 0)]})
    assert "view shares: Division by zero" in error.value.render()
    assert rows(pipeline.step({"orders": [(2, "bob", 50)]}), "shares") == [(1, (2, 2.0))]


def test_the_clock_is_the_steps(pipeline):
    pipeline.execute("CREATE VIEW stamped AS SELECT id, now() AS at FROM orders")
    changes = pipeline.step({"orders": [(1, "ann", 1)]}, clock="2024-12-12 00:00:00")
    assert rows(changes, "stamped") == [(1, (1, datetime(2024, 12, 12)))]
    assert rows(pipeline.step(), "stamped") == []
    assert rows(pipeline.step(clock=datetime(2024, 12, 13)), "stamped") == [
        (-1, (1, datetime(2024, 12, 12))),
        (1, (1, datetime(2024, 12, 13))),
    ]


def test_subscribers_get_changes_as_they_are_committed(pipeline):
    subscription = pipeline.changes("totals")
    pipeline.step({"clicks": [("a", None)]})
    pipeline.step({"orders": [(1, "ann", 1)]})
    pipeline.close()
    assert [change.rows for change in subscription] == [[(1, ("ann", 1))]]


def test_closing_waits_for_the_step_of_another_thread(spark):
    stepping, wait, ended = threading.Event(), threading.Event(), []

    def held_up(_):
        stepping.set()
        wait.wait(1)
        ended.append(True)

    with penstock.Pipeline(PROGRAM, spark=spark, on_event=held_up) as pipeline:
        subscription = pipeline.changes("totals")
        thread = threading.Thread(target=pipeline.step, args=[{"orders": [(1, "ann", 1)]}])
        thread.start()
        assert stepping.wait(60)
        pipeline.close()
        assert ended == [True]
        assert [change.rows for change in subscription] == [[(1, ("ann", 1))]]
        thread.join()


def test_a_history_that_is_not_kept_cannot_be_asked(spark):
    with penstock.Pipeline(
        "CREATE STREAM s (a INT) WITH ('history' = 'none'); CREATE VIEW n AS SELECT COUNT(*) AS n FROM s", spark=spark
    ) as pipeline:
        assert rows(pipeline.step({"s": [(1,), (2,)]}), "n") == [(1, (2,))]
        with pytest.raises(penstock.SqlError, match="Cannot convert stream 's' to relation"):
            pipeline.query("SELECT * FROM s")
        with pytest.raises(penstock.SqlError, match="Cannot convert stream 's' to relation"):
            pipeline.execute("CREATE VIEW late AS SELECT a FROM s")
        assert rows(pipeline.step({"s": [(3,)]}), "n") == [(-1, (2,)), (1, (3,))]


def test_the_log_has_a_manifest_for_each_step(spark, tmp_path):
    import json

    with penstock.Pipeline(PROGRAM, spark=spark, directory=tmp_path) as pipeline:
        pipeline.step({"clicks": [("a", "2024-01-01 10:00:00")]}, clock="2024-01-01 12:00:00")
        with pytest.raises(penstock.DataError):
            pipeline.step({"clicks": [("-", ("b", None))]})
        pipeline.step({"clicks": [("-", ("a", "2024-01-01 10:00:00"))]})
        assert content(pipeline.query("SELECT * FROM clicks")) == []
    manifests = sorted((tmp_path / "log" / "steps").iterdir())
    assert [path.name for path in manifests] == ["000000000001.json", "000000000002.json"]
    first = json.loads(manifests[0].read_text())
    assert (first["step"], first["clock"], first["tables"]["clicks"]["rows"]) == (1, "2024-01-01T12:00:00", 1)
    assert (tmp_path / "log" / first["tables"]["clicks"]["file"]).exists()
    with penstock.Pipeline(PROGRAM, spark=spark, directory=tmp_path) as again:
        assert (again.steps, content(again.query("SELECT * FROM clicks"))) == (2, [])
    with pytest.raises(penstock.DataError, match="belongs to another program"):
        penstock.Pipeline("CREATE TABLE clicks (a INT);", spark=spark, directory=tmp_path).step()


def test_state_of_a_dropped_view_is_not_merged(spark):
    program = """CREATE TABLE t (at TIMESTAMP LATENESS INTERVAL 1 SECOND, x INT); CREATE TABLE u (x INT);
        CREATE VIEW v AS SELECT at, max(x) AS m FROM t GROUP BY at; CREATE VIEW w AS SELECT x FROM u;"""
    with penstock.Pipeline(program, spark=spark, engine="spark") as pipeline:
        workspace = pipeline._opened().stepper.engine.workspace
        workspace.driver_rows = workspace.memory_rows = 0
        for second in range(3):
            pipeline.step({"t": [(f"2024-01-01 00:00:0{second}", second)]})
        pipeline.execute("DROP VIEW v; DROP TABLE t;")
        assert pipeline.step({"u": [(1,)]})["w"].rows == [(1, (1,))]


@pytest.mark.parametrize("place", ["stage", "pieces"])
def test_ctrl_c_in_the_middle_of_a_step_leaves_no_trace(pipeline, monkeypatch, place):
    pipeline.step({"orders": [(1, "ann", 10)], "clicks": [("a", None)]})
    log = pipeline._execution.stepper.log

    def interrupted(*_, **_named):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(log, place, interrupted)
        with pytest.raises(KeyboardInterrupt):
            pipeline.step({"orders": [(1, "ann", 11)], "clicks": [("-", ("a", None))]})
    assert pipeline.steps == 1
    changes = pipeline.step({"orders": [(1, "ann", 12)], "clicks": [("-", ("a", None))]})
    assert rows(changes, "totals") == [(-1, ("ann", 10)), (1, ("ann", 12))]
    assert rows(changes, "pages") == [(-1, ("a", 1))]
    assert pipeline.verify("totals")


def test_importing_penstock_imports_no_pyspark():
    import subprocess
    import sys

    code = "import sys, penstock, penstock.sql.parse; assert 'pyspark' not in sys.modules; print(penstock.__version__)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).returncode == 0


def test_the_time_zone_stays_once_there_are_rows(spark):
    text = "CREATE TABLE t (ts TIMESTAMP); CREATE VIEW v AS SELECT CAST(ts AS DATE) AS d FROM t;"
    with penstock.Pipeline(text, spark=spark) as pipeline:
        pipeline.execute("SET TIME ZONE 'Asia/Tokyo'")
        pipeline.step({"t": [("2024-01-01 23:30:00",)]})
        with pytest.raises(penstock.SqlError, match="the time zone cannot change after the first step"):
            pipeline.execute("SET TIME ZONE 'UTC'")
        pipeline.execute("SET TIME ZONE 'Asia/Tokyo'")
        assert [weight for weight, _ in pipeline.execute("DELETE FROM t")["v"].rows] == [-1]


def test_a_step_that_is_stopped_before_its_commit_leaves_nothing_behind(spark, monkeypatch):
    from penstock.steps import stepper

    text = "CREATE TABLE t (k INT, x INT); CREATE VIEW v AS SELECT k, max(x) AS m FROM t WHERE x > 0 GROUP BY k;"

    def stopped():
        raise KeyboardInterrupt

    with penstock.Pipeline(text, spark=spark) as pipeline:
        pipeline.step({"t": [(9, 9)]})
        with monkeypatch.context() as patched:
            patched.setattr(stepper, "uninterrupted", stopped)
            with pytest.raises(KeyboardInterrupt):
                pipeline.step({"t": [(1, 5)]})
        pipeline.step({"t": [(2, -1)]})
        assert pipeline.step({"t": [(1, 3)]})["v"].rows == [(1, (1, 3))]
        assert pipeline.verify("v")


def test_a_view_that_is_replaced_shows_its_own_rows(spark):
    program = "CREATE TABLE t (a INT); CREATE VIEW v AS SELECT a FROM t;"
    with penstock.Pipeline(program, spark=spark) as pipeline:
        replaced = "CREATE OR REPLACE VIEW v AS SELECT a, a + 1 AS b FROM t"
        changes = pipeline.execute(f"INSERT INTO t VALUES (1); {replaced}; INSERT INTO t VALUES (2)")
        assert rows(changes, "v") == [(1, (1, 2)), (1, (2, 3))]
