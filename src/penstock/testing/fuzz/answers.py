"""Runs Spark's examples as views, many in one program, and compares with Spark after inserts and after deletes.

What Spark answers is asked first: an example that raises must be refused in the step in which Spark raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from penstock.backends.spark.fetched import fetched_rows
from penstock.bind.program.compile import compile_program
from penstock.errors import PenstockError
from penstock.pipeline.pipeline import Pipeline
from penstock.testing.fuzz.check import Probe, first_line
from penstock.testing.fuzz.reference import ARGUMENTS, Example, Lifted, Lifting, unanswered
from penstock.testing.multisets import Content, Weighted, consolidate, difference
from penstock.testing.values import RELATIVE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.steps.change import Change

Table = tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]]

STEPS = ("all", "twice", "none")
CLOCK = datetime(2024, 2, 29, 12, 34, 56, 789_000)  # noqa: DTZ001 - naive UTC, as everywhere here


@dataclass
class Verdicts:
    """The verdicts by the example's name: '' is right, else what is wrong."""

    found: dict[str, str] = field(default_factory=dict)

    def wrong(self) -> dict[str, str]:
        """Those that do not answer what Spark answers."""
        return {name: text for name, text in self.found.items() if text}


def judged(spark: SparkSession, chosen: Sequence[Example]) -> list[str]:
    """The examples that are not as they should be: they fail without being listed, or are listed and right."""
    found = Answers(spark).judge(chosen).found
    listed = unanswered()
    wrong = []
    for example in chosen:
        reason = next((item.reason for item in listed if item.covers(example)), None)
        if found[example.name] and reason is None:
            wrong.append(f"{example.name}: {example.text}\n    {found[example.name]}")
        elif not found[example.name] and reason is not None:
            wrong.append(f"{example.name} is right, though it is listed: {reason}")
    return wrong


def without_examples(chosen: Sequence[Example]) -> list[str]:
    """Lines of the list that are about no example at all."""
    return [
        f"no example is meant by: {item.expression}"
        for item in unanswered()
        if not any(item.covers(example) for example in chosen)
    ]


class Answers:
    """Judges examples in batches on one Spark session."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.verdicts = Verdicts()
        self._lifting = Lifting(spark)
        self._probe = Probe(spark, "penstock")

    def judge(self, examples: Sequence[Example], size: int = 25) -> Verdicts:
        """All examples; those of one batch share a program, those that raise or are listed have one of their own."""
        asked = [found for number, example in enumerate(examples) if (found := self._asked(example, f"a{number}"))]
        listed = unanswered()
        together: list[Asked] = []
        alone: list[Asked] = []
        for item in asked:
            apart = item.error is not None or any(line.covers(item.view.example) for line in listed)
            (alone if apart else together).append(item)
        for at in range(0, len(together), size):
            self._batch(together[at : at + size])
        for item in alone:
            self._batch([item])
        return self.verdicts

    def _asked(self, example: Example, prefix: str) -> Asked | None:
        """The example as a view, with what Spark answers; what stands in the way of that is its verdict."""
        try:
            view = self._lifting.view(example, prefix)
            compile_program(_program([view]))
            return ask(self._probe, view)
        except Exception as error:  # noqa: BLE001 - whatever escapes is a finding
            self.verdicts.found[example.name] = _shown(error)
            return None

    def _batch(self, asked: Sequence[Asked]) -> None:
        """A batch that fails as a whole is judged in halves, so that one example fails alone."""
        try:
            verdicts = _Run(self.spark, asked).verdicts()
        except Exception as error:  # noqa: BLE001 - whatever escapes is a finding
            if len(asked) == 1:
                self.verdicts.found[asked[0].view.example.name] = _shown(error)
                return
            half = len(asked) // 2
            self._batch(asked[:half])
            self._batch(asked[half:])
            return
        self.verdicts.found.update(verdicts)


@dataclass(frozen=True)
class Asked:
    """A view with Spark's answers over the rows of each step; `error` is what Spark raises after the last of them."""

    view: Lifted
    answers: Mapping[str, list[Weighted]]
    error: str | None


