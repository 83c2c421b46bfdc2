"""The statements of DuckDB that a small step takes: each costs a millisecond, whatever it does."""

import re

import pyarrow as pa
import pytest

import penstock
from penstock.backends.native.store import Store

PROGRAM = """
CREATE TABLE t (k INT PRIMARY KEY, g INT, x BIGINT);
CREATE VIEW v AS SELECT g, sum(x) AS s, count(*) AS n FROM t GROUP BY g;
"""


@pytest.fixture
def said(monkeypatch):
    found = []

    def listening(method):
        def run(store, *given):
            found.append((method.__name__, given[-1]))
            return method(store, *given)

        return run

    for name in ("made", "changed", "execute", "arrow", "value"):
        monkeypatch.setattr(Store, name, listening(getattr(Store, name)))
    return found


def stepped(said, changes, program=PROGRAM):
    """The statements of a step behind others; the change that it makes of the view."""
    with penstock.Pipeline(program, engine="native") as pipeline:
        for rows in ([(1, 1, 5), (2, 1, 7)], [(3, 2, 1)]):
            pipeline.step({"t": rows})
        said.clear()
        shown = pipeline.step({"t": changes})["v"].rows
        return list(said), sorted(shown)


def test_the_change_of_a_view_is_evaluated_once_and_fetched_from_its_table(said):
    statements, shown = stepped(said, [(1, 2, 5)])
    assert shown == [(-1, (1, 12, 2)), (-1, (2, 1, 1)), (1, (1, 7, 1)), (1, (2, 6, 2))]
    assert [kind for kind, _ in statements] == ["made", "changed", "changed", "made", "changed", "arrow"]
    (_, fetched), (_, kept) = statements[-1], statements[-2]
    assert fetched.rpartition(" FROM ")[2] == kept.rpartition(" FROM ")[2]


def test_a_large_change_is_handed_out_without_a_table(said, monkeypatch):
    monkeypatch.setattr("penstock.backends.spark.change.HANDED_ROWS", 1)
    statements, shown = stepped(said, [(1, 2, 5)])
    assert shown == [(-1, (1, 12, 2)), (-1, (2, 1, 1)), (1, (1, 7, 1)), (1, (2, 6, 2))]
    assert [kind for kind, _ in statements] == ["made", "changed", "changed", "arrow", "changed"]
    assert re.search(r" FROM a\d+$", statements[-1][1])  # the view keeps it from there


def test_a_change_that_leaves_a_view_as_it_is_is_not_fetched(said):
    program = PROGRAM.replace("GROUP BY g;", "GROUP BY g HAVING sum(x) > 100;")
    statements, shown = stepped(said, [(1, 2, 5)], program)
    assert shown == []
    assert "arrow" not in [kind for kind, _ in statements]


def test_rows_of_many_steps_are_loaded_by_one_statement():
    store = Store()
    pieces = [pa.table({"k": [step], "s": [f"t{step}"]}) for step in range(60)]
    other = pa.table({"k": pa.array([60], pa.int32()), "s": pa.array([None], pa.string())})
    given = []
    store._connection = Listening(store._connection, given)
    name = store.loaded([("k", "BIGINT"), ("s", "VARCHAR")], iter([*pieces, other, pieces[0]]))
    assert [text.partition(" ")[0] for text in given] == ["CREATE", "INSERT", "INSERT", "INSERT"]
    rows = store.arrow(f"SELECT k, s FROM {name}").to_pylist()
    expected = [*((step, f"t{step}") for step in range(60)), (60, None), (0, "t0")]
    assert sorted((row["k"], row["s"] or "") for row in rows) == sorted((k, s or "") for k, s in expected)
    store.close()


class Listening:
    """A connection that notes what it executes."""

    def __init__(self, connection, given):
        self._connection, self._given = connection, given

    def execute(self, text, *more):
        self._given.append(text)
        return self._connection.execute(text, *more)

    def __getattr__(self, name):
        return getattr(self._connection, name)
