"""Tables of a real PostgreSQL that are followed: as they were, then each transaction once."""

import random
from datetime import date, datetime
from decimal import Decimal

import psycopg
import pytest
from tests.services.test_postgres_output import asked, opened

from penstock.errors import DataError, PenstockError
from penstock.steps.rows.rejected import Rejections

CUSTOMERS = "CREATE TABLE customers (id int PRIMARY KEY, name text, amount numeric(10, 2))"
TABLE = "CREATE TABLE customers (id INT, name STRING, amount DECIMAL(10, 2), PRIMARY KEY (id))"


def source(database, table=TABLE, more=""):
    return f"{table} WITH ('connector' = 'postgres', 'connection' = '{database}'{more});"


def followed(pipeline):
    """The rows once all that was there has been read."""
    pipeline.run(once=True)
    return sorted(pipeline.query("SELECT * FROM customers").rows, key=repr)


def refused(database, program):
    with pytest.raises(PenstockError) as caught, opened(program) as pipeline:
        pipeline.run(once=True)
    return caught.value.diagnostics[0]


@pytest.mark.thin
def test_a_table_is_followed_through_random_transactions(database):
    asked(database, CUSTOMERS)
    chance = random.Random(11)
    asked(database, "INSERT INTO customers SELECT i, 'n' || i, i FROM generate_series(1, 20) i")
    with opened(source(database)) as pipeline, psycopg.connect(database, autocommit=True) as connection:
        assert followed(pipeline) == asked(database, "SELECT * FROM customers")
        for _ in range(15):
            with connection.transaction(force_rollback=chance.random() < 0.2):
                for _ in range(chance.randrange(1, 6)):
                    key = chance.randrange(30)
                    statement = chance.choice(
                        [
                            f"INSERT INTO customers VALUES ({key}, 'x', 1) ON CONFLICT DO NOTHING",
                            f"UPDATE customers SET amount = amount + 1, name = NULL WHERE id = {key}",
                            f"UPDATE customers SET id = id + 1000 WHERE id = {key}",
                            f"DELETE FROM customers WHERE id = {key}",
                        ]
                    )
                    connection.execute(statement)
            assert followed(pipeline) == asked(database, "SELECT * FROM customers")


def test_a_table_is_not_behind_while_others_are_written(database):
    asked(database, CUSTOMERS)
    asked(database, "CREATE TABLE others (id int)")
    with opened(source(database, more=", 'rows_per_step' = '1'")) as pipeline:
        followed(pipeline)
        (found,) = pipeline._execution.opened_sources()
        asked(database, "INSERT INTO customers VALUES (1, 'a', 1); INSERT INTO customers VALUES (2, 'b', 2)")
        assert len(followed(pipeline)) == 2
        asked(database, "INSERT INTO others SELECT generate_series(1, 100)")
        followed(pipeline)
        lag = found.behind()
        assert lag.bytes > 0
        assert lag.seconds == 0.0
        asked(database, "INSERT INTO customers VALUES (3, 'c', 3)")
        assert found.read(9, Rejections()) is not None
        assert found.behind().seconds > 0.0
        found.rewind()


def _with_others(database, rows):
    """A program that follows customers by a publication that has another table too."""
    asked(database, CUSTOMERS)
    asked(database, "CREATE TABLE others (id int)")
    asked(database, "CREATE PUBLICATION both_of_them FOR TABLE customers, others")
    return source(database, more=f", 'publication' = 'both_of_them', 'rows_per_step' = '{rows}'")


@pytest.mark.parametrize("rows", [1, 3, 1000])
def test_rows_behind_many_transactions_of_other_tables_are_reached(database, rows):
    with opened(_with_others(database, rows)) as pipeline, psycopg.connect(database, autocommit=True) as connection:
        followed(pipeline)
        for number in range(20):
            connection.execute(f"INSERT INTO others VALUES ({number})")
        connection.execute("INSERT INTO customers VALUES (1, 'a', 1)")
        assert followed(pipeline) == [(1, "a", 1)]


