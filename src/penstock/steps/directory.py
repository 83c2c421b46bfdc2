"""A pipeline's directory is one process's at a time.

    <directory>/lock    held while a pipeline works here; the process that holds it is named in it
    <directory>/id      tells it from every other directory, wherever it is moved

The lock is the system's, which lets go of it when its process ends, however it ends: nothing is to be cleared away.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import DataError, Diagnostic

_LOCK, _ID = "lock", "id"
_OWN = (_LOCK, _ID, "program.json", "log/steps")
_STORES = ("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "wasb", "wasbs", "hdfs", "http", "https")
_NOBODYS = ("lost+found", "socket")  # the latter is there while somebody runs, or was when they ended


@dataclass
class DirectoryLock:
    """A directory that is held until `release`."""

    path: Path
    _descriptor: int = -1

    def take(self) -> None:
        """Hold the directory; DataError if another pipeline does."""
        self.path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(descriptor, 200, 0).decode(errors="replace").strip()
            os.close(descriptor)
            raise _in_use(self.path, owner) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {os.uname().nodename}\n".encode(), 0)
        self._descriptor = descriptor

    def check_there(self) -> None:
        """DataError if the directory is not the one that is held: it was removed, or another took its place."""
        try:
            there = (self.path / _LOCK).stat()
        except OSError:
            there = None
        held = os.fstat(self._descriptor)
        if there is None or (there.st_dev, there.st_ino) != (held.st_dev, held.st_ino):
            message = f"{self.path} is not there any more, or is another directory than the one that was opened"
            hint = "nothing more is taken in; the rows taken before are in what was removed: put it back, or begin anew"
            raise DataError(Diagnostic("DIRECTORY_GONE", message, hint=hint))

    def release(self) -> None:
        """Let go of it; does nothing if it is not held."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def check_possible(path: Path) -> None:
    """DataError for a path that cannot be a directory of ours: nothing can be made there, or written into it.

    It is tried with a folder that is removed again, since permissions do not tell what a file system allows.
    """
    if "://" in str(path) or str(path).partition(":/")[0] in _STORES:
        reason = "the directory of a pipeline lies in a file system of this machine, or one that is mounted here"
        raise _impossible(path, reason)
    nearest = path
    while not os.path.lexists(nearest) and nearest.parent != nearest:
        nearest = nearest.parent
    if not nearest.is_dir():
        raise _impossible(path, f"{nearest} is {'a file' if nearest.exists() else 'a link to nothing'}")
    try:
        probe = tempfile.mkdtemp(prefix=".penstock-", dir=nearest)
        Path(probe).rmdir()
    except OSError as error:
        what = "be written into" if nearest == path else f"be made in {nearest}"
        raise _impossible(path, f"nothing can {what}: {error.strerror or error}") from None


def _impossible(path: Path, reason: str) -> DataError:
    message = f"{path} cannot be the directory of a pipeline: {reason}"
    return DataError(
        Diagnostic("CANNOT_BE_A_DIRECTORY", message, hint="name a folder that can be made and written into")
    )


def check_own(path: Path) -> None:
    """DataError for a folder with files of somebody else's: what a pipeline keeps would lie among them.

    Names that begin with a dot, what a file system puts into its root, and the socket of a run are nobody's.
    """
    if not path.is_dir() or any((path / name).exists() for name in _OWN):
        return
    found = sorted(item.name for item in path.iterdir() if not item.name.startswith(".") and item.name not in _NOBODYS)
    if found:
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        message = f"{path} is not the directory of a pipeline, and not empty: {found[0]}{more}"
        hint = f"name a folder of the pipeline's own, such as {path / 'state'}; it is made if there is none"
        raise DataError(Diagnostic("FOREIGN_DIRECTORY", message, hint=hint))


def lock_holder(path: Path) -> str | None:
    """The holder of a directory, as it is named there; None if nobody does. Nothing is taken, not even for a moment."""
    lock = path / _LOCK
    try:
        found = lock.stat()
        named = lock.read_text(encoding="utf-8", errors="replace").strip()
        held = Path("/proc/locks").read_text(encoding="ascii")
    except FileNotFoundError:
        return None
    holds = any(_is_of(line, found, named) for line in held.splitlines())
    return (named or "another process") if holds else None


def _is_of(line: str, lock: os.stat_result, named: str) -> bool:
    """True if a line of /proc/locks is the lock of a file.

    Some file systems have another device there than a file tells: then it is the lock of the process that is named.
    """
    words = line.split()
    if "FLOCK" not in words or "->" in words:
        return False
    process, place = words[-4], words[-3]
    device, _, inode = place.rpartition(":")
    here = f"{os.major(lock.st_dev):02x}:{os.minor(lock.st_dev):02x}"
    return inode == str(lock.st_ino) and (device == here or named.startswith(f"process {process} on "))


def _in_use(path: Path, owner: str) -> DataError:
    message = f"{path} is in use by {owner or 'another process'}"
    hint = "end that pipeline first, or name another directory"
    return DataError(Diagnostic("DIRECTORY_IN_USE", message, hint=hint))


def directory_id(path: Path) -> str:
    """The identifier that tells the directory from every other; it is made, with the directory, if there is none."""
    path.mkdir(parents=True, exist_ok=True)
    try:
        with (path / _ID).open("x", encoding="ascii") as file:
            file.write(uuid.uuid4().hex)
    except FileExistsError:
        pass
    return (path / _ID).read_text(encoding="ascii")
