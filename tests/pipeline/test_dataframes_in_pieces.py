"""DataFrames that come into the process as a stream: the same answers as from Arrow, all of a step or nothing."""

import gc
import os
import signal
from datetime import datetime, timedelta
from functools import partial

import pyarrow as pa
import pytest
from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

import penstock
from penstock.backends.spark import streamed as streaming
from penstock.backends.spark.streamed import streamed
from penstock.errors import PenstockError
from penstock.steps.intake import bulk

KEYED = "CREATE TABLE t (id BIGINT PRIMARY KEY, k INT, name STRING);"
PLAIN = "CREATE TABLE t (id BIGINT NOT NULL, k INT, name STRING);"
SUMS = " CREATE VIEW s AS SELECT k, COUNT(*) AS n, SUM(id) AS total FROM t GROUP BY k;"
LATE = "CREATE TABLE t (id BIGINT, at TIMESTAMP LATENESS INTERVAL 1 HOUR); CREATE VIEW s AS SELECT at, id FROM t;"
ALL_KINDS = """
id, CAST(id % 100 AS TINYINT) AS b, CAST(id AS DECIMAL(20, 3)) AS d, id / 7 AS f, CAST(id AS FLOAT) AS g,
id % 2 = 0 AS t, if(id % 3 = 0, NULL, concat('é', id)) AS s, CAST('x' AS BINARY) AS bin,
date_add(DATE'2020-01-01', CAST(id % 999 AS INT)) AS day,
timestamp_seconds(id) AS at, TIMESTAMP_NTZ'2020-01-01 00:00:00' AS ntz, INTERVAL 3 DAY AS i,
array(id, NULL) AS a, map(id, 'x') AS m, named_struct('p', id, 'q', array('z')) AS r, NULL AS nothing
"""


@pytest.fixture(autouse=True)
def small_windows(monkeypatch):
    """Windows of few partitions; and rows in files from the second piece on."""
    monkeypatch.setattr(streaming, "LEAST_WINDOW_BYTES", 1000)
    monkeypatch.setattr(bulk, "Spool", partial(bulk.Spool, most_bytes=2000))


@pytest.fixture
def windows(monkeypatch):
    """The windows that are taken, each as its partitions."""
    taken, plain = [], streaming._of_window

    def of_window(frame, partitions, window):
        taken.append(list(window))
        return plain(frame, partitions, window)

    monkeypatch.setattr(streaming, "_of_window", of_window)
    return taken


def numbers(spark, count, partitions, begin=0):
    frame = spark.range(begin, begin + count, 1, partitions)
    return frame.selectExpr("id", "CAST(id % 3 AS INT) AS k", "concat('name of ', id) AS name")


@pytest.mark.parametrize(("rows", "partitions"), [(0, 1), (3, 8), (5000, 11)])
def test_the_stream_has_what_arrow_has_in_the_same_order(spark, windows, rows, partitions):
    frame = spark.range(0, rows, 1, partitions).selectExpr(*_items(ALL_KINDS))
    pieces = list(streamed(frame))
    expected = frame.toArrow()
    assert all(piece.schema == expected.schema for piece in pieces)
    assert pa.concat_tables(pieces).equals(expected)
    assert [at for window in windows for at in window] == list(range(partitions if rows else 0))


def _items(text):
    """The items of a SELECT list, which stand in it with commas of their own."""
    found, depth, item = [], 0, ""
    for character in text.strip():
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and not depth:
            found.append(item)
            item = ""
        else:
            item += character
    return [*found, item]


