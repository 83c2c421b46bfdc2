"""State that nothing can touch again is dropped (B9), and no answer ever changes by it."""

# ruff: noqa: E501, DTZ001 - one view on one line; points in time are naive UTC datetimes

import random
from datetime import datetime

import pytest

import penstock
from penstock.backends.native import collecting
from penstock.backends.spark.operators import runner

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
    "led": "SELECT t, x, LEAD(x, 2) OVER (PARTITION BY k ORDER BY t NULLS LAST) AS n, "
    "LAG(x) OVER (PARTITION BY k ORDER BY t DESC NULLS FIRST) AS p FROM a",
    "ranged": "SELECT t, x, SUM(x) OVER (PARTITION BY k ORDER BY t RANGE BETWEEN 3 PRECEDING AND CURRENT ROW) AS s FROM a",
    "around": "SELECT t, x, MAX(x) OVER (PARTITION BY k ORDER BY t DESC RANGE BETWEEN 1 PRECEDING AND 2 FOLLOWING) AS s, "
    "COUNT(x) OVER (PARTITION BY k ORDER BY t RANGE 4 PRECEDING) AS n FROM a",
    "rowed": "SELECT t, x, SUM(x) OVER (PARTITION BY k ORDER BY t NULLS LAST ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS s FROM a",
    "running": "SELECT t, x, SUM(x) OVER (PARTITION BY k ORDER BY t) AS s FROM a",
    "over_lagged": "SELECT t, SUM(p) OVER (PARTITION BY k ORDER BY t NULLS LAST ROWS 1 PRECEDING) AS s FROM "
    "(SELECT t, k, LAG(x) OVER (PARTITION BY k ORDER BY t NULLS LAST) AS p FROM a)",
    "latest": "SELECT t, k, x FROM a QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY t DESC) <= 2",
    "largest": "SELECT t, k, x FROM a QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY x DESC) <= 2",
    "ranks": "SELECT t, k, x FROM a QUALIFY DENSE_RANK() OVER (PARTITION BY k ORDER BY x DESC) <= 2",
    "best": "SELECT t, k, x FROM a ORDER BY x DESC, t LIMIT 2 OFFSET 1",
    "newest": "SELECT t, k, x FROM a ORDER BY t DESC LIMIT 3",
    "extremes": "SELECT k, MAX(x) AS g, MIN(t) AS m FROM a GROUP BY k",
    "highest": "SELECT MAX(x) AS g, MIN(x + t) AS m FROM a",
    "closest": "SELECT a.t, a.x, b.t AS u, b.y FROM a LEFT ASOF JOIN b MATCH_CONDITION(a.t >= b.t) ON a.k = b.k",
    "just_before": "SELECT a.t, a.x, b.y FROM a ASOF JOIN b MATCH_CONDITION(a.t > b.t)",
    "near_there": "SELECT t, x FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.t BETWEEN a.t - 2 AND a.t)",
    "near_nobody": "SELECT t, x FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.t BETWEEN a.t AND a.t + 3)",
    "right_near": "SELECT a.x, b.t AS u FROM a RIGHT JOIN b ON a.k = b.k AND b.t BETWEEN a.t AND a.t + 3",
    "full_near": "SELECT a.x, b.t AS u FROM a FULL JOIN b ON a.k = b.k AND b.t BETWEEN a.t AND a.t + 3",
    "full_within": "SELECT a.t, b.t AS u, a.x, b.y FROM a FULL JOIN b ON a.k = b.k AND b.t <= a.t AND b.t >= a.t - 3",
    "full_of_one": "SELECT a.t, b.t AS u FROM a FULL JOIN b ON a.k = b.k AND a.x < 3 AND b.t BETWEEN a.t AND a.t + 2",
    "with_fixed": "SELECT a.t, a.x, v.n FROM a JOIN (VALUES (1, 'a'), (2, 'b'), (2, 'c')) AS v (k, n) ON a.k = v.k",
    "left_fixed": "SELECT a.t, a.x, v.n FROM a LEFT JOIN (VALUES (1, 'a'), (3, 'b')) AS v (k, n) ON a.k = v.k AND a.t > 3",
    "timed": "SELECT timestamp_seconds(t) AS at, k, x FROM a",
    "sessions": "SELECT k, window_start, window_end, COUNT(*) AS n, SUM(x) AS s FROM TABLE(SESSION(TABLE timed "
    "PARTITION BY k, DESCRIPTOR(at), INTERVAL 2 SECONDS)) GROUP BY k, window_start, window_end",
    "hops": "SELECT window_start, COUNT(*) AS n FROM TABLE(HOP(TABLE timed, DESCRIPTOR(at), INTERVAL 2 SECONDS, "
    "INTERVAL 6 SECONDS)) GROUP BY window_start",
    "recent": "SELECT k, x + 1 AS y FROM (SELECT * FROM timed WHERE x > 1) WHERE at >= now() - INTERVAL 4 SECONDS",
    "recent_sums": "SELECT k, SUM(x) AS s FROM timed WHERE at >= now() - INTERVAL 4 SECONDS AND at < now() GROUP BY k",
    "counted": "SELECT k, COUNT(CASE WHEN at > now() - INTERVAL 4 SECONDS THEN 1 END) AS n, COUNT(*) AS c, "
    "MAX(x) FILTER (WHERE at > now() - INTERVAL 4 SECONDS) AS g, SUM(IF(at <= now(), 1, 0)) AS s FROM timed GROUP BY k",
    "counted_all": "SELECT COUNT_IF(at > now() - INTERVAL 4 SECONDS) AS n, MIN(CASE WHEN at > now() THEN x END) AS m FROM timed",
    "twice": "SELECT d, COUNT(*) AS n FROM by_ten GROUP BY d",
    "reached": "SELECT s.t, s.n, d.k FROM sums s JOIN different d ON s.t = d.t",
    "chained": "WITH RECURSIVE r (t, k, u) AS (SELECT t, k, t FROM a UNION SELECT r.t, d.k, d.t FROM r JOIN "
    "(SELECT DISTINCT t, k FROM b) d ON r.k = d.k AND d.t BETWEEN r.u + 1 AND r.u + 3) SELECT * FROM r",
    "chains": "SELECT t, COUNT(*) AS n, MAX(u) AS m FROM chained GROUP BY t",
}
KEPT = {
    "at_most",
    "running",
    "counted",
    "counted_all",
}  # what cannot be bounded, or is bounded by an equal view
# With one row each second and one key, a session never ends, and equal rows all have the first rank.
KEPT |= {"sessions", "ranks"}
KEPT |= {"chained", "chains"}  # a recursion may go on from any row
BOUNDED = tuple(name for name in VIEWS if name not in KEPT | {"lagged"})


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
    "joins": ("joined", "near", "at_most", "left_joined", "left_near", "full_joined", "near_there", "near_nobody",
              "right_near", "full_near", "full_within", "full_of_one", "with_fixed", "left_fixed"),
    "groups": ("sums", "by_ten", "different", "both", "less", "twice", "reached", "extremes", "highest"),
    "keys": ("listed", "there", "not_there", "ranked", "summed", "latest", "largest", "ranks", "best", "newest"),
    "windows": ("lagged", "led", "ranged", "around", "rowed", "running", "over_lagged"),
    "times": ("timed", "sessions", "hops", "recent", "recent_sums", "counted", "counted_all", "closest", "just_before"),
    "rounds": ("chained", "chains"),
}  # fmt: skip