def test_the_slot_goes_on_while_other_tables_are_written(database, tmp_path, monkeypatch):
    confirmed = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn)::bigint FROM pg_replication_slots "
    confirmed += "WHERE slot_name = 'penstock_customers'"
    monkeypatch.setattr("penstock.sources.postgres.source._IDLE", 4000)
    program = _with_others(database, 1000)
    with opened(program, directory=tmp_path) as pipeline:
        followed(pipeline)
        for number in range(3):  # each is sent, and so `found` is never empty
            asked(database, f"INSERT INTO others SELECT {number} FROM generate_series(1, 300)")
            ((behind,),) = asked(database, confirmed)
            assert behind > 10_000
            followed(pipeline)
            ((behind,),) = asked(database, confirmed)
            assert behind <= 4000
    asked(database, "INSERT INTO customers VALUES (1, 'a', 1)")
    with opened(program, directory=tmp_path) as pipeline:
        assert followed(pipeline) == [(1, "a", 1)]


def test_rows_without_a_key_are_followed_by_the_whole_row(database):
    asked(database, "CREATE TABLE customers (name text); ALTER TABLE customers REPLICA IDENTITY FULL")
    asked(database, "INSERT INTO customers VALUES ('a'), ('a'), (NULL)")
    with opened(source(database, "CREATE TABLE customers (name STRING)")) as pipeline:
        assert followed(pipeline) == [("a",), ("a",), (None,)]
        asked(database, "UPDATE customers SET name = 'b' WHERE name IS NULL")
        asked(database, "DELETE FROM customers WHERE ctid = (SELECT min(ctid) FROM customers WHERE name = 'a')")
        assert followed(pipeline) == [("a",), ("b",)]


@pytest.mark.spark  # arrays are shown by Spark
def test_values_are_what_they_were(database):
    asked(
        database,
        "CREATE TABLE customers (id int PRIMARY KEY, b bool, d numeric, f float8, at timestamptz, n timestamp, "
        "day date, j jsonb, u uuid, raw bytea, many int[], words text[])",
    )
    row = (
        "(1, true, 1.50, 'NaN', '2024-06-01 12:00+02', '2024-06-01 12:00', '0044-03-15', '{\"a\": [1, null]}', "
        "'11111111-2222-3333-4444-555555555555', '\\x00ff', '{1,NULL,3}', '{\"a,b\",\"\"}')"
    )
    asked(database, f"INSERT INTO customers VALUES {row}")
    table = (
        "CREATE TABLE customers (id INT, b BOOLEAN, d DECIMAL(10, 2), f DOUBLE, at TIMESTAMP, n TIMESTAMP_NTZ, "
        "day DATE, j STRING, u STRING, raw BINARY, many ARRAY<INT>, words ARRAY<STRING>, PRIMARY KEY (id))"
    )
    with opened(source(database, table)) as pipeline:
        (before,) = followed(pipeline)
        asked(database, "INSERT INTO customers SELECT 2, b, d, f, at, n, day, j, u, raw, many, words FROM customers")
        asked(database, "INSERT INTO customers (id) VALUES (3)")
        _, after, empty = followed(pipeline)
    noon = datetime.fromisoformat("2024-06-01 10:00")
    assert before[1:3] == (True, Decimal("1.50"))
    assert before[4:7] == (noon, datetime.fromisoformat("2024-06-01 12:00"), date(44, 3, 15))
    assert before[7:] == (
        '{"a": [1, null]}',
        "11111111-2222-3333-4444-555555555555",
        b"\0\xff",
        [1, None, 3],
        ["a,b", ""],
    )
    assert repr(after[1:]) == repr(before[1:])
    assert empty == (3, *[None] * 11)


def test_a_step_that_was_not_made_is_read_again(database):
    asked(database, CUSTOMERS)
    with opened(source(database)) as pipeline:
        followed(pipeline)
        (found,) = pipeline._execution.opened_sources()
        asked(database, "INSERT INTO customers VALUES (1, 'a', 1)")
        first = found.read(100, Rejections())
        taken = found.taken()
        found.rewind()
        assert found.read(100, Rejections()).rows == first.rows
        assert found.taken() == taken
        found.rewind()
        found.skip(taken)
        assert found.read(100, Rejections()) is None
        assert followed(pipeline) == []


def test_a_session_that_is_closed_loses_nothing(database):
    asked(database, CUSTOMERS)
    told = []
    with opened(source(database), on_event=told.append) as pipeline:
        followed(pipeline)
        (found,) = pipeline._execution.opened_sources()
        moments = iter(range(0, 10_000, 10))
        found.now = lambda: float(next(moments))
        for at in range(4):
            asked(database, f"INSERT INTO customers VALUES ({at}, 'a', 1)")
            asked(
                database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'penstock'"
            )
            pipeline.run(once=True)
            assert len(followed(pipeline)) == at + 1


