"""Results on stdout: a table of rows in one of the formats.

text and json name the relation where there are several; csv, arrow and parquet hold one relation, so a program with
several views needs `--view`.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from penstock.outputs.lines import json_line
from penstock.steps.rows.rejected import json_text
from penstock.testing.values import plain

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

ONE_RELATION = ("csv", "arrow", "parquet")
_WIDEST = 60


@dataclass(frozen=True)
class Table:
    """Rows to show; `title` names their relation."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]
    title: str | None = None


def table_of(frame: DataFrame, title: str | None = None) -> Table:
    """The rows of a Spark DataFrame."""
    from penstock.steps.change import fetched_rows  # noqa: PLC0415 - `--help` and `check` show no frame

    return Table(tuple(frame.columns), fetched_rows(frame), title)


def write_frame(frame: DataFrame, style: str, title: str | None = None) -> None:
    """A DataFrame on stdout; Arrow and Parquet keep its types."""
    if style in ("arrow", "parquet"):
        write_arrow(frame.toArrow(), style, sys.stdout.buffer)
    else:
        write_table(table_of(frame, title), style)


def write_table(table: Table, style: str, stream: TextIO | None = None) -> None:
    """Rows as text, JSON lines or CSV."""
    out = stream or sys.stdout
    if style == "json":
        named = {} if table.title is None else {"view": table.title}
        out.writelines(json_line(named | dict(zip(table.columns, row, strict=True))) + "\n" for row in table.rows)
    elif style == "csv":
        out.write(csv_line(table.columns))
        out.writelines(csv_line(csv_value(value) for value in row) for row in table.rows)
    else:
        out.write(text_table(table))
    out.flush()


def write_arrow(table: pa.Table, style: str, stream: BinaryIO) -> None:
    """An Arrow table as an Arrow stream, or as a Parquet file."""
    import pyarrow as pa  # noqa: PLC0415 - `--help` and `check` write no Arrow
    import pyarrow.parquet as pq  # noqa: PLC0415

    if style == "arrow":
        with pa.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table)
    else:
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        stream.write(sink.getvalue().to_pybytes())
    stream.flush()


def csv_line(values: Iterable[Any]) -> str:
    """One line of CSV."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(values)
    return buffer.getvalue()


def csv_value(value: Any) -> str:
    """A value in CSV: NULL is empty, nested values are JSON."""
    flat = plain(value)
    if flat is None:
        return ""
    if isinstance(flat, list | dict):
        return json_text(flat)
    return str(flat).lower() if isinstance(flat, bool) else str(flat)


def text_value(value: Any) -> str:
    """A value for people."""
    return "NULL" if value is None else csv_value(value)


def text_table(table: Table) -> str:
    """Aligned columns, numbers to the right, and a line with the number of rows."""
    cells = [[_shortened(text_value(value)) for value in row] for row in table.rows]
    header = [_shortened(name) for name in table.columns]
    widths = [max([len(name), *(len(row[at]) for row in cells)]) for at, name in enumerate(header)]
    numeric = [_is_numeric(table.rows, at) for at in range(len(header))]
    lines = [table.title] if table.title else []
    lines.append(_text_line(header, widths, numeric))
    lines.append("-+-".join("-" * width for width in widths))
    lines += [_text_line(row, widths, numeric) for row in cells]
    count = len(table.rows)
    return "\n".join([*lines, f"({count} row{'' if count == 1 else 's'})", ""])


def _text_line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    aligned = (
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, numeric, strict=True)
    )
    return " | ".join(aligned).rstrip()


def _is_numeric(rows: Sequence[tuple[Any, ...]], at: int) -> bool:
    values = [row[at] for row in rows if row[at] is not None]
    return bool(values) and all(hasattr(value, "__float__") and not isinstance(value, bool) for value in values)


def _shortened(text: str) -> str:
    flat = text.replace("\n", "\\n")
    return flat if len(flat) <= _WIDEST else flat[: _WIDEST - 1] + "…"
