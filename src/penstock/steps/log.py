"""The input log: every accepted change of every table, step by step.

    <directory>/log/steps/000000000042.json    the manifest of step 42: clock, files, waterlines, …
    <directory>/log/data/<table>/000000000042.parquet    (.arrow for types that Parquet lacks)
    <directory>/log/declarations.json          what has been declared since the last step, if its `after` is that step

    <directory>/log/data/<table>/000000000042.held.arrow    rows that have come and wait for later ones (WATERMARK)
    <directory>/log/data/<view>/000000000042.told.arrow    what a view has shown that cannot be made again (`told`)

A step exists once its manifest does, which appears in one rename, when the files that it names are on the disk; any
other file is of no step. `steps.manifest` says what a manifest holds. What a table's history does not need is kept too,
unless it is cut (`pipeline.retention`): another release makes the state of it. Without a directory the log is a
temporary folder, small changes stay in memory until they are worth a file, and no manifests are written.
"""

from __future__ import annotations

import shutil
import sys
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial, reduce
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

from penstock.analysis.bounds import parse_bound
from penstock.backends.columns import parquet_plain
from penstock.backends.surroundings import writing
from penstock.backends.temporary import TemporaryFolder
from penstock.backends.thresholds import HELD_ROWS, LOG_PIECES
from penstock.backends.waterlines import typed_literal
from penstock.catalog.model import ERROR_VIEW, Column, Table
from penstock.catalog.properties import value_place
from penstock.catalog.reserved import WEIGHT
from penstock.catalog.types import plain_name
from penstock.errors import DataError, Diagnostic, SqlError, did_you_mean
from penstock.failpoints import reach
from penstock.plan.scalar import quoted
from penstock.steps.checked_files import LogDigests, check_rows, facts_of, rows_of, write_facts
from penstock.steps.directory import DirectoryLock
from penstock.steps.durable import sync
from penstock.steps.exact import exact
from penstock.steps.latest import Latest, is_limited, latest_in, times_of, together
from penstock.steps.moments import Moments

if TYPE_CHECKING:
    from penstock.backends.api import Delta, Relation, Relations
    from penstock.steps.rows.added import Added

FORMAT = 2
_ARROW, _PARQUET = ".arrow", ".parquet"


@dataclass(frozen=True)
class Segment:
    """The change of one table in one step (or several, merged): in memory, or a Parquet file or folder.

    `parts` of a merged one are its steps, each followed by the number of its rows, which lie in this order. `latest`
    are the greatest times of its rows, where the table keeps them for a time only.
    """

    step: int
    clock: datetime
    rows: int
    retracts: bool
    arrow: pa.Table | None = None
    path: Path | None = None
    parts: array[int] = field(default_factory=lambda: array("q"))
    latest: Latest = field(default_factory=dict)

    @property
    def steps(self) -> Iterator[tuple[int, int]]:
        """Each step, with the number of its rows."""
        return zip(self.parts[::2], self.parts[1::2], strict=True) if self.parts else iter([(self.step, self.rows)])


@dataclass(frozen=True)
class Staged:
    """A step that has been written but does not exist yet, or one that `exists` and is made again.

    `held` are files of rows that wait, and of those that views show.
    """

    step: int
    clock: datetime
    segments: Mapping[str, Segment]
    manifest: Mapping[str, Any]
    held: Sequence[Path] = ()
    exists: bool = False


@dataclass
class _History:
    segments: list[Segment] = field(default_factory=list)
    first_step: int = 0  # the first step that is still kept; 0: all are
    rows: int = 0
    gone: Latest | None = None  # the greatest times of rows that are kept no more; None: all are

    def behind(self, limit: int) -> _History:
        """The history from a step on, where a repair has had earlier rows go."""
        kept = [segment for segment in self.segments if segment.step >= limit]
        if len(kept) == len(self.segments):
            return self
        return _History(kept, max(limit, self.first_step), sum(segment.rows for segment in kept), self.gone)


