"""Temporary folders: removed when their process ends, and by the next one where it was killed.

    <temporary>/penstock-log-a1b2c3/owner    locked by its process for as long as that lives

A folder whose `owner` nobody holds has been left behind; the system lets go of a lock with the process, however that
ends.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

_PREFIX, _OWNER = "penstock-", "owner"


class TemporaryFolder:
    """A folder of this process alone; gone with `remove()`, with the process, or with the object."""

    def __init__(self, what: str) -> None:
        remove_abandoned()
        self.path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{what}-"))
        owner = _locked(self.path / f"{_OWNER}.new")
        # It has its name only once it is locked: whoever looks for abandoned folders never sees it otherwise.
        (self.path / f"{_OWNER}.new").rename(self.path / _OWNER)
        self._end = weakref.finalize(self, _remove, self.path, owner, os.getpid())

    def remove(self) -> None:
        """Remove it now; does nothing the second time."""
        self._end()


def _locked(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _remove(path: Path, owner: int, process: int) -> None:
    if process != os.getpid():  # a fork of it ends, not itself
        return
    shutil.rmtree(path, ignore_errors=True)
    os.close(owner)


def remove_abandoned() -> None:
    """Remove the temporary folders of processes that were killed."""
    for owner in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_OWNER}"):
        with suppress(OSError):  # another process's, or another user's
            descriptor = _locked(owner)
            _remove(owner.parent, descriptor, os.getpid())
