"""Disasters at a file operation or a failpoint: the process ends there, or the operation fails as on a full disk.

Python tells of each file that it opens, renames, makes or removes before it does so (`sys.addaudithook`), so that
what happens can be anywhere between two of them: not only at the places that have a name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from penstock import failpoints

_OPERATIONS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link"}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Killed(BaseException):
    """The process has ended here, as far as anybody outside can tell."""


@dataclass(frozen=True)
class Disaster:
    """What happens: the process ends `at` a failpoint or before a file operation, for the `number`th time.

    Or that operation fails: that one alone, or it and all writing behind it.
    """

    what: Literal["kill", "error", "full"]
    number: int = 1
    at: str | None = None
    errno: int = 0


@dataclass
class _Watch:
    folder: str
    disaster: Disaster
    end: Callable[[], None]
    seen: int = 0
    happened: bool = False


_watch: _Watch | None = None
_hooked = False


@contextmanager
def under(disaster: Disaster | None, folder: Path, end: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """A block in which a disaster happens to the files of a folder; `end` ends the process. Gives whether it has."""
    global _watch  # noqa: PLW0603 - a hook cannot be taken away again
    if disaster is None:
        yield lambda: False
        return
    _hook()
    watch = _watch = _Watch(f"{folder}{os.sep}", disaster, end)
    if disaster.at is not None:
        os.environ[failpoints.VARIABLE] = f"{disaster.at}:{disaster.number}"
        failpoints.begin_counting()
    ending, failpoints.end = failpoints.end, lambda: _ended(watch)
    try:
        yield lambda: watch.happened
    finally:
        _watch, failpoints.end = None, ending
        os.environ.pop(failpoints.VARIABLE, None)


def _hook() -> None:
    global _hooked  # noqa: PLW0603
    if not _hooked:
        sys.addaudithook(_heard)
        _hooked = True


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    watch = _watch
    if watch is None or event not in _OPERATIONS or watch.disaster.at is not None:
        return
    path = arguments[0]
    if not isinstance(path, str | os.PathLike) or not os.fspath(path).startswith(watch.folder):
        return
    watch.seen += 1
    if watch.seen < watch.disaster.number:
        return
    match watch.disaster.what:
        case "kill" if watch.seen == watch.disaster.number:
            _ended(watch)
        case "error" if watch.seen == watch.disaster.number:
            _fail(watch, path)
        case "full" if _writes(event, arguments):
            _fail(watch, path)


def _writes(event: str, arguments: tuple[Any, ...]) -> bool:
    return event == "os.mkdir" or (event == "open" and bool(int(arguments[2] or 0) & _WRITES))


def _fail(watch: _Watch, path: Any) -> None:
    watch.happened = True
    number = watch.disaster.errno
    raise OSError(number, os.strerror(number), os.fspath(path))


def _ended(watch: _Watch) -> None:
    global _watch
    _watch, watch.happened = None, True
    watch.end()
