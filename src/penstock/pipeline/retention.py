"""The log of a directory without what nobody needs, where `SET log_retention = 'recovery'` asks for it.

    <directory>/log/cut.json    the first step that is kept, and the positions in sources before it

Two snapshots are kept then, and the steps behind the older of them, so that one may be damaged; of the steps before it
only the rows that a table's history keeps. What no snapshot stands for cannot be made again any more: an upgrade to a
release whose state has another form, or `--rebuild`, is refused with `LOG_GONE`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from penstock.errors import DataError, Diagnostic
from penstock.failpoints import reach
from penstock.pipeline.outbox import Taken
from penstock.pipeline.recovery import settle_program
from penstock.pipeline.source_positions import SourcePositions
from penstock.steps.checked_files import LogDigests, facts_of, has_digest, write_facts
from penstock.steps.log import manifest_path, remove_files
from penstock.steps.recorded import RecordedStep, check_format, check_steps, recorded_step, step_numbers
from penstock.steps.snapshots import Snapshot, snapshots_in

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Cut:
    """The step with which a log begins, 0 for one that is whole, and the positions in sources before it.

    `folders` has for each folder of rows the step before which nothing of it is kept.
    """

    first: int = 0
    sources: SourcePositions = field(default_factory=SourcePositions)
    folders: Mapping[str, int] = field(default_factory=dict)

    def write(self, log: Path) -> None:
        """Write it down."""
        facts = {"format": FORMAT, "first": self.first, "sources": self.sources.to_json(), "folders": self.folders}
        write_facts(log / "cut.json", facts)


def cut_of(log: Path) -> Cut:
    """The cut of the log in a folder."""
    path = log / "cut.json"
    if not path.exists():
        return Cut()
    facts = facts_of(path)
    check_format(path, facts["format"], FORMAT)
    return Cut(int(facts["first"]), SourcePositions(facts["sources"]), dict(facts["folders"]))


def is_cut_log(log: Path) -> bool:
    """True if the first steps are not there any more."""
    return cut_of(log).first > 1


def check_reaches(log: Path, step: int, unused: str = "") -> None:
    """Refuse to make the steps behind one again if some of them are not in the log any more (DataError).

    `unused` says why the state that is there cannot be used.
    """
    first = cut_of(log).first
    if step + 1 < first:
        why = f": {unused}" if unused else ""
        message = (
            f"{log} begins with step {first}, as log_retention = 'recovery' wants it, and no state can be used{why}"
        )
        hint = (
            "go on with the release and the settings that wrote the state, or begin in another directory; with "
            "log_retention = 'all' the log is kept whole"
        )
        raise DataError(Diagnostic("LOG_GONE", message, hint=hint))


def cut_log(directory: Path, snapshots: Sequence[Snapshot]) -> None:
    """Remove what neither the last two snapshots need nor the histories that they know, the later one given first.

    Raises what a file raises that cannot be removed: the next cut goes on with it.
    """
    log = directory / "log"
    if len(snapshots) < 2:  # noqa: PLR2004 - so that one may be damaged
        return
    older = snapshots[1]
    before, first = cut_of(log), older.step
    if first <= before.first or older.reach is None:
        return
    settle_program(directory)  # it asks for the manifest of a step
    digests: dict[str, str] = {}
    for found in _recorded(log, first):
        before.sources.add(found.sources)
        digests |= found.manifest.get("digests", {})
    rows = [folder for folder in (log / "data").glob("*") if folder.is_dir()]
    limits = {folder.name: min(first, older.reach.get(folder.name, first)) for folder in rows}
    Cut(first, before.sources, limits).write(log)
    reach("log.cut")
    LogDigests(log).seal({name: digest for name, digest in digests.items() if stays(name, limits)})
    for folder in rows:
        if limits[folder.name] > before.folders.get(folder.name, 1):
            remove_files(_files_before(folder, limits[folder.name]))
    for found in _recorded(log, first):
        remove_files(found.held)
        manifest_path(log, found.number).unlink(missing_ok=True)


def _recorded(log: Path, until: int) -> Iterator[RecordedStep]:
    """The steps before one that a log has, the first of them first."""
    numbers = (int(path.stem) for path in (log / "steps").glob("*.json"))
    for number in sorted(number for number in numbers if number < until):
        found = recorded_step(log, number)
        if found is not None:
            yield found


def stays(name: str, limits: Mapping[str, int]) -> bool:
    """True for a file of rows, by its name in the log, that is kept: not of an early step, nor of rows that waited."""
    _, folder, file, *_ = Path(name).parts
    return int(file[:12]) >= limits.get(folder, 0) and ".held" not in file and ".told" not in file


def _files_before(folder: Path, step: int) -> list[Path]:
    return [path for path in folder.glob("*") if path.name[:12].isdigit() and int(path.name[:12]) < step]


def check_log(directory: Path) -> None:
    """Refuse a directory whose log lacks steps (DataError), and have all of an earlier release's files have digests.

    Evidence of steps beside the log are snapshots, what outputs have taken, what was declared since the last step, and
    rows: of one step, which never happened, there may be some.
    """
    log = directory / "log"
    known = {str(item.path): int(item.path.name) for item in snapshots_in(directory)}
    known[str(directory / "outputs.json")] = max(Taken(directory).steps.values(), default=0)
    declared = log / "declarations.json"
    if declared.exists():
        known[str(declared)] = int(facts_of(declared)["after"])
    for path in (log / "data").glob("*/*"):
        if path.name[:12].isdigit():
            known[str(path.parent)] = max(known.get(str(path.parent), 0), int(path.name[:12]) - 1)
    check_steps(log, max(1, cut_of(log).first), known)
    seal_log(log)


def seal_log(log: Path) -> None:
    """Have the files of steps that were written without digests have them; does nothing where they have."""
    numbers = step_numbers(log)
    digests = LogDigests(log)
    if not numbers or has_digest(manifest_path(log, numbers[0])) or digests.sealed():
        return
    without = [number for number in numbers if not has_digest(manifest_path(log, number))]
    steps = [step for step in (recorded_step(log, number) for number in without) if step is not None]
    digests.seal(digests.of(path for step in steps for path in (manifest_path(log, step.number), *step.files)))
