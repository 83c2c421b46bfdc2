"""What Spark reads by a format's name: streams batch by batch, each once, and what it cannot follow, whole."""

from __future__ import annotations

import itertools
import random
import shutil
from datetime import timedelta
from decimal import Decimal

import pytest
from pyspark.sql.datasource import DataSource, DataSourceReader
from tests.steps.tables import declared

import penstock
from penstock.errors import DataError, UnsupportedError
from penstock.sources import api
from penstock.sources.looks import Looks
from penstock.steps.intake.inputs import Readers
from penstock.steps.rows.rejected import Rejections

pytestmark = pytest.mark.spark


NINE = "it has no more than nine"


def squares():
    """A source that Spark cannot follow; its classes go to Spark's workers by value."""

    class Squares(DataSource):
        @classmethod
        def name(cls):
            return "squares"

        def schema(self):
            return "id INT, square INT, more STRING"

        def reader(self, schema):  # noqa: ARG002 - Spark gives it by name
            return SquaresReader(int(self.options.get("upto", 3)))

    class SquaresReader(DataSourceReader):
        def __init__(self, upto):
            self.upto = upto

        def read(self, _partition):
            if self.upto > 9:
                raise ValueError(NINE)
            return iter([(number, number * number, "x") for number in range(self.upto)])

    return Squares


@pytest.fixture
def folder(spark, tmp_path):
    """Files of ORC, which come with each call."""
    numbers = itertools.count()

    def add(rows):
        values = [(next(numbers),) for _ in range(rows)]
        spark.createDataFrame(values, "id INT").coalesce(1).write.mode("append").orc(str(tmp_path / "in"))

    add(2)
    return add


def program(tmp_path, kind="orc", columns="id INT", **said):
    words = {"path": str(tmp_path / "in"), "checkpoint": str(tmp_path / "checkpoint"), "option.maxFilesPerTrigger": "1"}
    words = {"connector": "spark", "format": kind, "every": "0 seconds", **(words if kind == "orc" else {}), **said}
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in words.items() if value is not None)
    return f"CREATE TABLE t ({columns}) WITH ({listed});"


@pytest.fixture
def source_of(spark, monkeypatch):
    """What opens the source of a statement, as a pipeline does."""
    monkeypatch.setattr(Looks, "WAIT", 60.0)
    with penstock.Pipeline("CREATE TABLE other (id INT);", spark=spark) as pipeline:
        pipeline.step()
        readers = pipeline._execution.readers
        assert isinstance(readers, Readers)
        yield lambda statement: api.open_source(declared(statement.rstrip(";")), readers, None)


def ids(batch):
    return None if batch is None else sorted(batch.rows.column(0).to_pylist())


def test_each_batch_comes_until_a_step_has_it(folder, source_of, tmp_path):
    source = source_of(program(tmp_path))
    assert ids(source.read(9, Rejections())) == [0, 1]
    source.rewind()
    assert ids(source.read(9, Rejections())) == [0, 1]
    taken = source.taken()
    assert taken["read"][0]["to"] == {"batch": 0}
    again = source_of(program(tmp_path))  # the process was killed before its step was in the log
    assert ids(again.read(9, Rejections())) == [0, 1]
    again.commit()
    assert again.read(9, Rejections()) is None
    folder(3)
    assert ids(again.read(9, Rejections())) == [2, 3, 4]
    behind = source_of(program(tmp_path))
    behind.skip(taken)
    assert ids(behind.read(9, Rejections())) == [2, 3, 4]


def test_property_each_row_comes_once_over_steps_that_fail_and_processes_that_end(folder, source_of, tmp_path):
    chance, found, total, last = random.Random(5), [], 2, None
    source = source_of(program(tmp_path))
    for _ in range(12):
        if chance.random() < 0.4:
            folder(2)
            total += 2
        batch = source.read(9, Rejections())
        if chance.random() < 0.3:
            source = source_of(program(tmp_path))
            if last is not None:
                source.skip(last)
        elif batch is not None and chance.random() < 0.3:
            source.rewind()
        elif batch is not None:
            last = source.taken()
            source.commit()
            found += ids(batch)
    while (batch := source.read(9, Rejections())) is not None:
        source.commit()
        found += ids(batch)
    assert sorted(found) == list(range(total))


