"""Snapshots: all that is remembered between two steps, in the directory, so that going on need not make them again.

    <directory>/state/000000000042/header.json    step, clock, what it was written by (`Origin`), a digest of each file
    <directory>/state/000000000042/rows.duckdb    the tables of the store
    <directory>/state/000000000042/spark-…/       Parquet files, a folder for each layer of rows on the executors
    <directory>/state/000000000042/memory.bin     all else (`memory_file`), as values that refer to those by name
    <directory>/state/000000000041.aside/         one that could not be read

A snapshot appears in one rename, and the one before it goes, or the one before that where two are kept. It is used only
by the code that has written it, to its last byte, and only beside the log that it was written beside: anything else
makes the steps of the log again, which gives the same. Where the log is cut, and cannot be made again, one is used that
other code has written in the same form (`origin.FORM`). What works in another place than it did is `moving` there.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from penstock.catalog.model import Catalog
from penstock.errors import DataError, PenstockError, UnsupportedError, message_of
from penstock.failpoints import reach
from penstock.steps.checked_files import digest_of, facts_of, write_facts
from penstock.steps.durable import sync
from penstock.steps.events import Event, StateNotKept, StateOfOtherCode
from penstock.steps.memory_file import dumped, loaded
from penstock.steps.moving import move
from penstock.steps.origin import Origin
from penstock.steps.state import State

FORMAT = 1
SHARE = 20.0  # of the time between two snapshots that one may take: a twentieth
AT_END_SECONDS = 0.2  # of steps that are quicker to make again than to write down
HEADER, ROWS, MEMORY = "header.json", "rows.duckdb", "memory.bin"
_ASIDE, _UNDER_WAY = ".aside", ".tmp"


@dataclass(frozen=True)
class Snapshot:
    """A snapshot that lies in a directory, by its header."""

    path: Path
    header: Mapping[str, Any]

    @property
    def step(self) -> int:
        """The step behind which it is."""
        return int(self.header["step"])

    @property
    def bytes(self) -> int:
        """The size of its files."""
        return sum(int(item["bytes"]) for item in self.header["files"].values())

    @property
    def reach(self) -> Mapping[str, int] | None:
        """The first step of which each history had rows, by its folder; None if it does not say."""
        found: Mapping[str, int] | None = self.header.get("reach")
        return found

    def damage(self) -> str | None:
        """In which way it is not what was written; None if it is."""
        for name, item in self.header["files"].items():
            path = self.path / name
            if not path.is_file() or path.stat().st_size != item["bytes"]:
                return f"{name} is not as long as it was written"
            if digest_of(path) != item["digest"]:
                return f"{name} is not what was written"
        return None


def snapshots_in(directory: Path) -> Iterator[Snapshot]:
    """The snapshots of a directory, the latest first; those whose header cannot be read have an empty one."""
    folder = directory / "state"
    for path in sorted(folder.glob("0*[0-9]"), reverse=True):
        try:
            header = facts_of(path / HEADER)
            found = Snapshot(path, header)
            yield found if found.step >= 0 and found.bytes >= 0 and header["format"] else Snapshot(path, {})
        except (DataError, OSError, ValueError, KeyError, TypeError, AttributeError):
            yield Snapshot(path, {})


class Snapshots:
    """The snapshots of a directory; `tell` is told of one that cannot be written or read, or that other code wrote.

    `is_cut` says whether its log is not whole any more.
    """

    def __init__(
        self,
        directory: Path,
        origin: Origin,
        tell: Callable[[Event], None],
        *,
        is_cut: Callable[[], bool] = lambda: False,
    ) -> None:
        self.folder = directory / "state"
        self._directory = directory
        self._origin = origin
        self._tell = tell
        self._is_cut = is_cut
        self._cost = 0.0  # seconds of the last one
        self._worked = 0.0  # seconds of steps since then
        self.last = 0  # the step of the last one, which is written or taken over
        self.keeps_two = False  # where the log is cut, so that a damaged one is not the end
        self.unused = ""  # the reason for which the one that was looked at last cannot be used
        self.refused: str | None = None  # the reason for which the state is not one that can be written

    def worked(self, seconds: float) -> None:
        """A step has taken so long: as long would it take to make it again."""
        self._worked += seconds

    def is_due(self, seconds: float) -> bool:
        """True if steps have taken more than so many seconds, and what is written costs them little; always for 0."""
        return self.refused is None and self._worked > (max(seconds, SHARE * self._cost) if seconds else 0)

    def is_worth_it(self, seconds: float) -> bool:
        """True at the end, if making the steps since the last one again would take longer than writing one now."""
        return self.refused is None and self._worked > min(seconds, AT_END_SECONDS)

    def take(self, state: State, more: Mapping[str, Any], maintain: Callable[[], None]) -> bool:
        """Write the state between two steps, and `more`; False if it cannot be written, or has not changed.

        `maintain` has it take as little room as it needs.
        Raises nothing but what interrupts it: without a snapshot the log is made again.
        """
        if self.refused is not None or state.number in {0, self.last} or not _is_settled(state):
            return False
        began = time.perf_counter()
        try:
            state.log.check_there()
            maintain()
            self._put(state, more)
        except UnsupportedError as error:
            self.refused = message_of(error)
            self._tell(
                StateNotKept(
                    f"no state is written, so going on will make the steps of the log again: {message_of(error)}"
                )
            )
            return False
        except (PenstockError, OSError) as error:
            self._tell(StateNotKept(f"the state after step {state.number} is not written: {message_of(error)}"))
            self._worked = 0.0  # it is tried again when as much has been done
            return False
        self._cost, self._worked, self.last = time.perf_counter() - began, 0.0, state.number
        return True

    def _own(self) -> list[Snapshot]:
        """The snapshots that this code can use, the latest first."""
        return [item for item in snapshots_in(self._directory) if self._reads(item)]

    def _reads(self, found: Snapshot) -> bool:
        origin = found.header.get("origin")
        if self._origin.reads(origin):
            return True
        other = self._origin.is_of_other_code(origin) and self._origin.reads(origin, last_resort=True)
        return other and self._is_cut()

    def cut(self, work: Callable[[Path, Sequence[Snapshot]], None]) -> None:
        """Have the directory without what no snapshot needs; what keeps it from that is told, and tried again."""
        try:
            work(self._directory, self._own())
        except (PenstockError, OSError) as error:
            self._tell(StateNotKept(f"the log is not cut: {message_of(error)}"))

    def _put(self, state: State, more: Mapping[str, Any]) -> None:
        path = self.folder / f"{state.number:012}"
        temporary = path.with_suffix(_UNDER_WAY)
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        try:
            self._write(temporary, state, more)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        reach("state.whole")
        if path.exists():  # one of other code, or that could not be read
            path.replace(self._free(path, _ASIDE))
        temporary.replace(path)
        sync(self.folder)
        sync(self._directory)
        reach("state.named")
        self._remove_others(path)
        reach("state.removed")

    def _write(self, folder: Path, state: State, more: Mapping[str, Any]) -> None:
        store = state.engine.store
        indexes = [] if store is None else store.save(folder / ROWS)
        reach("state.rows")
        remembered = {**_remembered(state), "indexes": indexes, "more": dict(more)}
        rows = state.engine.row_files(folder)
        memory = dumped(remembered, state, self._directory, rows)
        reach("state.parquet")
        (folder / MEMORY).write_bytes(memory)
        written = [*sorted(path for path in folder.iterdir() if path.is_file()), *rows.paths]
        for path in (*written, *{path.parent for path in written}):
            sync(path)
        header = {
            "format": FORMAT,
            "step": state.number,
            "clock": None if state.clock is None else state.clock.isoformat(),
            "manifest": digest_of(state.log.manifest_of(state.number)),
            "origin": asdict(self._origin),
            "reach": state.log.reach(),
            "files": {
                path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "digest": digest_of(path)}
                for path in written
            },
        }
        write_facts(folder / HEADER, header)

    def _remove_others(self, path: Path) -> None:
        kept = {path, *(item.path for item in self._own()[: 1 + self.keeps_two])}
        for other in self.folder.iterdir():
            if other not in kept:
                shutil.rmtree(other, ignore_errors=True)

    @staticmethod
    def _free(path: Path, suffix: str) -> Path:
        found = path.with_suffix(suffix)
        shutil.rmtree(found, ignore_errors=True)
        return found

    def remove(self) -> None:
        """Have none: all is to be made again."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def restore(self, state: State, wanted: Catalog) -> Mapping[str, Any] | None:
        """Have the state be that of the last snapshot; gives what others remember. None if there is none to use.

        It goes on as the `wanted` catalog says, which may have another engine than that which has written it. One that
        is damaged is set aside; of both that and one that others have written is told.
        """
        for found in list(snapshots_in(self._directory)):
            reason = self._unusable(found, state)
            if reason is None:
                more, reason = self._taken_over(found, state, wanted)
                if more is not None:
                    self.last = state.number
                    if self._origin.is_of_other_code(found.header["origin"]):
                        self._tell(StateOfOtherCode(str(found.path), str(found.header["origin"]["release"])))
                    return more
                if found.damage() is not None:  # another error may be gone at the next opening
                    found.path.replace(self._free(found.path, _ASIDE))
            self.unused = str(reason)
            self._tell(
                StateNotKept(f"the state in {found.path} is not used, so steps of the log are made again: {reason}")
            )
        return None

    def _unusable(self, found: Snapshot, state: State) -> str | None:
        """The reason for which a snapshot is not one to go on from."""
        header = found.header
        if not header:
            return f"its {HEADER} cannot be read"
        if header["format"] != FORMAT or not self._reads(found):
            return self._origin.differs(header.get("origin"))
        manifest = state.log.manifest_of(found.step)
        if not manifest.exists() or digest_of(manifest) != header.get("manifest"):
            return f"step {found.step} of the log is not the one that it was written behind"
        return None

    def _taken_over(
        self, found: Snapshot, state: State, wanted: Catalog
    ) -> tuple[Mapping[str, Any] | None, str | None]:
        damage = found.damage()
        if damage is not None:
            return None, damage
        engine, origin = state.engine, found.header["origin"]
        try:
            has_rows = ROWS in found.header["files"]
            store = engine.opened_store(wanted) if has_rows else engine.store
            rows = engine.row_files(found.path)
            remembered = loaded((found.path / MEMORY).read_bytes(), state, self._directory, rows)
            if store is not None and has_rows:
                store.restore(found.path / ROWS, remembered["indexes"])
            if self._origin.is_elsewhere(origin):
                move(state, wanted, remembered, origin["engine"])
        except Exception as error:
            if not isinstance(error, (PenstockError, OSError)) and not self._origin.is_of_other_code(origin):
                raise
            engine.close_store()
            engine.process(wanted)  # an empty one, if it is wanted
            return None, message_of(error)
        _take_over(state, remembered)
        more: Mapping[str, Any] = remembered["more"]
        return more, None


def _is_settled(state: State) -> bool:
    """True if all that stands has had a step, is in the log, and has shown what it holds."""
    if state.differing.rows:
        return False
    return not state.declared.statements and not any(item.fresh for item in state.engine.installed)


_OWN = ("catalog", "number", "clock", "rejected", "targets")


def _remembered(state: State) -> dict[str, Any]:
    return {
        "state": {name: getattr(state, name) for name in _OWN},
        "program": state.declared.program,
        "session": dict(state.declared.session),
        "engine": state.engine.remembered(),
        "tables": state.tables.remembered(),
        "views": state.views.remembered(),
        "log": state.log.remembered(),
    }


def _take_over(state: State, found: Mapping[str, Any]) -> None:
    for name in _OWN:
        setattr(state, name, found["state"][name])
    state.declared.program = found["program"]
    state.declared.session = found["session"]
    state.declared.statements.clear()
    state.engine.take_over(found["engine"])
    state.tables.take_over(found["tables"])
    state.views.take_over(found["views"])
    state.log.take_over(found["log"])
