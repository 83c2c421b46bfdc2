"""Large values that PostgreSQL does not send, since an UPDATE does not touch them: whatever the replica identity."""

import random

import psycopg
import pytest
from tests.services.test_postgres_output import asked, opened
from tests.services.test_postgres_source import followed, source

BIG = "(SELECT string_agg(md5(({0} * 1000 + i)::text), '') FROM generate_series(1, 400) i)"
COLUMNS = "id INT, other INT, big STRING, note STRING, PRIMARY KEY (id)"
TABLE = f"CREATE TABLE customers ({COLUMNS})"
IDENTITIES = {
    "default": "REPLICA IDENTITY DEFAULT",
    "full": "REPLICA IDENTITY FULL",
    "index": "REPLICA IDENTITY USING INDEX by_both",
}


def made(database, identity="default"):
    asked(database, "CREATE TABLE customers (id int PRIMARY KEY, other int NOT NULL, big text, note text)")
    asked(database, "ALTER TABLE customers ALTER big SET STORAGE EXTERNAL")
    asked(database, "CREATE UNIQUE INDEX by_both ON customers (id, other)")
    asked(database, f"ALTER TABLE customers {IDENTITIES[identity]}")
    for key in (1, 2, 3):
        asked(database, f"INSERT INTO customers SELECT {key}, {key}, {BIG.format(key)}, 'n'")


CHANGES = {
    "value": ["UPDATE customers SET note = 'x' WHERE id = 1"],
    "null": ["UPDATE customers SET note = NULL WHERE id = 1"],
    "key": ["UPDATE customers SET id = 11 WHERE id = 1"],
    "key and value": ["UPDATE customers SET id = 11, note = NULL WHERE id = 1"],
    "key twice": ["UPDATE customers SET id = 11 WHERE id = 1", "UPDATE customers SET id = 12 WHERE id = 11"],
    "keys in a circle": [
        "UPDATE customers SET id = 9 WHERE id = 1",
        "UPDATE customers SET id = 1 WHERE id = 2",
        "UPDATE customers SET id = 2 WHERE id = 9",
    ],
    "other column of the identity": ["UPDATE customers SET other = 7 WHERE id = 1"],
    "key, then gone": ["UPDATE customers SET id = 11 WHERE id = 1", "DELETE FROM customers WHERE id = 11"],
    "new, then key": [
        f"INSERT INTO customers SELECT 5, 5, {BIG.format(5)}, 'new'",
        "UPDATE customers SET id = 6 WHERE id = 5",
        "UPDATE customers SET note = 'last' WHERE id = 6",
    ],
    "large value, then key": [
        f"UPDATE customers SET big = {BIG.format(8)} WHERE id = 1",
        "UPDATE customers SET id = 11 WHERE id = 1",
        "UPDATE customers SET big = NULL WHERE id = 11",
        "UPDATE customers SET id = 12 WHERE id = 11",
    ],
    "key of another that has gone": [
        "DELETE FROM customers WHERE id = 2",
        "UPDATE customers SET id = 2 WHERE id = 1",
    ],
}


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_value_that_is_not_sent_is_the_one_that_the_row_has(database, identity, change):
    made(database, identity)
    with opened(source(database, TABLE)) as pipeline:
        assert followed(pipeline) == asked(database, "SELECT * FROM customers")
        asked(database, "CREATE TABLE others (id int PRIMARY KEY, big text)")
        with psycopg.connect(database) as connection:  # one transaction, with another table's rows between
            for number, statement in enumerate(CHANGES[change]):
                connection.execute(f"INSERT INTO others SELECT {number}, {BIG.format(number)}")
                connection.execute(statement)
        assert followed(pipeline) == asked(database, "SELECT * FROM customers")
        assert not pipeline.query("SELECT * FROM error_view").rows


def test_a_table_whose_identity_is_nothing_gives_its_inserts(database):
    made(database)
    asked(database, "ALTER TABLE customers REPLICA IDENTITY NOTHING")
    with opened(source(database, TABLE, ", 'append_only' = 'true'")) as pipeline:
        followed(pipeline)
        asked(database, f"INSERT INTO customers SELECT 5, 5, {BIG.format(5)}, 'new'")
        assert followed(pipeline) == asked(database, "SELECT * FROM customers")


@pytest.mark.thin
@pytest.mark.parametrize("rows", [1, 1000])
def test_two_tables_of_random_transactions(database, rows, tmp_path):
    made(database)
    asked(database, "CREATE TABLE others (id int PRIMARY KEY, customer int, big text)")
    chance = random.Random(rows)
    program = source(database, TABLE, f", 'rows_per_step' = '{rows}'") + source(
        database, "CREATE TABLE others (id INT PRIMARY KEY, customer INT, big STRING)", f", 'rows_per_step' = '{rows}'"
    )
    with psycopg.connect(database, autocommit=True) as connection:
        for _ in range(6):
            with opened(program, directory=tmp_path) as pipeline:
                for _ in range(2):
                    with connection.transaction(force_rollback=chance.random() < 0.2):
                        for _ in range(chance.randrange(1, 7)):
                            _change(connection, chance)
                    assert followed(pipeline) == asked(database, "SELECT * FROM customers")
                    there = sorted(pipeline.query("SELECT * FROM others").rows, key=repr)
                    assert there == asked(database, "SELECT * FROM others")


def _change(connection, chance):
    key, other = chance.randrange(8), chance.randrange(8)
    large = BIG.format(chance.randrange(50))
    statement = chance.choice([
        f"INSERT INTO customers SELECT {key}, 0, {large}, 'n' ON CONFLICT DO NOTHING",
        f"INSERT INTO others SELECT {key}, {other}, {large} ON CONFLICT DO NOTHING",
        f"UPDATE customers SET id = {other} WHERE id = {key} AND {other} NOT IN (SELECT id FROM customers)",
        f"UPDATE others SET id = {other} WHERE id = {key} AND {other} NOT IN (SELECT id FROM others)",
        f"UPDATE customers SET note = {chance.choice(['NULL', 'md5(note)'])} WHERE id = {key}",
        f"UPDATE customers SET big = {chance.choice(['NULL', large])} WHERE id = {key}",
        f"DELETE FROM customers WHERE id = {key}",
    ])  # fmt: skip
    connection.execute(statement)