@pytest.mark.parametrize("engine", ["auto", pytest.param("spark", marks=pytest.mark.extended)])
def test_a_pipeline_goes_on_where_it_was(spark, folder, tmp_path, engine):
    text = program(tmp_path) + "CREATE VIEW v AS SELECT count(*) AS n, sum(id) AS s FROM t;"
    for expected in ((2, 1), (5, 10)):
        with penstock.Pipeline(text, spark=spark, directory=tmp_path / "dir", engine=engine) as pipeline:
            pipeline.run(once=True)
            assert pipeline.query("SELECT n, s FROM v").rows == [expected]
            (fact,) = pipeline.sources()
            assert fact.source == f"t from Spark's orc {tmp_path / 'in'}"
        folder(3)


def test_a_checkpoint_that_stands_elsewhere_ends_the_run(spark, folder, tmp_path):
    text = program(tmp_path)
    with penstock.Pipeline(text, spark=spark, directory=tmp_path / "dir") as pipeline:
        pipeline.run(once=True)
        folder(1)
        pipeline.run(once=True)
    with penstock.Pipeline(text, spark=spark) as pipeline, pytest.raises(DataError, match="no step has had any"):
        pipeline.run(once=True)
    shutil.rmtree(tmp_path / "checkpoint")
    with (
        penstock.Pipeline(text, spark=spark, directory=tmp_path / "dir") as pipeline,
        pytest.raises(DataError, match="has batches up to -1, and a step has had batch 1") as caught,
    ):
        pipeline.run(once=True)
    assert caught.value.diagnostics[0].code == "SOURCE_REFUSED"


def test_a_stream_without_folders(spark, tmp_path):
    said = {"checkpoint": str(tmp_path / "c"), "option.rowsPerSecond": "20"}
    with penstock.Pipeline(
        program(tmp_path, "rate", "timestamp TIMESTAMP, value BIGINT", **said), spark=spark
    ) as pipeline:
        seen = []
        while len(seen) < 20:
            pipeline.run(once=True)
            seen = [value for (value,) in pipeline.query("SELECT value FROM t ORDER BY value").rows]
        assert seen == list(range(len(seen)))
        ((first, last),) = pipeline.query("SELECT min(timestamp), max(timestamp) FROM t").rows
        assert timedelta() < last - first < timedelta(minutes=5)


def test_without_a_checkpoint_all_that_there_is_is_read_once(source_of, folder, tmp_path):
    folder(2)
    source = source_of(program(tmp_path, checkpoint=None))
    assert ids(source.read(9, Rejections())) == [0, 1, 2, 3]
    source.commit()
    folder(2)
    assert source.read(9, Rejections()) is None


def test_what_spark_cannot_follow_is_read_once(spark, tmp_path):
    spark.dataSource.register(squares())
    text = program(tmp_path, "squares", "id INT, square BIGINT", **{"option.upto": "4"})
    for _ in range(2):
        with penstock.Pipeline(text, spark=spark, directory=tmp_path / "dir") as pipeline:
            pipeline.run(once=True)
            assert pipeline.query("SELECT id, square FROM t ORDER BY id").rows == [(0, 0), (1, 1), (2, 4), (3, 9)]
    text = text.replace("'every'", "'unknown_columns' = 'reject', 'every'")
    with penstock.Pipeline(text, spark=spark) as pipeline, pytest.raises(DataError, match="no column more"):
        pipeline.run(once=True)


def test_what_fails_while_it_is_read_is_tried_again_until_the_timeout(spark, tmp_path):
    spark.dataSource.register(squares())
    text = program(tmp_path, "squares", "id INT", timeout="0 seconds", **{"option.upto": "10"})
    with (
        penstock.Pipeline(text, spark=spark) as pipeline,
        pytest.raises(DataError, match="ValueError: it has no more than nine") as caught,
    ):
        pipeline.run(once=True)
    assert caught.value.diagnostics[0].code == "SOURCE_UNREACHABLE"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"kind": "nothing"}, "Failed to find the data source: nothing"),
        ({"kind": "rate"}, "rate"),
        ({"path": "/there/is/nothing"}, "does not exist"),
    ],
)
def test_what_spark_refuses_is_told_in_its_words(source_of, folder, tmp_path, said, words):
    with pytest.raises(DataError, match=words) as caught:
        source_of(program(tmp_path, **said)).read(9, Rejections())
    assert caught.value.diagnostics[0].code == "SOURCE_REFUSED"


