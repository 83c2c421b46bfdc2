"""What one step takes of each source: never more than `'rows_per_step'`, and the rest waits where it is."""

import json
import sqlite3

import duckdb
import pyarrow as pa
import pytest
from tests.steps.tables import declared

import penstock
from penstock.errors import SqlError
from penstock.sources.api import check_source
from penstock.steps.events import StepDone

ROWS = 10


def lines(folder, style):
    if style == "json":
        (folder / "a.json").write_text("".join(json.dumps({"id": number}) + "\n" for number in range(ROWS)))
    elif style == "csv":
        (folder / "a.csv").write_text("id\n" + "".join(f"{number}\n" for number in range(ROWS)))
    else:
        duckdb.sql(f"COPY (SELECT range::INT AS id FROM range({ROWS})) TO '{folder / 'a.parquet'}'")
    return f"'connector' = 'files', 'path' = '{folder}', 'format' = '{style}'"


def lake(folder):
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(str(folder), pa.table({"id": pa.array(range(ROWS), pa.int32())}))
    return f"'connector' = 'delta', 'path' = '{folder}'"


def database(folder):
    connection = sqlite3.connect(folder / "a.db")
    connection.execute("CREATE TABLE o (id INTEGER)")
    connection.executemany("INSERT INTO o VALUES (?)", [(number,) for number in range(ROWS)])
    connection.commit()
    connection.close()
    return f"'connector' = 'sql', 'url' = 'sqlite:{folder}/a.db', 'table' = 'o', 'column' = 'id'"


def rules(_folder):
    return f"'connector' = 'datagen', 'number-of-rows' = '{ROWS}', 'rows-per-second' = '1000000'"


SOURCES = {
    "json": lambda folder: lines(folder, "json"),
    "csv": lambda folder: lines(folder, "csv"),
    "parquet": lambda folder: lines(folder, "parquet"),
    "delta": lake,
    "sql": database,
    "datagen": rules,
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_step_takes_no_more_than_is_said(name, tmp_path):
    events = []
    source = f"CREATE TABLE t (id INT) WITH ({SOURCES[name](tmp_path)}, 'rows_per_step' = '3');"
    with penstock.Pipeline(source, engine="native", on_event=events.append) as pipeline:
        pipeline.run(once=True)
        assert pipeline.query("SELECT COUNT(*) FROM t").rows == [(ROWS,)]
    taken = [event.received["t"] for event in events if isinstance(event, StepDone) and event.received.get("t")]
    assert (max(taken), sum(taken)) == (3, ROWS)


@pytest.mark.parametrize("said", ["0", "many", "-1"])
def test_a_limit_is_a_number(said):
    text = f"CREATE TABLE t (id INT) WITH ('connector' = 'datagen', 'rows_per_step' = '{said}')"
    with pytest.raises(SqlError) as caught:
        check_source(declared(text))
    assert caught.value.diagnostics[0].code == "BAD_PROPERTY"
