"""emit_final: rows shown once, when nothing can change them; readers are not delayed; and what is refused."""

import pytest

import penstock

TABLES = """
CREATE TABLE t (at TIMESTAMP LATENESS INTERVAL 1 HOUR, x INT);
CREATE TABLE plain (x INT, at TIMESTAMP);
"""


def final(query, column="at", kind="VIEW"):
    return f"{TABLES} CREATE {kind} v WITH ('emit_final' = '{column}') AS {query};"


@pytest.mark.parametrize(
    ("engine", "driver_rows"),
    [("native", None), pytest.param("spark", 50_000, marks=pytest.mark.extended), ("spark", -1)],
)
def test_a_group_is_shown_once_when_its_hour_has_passed(spark, engine, driver_rows):
    program = final("SELECT date_trunc('HOUR', at) AS hour, SUM(x) AS s FROM t GROUP BY date_trunc('HOUR', at)", "hour")
    program += "CREATE VIEW reader AS SELECT s FROM v;"
    with penstock.Pipeline(program, spark=spark, engine=engine) as pipeline:
        if driver_rows is not None:
            pipeline._opened().stepper.engine.workspace.driver_rows = driver_rows
        changes = pipeline.step({"t": [("2024-01-01 10:30:00", 1), ("2024-01-01 10:40:00", 2)]})
        assert (changes["v"].rows, changes["reader"].rows) == ([], [(1, (3,))])
        # The waterline is 10:59 here, 11:00 then: its hour begins after 10:00.
        assert pipeline.step({"t": [("2024-01-01 11:59:00", 5)]})["v"].rows == []
        changes = pipeline.step({"t": [("2024-01-01 12:00:00", 7), ("2024-01-01 10:59:30", 4)]})
        assert [(weight, row[1]) for weight, row in changes["v"].rows] == [(1, 7)]
        assert pipeline.step({"t": [("2024-01-01 10:59:59", 9)]})["v"].rows == []
        assert pipeline.query("SELECT COUNT(*) FROM v").rows[0][0] == 3
        assert pipeline.verify("v")
        assert [row[1] for _, row in pipeline.execute("ADVANCE t.at TO TIMESTAMP '2024-01-01 12:00:00'")["v"].rows] == [
            5
        ]


def test_a_row_keeps_its_multiplicity_and_null_is_never_final(spark):
    with penstock.Pipeline(final("SELECT at FROM t", "0"), spark=spark) as pipeline:
        pipeline.step({"t": [("2024-01-01 10:00:00", 1), ("2024-01-01 10:00:00", 1), (None, 1)]})
        ((weight, _),) = pipeline.step({"t": [("2024-01-02 10:00:00", 1)]})["v"].rows
        assert weight == 2


@pytest.mark.parametrize(
    ("program", "code", "told"),
    [
        (final("SELECT at, x FROM plain"), "NO_WATERLINE", "plain.at has no LATENESS"),
        (final("SELECT MAX(at) AS m, x FROM t GROUP BY x", "m"), "NO_WATERLINE", "aggregate"),
        (final("SELECT month(at) AS m FROM t", "m"), "NO_WATERLINE", "month("),
        (final("SELECT t.at FROM t JOIN plain ON t.x = plain.x"), "NO_WATERLINE", "inner join"),
        (final("SELECT at FROM t UNION ALL SELECT at FROM plain"), "NO_WATERLINE", "plain.at"),
        (final("SELECT at FROM t", "b"), "UNKNOWN_COLUMN", "'b'"),
        (final("SELECT at FROM t", "3"), "UNKNOWN_COLUMN", "0 to 0"),
        (final("SELECT at FROM t", kind="LOCAL VIEW"), "EMIT_FINAL_LOCAL", "LOCAL"),
    ],
)
def test_what_never_becomes_final_is_refused_by_name(program, code, told):
    from penstock.bind.program.compile import compile_program
    from penstock.errors import SqlError
    from penstock.pipeline.opening import check_supported

    with pytest.raises(SqlError) as error:
        check_supported(compile_program(program).catalog)
    assert error.value.code == code
    assert told in str(error.value)
