"""Files that cannot be written, and disks that are full: which, and why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.errors import DataError, Diagnostic

FULL = "No space left on device"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say of which file it is that it cannot be written; libraries often do not."""
    try:
        yield
    except OSError as error:
        raise cannot_write(str(path), _reason(error)) from error


def cannot_write(what: str, reason: str) -> DataError:
    """The error for what cannot be written."""
    hint = "make room there; nothing has been written by halves" if FULL.lower() in reason.lower() else None
    return DataError(Diagnostic("CANNOT_WRITE", f"{what} cannot be written: {reason}", hint=hint))


def _reason(error: OSError) -> str:
    # Arrow's errors have a long text of their own around the system's.
    return FULL if FULL.lower() in str(error).lower() else error.strerror or str(error)
