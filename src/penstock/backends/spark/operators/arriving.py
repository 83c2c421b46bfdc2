"""The rows of a stream in the step in which they come, and what came of them.

    stream → Arriving → joins with tables, conditions on them … → Arrived

What is between the two is maintained like anything else, over the rows of one step alone; so a table is read as it is
when a row comes, and a later change of the table finds no row that it could change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.backends.api import LineText, Runner
from penstock.backends.columns import fitted
from penstock.backends.spark.change import Delta
from penstock.backends.spark.workspace import Workspace
from penstock.backends.weighted import added_up, negated, takes_back
from penstock.errors import DataError, Diagnostic, InternalError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class _OfOneStep(Runner[Delta]):
    """Keeps the rows of one step, here, until the next."""

    def __init__(self, workspace: Workspace, schema: StructType) -> None:
        self.workspace = workspace
        self.schema = schema
        self.kept: pa.Table | None = None
        self._proposed: tuple[pa.Table | None] | None = None

    def wants_step(self) -> bool:
        return self.kept is not None

    def propose(self, rows: pa.Table | None) -> None:
        """Have these rows be those of the step."""
        self._proposed = (rows if rows is not None and rows.num_rows else None,)

    def commit(self) -> None:
        if self._proposed is not None:
            (self.kept,) = self._proposed
            self._proposed = None

    def discard(self) -> None:
        self._proposed = None

    def merge(self, lines: LineText | None = None) -> None:
        del lines

    def compact(self, lines: LineText | None = None) -> None:
        del lines

    def state(self) -> Iterator[tuple[int, int]]:
        if self.kept is not None:
            yield self.kept.num_rows, self.kept.nbytes

    def shown(self, rows: pa.Table | None, *, cancels: bool = False) -> Delta | None:
        """A change with these rows."""
        if rows is None or not rows.num_rows:
            return None
        return Delta.of_arrow(self.workspace, rows, self.schema, cancels=cancels)


class ArrivingRunner(_OfOneStep):
    """Gives the rows that come, and takes back those of the step before."""

    def step(self, inputs: Sequence[Delta | None], *, first: bool) -> Delta | None:
        del first
        now = _rows(inputs[0])
        if takes_back(now):
            message = "a row that has looked something up when it came cannot be deleted"
            hint = "CREATE STREAM takes no deletions; a join without FOR SYSTEM_TIME follows them"
            raise DataError(Diagnostic("LOOKUP_CHANGES", message, hint=hint))
        self.propose(now)
        gone = None if self.kept is None else negated(self.kept)
        present = [item for item in (now, gone) if item is not None]
        together = pa.concat_tables([fitted(item, present[0].schema) for item in present]) if present else None
        return self.shown(together, cancels=True)


class ArrivedRunner(_OfOneStep):
    """Gives the whole content of its input, step by step."""

    def step(self, inputs: Sequence[Delta | None], *, first: bool) -> Delta | None:
        del first
        content = added_up(self.kept, _rows(inputs[0]))
        if takes_back(content):
            raise InternalError(Diagnostic("ARRIVAL", "a row that came with a stream was taken back"))
        self.propose(content)
        return self.shown(content)


def _rows(delta: Delta | None) -> pa.Table | None:
    return None if delta is None or delta.is_empty() else delta.arrow()
