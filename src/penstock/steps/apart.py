"""A step that has failed, taken apart: the rows that can be left out, and what the others do without them.

What can be left out is a row of a table's change (all that are equal to it with it), or what a step does to one key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace

import pyarrow as pa

from penstock.backends.api import Delta
from penstock.backends.columns import python_rows
from penstock.backends.rows import Key, Row
from penstock.catalog.model import Table
from penstock.catalog.reserved import WEIGHT
from penstock.circuit.lineage import operator_of
from penstock.circuit.operators import OfStep, Operator
from penstock.engine.installed import InstalledOperator
from penstock.steps.failures import EvaluationError, translated
from penstock.steps.intake.fold import Intake
from penstock.steps.proposing import StepInput, taken_in
from penstock.steps.rows.identity import identity_of
from penstock.steps.rows.refused import Reason, Refused, gone
from penstock.steps.rows.rejected import Rejections
from penstock.steps.state import State
from penstock.steps.written import Written

_LEFT_OUT = Reason(None, "left out to see what the others do")
Unit = tuple[str, Key]  # the lower-case name of a table, and what tells its units apart


class FailedStep:
    """The change that an input makes of each table, in units."""

    def __init__(self, state: State, given: StepInput, place: InstalledOperator | None) -> None:
        self.state, self.clock, self.place = state, given.clock, place
        self._rejections = Rejections(given.rejections.tolerant, list(given.rejections.rows))
        self._given = replace(given, rejections=self._rejections)
        found = taken_in(state, self._given)
        self._intakes = {item.table.name.lower(): item for item in found if not item.is_empty}
        self._written = self._written_in_it()
        self._intakes |= self._written
        self.rows: dict[Unit, list[int]] = {}
        self._identities: dict[Unit, Key] = {}
        for name, intake in self._intakes.items():
            if isinstance(intake.change, pa.Table):
                self._divide(name, intake.table, intake.change)

    def _written_in_it(self) -> dict[str, Intake]:
        """The rows that standing statements write in the step, as far as it gets."""
        if not self.state.targets:
            return {}
        written = self._with(self._given.refused)
        before = len(written.intakes)
        self._error({name: self._input(item, set()) for name, item in self._intakes.items()}, written)
        return {item.table.name.lower(): item for item in written.intakes[before:] if not item.is_empty}

    def _with(self, refused: Refused) -> Written:
        rejections = Rejections(self._rejections.tolerant, list(self._rejections.rows))
        given = replace(self._given, rejections=rejections, refused=refused)
        return Written(self.state, given, list(self._intakes.values()))

    def _divide(self, name: str, table: Table, change: pa.Table) -> None:
        identity, key = identity_of(table), self._key_of(table)
        for index, row in enumerate(python_rows(change)):
            found = identity(row[:-1])
            unit = (name, found if key is None else key(row))
            self.rows.setdefault(unit, []).append(index)
            if key is None or row[-1] > 0:
                self._identities[unit] = found
            elif unit not in self._identities:
                self._identities[unit] = gone(unit[1])

    def _key_of(self, table: Table) -> Callable[[Row], Key] | None:
        store = self.state.tables.memory(table).store
        return None if store is None else store.key

    def identity(self, unit: Unit) -> tuple[str, Key]:
        """The name that `Refused` has for a unit: by the row that it leads to."""
        return unit[0], self._identities[unit]

    def table(self, unit: Unit) -> Table:
        """The table of a unit."""
        return self._intakes[unit[0]].table

    def row(self, unit: Unit) -> Row:
        """The row of a unit, without its weight: of what a step does to one key the last one."""
        intake, at = self._intakes[unit[0]], self.rows[unit][-1]
        assert isinstance(intake.change, pa.Table)  # noqa: S101 - only such are taken apart
        (row,) = python_rows(intake.change.slice(at, 1))
        return row[:-1]

    def error_without(self, absent: Iterable[Unit]) -> EvaluationError | None:
        """The error of the step when some units are left out; None if it succeeds, as far as its failing operator."""
        missing = set(absent)
        left_out: dict[str, set[int]] = {}
        for unit in missing:
            left_out.setdefault(unit[0], set()).update(self.rows[unit])
        others = {name: item for name, item in self._intakes.items() if name not in self._written}
        inputs = {name: self._input(item, left_out.get(name, set())) for name, item in others.items()}
        changed = {name: delta for name, delta in inputs.items() if not delta.is_empty()}
        refused = {self.identity(unit): _LEFT_OUT for unit in missing if unit[0] in self._written}
        return self._error(changed, self._with(self._given.refused.and_also(refused)))

    def descended(self) -> FailedStep:
        """The same step at the operator whose own work raises: an engine may put it off until another one reads it."""
        below: InstalledOperator | None = self.place
        while below is not None:
            self.place = below
            circuit = below.installed.circuit
            inputs = [operator_of(circuit, number) for number in operator_of(circuit, below.number).inputs]
            failing = (item.number for item in inputs if not isinstance(item, OfStep) and self._fails_at(below, item))
            number = next(failing, None)
            below = None if number is None else InstalledOperator(below.installed, number)
        return self

    def _fails_at(self, place: InstalledOperator, operator: Operator) -> bool:
        lower = copy(self)
        lower.place = InstalledOperator(place.installed, operator.number)
        return lower.error_without(()) is not None

    def _input(self, intake: Intake, without: set[int]) -> Delta:
        change = intake.change
        if not isinstance(change, pa.Table):
            return change
        if without:
            kept = [index for index in range(change.num_rows) if index not in without]
            change = change.take(pa.array(kept, pa.int64()))
        return self.state.engine.change_of(intake.table, change)

    def _error(self, inputs: Mapping[str, Delta], written: Written) -> EvaluationError | None:
        engine, following = self.state.engine, written.following()
        try:
            if self.place is not None:
                engine.attempt(inputs, self.clock, self.place, following)
                return None
            result = engine.step(inputs, self.clock, following)
            try:
                result.settled(self.state.catalog.views)
            finally:
                result.discard()
        except Exception as error:
            found = translated(error, self.state.catalog, engine.failed or self.place)
            if isinstance(found, EvaluationError):
                return found
            raise found from error
        return None

    def numbered(self) -> tuple[dict[str, Delta], Sequence[Unit]]:
        """The changes with numbers in the place of their weights, and the unit of each number."""
        units: list[Unit] = []
        changes: dict[str, Delta] = {}
        for name, intake in self._intakes.items():
            if isinstance(intake.change, pa.Table):
                owners = {at: unit for unit, places in self.rows.items() if unit[0] == name for at in places}
                numbers = pa.array(range(len(units), len(units) + len(owners)), pa.int64())
                at = intake.change.schema.get_field_index(WEIGHT)
                rows = intake.change.set_column(at, intake.change.schema.field(at), numbers)
                changes[name] = self.state.engine.change_of(intake.table, rows)
                units += [owners[at] for at in range(len(owners))]
        return changes, units
