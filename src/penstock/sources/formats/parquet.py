"""Parquet files, each read once it is whole; offsets count rows.

A row group that cannot be read is left out alone and reported, and so is a file that is none once it is complete.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.catalog.model import Table
from penstock.errors import DataError, first_line
from penstock.sources.formats.api import Broken, Piece
from penstock.sources.formats.columns import check_names
from penstock.sources.formats.parquet_values import as_spark_means
from penstock.sources.formats.rows import broken_batch
from penstock.sources.position import Position
from penstock.sources.transport import BrokenStreamError, Stream
from penstock.steps.rows.batch import Batch, RowReader, python_dicts
from penstock.steps.rows.rejected import Rejections

_LARGE = 1 << 20  # bytes, above which a row group is decoded on all cores
_FAILURES = (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError)


@dataclass(frozen=True, slots=True)
class _Group:
    """The rows of one row group, kept while they are read piece by piece."""

    mark: tuple[Any, ...]
    rows: pa.Table


class Parquet:
    """The format parquet."""

    name = "parquet"

    def __init__(self, table: Table, reader: RowReader, *, ignore_unknown: bool, adds: bool = False) -> None:
        self._table = table
        self._reader = reader
        self._ignore_unknown = ignore_unknown
        self._adds = adds
        self._group: _Group | None = None

    def piece(
        self, stream: Stream, at: Position, rows: int, *, complete: bool, until: int | None = None
    ) -> Piece | None:
        """The rows of a row group from a position on, at most `rows`."""
        if stream.path is None:
            message = "Parquet is read from files only"
            raise BrokenStreamError(message)
        try:
            # Spark writes times as INT96; in nanoseconds those before 1678 and after 2262 would silently be others.
            file = pq.ParquetFile(stream.path, coerce_int96_timestamp_unit="us")
        except _FAILURES as error:
            if not complete:
                return None
            message = f"not a Parquet file: {first_line(error)}"
            raise BrokenStreamError(message) from error
        with file:
            found = _group_at(file, at.offset)
            if found is None:
                return None
            number, first, size = found
            end = min(first + size, at.offset + rows, until or first + size)
            after = replace(at, offset=end, lines=end)
            try:
                data = self._rows_of(stream, file, number)
            except _FAILURES as error:
                after = replace(at, offset=first + size, lines=first + size)
                what = f"rows {at.offset + 1} to {after.offset} cannot be read: {first_line(error)}"
                return Piece(stream.name, Broken(what), at, after)
        return Piece(stream.name, data.slice(at.offset - first, end - at.offset), at, after)

    def _rows_of(self, stream: Stream, file: pq.ParquetFile, number: int) -> pa.Table:
        status = stream.path.stat() if stream.path is not None else None
        mark = (stream.name, status and (status.st_mtime_ns, status.st_size, status.st_ino), number)
        if self._group is None or self._group.mark != mark:
            given = file.schema_arrow.names
            names = check_names(self._table, given, ignore_unknown=self._ignore_unknown, adds=self._adds)
            plain = not any("." in name for name in names)
            rows = _decoded(file, number, names if plain else None)
            self._group = _Group(mark, as_spark_means(rows.select(names), file))
        return self._group.rows

    def batch(self, piece: Piece, rejections: Rejections) -> Batch:
        """The rows of a piece."""
        if isinstance(piece.data, Broken):
            return broken_batch(self._table, piece, self._reader, rejections)
        try:
            return self._reader.read_arrow(piece.data, rejections, piece.place)
        except (DataError, *_FAILURES) as error:
            if isinstance(error, DataError) and not rejections.tolerant:
                raise
        return self._reader.read_arrow_rows(python_dicts(piece.data), rejections, piece.place)


def _decoded(file: pq.ParquetFile, number: int, names: list[str] | None) -> pa.Table:
    """The rows of a row group, the columns of a large one side by side; raises for the first that cannot be read."""
    try:
        rows = file.read_row_group(
            number, columns=names, use_threads=file.metadata.row_group(number).total_byte_size > _LARGE
        )
        rows.validate()
    except _FAILURES:  # of several columns whichever was first at it
        rows = file.read_row_group(number, columns=names, use_threads=False)
        rows.validate()
    return rows


def _group_at(file: pq.ParquetFile, row: int) -> tuple[int, int, int] | None:
    """The row group that holds a row: its number, its first row, and how many it has."""
    return next((found for found in _groups(file) if found[1] <= row < found[1] + found[2]), None)


def _groups(file: pq.ParquetFile) -> Iterator[tuple[int, int, int]]:
    first = 0
    for number in range(file.metadata.num_row_groups):
        size = file.metadata.row_group(number).num_rows
        yield number, first, size
        first += size
