"""PARTITIONED BY: columns of the table by name, columns with their types as Hive has them, or transforms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.catalog.model import Column
from penstock.errors import Diagnostic, Span, did_you_mean
from penstock.sql.cursor import Cursor
from penstock.sql.failure import ParseFailure


@dataclass
class PartitionedBy:
    """The content of the clause: the names of the columns, those that it declares itself, and its first transform."""

    span: Span | None = None
    names: list[tuple[str, Span]] = field(default_factory=list)
    columns: list[Column] = field(default_factory=list)
    transform: Span | None = None


def read_partitions(cursor: Cursor, found: PartitionedBy) -> None:
    """`PARTITIONED BY (d)`, `(d DATE, h INT)` or `(days(at), bucket(4, k))`."""
    start = cursor.index
    cursor.expect("PARTITIONED", "BY")
    cursor.listed(lambda: _partition(cursor, found), "the columns")
    found.span = cursor.since(start)


def _partition(cursor: Cursor, found: PartitionedBy) -> None:
    start = cursor.index
    name, span = cursor.name("a column")
    if cursor.peek() == "(":
        cursor.listed(cursor.expression, "the arguments")
        found.transform = found.transform or cursor.since(start)
        return
    found.names.append((name, span))
    if cursor.peek() not in {",", ")"}:
        found.columns.append(_declared(cursor, name, span))


def _declared(cursor: Cursor, name: str, span: Span) -> Column:
    kind = cursor.type()
    nullable = not cursor.accept("NOT", "NULL")
    comment = cursor.string("the comment") if cursor.accept("COMMENT") else None
    return Column(name, kind, nullable=nullable, comment=comment, span=span)


def partitions_last(columns: Sequence[Column], found: PartitionedBy) -> tuple[Column, ...]:
    """The columns in Spark's order: those of the files, then those of the folders; ParseFailure for a name of none."""
    by_name = {column.name.lower(): column for column in columns}
    for name, span in found.names:
        if name.lower() not in by_name:
            known = [column.name for column in columns]
            message, hint = f"the table has no column {name}", f"its columns are {', '.join(known)}"
            raise ParseFailure(None, Diagnostic("UNKNOWN_COLUMN", message, span, did_you_mean(name, known), hint))
    last = list(dict.fromkeys(name.lower() for name, _ in found.names))
    return (*(column for column in columns if column.name.lower() not in last), *(by_name[name] for name in last))
