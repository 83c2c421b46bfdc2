"""SET dialect holds for what is read behind it: in later calls, and when a directory is opened again."""

from __future__ import annotations

import subprocess
import sys

import pytest

import penstock

STREAM = "CREATE STREAM tg (x int, ts datetime64(3))"


@penstock.LaterSession
def no_spark():
    pytest.fail("Spark was asked for")


def opened(program="", **options):
    return penstock.Pipeline(program, spark=no_spark, engine="native", **options)


def read(query):
    found = []
    while (emission := query.get(0)) is not None:
        found.append(emission)
    return found


def test_later_calls_read_the_dialect_that_is_set():
    with opened() as pipeline:
        pipeline.execute("SET dialect = 'TimePlus'")
        assert pipeline.dialect == "timeplus"
        pipeline.execute(STREAM)
        pipeline.execute("INSERT INTO tg (x) VALUES (1), (2)")
        assert pipeline.query("SELECT count() FROM table(tg)").rows == [(2,)]
        pipeline.execute("RESET dialect")
        assert pipeline.dialect == "penstock"
        with pytest.raises(penstock.SqlError):
            pipeline.execute("CREATE STREAM other (ts datetime64(3))")


def test_a_reset_holds_within_its_text():
    with opened(dialect="timeplus") as pipeline, pytest.raises(penstock.SqlError) as refused:
        pipeline.execute("RESET; CREATE STREAM other (ts datetime64(3))")
    assert refused.value.code == "UNKNOWN_TYPE"


def test_a_program_ends_in_the_dialect_of_its_last_set():
    with opened("SET dialect = 'timeplus';", dialect="flink") as pipeline:
        assert pipeline.dialect == "timeplus"
        pipeline.execute(STREAM)


def test_no_dialect_of_that_name_changes_nothing():
    with opened() as pipeline:
        with pytest.raises(penstock.SqlError) as refused:
            pipeline.execute("SET dialect = 'timplus'")
        assert refused.value.code == "UNKNOWN_DIALECT"
        assert pipeline.dialect == "penstock"


def test_a_view_keeps_the_dialect_that_it_is_written_in():
    program = """SET dialect = 'flink';
        CREATE STREAM s (at TIMESTAMP NOT NULL LATENESS INTERVAL '0' SECOND, k INT);
        CREATE VIEW mean AS SELECT at, AVG(k) AS m FROM s GROUP BY at;"""
    with opened(program) as pipeline:
        pipeline.execute("SET dialect = 'penstock'")
        with pipeline.subscribe("SELECT STREAM m FROM mean") as query:  # which reads it as the query that it is
            pipeline.step({"s": [("2025-01-01 10:00:00", 1), ("2025-01-01 10:00:00", 2)]})
            pipeline.step({"s": [("2025-01-01 11:00:00", 5)]})
            assert [tuple(row) for emission in read(query) for row in emission] == [(1,)]  # in flink a whole number


def test_a_directory_goes_on_in_its_dialect(tmp_path):
    for count in (1, 2, 3):
        with opened(directory=tmp_path / "d") as pipeline:
            if count == 1:
                pipeline.execute(f"SET dialect = 'timeplus'; {STREAM};")
            assert pipeline.dialect == "timeplus"
            pipeline.execute("INSERT INTO tg (x) VALUES (1)")
            pipeline.execute(f"CREATE VIEW v{count} AS SELECT count() AS n, sum(to_int32(x)) AS m FROM tg")
            assert pipeline.query("SELECT count() FROM table(tg)").rows == [(count,)]
    with opened(directory=tmp_path / "d", rebuild=True) as pipeline:
        pipeline.execute("SET dialect = 'penstock'")
        assert pipeline.query("SELECT n FROM v3").rows == [(3,)]


def test_a_program_takes_the_place_of_one_in_its_own_dialect():
    with opened("CREATE TABLE t (a INT);") as pipeline:
        pipeline.execute("INSERT INTO t VALUES (1)")
        pipeline.execute("SET dialect = 'timeplus'")
        new = "CREATE TABLE t (a INT); CREATE VIEW v AS SELECT SUM(a) AS s FROM t;"
        with pytest.raises(penstock.UnsupportedError) as refused:
            pipeline.deploy(new)
        assert "SET dialect = 'penstock' first" in refused.value.render()
        pipeline.execute("SET dialect = 'penstock'")
        pipeline.deploy(new)
        assert pipeline.query("SELECT s FROM v").rows == [(1,)]


def test_the_shell_reads_it_line_by_line():
    text = f"SET dialect='timeplus';\n{STREAM};\nSHOW TABLES;\n"
    command = [sys.executable, "-m", "penstock.cli.main", "sql", "--format", "csv"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "tg" in done.stdout