def test_it_is_no_more_than_some_partitions_at_a_time(spark, windows):
    frame = numbers(spark, 4000, 9)
    taken = spark.sparkContext.accumulator(0)

    def counted(batches):
        for batch in batches:
            taken.add(batch.num_rows)
            yield batch

    stream = streamed(frame.mapInArrow(counted, frame.schema))
    first = next(stream)
    assert (first.num_rows, len(windows)) == (4000 // 9, 1)
    assert taken.value < 4000 / 2
    assert first.num_rows + sum(piece.num_rows for piece in stream) == taken.value == 4000


def test_small_windows_are_followed_by_larger_ones():
    sizes = [2]
    for taken in (10, 10, 1 << 20, 200 << 20, 200 << 20, 200 << 20):
        sizes.append(streaming._next_size(sizes[-1], taken, cores=2))
    assert sizes == [2, 4, 8, 8, 4, 2, 2]


def test_a_query_of_several_stages_and_settings_of_its_session(spark):
    before = spark.sparkContext.getLocalProperty("spark.sql.session.timeZone")
    frame = numbers(spark, 3000, 7).groupBy("k").agg(F.sum("id").alias("n")).orderBy("k")
    assert pa.concat_tables(streamed(frame)).equals(frame.toArrow())
    assert spark.sparkContext.getLocalProperty("spark.sql.session.timeZone") == before


def test_an_observed_query_is_one_action(spark, windows):
    observed = Observation()
    frame = numbers(spark, 100, 4).observe(observed, F.count(F.lit(1)).alias("n"))
    assert sum(piece.num_rows for piece in streamed(frame)) == 100
    assert (observed.get, windows) == ({"n": 100}, [])


@pytest.mark.parametrize("table", [KEYED, PLAIN])
def test_the_answer_is_that_of_the_same_rows_in_arrow(spark, windows, table):
    frame = numbers(spark, 2000, 8)
    with penstock.Pipeline(table + SUMS, spark=spark) as one, penstock.Pipeline(table + SUMS, engine="native") as other:
        found = one.step({"t": frame})["s"].rows
        assert windows, "it came as a stream"
        assert sorted(found) == sorted(other.step({"t": frame.toArrow()})["s"].rows)
        more = numbers(spark, 1000, 5, begin=2000)
        assert sorted(one.step({"t": more})["s"].rows) == sorted(other.step({"t": more.toArrow()})["s"].rows)
        assert one.query("SELECT COUNT(*), SUM(id), MIN(name) FROM t").rows == [(3000, 4498500, "name of 0")]
        assert one.verify("s")


@pytest.mark.parametrize("table", [KEYED, PLAIN])
def test_what_raises_in_a_later_partition_refuses_the_whole_step(spark, windows, table):
    raising = F.udf(lambda at: 1 // (1500 - at) and at, "bigint")
    frame = spark.range(0, 2000, 1, 8).select(raising("id").alias("id"), F.lit(1).alias("k"), F.lit("x").alias("name"))
    with penstock.Pipeline(table + SUMS, spark=spark) as pipeline:
        pipeline.step({"t": [(-1, 1, "y")]})
        with pytest.raises(PenstockError):
            pipeline.step({"t": frame})
        assert len(windows) > 1
        assert (pipeline.steps, pipeline.content("s").rows) == (1, [(1, 1, -1)])
        assert pipeline.step({"t": numbers(spark, 3, 2)})["s"].rows
        assert pipeline.steps == 2


def test_ctrl_c_in_the_middle_leaves_nothing(spark, monkeypatch, tmp_path):
    plain = streaming._next_size

    def interrupting(*given):
        os.kill(os.getpid(), signal.SIGINT)
        return plain(*given)

    with penstock.Pipeline(KEYED + SUMS, spark=spark, directory=tmp_path) as pipeline:
        pipeline.step({"t": [(-1, 1, "y")]})
        monkeypatch.setattr(streaming, "_next_size", interrupting)
        with pytest.raises(KeyboardInterrupt):
            pipeline.step({"t": numbers(spark, 2000, 8)})
        monkeypatch.setattr(streaming, "_next_size", plain)
        assert pipeline.steps == 1
        gc.collect()
        assert not list(tmp_path.rglob("*2.parquet"))
        assert [row[0] for row in pipeline.step({"t": numbers(spark, 2000, 8)})["s"].rows].count(1) == 3
    with penstock.Pipeline(KEYED + SUMS, spark=spark, directory=tmp_path) as pipeline:
        assert pipeline.query("SELECT COUNT(*) FROM t").rows == [(2001,)]


def test_a_key_in_two_partitions_is_refused_without_an_order_and_folded_with_one(spark):
    twice = numbers(spark, 1000, 4).union(numbers(spark, 1000, 4).selectExpr("id", "k + 5 AS k", "name"))
    with penstock.Pipeline(KEYED + SUMS, spark=spark) as pipeline:
        with pytest.raises(PenstockError, match="several rows of the key"):
            pipeline.step({"t": twice})
        assert pipeline.steps == 0
        ordered = twice.selectExpr("*", "CAST(k AS BIGINT) AS __seq")
        pipeline.step({"t": ordered})
        assert pipeline.query("SELECT COUNT(*), MIN(k), MAX(k) FROM t").rows == [(1000, 5, 7)]


def test_operations_are_those_of_their_rows_across_pieces(spark, windows):
    with penstock.Pipeline(KEYED + SUMS, spark=spark) as pipeline:
        pipeline.step({"t": numbers(spark, 1000, 4)})
        windows.clear()
        gone = (
            numbers(spark, 900, 3)
            .selectExpr("*", "if(id >= 700, '-', '+') AS __op")
            .selectExpr("id", "if(__op = '+', 9, NULL) AS k", "name", "__op")
        )
        pipeline.step({"t": gone})
        assert windows
        found = pipeline.query("SELECT k, COUNT(*) FROM t GROUP BY k ORDER BY k").rows
        assert found == [(0, 34), (1, 33), (2, 33), (9, 700)]


def test_a_row_that_does_not_fit_is_named_by_its_place_in_the_dataframe(spark):
    frame = numbers(spark, 2000, 8).selectExpr("if(id = 1700, NULL, id) AS id", "k", "name")
    with penstock.Pipeline(PLAIN + SUMS, spark=spark) as pipeline:
        with pytest.raises(PenstockError, match="row 1701, column id: found NULL, expected BIGINT NOT NULL"):
            pipeline.step({"t": frame})
        assert pipeline.steps == 0


def test_lateness_is_judged_by_the_steps_before_and_not_by_the_pieces_before(spark):
    noon = datetime(2026, 1, 1, 12)  # noqa: DTZ001 - UTC, as all times
    with penstock.Pipeline(LATE, spark=spark) as pipeline:
        first = spark.range(0, 600, 1, 6).selectExpr(
            "id", "TIMESTAMP'2026-01-01 12:00:00' - id * INTERVAL 1 MINUTE AS at"
        )
        changes = pipeline.step({"t": first}, clock=noon)
        assert len(changes["s"].rows) == 600
        assert pipeline.waterlines()["t.at"] == noon - timedelta(hours=1)
        second = first.selectExpr("id + 1000 AS id", "at")
        changes = pipeline.step({"t": second}, clock=noon)
        assert sorted(row[1] for _, row in changes["s"].rows) == list(range(1000, 1061))
        assert pipeline.rejected() == {("t", "Late value"): 539}
