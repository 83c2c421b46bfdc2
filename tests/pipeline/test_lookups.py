"""Rows of maintained content by their key: exact after every step, and in a transaction as a query sees them."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiers import examples

import penstock
from penstock.backends.thresholds import INDEXED_KEYS, PASSES_BEFORE_INDEX
from penstock.errors import DataError, SqlError

PROGRAM = """
CREATE TABLE t (k STRING, j INT, x INT);
CREATE TABLE r (id INT PRIMARY KEY, name STRING);
CREATE VIEW totals AS SELECT k, SUM(x) AS total FROM t GROUP BY k;
CREATE MATERIALIZED VIEW pairs AS SELECT x, COUNT(*) AS n, j, k FROM t GROUP BY k, j, x;
CREATE VIEW bag AS SELECT k, j FROM t WHERE x > 0;
"""


@pytest.fixture
def pipeline() -> Any:
    """Some rows."""
    with penstock.Pipeline(PROGRAM, engine="native") as found:
        found.step({"t": [("a", 1, 5), ("a", 2, 6), ("b", 1, 7), (None, None, 1)], "r": [(1, "one"), (2, "two")]})
        yield found


def test_a_key_is_a_value_a_tuple_or_a_list(pipeline: penstock.Pipeline) -> None:
    """In the order of the view's columns."""
    assert pipeline.lookup("totals", "a").rows == [("a", 11)]
    assert pipeline.lookup("TOTALS", ["b", "a", "a", "zz"]).arrow().num_rows == 2
    assert pipeline.lookup("pairs", (5, 1, "a")).rows == [(5, 1, 1, "a")]
    assert pipeline.lookup("totals", None).rows == [(None, 1)]
    assert pipeline.lookup("totals", "nobody").rows == pipeline.lookup("totals", []).rows == []


def test_columns_may_be_named_where_there_is_no_key(pipeline: penstock.Pipeline) -> None:
    """Each row is there as often as it is in the view."""
    pipeline.step({"t": [("a", 1, 9)]})
    assert sorted(pipeline.lookup("bag", {"k": "a"}).rows) == [("a", 1), ("a", 1), ("a", 2)]
    assert pipeline.lookup("bag", [{"k": "b", "j": 1}, {"k": None, "j": None}]).arrow().num_rows == 2
    assert sorted(pipeline.lookup("pairs", {"j": 1}).rows) == [(5, 1, 1, "a"), (7, 1, 1, "b"), (9, 1, 1, "a")]


def test_a_table_is_looked_up_by_its_key(pipeline: penstock.Pipeline) -> None:
    """As a query would."""
    assert pipeline.lookup("r", 2).rows == [(2, "two")]
    assert pipeline.lookup("t", {"k": "b"}).rows == [("b", 1, 7)]


def test_a_transaction_sees_its_own_changes(pipeline: penstock.Pipeline) -> None:
    """And leaves nothing of them when it is rolled back."""
    assert pipeline.lookup("totals", "a").rows == [("a", 11)]
    pipeline.begin()
    pipeline.execute("INSERT INTO t VALUES ('a', 3, 100)")
    assert pipeline.lookup("totals", "a").rows == [("a", 111)]
    pipeline.rollback()
    assert pipeline.lookup("totals", "a").rows == [("a", 11)]


def test_before_the_first_step_a_view_is_computed() -> None:
    """As a query is."""
    with penstock.Pipeline(
        "CREATE TABLE t (x INT); CREATE VIEW v AS SELECT COUNT(*) AS n FROM t", engine="native"
    ) as p:
        assert p.lookup("v", {"n": 0}).rows == [(0,)]