# What is here in the process has to be there on Spark as well.
BOTH = pytest.mark.parametrize("engine", ["auto", pytest.param("spark", marks=pytest.mark.extended)])
QUICK = {("auto", "groups")}


def also_of_few_rows(monkeypatch):
    """Have both backends go through what an operator keeps before there is much of it."""
    monkeypatch.setattr(runner, "LEAST_COLLECTED_ROWS", 4)
    monkeypatch.setattr(collecting, "LEAST_FORGOTTEN_ROWS", 4)


@pytest.mark.parametrize(
    ("engine", "group"),
    [
        pytest.param(engine, group, marks=() if (engine, group) in QUICK else pytest.mark.extended)
        for engine in ("auto", "spark")
        for group in GROUPS
    ],
)
def test_answers_are_the_same_with_and_without_collection(interpreting, monkeypatch, engine, group):
    also_of_few_rows(monkeypatch)
    answers_are_the_same(interpreting, engine, GROUPS[group], list(steps(group, 7)))


def test_a_few_answer_the_same_on_spark(interpreting, monkeypatch):
    also_of_few_rows(monkeypatch)
    answers_are_the_same(interpreting, "spark", ("sums", "both"), list(steps("groups", 4)))


def answers_are_the_same(interpreting, engine, views, brought):
    with (
        penstock.Pipeline(program(views, " LATENESS 6"), spark=interpreting, engine=engine) as dropping,
        penstock.Pipeline(program(views), spark=interpreting, engine=engine) as keeping,
    ):
        dropping._opened().stepper.engine.workspace.memory_rows = 4
        for number, step in enumerate(brought):
            clock = datetime(1970, 1, 1, second=3 * number)
            expected, found = keeping.step(step, clock=clock), dropping.step(step, clock=clock)
            for name in views:
                assert sorted(found[name].rows, key=repr) == sorted(expected[name].rows, key=repr), (name, number)
            if number % 2:  # between these, layers are merged as they come
                dropping.compact()
        assert dropping.rejected() == {}
        assert all(dropping.verify(name) for name in views)


