"""Compressed files as the bytes that were packed: offsets count those, and reading on does not begin again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.sources.formats.names import COMPRESSIONS
from penstock.sources.transport import BrokenStreamError

_STEP = 4 << 20
_CAREFUL = 16 << 10


def compression_of(path: Path) -> str | None:
    """The compression of a file, by its name; None if it is not packed."""
    return COMPRESSIONS.get(path.suffix.lower())


class Unpacked:
    """The unpacked bytes of one file; it stays open where reading ended, and what was read last is kept.

    A piece of records is smaller than what was read to find it, so the next reading begins within that.
    """

    def __init__(self, path: Path, compression: str) -> None:
        self._path = path
        self._compression = compression
        self._open: Any = None
        self._start = 0
        self._window = b""

    def read(self, offset: int, size: int, *, complete: bool) -> bytes:
        """The bytes at an offset.

        Of a file that breaks off nothing more is read until it is complete; then its whole lines are, and behind them
        BrokenStreamError says why there is no more.
        """
        try:
            return self._read(offset, size)
        except (OSError, pa.ArrowException, EOFError) as error:
            self.close()
            found = self._until_broken(offset, size) if complete else b""
            if complete and not found:
                message = f"it cannot be unpacked beyond byte {offset}: {error}"
                raise BrokenStreamError(message) from error
            return found

    def _read(self, offset: int, size: int) -> bytes:
        if self._open is None or self._start > offset:
            self.close()
            self._open = pa.input_stream(str(self._path), compression=self._compression)
        while self._start + len(self._window) < offset:
            passed = self._open.read(min(_STEP, offset - self._start - len(self._window)))
            if not passed:
                return b""
            self._start, self._window = self._start + len(self._window), passed
        self._window, self._start = self._window[offset - self._start :], offset
        if len(self._window) < size:
            self._window += self._open.read(size - len(self._window))
        return self._window[:size]

    def _until_broken(self, offset: int, size: int) -> bytes:
        """The whole lines that can be unpacked."""
        found = bytearray()
        try:
            while len(found) < size:
                part = self._read(offset + len(found), min(_CAREFUL, size - len(found)))
                if not part:
                    break
                found += part
        except (OSError, pa.ArrowException, EOFError):
            self.close()
        return bytes(found[: found.rfind(b"\n") + 1])

    def close(self) -> None:
        """Begin anew with the next reading."""
        if self._open is not None:
            self._open.close()
            self._open, self._start, self._window = None, 0, b""
