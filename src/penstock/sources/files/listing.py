"""The files that a table's `path` means: a folder's with the usual names or a pattern's, one file, or those of a glob.

Names that begin with `.` or `_`, or end in `.tmp`, are somebody's work in progress, but for folders named by a column.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate
from functools import cached_property
from pathlib import Path
from stat import S_ISREG

from penstock.catalog.model import Table
from penstock.errors import DataError, Diagnostic
from penstock.sources.files import declared
from penstock.sources.formats.declared import FORMAT
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
        literal, magic = self._split
        if magic:
            pattern = str(Path(glob.escape(str(literal)), *magic))
            found = map(Path, glob.iglob(pattern, recursive=True))  # noqa: PTH207 - it takes any pattern
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
            if _is_passed_over(entry.name, is_folder=is_folder):
                continue
            if is_folder:
                yield from self._within(folder / entry.name, f"{prefix}{entry.name}/")
            elif self.wanted(prefix + entry.name):
                yield folder / entry.name

    @cached_property
    def _split(self) -> tuple[Path, tuple[str, ...]]:
        """The part of the path that is a name, and the pattern behind it: what is there as it is written is a name."""
        parts, literal = Path(self.path).parts, Path()
        for place, part in enumerate(parts):
            if glob.has_magic(part) and not os.path.lexists(literal / part):
                return literal, parts[place:]
            literal /= part
        return literal, ()

    @property
    def is_pattern(self) -> bool:
        """True if the path means all files that it fits."""
        return bool(self._split[1])

    @property
    def base(self) -> Path:
        """The folder below which all files lie, or the one file; with all links followed."""
        return Path(os.path.realpath(self._split[0]))

    def would_read(self, path: Path) -> bool:
        """True if a file is read once it has this path, whether there is one now or not."""
        found = Path(os.path.realpath(path))
        if not found.is_relative_to(self.base):
            return False
        within = found.relative_to(self.base).parts
        if self.is_pattern:
            return _is_matched(self._split[1], within) and (not self.chosen or self.wanted(found.name))
        if not within or self.base.is_file():
            return not within
        passed = any(_is_passed_over(part, is_folder=True) for part in within[:-1])
        return not passed and not _is_passed_over(within[-1], is_folder=False) and self.wanted("/".join(within))

    @staticmethod
    def status(path: Path) -> os.stat_result | None:
        """The facts that the file system tells of a file; None if there is no such file."""
        try:
            status = path.stat()
        except (OSError, ValueError):
            return None
        return status if S_ISREG(status.st_mode) else None

    @staticmethod
    def beside(path: Path, inode: int) -> Iterator[Path]:
        """The files in the folder of a path that have an inode, under whatever name."""
        try:
            entries = list(os.scandir(path.parent))
        except OSError:
            return
        for entry in entries:
            if entry.inode() == inode and entry.name != path.name:
                yield path.parent / entry.name


def _is_passed_over(name: str, *, is_folder: bool) -> bool:
    """True for somebody's work in progress; not for a folder that is named by a column."""
    names_column = is_folder and "=" in name and not name.startswith(".")
    return not names_column and (name.startswith((".", "_")) or name.endswith(_UNFINISHED))


def _is_matched(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """True if the parts of a path are those of a glob pattern, in which `**` is any number of folders."""
    if not pattern:
        return not parts
    first, *rest = pattern
    if first == "**" and _is_matched(rest, parts):
        return True
    if not parts or (parts[0].startswith(".") and not first.startswith(".")):
        return False
    if first == "**":
        return _is_matched(pattern, parts[1:])
    return fnmatchcase(parts[0], first) and _is_matched(rest, parts[1:])


def listing_of_table(table: Table) -> Listing:
    """The files that the properties of a table with the connector files mean."""
    path = declared.PATH.value(table).removeprefix("file://")
    return listing_of(path, FORMAT.value(table), declared.PATTERN.value(table))


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
    if not listing.is_pattern and not Path(listing.path).exists():
        message = f"table {table.name}: the folder {listing.path} does not exist"
        raise DataError(Diagnostic("NO_SUCH_FOLDER", message, table.span, hint="create it, or correct 'path'"))
