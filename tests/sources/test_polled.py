"""Rows by a growing column: what comes more, ties at the end of a step, going on, databases that are away."""

import json
import random
import sqlite3
import sys
from datetime import datetime
from decimal import Decimal

import duckdb
import pytest
from sqlalchemy import dialects
from tests.steps.tables import NO_DEFAULTS, declared

import penstock
from penstock.errors import DataError, SqlError, UnsupportedError
from penstock.sources import api
from penstock.sources.looks import Looks
from penstock.sources.polled.anywhere import Anywhere
from penstock.sources.polled.databases import Postgres
from penstock.steps.events import ColumnsAdded
from penstock.steps.rows.batch import RowReader
from penstock.steps.rows.rejected import Rejections


@pytest.fixture(autouse=True)
def answers_come_in_time(monkeypatch):
    """A read waits for its answer; tests of looks have those that do not."""
    monkeypatch.setattr(Looks, "WAIT", 30.0)


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "shop.db"
    with sqlite3.connect(found) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER, name TEXT, open INTEGER, other TEXT)")
    return found


def add(path, *rows):
    connection = sqlite3.connect(path)
    connection.executemany("INSERT INTO orders VALUES (?, ?, ?, 'x')", rows)
    connection.commit()
    connection.close()


def text(path, kind="sqlite", columns="id INT, name STRING, open BOOLEAN", table="orders", **said):
    url = f"{kind}{path}" if kind.endswith("/") else f"{kind}:{path}"
    words = {"connector": "sql", "url": url, "column": "id", "every": "0 seconds", **said}
    words |= {} if "query" in said else {"table": table}
    return (
        f"CREATE TABLE t ({columns}) WITH ({', '.join(f''''{name}' = '{value}' ''' for name, value in words.items())})"
    )


KINDS = pytest.mark.parametrize("kind", ["sqlite", "sqlite+pysqlite:///"])


def source_of(statement):
    readers = lambda table, lenient: RowReader(table, NO_DEFAULTS, lenient=lenient)  # noqa: E731
    return api.open_source(declared(statement), readers, None)


def ids(batch):
    return None if batch is None else batch.rows.column(0).to_pylist()


@KINDS
def test_what_has_more_of_the_column_is_read(path, kind):
    add(path, (1, "a", 1), (2, None, 0), (None, "no", 0))
    source = source_of(text(path, kind))
    batch = source.read(100, Rejections())
    assert batch.rows.to_pylist() == [{"id": 1, "name": "a", "open": True}, {"id": 2, "name": None, "open": False}]
    source.rewind()
    assert ids(source.read(100, Rejections())) == [1, 2]
    taken = json.loads(json.dumps(source.taken()))
    source.commit()
    assert source.read(100, Rejections()) is None
    add(path, (3, "c", 1))
    assert ids(source.read(100, Rejections())) == [3]
    again = source_of(text(path, kind))
    again.seek(taken)
    assert ids(again.read(1, Rejections())) == [1, 2]
    again.commit()
    assert ids(again.read(9, Rejections())) == [3]
    later = source_of(text(path, kind))
    later.skip(taken)
    assert ids(later.read(9, Rejections())) == [3]


@KINDS
def test_property_no_row_is_missed_and_none_comes_twice(path, kind):
    chance, expected, found, last = random.Random(3), [], [], 0
    source = source_of(text(path, kind))
    for _ in range(60):
        rows = []
        for _ in range(chance.randrange(4)):
            last += chance.randrange(1, 3)
            rows += [(last, str(number), 1) for number in range(chance.randrange(1, 4))]
        add(path, *rows)
        expected += rows
        batch = source.read(chance.randrange(1, 4), Rejections())
        if batch is not None and chance.random() < 0.3:
            source.rewind()
        elif batch is not None:
            found += [tuple(row.values()) for row in batch.rows.to_pylist()]
            source.commit()
    while (batch := source.read(2, Rejections())) is not None:
        found += [tuple(row.values()) for row in batch.rows.to_pylist()]
        source.commit()
    assert sorted(found) == sorted((number, name, True) for number, name, _ in expected)


