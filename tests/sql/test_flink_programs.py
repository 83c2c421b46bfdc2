"""What Flink's users write, as it is read: functions in Spark's words, settings without meaning, what is refused."""

from __future__ import annotations

import pytest

from penstock.bind.program.compile import compile_program
from penstock.errors import PenstockError, SqlError, UnsupportedError
from penstock.sql.parse import parse, parse_expression
from penstock.sql.text import spark_sql


@pytest.mark.parametrize(
    ("written", "spark"),
    [
        ("SPLIT_INDEX(s, '|', 0)", "get(split(s, '[|]'), 0)"),
        ("SPLIT_INDEX(s, '.;', n)", "get(split(s, '[.];'), n)"),
        ("REGEXP_EXTRACT(s, 'a')", "if(rlike(s, 'a'), regexp_extract(s, 'a', 0), null)"),
        ("STR_TO_MAP(s)", "str_to_map(s, ',', '=')"),
        ("STR_TO_MAP(s, ';', ':')", "str_to_map(s, ';', ':')"),
        ("TO_TIMESTAMP_LTZ(n)", "timestamp_micros(CAST(n AS BIGINT) * 1000)"),
        ("TO_TIMESTAMP_LTZ(n, 0)", "timestamp_micros(CAST(n AS BIGINT) * 1000000)"),
        ("TO_TIMESTAMP_LTZ(s, 'yyyy-MM-dd')", "to_timestamp(s, 'yyyy-MM-dd')"),
        ("JSON_VALUE(j, 'lax $.a')", "get_json_object(j, '$.a')"),
        ("JSON_VALUE(j, '$.a' NULL ON EMPTY NULL ON ERROR)", "get_json_object(j, '$.a')"),
        ("JSON_VALUE(j, '$.a' RETURNING INT)", "TRY_CAST(get_json_object(j, '$.a') AS INT)"),
        (
            "JSON_VALUE(j, '$.a' DEFAULT 'x' ON EMPTY)",
            (
                "CASE WHEN (get_json_object(j, '$.a')) IS NOT NULL THEN get_json_object(j, '$.a')"
                " WHEN (get_json_object(j, '$')) IS NOT NULL THEN 'x' WHEN (j) IS NOT NULL THEN NULL END"
            ),
        ),
        ("JSON_EXISTS(j, '$.a' FALSE ON ERROR)", "if((j) IS NULL, NULL, get_json_object(j, '$.a') IS NOT NULL)"),
        ("JSON_OBJECT(ABSENT ON NULL)", "concat('{', concat_ws(','), '}')"),
        (
            "JSON_OBJECT(KEY 'k' VALUE JSON_ARRAY('a'))",
            (
                "concat('{', concat_ws(',', concat('\"k\"', ':',"
                " coalesce(concat('[', concat_ws(',', '\"a\"'), ']'), 'null'))), '}')"
            ),
        ),
        ("LISTAGG(s)", "listagg(s, ',')"),
        ("LISTAGG(DISTINCT s, '-')", "listagg(DISTINCT s, '-')"),
        ("SHA384(s)", "sha2(s, 384)"),
        ("(a, b) OVERLAPS (c, d)", "(least(a, b) <= greatest(c, d) AND least(c, d) <= greatest(a, b))"),
        (
            "(a, INTERVAL '1' HOUR) OVERLAPS (c, d)",
            (
                "(least(a, a + INTERVAL '1' HOUR) <= greatest(c, d)"
                " AND least(c, d) <= greatest(a, a + INTERVAL '1' HOUR))"
            ),
        ),
        ("EXTRACT(EPOCH FROM t)", "unix_seconds(CAST(t AS TIMESTAMP))"),
        ("x IS JSON", "coalesce(((get_json_object(x, '$')) IS NOT NULL), false)"),
        (
            "x IS JSON ARRAY",
            "coalesce(((get_json_object(x, '$')) IS NOT NULL AND startswith(ltrim(x), '[')), false)",
        ),
        ("ARRAY_SLICE(a, 2, 3)", "slice(a, 2, 2)"),
        ("ARRAY_SLICE(a, 3, 2)", "slice(a, 3, 0)"),
        ("ARRAY_SLICE(a, n)", "slice(a, n, size(a))"),
        ("TRUNCATE(x, 2)", "if((x) < 0, ceil(x, 2), floor(x, 2))"),
        ("FROM_BASE64(s)", "CAST(unbase64(s) AS STRING)"),
        ("ROW(1, 'a')", "struct(1, 'a')"),
    ],
)
def test_a_function_in_sparks_words(written, spark):
    assert spark_sql(parse_expression(written, "flink")).lower() == spark.lower()


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("SPLIT_INDEX(s, '^', 0)", "a text that is written out"),
        ("a OVERLAPS (c, d)", "two pairs of times"),
        ("ARRAY_SLICE(a, n, 3)", "numbers from 1 on, written out"),
        ("ARRAY_SLICE(a)", "takes an array, a start and an end"),
        ("SPLIT_INDEX(s, ',')", "takes three arguments"),
        ("TO_TIMESTAMP_LTZ(n, 6)", "takes seconds or milliseconds"),
        ("JSON_VALUE(j, '$.a' ERROR ON ERROR)", "what fails is NULL"),
        ("JSON_QUERY(j, '$.a' WITH WRAPPER)", "WITH is not supported"),
        ("JSON_EXISTS(j, '$.a' TRUE ON ERROR)", "TRUE is not supported"),
        ("JSON_VALUE(j, path)", "a path that is written out"),
    ],
)
def test_a_function_that_is_refused(written, message):
    with pytest.raises(SqlError, match=message) as caught:
        parse_expression(written, "flink")
    assert caught.value.diagnostics[0].code == "FLINK_FUNCTION"


