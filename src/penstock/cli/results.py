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
from penstock.outputs.order import ordered
from penstock.outputs.textual import text_of, width_for
from penstock.steps.rows.rejected import json_text
from penstock.testing.values import plain

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.pipeline.answer import Answer

ONE_RELATION = ("csv", "arrow", "parquet")


@dataclass(frozen=True)
class Table:
    """Rows to show; `title` names their relation."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]
    title: str | None = None


def table_of(answer: Answer, title: str | None = None) -> Table:
    """The rows of an answer."""
    return Table(answer.columns, answer.rows, title)


def write_content(answer: Answer, style: str, title: str) -> None:
    """The content of a view on stdout: for people in the order of its values, since it has no other."""
    if style == "text":
        write_table(Table(answer.columns, ordered(answer.rows), title), style)
    else:
        write_answer(answer, style, title)


def write_answer(answer: Answer, style: str, title: str | None = None) -> None:
    """An answer on stdout; Arrow and Parquet keep its types."""
    if style in ("arrow", "parquet"):
        write_arrow(answer.arrow(), style, sys.stdout.buffer)
    else:
        write_table(table_of(answer, title), style)


def write_table(table: Table, style: str, stream: TextIO | None = None, layout: str | int = "auto") -> None:
    """Rows as text (in one of `textual.LAYOUTS`, or for a width), JSON lines or CSV."""
    out = stream or sys.stdout
    if style == "json":
        named = {} if table.title is None else {"view": table.title}
        out.writelines(json_line(named | dict(zip(table.columns, row, strict=True))) + "\n" for row in table.rows)
    elif style == "csv":
        out.write(csv_line(table.columns))
        out.writelines(csv_line(csv_value(value) for value in row) for row in table.rows)
    else:
        out.write(text_table(table, width_for(out, layout)))
    out.flush()


def write_arrow(table: pa.Table, style: str, stream: BinaryIO) -> None:
    """An Arrow table as an Arrow stream, or as a Parquet file."""
    import pyarrow as pa  # noqa: PLC0415 - `--help` and `check` write no Arrow
    import pyarrow.parquet as pq  # noqa: PLC0415 - the same

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


def text_table(table: Table, width: int | None = None) -> str:
    """Aligned columns, numbers to the right, and a line with the number of rows; expanded if wider than `width`."""
    return text_of(table.title, table.columns, table.rows, text_value, width)