def test_a_pipeline_with_a_directory_goes_on(path, tmp_path):
    add(path, (1, "a", 1), (2, "b", 1))
    for more, expected in (((3, "c", 1), 2), ((4, "d", 1), 3)):
        with penstock.Pipeline(text(path) + ";", engine="native", directory=tmp_path / "dir") as pipeline:
            pipeline.run(once=True)
            assert pipeline.query("SELECT COUNT(*) FROM t").rows == [(expected,)]
            (fact,) = pipeline.sources()
            assert (fact.position_text, fact.source) == (
                f"SQLite {path}/id@{expected}",
                f"t from orders at SQLite {path} by id",
            )
        add(path, more)


def test_a_query_and_duckdb(tmp_path):
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE SCHEMA s; CREATE TABLE s.o AS SELECT range AS id, 'n%' AS name FROM range(5)")
    assert ids(source_of(text(path, "duckdb", "id INT, name STRING", "s.o")).read(2, Rejections())) == [0, 1]
    asked = source_of(text(path, "duckdb", "id INT, n INT", query="SELECT id, id * 2 AS n FROM s.o WHERE id > 2"))
    assert asked.read(9, Rejections()).rows.to_pylist() == [{"id": 3, "n": 6}, {"id": 4, "n": 8}]


def test_a_database_that_is_away_is_waited_for_and_then_ends_the_run(tmp_path):
    now = [0.0]
    source = source_of(text(tmp_path / "none.db", timeout="10 seconds"))
    source.now = lambda: now[0]
    assert source.read(1, Rejections()) is None
    assert "there is no file" in source.trouble()
    now[0] = 11.0
    with pytest.raises(DataError) as caught:
        source.read(1, Rejections())
    assert caught.value.diagnostics[0].code == "SOURCE_UNREACHABLE"


@KINDS
def test_a_question_that_is_refused_says_what_the_database_said(path, kind):
    with pytest.raises(DataError, match="no such table") as caught:
        source_of(text(path, kind, table="ordres")).read(1, Rejections())
    assert caught.value.diagnostics[0].code == "SOURCE_REFUSED"


def test_it_is_asked_no_more_often_than_said(path):
    now = [0.0]
    source = source_of(text(path, every="10 seconds"))
    source.now = lambda: now[0]
    assert source.read(1, Rejections()) is None
    add(path, (1, "a", 1))
    now[0] = 9.0
    assert source.read(1, Rejections()) is None
    now[0] = 10.0
    assert ids(source.read(1, Rejections())) == [1]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"column": "nr"}, "UNKNOWN_COLUMN"),
        ({"url": "redis://h/x"}, "BAD_PROPERTY"),
        ({"table": "a", "query": "SELECT 1"}, "MISSING_PROPERTY"),
    ],
    ids=["column", "address", "both"],
)
def test_what_cannot_be_is_refused(path, said, code):
    words = {"connector": "sql", "url": f"sqlite:{path}", "column": "id", "table": "o", **said}
    texts = ", ".join(f"'{name}' = '{value}'" for name, value in words.items())
    with pytest.raises(SqlError) as caught:
        api.check_source(declared(f"CREATE TABLE t (id INT) WITH ({texts})"))
    assert caught.value.diagnostics[0].code == code


