"""Avro container files as they grow: whole blocks, each record a row; offsets count bytes, lines count records.

A block that is broken, or broken off, is left out alone and reported; so is what follows a record that cannot be read
within its block, since nothing says where the next one begins. A file that is none is reported once it is complete.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.catalog.model import Table
from penstock.catalog.reserved import OPERATION
from penstock.errors import DataError
from penstock.sources.formats.api import Broken, Piece
from penstock.sources.formats.avro.container import LONGEST, MARK, Block, Header, block_at, header_of, unpacked
from penstock.sources.formats.avro.kinds import kinds_of_fields
from penstock.sources.formats.columns import check_names
from penstock.sources.formats.rows import broken_batch, refuse_record
from penstock.sources.position import Position
from penstock.sources.transport import BrokenStreamError, Stream
from penstock.steps.rows.batch import INSERT, Batch, Operated, RowReader, reject_row
from penstock.steps.rows.rejected import Rejections

_CHUNK = 4 << 20


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Whole blocks of one file."""

    header: Header
    blocks: Sequence[Block]


class AvroFiles:
    """The format avro."""

    name = "avro"

    def __init__(self, table: Table, reader: RowReader, *, ignore_unknown: bool, adds: bool = False) -> None:
        self._table = table
        self._reader = reader
        self._ignore_unknown = ignore_unknown
        self._adds = adds
        self._header: tuple[bytes, Header] | None = None

    def piece(
        self, stream: Stream, at: Position, rows: int, *, complete: bool, until: int | None = None
    ) -> Piece | None:
        """Whole blocks from a position on, as many as hold about `rows` records."""
        header = self._header_of(stream)
        if header is None:
            if complete:
                message = "not an Avro container file: its header is broken off"
                raise BrokenStreamError(message)
            return None
        start = max(at.offset, header.length)
        text = self._window(stream, start, header.mark, until)
        found = _whole_blocks(text, header.mark, rows)
        if not found:
            return self._broken(stream, at, start, text, header.mark, complete=complete)
        end = start + sum(block.length for block in found)
        lines = at.lines + sum(block.records for block in found)
        return Piece(stream.name, _Blocks(header, found), at, replace(at, offset=end, lines=lines))

    def _header_of(self, stream: Stream) -> Header | None:
        """The header; BrokenStreamError if it is none, or not the table's."""
        size = 1 << 16
        while True:
            text = stream.read(0, size)
            if self._header is not None and text.startswith(self._header[0]):
                return self._header[1]
            header = header_of(text)
            if header is not None:
                names = header.schema.fields
                check_names(self._table, names, ignore_unknown=self._ignore_unknown, adds=self._adds)
                self._header = text[: header.length], header
                return header
            if len(text) < size or size >= LONGEST:
                return None
            size *= 4

    def _window(self, stream: Stream, start: int, mark: bytes, until: int | None) -> bytes:
        """The bytes from there on, as many as the first block takes, and more if it is short."""
        size = _CHUNK
        while True:
            text = stream.read(start, size if until is None else min(size, until - start))
            first = block_at(text, 0, mark)
            if not isinstance(first, int) or len(text) < size:
                return text
            size = max(first, 2 * size)

    def _broken(
        self, stream: Stream, at: Position, start: int, text: bytes, mark: bytes, *, complete: bool
    ) -> Piece | None:
        """The piece up to the next block behind one that is broken; None where it may only be unfinished."""
        if not text:
            return None
        whole = block_at(text, 0, mark) is None
        if not whole and not complete:
            return None
        next_mark = text.find(mark) if whole else -1
        if next_mark < 0 and not complete and len(text) < LONGEST:
            return None
        end = start + (next_mark + MARK if next_mark >= 0 else len(text))
        what = "a block is broken" if whole else "the last block is broken off"
        return Piece(stream.name, Broken(f"{what}: bytes {start} to {end} cannot be read"), at, replace(at, offset=end))

    def batch(self, piece: Piece, rejections: Rejections) -> Batch:
        """The rows of a piece."""
        if not isinstance(piece.data, _Blocks):
            return broken_batch(self._table, piece, self._reader, rejections)
        if self._adds:
            self._reader.know(kinds_of_fields(piece.data.header.schema.declared))
        found = list(self._records(piece, piece.data, rejections))
        items = [item for _, item in found]
        return self._reader.read(items, rejections, lambda index: piece.place(found[index][0]))

    def _records(self, piece: Piece, read: _Blocks, rejections: Rejections) -> Iterator[tuple[int, Operated]]:
        """The records with their lines, as far as they can be read."""
        line = end = 0
        for block in read.blocks:
            line, end = end, end + block.records
            try:
                stream = io.BytesIO(unpacked(block.data, read.header.codec))
                for line in range(line, end):  # noqa: B020 - where it stops, if it is broken
                    yield line, _operated(read.header.schema.record(stream))
            except ValueError as error:
                what = f"records {piece.at.lines + line + 1} to {piece.at.lines + end} are lost: {error}"
                self._lost(piece.place(line), what, rejections)

    def _lost(self, place: str, what: str, rejections: Rejections) -> None:
        try:
            refuse_record(self._table, place, what)
        except DataError as error:
            if not rejections.tolerant:
                raise
            reject_row(rejections, self._table, place, error, None)


def _whole_blocks(text: bytes, mark: bytes, rows: int) -> list[Block]:
    """The blocks that are whole, until there are enough records."""
    found: list[Block] = []
    at = records = 0
    while records < rows and at < len(text):
        block = block_at(text, at, mark)
        if not isinstance(block, Block):
            break
        found.append(block)
        at, records = at + block.length, records + block.records
    return found


def _operated(record: dict[str, Any]) -> Operated:
    """A record as an operation with its row, which `__op` may say."""
    return Operated(record.pop(OPERATION, None) or INSERT, record)
