"""Files that are there whole or not at all, and survive a power cut."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from penstock.backends.surroundings import writing
from penstock.failpoints import reach


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all, and survives a power cut; DataError if it cannot be."""

    def write(temporary: Path) -> None:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            put_on_disk(file.fileno(), path)
        reach("file.written")

    replace_atomically(path, write)
    with writing(path):
        sync(path.parent)


def replace_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Have a file written beside its place and moved there in one rename; nothing is left of one that fails."""
    temporary = path.with_suffix(".tmp")
    try:
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            write(temporary)
            temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        put_on_disk(descriptor, path)
    finally:
        os.close(descriptor)


def put_on_disk(descriptor: int, path: Path) -> None:
    """Have what was written through a descriptor on the disk; an OSError names the file, unlike fsync's own."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