def test_settings_of_the_runtime_are_read_with_a_warning():
    program = compile_program(
        "SET 'table.exec.state.ttl' = '1 d'; SET 'table.local-time-zone' = 'Europe/Rome';", "flink"
    )
    (found,) = program.catalog.warnings
    assert (found.code, found.severity) == ("NO_MEANING", "warning")
    assert "'table.exec.state.ttl'" in found.message
    assert program.catalog.settings["time zone"] == "Europe/Rome"


def test_settings_are_written_with_or_without_quotes():
    program = compile_program("SET table.exec.mini-batch.enabled = true; SET table.local-time-zone = 'UTC'", "flink")
    assert program.catalog.settings["table.exec.mini-batch.enabled"] == "true"
    assert program.catalog.settings["time zone"] == "UTC"


def test_other_dialects_have_no_such_settings():
    with pytest.raises(SqlError, match="there is no setting"):
        parse("SET 'table.exec.state.ttl' = '1 d'")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "CREATE MATERIALIZED TABLE r FRESHNESS = INTERVAL '30' SECOND AS SELECT 1",
            "a FRESHNESS",
            "MATERIALIZED VIEW r",
        ),
        ("CREATE TABLE d (b INT) LIKE s", "LIKE statements", "list all columns"),
        ("CREATE TABLE d WITH ('connector' = 'print') AS SELECT 1", "tables of a query", "CREATE VIEW"),
    ],
)
def test_what_is_refused_says_what_would_work(text, message, hint):
    with pytest.raises(UnsupportedError, match=message) as caught:
        compile_program(text, "flink")
    assert hint in caught.value.diagnostics[0].hint


def test_the_name_of_metadata_is_in_quotes_of_either_kind():
    table = compile_program(
        "CREATE TABLE r (c STRING, at TIMESTAMP(3) METADATA FROM `timestamp` VIRTUAL, p INT METADATA FROM 'partition')"
        " WITH ('connector' = 'kafka', 'topic' = 'r', 'bootstrap.servers' = 'broker:9092', 'format' = 'json')",
        "flink",
    ).catalog.tables["r"]
    assert [item.metadata for item in table.shown] == [None, "timestamp", "partition"]


def test_explain_plan_for():
    (plan,) = parse("EXPLAIN PLAN FOR SELECT 1", "flink")
    assert plan.query is not None


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("EXPLAIN ESTIMATED_COST, CHANGELOG_MODE SELECT id FROM t", ("plan", "changelog")),
        ("EXPLAIN INSERT INTO o SELECT id FROM t", ()),
        ("EXPLAIN PLAN FOR INSERT INTO default_catalog.default_database.o SELECT id FROM t", ()),
    ],
)
def test_what_is_explained(text, options):
    (found,) = parse(text, "flink")
    assert found.options == options
    assert spark_sql(found.query) == "SELECT id FROM t"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("SHOW CATALOGS", "one namespace"),
        ("SHOW CURRENT DATABASE", "one namespace"),
        ("EXPLAIN STATEMENT SET BEGIN INSERT INTO o SELECT id FROM t; END", "for each of them"),
    ],
)
def test_what_there_is_none_of_says_what_there_is(text, hint):
    with pytest.raises(PenstockError) as error:
        parse(text, "flink")
    assert hint in str(error.value.diagnostics[0].hint)


def test_names_of_the_only_catalog_say_nothing():
    text = """
    CREATE TABLE `default_catalog`.`default_database`.`t` (id INT) DISTRIBUTED BY HASH(id) INTO 4 BUCKETS;
    CREATE VIEW v AS SELECT id FROM default_database.t;
    """
    assert [item.name for item in compile_program(text, dialect="flink").catalog.relations()] == ["t", "v"]
