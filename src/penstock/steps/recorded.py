"""The steps that a log has, read again: each as the input that makes it once more.

    manifest → tables' changes, waterlines, rows that wait, promises, rejected rows → StepInput(again=…)

Nothing is judged again: a row that was late is in no change, and `manifest` says how far waterlines have got.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from penstock.backends.columns import fitted, weighted_schema
from penstock.catalog.model import ERROR_VIEW, Table
from penstock.errors import DataError, Diagnostic, UnsupportedError
from penstock.steps.again import Again
from penstock.steps.checked_files import damaged, facts_of, manifest_facts
from penstock.steps.exact import from_exact
from penstock.steps.intake.again import Effect, intake_again
from penstock.steps.intake.apart import values_of
from penstock.steps.intake.fold import Intake
from penstock.steps.intake.lateness import TableLateness
from penstock.steps.intake.memory import TableMemory
from penstock.steps.log import FORMAT, Segment, Staged, manifest_path, read_pieces
from penstock.steps.manifest import PROGRAM, SESSION, Advances, Declaration, lateness_of
from penstock.steps.proposing import StepInput
from penstock.steps.rows.rejected import Rejected, Rejections
from penstock.steps.state import State

OLDEST = 1  # the first format that can be read
Complete = Callable[[Table, pa.Table], pa.Table]


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """A step as its manifest tells of it."""

    folder: Path
    manifest: Mapping[str, Any]

    @property
    def number(self) -> int:
        """The step's number."""
        return int(self.manifest["step"])

    @property
    def clock(self) -> datetime:
        """The step's clock."""
        return datetime.fromisoformat(self.manifest["clock"])

    @property
    def program(self) -> int:
        """The number of the program's statements that have been run."""
        return int(self.manifest.get("program", 0))

    @property
    def declarations(self) -> list[Declaration]:
        """The statements declared since the step before."""
        return declarations_of(self.manifest, first=self.number == 1)

    @property
    def sources(self) -> Mapping[str, Any]:
        """The ranges that were read, by table."""
        found: Mapping[str, Any] = self.manifest.get("sources", {})
        return found

    @property
    def held(self) -> list[Path]:
        """The files of rows that came and waited, and of those that views showed."""
        files = [*self.manifest.get("held", {}).values(), *self.manifest.get("told", {}).values()]
        return [self.folder / str(file) for file in files]

    @property
    def files(self) -> list[Path]:
        """All files of rows that the step names, those that are there."""
        rows = [self._path(item) for item in self.manifest["tables"].values()]
        return [path for path in (*rows, *self.held) if path.exists()]

    @property
    def told(self) -> Mapping[str, pa.Table] | None:
        """The changes of views that cannot be made again, by lower-case names; None if the log does not say."""
        if "told" not in self.manifest:
            return None
        paths = {name: self.folder / str(file) for name, file in self.manifest["told"].items()}
        return {name: pa.concat_tables(read_pieces(path)) for name, path in paths.items()}

    def given(self, state: State) -> StepInput:
        """The input that makes the step again; DataError if files of it are missing."""
        rejections = Rejections(tolerant=True, rows=self._rejected())
        intakes = dict(self._intakes(state))
        return StepInput(
            self.clock,
            rejections=rejections,
            advances=self._advances(state),
            ended=bool(self.manifest.get("ended")),
            again=Again(intakes, self._staged()),
        )

    def _staged(self) -> Staged:
        segments = {name: self._segment(item) for name, item in self.manifest["tables"].items()}
        return Staged(self.number, self.clock, segments, self.manifest, tuple(self.held), exists=True)

    def _segment(self, item: Mapping[str, Any]) -> Segment:
        latest = {name: from_exact(value) for name, value in item.get("latest", {}).items()}
        retracts = item.get("retracts", True)
        return Segment(self.number, self.clock, item["rows"], retracts, path=self._path(item), latest=latest)

    def _path(self, item: Mapping[str, Any]) -> Path:
        return self.folder / str(item["file"])

    def _rows(self, table: Table, path: Path, complete: Complete) -> pa.Table:
        if not path.exists():
            message = f"step {self.number} cannot be made again: {path} is not there"
            hint = "what the history of a table does not keep is needed to rebuild: give it 'history' = 'all'"
            raise DataError(Diagnostic("LOG_GONE", message, hint=hint))
        schema = weighted_schema(table.columns)
        pieces = [fitted(complete(table, piece).select(schema.names), schema) for piece in read_pieces(path)]
        return pa.concat_tables([schema.empty_table(), *pieces]).combine_chunks()

    def _change(self, table: Table, complete: Complete) -> pa.Table:
        item = self.manifest["tables"].get(table.name.lower())
        if item is None:
            return weighted_schema(table.columns).empty_table()
        return self._rows(table, self._path(item), complete)

    def _rejected(self) -> list[Rejected]:
        rows = self._change(ERROR_VIEW, _as_it_is).to_pylist()
        first = self.manifest.get("rejected", len(rows))
        names = [column.name for column in ERROR_VIEW.columns]
        return [Rejected(*(row[name] for name in names)) for row in rows[:first]]

    def _advances(self, state: State) -> Advances:
        if "promises" in self.manifest:
            named = [(name, column, from_exact(value)) for name, column, value in self.manifest["promises"]]
        else:
            named = [(*key.split(".", 1), _read(text)) for key, text in self.manifest.get("advances", ())]
        return [(_table(state, name), column, value) for name, column, value in named]

    def _intakes(self, state: State) -> Iterator[tuple[str, Intake]]:
        for facts in self.manifest["intakes"] if "intakes" in self.manifest else self._older(state):
            table = _table(state, facts["table"])
            memory = state.tables.memory(table)
            yield table.name.lower(), intake_again(memory, self._effect(memory, facts, state.log.completed))

    def _effect(self, memory: TableMemory, facts: Mapping[str, Any], complete: Complete) -> Effect:
        table, change = memory.table, self._change(memory.table, complete)
        held = self.manifest.get("held", {}).get(table.name)
        arrived = None if held is None else self._rows(table, self.folder / held, complete)
        seen = {name: from_exact(value) for name, value in facts.get("seen", {}).items()}
        holding = replace(memory.holding, seen=MappingProxyType(seen)) if memory.holding.columns else memory.holding
        lateness = self._lateness(memory, change, facts)
        return Effect(change, lateness, facts["received"], arrived, holding, emptied=bool(facts.get("emptied")))

    def _lateness(self, memory: TableMemory, change: pa.Table, facts: Mapping[str, Any]) -> TableLateness:
        if "text" not in facts:
            return lateness_of(memory.lateness, facts)
        found = memory.lateness.moved(values_of(memory.lateness, change))
        lines = {
            name: replace(line, at=_read(facts["text"][name])) if name in facts["text"] else line
            for name, line in found.waterlines.items()
        }
        return replace(found, waterlines=MappingProxyType(lines))

    def _older(self, state: State) -> Iterator[dict[str, Any]]:
        """The same of a manifest of format 1, as far as it tells."""
        lines: dict[str, dict[str, Any]] = {}
        for key, text in self.manifest.get("waterlines", {}).items():
            name, column = key.rsplit(".", 1)
            lines.setdefault(name, {})[column.lower()] = text
        named = {name: name for name in self.manifest["tables"] if name != ERROR_VIEW.name}
        for name in {**named, **{item.lower(): item for item in lines}}:
            table = _table(state, name)
            if state.tables.memory(table).holding.columns or table.history.lower() == "none":
                message = f"step {self.number} was written by an earlier release, which kept too little of {table.name}"
                raise UnsupportedError(Diagnostic("OLD_FORMAT", message, hint="begin anew in another directory"))
            rows = self.manifest["tables"].get(name, {"rows": 1})["rows"]
            yield {"table": table.name, "received": rows, "text": lines.get(table.name, {})}


