"""One statement after another: text to frozen values."""

import pytest

from penstock.catalog.model import ForeignKey, Lateness
from penstock.sql import statements as s
from penstock.sql.parse import parse
from penstock.sql.text import spark_sql


def one(text, dialect="penstock"):
    (statement,) = parse(text, dialect)
    return statement


def test_no_statements():
    assert parse("") == parse(" ;; -- nothing\n /* at all */ ;") == ()


def test_table():
    text = """CREATE TABLE IF NOT EXISTS orders (
        id BIGINT NOT NULL COMMENT 'the number', ts TIMESTAMP LATENESS INTERVAL 1 HOUR AHEAD INTERVAL '1' DAY,
        price DECIMAL(10, 2) DEFAULT 0.0 NOT NULL LATENESS 2.5, k INT DOMAIN CONSTANT REFERENCES kinds(k),
        t2 TIMESTAMP WATERMARK INTERVAL 5 MINUTES, PRIMARY KEY (id, k), FOREIGN KEY (id) REFERENCES other (x)
    ) WITH ('history' = 'none', 'append_only' = true);"""
    statement = one(text)
    table = statement.table
    assert isinstance(statement, s.CreateTable)
    assert statement.if_not_exists
    assert statement.text == text[:-1]
    assert [(c.name, c.type, c.nullable) for c in table.columns] == [
        ("id", "bigint", False),
        ("ts", "timestamp", True),
        ("price", "decimal(10,2)", False),
        ("k", "int", False),
        ("t2", "timestamp", True),
    ]
    assert table.column("id").comment == "the number"
    assert table.column("ts").lateness == Lateness("INTERVAL '1' HOUR", ahead="INTERVAL '1' DAY")
    assert table.column("price").default == "0.0"
    assert table.column("price").lateness == Lateness("2.5")
    assert table.column("k").domain_constant
    assert table.column("t2").watermark == "INTERVAL '5' MINUTE"
    assert table.key == ("id", "k")
    assert table.foreign_keys == (ForeignKey(("k",), "kinds", ("k",)), ForeignKey(("id",), "other", ("x",)))
    assert table.properties == {"history": "none", "append_only": "true"}
    assert table.append_only


def test_stream():
    table = one("CREATE STREAM s (a INT LATENESS 5 ROWS)").table
    assert table.stream
    assert table.append_only
    assert table.column("a").lateness == Lateness("5", rows=5)


@pytest.mark.parametrize("words", ["HOUR", "hours", "HOURS"], ids=str)
def test_intervals_of_lateness(words):
    assert one(f"CREATE TABLE t (a TIMESTAMP LATENESS INTERVAL '1' {words})").table.columns[0].lateness == Lateness(
        "INTERVAL '1' HOUR"
    )
    spelt = one("CREATE TABLE t (a TIMESTAMP LATENESS INTERVAL '1:00' HOURS TO MINUTES)").table.columns[0].lateness
    assert spelt == Lateness("INTERVAL '1:00' HOUR TO MINUTE")


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("INTEGER", "int"),
        ("VARCHAR", "string"),
        ("VARCHAR(20)", "varchar(20)"),
        ("CHAR", "char(1)"),
        ("DOUBLE PRECISION", "double"),
        ("TIMESTAMP(3)", "timestamp"),
        ("TIMESTAMP WITH TIME ZONE", "timestamp"),
        ("TIMESTAMP_LTZ(3)", "timestamp"),
        ("DECIMAL", "decimal(10,0)"),
        ("DECIMAL(5)", "decimal(5,0)"),
        ("INT ARRAY", "array<int>"),
        ("ARRAY<MAP<STRING, INT>>", "array<map<string,int>>"),
        ("STRUCT<a: INT, b STRING NOT NULL>", "struct<a:int,b:string>"),
        ("ROW(a INT, b INT ARRAY)", "struct<a:int,b:array<int>>"),
        ("INTERVAL DAY TO SECOND", "interval day to second"),
    ],
)
def test_types(written, kind):
    assert one(f"CREATE TABLE t (c {written} NOT NULL)").table.columns[0].type == kind


def test_column_names_that_are_keywords():
    table = one(
        "CREATE TABLE t (order INT, `group by` INT, timestamp TIMESTAMP, select INT, end INT, key STRING)"
    ).table
    assert [c.name for c in table.columns] == ["order", "group by", "timestamp", "select", "end", "key"]


