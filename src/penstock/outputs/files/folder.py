"""The folder of an output: a step is staged, then its file is finished in one rename; whatever fails can be done again.

A step that is staged, or is in the name of a finished file, has been taken. What a crash leaves is found at opening:
staged steps that a finished file has already are removed, and so are files that were being written. A copy of the
directory that has written in the meantime is found by the folder's claim before each step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from penstock.failpoints import reach
from penstock.outputs.files.claims import CLAIM, LOCK, STAGED, Claim, alone, claim_of, used_by
from penstock.outputs.files.rendering import Rendering
from penstock.outputs.receiver import Owner, refused, unreachable
from penstock.steps.change import Change
from penstock.steps.durable import put_on_disk, sync

_PART = re.compile(r"part-(\d{12})-(\d{12})\.(?:json|csv|parquet)")
_STEP = re.compile(r"(\d{12})\.(?:json|csv|parquet)")


@dataclass
class Folder:
    """One output's folder; a file is finished after so many steps, or bytes, and when the output is closed."""

    path: Path
    rendering: Rendering
    owner: Owner
    output: str
    roll_steps: int | None
    roll_bytes: int | None
    _claim: Claim = field(init=False)
    _staged: dict[int, Path] = field(default_factory=dict)
    _last: int = 0

    def __post_init__(self) -> None:
        """Find what is there."""
        with alone(self.path):
            self._find()

    def _find(self) -> None:
        """Find what is there, and remove what a crash has left; DataError if another has written it."""
        claim = claim_of(self.path)
        if claim is None or not claim.is_of(self.owner, self.output):
            raise used_by(self.path, claim)
        last = max((last for _, last in _parts(self.path)), default=0)
        found = {path: _STEP.fullmatch(path.name) for path in _staged(self.path)}
        staged = {int(step[1]): path for path, step in found.items() if step is not None and int(step[1]) > last}
        newest = max(staged, default=last)
        self.owner.check_mark(newest, claim.mark(newest), str(self.path))
        for path in set(found) - set(staged.values()):
            path.unlink()
        self._claim, self._last, self._staged = claim, last, staged

    def catch_up(self) -> None:
        """Finish the file that was full and could not be finished; `Unreachable` if it still cannot."""
        if self._staged and self._is_full():
            self.close()

    def taken(self) -> int:
        """The last step that is staged or in a file."""
        return max(self._staged, default=self._last)

    def take(self, change: Change) -> None:
        """Stage a step, and finish the file if it is full."""
        try:
            with alone(self.path):
                if not self._is_as_left():
                    self._find()
                if change.step > self.taken():
                    self._mark(change.step)
                    self._stage(change)
                if self._is_full():
                    self._roll()
        except OSError as error:
            raise unreachable(str(self.path), error.strerror or error) from error

    def _is_as_left(self) -> bool:
        """True if nobody else can have written since this opening of the directory has."""
        return self._claim.is_last(self.owner.openings.present) and claim_of(self.path) == self._claim

    def _mark(self, step: int) -> None:
        """Have the claim say who makes the step, before it is there."""
        claim = self._claim.marked(step, self.owner.mark(step), self.taken())
        if claim != self._claim:
            _write(self.path / CLAIM, claim.text().encode())
            self._claim = claim

    def _stage(self, change: Change) -> None:
        path = self.path / STAGED / f"{change.step:012}{self.rendering.suffix}"
        _write(path, self.rendering.piece(change))
        self._staged[change.step] = path

    def _is_full(self) -> bool:
        if self.roll_steps is not None and len(self._staged) >= self.roll_steps:
            return True
        return self.roll_bytes is not None and self._size() >= self.roll_bytes

    def _size(self) -> int:
        return sum(path.stat().st_size for path in self._staged.values())

    def _roll(self) -> None:
        """Have the staged steps be a finished file."""
        first, last = min(self._staged), max(self._staged)
        target = self.path / f"part-{first:012}-{last:012}{self.rendering.suffix}"
        _write(target, self.rendering.whole(self._staged[step] for step in sorted(self._staged)))
        self._last = last
        for path in self._staged.values():
            path.unlink(missing_ok=True)
        self._staged.clear()

    def close(self) -> None:
        """Finish the file that is begun; DataError if a copy of the directory goes on with it."""
        if self._staged:
            try:
                with alone(self.path):
                    if not self._is_as_left():
                        self._find()
                    if self._staged:
                        self._roll()
            except OSError as error:
                raise unreachable(str(self.path), error.strerror or error) from error


def claimed(path: Path, owner: Owner, output: str, *, empties: bool) -> None:
    """Make a folder that of an output; DataError if another pipeline, or another output, has written into it."""
    try:
        (path / STAGED).mkdir(parents=True, exist_ok=True)
        with alone(path):
            claim = claim_of(path)
            if claim is not None and claim.is_of(owner, output):
                return
            used = claim is not None or next(_parts(path), None) is not None
            if used and not empties:
                raise used_by(path, claim)
            for file in _files(path) if used else ():
                file.unlink()
            _write(path / CLAIM, Claim(owner.pipeline, output).text().encode())
    except OSError as error:
        raise refused(str(path), error.strerror or error, "correct 'path', or the rights of the folder") from error


def _parts(path: Path) -> Iterator[tuple[int, int]]:
    """The first and the last step of each finished file."""
    for file in path.iterdir():
        found = _PART.fullmatch(file.name)
        if found is not None:
            yield int(found[1]), int(found[2])


def _staged(path: Path) -> list[Path]:
    """All that lies where steps are staged."""
    return sorted(file for file in (path / STAGED).iterdir() if file.name != LOCK)


def _files(path: Path) -> list[Path]:
    """All that an output has written into a folder, and nothing else."""
    staged = [file for file in _staged(path) if _STEP.fullmatch(file.name)]
    return [*staged, *(file for file in path.iterdir() if _PART.fullmatch(file.name))]


def _write(path: Path, content: bytes) -> None:
    """Have a file be there whole, on the disk, or not at all."""
    folder = path.parent if path.parent.name == STAGED else path.parent / STAGED
    temporary = folder / f"{path.name}.tmp"
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            put_on_disk(file.fileno(), path)
        reach("receiver.within")
        temporary.replace(path)
        sync(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
