"""Tables of a real PostgreSQL that follow views: upserted or added to, each step once, whatever ends the session."""

import random
import subprocess
import sys
import time
from datetime import UTC, date, datetime
from decimal import Decimal

import psycopg
import pytest

import penstock
from penstock.errors import DataError, PenstockError

T = "CREATE TABLE t (k STRING, v INT);"
SUMS = "SELECT k, SUM(v) AS s, COUNT(*) AS n FROM t GROUP BY k"


def view(database, more="'create' = 'true'", query=SUMS, name="v"):
    return f"CREATE VIEW {name} WITH ('connector' = 'postgres', 'connection' = '{database}', {more}) AS {query};"


def opened(text, **options):
    return penstock.Pipeline(text, engine="native", **options)


def asked(database, sql):
    with psycopg.connect(database, autocommit=True) as connection:
        done = connection.execute(sql)
        return sorted(done.fetchall(), key=repr) if done.description else []


def refused(text):
    with pytest.raises(PenstockError) as caught, opened(text) as pipeline:
        pipeline.step({"t": [("a", 1)]})
    return caught.value.diagnostics[0]


@pytest.mark.thin
def test_a_table_follows_its_view_under_random_changes(database):
    chance = random.Random(7)
    present = []
    with opened(T + view(database)) as pipeline:
        for _ in range(40):
            gone = [present.pop(chance.randrange(len(present))) for _ in range(min(len(present), chance.randrange(4)))]
            come = [
                (chance.choice(["a", "b", "c", None]), chance.choice([1, 2, None])) for _ in range(chance.randrange(4))
            ]
            pipeline.step({"t": [*(("-", row) for row in gone), *come]})
            present += come
            wanted = sorted(pipeline.query("SELECT * FROM v").rows, key=repr)
            assert asked(database, "SELECT k, s, n FROM v") == wanted
        steps = pipeline.outputs()[0].step
    assert asked(database, "SELECT output, step FROM penstock_steps") == [("v", steps)]


def test_a_step_is_written_once_whoever_closes_the_session(database):
    enough = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'penstock'"
    rows = view(database, query="SELECT k, v FROM t", more="'create' = 'true', 'form' = 'append'")
    with opened(T.replace("TABLE", "STREAM") + rows) as pipeline:
        for at in range(6):
            pipeline.step({"t": [("a", at)] * 2})
            asked(database, enough)
    assert asked(database, "SELECT v, COUNT(*) FROM v GROUP BY v") == [(at, 2) for at in range(6)]


def test_a_lock_that_somebody_holds_is_waited_for_within_a_bound(database):
    with opened(T + view(database, more="'create' = 'true', 'timeout' = '1 second'")) as pipeline:
        pipeline.step({"t": [("a", 1)]})
        with psycopg.connect(database) as other:
            other.execute("LOCK TABLE v")
            began = time.monotonic()
            with pytest.raises(DataError, match="lock timeout"):
                pipeline.step({"t": [("b", 2)]})
            assert time.monotonic() - began < 30
            (fact,) = pipeline.outputs()
            assert (fact.step, fact.waiting) == (1, 1)
        pipeline.step({"t": [("c", 3)]})
    assert asked(database, "SELECT k, s FROM v ORDER BY k") == [("a", 1), ("b", 2), ("c", 3)]


def test_values_arrive_as_they_are(database):
    columns = (
        "b BOOLEAN, i TINYINT, l BIGINT, f DOUBLE, d DECIMAL(20, 4), s STRING, at TIMESTAMP, n TIMESTAMP_NTZ, "
        "day DATE, raw BINARY, many ARRAY<INT>, one STRUCT<a: INT, b: STRING>"
    )
    row = (
        *(
            True,
            -5,
            2**62,
            float("inf"),
            Decimal("12345678.9012"),
            'tab\t"quote"\n\\N',
            datetime(2024, 2, 29, 1, 2, 3, 4),  # noqa: DTZ001 - naive UTC
        ),
        *(datetime.fromisoformat("2024-03-31 02:30"), date(1, 1, 1), b"\0\xff", [1, None, 3], {"a": 1, "b": "x"}),
    )
    with opened(f"CREATE STREAM t (id INT, {columns});" + view(database, query="SELECT * FROM t")) as pipeline:
        pipeline.step({"t": [(1, *row), (2, *[None] * len(row))]})
    found = {item[0]: item[1:] for item in asked(database, "SELECT * FROM v")}
    assert found[1] == tuple(value.replace(tzinfo=UTC) if value is row[6] else value for value in row)
    assert found[2] == (None,) * len(row)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (None, "there is no table v"),
        ("k text PRIMARY KEY, s bigint", "has no column n"),
        ("k text PRIMARY KEY, s int, n bigint", "column s of table v is int4, which cannot take BIGINT"),
        ("k text, s bigint, n bigint", "has no PRIMARY KEY or unique index on (k)"),
        ("k text UNIQUE, s bigint, n bigint", "holds a NULL any number of times"),
        ("k text PRIMARY KEY, s bigint, n bigint, x int NOT NULL", "column x of table v must not be NULL"),
        ("k text PRIMARY KEY, s bigint, n bigint GENERATED ALWAYS AS (1) STORED", "is generated"),
    ],
)
def test_a_table_of_another_shape_is_refused_before_the_start(database, table, said):
    if table is not None:
        asked(database, f"CREATE TABLE v ({table})")
    found = refused(T + view(database, more="'table' = 'v'"))
    assert found.code == "OUTPUT_DIFFERS"
    assert said in found.message
    assert table is None or asked(database, "SELECT * FROM v") == []


