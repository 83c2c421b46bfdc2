"""A WATERMARK on a computed column: rows are late by its value, which is made when they come and is kept with them."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiers import examples

import penstock
from penstock.backends.thresholds import DRIVER_ROWS
from penstock.bind.program.compile import compile_program
from penstock.engine.foreseeing import foreseen
from penstock.errors import DataError, SqlError, UnsupportedError
from penstock.explain import explain

VIEWS = """
CREATE VIEW counted AS SELECT date_trunc('MINUTE', at) AS minute, COUNT(*) AS n, SUM(a) AS s FROM t GROUP BY 1;
CREATE VIEW closed AS SELECT window_start, COUNT(*) AS n
  FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL 10 SECONDS))
  GROUP BY window_start, window_end EMIT AFTER WATERMARK;
CREATE VIEW kept AS SELECT * FROM t;
"""
TERM = "timestamp_seconds(a + b)"
COMPUTED = f"CREATE TABLE t (a INT, b INT, at AS {TERM}, WATERMARK FOR at AS at - INTERVAL 5 SECONDS);"
DECLARED = "CREATE TABLE t (a INT, b INT, at TIMESTAMP LATENESS INTERVAL 5 SECONDS);"
START = datetime(1970, 1, 1)  # noqa: DTZ001 - UTC
Row = tuple[int | None, int | None]

numbers = st.one_of(st.none(), st.integers(0, 60))
steps = st.lists(st.lists(st.tuples(numbers, numbers), max_size=6), max_size=5)


def at(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


def told(row: Row) -> tuple[int | None, int | None, datetime | None]:
    """A row with its time, as somebody would give it who computes it."""
    a, b = row
    return a, b, None if a is None or b is None else at(a + b)


def rows_of(pipeline: penstock.Pipeline, view: str = "kept") -> list[tuple[Any, ...]]:
    return sorted(pipeline.content(view).rows, key=repr)


def seen(pipeline: penstock.Pipeline) -> dict[str, Any]:
    found: dict[str, Any] = {name: rows_of(pipeline, name) for name in ("counted", "kept")}
    found["rejected"] = sorted(pipeline.query("SELECT message, metadata FROM error_view").rows)
    found["waterlines"] = [fact for fact in pipeline.waterline_facts() if fact.relation == "t"]
    return found


def changes(step: dict[str, penstock.Change]) -> dict[str, list[Any]]:
    return {name: sorted(change.rows, key=repr) for name, change in step.items()}


@examples(5, 20)
@given(steps)
def test_it_is_as_a_column_that_whoever_brings_the_rows_computes(brought):
    with (
        penstock.Pipeline(COMPUTED + VIEWS, engine="native") as one,
        penstock.Pipeline(DECLARED + VIEWS, engine="native") as other,
    ):
        for rows in brought:
            assert changes(one.step({"t": rows})) == changes(other.step({"t": [told(row) for row in rows]}))
            assert seen(one) == seen(other)


KEYED = f"CREATE TABLE t (a INT PRIMARY KEY, b INT, at AS {TERM}, WATERMARK FOR at AS at - INTERVAL 5 SECONDS);"
KEYED_TOO = "CREATE TABLE t (a INT PRIMARY KEY, b INT, at TIMESTAMP LATENESS INTERVAL 5 SECONDS);"
OF_VERSIONS = """
CREATE TABLE asked (a INT, at TIMESTAMP LATENESS INTERVAL 9 SECONDS);
CREATE VIEW counted AS SELECT COUNT(*) AS n, SUM(b) AS s, MAX(at) AS last FROM t;
CREATE VIEW kept AS SELECT asked.a, asked.at, t.b, t.at AS since
  FROM asked JOIN t FOR SYSTEM_TIME AS OF asked.at ON t.a = asked.a;
