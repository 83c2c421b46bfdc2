"""The copy with which a table of PostgreSQL begins: in steps of its own, whatever happens to the table meanwhile."""

import json
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal

import psycopg
import pytest
from tests.services.test_postgres_output import asked, opened
from tests.services.test_postgres_source import CUSTOMERS, TABLE, followed, source

from penstock.errors import DataError
from penstock.pipeline.run import RunOptions
from penstock.steps.events import ColumnsAdded
from penstock.steps.rows.rejected import Rejections

BY_THREE = ", 'rows_per_step' = '3'"
SECONDS = 60


def filled(database, rows, table=CUSTOMERS):
    asked(database, table)
    asked(database, f"INSERT INTO customers SELECT i, 'n' || i, i FROM generate_series(1, {rows}) i")


def count(pipeline):
    return pipeline.query("SELECT COUNT(*) FROM customers").rows[0][0]


def begun(pipeline, rows):
    """Step by step until so many rows have been taken."""
    while count(pipeline) < rows:
        pipeline.run(once=True, options=RunOptions(most_steps=1))
    return count(pipeline)


def slots(database):
    return asked(database, "SELECT slot_name FROM pg_replication_slots WHERE database = current_database()")


@pytest.mark.thin
def test_a_copy_comes_step_by_step_and_is_that_of_one_moment(database, tmp_path):
    filled(database, 20)
    folder = tmp_path / "dir"
    with opened(source(database, more=BY_THREE), directory=folder) as pipeline:
        assert begun(pipeline, 6) == 6
        asked(
            database, "DELETE FROM customers WHERE id IN (1, 19); UPDATE customers SET amount = 0 WHERE id IN (2, 20)"
        )
        asked(
            database,
            "UPDATE customers SET id = id + 100 WHERE id IN (3, 18); INSERT INTO customers VALUES (50, 'x', 1)",
        )
        begun(pipeline, 18)
        assert pipeline.query("SELECT SUM(amount) FROM customers").rows == [(Decimal(18 * 19 // 2),)]
        (fact,) = pipeline.sources()
        assert (fact.position_text, fact.position[0]["at"]["of"]) == ("penstock_customers@18", 20)
    with opened(source(database, more=BY_THREE), directory=folder) as pipeline:
        assert begun(pipeline, 20) == 20
        assert followed(pipeline) == asked(database, "SELECT * FROM customers")
    assert list((folder / "sources").rglob("copy*")) == []


def test_what_waits_is_told_while_a_copy_is_read(database):
    filled(database, 10)
    with opened(source(database, more=BY_THREE)) as pipeline:
        begun(pipeline, 6)
        (found,) = pipeline._execution.opened_sources()
        lag = found.behind()
        assert (lag.rows, 0 < lag.bytes < 100, found.waiting()) == (4, True, (lag.bytes, 0))
        followed(pipeline)
        assert found.behind().rows is None


def test_rows_without_a_key_are_copied_each_once(database, tmp_path):
    chance = random.Random(5)
    texts = [None, "", "a", "\t", "\n", "\\", "\\N", "\\t", "é\r\b\f\v", "\\.", "'\""]
    rows = [(chance.choice(texts), chance.choice(texts)) for _ in range(60)]
    asked(database, "CREATE TABLE customers (a text, b text); ALTER TABLE customers REPLICA IDENTITY FULL")
    with psycopg.connect(database) as connection, connection.cursor() as cursor:
        cursor.executemany("INSERT INTO customers VALUES (%s, %s)", rows)
    program = source(database, "CREATE TABLE customers (a STRING, b STRING)", BY_THREE)
    with opened(program, directory=tmp_path / "dir") as pipeline:
        begun(pipeline, 9)
        asked(database, "DELETE FROM customers WHERE a IS NULL")
    with opened(program, directory=tmp_path / "dir") as pipeline:
        begun(pipeline, 60)
        assert sorted(pipeline.query("SELECT * FROM customers").rows, key=repr) == sorted(rows, key=repr)
        assert followed(pipeline) == sorted((row for row in rows if row[0] is not None), key=repr)


def test_a_table_that_is_empty_or_has_none_of_the_columns_has_its_rows(database):
    asked(database, "CREATE TABLE customers (id int PRIMARY KEY)")
    with opened(source(database, "CREATE TABLE customers (id INT, PRIMARY KEY (id))")) as pipeline:
        assert followed(pipeline) == []
        asked(database, "INSERT INTO customers VALUES (1)")
        assert followed(pipeline) == [(1,)]
        words = "CREATE STREAM customers (other STRING DEFAULT 'x')"
        with opened(source(database, words, ", 'slot' = 'other', 'rows_per_step' = '1'")) as other:
            assert followed(other) == [("x",)]


@pytest.mark.parametrize("last", ["'2024-01-01'", "'infinity'"])
def test_no_row_of_a_copy_makes_another_late(database, last, tmp_path):
    """The last one, which may fit no column, moves the waterline to where all have brought it."""
    asked(database, "CREATE TABLE customers (id int PRIMARY KEY, at timestamptz)")
    asked(
        database,
        "INSERT INTO customers SELECT i, '2024-02-01'::timestamptz - i * interval '1 day' FROM generate_series(0, 9) i",
    )
    asked(database, f"INSERT INTO customers VALUES (10, {last})")
    table = "CREATE TABLE customers (id INT, at TIMESTAMP NOT NULL LATENESS INTERVAL 1 HOUR, PRIMARY KEY (id))"
    program, folder = source(database, table, ", 'rows_per_step' = '2'"), tmp_path / "dir"
    expected = 11 if last != "'infinity'" else 10
    with opened(program, directory=folder) as pipeline:
        begun(pipeline, 4)
        assert list(pipeline.waterlines().values()) == [None]
    with opened(program, directory=folder) as pipeline:
        pipeline.run(once=True)
        assert count(pipeline) == expected
        line = datetime(2024, 1, 31, 23)  # noqa: DTZ001 - as waterlines are
        assert list(pipeline.waterlines().values()) == [line]
        asked(database, "INSERT INTO customers VALUES (20, '2024-01-15'), (21, '2024-02-03')")
        pipeline.run(once=True)
        assert count(pipeline) == expected + 1
        assert list(pipeline.waterlines().values()) == [line.replace(month=2, day=2)]
        assert ["the copy" in fact.waits_for for fact in pipeline.waterline_facts()] == [False]


def test_a_copy_that_no_step_has_is_not_made_again(database, tmp_path):
    filled(database, 5)
    places = []
    with opened(source(database), directory=tmp_path / "dir") as pipeline:
        for _ in range(2):
            (found,) = pipeline._opened().opened_sources()
            while found.read(2, Rejections()) is None:
                assert found.is_awaited
            places.append(found.taken()["read"][0]["to"]["lsn"])
            found.close()
            pipeline._execution.sources.clear()
        assert places[0] == places[1]
        asked(database, "SELECT pg_drop_replication_slot('penstock_customers')")
        asked(database, "INSERT INTO customers VALUES (9, 'x', 9)")
        assert followed(pipeline) == asked(database, "SELECT * FROM customers")


def test_a_copy_that_is_gone_is_said(database, tmp_path):
    filled(database, 9)
    for name, said in (("copy.rows", "No such file"), ("copy.json", "it is not there")):
        folder = tmp_path / name
        program = source(database, more=f"{BY_THREE}, 'slot' = '{name[-4:]}'")
        with opened(program, directory=folder) as pipeline:
            begun(pipeline, 3)
        (file,) = folder.rglob(name)
        file.unlink()
        with opened(program, directory=folder) as pipeline, pytest.raises(DataError, match=said) as caught:
            pipeline.run(once=True)
        assert caught.value.diagnostics[0].code == "CANNOT_READ_AGAIN"


@contextmanager
def busy(database, statement):
    """Somebody whose transaction is open, over a table that is published already."""
    asked(database, "CREATE PUBLICATION penstock_customers FOR TABLE customers")
    with psycopg.connect(database) as connection:
        connection.execute(statement)
        yield
        connection.rollback()


RUN = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may ignore it
from penstock.cli.main import main
main()
"""
BUSY = pytest.mark.parametrize(
    "statement", ["LOCK TABLE customers", "INSERT INTO customers VALUES (999)"], ids=["copy", "slot"]
)


@BUSY
def test_ctrl_c_ends_a_run_that_waits_for_a_copy(database, statement, tmp_path):
    filled(database, 5)
    command = [sys.executable, "-c", RUN, "run", "--once", "--engine", "native"]
    command += ["--dir", tmp_path / "dir", "-e", source(database)]
    waiting = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'penstock' AND wait_event_type = 'Lock'"
    with busy(database, statement), subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        until = time.monotonic() + SECONDS
        while not asked(database, waiting) and time.monotonic() < until:
            time.sleep(0.05)
        assert asked(database, waiting), "it does not wait"
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert process.wait(SECONDS) == 0
        assert time.monotonic() - began < SECONDS / 2
    assert slots(database) == []
    subprocess.run(command, check=True)


@BUSY
def test_other_tables_go_on_while_a_copy_is_waited_for(database, statement, tmp_path):
    filled(database, 5)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"n": 1}\n')
    files = f"CREATE TABLE others (n INT) WITH ('connector' = 'files', 'path' = '{tmp_path}/in', 'format' = 'json');"
    with opened(source(database) + files) as pipeline:
        with busy(database, statement):
            pipeline.run(once=True, options=RunOptions(most_steps=1))
            assert pipeline.query("SELECT * FROM others").rows == [(1,)]
            assert count(pipeline) == 0
        assert len(followed(pipeline)) == 5


# Columns that the table lacks

ADD = ", 'unknown_columns' = 'add', 'rows_per_step' = '2'"


@pytest.mark.parametrize("lasting", [True, False], ids=["directory", "memory"])
def test_columns_that_the_table_lacks_are_added_in_the_copy_and_behind_it(database, lasting, tmp_path):
    filled(database, 5, "CREATE TABLE customers (id int PRIMARY KEY, name text, amount numeric(10, 2), late int)")
    asked(database, "UPDATE customers SET late = 7 WHERE id = 3")
    told, where = [], {"directory": tmp_path / "dir"} if lasting else {}
    table = "CREATE TABLE customers (id INT, name STRING, PRIMARY KEY (id))"
    with opened(source(database, table, ADD), on_event=told.append, **where) as pipeline:
        assert begun(pipeline, 2) == 2
        assert pipeline.query("SELECT * FROM customers ORDER BY id").rows == [
            (1, "n1", Decimal("1.00")), (2, "n2", Decimal("2.00")),
        ]  # fmt: skip
        found = followed(pipeline)
        assert found == [
            (1, "n1", 1, None),
            (2, "n2", 2, None),
            (3, "n3", 3, 7),
            (4, "n4", 4, None),
            (5, "n5", 5, None),
        ]
        asked(database, "ALTER TABLE customers ADD COLUMN more text; INSERT INTO customers VALUES (6, 'n6', 6, 6)")
        assert followed(pipeline)[-1] == (6, "n6", 6, 6)
        asked(database, "UPDATE customers SET more = 'm' WHERE id = 1; DELETE FROM customers WHERE id = 2")
        expected = asked(database, "SELECT * FROM customers")
        assert followed(pipeline) == expected
    added = [(column, kind) for event in told if isinstance(event, ColumnsAdded) for column, kind in event.columns]
    assert added == [("amount", "DECIMAL(10, 2)"), ("late", "BIGINT"), ("more", "STRING")]
    if lasting:
        with opened(source(database, table, ADD), **where) as pipeline:
            assert followed(pipeline) == expected


def test_columns_that_are_added_have_the_types_that_the_database_says(database):
    asked(
        database,
        "CREATE TABLE customers (id int PRIMARY KEY, small smallint, big bigint, r real, d double precision, "
        "b boolean, day date, n numeric, m numeric(5, 3), huge numeric(50, 1), few numeric(2, -1), tiny numeric(2, 5), "
        "at timestamptz, local timestamp, raw bytea, j jsonb, u uuid, many int[], span interval)",
    )
    row = (
        "1, 2, 3, 1.5, 2.5, true, '2024-01-31', 1.25, 1.5, 7, 120, 0.00012, '2024-01-31 12:00+01', '2024-01-31 12:00', "
        "'\\x00ff', '{\"a\": 1}', '11111111-2222-3333-4444-555555555555', '{1,2}', '1 month 1 hour'"
    )
    asked(database, f"INSERT INTO customers VALUES ({row})")
    with opened(source(database, "CREATE STREAM customers (id INT)", ADD)) as pipeline:
        pipeline.run(once=True)
        (found,) = pipeline.query("SELECT * FROM customers").rows
        kinds = {column.name: column.type for column in pipeline.catalog.tables["customers"].columns}
    noon = datetime.fromisoformat("2024-01-31 12:00")
    assert found == (
        1, 2, 3, 1.5, 2.5, True, noon.date(), Decimal("1.25"), Decimal("1.5"), "7.0", 120,
        Decimal("0.00012"), noon.replace(hour=11), noon,
        b"\x00\xff", '{"a": 1}', "11111111-2222-3333-4444-555555555555",
        "[1, 2]", "1 mon 01:00:00",
    )  # fmt: skip
    assert kinds == {
        "id": "int", "small": "bigint", "big": "bigint", "r": "double", "d": "double", "b": "boolean", "day": "date",
        "n": "decimal(38,18)", "m": "decimal(5,3)", "huge": "string", "few": "decimal(3,0)", "tiny": "decimal(5,5)",
        "at": "timestamp", "local": "timestamp_ntz", "raw": "binary", "j": "string", "u": "string", "many": "string",
        "span": "string",
    }  # fmt: skip


def test_columns_that_the_table_lacks_can_end_the_run(database):
    filled(database, 3)
    refusing = ", 'unknown_columns' = 'reject'"
    less = "CREATE TABLE customers (id INT, name STRING, PRIMARY KEY (id))"
    with (
        opened(source(database, less, refusing)) as pipeline,
        pytest.raises(DataError, match="a column amount") as caught,
    ):
        pipeline.run(once=True)
    assert (caught.value.diagnostics[0].code, slots(database)) == ("UNKNOWN_COLUMN", [])
    with opened(source(database, TABLE, refusing)) as pipeline:
        followed(pipeline)
        asked(database, "INSERT INTO customers VALUES (4, 'n4', 4)")
        asked(database, "ALTER TABLE customers ADD COLUMN more int; INSERT INTO customers VALUES (5, 'n5', 5, 5)")
        with pytest.raises(DataError, match="a column more"):
            pipeline.run(once=True)
        pipeline.execute("ALTER TABLE customers ADD COLUMN more INT")
        assert followed(pipeline)[-2:] == [(4, "n4", 4, None), (5, "n5", 5, 5)]


def test_a_name_that_no_column_can_have_ends_the_run(database):
    asked(database, 'CREATE TABLE customers (id int PRIMARY KEY, x int, "X" int)')
    table = "CREATE TABLE customers (id INT, PRIMARY KEY (id))"
    with opened(source(database, table, ADD)) as pipeline, pytest.raises(DataError, match="two columns X"):
        pipeline.run(once=True)
    assert slots(database) == []


def test_notes_of_a_pipeline_without_a_directory_go_with_it(database):
    filled(database, 9)
    with opened(source(database, more=BY_THREE)) as pipeline:
        begun(pipeline, 3)
        (found,) = pipeline._execution.opened_sources()
        assert json.loads((found.notes / "copy.json").read_text())["rows"] == 9
    assert not found.notes.exists()
