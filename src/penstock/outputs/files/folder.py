"""The folder of an output: a step is staged, then its file is finished in one rename; whatever fails can be done again.

A step that is staged, or is in the name of a finished file, has been taken. What a crash leaves is found at opening:
staged steps that a finished file has already are removed, and so are files that were being written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from penstock.failpoints import reach
from penstock.outputs.files.rendering import Rendering
from penstock.outputs.receiver import Owner, in_use, refused, unreachable
from penstock.steps.change import Change
from penstock.steps.durable import put_on_disk, sync

FORMAT = 1
_MARK, _STAGED = "_penstock.json", "_staged"
_PART = re.compile(r"part-(\d{12})-(\d{12})\.(?:json|csv|parquet)")
_STEP = re.compile(r"(\d{12})\.(?:json|csv|parquet)")


@dataclass
class Folder:
    """One output's folder; a file is finished after so many steps, or bytes, and when the output is closed."""

    path: Path
    rendering: Rendering
    roll_steps: int | None
    roll_bytes: int | None
    _staged: dict[int, Path] = field(default_factory=dict)
    _last: int = 0

    def __post_init__(self) -> None:
        """Find what is there."""
        self._last = max((last for _, last in _parts(self.path)), default=0)
        for path in sorted((self.path / _STAGED).iterdir()):
            found = _STEP.fullmatch(path.name)
            if found is None or int(found[1]) <= self._last:
                path.unlink()
            else:
                self._staged[int(found[1])] = path

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
            path = self.path / _STAGED / f"{change.step:012}{self.rendering.suffix}"
            _write(path, self.rendering.piece(change))
            self._staged[change.step] = path
            if self._is_full():
                self._roll()
        except OSError as error:
            raise unreachable(str(self.path), error.strerror or error) from error

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
        """Finish the file that is begun."""
        if self._staged:
            try:
                self._roll()
            except OSError as error:
                raise unreachable(str(self.path), error.strerror or error) from error


def claimed(path: Path, owner: Owner, output: str, *, empties: bool) -> None:
    """Make a folder that of an output; DataError if another pipeline, or another output, has written into it."""
    own = {"format": FORMAT, "pipeline": owner.pipeline, "output": output}
    try:
        (path / _STAGED).mkdir(parents=True, exist_ok=True)
        if _mark(path) == own:
            return
        used = _mark(path) is not None or next(_parts(path), None) is not None
        if used and not empties:
            raise in_use(str(path), _writer(_mark(path)))
        for file in _files(path) if used else ():
            file.unlink()
        _write(path / _MARK, json.dumps(own).encode())
    except OSError as error:
        raise refused(str(path), error.strerror or error, "correct 'path', or the rights of the folder") from error


def _mark(path: Path) -> object:
    """The mark of who writes into a folder; None if there is none."""
    try:
        found: object = json.loads((path / _MARK).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        return {"output": "an unreadable mark"}
    return found


def _writer(mark: object) -> str:
    return f"output {mark.get('output')}" if isinstance(mark, dict) else "files of steps"


def _parts(path: Path) -> Iterator[tuple[int, int]]:
    """The first and the last step of each finished file."""
    for file in path.iterdir():
        found = _PART.fullmatch(file.name)
        if found is not None:
            yield int(found[1]), int(found[2])


def _files(path: Path) -> list[Path]:
    """All that an output has written into a folder, and nothing else."""
    staged = [file for file in (path / _STAGED).iterdir() if _STEP.fullmatch(file.name)]
    return [*staged, *(file for file in path.iterdir() if _PART.fullmatch(file.name))]


def _write(path: Path, content: bytes) -> None:
    """Have a file be there whole, on the disk, or not at all."""
    folder = path.parent if path.parent.name == _STAGED else path.parent / _STAGED
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
