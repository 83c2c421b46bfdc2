"""Runs a program step by step; after every step each view must be what the oracle says."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from penstock.bind.program.compile import compile_program
from penstock.catalog.model import View
from penstock.errors import PenstockError, UnsupportedError, message_of
from penstock.pipeline.pipeline import Pipeline
from penstock.sql.parse import parse_query
from penstock.testing.cases import Step
from penstock.testing.content import Observed
from penstock.testing.fuzz.duck import Duck
from penstock.testing.fuzz.mirrored import Mirrored, inputs_of
from penstock.testing.fuzz.programs import Program, Setting
from penstock.testing.fuzz.tables import Relation, sql_type
from penstock.testing.multisets import difference
from penstock.testing.oracle import Oracle

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Finding:
    """A thing that went wrong: `kind` is 'refused', 'crash' or 'differs'; `view` where it is known."""

    kind: str
    detail: str
    view: str | None = None

    @property
    def signature(self) -> tuple[str, str]:
        """The features that findings of one cause mostly share."""
        return self.kind, ":".join(self.detail.split(":")[:2])[:60] if self.kind == "crash" else ""


@dataclass
class Tally:
    """The counts of what a run has seen.

    `compared` counts contents that DuckDB was asked for too, `queries` single ones in batch, `plans` those that DuckDB
    has read alone. Of programs that may raise, which are `raising`, `raised` counts steps, and `aside` rows set aside.
    """

    programs: int = 0
    views: int = 0
    steps: int = 0
    queries: int = 0
    compared: int = 0
    plans: int = 0
    raising: int = 0
    raised: int = 0
    aside: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)


class Checker:
    """Judges programs on one Spark session."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.tally = Tally()

    def check(self, program: Program) -> tuple[Program, Finding | None]:
        """The program without the views that are not SQL, and the first thing that is wrong with it."""
        program = self.spoken(program)
        program, finding = self.compiled(program)
        if finding is None and (program.views or program.recursive):
            finding = self.run(program)
        self.tally.programs += 1
        self.tally.views += len(program.views)
        self.tally.used.update(program.used)
        return program, finding

    def spoken(self, program: Program) -> Program:
        """The program without the views that Spark refuses or fails to plan: those say nothing about us."""
        probe = Probe(self.spark, "penstock")
        try:
            for table in program.tables:
                probe.declare_empty(table)
            return replace(program, views=tuple(view for view in program.views if probe.accepts(*view)))
        finally:
            probe.close({})

    def compiled(self, program: Program) -> tuple[Program, Finding | None]:
        """The program without views that are refused as not supported; a refusal of another kind is a finding."""
        kept = replace(program, views=())
        for view in program.views:
            trial = replace(kept, views=(*kept.views, view))
            try:
                compile_program(trial.sql)
            except UnsupportedError as error:
                self.tally.refused.update({error.diagnostics[0].code})
            except PenstockError as error:
                if not _follows(view, program, kept):
                    return trial, Finding("refused", error.render(), view[0])
            except Exception as error:  # noqa: BLE001 - whatever escapes is a finding
                return trial, Finding("crash", f"compiling: {first_line(error)}", view[0])
            else:
                kept = trial
        return kept, None

    def run(self, program: Program) -> Finding | None:
        """Live through the steps."""
        try:
            with ExitStack() as stack:
                pipeline = stack.enter_context(opened(self.spark, program.sql, program.setting))
                other = None
                if program.setting.on_spark:
                    other = stack.enter_context(opened(self.spark, program.sql, program.setting.opposite))
                return self._steps(pipeline, other, program)
        except PenstockError as error:
            return Finding("crash", f"refused at work: {error.render()}")
        except Exception as error:  # noqa: BLE001 - whatever escapes is a finding
            return Finding("crash", first_line(error))

    def _steps(self, pipeline: Pipeline, other: Pipeline | None, program: Program) -> Finding | None:
        observed = Observed(pipeline, program.case)
        mirrored = None if other is None else Mirrored(other, observed, program.case)
        second = _Second(program) if program.shared else None
        try:
            for number, step in enumerate(program.case.steps, 1):
                self.tally.steps += 1
                wrong = _step(pipeline, observed, mirrored, step, program.setting)
                if wrong is None and second is not None:
                    wrong = second.violation(observed)
                    self.tally.compared += second.compared
                if wrong is not None:
                    return Finding("differs", f"step {number}: {wrong}", _named(wrong))
        finally:
            observed.close()
        return None


