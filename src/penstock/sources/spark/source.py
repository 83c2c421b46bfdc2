"""The rows of a table that Spark reads, batch by batch.

A batch has the number that Spark gives it, and a step's manifest the number up to which it has them. Spark's checkpoint
says what each number is; one that no step has is read again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from penstock.backends.api import Following, FormatError
from penstock.catalog.model import Table
from penstock.errors import DataError, Diagnostic
from penstock.sources.formats.declared import EPOCH
from penstock.sources.looks import AwayError, LookedSource, Looks, RefusedError
from penstock.sources.secrets import expanded, secret_values
from penstock.sources.spark.declared import CHECKPOINT, EVERY, FORMAT, OPTION, PATH, TIMEOUT, UNKNOWN_COLUMNS
from penstock.steps.intake.inputs import MakeReader
from penstock.steps.rows.batch import Batch, RowReader
from penstock.steps.rows.rejected import Rejections
from penstock.steps.rows.values import Leniency

_NONE = -1
_WITHOUT_CHECKPOINT = (
    "it is read as a whole; what is a stream only wants 'checkpoint', a folder for Spark's notes of it"
)


@dataclass(frozen=True, slots=True)
class _Read:
    """The rows of one batch."""

    number: int
    rows: pa.Table


@dataclass
class SparkSource(LookedSource[_Read]):
    """The rows of one table; `at` is the number of the last batch that a step has."""

    table: Table
    reader: RowReader
    following: Following
    secrets: frozenset[str] = frozenset()
    now: Callable[[], float] = time.monotonic
    at: int = _NONE
    _read: _Read | None = None

    def __post_init__(self) -> None:
        """The looks, as the table says."""
        now = lambda: self.now()  # noqa: E731, PLW0108 - a test puts another clock in
        self._looks = Looks.of(self.table, lambda: self.where, EVERY, TIMEOUT, self.secrets, now)

    @property
    def where(self) -> str:
        """The format, and what is loaded."""
        path = PATH.value(self.table)
        return f"Spark's {FORMAT.value(self.table)}{f' {path}' if path else ''}"

    def read(self, rows: int, rejections: Rejections, *, ended: bool = False) -> Batch | None:  # noqa: ARG002
        """The rows of the next batch; None if there is none yet."""
        hint = None if CHECKPOINT.value(self.table) else _WITHOUT_CHECKPOINT
        found = self._read or self._looks.found(partial(_next, self.following, self.at, hint), ended=ended)
        if found is None:
            return None
        self._read = found
        return self.reader.read_arrow(found.rows, rejections, lambda index: self._place(found.number, index))

    def _place(self, number: int, index: int) -> str:
        return f"{self.where} batch {number} row {index + 1}"

    def taken(self) -> dict[str, Any]:
        """The numbers of the batches read from and to."""
        if self._read is None:
            return {}
        item = {"source": self.where, "from": {"batch": self.at}, "to": {"batch": self._read.number}}
        return {"connector": "spark", "read": [item]}

    def seek(self, taken: Mapping[str, Any]) -> None:
        """DataError unless the checkpoint is to give the very next batch: Spark reads no batch once more."""
        item = taken["read"][0]
        if item["from"]["batch"] != self.at or len(taken["read"]) > 1:
            message = f"table {self.table.name}: {self.where} cannot be asked for a batch that it has given before"
            raise DataError(Diagnostic("CANNOT_READ_AGAIN", message, self.table.span))

    def skip(self, taken: Mapping[str, Any]) -> None:
        """Go on behind what a manifest names."""
        self.at = taken["read"][-1]["to"]["batch"]

    def commit(self) -> None:
        """Go on behind what a step has; there may be more at once."""
        if self._read is not None:
            self.at, self._read = self._read.number, None
            self._looks.patience.at_once()

    def rewind(self) -> None:
        """Keep the batch: the next read gives it again."""

    def close(self) -> None:
        """Have Spark stop reading."""
        self.following.stop()
        self._looks.end()

    def describe(self) -> str:
        """The table, and what Spark reads for it."""
        return f"{self.table.name} from {self.where}"


def _next(following: Following, at: int, hint: str | None) -> _Read | None:
    """The rows of one look. It knows nothing of the pipeline, which may be gone when they come."""
    try:
        found = following.batch(at)
    except FormatError as error:
        raise AwayError(str(error)) if error.passes else RefusedError(str(error), error.hint or hint) from None
    return None if found is None else _Read(*found)


def opened(table: Table, readers: MakeReader) -> SparkSource:
    """The source of a table. DataError for a secret that is not there."""
    reader = readers(
        table, Leniency(text=True, epoch=EPOCH.value(table), ignore_unknown=UNKNOWN_COLUMNS.value(table) == "ignore")
    )
    what = f"table {table.name}"
    options = {
        name.removeprefix(OPTION): expanded(value, f"{what}: {name!r}")
        for name, value in table.properties.items()
        if name.startswith(OPTION)
    }
    columns = ", ".join(f"`{item.label}` {item.type}" for item in table.shown if item.computed is None)

    path, folder = PATH.value(table), CHECKPOINT.value(table)
    workspace = reader.defaults.workspace()
    following = workspace.following(FORMAT.value(table), options, path or None, columns, folder or None)
    return SparkSource(table, reader, following, frozenset(secret_values(table.properties.values())))
