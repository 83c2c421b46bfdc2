"""SESSION: sessions grow, merge and split under late rows and deletions, key by key."""

import random
from datetime import datetime, timedelta

import pytest
from tests.tiers import either

import penstock
from penstock.backends.spark.operators.sessions import SessionsRunner

TABLE = "CREATE TABLE ev (at TIMESTAMP, k STRING, x INT);"
VIEW = "CREATE VIEW s AS SELECT k, count(*) AS n, window_start AS b, window_end AS e FROM {} GROUP BY ALL;"


def shown(change):
    return sorted((weight, k, n, f"{b:%H:%M}", f"{e:%H:%M}") for weight, (k, n, b, e) in change.rows)


@pytest.mark.parametrize(
    "source",
    [
        "TABLE(SESSION(TABLE ev, DESCRIPTOR(at), DESCRIPTOR(k), INTERVAL 10 MINUTES))",
        "TABLE(SESSION(TABLE ev PARTITION BY k, DESCRIPTOR(at), INTERVAL 10 MINUTES))",
    ],
)
def test_a_row_merges_sessions_and_its_deletion_splits_them(spark, source):
    with penstock.Pipeline(TABLE + VIEW.format(source), spark=spark) as pipeline:
        day = "2024-01-01 "
        changes = pipeline.step({"ev": [(day + "10:00", "a", 1), (day + "10:15", "a", 2), (day + "10:15", "b", 3)]})
        assert shown(changes["s"]) == [
            (1, "a", 1, "10:00", "10:10"),
            (1, "a", 1, "10:15", "10:25"),
            (1, "b", 1, "10:15", "10:25"),
        ]
        merged = [(-1, "a", 1, "10:00", "10:10"), (-1, "a", 1, "10:15", "10:25"), (1, "a", 3, "10:00", "10:25")]
        assert shown(pipeline.step({"ev": [(day + "10:09", "a", 4)]})["s"]) == merged
        split = sorted((-weight, *rest) for weight, *rest in merged)
        assert shown(pipeline.step({"ev": [("-", (day + "10:09", "a", 4))]})["s"]) == split
        # Exactly a gap later a new session begins; a row without a time is in none; equal times are one moment.
        changes = pipeline.step({"ev": [(day + "10:25", "b", 1), (day + "10:25", "b", 1), (None, "b", 1)]})
        assert shown(changes["s"]) == [(1, "b", 2, "10:25", "10:35")]
        assert shown(pipeline.step({"ev": [(day + "09:00", None, 1)]})["s"]) == [(1, None, 1, "09:00", "09:10")]
        assert pipeline.verify("s")


def test_without_a_key_all_rows_are_one_sequence(spark):
    program = TABLE + (
        "CREATE VIEW s AS SELECT 'all' AS k, count(*) AS n, window_start AS b, window_end AS e "
        "FROM TABLE(SESSION(data => TABLE ev, timecol => DESCRIPTOR(at), gap => INTERVAL 10 MINUTES)) GROUP BY ALL;"
    )
    with penstock.Pipeline(program, spark=spark) as pipeline:
        pipeline.step({"ev": [("2024-01-01 10:00", "a", 1), ("2024-01-01 10:05", "b", 1)]})
        assert shown(pipeline.step({"ev": [("2024-01-01 09:55", "c", 1)]})["s"]) == [
            (-1, "all", 2, "10:00", "10:15"),
            (1, "all", 3, "09:55", "10:15"),
        ]


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("TABLE(SESSION(TABLE ev, DESCRIPTOR(at)))", "WINDOW_ARGUMENTS"),
        ("TABLE(SESSION(TABLE ev, DESCRIPTOR(at), INTERVAL 0 MINUTES))", "NOT_AN_INTERVAL"),
        ("TABLE(SESSION(TABLE ev, DESCRIPTOR(at, k), INTERVAL 1 MINUTES))", "WINDOW_ARGUMENTS"),
        ("session(ev, at, 1m, 0m)", "NOT_AN_INTERVAL"),
        ("session(ev, at, 1m, INTERVAL 1 MONTH)", "NOT_AN_INTERVAL"),
        ("session(ev, at, INTERVAL 1 MONTH, 1m)", "NOT_AN_INTERVAL"),
        ("session(ev, at, 1m, 5m, 6m)", "WINDOW_ARGUMENTS"),
        ("session(ev, at, 1m, [x > 1, x < 1], 5m)", "WINDOW_ARGUMENTS"),
        ("session(ev, at, 1m, [x > 1, nope < 1])", "UNKNOWN_COLUMN"),
    ],
)
def test_what_is_no_session_is_refused(source, code):
    from penstock.bind.program.compile import compile_program

    with pytest.raises(penstock.SqlError) as error:
        compile_program(TABLE + VIEW.format(source))
    assert error.value.code == code


