"""A view that is made late has the content of one that was there from the beginning, then and after each later step."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as some
from pyspark import SparkContext
from tests.tiers import either

import penstock

TABLES = """
CREATE TABLE k (id INT PRIMARY KEY, name VARCHAR(8), amount DOUBLE, price DECIMAL(9,2), at TIMESTAMP);
CREATE STREAM s (id INT, n BIGINT, seen INT LATENESS 4);
CREATE MATERIALIZED VIEW low AS SELECT seen, n FROM s;
LATENESS low.seen 2;
"""
VIEWS = """
CREATE MATERIALIZED VIEW bare AS SELECT * FROM k WHERE id > 0;
CREATE MATERIALIZED VIEW sums AS SELECT name, SUM(price) AS p, COUNT(amount) AS c, MAX(at) AS m FROM k GROUP BY name;
CREATE MATERIALIZED VIEW joined AS SELECT k.name, s.n FROM k LEFT JOIN s ON k.id = s.id;
CREATE MATERIALIZED VIEW best AS
  SELECT id, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY n DESC, seen) AS r FROM s) WHERE r <= 2;
CREATE MATERIALIZED VIEW least AS SELECT MIN(n) AS n FROM low;
CREATE MATERIALIZED VIEW errors AS SELECT table_or_view_name AS name, message FROM error_view;
CREATE MATERIALIZED VIEW counted AS SELECT COUNT(*) AS c FROM k;
"""
NAMES = ("bare", "sums", "joined", "best", "least", "errors", "counted")
AT = datetime(2020, 1, 1)  # noqa: DTZ001 - UTC, as all times

small = some.integers(1, 5)
rows = some.tuples(
    small, some.sampled_from(["ann", "bob", "", None]), some.sampled_from([0.0, -0.0, 1.5, float("nan"), None]),
    some.sampled_from(["1.25", "-3.00", None]), some.sampled_from([AT, None]),
)  # fmt: skip
upserts = some.tuples(some.sampled_from("++~"), rows).map(lambda item: ("k", item))
deletions = small.map(lambda key: ("k", ("-", (key,))))
events = some.tuples(small, some.integers(-3, 9), some.integers(1, 12)).map(lambda row: ("s", ("+", row)))
steps = some.lists(some.lists(upserts | deletions | events, max_size=6), min_size=1, max_size=5)


@pytest.fixture(autouse=True)
def _without_a_jvm(monkeypatch):
    def refuse(*_, **__):
        pytest.fail("a session has been asked for")

    monkeypatch.setattr("penstock.pipeline.opening.running_session", lambda: None)
    monkeypatch.setattr("penstock.backends.spark.session.running_session", lambda: None)
    monkeypatch.setattr(SparkContext, "getOrCreate", refuse)


def given_rows(step):
    """The rows of a step for each table."""
    found = {}
    for table, row in step:
        found.setdefault(table, []).append(row)
    return found


def contents(pipeline):
    """The content of each view; NaN and the sign of a zero told apart from other values."""
    return {name: sorted(map(repr, pipeline.content(name).rows)) for name in NAMES}


@pytest.mark.both
@settings(max_examples=either(3, 12), phases=[Phase.generate])
@given(steps=steps, late=some.integers(0, 5))
def test_a_late_view_is_as_one_made_first(steps, late):
    late = min(late, len(steps))
    with penstock.Pipeline(TABLES + VIEWS) as first, penstock.Pipeline(TABLES) as second:
        for number, step in enumerate([*steps, []]):
            if number == late:
                second.execute(VIEWS)
            first.step(given_rows(step))
            second.step(given_rows(step))
            if number >= late:
                assert contents(second) == contents(first)
