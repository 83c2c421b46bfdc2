"""i: decision support: a step that replaces one row of the facts in a hundred, beside all views computed anew."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import penstock
from bench.decisions.data import Tables, generated, replaced
from bench.decisions.judging import Judge
from bench.decisions.program import columns, program, views
from bench.measure import Cost, Effort, Meter, Runs
from bench.nexmark.systems.spark import PLAIN
from bench.report import Bar, Figure, Line, shown
from bench.ways import ENGINES
from penstock.errors import PenstockError

SHARE = 0.01
_BATCHES = {"batch": "Spark's batch over all views", "duckdb": "DuckDB over all views"}
_BOUNDS = {"batch": 0.1, "duckdb": 1.0}  # of what computing all views anew costs, for a step in the process
_NONE = "–"
_NOTE = (
    "Rows of TPC-H's generator; the queries are our own: joins of six tables and more, correlated subqueries, EXISTS, "
    "NOT IN, HAVING over subqueries, Top-K. A replaced row keeps its key. After every step the views are compared "
    "with DuckDB's answers, and so are those of Spark's batch, which reads the tables from Parquet."
)


def figure(spark: SparkSession, *, effort: Effort) -> Figure:
    """All views kept by both engines, and computed anew by Spark and DuckDB."""
    runs = effort.runs(Runs(1, 5), quick=Runs(0, 1))
    return measured(spark, generated(effort.scale, columns()), runs, effort.scale, effort.without)


def measured(spark: SparkSession, tables: Tables, runs: Runs, scale: float, without: Sequence[str] = ()) -> Figure:
    """The figure over these tables, with the engines that are not left out."""
    with _Contest(spark, tables, without) as contest:
        loads = {engine: contest.load(engine) for engine in ENGINES}
        turns = [contest.turn(number) for number in range(runs.warm + runs.measured)][runs.warm :]
    found = {name: _median([turn[name] for turn in turns]) for name in turns[-1]}
    lines = [
        Line("taking all rows in", tuple(_NONE if one is None else f"{one:,.1f} s" for one in loads.values())),
        Line(
            f"a step that replaces {SHARE:.0%} of the facts",
            tuple(shown(found[engine]) if engine in found else _NONE for engine in ENGINES),
        ),
        *(beside(what, name, found) for name, what in _BATCHES.items()),
    ]
    title = f"Decision support: {len(views())} views at scale factor {scale:g}"
    notes = (_NOTE, *(f"*{name}* is left out: {why}" for name, why in contest.left_out.items()))
    return Figure("i", title, lines, runs, ENGINES, notes)


def beside(what: str, name: str, found: Mapping[str, Cost]) -> Line:
    """The cost of all views computed anew, and what a step is of that; a system that is left out has none."""
    if name not in found:
        return Line(what, (_NONE,) * len(ENGINES))
    ratios = {engine: found[engine].over(found[name]).wall for engine in ENGINES if engine in found}
    cells = tuple(f"the step is {ratios[engine]:.3g} × that" if engine in ratios else _NONE for engine in ENGINES)
    bound = _BOUNDS[name]
    bar = Bar(f"native ≤ {bound:g} × that", "native" in ratios and ratios["native"] <= bound)
    return Line(f"{what}: {shown(found[name])}", cells, (bar,))


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(statistics.median(cost.wall for cost in costs), statistics.mean(cost.cpu for cost in costs))


class _Contest:
    """A pipeline on each engine, and a judge with the same tables; a context manager.

    A system that fails, for want of memory say, is `left_out` from then on, with the reason; a wrong answer is none.
    """

    def __init__(self, spark: SparkSession, tables: Tables, without: Sequence[str]) -> None:
        self._spark = spark
        self._tables = tables
        self._meter = Meter(spark)
        self._said: dict[str, Mapping[str, pa.Table]] = {}
        self.left_out = dict.fromkeys(without, "it was not asked for")

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._judge = stack.enter_context(Judge(self._tables, views()))
            self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="decisions-")))
            self._pipelines = {
                engine: stack.enter_context(
                    penstock.Pipeline(program(), spark=self._spark, retain="materialized", engine=engine)
                )
                for engine in ENGINES
            }
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def load(self, engine: str) -> float | None:
        """All rows in one step; the seconds that it took, None if it has failed."""
        if engine in self.left_out:
            return None
        began = time.perf_counter()
        self._tried(engine, lambda: self._step(engine, self._tables))
        seconds = time.perf_counter() - began
        if engine in self.left_out:
            return None
        self._judged(engine)
        return seconds

    def turn(self, number: int) -> dict[str, Cost]:
        """The same rows replaced everywhere: what each system has needed for that, every answer compared."""
        changed = replaced(self._tables, SHARE, number)
        self._judge.replace(changed)
        self._judge.write(self._folder)
        work: dict[str, Callable[[], None]] = {
            engine: lambda engine=engine: self._step(engine, changed) for engine in ENGINES
        }
        work |= {"batch": self._batch, "duckdb": self._duckdb}
        tried = {
            name: lambda name=name, one=one: self._tried(name, one)
            for name, one in work.items()
            if name not in self.left_out
        }
        with self._plain_tables():
            found = self._meter.interleaved(tried, Runs(0, 1))
        found = {name: cost for name, cost in found.items() if name not in self.left_out}
        for engine in ENGINES:
            if engine in found:
                self._judged(engine)
        if "batch" in found:
            self._judged(f"batch {number}", "batch")
        return found

    def _tried(self, name: str, work: Callable[[], None]) -> None:
        try:
            work()
        except (PenstockError, PySparkException, Py4JError) as error:
            self.left_out[name] = (str(error).strip() or type(error).__name__).partition("\n")[0]
            if name in self._pipelines:
                self._pipelines[name].close()  # what it holds is the others'

    def _step(self, engine: str, rows: Tables) -> None:
        changes = self._pipelines[engine].step(rows)
        self._said[engine] = {view: changes[view].arrow() for view in views()}

    def _batch(self) -> None:
        with _plain(self._spark):
            self._said["batch"] = {view: self._spark.sql(query).toArrow() for view, query in views().items()}

    def _duckdb(self) -> None:
        self._judge.answers()

    def _judged(self, name: str, system: str | None = None) -> None:
        for view, change in self._said[system or name].items():
            self._judge.add(name, view, change)
        self._judge.check(name)

    @contextmanager
    def _plain_tables(self) -> Iterator[None]:
        """The tables as Spark reads them from files."""
        for name in self._tables:
            self._spark.read.parquet(str(self._folder / f"{name}.parquet")).createOrReplaceTempView(name)
        yield
        for name in self._tables:
            self._spark.catalog.dropTempView(name)


@contextmanager
def _plain(spark: SparkSession) -> Iterator[None]:
    """Spark as a user of plain Spark has it."""
    before = {name: spark.conf.get(name, None) for name in PLAIN}
    for name, value in PLAIN.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)
