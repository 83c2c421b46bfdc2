"""Rows that only views will read come in without the columns that no view reads; nobody notices."""

import pytest

import penstock
from penstock.errors import DataError
from penstock.runtime.bulk import DRIVER_ROWS

TABLE = """CREATE TABLE t (id BIGINT NOT NULL, g INT, at TIMESTAMP LATENESS INTERVAL 10 SECONDS, words STRING)
  WITH ('append_only' = 'true', 'history' = '{history}');"""
VIEWS = """CREATE VIEW counted AS SELECT g, count(*) AS n, max(at) AS last FROM t GROUP BY g;
CREATE VIEW picked AS SELECT at AS moment, g FROM t;
CREATE VIEW late AS SELECT * FROM error_view;"""
ONLY_COUNTED = "CREATE VIEW counted AS SELECT count(*) AS n FROM t;"


def rows(spark, size, begin, late):
    """Rows with times from `begin` on, of which the first ones lie far back."""
    at = f"timestamp_seconds({begin} + id % 5 - if(id < {late}, 2000, 0))"
    return spark.range(size).selectExpr("id", "cast(id % 3 AS INT) AS g", f"{at} AS at", "concat('word ', id) AS words")


@pytest.mark.parametrize("views", [VIEWS, ONLY_COUNTED], ids=["some columns", "no column"])
@pytest.mark.parametrize("size", [100, DRIVER_ROWS + 1], ids=["small", "large"])
def test_the_same_changes_with_and_without(spark, size, views):
    seen = {}
    for history in ("none", "all"):
        with penstock.Pipeline(TABLE.format(history=history) + views, spark=spark) as pipeline:
            seen[history] = []
            for step, late in enumerate([0, 7, 0]):
                changes = pipeline.step({"t": rows(spark, size, 1_000 * step, late)})
                found = {name: sorted(change.rows, key=repr) for name, change in changes.items()}
                found.pop("error_view", None)
                seen[history].append(found)
    assert seen["none"] == seen["all"]
    if views == VIEWS:
        assert len(seen["none"][1]["late"]) == 7
        assert "word 3" in repr(seen["none"][1]["late"])


def test_a_column_that_nobody_reads_is_checked(spark):
    with penstock.Pipeline(TABLE.format(history="none") + ONLY_COUNTED, spark=spark) as pipeline:
        with pytest.raises(DataError, match="column id: found NULL in 1 rows"):
            pipeline.step({"t": rows(spark, 9, 0, 0).selectExpr("nullif(id, 4) AS id", "g", "at", "words")})
        with pytest.raises(DataError, match="column words"):
            pipeline.step({"t": rows(spark, 9, 0, 0).selectExpr("id", "g", "at", "id AS words")})
        assert pipeline.step({"t": rows(spark, 9, 0, 0)})["counted"].rows == [(1, (9,))]