@pytest.mark.parametrize("asked", [{"k": "b", "j": 1}, {"j": 1, "k": "b"}, {"x": 7, "k": "b"}, {"x": 7, "j": None}])
def test_an_index_is_gone_by_when_several_keys_have_been_asked_for(
    pipeline: penstock.Pipeline, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]
) -> None:
    """With conditions of other columns beside its own; before that there is none."""
    store = pipeline._opened().stepper.engine.store
    wanted = pipeline.query("SELECT * FROM pairs WHERE x = 7").rows if None not in asked.values() else []
    for place in range(PASSES_BEFORE_INDEX + 2):
        assert pipeline.lookup("pairs", asked).rows == wanted
        assert store.value("SELECT count(*) FROM duckdb_indexes()") == int(place >= PASSES_BEFORE_INDEX)
    execute, plans = store.fetched, []

    def explained(query: str, values: Any = ()) -> Any:
        plans.append(execute(f"EXPLAIN ANALYZE {query}", values)[0][1])
        return execute(query, values)

    monkeypatch.setattr(store, "fetched", explained)
    assert pipeline.lookup("pairs", asked).rows == wanted
    assert ["Index Scan" in plan for plan in plans] == [True]


def test_values_are_checked_as_rows_are() -> None:
    """Times in UTC, decimals in their scale, and nothing is bent to fit."""
    program = """CREATE TABLE t (at TIMESTAMP, d DECIMAL(10, 2), f DOUBLE, n INT);
    CREATE VIEW v AS SELECT at, d, f, COUNT(*) AS c FROM t GROUP BY at, d, f;"""
    with penstock.Pipeline(program, engine="native") as p:
        p.step({"t": [("2024-01-01 10:00:00", "1.50", float("nan"), 1)]})
        at = datetime(2024, 1, 1, 10)  # noqa: DTZ001 - as rows are given
        assert len(p.lookup("v", (at, Decimal("1.5"), float("nan")))) == 1
        assert len(p.lookup("v", {"at": "2024-01-01 11:00:00+01:00"})) == 1
        with pytest.raises(DataError) as caught:
            p.lookup("v", {"d": "many"})
        assert caught.value.code == "BAD_VALUE"


@pytest.mark.parametrize(
    ("name", "key", "code", "message"),
    [
        ("totls", "a", "UNKNOWN_RELATION", "there is no table or view totls"),
        ("bag", "a", "LOOKUP_KEY", "bag has no key that is known"),
        ("pairs", "a", "LOOKUP_KEY", "the key of pairs is (x, j, k)"),
        ("totals", {"kk": 1}, "UNKNOWN_COLUMN", "totals has no column kk"),
        ("bag", [{"k": "a"}, {"j": 1}], "LOOKUP_KEY", "different columns"),
    ],
)
def test_a_look_up_that_has_no_meaning_is_refused(
    pipeline: penstock.Pipeline, name: str, key: Any, code: str, message: str
) -> None:
    """With what would work."""
    with pytest.raises((SqlError, DataError)) as caught:
        pipeline.lookup(name, key)
    assert (caught.value.code, message in caught.value.render()) == (code, True)


ROWS = st.lists(st.tuples(st.sampled_from(["+", "-"]), st.sampled_from("abc"), st.integers(0, 2)), max_size=6)


@examples(2, 6)
@given(steps=st.lists(ROWS, min_size=1, max_size=3), compacted=st.booleans(), indexed=st.booleans())
def test_oracle_a_look_up_finds_what_a_query_finds(
    steps: list[list[tuple[str, str, int]]], *, compacted: bool, indexed: bool
) -> None:
    """After every step, with rows that come and go, by an index that the first step made and without one."""
    with penstock.Pipeline(PROGRAM, engine="native") as p:
        there: list[tuple[str, int, int]] = []
        if indexed:
            p.step({"t": []})
            for name, column in (("bag", "k"), ("totals", "k")):
                p.lookup(name, [{column: f"z{at}"} for at in range(PASSES_BEFORE_INDEX + 1)])
        for step in steps:
            given: list[Any] = []
            for operation, k, x in step:
                row = (k, x, x)
                if operation == "+":
                    there.append(row)
                elif row in there:
                    there.remove(row)
                else:
                    continue
                given.append((operation, row))
            p.step({"t": given})
            if compacted:
                p.compact()
            for k in "abc":
                where = f"SELECT * FROM bag WHERE k = '{k}'"
                assert sorted(p.lookup("bag", {"k": k}).rows) == sorted(p.query(where).rows)
                assert p.lookup("totals", k).rows == p.query(f"SELECT * FROM totals WHERE k = '{k}'").rows
            many = ["a", *(f"z{at}" for at in range(INDEXED_KEYS + 1))]
            assert p.lookup("totals", many).rows == p.lookup("totals", "a").rows
