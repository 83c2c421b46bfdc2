"""The file that says whose a folder is, and by which openings of a directory the steps in it were made.

    <path>/_penstock.json    {"format": 1, "pipeline": …, "output": …, "marks": [[mark, first step], …]}

A mark is written before the first of its steps is: those that the folder has from there on are that opening's. So the
file changes once for each opening, and the opening that finds it as it has left it knows that no other has written.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from penstock.errors import DataError
from penstock.outputs.receiver import Owner, in_use, unreachable

FORMAT = 1
CLAIM, STAGED = "_penstock.json", "_staged"
LOCK = "lock"
_LOCKLESS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
_TRIES, _PAUSE = 50, 0.1


@dataclass(frozen=True)
class Claim:
    """The claim of an output to a folder; `marks` are those of the last steps, each with the first that has it."""

    pipeline: str
    output: str
    marks: tuple[tuple[str, int], ...] = ()

    def is_of(self, owner: Owner, output: str) -> bool:
        """True if it is that of a pipeline's output."""
        return (self.pipeline, self.output) == (owner.pipeline, output)

    def mark(self, step: int) -> str | None:
        """The mark of a step that is in the folder; None for one from before there were marks."""
        return next((mark for mark, first in reversed(self.marks) if first <= step), None)

    def is_last(self, mark: str) -> bool:
        """True if an opening is the last that has written, so that another would have to change the claim."""
        return bool(self.marks) and self.marks[-1][0] == mark

    def marked(self, step: int, mark: str, last: int) -> Claim:
        """The claim with which a step may be written behind the last that is there."""
        if not mark or self.mark(step) == mark:
            return self
        of_last = [item for item in self.marks if item[1] <= last][-1:]
        return replace(self, marks=(*of_last, (mark, step)))

    def text(self) -> str:
        """The claim as its file has it."""
        return json.dumps({"format": FORMAT, **asdict(self)})


def claim_of(path: Path) -> Claim | None:
    """The claim to a folder; None if nobody has one."""
    try:
        found = json.loads((path / CLAIM).read_text(encoding="utf-8"))
        marks = tuple((str(mark), int(first)) for mark, first in found.get("marks", ()))
        return Claim(found["pipeline"], found["output"], marks)
    except FileNotFoundError:
        return None
    except (AttributeError, KeyError, TypeError, ValueError):
        return Claim("", "an unreadable mark")


def used_by(path: Path, claim: Claim | None) -> DataError:
    """The error for a folder with the claim of another, or with files of steps and none."""
    return in_use(str(path), "files of steps" if claim is None else f"output {claim.output}")


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """A block in which no other process writes into the folder; `Unreachable` if one does so for long.

    On file systems without locks two that begin in the same moment are told apart with their second step.
    """
    descriptor = os.open(path / STAGED / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _lock(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: Path) -> None:
    for _ in range(_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE)
        except OSError as error:
            if error.errno not in _LOCKLESS:
                raise
            return
        else:
            return
    raise unreachable(str(path), "another copy of this pipeline's directory is writing into it now")
