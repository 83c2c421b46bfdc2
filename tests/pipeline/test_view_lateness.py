"""LATENESS of a view's column: a filter right behind the view, for whoever reads it and as an output."""

import pytest

import penstock

PROGRAM = """
CREATE TABLE raw (at STRING, card INT);
LATENESS decoded.at INTERVAL 1 HOUR;
CREATE VIEW decoded AS SELECT CAST(at AS TIMESTAMP) AS at, card FROM raw;
CREATE VIEW n AS SELECT COUNT(*) AS n FROM decoded;
CREATE VIEW doubled AS SELECT a.card, b.card AS other FROM decoded a JOIN decoded b ON a.at = b.at;
CREATE VIEW errors AS SELECT table_or_view_name AS name, metadata FROM error_view;
"""


@pytest.fixture(params=["in the process", pytest.param("small", marks=pytest.mark.extended), "large"])
def pipeline(spark, request):
    """The view is filtered in the process, on Spark in changes on the driver, and in those on the executors."""
    with penstock.Pipeline(
        PROGRAM, spark=spark, engine="auto" if request.param == "in the process" else "spark"
    ) as found:
        if request.param == "large":
            found._opened().stepper.engine.workspace.driver_rows = -1
        yield found


def rows(changes, view):
    return sorted(changes[view].rows, key=repr)


def test_readers_and_outputs_see_only_what_is_not_late(pipeline):
    pipeline.step({"raw": [("2024-01-01 10:00:00", 1)]})
    changes = pipeline.step({"raw": [("2024-01-01 09:00:00", 2), ("2024-01-01 08:59:59", 3), (None, 4)]})
    assert [row[1][1] for row in rows(changes, "decoded")] in ([2, 4], [4, 2])
    assert rows(changes, "n") == [(-1, (1,)), (1, (3,))]
    assert rows(changes, "doubled") == [(1, (2, 2))]
    ((_, (name, metadata)),) = rows(changes, "errors")
    assert (name, '"card"' in metadata, "08:59:59" in metadata) == ("decoded", True, True)
    assert len(changes["error_view"].rows) == 1
    assert pipeline.rejected() == {("decoded", "Late value"): 1}
    # A late deletion is dropped as well, and the table has forgotten the row.
    changes = pipeline.step({"raw": [("-", ("2024-01-01 08:59:59", 3))]})
    assert rows(changes, "n") == []
    assert len(rows(changes, "errors")) == 1
    assert pipeline.query("SELECT COUNT(*) FROM decoded").rows[0][0] == 3
    assert pipeline.verify("n")
    with pytest.raises(penstock.DataError) as error:
        pipeline.verify("decoded")
    assert error.value.code == "NOT_COMPARABLE"


def test_the_waterline_moves_after_the_step_and_not_with_one_that_is_refused(pipeline):
    pipeline.step({"raw": [("2024-01-01 10:00:00", 1), ("2024-01-01 02:00:00", 2)]})
    with pytest.raises(penstock.PenstockError):
        pipeline.step({"raw": [("2024-02-01 10:00:00", 1), ("nothing", 2)]})
    changes = pipeline.step({"raw": [("2024-01-01 09:30:00", 3)]})
    assert rows(changes, "n") == [(-1, (2,)), (1, (3,))]
    assert str(pipeline.waterlines()["decoded.at"]) == "2024-01-01 09:00:00"


def test_a_view_created_later_starts_from_what_has_passed(pipeline):
    pipeline.step({"raw": [("2024-01-01 10:00:00", 1)]})
    pipeline.step({"raw": [("2024-01-01 01:00:00", 2)]})
    pipeline.execute("CREATE VIEW cards AS SELECT card FROM decoded")
    assert rows(pipeline.step({"raw": [("2024-01-01 02:00:00", 3), ("2024-01-01 11:00:00", 4)]}), "cards") == [
        (1, (1,)),
        (1, (4,)),
    ]


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("LATENESS v.x INTERVAL 1 HOUR", "BAD_LATENESS"),
        ("LATENESS v.missing 1", "UNKNOWN_COLUMN"),
        ("LATENESS w.x 1", "UNKNOWN_RELATION"),
    ],
)
def test_what_does_not_fit_is_refused(statement, code, spark):
    with pytest.raises(penstock.PenstockError) as error:
        penstock.Pipeline(f"CREATE TABLE t (x INT); CREATE VIEW v AS SELECT x FROM t; {statement};", spark=spark).step()
    assert error.value.code == code


def test_a_view_that_is_replaced_is_made_anew_with_its_lateness():
    program = "CREATE TABLE t (a INT, n INT); CREATE VIEW v AS SELECT a, n FROM t; LATENESS v.n 1;"
    with penstock.Pipeline(program, engine="native") as replaced:
        replaced.step({"t": [(1, 10), (2, 15)]})
        replaced.execute("CREATE OR REPLACE VIEW v AS SELECT a + 10 AS a, n FROM t")
        replaced.step({"t": [(3, 16)]})
        assert sorted(replaced.content("v").rows) == [(11, 10), (12, 15), (13, 16)]
        replaced.step({"t": [(4, 11), (5, 16)]})
        assert sorted(replaced.content("v").rows) == [(11, 10), (12, 15), (13, 16), (15, 16)]
