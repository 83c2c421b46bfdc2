"""The things that lie in a pipeline's directory, read without starting it, and beside one that is at work there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from penstock.errors import DataError, Diagnostic, did_you_mean
from penstock.outputs.names import view_name
from penstock.pipeline.outbox import Taken
from penstock.pipeline.parcels import ParcelFiles
from penstock.pipeline.recovery import program_record
from penstock.pipeline.retention import cut_of, is_cut_log
from penstock.pipeline.source_positions import SourcePositions
from penstock.steps.directory import DirectoryLock, lock_holder
from penstock.steps.log import manifest_path
from penstock.steps.origin import FORM, code_digest
from penstock.steps.recorded import recorded_step
from penstock.steps.saved_positions import SavedPositions
from penstock.steps.snapshots import Snapshot, snapshots_in

_DIALECT = "penstock"  # of a directory without a step, in which nothing has been declared


@dataclass(frozen=True, slots=True)
class TableFact:
    """The part of the log that a table has: steps that changed it, rows of changes, and bytes of files."""

    name: str
    steps: int
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class SnapshotFact:
    """A snapshot: `state` is 'usable', or why it is not."""

    step: int | None
    clock: str | None
    bytes: int
    release: str
    state: str


@dataclass(frozen=True, slots=True)
class TakenFact:
    """An output: the step that it has taken last, and how many steps wait for it or have to be made again for it."""

    name: str
    step: int
    lacks: int


@dataclass(frozen=True, slots=True)
class DirectoryFacts:
    """All of a directory. `program` are the statements of the program at work; times are naive UTC.

    `first_step` is the first that the log has, 0 if it has none.
    """

    path: str
    id: str | None
    in_use_by: str | None
    program: tuple[str, ...]
    deployed: bool
    began: str
    step: int
    clock: str | None
    first_step: int
    tables: tuple[TableFact, ...]
    snapshots: tuple[SnapshotFact, ...]
    outputs: tuple[TakenFact, ...]
    sources: Mapping[str, list[Mapping[str, Any]]]
    positions: Mapping[str, int]
    log_bytes: int
    state_bytes: int

    def to_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def directory_facts(directory: Path) -> DirectoryFacts:
    """The things that lie in a directory; DataError if it is not a pipeline's."""
    known = program_record(directory) if directory.is_dir() else None
    if known is None:
        message = f"{directory} is not the directory of a pipeline"
        raise DataError(Diagnostic("NO_PIPELINE", message, hint="name what `penstock run --dir` was given"))
    log = directory / "log"
    tables, sources, last, clock = _steps(log)
    return DirectoryFacts(
        str(directory),
        _text(directory / "id"),
        lock_holder(directory),
        known.present,
        known.deployed is not None,
        known.began.isoformat(),
        last,
        None if clock is None else clock.isoformat(),
        max(1, cut_of(log).first) if last else 0,
        tuple(tables.values()),
        tuple(_snapshot(item, log) for item in snapshots_in(directory)),
        tuple(_outputs(directory, last)),
        sources.to_json(),
        {item.name or "": item.step for item in SavedPositions(log / "positions.json").all},
        _bytes(log),
        _bytes(directory / "state"),
    )


def _steps(log: Path) -> tuple[dict[str, TableFact], SourcePositions, int, datetime | None]:
    """The tables that the manifests tell of, how far sources have been read, and the last step with its clock."""
    tables: dict[str, TableFact] = {}
    sources = cut_of(log).sources
    number, clock = 0, None
    for path in sorted((log / "steps").glob("*.json")):
        found = recorded_step(log, int(path.stem))
        if found is None:
            continue
        number, clock = found.number, found.clock
        sources.add(found.sources)
        for name, item in found.manifest["tables"].items():
            before = tables.get(name, TableFact(name, 0, 0, 0))
            size = _bytes(log / item["file"])
            tables[name] = TableFact(name, before.steps + 1, before.rows + item["rows"], before.bytes + size)
    return tables, sources, number, clock


def _snapshot(found: Snapshot, log: Path) -> SnapshotFact:
    if not found.header:
        return SnapshotFact(None, None, _bytes(found.path), "", "its header cannot be read")
    origin = found.header.get("origin") or {}
    return SnapshotFact(
        found.step,
        found.header.get("clock"),
        found.bytes,
        str(origin.get("release", "")),
        _state_of(found, log, origin),
    )


def _state_of(found: Snapshot, log: Path, origin: Mapping[str, Any]) -> str:
    damage = found.damage()
    if damage is not None:
        return damage
    if origin.get("code") != code_digest():
        if not is_cut_log(log):
            return "written by other code: the log is made again"
        if origin.get("form") != FORM:
            return "written by other code, in another form: the log is cut, and cannot be made again"
    if not manifest_path(log, found.step).exists():
        return "the log does not have its step"
    return "usable"


def _outputs(directory: Path, last: int) -> Iterator[TakenFact]:
    for name, step in Taken(directory).steps.items():
        yield TakenFact(name, step, last - step)
    parcels = ParcelFiles(directory)
    for folder in sorted((directory / "outbox").glob("*")):
        name = view_name(folder.name)
        waiting = sum(1 for path in folder.glob("*.arrow") if int(path.stem) <= last)
        yield TakenFact(name, parcels.last(name), waiting)


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8").strip() if path.exists() else None


def _bytes(path: Path) -> int:
    """The size of a file, or of all files below a folder; of those that go meanwhile nothing counts."""
    if path.is_file():
        return path.stat().st_size
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                total += (Path(folder) / name).stat().st_size
            except FileNotFoundError:
                continue
    return total


def dialect_of(directory: Path) -> str:
    """The dialect in which a directory's program begins, as its log says."""
    log = directory / "log"
    last = max((log / "steps").glob("*.json"), default=None)
    found = log / "declarations.json" if last is None else last
    if not found.exists():
        return _DIALECT
    return str(json.loads(found.read_text(encoding="utf-8")).get("session", {}).get("dialect", _DIALECT))


def forget_output(directory: Path, name: str) -> None:
    """Have an output that is not used any more lack nothing; DataError if it is none, or the directory is in use."""
    lock = DirectoryLock(directory)
    known = directory_facts(directory)
    lock.take()
    try:
        if not Taken(directory).forget(name):
            named = [item.name for item in known.outputs]
            message = f"{directory} knows no output {name!r} of --output"
            raise DataError(Diagnostic("UNKNOWN_OUTPUT", message, candidates=did_you_mean(name, named)))
    finally:
        lock.release()
