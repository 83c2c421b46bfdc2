"""The past against what was there: contents after each step, and queries that had begun at a position."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta

import pytest

import penstock
from penstock.steps import log

PROGRAM = """
CREATE TABLE keyed (k INT PRIMARY KEY, v INT);
CREATE TABLE bag (k INT, v INT);
CREATE STREAM events (k INT, at TIMESTAMP NOT NULL LATENESS INTERVAL 2 HOURS, v INT);
CREATE VIEW joined AS SELECT b.k, b.v, x.v AS w FROM bag b LEFT JOIN keyed x ON b.k = x.k;
CREATE MATERIALIZED VIEW totals AS SELECT k, COUNT(*) AS n, SUM(v) AS total, MAX(v) AS most FROM bag GROUP BY k;
CREATE VIEW seen AS SELECT DISTINCT s.k, t.n FROM events s JOIN totals t ON s.k = t.k;
"""
RELATIONS = ("keyed", "bag", "events", "joined", "totals", "seen")
QUERIES = (
    "SELECT STREAM FLOOR(at TO HOUR) AS h, k, COUNT(*) AS n, SUM(v) AS total FROM events GROUP BY FLOOR(at TO HOUR), k",
    "SELECT STREAM k, v FROM events WHERE v > 1 OR v IS NULL",
    (
        "SELECT STREAM a.k, a.at, b.v FROM events a JOIN events b ON a.k = b.k "
        "AND b.at BETWEEN a.at AND a.at + INTERVAL 1 HOUR"
    ),
    "SELECT STREAM at, k, COUNT(*) OVER (PARTITION BY k ORDER BY at RANGE INTERVAL 1 HOUR PRECEDING) AS n FROM events",
)
DAY = datetime(2024, 1, 1)  # noqa: DTZ001 - UTC, as all clocks


class Changes:
    """Random changes that fit."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.bag = []
        self.hour = 0

    def value(self):
        return self.random.choice([None, 0, 1, 2, 3])

    def step(self):
        """The rows of a step, of which some tables have none."""
        chosen = self.random
        self.hour += chosen.choice([0, 0, 1])
        keyed = [
            chosen.choice([("+", (key, self.value())), ("-", (key, None))])
            for key in chosen.sample(range(5), chosen.randrange(3))
        ]
        taken = [self.bag.pop(chosen.randrange(len(self.bag))) for _ in range(min(len(self.bag), chosen.randrange(2)))]
        come = [(self.random.choice([None, 0, 1, 2]), self.value()) for _ in range(chosen.randrange(3))]
        self.bag += come
        events = [
            (
                chosen.choice([None, 0, 1]),
                DAY + timedelta(hours=self.hour, minutes=chosen.randrange(-200, 60)),
                self.value(),
            )
            for _ in range(chosen.randrange(4))
        ]
        bag = [("-", row) for row in taken] + [("+", row) for row in come]
        return {name: rows for name, rows in (("keyed", keyed), ("bag", bag), ("events", events)) if rows}


@pytest.fixture
def _small_pieces(monkeypatch):
    """A log that merges its pieces early, in memory and in files."""
    monkeypatch.setattr(log, "LOG_PIECES", 3)
    monkeypatch.setattr(log, "HELD_ROWS", 8)


def contents(pipeline, point=""):
    return {name: Counter(pipeline.query(f"SELECT * FROM {name}{point}").rows) for name in RELATIONS}


@pytest.mark.usefixtures("_small_pieces")
@pytest.mark.parametrize(("seed", "durable"), [(1, False), pytest.param(2, True, marks=pytest.mark.extended)])
def test_oracle_contents_as_of_each_step(seed, durable, tmp_path):
    changes = Changes(seed)
    with penstock.Pipeline(PROGRAM, engine="native", directory=tmp_path if durable else None) as pipeline:
        then = [contents(pipeline)]
        for number in range(10):
            pipeline.step(changes.step(), clock=DAY + timedelta(minutes=number))
            then.append(contents(pipeline))
        for number in (0, 1, *changes.random.sample(range(2, 10), 3), 10):
            assert contents(pipeline, f" AS OF STEP {number}") == then[number], number
            if number:
                time = DAY + timedelta(minutes=number - 1, seconds=changes.random.randrange(60))
                point = f" AS OF TIMESTAMP '{time}'" if number < 10 else f" AS OF STEP {number}"
                assert contents(pipeline, point) == then[number], number


def shown(queries):
    found = []
    for query in queries:
        rows = Counter()
        while (emission := query.get(0)) is not None:
            rows.update(emission.rows)
        found.append(rows)
    return found


@pytest.mark.usefixtures("_small_pieces")
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.extended)])
def test_oracle_a_query_that_starts_at_a_position_is_one_that_had_begun_there(seed):
    changes = Changes(seed)
    with penstock.Pipeline(PROGRAM, engine="native") as pipeline:
        begin, later = sorted(changes.random.sample(range(2, 13), 2))
        begun, started = [], []
        for number in range(16):
            if number == begin:
                pipeline.execute("SAVE POSITION p")
                begun = [pipeline.subscribe(query) for query in QUERIES]
            if number == later:
                started = [pipeline.subscribe(f"{query} START AT p") for query in QUERIES]
            pipeline.step(changes.step(), clock=DAY + timedelta(minutes=number))
        started += [pipeline.subscribe(query, at="p") for query in QUERIES]
        pipeline.step({"events": [(9, DAY + timedelta(days=9), 9)]})
        pipeline.end_of_input()
        expected = shown(begun)
        assert shown(started) == expected + expected
        assert sum(map(len, expected)) > 10