class _Second:
    """DuckDB's opinion on the views that it can read."""

    def __init__(self, program: Program) -> None:

        self._duck = Duck(program.tables)
        self.compared = 0
        self._tables = program.tables
        self._views = [name for name, text in program.views if self._duck.declare(name, text)]

    def violation(self, observed: Observed) -> str | None:
        """The first view that is not what DuckDB answers; `compared` counts the views that it has answered."""
        self.compared = 0
        contents = observed.tables()
        for table in self._tables:
            self._duck.fill(table.name, [row for weight, row in contents[table.name] for _ in range(weight)])
        for name in self._views:
            expected = self._duck.answer(f"SELECT * FROM {name}")
            if expected is None:
                continue
            self.compared += 1
            actual = [(1, row) for row in observed.content(name)]
            if found := difference(expected, actual, 1e-9):
                return f"{name}: DuckDB: {found.describe()}"
        return None


class Probe(Oracle):
    """Asks Spark whether a query is one, and what it answers."""

    def declare_empty(self, table: Relation) -> None:
        """Give an empty table its name; Spark does not see that it is empty, so it plans as over rows."""
        columns = ", ".join(f"`{name}` {sql_type(kind)}" for name, kind in table.columns)
        self._session.createDataFrame([], columns).createOrReplaceTempView(f"`{table.name}`")
        self._registered.add(table.name)

    def declare(self, name: str, text: str) -> None:
        """Give a query's answer a name."""
        self._session.sql(text).createOrReplaceTempView(f"`{name}`")
        self._registered.add(name)

    def answer(self, text: str, clock: datetime | None = None) -> DataFrame:
        """A query's answer over what was declared."""
        return self._session.sql(self._text(View("asked", text, parse_query(text), (), None), clock))

    def accepts(self, name: str, text: str) -> bool:
        """True if Spark can analyse the query and optimize it, where it has errors of its own; it is declared then."""
        view = View(name, text, parse_query(text), (), None)
        try:
            frame = self._session.sql(self._text(view, None))
            frame._jdf.queryExecution().optimizedPlan()  # noqa: SLF001
        except (PySparkException, Py4JJavaError, UnsupportedError):
            return False
        self._register(view, frame)
        return True


@contextmanager
def opened(spark: SparkSession, sql: str, setting: Setting) -> Iterator[Pipeline]:
    """A pipeline with the setting's thresholds."""
    with Pipeline(sql, spark=spark) as pipeline:
        workspace = pipeline._opening.workspace  # noqa: SLF001 - thresholds are no wish of users
        workspace.driver_rows, workspace.memory_rows = setting.driver_rows, setting.memory_rows
        pipeline._opening.kept = setting.keeps  # noqa: SLF001 - nor is where an operator works
        yield pipeline


def _step(
    pipeline: Pipeline, observed: Observed, mirrored: Mirrored | None, step: Step, setting: Setting
) -> str | None:
    rows = observed.take(pipeline.step(inputs_of(step), sql=step.sql))
    if isinstance(rows, str):
        return rows
    if mirrored is not None and (wrong := mirrored.violation(step, rows)):
        return wrong
    if setting.compact:
        pipeline.compact()
    return observed.violation() or observed.other_answer()


def _named(text: str) -> str:
    return text.removeprefix("view ").partition(":")[0]


def _follows(view: tuple[str, str], program: Program, kept: Program) -> bool:
    """True if a view reads one that was left out, and is refused for that."""
    left_out = {name for name, _ in program.views} - {name for name, _ in kept.views} - {view[0]}
    return any(f" {name} " in f"{view[1]} ".replace("\n", " ").replace(")", " ") for name in left_out)


def first_line(error: Exception) -> str:
    """An exception in one line, with our innermost place."""
    places = [frame for frame in traceback.extract_tb(error.__traceback__) if "/penstock/" in frame.filename]
    at = f" [{places[-1].filename.rpartition('/penstock/')[2]}:{places[-1].lineno}]" if places else ""
    lines = message_of(error).strip().split("\n")
    return f"{type(error).__name__}{at}: {' '.join(lines[:3])[:600]}"
