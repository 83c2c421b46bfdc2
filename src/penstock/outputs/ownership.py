"""Whose a folder of changes is: the steps in it are those of one pipeline's directory.

<folder>/_penstock.json    {"format": 1, "directory": the id of the directory, null without one}
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from penstock.errors import DataError, Diagnostic
from penstock.steps.directory import directory_id
from penstock.steps.durable import write_atomically

FORMAT = 1
_MARK = "_penstock.json"


def claim(folder: Path, directory: Path | None, *, overwrite: bool = False) -> None:
    """Make a folder that of a pipeline's directory; DataError if it holds the changes of another.

    With `overwrite` what an earlier run has written is removed, and nothing else.
    """
    own = None if directory is None else directory_id(directory)
    if overwrite:
        _clear(folder)
    elif _is_used(folder) and (own is None or _owner(folder) != own):
        message = f"{folder} holds what another run has written"
        hint = "--overwrite removes that; or name another folder"
        raise DataError(Diagnostic("OUTPUT_IN_USE", message, hint=hint))
    write_atomically(folder / _MARK, json.dumps({"format": FORMAT, "directory": own}))


def _owner(folder: Path) -> str | None:
    mark = folder / _MARK
    if not mark.is_file():
        return None
    found: str | None = json.loads(mark.read_text(encoding="utf-8")).get("directory")
    return found


def _is_used(folder: Path) -> bool:
    return (folder / _MARK).is_file() or next(_written(folder), None) is not None


def _written(folder: Path) -> Iterator[Path]:
    """The folders of views: those with files of steps, and those with a content that Spark has written."""
    for pattern in ("*/step-*.parquet", "*/step-*.json", "*/_SUCCESS"):
        yield from (path.parent for path in folder.glob(pattern))


def _clear(folder: Path) -> None:
    for path in set(_written(folder)):
        shutil.rmtree(path)
    (folder / _MARK).unlink(missing_ok=True)
