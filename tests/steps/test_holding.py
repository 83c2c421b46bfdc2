"""WATERMARK: rows wait for later ones, deletions like their rows, and the end of input releases all."""

import pytest
from tests.steps.tables import Bench, declared

import penstock
from penstock.errors import DataError, SqlError
from penstock.steps.intake.holding import declared_holding


def released(bench, rows):
    return sorted((weight, row[0]) for weight, row in bench.step(rows)[0])


def test_a_row_waits_until_one_far_enough_behind_it_is_seen():
    t = Bench("CREATE TABLE t (id INT, at TIMESTAMP WATERMARK INTERVAL 1 HOUR)")
    assert released(t, [(1, "2024-01-01 10:00:00")]) == []
    assert released(t, [(2, "2024-01-01 10:59:59"), (3, "2024-01-01 09:59:59")]) == [(1, 3)]
    assert released(t, [(4, "2024-01-01 11:00:00")]) == [(1, 1)]
    assert t.holding.count == 2


def test_null_is_not_held_and_moves_nothing():
    t = Bench("CREATE TABLE t (id INT, x DOUBLE WATERMARK 10)")
    assert released(t, [(1, None), (2, float("nan")), (3, float("inf"))]) == [(1, 1), (1, 2), (1, 3)]
    assert released(t, [(4, 5.0)]) == []
    assert released(t, [(5, 15.0)]) == [(1, 4)]


def test_several_columns_release_when_all_delays_are_exceeded():
    t = Bench("CREATE TABLE t (id INT, a INT WATERMARK 10, b INT WATERMARK 5)")
    assert released(t, [(1, 0, 0)]) == []
    assert released(t, [(2, 20, 1)]) == []
    assert released(t, [(3, None, 6)]) == [(1, 1)]
    assert released(t, [(4, 30, 11)]) == [(1, 2), (1, 3)]


def test_a_deletion_is_held_like_its_row_and_must_find_it():
    t = Bench("CREATE TABLE t (id INT, x INT WATERMARK 10)")
    t.step([(1, 0)])
    assert released(t, [("-", (1, 0))]) == []
    with pytest.raises(DataError, match="the row to delete is not there"):
        t.fold([("-", (1, 0))])
    assert released(t, [(2, 10)]) == [(-1, 1), (1, 1)]


def test_lateness_is_judged_once_on_arrival():
    t = Bench("CREATE TABLE t (id INT, x INT LATENESS 5 WATERMARK 20)")
    assert released(t, [(1, 0)]) == []
    # The waterline moves past the held row, which is released all the same.
    assert t.step([(2, 21)]) == ([(1, (1, 0))], [])
    change, messages = t.step([(3, 15), (4, 16)])
    assert (change, messages) == ([], ["Late value"])
    assert t.waterline("x") == 16
    assert t.holding.line("x", 16) == 1
    assert t.holding.emptied().count == 0


def test_months_are_added_by_the_calendar():
    t = Bench("CREATE TABLE t (id INT, at DATE WATERMARK INTERVAL 1 MONTH)")
    assert released(t, [(1, "2024-01-31")]) == []
    assert released(t, [(2, "2024-02-28")]) == []
    assert released(t, [(3, "2024-02-29")]) == [(1, 1)]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("CREATE TABLE t (id INT PRIMARY KEY, x INT WATERMARK 1)", "WATERMARK_WITH_KEY"),
        ("CREATE TABLE t (x INT WATERMARK INTERVAL 1 HOUR)", "BAD_WATERMARK"),
        ("CREATE TABLE t (x STRING WATERMARK 1)", "BAD_WATERMARK"),
    ],
)
def test_what_cannot_hold_rows_is_refused(sql, code):
    with pytest.raises(SqlError) as error:
        declared_holding(declared(sql))
    assert error.value.code == code


def test_held_rows_are_in_no_content_until_the_input_ends(spark, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.json").write_text('{"id": 1, "x": 0}\n{"id": 2, "x": 10}\n{"id": 3, "x": 11}\n')
    program = f"""
    CREATE TABLE t (id INT, x INT WATERMARK 10) WITH ('connector' = 'files', 'path' = '{folder}', 'format' = 'json');
    CREATE VIEW v AS SELECT COUNT(*) AS n FROM t;
    """
    with penstock.Pipeline(program, spark=spark) as pipeline:
        changes = pipeline.changes("v")
        pipeline.run(once=True)
        assert pipeline.query("SELECT COUNT(*) FROM t").rows[0][0] == 3
        assert sorted(changes.get(0).rows) == [(1, (1,))]
        assert sorted(changes.get(0).rows) == [(-1, (1,)), (1, (3,))]
    with penstock.Pipeline("CREATE TABLE t (id INT, x INT WATERMARK 10)", spark=spark) as pipeline:
        pipeline.step({"t": [(1, 0), (2, 10), ("-", (2, 10))]})
        assert pipeline.query("SELECT id FROM t").rows[0][0] == 1
        pipeline.step({"t": [(2, 10)]})
        pipeline.step({"t": [("-", (2, 10)), (4, 20)]})
        assert sorted(row[0] for row in pipeline.query("SELECT id FROM t").rows) == [1]