def test_secrets_of_an_address_are_told_nobody(monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_TEST_SECRET", "open-sesame")
    source = source_of(text(f"{tmp_path}/${{env:PENSTOCK_TEST_SECRET}}.db"))
    assert source.read(1, Rejections()) is None
    assert "sesame" not in source.trouble() + source.describe()


def test_any_other_database_is_asked_by_sqlalchemy(path):
    add(path, (1, "a:b", 1), (2, "a:c", 0), (3, "a:b", 1))
    query = "SELECT id, name FROM orders WHERE name = 'a:b'".replace("'", "''")
    asked = source_of(text(path, "sqlite+pysqlite:///", "id INT, name STRING", query=query))
    assert asked.read(9, Rejections()).rows.to_pylist() == [{"id": 1, "name": "a:b"}, {"id": 3, "name": "a:b"}]
    named = source_of(text(path, "sqlite+pysqlite:///", table="main.orders"))
    assert ids(named.read(2, Rejections())) == [1, 2]
    assert named.describe() == f"t from main.orders at sqlite+pysqlite:///{path} by id"


@pytest.mark.parametrize(
    ("dialect", "select", "limit"),
    [
        ("mysql", "SELECT *", " LIMIT %s"),
        ("oracle", "SELECT *", " FETCH FIRST __[POSTCOMPILE_param_1] ROWS ONLY"),
        ("mssql", "SELECT TOP __[POSTCOMPILE_param_1] *", ""),
    ],
)
def test_questions_are_in_the_words_of_the_database(dialect, select, limit):
    table = declared(text("", url="sqlite+pysqlite://", table="shop.orders"))
    asked, written = Anywhere.of(table, "sqlite+pysqlite://", "table t"), []
    asked._ask = lambda query: written.append(str(query.compile(dialect=dialects.registry.load(dialect)())))
    asked.above(None, 7)
    expected = f"{select} FROM shop.orders WHERE shop.orders.id IS NOT NULL ORDER BY shop.orders.id{limit}"
    assert [" ".join(item.split()) for item in written] == [expected]


def test_an_address_without_its_client_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymysql", None)
    with pytest.raises(UnsupportedError) as caught:
        source_of(text("", url="mysql+pymysql://penstock@h/x"))
    assert "pip install pymysql" in caught.value.diagnostics[0].hint
    with pytest.raises(DataError, match="nosuchclient"):
        source_of(text("", url="mysql+nosuchclient://penstock@h/x"))


def test_a_password_is_put_into_the_address_and_told_nobody(monkeypatch):
    monkeypatch.setenv("PENSTOCK_TEST_SECRET", "open-sesame")
    address = "postgresql+psycopg://me@h/x"
    table = declared(text("", url=address, password="${env:PENSTOCK_TEST_SECRET}"))  # noqa: S106 - where it is found
    asked = Anywhere.of(table, address, "table t")
    assert asked.engine.url.password.startswith("open")
    assert "sesame" not in asked.where + repr(asked)
    assert asked.secrets == {"open-sesame"}


def test_a_user_is_put_into_an_address_that_names_none():
    text_of = "CREATE TABLE t (id INT) USING jdbc OPTIONS (url 'jdbc:{}', user 'me', dbtable 'o', partitionColumn 'id')"
    table = declared(text_of.format("postgresql://h/x"))
    assert Postgres(table, "table t")._database.parameters["user"] == "me"
    table = declared(text_of.format("postgresql://you@h/x"))
    assert Postgres(table, "table t")._database.parameters["user"] == "you"
    for address, user in (("postgresql+psycopg://h/x", "me"), ("postgresql+psycopg://you@h/x", "you")):
        assert Anywhere.of(declared(text_of.format(address)), address, "table t").engine.url.username == user


class Grown:
    """Pipelines over a table that grows, whose columns are added."""

    def __init__(self, path, kind="sqlite", **said):
        self.text = text(path, kind, "id INT, name STRING", unknown_columns="add", **said) + ";"
        self.folder, self.told = path.parent / "dir", []

    def rows(self):
        """The rows once all that is there has been read, and the columns that have come."""
        with penstock.Pipeline(
            self.text, engine="native", directory=self.folder, on_event=self.told.append
        ) as pipeline:
            pipeline.run(once=True)
            found = pipeline.query("SELECT * FROM t ORDER BY id").rows
            assert pipeline.query("SELECT message, metadata FROM error_view").rows == []
        added = [column for event in self.told if isinstance(event, ColumnsAdded) for column in event.columns]
        return found, added


@KINDS
def test_columns_that_the_table_lacks_are_added_with_the_step_that_has_a_value(path, kind):
    run = Grown(path, kind, rows_per_step=1)
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO orders VALUES (1, 'a', NULL, NULL), (2, 'b', 5, NULL)")
    connection.commit()
    rows, added = run.rows()
    assert (rows, added) == ([(1, "a", None), (2, "b", 5)], [("open", "BIGINT")])
    connection.execute("ALTER TABLE orders ADD COLUMN more REAL")
    connection.execute("INSERT INTO orders VALUES (3, 'c', 7, 'x', 1.5), (4, NULL, NULL, NULL, NULL)")
    connection.commit()
    connection.close()
    rows, added = run.rows()
    assert rows == [
        (1, "a", None, None, None), (2, "b", 5, None, None), (3, "c", 7, "x", 1.5), (4, None, None, None, None),
    ]  # fmt: skip
    assert sorted(added[1:]) == [("more", "DOUBLE"), ("other", "STRING")]


def test_columns_that_are_added_have_types_that_hold_their_values(tmp_path):
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE orders AS SELECT 1 AS id, 'a' AS name, 1.50::DECIMAL(10, 2) AS amount, "
            "DATE '2024-01-31' AS day, TIMESTAMP '2024-01-31 12:00' AS local, "
            "TIMESTAMPTZ '2024-01-31 12:00+01' AS at, '\\xFF'::BLOB AS raw, "
            "true AS open, 1::HUGEINT << 70 AS huge, {'a': [1, 2]} AS part, 1::FLOAT AS f"
        )
    run = Grown(path, "duckdb")
    ((*values,),), added = run.rows()
    assert dict(added) == {
        "amount": "DECIMAL(38, 18)", "day": "DATE", "local": "TIMESTAMP_NTZ", "at": "TIMESTAMP", "raw": "BINARY",
        "open": "BOOLEAN", "huge": "STRING", "part": "STRING", "f": "DOUBLE",
    }  # fmt: skip
    noon = datetime.fromisoformat("2024-01-31 12:00")
    assert values == [
        1, "a", Decimal("1.5"), noon.date(), noon, noon.replace(hour=11), b"\xff", True, str(1 << 70),
        '{"a": [1, 2]}', 1.0,
    ]  # fmt: skip


