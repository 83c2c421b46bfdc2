"""Where the changes of views go: lines on a stream, or files in a folder.

A file is named by its step and written in one rename, so a step that is written again changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.catalog.reserved import STEP, WEIGHT
from penstock.errors import Diagnostic, UnsupportedError
from penstock.outputs.names import file_name
from penstock.steps.change import Change
from penstock.steps.durable import replace_atomically, write_atomically
from penstock.steps.rows.rejected import json_text


class StreamOutput:
    """Changes as lines: JSON objects, or text such as `orders  +1  (1, 'a')`."""

    def __init__(self, stream: TextIO, views: Sequence[str] = (), style: str = "json") -> None:
        self._stream = stream
        self._views = {name.lower() for name in views}
        self._style = style

    def write(self, changes: Mapping[str, Change]) -> None:
        """One line for each changed row."""
        for view, change in changes.items():
            if _wanted(view, change, self._views):
                self._stream.writelines(f"{self._line(change, weight, row)}\n" for weight, row in change.rows)
        self._stream.flush()

    def _line(self, change: Change, weight: int, row: tuple[Any, ...]) -> str:
        if self._style == "json":
            return json_line({"view": change.view, STEP: change.step, WEIGHT: weight, **named(change, row)})
        values = ", ".join("NULL" if value is None else str(value) for value in row)
        return f"{change.view}  {weight:+d}  ({values})"

    def close(self) -> None:
        """The stream is the caller's."""
        self._stream.flush()

    def describe(self) -> str:
        """The output as its user names it."""
        return "stdout"


class FolderOutput:
    """Changes as files: `<folder>/<view>/step-000000000042.parquet` (or `.json`), with `__weight` and `__step`."""

    def __init__(self, folder: str | Path, style: str = "parquet", views: Sequence[str] = ()) -> None:
        if style not in ("parquet", "json"):
            raise UnsupportedError(
                Diagnostic("UNKNOWN_FORMAT", f"views cannot be written as {style}", hint="parquet, json")
            )
        self._folder = Path(folder)
        self._style = style
        self._views = {name.lower() for name in views}
        self._folder.mkdir(parents=True, exist_ok=True)

    def write(self, changes: Mapping[str, Change]) -> None:
        """One file for each changed view."""
        for view, change in changes.items():
            if _wanted(view, change, self._views):
                path = self._folder / file_name(view) / f"step-{change.step:012}.{self._style}"
                self._file(path, change)

    def _file(self, path: Path, change: Change) -> None:
        if self._style == "json":
            lines = [
                json_line({STEP: change.step, WEIGHT: weight, **named(change, row)}) for weight, row in change.rows
            ]
            write_atomically(path, "".join(f"{line}\n" for line in lines))
            return
        table = change.arrow()
        steps = pa.array([change.step] * table.num_rows, pa.int64())
        found = table.append_column(STEP, steps)
        replace_atomically(path, lambda temporary: pq.write_table(found, temporary))

    def close(self) -> None:
        """Every file is complete already."""

    def describe(self) -> str:
        """The output as its user names it."""
        return f"{self._folder} ({self._style})"


def _wanted(view: str, change: Change, views: set[str]) -> bool:
    if change.delta is None:
        return False
    return view.lower() in views if views else True


def named(change: Change, row: tuple[Any, ...]) -> dict[str, Any]:
    """A row by column names."""
    return dict(zip(change.columns, row, strict=True))


def json_line(values: Mapping[str, Any]) -> str:
    """A row as one line of JSON; what JSON has no word for is text: times, DECIMAL, NaN, infinities."""
    return json_text(values)