class InputLog:
    """The input log of one pipeline, in `directory` or in a temporary folder."""

    def __init__(self, directory: Path | None = None, error_history: int = 1_000_000) -> None:
        self._durable = directory is not None
        self._temporary: TemporaryFolder | None = None
        self._lock: DirectoryLock | None = None
        if directory is None:
            self._temporary = TemporaryFolder("log")
            self._folder = self._temporary.path
        else:
            self._lock = DirectoryLock(directory)
            self._lock.take()
            self._folder = directory / "log"
        self.is_silent = False  # while steps are made again nothing is declared anew
        self.added: Added | None = None  # what rows have in columns that were added after them
        self._histories: dict[str, _History] = {}
        self._error_history = error_history
        self.moments = Moments()

    @property
    def positions_file(self) -> Path | None:
        """The file of the saved positions; None for a log that goes with its pipeline."""
        return self._folder / "positions.json" if self._durable else None

    @property
    def folder(self) -> Path:
        """The folder of the log."""
        return self._folder

    def check_there(self) -> None:
        """DataError if the directory in which the log lies has been removed or replaced meanwhile."""
        if self._lock is not None:
            self._lock.check_there()

    @property
    def is_durable(self) -> bool:
        """True if it lies in a pipeline's directory."""
        return self._durable

    def stage(
        self,
        step: int,
        clock: datetime,
        changes: Sequence[tuple[Table, pa.Table | Delta]],
        facts: Mapping[str, Any],
        arrived: Mapping[str, pa.Table] = MappingProxyType({}),
        *,
        told: Mapping[str, Delta] | None = None,
    ) -> Staged:
        """Write a step's changes; `facts` (waterlines, statements) go into the manifest.

        `arrived` has for each table that holds rows back those that have come, `told` what views show that cannot be
        made again: None if there are no such views.
        """
        self.check_there()
        segments: dict[str, Segment] = {}
        held: dict[str, Path] = {}
        shown: dict[str, Path] = {}
        try:
            for table, change in changes:
                if self._durable or table.history.lower() != "none":
                    segments[table.name.lower()] = self._written(step, clock, table, change)
            for name, rows in arrived.items() if self._durable else ():
                held[name] = _data_folder(self._folder, name) / f"{step:012}.held{_ARROW}"
                _write_whole(rows, held[name])
            for name, delta in (told or {}).items() if self._durable else ():
                shown[name] = _data_folder(self._folder, name) / f"{step:012}.told{_PARQUET}"
                shown[name] = self._written_as(delta, shown[name])
        except BaseException:
            _remove(segments)
            remove_files([*held.values(), *shown.values()])
            raise
        files = {
            name: self._told(segment, segment.path) for name, segment in segments.items() if segment.path is not None
        }
        manifest = {"format": FORMAT, "step": step, "clock": clock.isoformat(), "tables": files, **facts}
        if held:
            manifest["held"] = {name: self._relative(path) for name, path in held.items()}
        if told is not None:
            manifest["told"] = {name: self._relative(path) for name, path in shown.items()}
        if self._durable:
            rows = (segment.path for segment in segments.values() if segment.path is not None)
            manifest["digests"] = LogDigests(self._folder).of([*rows, *held.values(), *shown.values()])
        return Staged(step, clock, segments, manifest, (*held.values(), *shown.values()))

    @staticmethod
    def _written_as(delta: Delta, path: Path) -> Path:
        """The file of a change: one of Arrow, or the folder that Spark writes where the rows lie there."""
        if not delta.on_driver:
            path.parent.mkdir(parents=True, exist_ok=True)
            delta.write(path)
            return path
        path = path.with_suffix(_ARROW)
        _write_whole(delta.arrow(), path)
        return path

    def _told(self, segment: Segment, path: Path) -> dict[str, Any]:
        """A change as the manifest has it."""
        found = {"file": self._relative(path), "rows": segment.rows, "retracts": segment.retracts}
        latest = {name: exact(value) for name, value in segment.latest.items()}
        return {**found, "latest": latest} if latest else found

    def _relative(self, path: Path) -> str:
        return str(path.relative_to(self._folder))

    def publish(self, staged: Staged) -> None:
        """Write the manifest: from here on the step exists."""
        if not self._durable:
            return
        for path in (*(segment.path for segment in staged.segments.values()), *staged.held):
            _sync(path)
        reach("log.data")
        self.check_there()
        write_facts(self.manifest_of(staged.step), staged.manifest)
        reach("log.manifest")

    def adopt(self, staged: Staged, tables: Callable[[str], Table | None]) -> None:
        """Answer from a published step too; `tables` finds a table by its lower-case name."""
        self.moments.add(staged.step, staged.clock)
        for name, segment in staged.segments.items():
            table = tables(name) or ERROR_VIEW
            if table.history.lower() == "none":
                self._pass(segment)
                continue
            history = self._histories.setdefault(name, _History())
            history.segments.append(segment)
            history.rows += segment.rows
            self._tidy(name, history, table, staged)

    def _pass(self, segment: Segment) -> None:
        """Give up what no history needs; in a directory it stays, since going on may need it."""
        if not self._durable:
            _remove({"": segment})

    def declare(self, after: int, declared: Mapping[str, Any]) -> None:
        """Keep the statements declared since step `after`, until the manifest of the next step has them."""
        if self._durable and not self.is_silent:
            write_facts(self._folder / "declarations.json", {"format": FORMAT, "after": after, **declared})
            reach("log.declarations")

    def discard(self, staged: Staged) -> None:
        """Remove what a staged step has written."""
        _remove(staged.segments)
        remove_files(staged.held)

    def forget(self, table: Table) -> None:
        """Remove a dropped table's history."""
        history = self._histories.pop(table.name.lower(), None)
        for segment in () if history is None else history.segments:
            self._pass(segment)

    def weighted(self, relations: Relations, table: Table, *, whole: bool = True) -> Relation | None:
        """Every accepted change of a table with its weight; None if there was none.

        Raises SqlError for a table that keeps no history, and DataError if the log no longer reaches back, unless what
        it has will do, and not the `whole` is wanted.
        """
        self.check_reach(table, 1 if whole else sys.maxsize)
        history = self._histories.get(table.name.lower())
        if history is None or not history.segments:
            return None
        here, files = self._given(history.segments)
        return relations.read(table, [self.completed(table, rows) for rows in here], files, self.added)

    def pieces(
        self, table: Table, after: int = 0, until: int | None = None, *, whole: bool = True
    ) -> Iterator[pa.Table]:
        """The same in Arrow, piece by piece, in the types in which columns are carried.

        They are those of all steps, or of those after one, or until one.
        """
        self.check_reach(table, after + 1 if whole else sys.maxsize)
        last = self.moments.last if until is None else until
        for segment in self._segments(table):
            inside = [after < step <= last for step, _ in segment.steps]
            if all(inside):
                yield from map(partial(self.completed, table), _rows(segment))
            elif any(inside):
                yield self.completed(table, _part(segment, inside))

    def completed(self, table: Table, rows: pa.Table) -> pa.Table:
        """Rows of a table in all of its columns, if they are from before some of them."""
        return rows if self.added is None else self.added.completed(table, rows)

    def _segments(self, table: Table) -> Sequence[Segment]:
        history = self._histories.get(table.name.lower())
        return () if history is None else history.segments

    def changes_after(self, table: Table, step: int) -> bool:
        """True if the log has a change of the table after a step."""
        return any(number > step for segment in self._segments(table)[-1:] for number, _ in segment.steps)

    def reaches(self, table: Table, first: int = 1) -> bool:
        """True if the changes of the table are kept from a step on."""
        history = self._histories.get(table.name.lower())
        return table.history.lower() != "none" and (history is None or history.first_step <= first)

    def gone(self, table: Table) -> Latest | None:
        """The greatest times of the rows of a table that are kept no more; None if none have gone."""
        history = self._histories.get(table.name.lower())
        return None if history is None else history.gone

    def reach(self) -> dict[str, int]:
        """The first step of which each history has rows, by the name of its folder."""
        kept = ((name, history.segments) for name, history in self._histories.items())
        return {_folder_name(name): segments[0].step for name, segments in kept if segments}

    def manifest_of(self, step: int) -> Path:
        """The file of a step's manifest."""
        return manifest_path(self._folder, step)

    def remembered(self) -> dict[str, Any]:
        """The files that are known, as few numbers for each: for a snapshot."""
        return {
            "histories": {
                name: (history.gone, history.first_step, *_numbers(history.segments))
                for name, history in self._histories.items()
            },
            "moments": self.moments,
        }

    def take_over(self, found: Mapping[str, Any]) -> None:
        """Know what a snapshot has."""
        self.moments = found["moments"]
        cut = self._folder / "cut.json"
        limits = facts_of(cut)["folders"] if cut.exists() else {}
        self._histories = {
            name: self._history(name, *item).behind(limits.get(_folder_name(name), 0))
            for name, item in found["histories"].items()
        }

    def _history(self, name: str, gone: Latest | None, first: int, steps: array[int], *numbers: Any) -> _History:
        folder, clocks = _data_folder(self._folder, name), self.moments.clocks_of(steps)
        segments = [
            Segment(step, clock, count, bool(kind & 1), path=folder / f"{step:012}{_ending(kind)}", latest=latest)
            for step, clock, count, kind, latest in zip(steps, clocks, *numbers, strict=True)
        ]
        return _History(segments, first, sum(segment.rows for segment in segments), gone)

    def check_reach(self, table: Table, first: int = 1) -> None:
        """Refuse to answer from a history that is not kept (SqlError), or no longer from a step on (DataError)."""
        if table.history.lower() == "none":
            kind = "stream" if table.stream else "table"
            message = f"Cannot convert {kind} '{table.name}' to relation: it keeps no history"
            hint = "leave out 'history' = 'none', or read a MATERIALIZED view of it"
            raise SqlError(Diagnostic("NO_HISTORY", message, hint=hint))
        history = self._histories.get(table.name.lower())
        if history is not None and history.first_step > first and table.name != ERROR_VIEW.name:
            kept = f"'history' = '{table.history}'"
            message = f"the history of {table.name} reaches back to step {history.first_step} only ({kept})"
            hint = f"{_filter_hint(table, history.gone)}read a MATERIALIZED view, or keep a longer history"
            raise DataError(Diagnostic("HISTORY_GONE", message, hint=hint))

    def retracts(self, table: Table) -> bool:
        """True if the table's history holds deletions, so that its content must be added up."""
        history = self._histories.get(table.name.lower())
        return history is not None and any(segment.retracts for segment in history.segments)

    def rows(self, table: Table) -> int:
        """The number of changed rows that are kept of a table."""
        history = self._histories.get(table.name.lower())
        return 0 if history is None else history.rows

    def close(self) -> None:
        """Remove the temporary folder, or let go of the directory."""
        if self._temporary is not None:
            self._temporary.remove()
        if self._lock is not None:
            self._lock.release()

    def _written(self, step: int, clock: datetime, table: Table, change: pa.Table | Delta) -> Segment:
        path = _data_folder(self._folder, table.name) / f"{step:012}.parquet"
        if isinstance(change, pa.Table):
            retracts = -1 in change.column(WEIGHT).unique().to_pylist()
            latest = latest_in(table, [change]) if is_limited(table) else {}
            segment = Segment(step, clock, change.num_rows, retracts, arrow=change, latest=latest)
            return self._as_file(table, segment, path) if self._durable or change.num_rows > HELD_ROWS else segment
        path.parent.mkdir(parents=True, exist_ok=True)
        change.write(path)
        latest = latest_in(table, read_pieces(path, _named(times_of(table)))) if is_limited(table) else {}
        return Segment(step, clock, change.count(), retracts=not table.append_only, path=path, latest=latest)

    def _as_file(self, table: Table, segment: Segment, path: Path) -> Segment:
        if segment.arrow is None:
            return segment
        plain = all(parquet_plain(column.type) for column in table.columns)
        path = path if plain else path.with_suffix(_ARROW)
        _write_whole(segment.arrow, path)
        return replace(segment, arrow=None, path=path)

    def _tidy(self, name: str, history: _History, table: Table, staged: Staged) -> None:
        """Merge small pieces in memory, move them to a file when there is much, drop what is too old."""
        recent = [segment for segment in history.segments if segment.arrow is not None]
        if len(recent) > LOG_PIECES or sum(segment.rows for segment in recent) > HELD_ROWS:
            merged = Segment(
                recent[0].step,
                recent[-1].clock,
                sum(segment.rows for segment in recent),
                any(segment.retracts for segment in recent),
                arrow=pa.concat_tables([self.completed(table, segment.arrow) for segment in recent]).combine_chunks(),
                parts=array("q", [number for segment in recent for part in segment.steps for number in part]),
                latest=reduce(together, [segment.latest for segment in recent]),
            )
            if merged.rows > HELD_ROWS:
                merged = self._as_file(table, merged, _data_folder(self._folder, name) / f"{staged.step:012}m.parquet")
            history.segments = [segment for segment in history.segments if segment.arrow is None] + [merged]
        self._drop_old(name, history, table, staged.clock)

    def _drop_old(self, name: str, history: _History, table: Table, clock: datetime) -> None:
        if name == ERROR_VIEW.name:
            spare = history.rows - self._error_history
            while len(history.segments) > 1 and spare >= history.segments[0].rows:
                spare -= history.segments[0].rows
                self._drop_first(history)
        elif is_limited(table):
            limit = clock - history_span(table)
            while len(history.segments) > 1 and history.segments[0].clock < limit:
                self._drop_first(history)

    def _drop_first(self, history: _History) -> None:
        gone = history.segments.pop(0)
        history.rows -= gone.rows
        history.gone = gone.latest if history.gone is None else together(history.gone, gone.latest)
        history.first_step = history.segments[0].step
        self._pass(gone)

    def _given(self, segments: Sequence[Segment]) -> tuple[list[pa.Table], list[str]]:
        """The rows of segments that are few enough to be given to the backend, and the files that it is to read.

        Both are in the order of steps.
        """
        parquet = {
            segment.path: segment.rows
            for segment in segments
            if segment.path is not None and segment.path.suffix != _ARROW and segment.path.is_file()
        }
        few = sum(parquet.values()) <= HELD_ROWS
        here: list[pa.Table] = []
        large: list[str] = []
        for segment in segments:
            if segment.arrow is not None:
                here.append(segment.arrow)
            elif segment.path is None:
                continue
            elif segment.path.suffix == _ARROW:
                here += read_pieces(segment.path)
            elif few and segment.path in parquet:
                check_rows(segment.path)
                with rows_of(segment.path):
                    here.append(pq.read_table(segment.path))
            else:
                check_rows(segment.path)
                large.append(str(segment.path))
        return here, large


