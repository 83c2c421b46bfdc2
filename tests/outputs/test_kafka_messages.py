"""The messages of a step, without a broker: keys, tombstones, envelopes, headers."""

import json
from types import SimpleNamespace

import pytest

from penstock.bind.program.compile import compile_program
from penstock.errors import SqlError
from penstock.outputs.forms import Form
from penstock.outputs.kafka.writing import Writing
from penstock.pipeline.supported import check_supported

COUNTS = "SELECT k, COUNT(*) AS n FROM t GROUP BY k"
CHANGE = SimpleNamespace(rows=[(-1, ("a", 1)), (1, ("a", 2)), (1, ("b", 5)), (-1, ("c", 7))])


def messages(form, key=(0,), **more):
    made = Writing(("k", "s"), form, key, **more).messages(CHANGE)
    return [(item.op, *(part and json.loads(part) for part in (item.key, item.value))) for item in made]


def test_an_upsert_is_the_row_of_a_key_or_nothing():
    assert messages(Form.UPSERT) == [
        (None, {"k": "a"}, {"k": "a", "s": 2}),
        (None, {"k": "c"}, None),
        (None, {"k": "b"}, {"k": "b", "s": 5}),
    ]


def test_a_changelog_is_rows_with_what_is_done_or_envelopes():
    assert [(op, row["s"]) for op, _, row in messages(Form.CHANGELOG)] == [("-U", 1), ("+U", 2), ("-D", 7), ("+I", 5)]
    assert [row for _, _, row in messages(Form.CHANGELOG, debezium=True)] == [
        {"before": {"k": "a", "s": 1}, "after": {"k": "a", "s": 2}, "op": "u"},
        {"before": {"k": "c", "s": 7}, "after": None, "op": "d"},
        {"before": None, "after": {"k": "b", "s": 5}, "op": "c"},
    ]


def test_what_takes_a_row_back_has_the_key_of_the_row():
    found = messages(Form.RETRACT, key=())
    assert ({"k": "c", "s": 7}, {"delete": {"k": "c", "s": 7}}) in [item[1:] for item in found]
    assert ({"k": "b", "s": 5}, {"insert": {"k": "b", "s": 5}}) in [item[1:] for item in found]


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ("'topic' = 'a'", "MISSING_PROPERTY"),
        ("'bootstrap.servers' = 'h:1'", "MISSING_PROPERTY"),
        ("'topic' = 'a b', 'bootstrap.servers' = 'h:1'", "BAD_PROPERTY"),
        ("'topic' = 'a', 'bootstrap.servers' = 'h:1', 'form' = 'append'", "TAKES_ROWS_BACK"),
        ("'topic' = 'a', 'bootstrap.servers' = 'h:1', 'format' = 'debezium', 'form' = 'upsert'", "BAD_PROPERTY"),
    ],
)
def test_what_an_output_cannot_say_of_its_topic_is_refused(more, code):
    text = f"CREATE TABLE t (k INT); CREATE VIEW v WITH ('connector' = 'kafka', {more}) AS {COUNTS}"
    catalog = compile_program(text).catalog
    with pytest.raises(SqlError) as caught:
        check_supported(catalog)
    assert caught.value.diagnostics[0].code == code
