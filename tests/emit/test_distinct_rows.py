"""SELECT DISTINCT as a standing query: rows are told apart by what it shows; without a JVM."""

from __future__ import annotations

import pytest

import penstock


def opened():
    return penstock.Pipeline("CREATE TABLE t (k INT, x INT);", engine="native")


def test_groups_that_look_alike_are_one_row():
    with opened() as pipeline:
        query = pipeline.subscribe("SELECT DISTINCT SUM(x) AS s FROM t GROUP BY k ORDER BY s EMIT CHANGES")
        pipeline.step({"t": [("+", (1, 5)), ("+", (2, 5)), ("+", (3, 6))]})
        assert list(query.get(0)) == [("+I", 5), ("+I", 6)]
        pipeline.step({"t": [("-", (1, 5))]})
        assert query.get(0) is None
        pipeline.step({"t": [("-", (2, 5))]})
        assert list(query.get(0)) == [("-D", 5)]


def test_it_is_ordered_by_expressions_of_what_it_shows():
    with opened() as pipeline:
        query = pipeline.subscribe("SELECT DISTINCT k FROM t ORDER BY -k EMIT CHANGES")
        pipeline.step({"t": [("+", (1, 5)), ("+", (1, 6)), ("+", (3, 6))]})
        assert list(query.get(0)) == [("+I", 3), ("+I", 1)]


def test_it_is_not_ordered_by_what_it_does_not_show():
    with opened() as pipeline, pytest.raises(penstock.SqlError) as caught:
        pipeline.subscribe("SELECT DISTINCT k FROM t ORDER BY x EMIT CHANGES")
    assert caught.value.diagnostics[0].code == "ORDER_BY_NOT_SELECTED"
