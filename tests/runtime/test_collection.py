"""State that nothing can touch again is dropped (B9), and no answer ever changes by it."""

import random

import pytest

import penstock

TABLES = """
CREATE TABLE a (t BIGINT{late}, k INT, x INT);
CREATE TABLE b (t BIGINT{late}, k INT, y INT);
"""
VIEWS = {
    "sums": "SELECT t, SUM(x) AS s, COUNT(*) AS n FROM a GROUP BY t",
    "by_ten": "SELECT floor(t / 10) AS d, k, MIN(x) AS m, MAX(x) AS g FROM a GROUP BY floor(t / 10), k",
    "listed": "SELECT t, array_agg(x) AS l FROM a GROUP BY t",
    "different": "SELECT DISTINCT t, k FROM a",
    "both": "SELECT t, k FROM a INTERSECT ALL SELECT t, k FROM b",
    "less": "SELECT t, k FROM a EXCEPT SELECT t, k FROM b",
    "joined": "SELECT a.t, a.x, b.y FROM a JOIN b ON a.t = b.t AND a.k = b.k",
    "near": "SELECT a.t, b.t AS u FROM a JOIN b ON a.k = b.k AND b.t >= a.t AND b.t <= a.t + 4",
    "at_most": "SELECT a.t, b.t AS u FROM a JOIN b ON a.k = b.k AND b.t <= a.t",
    "left_joined": "SELECT a.t, a.x, b.y FROM a LEFT JOIN b ON a.t = b.t",
    "left_near": "SELECT a.t, b.t AS u FROM a LEFT JOIN b ON a.k = b.k AND b.t <= a.t AND b.t >= a.t - 3",
    "full_joined": "SELECT a.t, b.t AS u, a.x, b.y FROM a FULL JOIN b ON a.t = b.t",
    "there": "SELECT t, x FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.t = a.t AND b.y > a.x)",
    "not_there": "SELECT t, x FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.t = a.t)",
    "ranked": "SELECT t, x FROM a QUALIFY ROW_NUMBER() OVER (PARTITION BY t ORDER BY x DESC) <= 2",
    "summed": "SELECT t, x, SUM(x) OVER (PARTITION BY t) AS s FROM a",
    "lagged": "SELECT t, x, LAG(x) OVER (PARTITION BY k ORDER BY t) AS p FROM a",
    "twice": "SELECT d, COUNT(*) AS n FROM by_ten GROUP BY d",
    "reached": "SELECT s.t, s.n, d.k FROM sums s JOIN different d ON s.t = d.t",
}
BOUNDED = ("sums", "by_ten", "listed", "different", "both", "less", "joined", "near", "left_joined", "full_joined",
           "there", "not_there", "ranked", "summed")  # fmt: skip


def program(views, late=""):
    declared = [f"CREATE VIEW {name} AS {VIEWS[name]};" for name in views]
    return "\n".join([TABLES.format(late=late), *declared])


def steps(seed, count=6):
    """Rows up to six behind the largest so far, now and then NULL, and deletions of rows that may still change."""
    chance = random.Random(seed)
    top = {"a": 0, "b": 0}
    rows = {"a": [], "b": []}
    for _ in range(count):
        step = {}
        for name in chance.choice((["a"], ["b"], ["a", "b"], ["a", "b"])):
            line = top[name] - 6
            changes = []
            for _ in range(chance.randint(1, 6)):
                time = None if chance.random() < 0.08 else max(0, line + chance.randint(0, 14))
                row = (time, chance.randint(1, 2), chance.choice((None, 1, 2, 3)))
                changes.append(("+", row))
                rows[name].append(row)
                top[name] = max(top[name], time or 0)
            live = [row for row in rows[name] if row[0] is None or row[0] >= line]
            if live and chance.random() < 0.5:
                gone = chance.choice(live)
                rows[name].remove(gone)
                changes.append(("-", gone))
            step[name] = changes
        yield step


GROUPS = {
    "joins": ("joined", "near", "at_most", "left_joined", "left_near", "full_joined"),
    "groups": ("sums", "by_ten", "different", "both", "less", "twice", "reached"),
    "keys": ("listed", "there", "not_there", "ranked", "summed", "lagged"),
}


@pytest.mark.parametrize("group", GROUPS)
def test_answers_are_the_same_with_and_without_collection(spark, group):
    views = GROUPS[group]
    with (
        penstock.Pipeline(program(views, " LATENESS 6"), spark=spark) as merging,
        penstock.Pipeline(program(views, " LATENESS 6"), spark=spark) as compacted,
        penstock.Pipeline(program(views), spark=spark) as keeping,
    ):
        merging._opened().stepper.engine.workspace.memory_rows = 4
        for step in steps(group):
            expected = keeping.step(step)
            for pipeline in (merging, compacted):
                found = pipeline.step(step)
                for name in views:
                    assert sorted(found[name].rows, key=repr) == sorted(expected[name].rows, key=repr), name
            compacted.compact()
        assert compacted.rejected() == {}
        assert all(compacted.verify(name) for name in views)


def test_state_stays_flat_while_time_goes_on(spark):
    with penstock.Pipeline(program(BOUNDED, " LATENESS 6"), spark=spark) as pipeline:
        sizes = []
        for hundred in range(3):
            times = range(100 * hundred, 100 * hundred + 100)
            pipeline.step({"a": [(time, 1, 1) for time in times], "b": [(time, 1, 2) for time in times]})
            pipeline.compact()
            sizes.append(sum(rows for _, rows, _ in pipeline.state()))
        assert sizes[2] == sizes[1] < 12 * 2 * len(BOUNDED)


def test_rows_that_the_clock_has_left_behind_are_forgotten(spark):
    sql = """
    CREATE TABLE t (at TIMESTAMP, x INT);
    CREATE VIEW v AS SELECT x FROM t WHERE at >= now() - INTERVAL 1 HOUR AND at <= now();
    CREATE VIEW shifted AS SELECT y FROM (SELECT at + INTERVAL 1 HOUR AS until, x + 1 AS y FROM t) WHERE until > now();
    """
    with penstock.Pipeline(sql, spark=spark) as pipeline:
        rows = [(f"2024-01-01 {hour:02}:00:00", hour) for hour in range(10)]
        changes = pipeline.step({"t": [*rows, (None, 99)]}, clock="2024-01-01 05:00:00")
        assert sorted(row[0] for _, row in changes["v"].rows) == [4, 5]
        pipeline.compact()
        assert [rows for _, rows, _ in pipeline.state()] == [6, 6]
        changes = pipeline.step(clock="2024-01-01 06:30:00")
        assert sorted(changes["v"].rows) == [(-1, (4,)), (-1, (5,)), (1, (6,))]
        assert sorted(changes["shifted"].rows) == [(-1, (6,))]
        with pytest.raises(penstock.DataError) as error:
            pipeline.step(clock="2024-01-01 06:00:00")
        assert error.value.code == "CLOCK_BACK"
