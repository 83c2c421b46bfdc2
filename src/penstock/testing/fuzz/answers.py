"""Runs Spark's examples as views, many in one program, and compares with Spark after inserts and after deletes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError
from penstock.testing.fuzz.check import Probe, first_line
from penstock.testing.fuzz.reference import Example, Lifted, Lifting, unanswered
from penstock.testing.multisets import Content, consolidate, difference

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Table = tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]]


@dataclass
class Verdicts:
    """What was found, by the example's name: '' is right, else what is wrong."""

    found: dict[str, str] = field(default_factory=dict)

    def wrong(self) -> dict[str, str]:
        """Those that do not answer what Spark answers."""
        return {name: text for name, text in self.found.items() if text}


def judged(spark: SparkSession, chosen: Sequence[Example]) -> list[str]:
    """What is not as it should be: examples that fail without being listed, and listed ones that are right."""
    found = Answers(spark).judge(chosen).found
    listed = unanswered()
    wrong = []
    for example in chosen:
        reason = next((item.reason for item in listed if item.covers(example)), None)
        if found[example.name] and reason is None:
            wrong.append(f"{example.name}: {example.text}\n    {found[example.name]}")
        elif not found[example.name] and reason is not None and not reason.startswith("in part"):
            wrong.append(f"{example.name} is right, though it is listed: {reason}")
    return wrong


class Answers:
    """Judges examples in batches on one Spark session."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.verdicts = Verdicts()
        self._lifting = Lifting(spark)

    def judge(self, examples: Sequence[Example], size: int = 25) -> Verdicts:
        """All examples; those of one batch share a program."""
        lifted = [view for number, example in enumerate(examples) if (view := self._lifted(example, f"a{number}"))]
        for at in range(0, len(lifted), size):
            self._batch(lifted[at : at + size])
        return self.verdicts

    def _lifted(self, example: Example, prefix: str) -> Lifted | None:
        try:
            view = self._lifting.view(example, prefix)
            refused = self._refusal(view)
        except Exception as error:  # noqa: BLE001 - whatever escapes is a finding
            refused = _shown(error)
        if refused:
            self.verdicts.found[example.name] = refused
            return None
        return view

    def _refusal(self, view: Lifted) -> str:
        from penstock.bind.program import compile_program

        compile_program(_program([view]))
        return ""

    def _batch(self, views: Sequence[Lifted]) -> None:
        """A batch that fails as a whole is judged in halves, so that one example fails alone."""
        try:
            verdicts = _Run(self.spark, views).verdicts()
        except Exception as error:  # noqa: BLE001 - whatever escapes is a finding
            if len(views) == 1:
                self.verdicts.found[views[0].example.name] = _shown(error)
                return
            half = len(views) // 2
            self._batch(views[:half])
            self._batch(views[half:])
            return
        self.verdicts.found.update(verdicts)


def _shown(error: Exception) -> str:
    if isinstance(error, PenstockError):
        return f"{error.diagnostics[0].code}: {error.diagnostics[0].message}"[:300]
    return first_line(error)[:300]


def _program(views: Sequence[Lifted]) -> str:
    lines = []
    for view in views:
        for name, columns, _ in view.tables:
            listed = ", ".join(f"`{column}` {kind}" for column, kind in columns)
            lines.append(f"CREATE TABLE {name} ({listed});")
    lines += [f"CREATE VIEW {_view(view)} AS {view.query};" for view in views]
    return "\n".join(lines)


def _view(view: Lifted) -> str:
    return "v_" + view.tables[0][0] if view.tables else f"v_{abs(hash(view.example.name))}"


class _Run:
    """One program with many views; two inserts of all rows, then one copy of each row is deleted, then all."""

    def __init__(self, spark: SparkSession, views: Sequence[Lifted]) -> None:
        self.views = views
        self.spark = spark
        self.probe = Probe(spark, "penstock")
        self.found: dict[str, str] = {}
        self.contents = {_view(view).lower(): Content() for view in views}

    def verdicts(self) -> dict[str, str]:
        """By the example's name, '' or what differs."""
        from penstock.runtime.pipeline import Pipeline

        with Pipeline(_program(self.views), spark=self.spark) as pipeline:
            for rows in ("all", "twice", "none"):
                self._take(pipeline.step(sql=self._statements(rows)))
                self._compare(rows, pipeline.clock)
        return {view.example.name: self.found.get(view.example.name, "") for view in self.views}

    def _tables(self) -> list[Table]:
        return [table for view in self.views for table in view.tables]

    def _statements(self, rows: str) -> str:
        if rows == "none":
            return "\n".join(f"DELETE FROM {name};" for name, _, _ in self._tables())
        inserted = {"all": slice(None), "twice": slice(1)}[rows]
        return "\n".join(
            f"INSERT INTO {name} VALUES {', '.join(values[inserted])};" for name, _, values in self._tables()
        )

    def _take(self, changes: Any) -> None:
        for name, change in changes.items():
            if name.lower() not in self.contents:
                continue
            wrong = self.contents[name.lower()].apply(consolidate(change.rows))
            if wrong:
                self._note(name, wrong)

    def _note(self, name: str, text: str) -> None:
        view = next(view for view in self.views if _view(view).lower() == name.lower())
        self.found.setdefault(view.example.name, text)

    def _compare(self, rows: str, clock: datetime | None) -> None:
        for name, columns, values in self._tables():
            kept = {"all": values, "twice": (*values, values[0]), "none": ()}[rows]
            self.probe.declare(name, _relation(columns, kept or values) + ("" if kept else " WHERE FALSE"))
        for view in self.views:
            self._compare_one(view, rows, clock)

    def _compare_one(self, view: Lifted, rows: str, clock: datetime | None) -> None:
        from penstock.runtime.change import fetched_rows

        try:
            expected = consolidate((1, row) for row in fetched_rows(self.probe.answer(view.query, clock)))
        except Exception as error:  # noqa: BLE001 - then there is nothing to compare with
            self._note(_view(view), f"Spark, {rows}: {first_line(error)}"[:300])
            return
        found = difference(expected, self.contents[_view(view).lower()].rows)
        if found:
            self._note(_view(view), f"{rows}: {found.describe()}")


def _relation(columns: tuple[tuple[str, str], ...], rows: Sequence[str]) -> str:
    names = ", ".join(f"`{name}`" for name, _ in columns)
    listed = ", ".join(f"CAST(`{name}` AS {kind}) AS `{name}`" for name, kind in columns)
    return f"SELECT {listed} FROM VALUES {', '.join(rows)} AS v({names})"
