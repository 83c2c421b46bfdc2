"""A growing folder of JSON, CSV or Parquet files as the source of a table (A1).

    WITH ('connector' = 'files', 'path' = 'in/orders', 'format' = 'json')

Files are read in order of modification time and path; a file that grows is read on from where it ended, line by line.
A last line without a newline waits for its rest until nobody has written for `_SETTLED` seconds. Names that begin with
`.` or `_`, or end in `.tmp`, are somebody's work in progress. `path` may be a folder, a file or a glob pattern.
"""

from __future__ import annotations

import glob
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import Any

from penstock.catalog.model import Table
from penstock.errors import DataError, Diagnostic, SqlError, did_you_mean
from penstock.sources.formats import Format, Piece, Position, format_of
from penstock.steps.rows.batch import Batch, RowReader, concatenated
from penstock.steps.rows.rejected import Rejections

FORMATS = ("json", "csv", "parquet")
_SETTLED = 1.0


@dataclass
class _File:
    """One file, its size when it was last looked at, and how far it has been read."""

    path: Path
    modified: int
    size: int
    written: float
    at: Position = field(default_factory=Position)


@dataclass
class FileSource:
    """The files of one table."""

    table: Table
    path: str
    format: Format
    _files: dict[Path, _File] = field(default_factory=dict)
    _undo: list[tuple[_File, Position]] = field(default_factory=list)

    def read(self, rows: int, rejections: Rejections) -> Batch | None:
        """Up to about `rows` new rows, in order."""
        found: list[Batch] = []
        left = rows
        for file in self._unread():
            while left > 0:
                piece = self._next(file, left)
                if piece is None:
                    break
                batch = self.format.batch(piece, rejections)
                left -= max(1, piece.rows)
                if len(batch):
                    found.append(batch)
            if left <= 0:
                break
        return concatenated(found) if found else None

    def _next(self, file: _File, rows: int) -> Piece | None:
        if not self._is_unread(file):
            return None
        settled = time.time() - file.written > _SETTLED
        try:
            piece = self.format.piece(file.path, file.at, rows, settled=settled)
        except OSError as error:
            message = f"table {self.table.name}: {file.path} cannot be read: {error.strerror or error}"
            raise DataError(Diagnostic("CANNOT_READ", message)) from error
        if piece is not None:
            self._undo.append((file, file.at))
            file.at = piece.after
        return piece

    def _is_unread(self, file: _File) -> bool:
        return self.format.unread(file.at.offset, file.size)

    def taken(self) -> dict[str, Any]:
        """The files read since the last commit: bytes (of Parquet: rows) from where to where."""
        begun: dict[Path, tuple[_File, Position]] = {}
        for file, before in self._undo:
            begun.setdefault(file.path, (file, before))
        files = {str(path): {"from": before.offset, "to": file.at.offset} for path, (file, before) in begun.items()}
        return {"connector": "files", "files": files} if files else {}

    def commit(self) -> None:
        """What has been read is part of a step."""
        self._undo.clear()

    def rewind(self) -> None:
        """Read again from where the last commit was."""
        for file, before in reversed(self._undo):
            file.at = before
        self._undo.clear()

    def waiting(self) -> tuple[int, int]:
        """Bytes and files that have not been read."""
        files = [file for file in self._files.values() if self._is_unread(file)]
        return sum(max(0, file.size - file.at.offset) for file in files), len(files)

    def describe(self) -> str:
        """The source as its user names it."""
        return f"{self.table.name} from {self.path} ({self.format.name})"

    def _unread(self) -> Iterator[_File]:
        """Files with something new, oldest first."""
        for path in self._listed():
            try:
                status = path.stat()
            except FileNotFoundError:
                continue
            known = self._files.get(path)
            if known is None:
                known = self._files[path] = _File(path, status.st_mtime_ns, status.st_size, status.st_mtime)
            known.size, known.written = status.st_size, status.st_mtime
            if known.size < known.at.offset:
                message = f"table {self.table.name}: {path} has become shorter; a file may only grow"
                raise DataError(Diagnostic("FILE_SHRUNK", message))
        ordered = sorted(self._files.values(), key=lambda file: (file.modified, str(file.path)))
        yield from (file for file in ordered if self._is_unread(file))

    def _listed(self) -> list[Path]:
        if glob.has_magic(self.path):
            return [path for path in map(Path, glob.glob(self.path, recursive=True)) if path.is_file()]  # noqa: PTH207
        root = Path(self.path)
        if root.is_file():
            return [root]
        if not root.is_dir():
            message = f"table {self.table.name}: the folder {self.path} does not exist"
            raise DataError(Diagnostic("NO_SUCH_FOLDER", message, self.table.span, hint="create it, or correct 'path'"))
        return [path for path in root.rglob("*") if path.is_file() and not _in_progress(path.relative_to(root))]


def _in_progress(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts) or path.suffix in (".tmp", ".crc")


def check_source(table: Table) -> None:
    """Refuse properties that describe no source."""
    if not table.properties.get("path"):
        message = f"table {table.name}: the connector files needs 'path'"
        raise SqlError(Diagnostic("MISSING_PROPERTY", message, table.span, hint="'path' = 'a folder, file or pattern'"))
    name = _format_name(table)
    if name not in FORMATS:
        message = f"table {table.name}: there is no format {name[:100]!r}"
        near = did_you_mean(name, FORMATS)
        hint = f"the formats are {', '.join(FORMATS)}"
        raise SqlError(Diagnostic("UNKNOWN_FORMAT", message, table.span, near, hint))
    on_error = table.properties.get("on_error", "skip")
    if on_error.lower() not in ("skip", "fail"):
        message = f"table {table.name}: 'on_error' = {on_error[:100]!r} means nothing"
        raise SqlError(Diagnostic("BAD_PROPERTY", message, table.span, hint="'skip' (the default) or 'fail'"))


def _format_name(table: Table) -> str:
    return table.properties.get("format", "json").lower()


def open_source(table: Table, readers: Callable[..., RowReader], zone: tzinfo) -> FileSource:  # noqa: ARG001
    """The source that a table's properties describe; SqlError if they do not."""
    check_source(table)
    path = table.properties["path"].removeprefix("file://")
    source = FileSource(table, path, format_of(_format_name(table), table, readers))
    source._listed()  # noqa: SLF001 - a folder that does not exist is refused before anything starts
    return source