def _as_it_is(_table: Table, rows: pa.Table) -> pa.Table:
    return rows


def declarations_of(facts: Mapping[str, Any], *, first: bool) -> list[Declaration]:
    """The declarations that a manifest has, or `declarations.json`; those of format 1 are the program's at `first`."""
    texts = facts["declarations"]
    known = facts.get("declared") or [{"by": PROGRAM if first else SESSION, "at": None}] * len(texts)
    return [Declaration.of_facts(text, item) for text, item in zip(texts, known, strict=True)]


def recorded_step(folder: Path, number: int) -> RecordedStep | None:
    """A step of the log in a folder; None if it does not exist. UnsupportedError if it is of a later format."""
    path = manifest_path(folder, number)
    if not path.exists():
        return None
    facts = manifest_facts(path)
    check_format(path, facts["format"])
    return RecordedStep(folder, facts)


def last_step(folder: Path) -> int:
    """The number of the last step that a log has, 0 for none."""
    return max(step_numbers(folder), default=0)


def step_numbers(folder: Path) -> list[int]:
    """The numbers of the steps that a log has, in order."""
    return sorted(int(path.stem) for path in (folder / "steps").glob("*.json") if path.stem.isdigit())


def check_steps(folder: Path, first: int, known: Mapping[str, int]) -> None:
    """DataError if steps are missing: between those that are there, before them, or behind them.

    `first` is the step with which the log begins; `known` the last step that others know of, by their files.
    """
    numbers = [number for number in step_numbers(folder) if number >= first]
    wanted = range(first, first + len(numbers))
    missing = next((step for step, there in zip(wanted, numbers, strict=True) if step != there), None)
    if missing is not None:
        raise damaged(manifest_path(folder, missing), f"it is missing, and step {numbers[-1]} is there")
    last = numbers[-1] if numbers else first - 1
    for place, step in known.items():
        if step > last:
            raise damaged(manifest_path(folder, last + 1), f"it is missing, and {place} is of step {step}")


def declared_since(folder: Path, number: int) -> list[Declaration]:
    """The statements declared since a step, which is the last one."""
    facts = _json(folder / "declarations.json")
    if facts is None or facts["after"] != number:
        return []
    return declarations_of(facts, first=number == 0)


def program_since(folder: Path, number: int) -> int:
    """The number of the program's statements that have been run since a step, which is the last one; 0 if none."""
    facts = _json(folder / "declarations.json")
    return 0 if facts is None or facts["after"] != number else int(facts.get("program", 0))


def _json(path: Path) -> dict[str, Any] | None:
    try:
        facts = facts_of(path)
    except FileNotFoundError:
        return None
    check_format(path, facts["format"])
    return facts


def check_format(path: Path, found: int, newest: int = FORMAT) -> None:
    """Refuse a file of a later release (UnsupportedError)."""
    if not OLDEST <= found <= newest:
        message = f"{path} has format {found}; this release reads {OLDEST} to {newest}"
        raise UnsupportedError(Diagnostic("LATER_FORMAT", message, hint="open it with the release that has written it"))


def _table(state: State, name: str) -> Table:
    found = state.catalog.table(name)
    if found is None:
        message = f"the log tells of table {name}, which the program does not declare"
        raise DataError(Diagnostic("PROGRAM_CHANGED", message, hint="--rebuild reads the log with the changed program"))
    return found


def _read(text: Any) -> Any:
    """A waterline of format 1."""
    if not isinstance(text, str):
        return text
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return float(text) if "." in text or "e" in text.lower() else int(text)
