"""The files that a table's `path` means: a folder's with the usual names or a pattern's, one file, or those of a glob.

Names that begin with `.` or `_`, or end in `.tmp`, are somebody's work in progress, but for folders named by a column.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import translate
from pathlib import Path
from stat import S_ISREG

from penstock.catalog.model import Table
from penstock.errors import DataError, Diagnostic
from penstock.sources.formats.names import usual_names

_UNFINISHED = (".tmp", ".crc", ".part", ".crdownload")


@dataclass(frozen=True)
class Listing:
    """The files of one table: `path` as the user says it, and the names that a folder's files must have.

    Names that the user has asked for (`chosen`) are those of a glob pattern's files too.
    """

    path: str
    wanted: Callable[[str], bool]
    chosen: bool = False

    def files(self) -> Iterator[tuple[Path, os.stat_result]]:
        """The files that are there, and what the file system says of them."""
        for path in self._paths():
            status = self.status(path)
            if status is not None:
                yield path, status

    def _paths(self) -> Iterator[Path]:
        if glob.has_magic(self.path):
            found = map(Path, glob.iglob(self.path, recursive=True))  # noqa: PTH207 - it takes any pattern
            yield from (path for path in found if not self.chosen or self.wanted(path.name))
        elif Path(self.path).is_dir():
            yield from self._within(Path(self.path), "")
        else:
            yield Path(self.path)

    def _within(self, folder: Path, prefix: str) -> Iterator[Path]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:  # it has just gone, or may not be read by us
            return
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            names_column = is_folder and "=" in entry.name and not entry.name.startswith(".")
            if not names_column and (entry.name.startswith((".", "_")) or entry.name.endswith(_UNFINISHED)):
                continue
            if is_folder:
                yield from self._within(folder / entry.name, f"{prefix}{entry.name}/")
            elif self.wanted(prefix + entry.name):
                yield folder / entry.name

    @staticmethod
    def status(path: Path) -> os.stat_result | None:
        """The facts that the file system tells of a file; None if there is no such file."""
        try:
            status = path.stat()
        except (OSError, ValueError):
            return None
        return status if S_ISREG(status.st_mode) else None

    @staticmethod
    def beside(path: Path, inode: tuple[int, int]) -> Iterator[Path]:
        """The files in the folder of a path that have an inode, under whatever name."""
        try:
            entries = list(os.scandir(path.parent))
        except OSError:
            return
        for entry in entries:
            if entry.inode() == inode[1] and entry.name != path.name:
                yield path.parent / entry.name


def listing_of(path: str, style: str, pattern: str) -> Listing:
    """The files of a path: in a folder those of the usual names of a format, or of a pattern."""
    if not pattern:
        usual = usual_names(style)
        return Listing(path, lambda name: usual.fullmatch(name) is not None)
    wanted = re.compile(translate(pattern))
    whole = "/" in pattern
    return Listing(path, lambda name: wanted.match(name if whole else name.rpartition("/")[2]) is not None, chosen=True)


def check_there(table: Table, listing: Listing) -> None:
    """Refuse a path that does not exist before anything starts; a glob pattern may have no file yet."""
    if "://" in listing.path:
        scheme = listing.path.partition("://")[0]
        message = f"table {table.name}: files are read from folders of this machine, and {listing.path} is in {scheme}"
        hint = "'connector' = 'spark', with the same 'format' and 'path', reads every store that Spark's session knows"
        raise DataError(Diagnostic("NO_SUCH_FOLDER", message, table.span, hint=hint))
    if not glob.has_magic(listing.path) and not Path(listing.path).exists():
        message = f"table {table.name}: the folder {listing.path} does not exist"
        raise DataError(Diagnostic("NO_SUCH_FOLDER", message, table.span, hint="create it, or correct 'path'"))