def test_a_slot_that_is_gone_is_said(database):
    asked(database, CUSTOMERS)
    with opened(source(database)) as pipeline:
        followed(pipeline)
        (found,) = pipeline._execution.opened_sources()
        found._drop()
        asked(database, "SELECT pg_drop_replication_slot('penstock_customers')")
        with pytest.raises(DataError) as caught:
            pipeline.run(once=True)
    assert caught.value.diagnostics[0].code == "SLOT_LOST"


def test_who_begins_anew_is_told_of_the_slot_that_is_there(database):
    asked(database, CUSTOMERS)
    with opened(source(database)) as pipeline:
        followed(pipeline)
        assert refused(database, source(database)).code == "SLOT_IN_USE"
    assert refused(database, source(database)).code == "SLOT_EXISTS"
    with opened(source(database, more=", 'on_existing_slot' = 'replace'")) as pipeline:
        assert followed(pipeline) == []


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        ("ALTER TABLE customers DROP COLUMN amount", "SOURCE_CHANGED", "column amount"),
        ("ALTER TABLE customers ALTER COLUMN name TYPE varchar(10)", "SOURCE_CHANGED", "has another type"),
        ("TRUNCATE customers", "SOURCE_TRUNCATED", "was truncated"),
    ],
)
def test_a_change_that_cannot_be_followed_stops_and_is_said(database, change, code, said):
    asked(database, CUSTOMERS)
    asked(database, "INSERT INTO customers VALUES (1, 'a', 1)")
    with opened(source(database)) as pipeline:
        followed(pipeline)
        asked(database, change)
        asked(database, "INSERT INTO customers (id, name) VALUES (2, 'b')")
        with pytest.raises(DataError) as caught:
            pipeline.run(once=True)
        assert pipeline.query("SELECT id FROM customers").rows == [(1,)]
    assert caught.value.diagnostics[0].code == code
    assert said in caught.value.diagnostics[0].message


def test_a_column_that_is_added_is_left_out(database):
    asked(database, CUSTOMERS)
    with opened(source(database)) as pipeline:
        followed(pipeline)
        asked(database, "ALTER TABLE customers ADD COLUMN more int DEFAULT 3")
        asked(database, "INSERT INTO customers VALUES (1, 'a', 1, 2)")
        assert followed(pipeline) == [(1, "a", Decimal("1.00"))]


def test_a_row_that_cannot_be_held_is_set_aside(database):
    asked(database, "CREATE TABLE customers (id int PRIMARY KEY, at timestamptz)")
    with opened(source(database, "CREATE TABLE customers (id INT, at TIMESTAMP, PRIMARY KEY (id))")) as pipeline:
        followed(pipeline)
        asked(database, "INSERT INTO customers VALUES (1, 'infinity'), (2, '2024-01-01')")
        assert [row[0] for row in followed(pipeline)] == [2]
        ((metadata,),) = pipeline.query("SELECT metadata FROM error_view").rows
    assert "infinity" in metadata


def test_a_table_whose_deletions_say_too_little_is_refused(database):
    asked(database, "CREATE TABLE customers (id int, name text, amount numeric)")
    found = refused(database, source(database))
    assert (found.code, found.hint) == ("REPLICA_IDENTITY", 'ALTER TABLE "customers" REPLICA IDENTITY FULL')
    assert refused(database, source(database, more=", 'table' = 'nowhere'")).code == "NO_SUCH_SOURCE"


@pytest.mark.thin
def test_a_table_is_followed_into_another(database):
    """From PostgreSQL to PostgreSQL: the total of each customer, whatever happens to the orders."""
    asked(database, "CREATE TABLE orders (id int PRIMARY KEY, customer text, amount int)")
    asked(database, "INSERT INTO orders VALUES (1, 'a', 5), (2, 'b', 7)")
    table = "CREATE TABLE orders (id INT, customer STRING, amount INT, PRIMARY KEY (id))"
    view = (
        f"CREATE VIEW totals WITH ('connector' = 'postgres', 'connection' = '{database}', 'create' = 'true') AS "
        "SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer;"
    )
    with opened(source(database, table) + view) as pipeline:
        pipeline.run(once=True)
        asked(database, "UPDATE orders SET customer = 'b' WHERE id = 1; INSERT INTO orders VALUES (3, 'c', 1)")
        pipeline.run(once=True)
    assert asked(database, "SELECT * FROM totals") == [("b", 12), ("c", 1)]
