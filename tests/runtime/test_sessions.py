"""SESSION: sessions grow, merge and split under late rows and deletions, key by key."""

import pytest

import penstock

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
    ],
)
def test_what_is_no_session_is_refused(source, code):
    from penstock.bind.program import compile_program

    with pytest.raises(penstock.SqlError) as error:
        compile_program(TABLE + VIEW.format(source))
    assert error.value.code == code
