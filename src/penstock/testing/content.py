"""The record of a case's pipeline: contents added up from changes, table contents, the oracle's answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from penstock.backends.spark.fetched import fetched_rows
from penstock.catalog.model import Table, View
from penstock.errors import PenstockError
from penstock.testing.cases import Case
from penstock.testing.multisets import Content, Difference, Weighted, consolidate, difference
from penstock.testing.oracle import (
    Oracle,
    goes_by_types,
    judges_otherwise,
    matches_rows,
    reads_error_view,
    reads_versions,
)
from penstock.testing.values import RELATIVE, folding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.pipeline.answer import Answer
    from penstock.pipeline.pipeline import Pipeline
    from penstock.steps.change import Change


# As a query such a text stands, or needs a history; and SQL leaves open on which rows an expression is evaluated that
# another condition leaves out.
_NOT_ASKED = frozenset({"NO_HISTORY", "SELECT_STREAM", "EVALUATION_ERROR"})


class Observed:
    """The reader of a pipeline's changes; it trusts nothing but them, and the oracle."""

    def __init__(self, pipeline: Pipeline, case: Case) -> None:
        self._pipeline = pipeline
        self._contents: dict[str, tuple[View, Content]] = {}
        self._dialect = case.dialect
        self._handed: dict[str, DataFrame] = {}
        if pipeline.steps:
            self._begin_with_the_program()

    @cached_property
    def _oracle(self) -> Oracle:
        return Oracle(self._pipeline.spark, self._dialect)

    def _begin_with_the_program(self) -> None:
        """Add what the program's own statements have changed before anyone could look."""
        for name, view in self._pipeline.catalog.views.items():
            if shows_its_content(view):
                content = Content()
                content.apply(_once(self._pipeline.content(view.name).rows))
                self._contents[name] = (view, content)

    def take(self, changes: Mapping[str, Change]) -> dict[str, list[Weighted]] | str:
        """Add a step's changes up; gives their rows by lower-case name, or what is wrong with them."""
        self._forget_replaced()
        found = {name.lower(): consolidate(change.rows) for name, change in changes.items()}
        for name, rows in found.items():
            view = self._pipeline.catalog.views.get(name)
            if view is None or not shows_its_content(view):
                continue
            _, content = self._contents.setdefault(name, (view, Content()))
            if wrong := content.apply(rows):
                return f"view {view.name}: {wrong}"
        return found

    def _forget_replaced(self) -> None:
        """A view that was dropped or replaced starts from nothing."""
        views = self._pipeline.catalog.views
        gone = [
            name
            for name, (view, _) in self._contents.items()
            if views.get(name) is None or views[name].text != view.text
        ]
        for name in gone:
            del self._contents[name]

    def content(self, name: str) -> list[tuple[Any, ...]]:
        """The rows of a view, table or system relation; of a view, those that its changes add up to."""
        view = self._pipeline.catalog.views.get(name.lower())
        if view is not None and shows_its_content(view):
            return _unfolded(self._kept(view))
        return self._pipeline.content(name).rows

    def _kept(self, view: View) -> list[Weighted]:
        entry = self._contents.get(view.name.lower())
        return [] if entry is None else entry[1].rows

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """The answer of a relational query, in its order."""
        return self._pipeline.query(sql).rows

    def tables(self) -> dict[str, list[Weighted]]:
        """The content of every table."""
        return {name: _once(answer.rows) for name, answer in self._table_answers().items()}

    def _table_answers(self) -> dict[str, Answer]:
        lists = {table.name: _kept_columns(table) for table in self._pipeline.catalog.tables.values()}
        if reads_error_view(self._pipeline.catalog):
            lists["error_view"] = "*"
        return {name: self._pipeline.query(f"SELECT {listed} FROM `{name}`") for name, listed in lists.items()}

    def _versions(self) -> dict[str, Answer]:
        """The versions of every table that has some, where a view reads versions."""
        catalog = self._pipeline.catalog
        names = [table.versions.name for table in catalog.tables.values() if table.versions is not None]
        found = names if reads_versions(catalog) else []
        return {name.lower(): self._pipeline.query(f"SELECT * FROM `{name}`") for name in found}

    def _matches(self) -> dict[str, Answer]:
        """The views for which Spark has no words: those over them are recomputed from what they are."""
        catalog = self._pipeline.catalog
        views = [view for view in catalog.views.values() if self._is_taken(view)]
        return {view.name.lower(): self._pipeline.content(view.name) for view in views}

    def _is_taken(self, view: View) -> bool:
        catalog = self._pipeline.catalog
        return matches_rows(view) or goes_by_types(view, catalog.dialect) or judges_otherwise(view, catalog)

    def _not_as_planned(self) -> str | None:
        """The first view in which rows are judged that the oracle cannot say, and that is not what its plan gives."""
        catalog = self._pipeline.catalog
        for view in catalog.views.values():
            comparable = not view.lateness and not matches_rows(view) and shows_its_content(view)
            if comparable and judges_otherwise(view, catalog):
                found = self._pipeline.verify(view.name)
                if not found:
                    return f"{view.name}: {found.examples}"
        return None

    def violation(self) -> str | None:
        """The first view that is not what the oracle says (A6), and how it differs."""
        catalog = self._pipeline.catalog
        if not catalog.views:
            return None
        handed = self._table_answers() | self._versions() | self._matches()
        self._handed = {name: answer.df() for name, answer in handed.items()}
        for view, frame in self._oracle.recompute(catalog, self._handed, self._pipeline.clock):
            expected = _once(_fetched(frame))
            actual = self._kept(view) if shows_its_content(view) else _once(self._pipeline.content(view.name).rows)
            found = self.difference(_folded(view, expected), _folded(view, actual))
            if found:
                return f"{view.name}: {found.describe()}"
        return self._not_as_planned()

    def other_answer(self) -> str | None:
        """The first view whose text as a query has another answer than the view, and how it differs.

        Nothing is said of a query that cannot be asked so, and of views that LATENESS filters.
        """
        for view in self._pipeline.catalog.views.values():
            if not shows_its_content(view) or view.recursive or view.lateness:
                continue
            try:
                answer = self._pipeline.query(view.text).rows
            except PenstockError as error:
                if error.diagnostics[0].code in _NOT_ASKED:
                    continue
                return f"the query of {view.name}: {error.render()}"
            found = self.difference(_folded(view, self._kept(view)), _folded(view, _once(answer)))
            if found:
                return f"the query of {view.name}: {found.describe()}"
        return None

    def difference(self, expected: list[Weighted], actual: list[Weighted]) -> Difference:
        """The difference of two multisets, but for what floating point may lose of what is in the tables."""
        return difference(expected, actual) and difference(expected, actual, self._tolerance())

    def _tolerance(self) -> float:
        """1e-9 of the largest floating-point magnitude in the tables: what a sum may have lost by cancellation."""
        values = (value for rows in self.tables().values() for _, row in rows for value in row)
        return RELATIVE * max((abs(item) for item in _floats(values)), default=0.0)

    def close(self) -> None:
        """Forget what the oracle was given."""
        if self._handed:
            self._oracle.close(self._handed)