def ask(probe: Probe, view: Lifted) -> Asked:
    """Spark's answers; raises what Spark raises when it looks at the query without running it."""
    answers: dict[str, list[Weighted]] = {}
    for rows in STEPS:
        for name, columns, values in view.tables:
            kept = {"all": values, "twice": (*values, values[0]), "none": ()}[rows]
            probe.declare(name, _relation(columns, kept or values) + ("" if kept else " WHERE FALSE"))
        frame = probe.answer(view.query, CLOCK)
        try:
            answers[rows] = consolidate((1, row) for row in fetched_rows(frame))
        except Exception as error:  # noqa: BLE001 - Spark raises more than its own exceptions; the view must raise too
            return Asked(view, answers, first_line(error))
    return Asked(view, answers, None)


def _shown(error: Exception) -> str:
    if isinstance(error, PenstockError):
        return f"{error.diagnostics[0].code}: {error.diagnostics[0].message}"[:300]
    return first_line(error)[:300]


def _program(views: Sequence[Lifted]) -> str:
    lines = []
    for name, columns, _ in _tables(views):
        listed = ", ".join(f"`{column}` {kind}" for column, kind in columns)
        lines.append(f"CREATE TABLE {name} ({listed});")
    lines += [f"CREATE VIEW {view.name} AS {view.query};" for view in views]
    return "\n".join(lines)


def _tables(views: Sequence[Lifted]) -> list[Table]:
    """The tables of the views, those that hold arguments as one: a row with the arguments of all."""
    own = [table for view in views for table in view.tables if table[0] != ARGUMENTS]
    shared = [table for view in views for table in view.tables if table[0] == ARGUMENTS]
    if not shared:
        return own
    columns = shared[0][1][:1] + tuple(column for _, listed, _ in shared for column in listed[1:])
    arguments = "".join(row.removeprefix("(1").removesuffix(")") for _, _, (row,) in shared)
    return [*own, (ARGUMENTS, columns, (f"(1{arguments})",))]


class _Run:
    """One program with many views; two inserts of all rows, then one copy of each row is deleted, then all."""

    def __init__(self, spark: SparkSession, asked: Sequence[Asked]) -> None:
        self.spark = spark
        self.asked = {item.view.name: item for item in asked}
        self.found: dict[str, str] = {}
        self.contents = {name: Content() for name in self.asked}

    def verdicts(self) -> dict[str, str]:
        """By the example's name, '' or what differs."""
        views = [item.view for item in self.asked.values()]
        with Pipeline(_program(views), spark=self.spark) as pipeline:
            for rows in STEPS:
                if not self._step(pipeline, rows):
                    break
        return {view.example.name: self.found.get(view.example.name, "") for view in views}

    def _step(self, pipeline: Pipeline, rows: str) -> bool:
        """True if Spark has answers for the step; where it raises, the step must be refused."""
        statements = self._statements(rows)
        refused = next((item for item in self.asked.values() if rows not in item.answers), None)
        if refused is None:
            self._take(pipeline.step(sql=statements, clock=CLOCK))
            self._compare(rows)
            return True
        try:
            pipeline.step(sql=statements, clock=CLOCK)
        except PenstockError:
            return False
        self.found[refused.view.example.name] = f"{rows}: Spark raises {refused.error}"[:300]
        return False

    def _statements(self, rows: str) -> str:
        tables = _tables([item.view for item in self.asked.values()])
        if rows == "none":
            return "\n".join(f"DELETE FROM {name};" for name, _, _ in tables)
        inserted = {"all": slice(None), "twice": slice(1)}[rows]
        return "\n".join(f"INSERT INTO {name} VALUES {', '.join(values[inserted])};" for name, _, values in tables)

    def _take(self, changes: Mapping[str, Change]) -> None:
        for name, change in changes.items():
            if name.lower() in self.contents:
                wrong = self.contents[name.lower()].apply(consolidate(change.rows))
                if wrong:
                    self._note(name.lower(), wrong)

    def _note(self, name: str, text: str) -> None:
        self.found.setdefault(self.asked[name].view.example.name, text)

    def _compare(self, rows: str) -> None:
        for name, item in self.asked.items():
            found = difference(item.answers[rows], self.contents[name].rows, RELATIVE)
            if found:
                self._note(name, f"{rows}: {found.describe()}")


def _relation(columns: tuple[tuple[str, str], ...], rows: Sequence[str]) -> str:
    names = ", ".join(f"`{name}`" for name, _ in columns)
    listed = ", ".join(f"CAST(`{name}` AS {kind}) AS `{name}`" for name, kind in columns)
    return f"SELECT {listed} FROM VALUES {', '.join(rows)} AS v({names})"