def test_view():
    text = "CREATE OR REPLACE MATERIALIZED VIEW v (x, y) WITH ('emit_final' = 'x') AS (SELECT 1, 2) UNION (SELECT 3, 4)"
    view = one(text)
    assert (view.name, view.kind, view.or_replace, view.column_names) == ("v", "materialized", True, ("x", "y"))
    assert view.properties == {"emit_final": "x"}
    assert view.query_text == "(SELECT 1, 2) UNION (SELECT 3, 4)"
    assert text[view.name_span.start : view.name_span.end] == "v"
    assert one("CREATE LOCAL VIEW v AS SELECT 1").kind == "local"
    assert one("CREATE MATERIALIZED VIEW v INTO t AS SELECT 1 AS a").into == "t"


def test_what_only_spark_reads_is_kept_as_text():
    view = one("CREATE VIEW v AS SELECT TRANSFORM(a) USING 'cat' AS (b) FROM t")
    assert isinstance(view, s.Unparsed)
    assert view.query_text == "SELECT TRANSFORM(a) USING 'cat' AS (b) FROM t"
    assert "Spark" in view.reason


def test_dml():
    insert = one("INSERT INTO t (a, b) VALUES (1, 'x'), (-2, NULL)")
    assert (insert.table, insert.columns, len(insert.source.expressions)) == ("t", ("a", "b"), 2)
    assert one("INSERT INTO t (SELECT 1)").columns == ()
    update = one("UPDATE t SET a = a + 1, b = 'x' WHERE c > 2")
    assert [(name, spark_sql(value)) for name, value in update.assignments] == [("a", "a + 1"), ("b", "'x'")]
    assert spark_sql(update.where) == "c > 2"
    assert one("DELETE FROM t").where is None


def test_the_rest():
    recursive = one("DECLARE RECURSIVE VIEW v (x INT, y VARCHAR NOT NULL)")
    assert [(c.name, c.type, c.nullable) for c in recursive.columns] == [("x", "int", True), ("y", "string", False)]
    function = one("CREATE FUNCTION f(x INT) RETURNS BIGINT RETURN x * 2")
    assert (function.name, function.returns, spark_sql(function.body)) == ("f", "bigint", "x * 2")
    drop = one("DROP MATERIALIZED VIEW IF EXISTS v")
    assert (drop.what, drop.name, drop.if_exists) == ("view", "v", True)
    late = one("LATENESS v.c INTERVAL 1 HOUR")
    assert (late.view, late.column, late.lateness.bound) == ("v", "c", "INTERVAL '1' HOUR")
    advance = one("ADVANCE t.c TO TIMESTAMP '2020-01-01 00:00:00'")
    assert spark_sql(advance.value) == "TIMESTAMP '2020-01-01 00:00:00'"
    assert [type(x) for x in parse("BEGIN; START TRANSACTION; COMMIT WORK; ROLLBACK")] == [
        s.Begin,
        s.Begin,
        s.Commit,
        s.Rollback,
    ]
    explain = one("EXPLAIN (trace, JSON) SELECT 1")
    assert (explain.options, explain.target) == (("trace", "json"), None)
    assert one("EXPLAIN VIEW v").target == "v"
    for text in ("EXPLAIN ANALYZE v", "explain analyze view v", "EXPLAIN (ANALYZE) v", "EXPLAIN ANALYZE `v`"):
        assert (one(text).options, one(text).target) == (("analyze",), "v")
    assert one("EXPLAIN ANALYZE (JSON) v").options == ("analyze", "json")
    assert one("EXPLAIN ANALYZE SELECT 1").query is not None
    assert (one("EXPLAIN analyze").options, one("EXPLAIN analyze").target) == ((), "analyze")
    assert one("SHOW CREATE TABLE t").name == "t"
    assert one("SHOW waterlines").what == "waterlines"
    assert one("DESC t").name == "t"


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("SET dialect = 'flink'", "dialect", "flink"),
        ("SET TIME ZONE 'Europe/Berlin'", "time zone", "Europe/Berlin"),
        ("SET spark.sql.ansi.enabled = true", "spark.sql.ansi.enabled", "true"),
        ("SET spark.sql.broadcastTimeout = 5 seconds", "spark.sql.broadcastTimeout", "5 seconds"),
        ("SET PROFILE", "profile", None),
        ("SET", None, None),
    ],
)
def test_set(text, name, value):
    statement = one(text)
    assert (statement.name, statement.value) == (name, value)


def test_set_dialect_holds_from_there_on():
    first, _, second = parse("CREATE TABLE a (x INT); SET dialect = 'timeplus'; CREATE STREAM b (x float64)")
    assert first.table.columns[0].type == "int"
    assert second.table.columns[0].type == "double"
