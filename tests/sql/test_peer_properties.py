"""Properties that people paste from Flink's and Spark's connectors: they work, or are refused with what to write."""

import pytest
from tests.steps.tables import declared

from penstock.bind.program.compile import compile_program
from penstock.errors import SqlError
from penstock.pipeline.supported import check_supported
from penstock.sources.api import check_source

KAFKA = "CREATE TABLE t (id INT PRIMARY KEY, n STRING) WITH ('connector' = 'kafka', 'topic' = 'a', {})"
SERVERS = "'properties.bootstrap.servers' = 'h:1'"


def table(text):
    found = declared(text)
    check_source(found)
    return found.properties


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("'format' = 'json', 'json.ignore-parse-errors' = 'true'", {"on_bad_value": "null"}),
        ("'value.format' = 'json', 'value.json.ignore-parse-errors' = 'false'", {"on_error": "fail"}),
        ("'json.fail-on-missing-field' = 'true'", {"missing_columns": "reject"}),
        ("'json.fail-on-missing-field' = 'false'", {"missing_columns": "null"}),
        ("'json.timestamp-format.standard' = 'ISO-8601'", {}),
        ("'format' = 'debezium-json', 'debezium-json.schema-include' = 'true'", {}),
        ("'format' = 'debezium-json', 'debezium-json.ignore-parse-errors' = 'true'", {"on_bad_value": "null"}),
        (
            "'format' = 'csv', 'csv.field-delimiter' = ';', 'csv.null-literal' = 'N'",
            {"delimiter": ";", "null_text": "N"},
        ),
        ("'value.format' = 'csv', 'value.csv.field-delimiter' = ';'", {"delimiter": ";"}),
        ("'format' = 'csv', 'csv.disable-quote-character' = 'true'", {"quote": ""}),
        ("'scan.bounded.mode' = 'unbounded', 'scan.watermark.idle-timeout' = '5 s'", {"idle_after": "5 seconds"}),
    ],
)
def test_words_of_flink(given, meant):
    found = table(KAFKA.format(f"{SERVERS}, {given}"))
    assert {name: found[name] for name in meant} == meant
    assert not [name for name in found if "json." in name or "csv." in name or name.startswith("scan.b")]


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("'scan.bounded.mode' = 'latest-offset'", "--once"),
        ("'format' = 'csv', 'csv.allow-comments' = 'true'", "comments"),
        ("'json.ignore-parse-errors' = 'maybe'", "'true'"),
        ("'key.fields-prefix' = 'k_'", "named"),
        ("'startingOffsets' = '{\"a\": {\"0\": -2}}'", "specific-offsets"),
        ("'endingOffsets' = '{}'", "--once"),
    ],
)
def test_words_that_are_refused_say_what_to_write(given, hint):
    text = KAFKA.format(f"{SERVERS}, {given}")
    with pytest.raises(SqlError) as caught:
        table(text)
    (found,) = caught.value.diagnostics
    assert found.code == "BAD_PROPERTY"
    assert hint in found.hint
    assert text[found.span.start : found.span.end] in given


def test_a_table_that_is_written_may_say_how_it_would_be_read():
    words = "'json.ignore-parse-errors' = 'true', 'json.fail-on-missing-field' = 'false', 'sink.parallelism' = '2'"
    written = (
        f"CREATE TABLE o (id INT) WITH ('connector' = 'kafka', 'topic' = 'o', {SERVERS}, 'format' = 'json', {words})"
    )
    program = f"{written}; CREATE TABLE t (id INT); INSERT INTO o SELECT id FROM t;"
    check_supported(compile_program(program).catalog)


def test_words_of_spark_with_a_topic():
    options = (
        "kafka.bootstrap.servers 'h:1', subscribe 'a', startingOffsets '{\"a\": {\"0\": 23}}', failOnDataLoss 'false'"
    )
    found = table(f"CREATE TABLE t (id INT) USING kafka OPTIONS ({options})")
    assert {name: value for name, value in found.items() if name != "connector"} == {
        "bootstrap.servers": "h:1",
        "topic": "a",
        "scan.startup.mode": "specific-offsets",
        "scan.startup.specific-offsets": "partition:0,offset:23",
        "on_lost": "skip",
    }


@pytest.mark.parametrize(
    ("options", "meant"),
    [
        ("mode 'PERMISSIVE'", {"on_bad_value": "null"}),
        ("mode 'FAILFAST', inferSchema 'true'", {"on_error": "fail"}),
        (
            "sep ';', nullValue 'NA', escape '\"', multiLine 'true'",
            {"delimiter": ";", "null_text": "NA", "escape": '"'},
        ),
    ],
)
def test_options_of_sparks_csv(options, meant):
    found = table(f"CREATE TABLE t (id INT) USING csv OPTIONS ({options}) LOCATION 'in'")
    assert {name: found[name] for name in meant} == meant


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ("timestampFormat 'dd.MM.yyyy'", "to_timestamp"),
        ("dateFormat 'dd.MM.yyyy'", "to_date"),
        ("columnNameOfCorruptRecord 'bad'", "error_view"),
        ("encoding 'latin1'", "'connector' = 'spark'"),
        ("mode 'LENIENT'", "PERMISSIVE"),
        ("ignoreLeadingWhiteSpace 'true'", "ltrim"),
    ],
)
@pytest.mark.parametrize("style", ["csv", "json"])
def test_options_of_sparks_files_that_are_refused(options, hint, style):
    with pytest.raises(SqlError) as caught:
        table(f"CREATE TABLE t (id INT) USING {style} OPTIONS ({options}) LOCATION 'in'")
    assert hint in caught.value.diagnostics[0].hint


def test_documents_of_several_lines_are_sparks():
    with pytest.raises(SqlError, match="'multiline' = 'true' is not supported"):
        table("CREATE TABLE t (id INT) USING json OPTIONS (multiLine 'true') LOCATION 'in'")