@KINDS
def test_columns_that_the_table_lacks_can_end_the_run(path, kind):
    add(path, (1, "a", 1))
    source = source_of(text(path, kind, unknown_columns="reject"))
    with pytest.raises(DataError, match="it has a column other, which the table lacks") as caught:
        source.read(9, Rejections(tolerant=True))
    assert caught.value.diagnostics[0].code == "UNKNOWN_COLUMN"
    whole = "id INT, name STRING, open BOOLEAN, other STRING"
    assert ids(source_of(text(path, kind, whole, unknown_columns="reject")).read(9, Rejections())) == [1]


def test_a_name_that_no_column_can_have_ends_the_run(path):
    add(path, (1, "a", 1))
    query = "SELECT id, name AS __seq FROM orders"
    program = text(path, query=query, unknown_columns="add") + ";"
    refused = pytest.raises(DataError, match="a column cannot be named __seq")
    with penstock.Pipeline(program, engine="native") as pipeline, refused:
        pipeline.run(once=True)


def test_an_address_that_the_client_does_not_take_is_told_by_its_property():
    url = "postgresql://penstock@db:port:5432/shop?nothing=1"
    with pytest.raises(DataError) as caught:
        Postgres(declared(f"CREATE TABLE t (id INT) WITH ('connector' = 'sql', 'url' = '{url}')"), "table t")
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("BAD_CONNECTION", "table t: 'url' is not what libpq takes")
    assert found.hint == "postgresql://user@host:5432/database"
