"""The changes of views on stdout, step by step, with `__step` and `__weight`: outputs of `Pipeline.run`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.catalog.reserved import OPERATION, STEP, WEIGHT
from penstock.cli.results import csv_line, csv_value, text_value
from penstock.outputs.forms import Form, formed
from penstock.outputs.lines import FolderOutput, StreamOutput, json_line, named
from penstock.outputs.order import ordered_change

if TYPE_CHECKING:
    from penstock.sources.api import Output
    from penstock.steps.change import Change


def change_output(style: str, views: Sequence[str], folder: str | None) -> Output:
    """Where the changes of the views go: lines on stdout, or files in a folder."""
    if folder is not None:
        return FolderOutput(folder, "json" if style == "json" else "parquet", views)
    if style == "json":
        return StreamOutput(sys.stdout, views)
    if style == "csv":
        return CsvOutput(views)
    if style in ("arrow", "parquet"):
        return ArrowOutput(views, style, sys.stdout.buffer)
    return TextOutput(views)


class OfProgram:
    """The changes of all views that the program has then, as `make` writes those of some."""

    def __init__(self, views: Callable[[], Sequence[str]], make: Callable[[Sequence[str]], Output]) -> None:
        self._views, self._make = views, make
        self._names = tuple(views())
        self._output = make(self._names)

    def write(self, changes: Mapping[str, Change]) -> None:
        """Write what a step has changed."""
        names = tuple(self._views())
        if names != self._names:
            self._names, self._output = names, self._make(names)
        self._output.write(changes)

    def close(self) -> None:
        """Everything has been written."""
        self._output.close()

    def describe(self) -> str:
        return self._output.describe()


class TextOutput:
    """`step 3  totals  +1  (1, a)`."""

    def __init__(self, views: Sequence[str] = ()) -> None:
        self._views = frozenset(name.lower() for name in views)

    def write(self, changes: Mapping[str, Change]) -> None:
        """One line for each changed row; of a view, what is taken back comes first, in the order of values."""
        for name, change in changes.items():
            if not self._views or name.lower() in self._views:
                sys.stdout.writelines(self._line(change, weight, row) for weight, row in ordered_change(change.rows))
        sys.stdout.flush()

    def _line(self, change: Change, weight: int, row: tuple[Any, ...]) -> str:
        return f"step {change.step}  {change.view}  {weight:+d}  ({', '.join(text_value(value) for value in row)})\n"

    def close(self) -> None:
        """Everything is written already."""

    def describe(self) -> str:
        return "stdout"


class FormOutput:
    """The changes of one view in a form: `step 3  totals  +U  (1, 7)`, or the same as JSON or CSV, with `__op`."""

    def __init__(self, view: str, style: str, form: Form, key: tuple[int, ...] | None) -> None:
        self._view = view
        self._style = style
        self._form = form
        self._key = key
        self._begun = False

    def write(self, changes: Mapping[str, Change]) -> None:
        """One line for each row that comes, goes or takes another's place."""
        for name, change in changes.items():
            if name.lower() == self._view.lower():
                self._begin(change)
                rows = formed(change.rows, self._form, self._key)
                sys.stdout.writelines(self._line(change, done, row) for done, row in rows)
        sys.stdout.flush()

    def _begin(self, change: Change) -> None:
        if self._style == "csv" and not self._begun:
            sys.stdout.write(csv_line([STEP, OPERATION, *change.columns]))
            self._begun = True

    def _line(self, change: Change, done: str, row: tuple[Any, ...]) -> str:
        if self._style == "json":
            said = {"view": change.view, STEP: change.step, OPERATION: done, **named(change, row)}
            return f"{json_line(said)}\n"
        if self._style == "csv":
            return csv_line([change.step, done, *(csv_value(value) for value in row)])
        return f"step {change.step}  {change.view}  {done}  ({', '.join(text_value(value) for value in row)})\n"

    def close(self) -> None:
        """Everything is written already."""

    def describe(self) -> str:
        return "stdout"


class CsvOutput:
    """The changes of one view as CSV: `__step`, `__weight`, the columns."""

    def __init__(self, views: Sequence[str]) -> None:
        self._views = frozenset(name.lower() for name in views)
        self._begun = False

    def write(self, changes: Mapping[str, Change]) -> None:
        """One line for each changed row; the header before the first."""
        for name, change in changes.items():
            if name.lower() not in self._views:
                continue
            if not self._begun:
                sys.stdout.write(csv_line([STEP, WEIGHT, *change.columns]))
                self._begun = True
            sys.stdout.writelines(
                csv_line([change.step, weight, *(csv_value(value) for value in row)]) for weight, row in change.rows
            )
        sys.stdout.flush()

    def close(self) -> None:
        """Everything is written already."""

    def describe(self) -> str:
        return "stdout"


class ArrowOutput:
    """The changes of one view as an Arrow stream or one Parquet file; `__weight` and `__step` are the last columns."""

    def __init__(self, views: Sequence[str], style: str, stream: BinaryIO) -> None:
        self._views = frozenset(name.lower() for name in views)
        self._style = style
        self._stream = stream
        self._writer: Any = None

    def write(self, changes: Mapping[str, Change]) -> None:
        """One record batch, or row group, for each step."""
        for name, change in changes.items():
            if name.lower() not in self._views or not change.rows:
                continue
            table = change.arrow()
            steps = pa.array([change.step] * table.num_rows, pa.int64())
            self._write(table.append_column(STEP, steps))

    def _write(self, table: pa.Table) -> None:

        if self._writer is None and self._style == "arrow":
            self._writer = pa.ipc.new_stream(self._stream, table.schema)
        elif self._writer is None:
            self._writer = pq.ParquetWriter(pa.PythonFile(self._stream, mode="w"), table.schema)
        self._writer.write_table(table.cast(self._writer.schema) if self._style == "parquet" else table)

    def close(self) -> None:
        """Write what ends the file."""
        if self._writer is not None:
            self._writer.close()
        self._stream.flush()

    def describe(self) -> str:
        return "stdout"