@penstock.LaterSession
def no_spark():
    pytest.fail("Spark was asked for")


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.extended) for seed in (1, 2))])
def test_joins_in_the_process_answer_the_same_with_and_without_collection(seed):
    views = ("full_near", "full_within", "full_of_one", "with_fixed", "left_fixed")
    with (
        penstock.Pipeline(program(views, " LATENESS 6"), spark=no_spark, engine="native") as dropping,
        penstock.Pipeline(program(views), spark=no_spark, engine="native") as keeping,
    ):
        for number, step in enumerate(steps(f"joins {seed}", 10)):
            expected, found = keeping.step(step), dropping.step(step)
            for name in views:
                assert sorted(found[name].rows, key=repr) == sorted(expected[name].rows, key=repr), (name, number)
            dropping.compact()
        assert dropping.rejected() == {}


def test_joins_in_the_process_stay_flat_while_time_goes_on():
    views = ("full_near", "full_within", "full_of_one", "with_fixed", "left_fixed")
    with penstock.Pipeline(program(views, " LATENESS 6"), spark=no_spark, engine="native") as pipeline:
        sizes = []
        for begin in (0, 200, 400):
            times = range(begin, begin + 200)
            pipeline.step({"a": [(time, 1, 1) for time in times], "b": [(time, 1, 2) for time in times]})
            pipeline.compact()
            sizes.append(sum(item.rows for item in pipeline.state()))
        assert sizes[0] == sizes[1] == sizes[2] < 24 * len(views)


@BOTH
def test_final_rows_are_the_same_with_and_without_collection(spark, engine):
    view = "CREATE VIEW final WITH ('emit_final' = 't') AS SELECT t, SUM(x) AS s, COUNT(*) AS n FROM a GROUP BY t;"
    text = TABLES.format(late=" LATENESS 6") + view
    with (
        penstock.Pipeline(text, spark=spark, engine=engine) as keeping,
        penstock.Pipeline(text, spark=spark, engine=engine) as compacted,
    ):
        shown = []
        for step in steps("final", 12):
            expected = keeping.step(step)["final"].rows
            assert sorted(compacted.step(step)["final"].rows) == sorted(expected)
            compacted.compact()
            shown += expected
        line = keeping.waterlines()["a.t"]
        rows = [tuple(row) for row in keeping.content("final").rows]
        assert sorted(shown) == sorted((1, row) for row in rows if row[0] is not None and row[0] < line)
        assert len(shown) > 5


@BOTH
def test_state_stays_flat_while_time_goes_on(interpreting, engine):
    with penstock.Pipeline(program(BOUNDED, " LATENESS 6"), spark=interpreting, engine=engine) as pipeline:
        sizes, begin = [], 0
        # First more rows than Top-K keeps to spare.
        for count in (1100, 100, 100):
            times = range(begin, begin + count)
            begin += count
            pipeline.step({"a": [(time, 1, 1) for time in times], "b": [(time, 1, 2) for time in times]})
            pipeline.compact()
            sizes.append(sum(item.rows for item in pipeline.state()))
        # Which of equally good rows an aggregate keeps is open: one may be kept for two of its functions, or for one.
        assert abs(sizes[2] - sizes[1]) <= 2
        assert sizes[1] < 12 * 2 * len(BOUNDED) + 2 * 1010


@BOTH
def test_sessions_that_have_ended_are_forgotten(spark, engine):
    with penstock.Pipeline(program(("timed", "sessions"), " LATENESS 6"), spark=spark, engine=engine) as pipeline:
        for begin in (0, 100, 200):
            changes = pipeline.step({"a": [(begin + time, 1, 1) for time in (0, 1, 2, 50, 60)]})
            assert len(changes["sessions"].rows) == 3
            pipeline.compact()
            # Of the session that ends at 62, and of the one at 52, which ends before 60 - 6.
            assert [item.rows for item in pipeline.state() if item.views == ("sessions",)] == [1, 1]


@BOTH
def test_rows_that_the_clock_has_left_behind_are_forgotten(spark, engine):
    sql = """
    CREATE TABLE t (at TIMESTAMP, x INT);
    CREATE VIEW v AS SELECT x FROM t WHERE at >= now() - INTERVAL 1 HOUR AND at <= now();
    CREATE VIEW shifted AS SELECT y FROM (SELECT at + INTERVAL 1 HOUR AS until, x + 1 AS y FROM t) WHERE until > now();
    """
    with penstock.Pipeline(sql, spark=spark, engine=engine) as pipeline:
        rows = [(f"2024-01-01 {hour:02}:00:00", hour) for hour in range(10)]
        changes = pipeline.step({"t": [*rows, (None, 99)]}, clock="2024-01-01 05:00:00")
        assert sorted(row[0] for _, row in changes["v"].rows) == [4, 5]
        pipeline.compact()
        assert [item.rows for item in pipeline.state()] == [6, 6]
        changes = pipeline.step(clock="2024-01-01 06:30:00")
        assert sorted(changes["v"].rows) == [(-1, (4,)), (-1, (5,)), (1, (6,))]
        assert sorted(changes["shifted"].rows) == [(-1, (6,))]
        with pytest.raises(penstock.DataError) as error:
            pipeline.step(clock="2024-01-01 06:00:00")
        assert error.value.code == "CLOCK_BACK"
