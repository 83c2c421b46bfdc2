"""j: rows of pandas, Arrow, Spark and Python into a keyed table with three views, beside DuckDB."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import penstock
from bench.manysteps import held_by, resident_mib
from bench.measure import Cost, Effort, Meter, Runs
from bench.programs import ordered
from bench.report import Bar, Figure, Line, shown
from bench.ways import ENGINES
from penstock.backends.spark.session import open_session
from penstock.catalog.reserved import WEIGHT

_VIEWS: Mapping[str, str] = {
    "sums": "SELECT k, sum(x) AS s, count(*) AS n FROM t GROUP BY k",
    "kinds": "SELECT name, count(DISTINCT k) AS keys, max(x) AS most FROM t GROUP BY name",
    "few": "SELECT id, x, name FROM t WHERE x > 990",
}
_PROGRAM = "CREATE TABLE t (id BIGINT PRIMARY KEY, k BIGINT, x BIGINT, name STRING);\n" + "".join(
    f"CREATE VIEW {name} AS {query};\n" for name, query in _VIEWS.items()
)
_TABLE = "CREATE TABLE t (id BIGINT PRIMARY KEY, k BIGINT, x BIGINT, name VARCHAR)"
_SYSTEMS = ("duckdb", *ENGINES)
_MEMORY = "4g"
_BOUND = 3.0
_TAKEN = (
    "Each run takes the rows into an empty table with a primary key and reads the three views whole; DuckDB takes them "
    "into its table with that key and answers the same three queries. It gets tuples and a DataFrame as Arrow, made "
    "within its time."
)
_HELD = "Held is what the process and the JVM's collected heap have grown by, each load in a process of its own."
_NOTES = (_TAKEN, _HELD)


@dataclass(frozen=True)
class Source:
    """One way in which rows come, how many, and how they are made of an Arrow table."""

    name: str
    count: int
    made: Callable[[pa.Table, SparkSession | None], Any]


def _pandas(table: pa.Table, _spark: SparkSession | None) -> Any:
    return table.to_pandas()


def _arrow(table: pa.Table, _spark: SparkSession | None) -> Any:
    return table


def _frame(table: pa.Table, spark: SparkSession | None) -> Any:
    return None if spark is None else spark.createDataFrame(table)


def _tuples(table: pa.Table, _spark: SparkSession | None) -> Any:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


SOURCES = (
    Source("pandas", 1_000_000, _pandas),
    Source("Arrow", 1_000_000, _arrow),
    Source("a DataFrame of Spark", 1_000_000, _frame),
    Source("tuples", 200_000, _tuples),
)


def figure(spark: SparkSession, *, effort: Effort) -> Figure:
    """What each way costs, in units of DuckDB, and what is held afterwards."""
    runs = effort.runs(Runs(1, 5), quick=Runs(0, 1))
    share = 200 if effort.quick else 1
    lines = [line for source in SOURCES for line in _lines(spark, source, source.count // share, runs)]
    held = [_held_line(source, source.count // share) for source in (SOURCES[1:2] if effort.quick else SOURCES)]
    return Figure("j", "Loads: rows into a keyed table with three views", [*lines, *held], runs, _SYSTEMS, _NOTES)


def _rows(count: int) -> pa.Table:
    numbers = np.random.default_rng(11)
    keys = numbers.permutation(count)
    names = pa.array([f"name-{at}" for at in range(100)]).take(pa.array(numbers.integers(0, 100, count)))
    columns = {"id": keys, "k": numbers.integers(0, 10_000, count), "x": numbers.integers(0, 1000, count)}
    return pa.table({**columns, "name": names})


def _lines(spark: SparkSession, source: Source, count: int, runs: Runs) -> list[Line]:
    given = source.made(_rows(count), spark)
    work = {system: _work(spark, given, system) for system in _SYSTEMS}
    _compare({system: load() for system, load in work.items()})
    found = Meter(spark).interleaved(work, runs)
    bar = Bar(f"native ≤ {_BOUND:g} × DuckDB", found["native"].over(found["duckdb"]).wall <= _BOUND)
    return [Line(f"{count:,} rows of {source.name}", tuple(_cell(found, system) for system in _SYSTEMS), (bar,))]


def _cell(found: Mapping[str, Cost], system: str) -> str:
    return shown(found[system]) if system == "duckdb" else shown(found[system], found["duckdb"], "DuckDB")


def _work(spark: SparkSession | None, given: Any, system: str) -> Callable[[], dict[str, pa.Table]]:
    if system == "duckdb":
        return lambda: _by_duckdb(given)
    return lambda: _by_penstock(spark, given, system)


def _by_penstock(spark: SparkSession | None, given: Any, engine: str) -> dict[str, pa.Table]:
    with penstock.Pipeline(_PROGRAM, spark=spark, retain="materialized", engine=engine) as pipeline:
        changes = pipeline.step({"t": given})
        return {name: changes[name].arrow() for name in _VIEWS}


def _by_duckdb(given: Any) -> dict[str, pa.Table]:
    with duckdb.connect() as connection:
        return _answered(connection, given)


def _answered(connection: duckdb.DuckDBPyConnection, given: Any) -> dict[str, pa.Table]:
    connection.execute(_TABLE)
    connection.register("given", _known_to_duckdb(given))
    connection.execute("INSERT INTO t SELECT id, k, x, name FROM given")
    return {name: connection.sql(query).to_arrow_table() for name, query in _VIEWS.items()}


def _known_to_duckdb(given: Any) -> Any:
    if isinstance(given, list):
        columns = zip(*given, strict=True)
        return pa.table(dict(zip(("id", "k", "x", "name"), map(pa.array, columns), strict=True)))
    return given.toArrow() if hasattr(given, "toArrow") else given


def _compare(found: Mapping[str, Mapping[str, pa.Table]]) -> None:
    """See that all systems have answered alike; AssertionError if not."""
    for name in _VIEWS:
        right = ordered(found["duckdb"][name])
        for engine in ENGINES:
            change = found[engine][name]
            answer = ordered(change.drop_columns([WEIGHT]))
            if set(change[WEIGHT].to_pylist()) != {1} or not answer.equals(right.cast(answer.schema)):
                message = f"{engine} does not answer {name} as DuckDB does"
                raise AssertionError(message)


def _held_line(source: Source, count: int) -> Line:
    held = (_in_own_process(source.name, count, system) for system in _SYSTEMS)
    return Line(f"held after {count:,} rows of {source.name}", tuple(f"{mib:,.0f} MiB" for mib in held))


def _in_own_process(source: str, count: int, system: str) -> float:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(held_after, source, count, system).result()


def held_after(name: str, count: int, system: str) -> float:
    """MiB that this process and its JVM have grown by when the rows are in and the views have been read."""
    (source,) = (one for one in SOURCES if one.name == name)
    conf = {"spark.driver.memory": _MEMORY}
    needed = system == "spark" or source.made is _frame
    spark = open_session(master="local[2]", conf=conf, app_name="penstock bench") if needed else None
    given = source.made(_rows(count), spark)
    before = _held(spark)
    if system == "duckdb":
        with duckdb.connect() as connection:
            _answered(connection, given)
            return _held(spark) - before
    with penstock.Pipeline(
        _PROGRAM, spark=spark, master="local[2]", conf=conf, retain="materialized", engine=system
    ) as pipeline:
        changes = pipeline.step({"t": given})
        for view in _VIEWS:
            changes[view].arrow()
        del changes
        return _held(SparkSession.getActiveSession()) - before


def _held(spark: SparkSession | None) -> float:
    """What is held once everything that nobody needs is collected."""
    gc.collect()
    return resident_mib() + (0.0 if spark is None else held_by(spark).heap)
