"""LIMIT and LIMIT … BY of a query that shows what is taken back: an update is shown whole or not at all."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiers import examples

import penstock

START = datetime(2025, 1, 1)  # noqa: DTZ001 - UTC
CHANGES = st.lists(st.tuples(st.sampled_from("++-"), st.integers(0, 2), st.integers(0, 2)), max_size=3)
BY = {"": (), "BY k": (0,), "BY s": (1,), "BY k, s": (0, 1)}


def read(query):
    found = []
    while (rows := query.get(0)) is not None:
        found.append([tuple(row) for row in rows])
    return found


def sums(there):
    """The rows of each group, of a multiset of rows."""
    keys = {k for k, _ in there.elements()}
    return {k: sum(x * count for (key, x), count in there.items() if key == k) for k in keys}


@pytest.mark.parametrize("by", BY)
@examples(5, 15)
@given(steps=st.lists(CHANGES, max_size=7), limit=st.integers(1, 4), order=st.sampled_from(["", "ORDER BY s"]))
def test_each_group_that_is_shown_is_shown_as_it_is(by, steps, limit, order):
    dialect = "timeplus" if order and not by else "penstock"  # elsewhere that is the first rows as a relation
    text = (
        f"SELECT k, SUM(x) AS s{', _tp_delta' * (dialect == 'timeplus')} FROM t GROUP BY k {order} LIMIT {limit} {by}"
    )
    with penstock.Pipeline("CREATE TABLE t (k INT, x INT)", engine="native", dialect=dialect) as pipeline:
        query = pipeline.subscribe(f"{text} EMIT CHANGES ON UPDATE", clock=START)
        there, shown, seen = Counter(), Counter(), Counter()
        for changes in steps:
            taken = []
            for sign, *row in changes:
                if sign == "+" or there[tuple(row)]:
                    there[tuple(row)] += 1 if sign == "+" else -1
                    taken.append((sign, tuple(row)))
            pipeline.step({"t": taken}, clock=START)
            now = sums(there)
            for rows in read(query):
                marked = [(sign_of(row), *row[:2]) if dialect == "timeplus" else row for row in rows]
                for kind, *row in marked:
                    shown[tuple(row)] += 1 if kind in ("+", "+I", "+U") else -1
                    seen[tuple(row[place] for place in BY[by])] += 1
                    assert kind != "-D" or row[0] not in now
                assert min(shown.values()) >= 0, "what was not shown is not taken back"
                told = {key for _, key, _ in marked}
                assert {k: s for (k, s), count in shown.items() if count and k in told} == {
                    k: s for k, s in now.items() if k in told
                }
        assert max(seen.values(), default=0) <= limit


def sign_of(row):
    return "+" if row[2] > 0 else "-"


def shown_of(text, *steps):
    with penstock.Pipeline("CREATE TABLE t (k STRING, x INT)", engine="native") as pipeline:
        query = pipeline.subscribe(text, clock=START)
        for rows in steps:
            pipeline.step({"t": rows}, clock=START)
        return read(query), query.has_ended


SUMS = "SELECT k, SUM(x) AS s FROM t GROUP BY k"


def test_an_update_that_does_not_fit_ends_the_query():
    found = shown_of(f"{SUMS} LIMIT 2 EMIT CHANGES", [("a", 1)], [("a", 2)], [("b", 1)])
    assert found == ([[("+I", "a", 1)]], True)


def test_an_update_that_does_not_fit_ends_what_is_told_of_its_value():
    found = shown_of(f"{SUMS} LIMIT 2 BY k EMIT CHANGES", [("a", 1)], [("a", 2)], [("a", 3), ("b", 1)])
    assert found == ([[("+I", "a", 1)], [("+I", "b", 1)]], False)


def test_an_update_and_a_deletion_that_fit_are_shown():
    steps = [[("a", 1)], [("a", 2)], [("-", ("a", 1)), ("-", ("a", 2))], [("b", 1)]]
    found = [[("+I", "a", 1)], [("-U", "a", 1), ("+U", "a", 3)], [("-D", "a", 3)]]
    assert shown_of(f"{SUMS} LIMIT 4 EMIT CHANGES", *steps) == (found, True)


def test_with_undo_it_is_the_same():
    text = f"{SUMS} LIMIT 2 EMIT STREAM ON UPDATE"
    rows, ended = shown_of(text, [("a", 1)], [("a", 2)])
    assert ([row[:3] for item in rows for row in item], ended) == ([("a", 1, "")], True)
