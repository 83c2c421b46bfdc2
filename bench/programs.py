"""Programs at work, as the figures drive them, each in one of several ways, and the two units of cost."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import penstock
from bench.ways import ENGINES, Way

_NUMBERS = np.random.default_rng(7)


class Program:
    """A pipeline; `{with}` in its text stands where a table's properties do."""

    def __init__(self, spark: SparkSession, text: str, way: Way) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="penstock-bench-")) if way.directory else None
        properties = "" if way.directory else "WITH ('history' = 'none')"
        self.pipeline = penstock.Pipeline(
            text.replace("{with}", properties),
            spark=spark,
            directory=self._folder,
            retain="materialized",
            engine=way.engine,
        )

    def step(self, rows: Mapping[str, Any]) -> dict[str, Any]:
        """One step; the changes of the views, evaluated."""
        return self.pipeline.step(rows)

    def answered(self, rows: Mapping[str, Any], *views: str) -> None:
        """One step, with the changes of these views in hand as Arrow."""
        changes = self.pipeline.step(rows)
        for view in views:
            changes[view].arrow()

    def compact(self) -> None:
        """Merge what the operators keep, without what can be forgotten."""
        self.pipeline.compact()

    def close(self) -> None:
        """End it, and remove what it wrote."""
        self.pipeline.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def running(spark: SparkSession, texts: Mapping[str, str], way: Way) -> Iterator[dict[str, Program]]:
    """Several programs at once, ended together; what they held is given back."""
    with ExitStack() as stack:
        programs = {name: Program(spark, text, way) for name, text in texts.items()}
        for program in programs.values():
            stack.callback(program.close)
        yield programs
    collected(spark)


def agreeing(spark: SparkSession, text: str, steps: Sequence[Mapping[str, Any]], *views: str) -> None:
    """See that both engines change the views alike in some steps, before anything is timed; AssertionError if not."""
    found = {engine: list(_changes(spark, text, steps, views, Way(engine))) for engine in ENGINES}
    ours, theirs = (found[engine] for engine in ENGINES)
    for at, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if not one.equals(other.cast(one.schema)):
            message = f"{' and '.join(ENGINES)} differ in step {at // len(views)}, view {views[at % len(views)]}"
            raise AssertionError(message)


def _changes(
    spark: SparkSession, text: str, steps: Sequence[Mapping[str, Any]], views: Sequence[str], way: Way
) -> Iterator[pa.Table]:
    with running(spark, {"compared": text}, way) as programs:
        for given in steps:
            changes = programs["compared"].step(given)
            yield from (ordered(changes[view].arrow()) for view in views)


def ordered(table: pa.Table) -> pa.Table:
    """The same rows, in the order of their values."""
    if not table.num_columns:  # a view that has not changed
        return table
    return table.sort_by([(name, "ascending") for name in table.column_names]).combine_chunks()


def collected(spark: SparkSession) -> None:
    """Let Python and the JVM give back what nobody holds any more, and Spark's cleaner do its work."""
    import gc
    import time

    gc.collect()
    for _ in range(2):
        spark._jvm.java.lang.System.gc()  # noqa: SLF001
        time.sleep(1)


def rows(count: int, keys: int) -> pa.Table:
    """Rows of a table (k BIGINT, x BIGINT) with random keys."""
    return pa.table({"k": _NUMBERS.integers(0, keys, count), "x": _NUMBERS.integers(0, 1000, count)})


def bare(spark: SparkSession, count: int = 10, keys: int = 1000) -> Callable[[], object]:
    """The unit of cost: what Spark takes for one grouped query over ten rows of the driver."""
    from pyspark.sql import functions as F  # noqa: N812

    return lambda: spark.createDataFrame(rows(count, keys)).groupBy("k").agg(F.sum("x"), F.count("*")).toArrow()


def grouped(count: int = 10, keys: int = 1000) -> Callable[[], object]:
    """The unit of cost in the process: what DuckDB takes for the same query over ten rows of Arrow."""
    connection = duckdb.connect()

    def query() -> object:
        connection.register("given", rows(count, keys))
        return connection.sql("SELECT k, sum(x), count(*) FROM given GROUP BY k").to_arrow_table()

    return query


TABLE = "CREATE TABLE t (k BIGINT, x BIGINT) {with};\n"
KEYED = "CREATE VIEW v AS SELECT k, sum(x) AS s, count(*) AS n FROM t GROUP BY k;\n"