"""


def ended(operation: str, row: Row) -> tuple[int | None, int | None, datetime | None]:
    """A row of a key with its time; a deletion does not say until when the row has been there."""
    return told(row) if operation == "+" else (*row, None)


some = st.lists(st.tuples(st.sampled_from("+-"), st.tuples(st.integers(0, 3), numbers)), max_size=5)


@examples(5, 20)
@given(st.lists(st.tuples(some, st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60)), max_size=3)), max_size=4))
def test_the_versions_of_a_key_go_by_it(brought):
    with (
        penstock.Pipeline(KEYED + OF_VERSIONS, engine="native") as one,
        penstock.Pipeline(KEYED_TOO + OF_VERSIONS, engine="native") as other,
    ):
        for rows, questions in brought:
            asked = [(a, at(seconds)) for a, seconds in questions]
            mine = one.step({"t": rows, "asked": asked})
            theirs = other.step({"t": [(operation, ended(operation, row)) for operation, row in rows], "asked": asked})
            assert changes(mine) == changes(theirs)
            assert seen(one) == seen(other)


def test_of_a_key_only_whole_rows_are_taken():
    with penstock.Pipeline(KEYED + VIEWS, engine="native") as pipeline:
        pipeline.step({"t": [(1, 2)]})
        for given_form in ([("~", (1, 3))], pa.table({"a": [1], "b": [3], "__op": ["~"]})):
            with pytest.raises(DataError, match="a partial update, by which at cannot be computed anew"):
                pipeline.step({"t": given_form})
        pipeline.step({"t": [(1, 4)]})
        pipeline.execute("UPDATE t SET b = 5 WHERE a = 1")
        assert rows_of(pipeline) == [(1, 5, at(6))]
        pipeline.step({"t": [("-", (1,))]})
        assert rows_of(pipeline) == []


def computing(more: str = "", **options: Any) -> penstock.Pipeline:
    return penstock.Pipeline(f"{COMPUTED}{VIEWS}{more}", **{"engine": "native", **options})


def test_a_row_is_late_by_the_value_and_told_of_with_it():
    with computing() as pipeline:
        pipeline.step({"t": [(30, 0), (1, 1)]})
        step = pipeline.step({"t": [(2, 3), (26, 1), (None, 1)]})
        assert step["error_view"].rows == [(1, ("t", "Late value", '{"a": 2, "b": 3, "at": "1970-01-01 00:00:05"}'))]
        assert pipeline.waterlines()["t.at"] == at(25)
        assert sorted(step["kept"].rows, key=repr) == [(1, (26, 1, at(27))), (1, (None, 1, None))]
        (fact,) = (fact for fact in pipeline.inferred_waterlines() if fact.relation == "kept")
        assert fact.waits_for == "follows t.at"


@pytest.mark.parametrize("form", ["tuples", "arrow", "pandas"])
def test_rows_of_every_form_get_it(form):
    table = pa.table({"a": pa.array([1, None], pa.int32()), "b": pa.array([2, 3], pa.int32())})
    given = {"tuples": [(1, 2), (None, 3)], "arrow": table, "pandas": table.to_pandas(types_mapper=None)}[form]
    with computing() as pipeline:
        pipeline.step({"t": given})
        assert rows_of(pipeline) == [(1, 2, at(3)), (None, 3, None)]


def test_rows_are_deleted_and_changed_by_what_was_given():
    with computing() as pipeline:
        pipeline.step({"t": [(1, 2), (3, 3), (4, 0), (2, 0)]})
        pipeline.step({"t": [("-", (3, 3))]})
        pipeline.execute("UPDATE t SET b = 40 WHERE at = TIMESTAMP '1970-01-01 00:00:03'")
        assert rows_of(pipeline) == [(1, 40, at(41)), (2, 0, at(2)), (4, 0, at(4))]
        assert pipeline.waterlines()["t.at"] == at(36)
        pipeline.execute("DELETE FROM t WHERE at = TIMESTAMP '1970-01-01 00:00:41'")
        assert rows_of(pipeline) == [(2, 0, at(2)), (4, 0, at(4))]


TERM_RAISES = """
CREATE TABLE t (a INT, b INT, at AS timestamp_seconds(a % b), WATERMARK FOR at AS at - INTERVAL 5 SECONDS);
CREATE VIEW kept AS SELECT * FROM t;
"""


def test_a_row_of_which_the_term_raises_does_not_fit():
    with penstock.Pipeline(TERM_RAISES, engine="native") as pipeline:
        with pytest.raises(DataError, match="table t, row 2, column at: Remainder by zero") as caught:
            pipeline.step({"t": [(1, 1), (1, 0), (8, 2)]})
        assert caught.value.diagnostics[0].code == "BAD_VALUE"
        pipeline.step({"t": [(1, 2), (8, 5)]})
        assert rows_of(pipeline) == [(1, 2, at(1)), (8, 5, at(3))]


def test_a_deletion_that_is_rejected_is_told_as_one(tmp_path):
    (tmp_path / "rows.json").write_text('{"delete": {"a": 1, "b": 0}}\n')
    source = f" WITH ('connector' = 'files', 'path' = '{tmp_path}', 'format' = 'json')"
    with penstock.Pipeline(TERM_RAISES.replace("SECONDS)", f"SECONDS){source}"), engine="native") as pipeline:
        pipeline.run(once=True)
        ((_, text),) = pipeline.query("SELECT message, metadata FROM error_view").rows
        assert json.loads(text)["row"] == ["-", {"a": 1, "b": 0}]


def test_of_a_file_it_is_that_row_alone(tmp_path):
    lines = [f'{{"a": {n}, "b": {n % 4}}}' for n in range(40)]
    (tmp_path / "rows.json").write_text("\n".join(lines) + "\n")
    source = f" WITH ('connector' = 'files', 'path' = '{tmp_path}', 'format' = 'json')"
    with penstock.Pipeline(TERM_RAISES.replace("SECONDS)", f"SECONDS){source}"), engine="native") as pipeline:
        pipeline.run(once=True)
        assert len(rows_of(pipeline)) == 30
        rejected = pipeline.query("SELECT message, metadata FROM error_view").rows
        assert {message for message, _ in rejected} == {"Bad row"}
        lines = sorted(int(json.loads(text)["place"].rpartition(":")[2]) for _, text in rejected)
        assert lines == list(range(1, 41, 4))


def test_standing_statements_write_rows_with_it():
    more = "CREATE TABLE given (a INT); CREATE MATERIALIZED VIEW w INTO t AS SELECT a, 1 AS b FROM given;"
    with computing(more) as pipeline:
        pipeline.step({"given": [(10,), (20,)]})
        assert rows_of(pipeline) == [(10, 1, at(11)), (20, 1, at(21))]
        pipeline.step({"given": [("-", (20,))]})
        assert rows_of(pipeline) == [(10, 1, at(11))]


def test_a_restart_goes_on_from_the_same_waterline(tmp_path):
    with computing(directory=tmp_path / "dir") as pipeline:
        pipeline.step({"t": [(30, 0), (29, 0)]})
        before = seen(pipeline)
    with computing(directory=tmp_path / "dir") as pipeline:
        assert seen(pipeline) == before
        assert pipeline.step({"t": [(1, 1)]})["error_view"].rows[0][1][1] == "Late value"


def test_a_column_is_added_beside_it():
    with computing() as pipeline:
        pipeline.step({"t": [(1, 2)]})
        pipeline.execute("ALTER TABLE t ADD COLUMNS (c INT DEFAULT 7)")
        pipeline.step({"t": [(4, 5, 6)]})
        rows = pipeline.query("SELECT * FROM t").rows
        assert sorted(rows) == [(1, 2, at(3), 7), (4, 5, at(9), 6)]


def test_a_program_that_would_keep_it_only_from_now_on_is_refused(tmp_path):
    without = COMPUTED.replace(", WATERMARK FOR at AS at - INTERVAL 5 SECONDS", "")
    with penstock.Pipeline(without + VIEWS.partition("CREATE VIEW closed")[0], directory=tmp_path / "dir") as pipeline:
        pipeline.step({"t": [(1, 2)]})
        with pytest.raises(UnsupportedError, match="declared in another way") as caught:
            pipeline.deploy(COMPUTED + VIEWS.partition("CREATE VIEW closed")[0])
    assert caught.value.diagnostics[0].code == "TABLE_CHANGED"


STANDING = "UPDATE t SET b = s.b FROM (SELECT STREAM a, b FROM s) AS s WHERE t.a = s.a;"


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        (
            f"{KEYED} CREATE STREAM s (a INT, b INT); {STANDING}",
            UnsupportedError,
            "UPDATE that stands cannot compute at anew",
        ),
        (
            "CREATE TABLE t (a STRING, at AS concat(a, 'x'), WATERMARK FOR at AS at - INTERVAL 5 SECONDS)",
            SqlError,
            "LATENESS",
        ),
        ("CREATE TABLE t (__computed_a INT)", SqlError, "__computed_a"),
        (f"{COMPUTED} CREATE VIEW v AS SELECT __computed_at FROM t", SqlError, "__computed_at"),
        (
            f"{COMPUTED} CREATE TABLE u (a INT); INSERT INTO t (a, b, __computed_at) SELECT a, a, now() FROM u",
            SqlError,
            "__computed_at",
        ),
    ],
)
def test_what_is_refused(text, error, said):
    with pytest.raises(error, match=said):
        penstock.Pipeline(text, engine="native").step({})


def test_nobody_gives_the_value():
    with computing() as pipeline:
        for name in ("at", "__computed_at"):
            with pytest.raises(DataError) as caught:
                pipeline.step({"t": [{"a": 1, "b": 2, name: at(1)}]})
            assert caught.value.diagnostics[0].code == "UNKNOWN_COLUMN"


@given(brought=steps)
@examples(2, 4)
def test_on_spark_it_is_the_same(interpreting, brought):
    with (
        penstock.Pipeline(COMPUTED + VIEWS, engine="spark", spark=interpreting) as one,
        penstock.Pipeline(COMPUTED + VIEWS, engine="native") as other,
    ):
        for rows in brought:
            assert changes(one.step({"t": rows})) == changes(other.step({"t": rows}))
        assert seen(one) == seen(other)
        assert not brought or one.verify("kept")


TEXTS = """
CREATE TABLE t (s STRING, n INT, at AS CAST(elt(1, s) AS TIMESTAMP), WATERMARK FOR at AS at - INTERVAL 5 SECONDS);
CREATE VIEW kept AS SELECT n, at FROM t;
"""


def test_a_term_that_is_not_proven_is_computed_by_spark(interpreting):
    with penstock.Pipeline(TEXTS, spark=interpreting) as pipeline:
        with pytest.raises(DataError, match="row 2, column at: The value 'noon'") as caught:
            pipeline.step({"t": [("1970-01-01 00:00:03", 1), ("noon", 2)]})
        assert caught.value.diagnostics[0].code == "BAD_VALUE"
        pipeline.step({"t": [("1970-01-01 00:01:00", 1), (None, 2), ("1970-01-01 00:00:57.5", 3)]})
        pipeline.step({"t": [("1970-01-01 00:00:03", 4)]})
        assert rows_of(pipeline) == [(1, at(60)), (2, None), (3, at(57) + timedelta(milliseconds=500))]
        assert pipeline.verify("kept")
    with pytest.raises(UnsupportedError, match="table t: its rows need Spark when they come, for elt"):
        penstock.Pipeline(TEXTS, engine="native").step({"t": [("1970-01-01 00:00:03", 1)]})


@pytest.mark.parametrize("engine", ["native", "spark"])
@pytest.mark.parametrize("rows", [3, pytest.param(DRIVER_ROWS + 1, marks=pytest.mark.extended)])
def test_rows_of_a_dataframe_get_it(interpreting, engine, rows):
    views = "CREATE VIEW counted AS SELECT COUNT(*) AS n, MAX(at) AS last, MIN(a) AS a FROM t;"
    with penstock.Pipeline(COMPUTED + views, engine=engine, spark=interpreting) as pipeline:
        frame = interpreting.range(rows).selectExpr("CAST(id AS INT) AS a", "1 AS b")
        pipeline.step({"t": frame})
        assert rows_of(pipeline, "counted") == [(rows, at(rows), 0)]
        step = pipeline.step({"t": interpreting.sql("SELECT CAST(NULL AS INT) AS a, 2 AS b UNION ALL SELECT -60, 1")})
        assert len(step["error_view"].rows) == 1
        assert rows_of(pipeline, "counted") == [(rows + 1, at(rows), 0)]


def test_a_term_reads_the_time_of_arrival():
    program = """CREATE STREAM t (a INT, at AS _tp_time + INTERVAL 1 HOUR, WATERMARK FOR at AS at - INTERVAL 5 SECOND);
        CREATE VIEW kept AS SELECT a, at FROM t;"""
    with penstock.Pipeline(program, dialect="timeplus", engine="native") as pipeline:
        pipeline.step({"t": [(1,)]}, clock=at(60))
        assert rows_of(pipeline) == [(1, at(3660))]
        assert pipeline.waterlines()["t.at"] == at(3655)


@pytest.mark.parametrize("term", ["timestamp_seconds(100 % coalesce(b, 0))", "timestamp_seconds(coalesce(b, 1000000))"])
def test_a_deletion_by_key_has_no_value(term):
    views = "CREATE VIEW kept AS SELECT k, at FROM t;"
    program = f"CREATE TABLE t (k INT PRIMARY KEY, b INT, at AS {term}, WATERMARK FOR at AS at - INTERVAL 5 SECONDS);"
    with penstock.Pipeline(program + views, engine="native") as pipeline:
        pipeline.step({"t": [(1, 7)]})
        pipeline.step({"t": [("-", (1,))]})
        assert rows_of(pipeline) == []
        pipeline.step({"t": [(2, 8)]})
        assert len(rows_of(pipeline)) == 1
        assert pipeline.query("SELECT * FROM error_view").rows == []


def test_columns_of_folders_are_read_by_it(tmp_path):
    (tmp_path / "b=3").mkdir()
    (tmp_path / "b=3" / "rows.json").write_text('{"a": 1}\n{"a": 2}\n')
    source = f" WITH ('connector' = 'files', 'path' = '{tmp_path}', 'format' = 'json', 'partitioned_by' = 'b')"
    with penstock.Pipeline(COMPUTED.replace("SECONDS)", f"SECONDS){source}") + VIEWS, engine="native") as pipeline:
        pipeline.run(once=True)
        assert rows_of(pipeline) == [(1, 3, at(4)), (2, 3, at(5))]


def test_a_value_beyond_the_year_9999_is_that_of_a_bad_row():
    program = """CREATE TABLE t (ts TIMESTAMP, at AS ts + INTERVAL 10 DAY, WATERMARK FOR at AS at - INTERVAL 5 SECOND);
        CREATE VIEW kept AS SELECT * FROM t;"""
    with (
        penstock.Pipeline(program, engine="native") as pipeline,
        pytest.raises(DataError, match=r"row 2, column at: found .* beyond the years 1 to 9999"),
    ):
        pipeline.step({"t": [(at(1),), (datetime(9999, 12, 30),), (at(2),)]})  # noqa: DTZ001 - UTC


def test_statements_know_of_it_by_its_name():
    program = """CREATE TABLE t (a INT NOT NULL, b INT, x AS a + 1, WATERMARK FOR x AS x - 50);
        CREATE TABLE u (a INT); CREATE VIEW kept AS SELECT * FROM t;"""
    with penstock.Pipeline(program, engine="native") as pipeline:
        pipeline.execute("INSERT INTO t (a) VALUES (2), (3), (4)")
        pipeline.execute("INSERT INTO u VALUES (3)")
        pipeline.execute("UPDATE t SET b = (SELECT MAX(a) FROM u) WHERE a IN (SELECT a FROM u)")
        pipeline.execute("DELETE FROM t WHERE a IN (SELECT a + 1 FROM u)")
        assert rows_of(pipeline) == [(2, None, 3), (3, 3, 4)]
        pipeline.execute("ADVANCE t.x TO 100")
        assert pipeline.waterlines()["t.x"] == 100
        with pytest.raises(SqlError, match="__computed_x"):
            pipeline.execute("UPDATE t SET b = 1 WHERE __computed_x = 3")
        with pytest.raises(SqlError, match="__computed_x"):
            pipeline.execute("ALTER TABLE t ADD COLUMNS (c INT AFTER __computed_x)")


def test_a_column_may_be_called_as_places_are():
    program = (
        "CREATE TABLE t (place INT, x AS place * 2, WATERMARK FOR x AS x - 5); CREATE VIEW kept AS SELECT * FROM t;"
    )
    with penstock.Pipeline(program, engine="native") as pipeline:
        pipeline.step({"t": [(7,), (5,)]})
        assert rows_of(pipeline) == [(5, 10), (7, 14)]


def test_explain_says_what_needs_spark_when_rows_come():
    circuit = explain(compile_program(TEXTS).catalog, "kept", ("circuit",), TEXTS, placing=foreseen)
    assert "on Spark, for elt(int, string), of the computed column at" in circuit
    assert "__computed" not in circuit
