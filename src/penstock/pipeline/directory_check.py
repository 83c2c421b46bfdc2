"""`penstock fsck`: every file of a pipeline's directory is compared with its digest, and what is damaged is mended.

A snapshot that is damaged costs nothing but time: there is one before it, or the log. What outputs have taken is also
in their parcels. Where a step of the log is damaged, and a whole snapshot is behind it, the log is cut there; without
one the log ends before that step. What a repair replaces is moved to `damaged/` of the directory.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from penstock.errors import DataError, Diagnostic, PenstockError
from penstock.outputs.names import view_name
from penstock.pipeline.outbox import Taken
from penstock.pipeline.parcels import read_parcel
from penstock.pipeline.retention import Cut, cut_of, stays
from penstock.steps.checked_files import LogDigests, facts_of, write_facts
from penstock.steps.directory import DirectoryLock
from penstock.steps.log import manifest_path
from penstock.steps.recorded import RecordedStep, last_step, recorded_step, step_numbers
from penstock.steps.snapshots import Snapshot, snapshots_in

Progress = Callable[[int, int], None]
_PROGRAM, _OUTPUTS = "program.json", "outputs.json"
# Small files, what is lost with each, and whether a repair can do without it.
_SMALL = {
    _PROGRAM: "the program is read from the first step of the log, as long as no other was deployed",
    _OUTPUTS: "what outputs have taken is read from their parcels; a step may be given to an output twice",
    "openings.json": "two copies of the directory at work at once are not told apart up to the present step",
    "queries.json": "the queries of the last session are not told of",
    "log/declarations.json": "what was declared by a session since the last step is lost",
    "log/positions.json": "the saved positions are lost",
}


@dataclass(frozen=True, slots=True)
class Damage:
    """A file that is not what was written, or is missing; what that costs, and what a repair does."""

    file: str
    what: str
    cost: str
    repair: str
    step: int | None = None  # of a step of the log


@dataclass(slots=True)
class DirectoryCheck:
    """The result of a check: how many files it has read, and those that are damaged.

    `repaired` says what a repair has done.
    """

    path: str
    files: int = 0
    damages: list[Damage] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """True if nothing is damaged, or is not any more."""
        return not self.damages or bool(self.repaired)

    def to_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**asdict(self), "whole": self.is_whole}


def check_directory(directory: Path, *, repair: bool = False, progress: Progress | None = None) -> DirectoryCheck:
    """Check every file of a directory that nobody works in, and mend it if that is asked for.

    DataError if it is not a pipeline's, somebody works in it, or a repair cannot mend it; nothing is changed then.
    """
    if not (directory / "log").is_dir():
        message = f"{directory} is not the directory of a pipeline"
        raise DataError(Diagnostic("NO_PIPELINE", message, hint="name what `penstock run --dir` was given"))
    lock = DirectoryLock(directory)
    lock.take()
    try:
        checker = _Checker(directory, progress)
        checker.check()
        if repair and checker.result.damages:
            _Repair(directory, checker).run()
        return checker.result
    finally:
        lock.release()


class _Checker:
    """Reads all files and collects what is damaged."""

    def __init__(self, directory: Path, progress: Progress | None) -> None:
        self.directory = directory
        self.log = directory / "log"
        self.result = DirectoryCheck(str(directory))
        self.snapshots: list[Snapshot] = []  # those that are whole, the latest first
        self.cut: Cut | None = None
        self._progress = progress
        self._total = sum(1 for path in directory.rglob("*") if path.is_file())

    def check(self) -> None:
        """Read everything once."""
        self._small()
        self._steps()
        for snapshot in snapshots_in(self.directory):
            self._snapshot(snapshot)
        self._parcels()

    def _read(self, count: int = 1) -> None:
        self.result.files += count
        if self._progress is not None:
            self._progress(self.result.files, self._total)

    def _damaged(self, path: Path, what: object, cost: str, repair: str, step: int | None = None) -> None:
        name = path.relative_to(self.directory).as_posix()
        text = what.diagnostics[0].message if isinstance(what, PenstockError) else str(what)
        self.result.damages.append(Damage(name, text.replace(f"{self.directory}/", ""), cost, repair, step))

    def _small(self) -> None:
        for name, cost in _SMALL.items():
            path = self.directory / name
            if path.exists():
                self._read()
                try:
                    facts_of(path)
                except DataError as error:
                    self._damaged(path, error, cost, "it is set aside")
        try:
            self.cut = cut_of(self.log)
        except DataError as error:
            cost = "how far the log has been cut is read from the steps that are there"
            self._damaged(self.log / "cut.json", error, cost, "it is written anew")

    def _steps(self) -> None:
        numbers = step_numbers(self.log)
        first = max(1, self.cut.first) if self.cut is not None else min(numbers, default=1)
        last = max((*numbers, *(int(path.path.name) for path in snapshots_in(self.directory))), default=0)
        there = set(numbers)
        for number in range(first, last + 1):
            path = manifest_path(self.log, number)
            if number not in there:
                self._step(path, "it is missing", number)
                continue
            self._read()
            try:
                step = recorded_step(self.log, number)
            except (PenstockError, KeyError) as error:
                self._step(path, error, number)
                continue
            for name in step.manifest.get("digests", {}) if step is not None else ():
                self._rows(self.log / name, number)
        for name in LogDigests(self.log).sealed() if self._seals() else ():
            if not name.startswith("steps/"):
                self._rows(self.log / name, int(Path(name).parts[2][:12]))

    def _seals(self) -> bool:
        try:
            LogDigests(self.log).sealed()
        except DataError as error:
            cost = "files of steps that were written by an earlier release are not checked"
            self._damaged(self.log / "digests.jsonl", error, cost, "it is written anew")
            return False
        return True

    def _step(self, path: Path, what: object, number: int) -> None:
        cost = f"step {number:,} cannot be made again, nor any behind it without a snapshot"
        self._damaged(path, what, cost, "see below", number)

    def _rows(self, path: Path, step: int) -> None:
        self._read()
        whole = self.log.joinpath(*path.relative_to(self.log).parts[:3])  # Spark writes a folder
        try:
            if not path.exists():
                self._step(path, "it is missing", step)
            else:
                LogDigests(self.log).check(whole, again=True)
        except DataError as error:
            self._step(path, error, step)

    def _snapshot(self, snapshot: Snapshot) -> None:
        if not snapshot.header:
            self._lost(snapshot.path / "header.json", "its digest is another, or it is missing")
            return
        self._read(len(snapshot.header["files"]) + 1)
        damage = snapshot.damage()
        if damage is not None:
            self._lost(snapshot.path, damage)
        else:
            self.snapshots.append(snapshot)

    def _lost(self, path: Path, what: str) -> None:
        cost = "the snapshot before it is used, or the steps of the log are made again, which takes longer"
        self._damaged(path, what, cost, "it is set aside")

    def _parcels(self) -> None:
        for path in sorted((self.directory / "outbox").glob("*/*")):
            self._read()
            try:
                read_parcel(path)
            except (PenstockError, KeyError, TypeError, AttributeError) as error:
                cost = f"the output is given step {int(path.stem):,} anew, if the log still has it"
                self._damaged(path, error, cost, "it is set aside")


class _Repair:
    """Mends what a check has found; each file that it replaces is moved aside."""

    def __init__(self, directory: Path, checker: _Checker) -> None:
        self._directory = directory
        self._checker = checker
        self._log = directory / "log"
        self._aside = directory / "damaged" / datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
        self._did = checker.result.repaired

    def run(self) -> None:
        """Mend it; DataError where there is nothing to mend it from, before anything is changed."""
        bad = sorted({item.step for item in self._checker.result.damages if item.step is not None})
        snapshot = next((item for item in self._checker.snapshots if bad and item.step >= bad[-1]), None)
        self._check_program(bad, snapshot)
        for item in self._checker.result.damages:
            if item.step is None:
                self._set_aside(self._directory / item.file)
        if snapshot is not None:
            self._cut_behind(snapshot)
        elif bad:
            self._end_before(bad[0])
        self._write_cut()
        self._write_taken()

    def _check_program(self, bad: list[int], snapshot: Snapshot | None) -> None:
        """DataError if the program is lost, and the first step that tells it too."""
        names = {item.file for item in self._checker.result.damages}
        if _PROGRAM not in names:
            return
        if 1 in bad or recorded_step(self._log, 1) is None or snapshot is not None:
            message = (
                f"{self._directory / _PROGRAM} is damaged, and the first step of the log is not there to read it from"
            )
            hint = "take program.json from a copy of the directory"
            raise DataError(Diagnostic("DAMAGED_DIRECTORY", message, hint=hint))

    def _set_aside(self, path: Path) -> None:
        if not path.exists():
            return
        name = path.relative_to(self._directory)
        if name.parts[0] == "state":  # a snapshot goes whole
            name = Path(*name.parts[:2])
        source, target = self._directory / name, self._aside / name
        if source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(source, target)
            self._did.append(f"{name.as_posix()} is in {target.relative_to(self._directory).as_posix()}")

    def _cut_behind(self, snapshot: Snapshot) -> None:
        """Have the log begin with the step of a snapshot that is whole."""
        before = self._checker.cut or Cut()
        limits = self._limits(before)
        digests: dict[str, str] = {}
        for number in step_numbers(self._log):
            found = self._readable(number) if number < snapshot.step else None
            if found is not None:
                before.sources.add(found.sources)
                digests |= found.manifest.get("digests", {})
        LogDigests(self._log).seal({name: digest for name, digest in digests.items() if stays(name, limits)})
        Cut(snapshot.step, before.sources, limits).write(self._log)
        for path in self._files(lambda number: number < snapshot.step):
            if path.suffix == ".json" or not stays(path.relative_to(self._log).as_posix(), limits):
                self._set_aside(path)
        for other in snapshots_in(self._directory):
            if int(other.path.name) < snapshot.step:
                self._set_aside(other.path)
        self._did.append(
            f"the log begins with step {snapshot.step:,}, behind which a whole snapshot is: the steps before it cannot "
            "be made again, and the histories of tables begin behind the rows that are damaged"
        )

    def _limits(self, before: Cut) -> dict[str, int]:
        """For each folder of rows the step before which nothing of it is kept."""
        limits = {path.name: before.folders.get(path.name, 1) for path in (self._log / "data").glob("*")}
        for item in self._checker.result.damages:
            parts = Path(item.file).parts
            folders = parts[2:3] if parts[:2] == ("log", "data") else tuple(limits)
            for folder in () if item.step is None else folders:
                limits[folder] = max(limits.get(folder, 1), (item.step or 0) + 1)
        return limits

    def _readable(self, number: int) -> RecordedStep | None:
        try:
            return recorded_step(self._log, number)
        except PenstockError:
            return None

    def _end_before(self, number: int) -> None:
        """Have the log end before a step that nothing stands for."""
        last = max((last_step(self._log), *(item.step for item in self._checker.snapshots)), default=0)
        for path in self._files(lambda step: step >= number):
            self._set_aside(path)
        self._set_aside(self._log / "declarations.json")
        for snapshot in snapshots_in(self._directory):
            if int(snapshot.path.name) >= number:
                self._set_aside(snapshot.path)
        for path in sorted((self._directory / "outbox").glob("*/*")):
            if int(path.stem) >= number:
                self._set_aside(path)
        self._did.append(
            f"the log ends with step {number - 1:,}; steps {number:,} to {last:,} are lost. What their sources can "
            "read again (files, Kafka, PostgreSQL while it keeps it, Delta, Iceberg) is read again; rows that were "
            "pushed or typed are lost. An output that has got what those steps showed is refused (COPIED_DIRECTORY) "
            "until it is emptied, or another one is named"
        )

    def _files(self, chosen: Callable[[int], bool]) -> Iterator[Path]:
        for path in [*(self._log / "steps").glob("*.json"), *(self._log / "data").glob("*/*")]:
            if path.name[:12].isdigit() and chosen(int(path.name[:12])):
                yield path

    def _write_cut(self) -> None:
        numbers = step_numbers(self._log)
        if self._checker.cut is None and numbers and numbers[0] > 1:
            Cut(numbers[0]).write(self._log)

    def _write_taken(self) -> None:
        """Have no output be ahead of the log, and those that are not known any more be where their parcels say."""
        last = last_step(self._log)
        path = self._directory / _OUTPUTS
        known = Taken(self._directory).steps if path.exists() else self._of_parcels()
        steps = {name: min(step, last) for name, step in known.items()}
        if steps and (steps != known or not path.exists()):
            write_facts(path, {"format": 1, "taken": steps})
            self._did.append("outputs.json says what the log and the parcels of outputs say")

    def _of_parcels(self) -> dict[str, int]:
        """The last step that each output has taken, as its parcels say."""
        steps: dict[str, int] = {}
        for folder in (self._directory / "outbox").glob("*"):
            waiting = [int(path.stem) - 1 for path in folder.glob("*.arrow")]
            there = [int(path.stem) for path in folder.glob("*.taken")]
            if waiting or there:
                steps[view_name(folder.name)] = max(there) if there else min(waiting)
        return steps
