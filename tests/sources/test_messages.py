"""Messages as rows, without a broker: each format, keys, tombstones, METADATA, and messages that are none."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError
from tests.steps.tables import NO_DEFAULTS, declared

from penstock.errors import DataError, SqlError
from penstock.sources.api import check_source
from penstock.sources.kafka import client
from penstock.sources.messages.api import Message
from penstock.sources.messages.choice import rows_of
from penstock.sources.secrets import expanded, masked, secret_values
from penstock.steps.rows.batch import RowReader
from penstock.steps.rows.rejected import Rejections

AT = datetime(2024, 5, 1, 12, 0, 1, tzinfo=UTC)
TABLE = "CREATE TABLE t ({}) WITH ('connector' = 'kafka', 'topic' = 'a', 'bootstrap.servers' = 'h:1', {})"


def read(columns, properties, *messages):
    """The operations and rows of (key, value) pairs, and what was rejected: place and error."""
    table = declared(TABLE.format(columns, properties))
    check_source(table)
    upserts = "'upsert'" in properties
    rows = rows_of(table, lambda table, lenient: RowReader(table, NO_DEFAULTS, lenient=lenient), upserts=upserts)
    given = [Message(value, key, "a", at % 2, at, AT, (("h", b"x"),)) for at, (key, value) in enumerate(messages)]
    rejections = Rejections(tolerant=True)
    batch = rows.batch(given, rejections)
    values = [tuple(row.values()) for row in batch.rows.to_pylist()]
    told = [(found["place"], found["error"]) for found in (json.loads(item.metadata) for item in rejections.rows)]
    return [(batch.operation(at), *row) for at, row in enumerate(values)], told


def refused(columns, properties):
    with pytest.raises(SqlError) as caught:
        check_source(declared(TABLE.format(columns, properties)))
    return caught.value.diagnostics[0]


def test_json_is_a_row_or_an_operation():
    values = [b'{"a": 1, "b": "x"}', b'{"delete": {"a": 1}}', b'{\n"a": 2,\r\n"b": null}']
    found, told = read("a INT PRIMARY KEY, b STRING", "'format' = 'json'", *((None, value) for value in values))
    assert (found, told) == ([("+", 1, "x"), ("-", 1, None), ("+", 2, None)], [])


def test_a_message_that_is_none_is_one_rejected_row_with_its_place():
    values = [b'{"a": 1}', b"", b"no", b'{"a": "x"}', None, b'{"a": 2} {"a": 3}', b"\xff", b'{"a": 4}']
    found, told = read("a INT", "'format' = 'json'", *((None, value) for value in values))
    assert found == [("+", 1), ("+", 4)]
    assert sorted(place for place, _ in told) == ["a/0@2", "a/0@4", "a/0@6", "a/1@1", "a/1@3", "a/1@5"]
    assert "'format' = 'upsert'" in dict(told)["a/0@4"]


def test_one_broken_message_among_many_costs_itself_alone():
    values = [b'{"a": %d}' % number for number in range(300)]
    values[217] = b"{"
    found, told = read("a INT", "'format' = 'json'", *((None, value) for value in values))
    assert [row[1] for row in found] == [number for number in range(300) if number != 217]
    assert [place for place, _ in told] == ["a/1@217"]


@pytest.mark.parametrize("style", ["'key.format' = 'json'", "'key.format' = 'raw'"])
def test_an_upsert_replaces_by_key_and_without_a_value_deletes(style):
    messages = [(b"1", b'{"b": "x"}'), (b"2", b'{"a": 9, "b": "y"}'), (b"1", None), (b"1", b'{"b": "z"}')]
    found, told = read("a INT PRIMARY KEY, b STRING NOT NULL", f"'format' = 'upsert', {style}", *messages)
    assert (found, told) == ([("+", 1, "x"), ("+", 2, "y"), ("-", 1, None), ("+", 1, "z")], [])


def test_a_key_of_several_columns_is_an_object():
    messages = [(b'{"a": 1, "c": "k"}', b'{"b": 5}'), (b'{"a": 1, "c": "k"}', None), (b'{"a": 1}', None), (None, None)]
    found, told = read("a INT, b INT, c STRING, PRIMARY KEY (a, c)", "'format' = 'upsert'", *messages)
    assert found == [("+", 1, 5, "k"), ("-", 1, None, "k")]
    assert [error.rpartition(": ")[2] for _, error in told] == ["it lacks c", "it has no key, which holds a, c"]


def test_debezium_says_what_was_and_what_is():
    changes = [
        {"op": "r", "after": {"id": 1, "n": "a"}},
        {"op": "u", "before": None, "after": {"id": 1, "n": "b"}},
        {"schema": {}, "payload": {"op": "u", "before": {"id": 1, "n": "b"}, "after": {"id": 2, "n": "b"}}},
        {"op": "d", "before": {"id": 2, "n": None}, "after": None},
        {"op": "t"},
    ]
    values = [(None, json.dumps(change).encode()) for change in changes] + [(b"k", None)]
    found, told = read("id INT PRIMARY KEY, n STRING", "'format' = 'debezium-json'", *values)
    assert found == [("+", 1, "a"), ("+", 1, "b"), ("-", 1, "b"), ("+", 2, "b"), ("-", 2, None)]
    assert [place for place, _ in told] == ["a/0@4"]


def test_debezium_without_a_key_takes_the_whole_row_back():
    changes = [
        {"op": "u", "before": {"n": 1}, "after": {"n": 2}},
        {"op": "u", "before": None, "after": {"n": 3}},
        {"op": "d", "before": {"n": 2}},
    ]
    found, told = read("n INT", "'format' = 'debezium'", *((None, json.dumps(change).encode()) for change in changes))
    assert found == [("-", 1), ("+", 2), ("-", 2)]
    assert "REPLICA IDENTITY FULL" in told[0][1]


def test_csv_is_one_record_and_raw_the_value_itself():
    found, told = read("a INT, b STRING", "'format' = 'csv', 'delimiter' = ';'", (None, b'7;"x\ny"'), (None, b"1;2;3"))
    assert (found, [place for place, _ in told]) == ([("+", 7, "x\ny")], ["a/1@1"])
    found, told = read("b BINARY", "'format' = 'raw'", (None, b"\xff\x00"))
    assert (found, told) == ([("+", b"\xff\x00")], [])
    found, told = read("k STRING, n INT", "'format' = 'raw', 'key.format' = 'raw', 'key.fields' = 'k'", (b"q", b"12"))
    assert (found, told) == ([("+", "q", 12)], [])


def test_metadata_fills_columns_beside_the_value():
    columns = (
        "a INT, `offset` BIGINT METADATA, p INT METADATA FROM 'partition' VIRTUAL, k STRING METADATA FROM 'key', "
        "h MAP<STRING, STRING> METADATA FROM 'headers', at TIMESTAMP METADATA FROM 'timestamp'"
    )
    found, told = read(columns, "'format' = 'json'", (b"\xff", b'{"a": 1}'), (b"key", b'{"a": 2, "p": 77}'))
    assert found == [("+", 2, 1, 1, "key", [("h", "x")], AT)]
    assert told == [("a/0@0", "table t, a/0@0: its key is not UTF-8 at byte 0")]


@pytest.mark.parametrize(
    ("columns", "properties", "code"),
    [
        ("a INT", "'format' = 'upsert'", "NO_PRIMARY_KEY"),
        ("a INT", "'key.fields' = 'b'", "UNKNOWN_COLUMN"),
        ("a INT METADATA FROM 'ofset'", "'format' = 'json'", "UNKNOWN_METADATA"),
        ("a INT METADATA FROM 'headers', b INT", "'format' = 'json'", "BAD_METADATA"),
        ("a INT", "'topic-pattern' = 'x.*'", "MISSING_PROPERTY"),
        ("a INT", "'scan.startup.mode' = 'timestamp'", "MISSING_PROPERTY"),
        ("a INT", "'properties.auto.offset.reset' = 'latest'", "BAD_PROPERTY"),
        ("a INT", "'rows_per_step' = 'many'", "BAD_PROPERTY"),
        ("a INT", "'scan.startup.mode' = 'earlyest-offset'", "BAD_PROPERTY"),
    ],
)
def test_what_a_table_cannot_say_of_its_topics_is_refused(columns, properties, code):
    assert refused(columns, properties).code == code


@pytest.mark.parametrize("topic", ["a; DROP TABLE t", "../etc", ""])
def test_the_name_of_a_topic_is_checked(topic):
    text = f"CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = '{topic}', 'bootstrap.servers' = 'h:1')"
    with pytest.raises(SqlError) as caught:
        check_source(declared(text))
    assert caught.value.diagnostics[0].code in ("BAD_PROPERTY", "MISSING_PROPERTY")


def test_metadata_wants_a_source_that_knows_it():
    with pytest.raises(SqlError) as caught:
        check_source(declared("CREATE TABLE t (a INT METADATA FROM 'offset')"))
    assert caught.value.diagnostics[0].code == "UNKNOWN_METADATA"


def test_secrets_are_put_in_where_they_are_used_and_never_shown(monkeypatch, tmp_path):
    monkeypatch.setenv("A_PASSWORD", "s3cret")
    (tmp_path / "word").write_text("hush\n", encoding="utf-8")
    text = f"${{env:A_PASSWORD}}-${{file:{tmp_path / 'word'}}}"
    assert expanded(text, "table t") == "s3cret-hush"
    assert masked("refused: s3cret, hush", secret_values([text])) == "refused: ***, ***"
    with pytest.raises(DataError, match="the environment has no variable 'NOT_THERE'"):
        expanded("${env:NOT_THERE}", "table t: 'properties.sasl.password'")
    with pytest.raises(DataError, match="cannot be read: No such file"):
        expanded(f"${{file:{tmp_path / 'gone'}}}", "table t")


def test_a_topic_that_was_made_just_now_is_asked_for_again(monkeypatch):
    unknown = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
    answers = [SimpleNamespace(error=error) for error in (unknown, unknown, None)]
    asked = iter(answers)
    assert client.spread(lambda: next(asked)) is answers[-1]
    monkeypatch.setattr(client, "_SPREADING", 0)
    assert client.spread(lambda: answers[0]) is answers[0]


def test_values_of_types_that_arrow_does_not_read_from_json_are_read_one_by_one():
    table = declared("CREATE TABLE t (id INT, price DECIMAL(10, 2)) WITH ('connector' = 'http', 'listen' = 'h:1');")
    rows = rows_of(table, lambda one, lenient: RowReader(one, NO_DEFAULTS, lenient=lenient), upserts=False)
    found = rows.batch([Message(b'{"id": 1, "price": 9.50}'), Message(b'{"id": 2}')], Rejections())
    assert found.rows.to_pylist() == [{"id": 1, "price": Decimal("9.50")}, {"id": 2, "price": None}]
