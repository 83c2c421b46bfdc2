"""Texts of times whose zone is named by its region: Spark is asked, when the first one comes and not before."""

from __future__ import annotations

import pytest

import penstock

PROGRAM = """
CREATE TABLE t (k INT PRIMARY KEY, told STRING);
CREATE VIEW v AS SELECT k, unix_micros(CAST(told AS TIMESTAMP)) AS at FROM t;
"""
PARIS = "2024-07-29 12:00:00 Europe/Paris"
HERE, THERE = 1722254400000000, 1722247200000000


def rows(pipeline):
    return sorted(pipeline.query("SELECT * FROM v").rows)


@pytest.mark.spark
def test_spark_is_asked_when_a_region_comes(spark):
    opened = []
    later = penstock.LaterSession(lambda: opened.append(spark) or spark)
    with penstock.Pipeline(PROGRAM, spark=later) as pipeline:
        pipeline.step({"t": [(1, "2024-07-29 12:00:00 UTC"), (2, None)]})
        assert not opened
        pipeline.step({"t": [(3, PARIS), (4, PARIS), (5, "2024-07-29T12:00:00Z")]})
        assert opened
        assert rows(pipeline) == [(1, HERE), (2, None), (3, THERE), (4, THERE), (5, HERE)]
        with pytest.raises(penstock.PenstockError, match=r"Europe/Pairs.*malformed"):
            pipeline.step({"t": [(6, "2024-07-29 12:00:00 Europe/Pairs")]})
        pipeline.step(sql="DELETE FROM t WHERE k = 3")
        assert rows(pipeline) == [(1, HERE), (2, None), (4, THERE), (5, HERE)]
        assert pipeline.verify("v")


def test_a_program_without_spark_says_that_it_cannot_tell():
    with penstock.Pipeline(PROGRAM, engine="native") as pipeline:
        pipeline.step({"t": [(1, "2024-07-29 12:00:00+02:00")]})
        with pytest.raises(penstock.PenstockError, match=r"Europe/Paris.*only Spark can tell"):
            pipeline.step({"t": [(2, PARIS)]})
        assert rows(pipeline) == [(1, THERE)]
