"""Streams of the dialect timeplus, however their rows come: the time that each row has, and what nobody sees."""

from datetime import datetime
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from penstock import Pipeline
from penstock.backends.thresholds import DRIVER_ROWS
from penstock.errors import DataError, SqlError
from penstock.steps.rows.batch import RowReader

AT = datetime.fromisoformat
CLOCK = AT("2025-01-01 10:00:01")
WINDOWS = """
CREATE STREAM s (a int NOT NULL, b string);
CREATE VIEW windows AS SELECT window_start, a, b FROM tumble(s, now(), 5s);
"""


@pytest.mark.parametrize(
    "rows",
    [
        [(1, "y")],
        [{"a": 1, "b": "y"}],
        pa.table({"a": [1], "b": ["y"]}),
        pd.DataFrame({"a": [1], "b": ["y"]}),
    ],
    ids=["tuples", "dicts", "arrow", "pandas"],
)
def test_rows_need_no_time(rows):
    with Pipeline(WINDOWS, dialect="timeplus") as pipeline:
        changes = pipeline.step({"s": rows}, clock=CLOCK)
        assert changes["windows"].rows == [(1, (AT("2025-01-01 10:00:00"), 1, "y"))]
        assert pipeline.content("s").rows == [(1, "y", CLOCK)]


def test_a_time_that_is_left_out_is_filled_at_once(monkeypatch):
    """Rows in Arrow are not read one by one because of it."""
    monkeypatch.setattr(RowReader, "_row_by_row", None)
    with Pipeline(WINDOWS.replace("b string", "b nullable(string)"), dialect="timeplus") as pipeline:
        pipeline.step({"s": pa.table({"a": pa.array([1, 2], pa.int32())})}, clock=CLOCK)
        assert pipeline.content("s").rows == [(1, None, CLOCK), (2, None, CLOCK)]


@pytest.mark.parametrize("name", ["__arrived", "__ARRIVED"])
def test_nobody_gives_what_is_hidden(name):
    with Pipeline(WINDOWS, dialect="timeplus") as pipeline:
        with pytest.raises(DataError, match="no column"):
            pipeline.step({"s": [{"a": 1, name: CLOCK}]})
        with pytest.raises(DataError, match="expected 2"):
            pipeline.step({"s": [(1, "y", CLOCK, CLOCK)]})
        with pytest.raises(SqlError, match="no column"):
            pipeline.execute(f"INSERT INTO s (a, {name}) VALUES (1, '2025-01-01 10:00:01')")


@pytest.mark.parametrize("form", ["csv", "json"])
def test_rows_of_files(tmp_path: Path, form):
    folder = tmp_path / "rows"
    folder.mkdir()
    texts = {"csv": "1,y\n2,z\n", "json": '{"a": 1, "b": "y"}\n{"a": 2, "_tp_time": "2020-01-01 00:00:00"}\n'}
    (folder / f"one.{form}").write_text(texts[form])
    header = ", header = 'false'" if form == "csv" else ""
    settings = f"connector = 'files', path = '{folder}', format = '{form}'{header}"
    program = f"CREATE STREAM s (a int, b string) SETTINGS {settings}; CREATE VIEW v AS SELECT * FROM s;"
    with Pipeline(program, dialect="timeplus") as pipeline:
        pipeline.run(once=True)
        (one, two) = sorted(pipeline.content("v").rows)
        assert one == (1, "y", pipeline.clock), "not the time at which the file was read"
        assert two == ((2, "z", pipeline.clock) if form == "csv" else (2, "", AT("2020-01-01")))


def test_a_late_row_is_shown_without_what_is_hidden():
    program = "CREATE STREAM s (a int, ts datetime64(3) LATENESS INTERVAL 1 HOUR) SETTINGS event_time_column = 'ts'"
    with Pipeline(program, dialect="timeplus") as pipeline:
        pipeline.step({"s": [(1, "2025-01-01 10:00:00")]})
        pipeline.step({"s": [(2, "2025-01-01 08:00:00")]})
        ((_, message, row),) = pipeline.content("error_view").rows
        assert message == "Late value"
        assert row == '{"a": 2, "ts": "2025-01-01 08:00:00"}'


def test_an_update_is_no_arrival():
    program = """
    CREATE STREAM k (i int, s string) PRIMARY KEY s SETTINGS mode = 'versioned_kv';
    CREATE VIEW windows AS SELECT i, window_start FROM tumble(k, now(), 5s);
    """
    with Pipeline(program, dialect="timeplus") as pipeline:
        pipeline.step({"k": [(1, "a")]}, clock=CLOCK)
        pipeline.step({}, clock="2025-01-01 10:00:11", sql="UPDATE k SET i = 2")
        assert pipeline.content("windows").rows == [(2, AT("2025-01-01 10:00:00"))]
        pipeline.step({"k": [(3, "a")]}, clock="2025-01-01 10:00:12")
        assert pipeline.content("windows").rows == [(3, AT("2025-01-01 10:00:10"))]


def test_other_dialects_have_no_time_of_their_own():
    with Pipeline("CREATE STREAM s (a INT, ts TIMESTAMP) WITH ('event_time_column' = 'ts')") as pipeline:
        pipeline.step({"s": [(1, CLOCK)]})
        assert pipeline.query("SELECT * FROM s").columns == ("a", "ts")


@pytest.mark.parametrize("rows", [2, DRIVER_ROWS + 1])
def test_rows_of_a_dataframe_are_told_when_they_have_come(spark, rows):
    program = "CREATE STREAM s (a INT); CREATE VIEW v AS SELECT count(*) AS n, max(a) AS a, max(_tp_time) AS at FROM s;"
    with Pipeline(program, dialect="timeplus", spark=spark) as pipeline:
        pipeline.step({"s": spark.range(rows).selectExpr("CAST(id AS INT) AS a")}, clock=CLOCK)
        assert pipeline.content("v").rows == [(rows, rows - 1, CLOCK)]
