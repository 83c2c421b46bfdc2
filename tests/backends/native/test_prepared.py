"""Statements that are planned once: a bounded number of them, in steps and between them, and beside any step."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from penstock.backends.native import store as stores
from penstock.backends.native.store import Store


@pytest.fixture
def store():
    found = Store()
    yield found
    found.close()


def test_the_oldest_gives_way(store, monkeypatch):
    monkeypatch.setattr(stores, "_MOST_PREPARED", 3)
    for turn in range(2):
        for number in range(5):
            assert store.prepared(f"SELECT $1 + {number}", ["40"]) == [(40 + number,)], turn
    assert len(store._prepared) == 3


def test_it_outlives_a_step_that_fails(store):
    store.begin(None, None)
    assert store.prepared("SELECT $1 + 1", ["1"]) == [(2,)]
    with pytest.raises(duckdb.Error, match="no"):
        store.prepared("SELECT error('no' || $1)", ["1"])
    store.discard()
    assert store.prepared("SELECT $1 + 1", ["2"]) == [(3,)]


def test_an_error_apart_ends_no_step(store):
    rows = pa.table({"a": [1, 0]})
    store.begin(None, None)
    name = store.taken(rows)
    with pytest.raises(duckdb.Error, match="no"):
        store.apart("SELECT CASE WHEN a = 0 THEN error('no') END FROM come", come=rows)
    assert store.apart("SELECT a + 1 AS a FROM come ORDER BY a", come=rows)["a"].to_pylist() == [1, 2]
    assert store.value(f"SELECT count(*) FROM {name}") == 2
    store.discard()
