"""The log of a directory without what nobody needs, where `SET log_retention = 'recovery'` asks for it.

    <directory>/log/cut.json    the first step that is kept, and how far sources had been read before it

Two snapshots are kept then, and the steps behind the older of them, so that one may be damaged; of the steps before it
only the rows that a table's history keeps. What no snapshot of this code stands for cannot be made again any more: an
upgrade, or `--rebuild`, is refused with `LOG_GONE`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.catalog.model import ERROR_VIEW, Catalog, Table
from penstock.errors import DataError, Diagnostic
from penstock.failpoints import reach
from penstock.pipeline.source_positions import SourcePositions
from penstock.steps.durable import write_atomically
from penstock.steps.log import InputLog, data_folder, history_span, manifest_path, remove_files
from penstock.steps.recorded import RecordedStep, check_format, recorded_step
from penstock.steps.snapshots import snapshots_in

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Cut:
    """The step with which a log begins, 0 for one that is whole, and the positions in sources before it.

    `folders` are those of the tables that there were at step `at`.
    """

    first: int = 0
    sources: SourcePositions = field(default_factory=SourcePositions)
    at: int = 0
    folders: frozenset[str] = frozenset()

    def write(self, log: Path) -> None:
        """Write it down."""
        facts: dict[str, Any] = {"format": FORMAT, "first": self.first, "sources": self.sources.to_json()}
        facts |= {"at": self.at, "folders": sorted(self.folders)}
        write_atomically(log / "cut.json", json.dumps(facts, ensure_ascii=False))


def cut_of(log: Path) -> Cut:
    """The cut of the log in a folder."""
    path = log / "cut.json"
    if not path.exists():
        return Cut()
    facts = json.loads(path.read_text(encoding="utf-8"))
    check_format(path, facts["format"], FORMAT)
    return Cut(int(facts["first"]), SourcePositions(facts["sources"]), int(facts["at"]), frozenset(facts["folders"]))


def check_reaches(log: Path, step: int) -> None:
    """Refuse to make the steps behind one again if some of them are not in the log any more (DataError)."""
    first = cut_of(log).first
    if step + 1 < first:
        message = f"{log} begins with step {first}, as log_retention = 'recovery' wants it: no step can be made again"
        hint = (
            "go on with the release, the libraries and the settings that wrote the state, or begin in another "
            "directory; with log_retention = 'all' the log is kept whole"
        )
        raise DataError(Diagnostic("LOG_GONE", message, hint=hint))


def cut_log(directory: Path, log: InputLog, catalog: Catalog) -> None:
    """Remove what neither the two last snapshots nor a history needs; raises what a file raises that cannot be."""
    steps = [found.step for found in snapshots_in(directory) if found.header]
    before = cut_of(log.folder)
    if len(steps) < 2 or steps[1] <= before.first:  # noqa: PLR2004 - two snapshots
        return
    at, first = steps[:2]
    gone = list(_recorded(log.folder, first))
    for found in gone:
        before.sources.add(found.sources)
    folders = {data_folder(log.folder, table.name): table for table in (ERROR_VIEW, *catalog.tables.values())}
    Cut(first, before.sources, at, frozenset(folder.name for folder in folders)).write(log.folder)
    reach("log.cut")
    for folder, table in folders.items():
        remove_files(_files_before(folder, _needed(log, table, first, folder)))
    for folder in (log.folder / "data").iterdir():
        # A table that had gone with the older snapshot; one that went since is still made again.
        if folder not in folders and before.at == first and folder.name not in before.folders:
            remove_files(_files_before(folder, first))
    for found in gone:
        remove_files(found.held)
        manifest_path(log.folder, found.number).unlink(missing_ok=True)


def _recorded(log: Path, until: int) -> Iterator[RecordedStep]:
    """The steps before one that a log has, the first of them first."""
    numbers = (int(path.stem) for path in (log / "steps").glob("*.json"))
    for number in sorted(number for number in numbers if number < until):
        found = recorded_step(log, number)
        if found is not None:
            yield found


def _needed(log: InputLog, table: Table, step: int, folder: Path) -> int:
    """The first step whose rows the history of a table keeps after a step."""
    if table == ERROR_VIEW:
        return min(step, log.first_of(table))
    clock, history = log.moments.clock_of(step), table.history.lower()
    if history in {"all", "none"} or clock is None:
        return 0 if history == "all" else step
    last = max((_step_of(path) for path in _files_before(folder, step + 1)), default=0)  # which it keeps, however old
    return min(last, log.moments.step_before(clock - history_span(table)) + 1)


def _files_before(folder: Path, step: int) -> list[Path]:
    if step <= 1:
        return []
    return [path for path in folder.glob("*") if path.name[:12].isdigit() and _step_of(path) < step]


def _step_of(path: Path) -> int:
    return int(path.name[:12])