def test_a_stream_without_a_checkpoint_says_that_it_wants_one(source_of, tmp_path):
    with pytest.raises(DataError) as caught:
        source_of(program(tmp_path, kind="rate")).read(9, Rejections())
    assert "'checkpoint'" in caught.value.diagnostics[0].hint


def test_a_batch_that_a_step_has_is_not_read_again(source_of, folder, tmp_path):
    source = source_of(program(tmp_path))
    source.read(9, Rejections())
    taken = source.taken()
    source.seek(taken)
    source.commit()
    with pytest.raises(DataError) as caught:
        source.seek(taken)
    assert caught.value.diagnostics[0].code == "CANNOT_READ_AGAIN"


def test_using_names_any_source_that_the_session_knows(spark):
    spark.dataSource.register(squares())
    text = "CREATE TABLE t (id INT, square INT) USING squares OPTIONS (upto 4);"
    with penstock.Pipeline(text, spark=spark) as pipeline:
        pipeline.run(once=True)
        assert sorted(pipeline.query("SELECT id, square FROM t").rows) == [(0, 0), (1, 1), (2, 4), (3, 9)]


@pytest.mark.parametrize(
    ("kind", "files"),
    [
        ("json", ['{"id": 1, "d": 1.50}', '{"id": 2}', '{"d": 2.25, "id": 3}']),
        ("csv", ["1,1.50", "2,", "3,2.25"]),
    ],
)
def test_files_in_a_store_that_hadoop_knows_are_followed(spark, tmp_path, kind, files):
    """A file system of Hadoop's that is none of this machine's paths, as an object store is none."""
    (tmp_path / "in").mkdir()
    spark.conf.set(f"fs.viewfs.mounttable.of-{kind}.link./in", f"file://{tmp_path}/in")
    options = f"checkpointLocation '{tmp_path}/checkpoint', maxFilesPerTrigger 1"
    text = (
        f"CREATE TABLE t (id INT, d DECIMAL(5, 2)) USING {kind} OPTIONS ({options}) LOCATION 'viewfs://of-{kind}/in';"
    )
    for number, line in enumerate(files):
        (tmp_path / "in" / f"{number}.{kind}").write_text(f"{line}\n")
        with penstock.Pipeline(text, spark=spark, directory=tmp_path / "dir") as pipeline:
            pipeline.run(once=True)
            found = pipeline.query("SELECT id, d FROM t ORDER BY id").rows
            assert found == [(1, Decimal("1.50")), (2, None), (3, Decimal("2.25"))][: number + 1]
    (tmp_path / "in" / f"9.{kind}").write_text("{no\n" if kind == "json" else "x,y\n")
    with penstock.Pipeline(text, spark=spark, directory=tmp_path / "dir") as pipeline:
        with pytest.raises(DataError, match="error while reading file") as caught:
            pipeline.run(once=True)
        assert caught.value.diagnostics[0].code == "SOURCE_REFUSED"
        assert len(pipeline.query("SELECT id FROM t").rows) == len(files)


def test_the_connector_files_says_what_reads_a_store():
    text = "CREATE TABLE t (id INT) WITH ('connector' = 'files', 'path' = 's3a://shop/in', 'format' = 'json');"
    with penstock.Pipeline(text) as pipeline, pytest.raises(UnsupportedError, match="is in s3a") as caught:
        pipeline.run(once=True)
    assert "'connector' = 'spark'" in caught.value.diagnostics[0].hint


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_a_store_without_its_file_system_is_refused_with_what_brings_it(spark, scheme):
    text = f"CREATE TABLE t (id INT) USING json LOCATION '{scheme}://shop/in';"
    with penstock.Pipeline(text, spark=spark) as pipeline, pytest.raises(DataError) as caught:
        pipeline.run(once=True)
    assert caught.value.code == "SOURCE_REFUSED"
    assert "hadoop-aws" in caught.value.diagnostics[0].hint
    assert "An error occurred while calling" not in caught.value.summary
