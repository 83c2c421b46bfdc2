"""The function `penstock_match(program, rows)`: for each list of rows what is shown of its matches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from penstock.backends.matching.partition import Answer, answers, settled
from penstock.backends.matching.program import program_of

if TYPE_CHECKING:
    import pyarrow as pa

MATCH, SETTLED = "penstock_match", "penstock_settled"


def matches_of(program: str, rows: Iterable[Sequence[Any]] | None) -> list[Answer]:
    """The matches of one list of rows, each row the values that conditions read."""
    return answers(program_of(program), [tuple(row) for row in rows or ()])


def settled_of(program: str, rows: Iterable[Sequence[Any]] | None, line: int) -> int:
    """The number of first rows that can be forgotten once a waterline is at `line`."""
    return settled(program_of(program), [tuple(row) for row in rows or ()], line)


def matches_in_arrow(programs: pa.ChunkedArray, lists: pa.ChunkedArray) -> pa.Array:
    """The same over columns of Arrow, whose rows are STRUCTs."""
    import pyarrow as pa  # noqa: PLC0415 - executors of Spark take rows, and need no Arrow

    found = [
        [dict(zip(("picks", "longs", "doubles", "texts"), answer, strict=True)) for answer in matches_of(program, rows)]
        for program, rows in _rows(programs, lists)
    ]
    parts = [("picks", pa.int32()), ("longs", pa.int64()), ("doubles", pa.float64()), ("texts", pa.string())]
    return pa.array(found, pa.list_(pa.struct([(name, pa.list_(kind)) for name, kind in parts])))


def settled_in_arrow(programs: pa.ChunkedArray, lists: pa.ChunkedArray, lines: pa.ChunkedArray) -> pa.Array:
    """The same over columns of Arrow, whose rows are STRUCTs."""
    import pyarrow as pa  # noqa: PLC0415 - executors of Spark take rows, and need no Arrow

    found = zip(_rows(programs, lists), lines.to_pylist(), strict=True)
    return pa.array([settled_of(program, rows, line) for (program, rows), line in found], pa.int32())


def _rows(programs: pa.ChunkedArray, lists: pa.ChunkedArray) -> Iterable[tuple[str, list[Sequence[Any]]]]:
    for program, rows in zip(programs.to_pylist(), lists.to_pylist(), strict=True):
        yield program, [tuple(row.values()) for row in rows or ()]