def history_span(table: Table) -> timedelta:
    """The time for which a table with `'history' = '<interval>'` keeps its rows."""
    text = table.history if table.history.strip().lower().startswith("interval") else f"INTERVAL {table.history}"
    try:
        return parse_bound(text, "timestamp").time
    except SqlError as error:
        message = (
            f"'history' = '{table.history}' of {table.name}: expected 'all', 'none' or an interval such as '24 hours'"
        )
        near = did_you_mean(table.history, ("all", "none"))
        raise SqlError(Diagnostic("BAD_PROPERTY", message, value_place(table, "history"), near)) from error


def _rows(segment: Segment) -> Iterator[pa.Table]:
    if segment.arrow is not None:
        yield segment.arrow
    elif segment.path is not None:
        yield from read_pieces(segment.path)


def _part(segment: Segment, inside: Sequence[bool]) -> pa.Table:
    """The rows of some of the steps of a merged segment."""
    mask = [here for here, (_, rows) in zip(inside, segment.steps, strict=True) for _ in range(rows)]
    return pa.concat_tables(_rows(segment)).filter(pa.array(mask))


def read_pieces(path: Path, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """The rows of a file of the log, or of a folder that Spark has written, which writes times as it did long ago.

    With `columns` they are no wider than these.
    """
    check_rows(path)
    if path.suffix == _ARROW:
        with rows_of(path):
            rows = feather.read_table(path, columns)
        yield rows
        return
    from pyarrow import dataset  # noqa: PLC0415 - it imports pandas, for which a shell need not wait

    style = dataset.ParquetFileFormat(coerce_int96_timestamp_unit="us")
    with rows_of(path):
        batches = iter(dataset.dataset(path, format=style).to_batches(columns=columns))
    while True:
        with rows_of(path):
            batch = next(batches, None)
        if batch is None:
            return
        yield pa.Table.from_batches([batch])


def _write_whole(rows: pa.Table, path: Path) -> None:
    """Write a file, or nothing."""
    try:
        with writing(path):
            _write(rows, path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _write(rows: pa.Table, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == _ARROW:
        feather.write_feather(rows, str(path))
    else:
        pq.write_table(rows, path)


def _numbers(segments: Sequence[Segment]) -> tuple[array[int], array[int], bytes, list[Latest]]:
    """The step and the rows of each segment in a file, what else there is to say of it in two bits, its latest."""
    arrows = [segment.path is not None and segment.path.suffix == _ARROW for segment in segments]
    kinds = bytes(segment.retracts + 2 * arrow for segment, arrow in zip(segments, arrows, strict=True))
    steps, rows = array("q", [item.step for item in segments]), array("q", [item.rows for item in segments])
    return steps, rows, kinds, [item.latest for item in segments]


def _ending(kind: int) -> str:
    """The end of the name of a segment's file, as those two bits tell it."""
    return _ARROW if kind & 2 else _PARQUET


def _named(columns: Iterable[Column]) -> list[str]:
    return [column.name for column in columns]


def _filter_hint(table: Table, gone: Latest | None) -> str:
    """The words for a condition under which what is kept will do; empty if there is none."""
    for column in times_of(table):
        value = (gone or {}).get(column.name.lower())
        if value is not None:
            name = column.name if plain_name(column.name) else quoted(column.name)
            return f"WHERE {name} > {typed_literal(value, column.type)} needs no more than there is; or "
    return ""


def manifest_path(folder: Path, step: int) -> Path:
    """The file of a step's manifest in the folder of a log."""
    return folder / "steps" / f"{step:012}.json"


def _sync(path: Path | None) -> None:
    """Have a data file, or a folder that Spark has written, on the disk."""
    if path is None:
        return
    for part in path.rglob("*") if path.is_dir() else ():
        sync(part)
    sync(path)
    sync(path.parent)


def _data_folder(folder: Path, table: str) -> Path:
    """The folder of a table's rows in that of a log."""
    return folder / "data" / _folder_name(table)


def _folder_name(table: str) -> str:
    """A table's name as that of a folder, whatever it contains."""
    lower = table.lower()
    safe = "".join(character if character.isalnum() or character in "_-" else "_" for character in lower)[:80]
    return safe if safe == lower else f"{safe}-{zlib.crc32(lower.encode()):08x}"


def _remove(segments: Mapping[Any, Segment]) -> None:
    remove_files(segment.path for segment in segments.values() if segment.path is not None)


def remove_files(paths: Iterable[Path]) -> None:
    """Remove files of rows, and folders that Spark has written."""
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
