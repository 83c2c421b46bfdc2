"""The function `penstock_match(program, rows)`: for each list of rows what is shown of its matches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
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

    found = [answers(program_of(program), rows) for program, rows in _rows(programs, lists)]
    parts = [("picks", pa.int32()), ("longs", pa.int64()), ("doubles", pa.float64()), ("texts", pa.string())]
    shown = list(chain.from_iterable(found))
    columns = [_listed([answer[at] for answer in shown], kind) for at, (_, kind) in enumerate(parts)]
    rows = pa.StructArray.from_arrays(columns, [name for name, _ in parts])
    return pa.ListArray.from_arrays(_offsets(found), rows)


def _listed(values: Sequence[Sequence[Any]], kind: pa.DataType) -> pa.ListArray:
    """Lists of values as one column."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    return pa.ListArray.from_arrays(_offsets(values), pa.array(chain.from_iterable(values), kind))


def _offsets(lists: Sequence[Sequence[Any]]) -> pa.Array:
    import pyarrow as pa  # noqa: PLC0415 - as above

    return pa.array(accumulate(map(len, lists), initial=0), pa.int32())


def settled_in_arrow(programs: pa.ChunkedArray, lists: pa.ChunkedArray, lines: pa.ChunkedArray) -> pa.Array:
    """The same over columns of Arrow, whose rows are STRUCTs."""
    import pyarrow as pa  # noqa: PLC0415 - executors of Spark take rows, and need no Arrow

    found = zip(_rows(programs, lists), lines.to_pylist(), strict=True)
    return pa.array([settled(program_of(program), rows, line) for (program, rows), line in found], pa.int32())


def _rows(programs: pa.ChunkedArray, lists: pa.ChunkedArray) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    """Each list of rows with its program; the values go over column by column, which takes a tenth of the time."""
    yield from zip(programs.to_pylist(), _lists(lists), strict=True)


def _lists(lists: pa.ChunkedArray) -> Iterator[list[tuple[Any, ...]]]:
    for chunk in lists.chunks:
        columns = [column.to_pylist() for column in chunk.flatten().flatten()]
        rows, start = list(zip(*columns, strict=True)), 0
        for length in chunk.value_lengths().to_pylist():
            yield rows[start : start + (length or 0)]
            start += length or 0
