"""The rows of standing queries on a stream, as they are shown: a line for each row."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from penstock.catalog.reserved import STEP
from penstock.cli.results import csv_line, csv_value, text_value
from penstock.outputs.lines import json_line

if TYPE_CHECKING:
    from penstock.pipeline.standing import Emission, StandingQuery
    from penstock.steps.change import Change

QUERY = "__query"


class Emissions:
    """Writes what queries have shown since the last time; also an output of a run, which it ends when all have ended.

    `queries` gives those that stand, `stop` ends the run. Text is `step 3  q1  (1, 'a')`; CSV has a header for a query.
    """

    def __init__(
        self,
        queries: Callable[[], Iterable[StandingQuery]],
        style: str = "text",
        stream: TextIO | None = None,
        stop: Callable[[], None] | None = None,
    ) -> None:
        self._queries = queries
        self._style = style if style in ("text", "json", "csv") else "text"
        self._stream = stream
        self._stop = stop
        self._headed: set[str] = set()

    def show(self) -> None:
        """Write what has been shown; raises the error with which a query has ended."""
        out = self._stream or sys.stdout
        for query in list(self._queries()):
            while (emission := query.get(0)) is not None:
                self._write(emission, out)
        out.flush()

    def _write(self, emission: Emission, out: TextIO) -> None:
        self.write_rows(emission.query, emission.step, emission.columns, emission, out)

    def write_rows(
        self, query: str, step: int, columns: Sequence[str], rows: Iterable[Sequence[Any]], out: TextIO | None = None
    ) -> None:
        """Write rows that a query shows in a step."""
        out = out or self._stream or sys.stdout
        if self._style == "csv" and query not in self._headed:
            self._headed.add(query)
            out.write(csv_line([STEP, *columns]))
        for row in rows:
            if self._style == "json":
                named = dict(zip(columns, row, strict=True))
                out.write(json_line({QUERY: query, STEP: step, **named}) + "\n")
            elif self._style == "csv":
                out.write(csv_line([step, *map(csv_value, row)]))
            else:
                values = ", ".join(text_value(value) for value in row)
                out.write(f"step {step}  {query}  ({values})\n")

    def write(self, changes: Mapping[str, Change]) -> None:
        """A step of a run has happened."""
        del changes
        self.show()
        if self._stop is not None and all(query.has_ended for query in self._queries()):
            self._stop()

    def close(self) -> None:
        """Everything is written already."""

    def describe(self) -> str:
        """The output as its user names it."""
        return "stdout"