def _kept_columns(table: Table) -> str:
    """A SELECT list of what a table keeps; the oracle computes the rest itself."""
    computed = ", ".join(f"`{item.name}`" for item in table.computed)
    hidden = (f", `{column.name}`" for column in table.columns if column.hidden and column.computed is None)
    return "".join(["*", f" EXCEPT ({computed})" if computed else "", *hidden])


def shows_its_content(view: View) -> bool:
    """True if a view's changes add up to its content: a LOCAL view shows none, EMIT what its policy says."""
    return view.is_output and "emit_final" not in view.properties and not view.emits


def _folded(view: View, rows: list[Weighted]) -> list[Weighted]:
    """The rows with texts alike that their collation holds equal: Spark leaves open which one stands for a group."""
    folds = [folding(column.type) for column in view.columns]
    if not any(folds):
        return rows
    folded = (tuple(fold(item) if fold else item for fold, item in zip(folds, row, strict=True)) for _, row in rows)
    return consolidate(zip((weight for weight, _ in rows), folded, strict=True))


def _floats(values: Iterable[Any]) -> Iterable[float]:
    return (value for value in values if isinstance(value, float) and math.isfinite(value))


def _fetched(frame: DataFrame) -> list[tuple[Any, ...]]:

    return fetched_rows(frame)


def _once(rows: list[tuple[Any, ...]]) -> list[Weighted]:
    return consolidate((1, row) for row in rows)


def _unfolded(rows: list[Weighted]) -> list[tuple[Any, ...]]:
    return [row for weight, row in rows for _ in range(weight)]
