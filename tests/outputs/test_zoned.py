"""Points in time that are written as text come back as they were, whatever the program's zone is."""

import datetime as dt

import pytest

from penstock import Pipeline

ZONE = "SET TIME ZONE '+02:00';"
COLUMNS = "id INT, t TIMESTAMP, n TIMESTAMP_NTZ, a ARRAY<STRUCT<t: TIMESTAMP>>"
MOMENT = dt.datetime(2024, 1, 1, 0, 0, 0, 1)  # noqa: DTZ001 - UTC
ROW = (1, MOMENT, MOMENT, [{"t": MOMENT}])


@pytest.mark.spark
@pytest.mark.parametrize("style", ["json", "csv", pytest.param("parquet", marks=pytest.mark.extended)])
def test_times_are_read_in_the_zone_in_which_they_were_written(tmp_path, spark, style):
    said = f"'connector' = 'files', 'path' = '{tmp_path}/out', 'format' = '{style}'"
    program = f"{ZONE} CREATE TABLE t ({COLUMNS}); CREATE VIEW o WITH ({said}, 'form' = 'retract') AS SELECT * FROM t"
    with Pipeline(program, spark=spark) as pipeline:
        pipeline.step({"t": [ROW]})
    program = f"{ZONE} CREATE TABLE t ({COLUMNS}) WITH ({said}); CREATE VIEW v AS SELECT * FROM t"
    with Pipeline(program, spark=spark) as pipeline:
        pipeline.run(once=True)
        assert pipeline.query("SELECT * FROM v").rows == [ROW]