def moment(minute):
    return datetime(2024, 1, 1) + timedelta(minutes=minute)  # noqa: DTZ001 - the pipeline's zone is UTC


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.extended) for seed in (1, 2))])
@pytest.mark.both
def test_random_changes_equal_batch_after_every_step(interpreting, seed):
    """Many rows of few keys in a narrow range, so that sessions join and part all the time."""
    dice = random.Random(seed)
    program = TABLE + (
        "CREATE VIEW f AS SELECT k, x, at, window_start, window_end "
        "FROM TABLE(SESSION(TABLE ev PARTITION BY k, DESCRIPTOR(at), INTERVAL 10 MINUTES));"
        "CREATE VIEW g AS SELECT k, SESSION_START(at, INTERVAL 7 MINUTES) AS b, COUNT(*) AS n FROM ev "
        "GROUP BY SESSION(at, INTERVAL 7 MINUTES), k;"
        "CREATE VIEW h AS SELECT session_window.start, session_window.end, SUM(x) AS s FROM ev "
        "GROUP BY session_window(at, '5 minutes');"
    )
    keep_verified(interpreting, dice, program, "fgh", steps=either(4, 8))


@pytest.mark.both
def test_random_changes_of_limited_sessions_equal_a_walk_over_all_rows(interpreting):
    program = TABLE + (
        "CREATE VIEW l AS SELECT k, x, window_start, window_end "
        "FROM SESSION(TABLE ev PARTITION BY k, DESCRIPTOR(at), 10m, 25m);"
        "CREATE VIEW b AS SELECT window_start, window_end, count(*) AS n FROM session(ev, at, 9m, 30m, [x > 1, x < 1)) "
        "GROUP BY ALL;"
        "CREATE VIEW o AS SELECT k, at, window_start FROM session(ev PARTITION BY k, at, 9m, (x < 2, x = 2]);"
    )
    keep_verified(interpreting, random.Random(4), program, "lbo", steps=either(3, 6))


def keep_verified(spark, dice, program, views, *, steps):
    present = []
    with penstock.Pipeline(program, spark=spark) as pipeline:
        for step in range(steps):
            dice.shuffle(present)
            gone = [present.pop() for _ in range(min(len(present), dice.randrange(6)))]
            come = [(moment(dice.randrange(120)), dice.choice(["a", "b", None]), dice.randrange(3)) for _ in range(8)]
            present += come
            pipeline.step({"ev": [("-", row) for row in gone] + [("+", row) for row in come]})
            if step == either(1, 4):
                pipeline.compact()
            for view in views:
                assert pipeline.verify(view), (view, step)


def test_a_change_meets_only_the_sessions_next_to_it(spark, monkeypatch):
    """What the operator reads again does not grow with the number of sessions of the key."""
    met = []
    touched = SessionsRunner._touched

    def counted(runner, change):
        found = touched(runner, change)
        met.append(runner.workspace.sql(f"SELECT * FROM {found}").count())
        return found

    monkeypatch.setattr(SessionsRunner, "_touched", counted)
    program = TABLE + VIEW.format("TABLE(SESSION(TABLE ev PARTITION BY k, DESCRIPTOR(at), INTERVAL 10 MINUTES))")
    with penstock.Pipeline(program, spark=spark, engine="spark") as pipeline:
        pipeline.step({"ev": [(moment(60 * hour), "a", hour) for hour in range(300)]})
        change = pipeline.step({"ev": [(moment(60 * 150 + 5), "a", 0), (moment(60 * 150 + 30), "a", 0)]})["s"]
        assert sorted(weight for weight, _ in change.rows) == [-1, 1, 1]
    assert met == [1]
