"""Rows of one table that come piece by piece: in memory while they are few, then in a file that memory maps.

Mapped rows are read where the system keeps files in memory, and it may drop them there at any time: a process that has
more of them than memory goes on. The file has no name, so nothing is left of it, however the process ends.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from pathlib import Path
from typing import IO

import pyarrow as pa

from penstock.backends.surroundings import writing
from penstock.backends.thresholds import MAPPED_BYTES


class Spool:
    """Takes pieces of the same schema; `folder` is made, if need be, for what is more than some bytes."""

    def __init__(self, folder: Path, most_bytes: int = MAPPED_BYTES) -> None:
        self._folder, self._most = folder, most_bytes
        self._pieces: list[pa.Table] = []
        self._bytes = 0
        self._file: IO[bytes] | None = None
        self._writer: pa.ipc.RecordBatchStreamWriter | None = None

    def add(self, piece: pa.Table) -> None:
        """Take more rows; DataError if they cannot be written."""
        if self._writer is not None:
            self._write(piece)
            return
        self._pieces.append(piece)
        self._bytes += piece.get_total_buffer_size()
        if self._bytes > self._most:
            self._begin(piece.schema)

    def _begin(self, schema: pa.Schema) -> None:
        """Go on in a file, which has all that has come."""
        with writing(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - it is closed with the last row
        self._writer = pa.ipc.new_stream(self._file, schema)
        for piece in self._pieces:
            self._write(piece)
        self._pieces = []

    def _write(self, piece: pa.Table) -> None:
        assert self._writer is not None  # noqa: S101 - there is a file
        with writing(self._folder):
            self._writer.write_table(piece)

    def rows(self) -> pa.Table:
        """All rows in the order in which they came; nothing more is taken. There was at least one piece."""
        if self._writer is None or self._file is None:
            return pa.concat_tables(self._pieces)
        with writing(self._folder):
            self._writer.close()
            self._file.flush()
        with self._file:
            mapped = mmap.mmap(self._file.fileno(), os.fstat(self._file.fileno()).st_size, access=mmap.ACCESS_READ)
        return pa.ipc.open_stream(pa.py_buffer(mapped)).read_all()

    def close(self) -> None:
        """Give up what has come, if nobody has the rows."""
        if self._file is not None:
            self._file.close()