def test_a_table_of_wider_types_and_more_columns_is_taken(database):
    asked(
        database, 'CREATE TABLE v ("K" varchar PRIMARY KEY, s numeric(40, 0), n numeric, at timestamptz DEFAULT now())'
    )
    with opened(T + view(database, more="'table' = 'public.v'")) as pipeline:
        pipeline.step({"t": [("a", 1)]})
        pipeline.step({"t": [("a", 2)]})
    assert asked(database, 'SELECT "K", s, n, at IS NOT NULL FROM v') == [("a", 3, 2, True)]


def test_one_table_is_one_pipelines(database):
    with opened(T + view(database)) as pipeline:
        pipeline.step({"t": [("a", 1)]})
    assert refused(T + view(database)).code == "OUTPUT_IN_USE"
    other = view(database, more="'create' = 'true', 'on_other_pipeline' = 'replace'")
    with opened(T + other) as pipeline:
        pipeline.step({"t": [("b", 1)]})
    assert asked(database, "SELECT k FROM v") == [("b",)]


def test_two_pipelines_do_not_write_at_once(database):
    both = view(database, more="'create' = 'true', 'on_other_pipeline' = 'replace'")
    with opened(T + both) as first:
        first.step({"t": [("a", 1)]})
        found = refused(T + both)
        first.step({"t": [("a", 1)]})
    assert found.code == "OUTPUT_UNREACHABLE"
    assert "another pipeline is writing into it now" in found.message
    assert asked(database, "SELECT k, s FROM v") == [("a", 2)]


def test_what_the_database_refuses_stops_with_what_it_said(database):
    asked(database, "CREATE TABLE v (k text PRIMARY KEY, s bigint CHECK (s < 10), n bigint)")
    with opened(T + view(database, more="'table' = 'v'")) as pipeline:
        pipeline.step({"t": [("a", 1)]})
        with pytest.raises(DataError) as caught:
            pipeline.step({"t": [("a", 100)]})
        assert caught.value.diagnostics[0].code == "OUTPUT_REFUSED"
        assert "v_s_check" in str(caught.value)
        asked(database, "ALTER TABLE v DROP CONSTRAINT v_s_check")
        pipeline.step({"t": [("b", 1)]})
    assert asked(database, "SELECT k, s FROM v") == [("a", 101), ("b", 1)]


def test_a_name_is_a_name_whatever_it_holds(database):
    name = 'x"; DROP TABLE kept; --'
    asked(database, "CREATE TABLE kept (a int)")
    text = T + view(database, more=f"'create' = 'true', 'table' = 'public.\"{name.replace(chr(34), chr(34) * 2)}\"'")
    with opened(text) as pipeline:
        pipeline.step({"t": [("a", 1)]})
    assert asked(database, "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'") == [
        ("kept",),
        ("penstock_steps",),
        (name,),
    ]


def test_no_error_has_the_password(database, monkeypatch):
    monkeypatch.setenv("SHOP_PASSWORD", "s3cret/word")
    nowhere = database.replace("penstock@", "penstock:s3cret@").rpartition("/")[0].rpartition(":")[0] + ":1/none"
    for connection, more in ((nowhere, ""), (database + "x", ", 'password' = '${env:SHOP_PASSWORD}'")):
        text = T + view(connection, more=f"'table' = 'v'{more}")
        with pytest.raises(PenstockError) as caught, opened(text) as pipeline:
            pipeline.step({"t": [("a", 1)]})
        assert caught.value.diagnostics[0].code == "OUTPUT_UNREACHABLE"
        assert "s3cret" not in str(caught.value)
        found = penstock.Pipeline(text, writes=False).explain("v")
        assert "s3cret" not in found.replace(connection, "")


def test_a_view_of_one_row_takes_the_place_of_its_row(database):
    with opened(T + view(database, query="SELECT COUNT(*) AS n FROM t")) as pipeline:
        pipeline.step({"t": [("a", 1)]})
        pipeline.step({"t": [("a", 1)]})
    assert asked(database, "SELECT n FROM v") == [(2,)]


def test_a_process_that_is_killed_leaves_whole_steps(database, tmp_path):
    """The table is the view's answer after the step that the book names, at whatever moment the process ends."""
    feed = tmp_path / "in"
    feed.mkdir()
    source = f"CREATE STREAM t (k INT, v INT) WITH ('connector' = 'files', 'path' = '{feed}');"
    each = "SELECT v, COUNT(*) AS n FROM t GROUP BY v"
    program = source + view(database, query=each)
    command = [sys.executable, "-m", "penstock.cli.main", "run", "--quiet", "--engine", "native", "-e", program]
    with subprocess.Popen(command) as process:
        for at in range(200):
            (feed / f"{at:04}.json").write_text(f'{{"k": {at}, "v": 0}}\n{{"k": {at}, "v": 1}}\n')
            reached = asked(database, "SELECT to_regclass('penstock_steps') IS NOT NULL")[0][0]
            if reached and asked(database, "SELECT step > 3 FROM penstock_steps")[0][0]:
                break
            time.sleep(0.05)
        process.kill()
    rows = asked(database, "SELECT v, n FROM v")
    assert [value for value, _ in rows] == [0, 1]
    assert rows[0][1] == rows[1][1] > 0
