"""The envelopes of Canal, Maxwell and OGG."""

import json

import pytest
from tests.sources.test_messages import read

CANAL = [
    {"type": "INSERT", "data": [{"id": "1", "n": "a"}, {"id": "2", "n": "b"}], "old": None, "isDdl": False},
    {"type": "UPDATE", "data": [{"id": "1", "n": "c"}], "old": [{"n": "a"}]},
    {"type": "UPDATE", "data": [{"id": "3", "n": "b"}], "old": [{"id": "2"}]},
    {"type": "DELETE", "data": [{"id": "1", "n": "c"}], "old": None},
    {"type": "ALTER", "isDdl": True, "sql": "ALTER TABLE t", "data": None},
]
MAXWELL = [
    {"type": "bootstrap-start", "data": {}},
    {"type": "bootstrap-insert", "data": {"id": 1, "n": "a"}},
    {"type": "insert", "data": {"id": 2, "n": "b"}},
    {"type": "update", "data": {"id": 1, "n": "c"}, "old": {"n": "a"}},
    {"type": "update", "data": {"id": 3, "n": "b"}, "old": {"id": 2}},
    {"type": "delete", "data": {"id": 1, "n": "c"}},
]
OGG = [
    {"op_type": "I", "after": {"id": 1, "n": "a"}},
    {"op_type": "I", "after": {"id": 2, "n": "b"}},
    {"op_type": "U", "before": {"id": 1, "n": "a"}, "after": {"id": 1, "n": "c"}},
    {"op_type": "U", "before": {"id": 2, "n": "b"}, "after": {"id": 3, "n": "b"}},
    {"op_type": "D", "before": {"id": 1, "n": "c"}},
]
ALL = [("canal-json", CANAL), ("maxwell-json", MAXWELL), ("ogg-json", OGG)]


def values(messages):
    return [(None, json.dumps(message).encode()) for message in messages]


@pytest.mark.parametrize(("style", "messages"), ALL)
def test_changes_of_a_table_with_a_key(style, messages):
    found, told = read("id INT PRIMARY KEY, n STRING", f"'format' = '{style}'", *values(messages), (b"k", None))
    inserted = [("+", 1, "a"), ("+", 2, "b"), ("+", 1, "c")]
    assert ([row[:2] for row in found], told) == ([*(row[:2] for row in inserted), ("-", 2), ("+", 3), ("-", 1)], [])
    assert found[:3] == inserted


@pytest.mark.parametrize(("style", "messages"), ALL)
def test_changes_of_a_table_without_one(style, messages):
    found, told = read("id INT, n STRING", f"'format' = '{style}'", *values(messages))
    assert told == []
    assert found[2:6] == [("-", 1, "a"), ("+", 1, "c"), ("-", 2, "b"), ("+", 3, "b")]


@pytest.mark.parametrize(("style", "messages"), ALL)
@pytest.mark.parametrize("broken", [{"type": "x", "op_type": "x"}, {"type": "insert", "op_type": "I"}, {}, []])
def test_what_is_none_costs_itself_alone(style, messages, broken):
    found, told = read("id INT, n STRING", f"'format' = '{style}'", *values([broken, *messages]))
    assert len(told) == 1
    assert len(found) == 7


def test_an_update_that_does_not_say_what_was_needs_a_key():
    update = values([{"type": "UPDATE", "data": [{"id": 1, "n": "c"}], "old": None}])
    assert read("id INT PRIMARY KEY, n STRING", "'format' = 'canal-json'", *update)[0] == [("+", 1, "c")]
    assert read("id INT, n STRING", "'format' = 'canal-json'", *update)[0] == []
