"""The rows that standing statements write in a step: found while the engine evaluates it, table after table.

a writer's change → its policy: what of it is shown → operations on the table → intake, with the table's own rows
→ the table's change, which views over the table take as any other
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.backends.api import Delta
from penstock.backends.columns import carried_plainly, fitted, in_arrow
from penstock.catalog.model import ERROR_VIEW, Table, View
from penstock.catalog.reserved import WEIGHT
from penstock.emit.api import Emitted, Moment
from penstock.engine.following import Following
from penstock.steps.intake.fold import Intake
from penstock.steps.intake.writes import Given, written_batches
from penstock.steps.rows.batch import Batch
from penstock.steps.rows.rejected import Rejections
from penstock.steps.state import State
from penstock.steps.tables import Incoming, is_strict
from penstock.steps.targets import Target
from penstock.steps.waterlines import lines_after

if TYPE_CHECKING:
    from penstock.steps.proposing import StepInput


@dataclass
class Written:
    """The step's effect on all tables: `intakes` has those without writers, and gets those of each that is written.

    `emitted` is what the writers' policies have said.
    """

    state: State
    given: StepInput
    intakes: list[Intake]
    emitted: dict[str, Emitted] = field(default_factory=dict)

    def following(self) -> list[Following]:
        """The relations whose changes follow from views' in the step, in their order."""
        found = [Following(item.names, partial(self._changes, item)) for item in self.state.targets]
        return [*found, Following((), self._errors)]

    def _errors(self, _changes: Mapping[str, Delta]) -> dict[str, Delta]:
        rejections = self.given.rejections
        if not rejections.rows:
            return {}
        return {ERROR_VIEW.name: self.state.engine.change_of(ERROR_VIEW, rejections.change())}

    def _changes(self, target: Target, changes: Mapping[str, Delta]) -> dict[str, Delta]:
        """The change of a table that is written, and of its versions, from its writers' changes and its own rows."""
        if self.given.again is not None:
            for view in target.writers:
                self._shown(view, changes)  # what waits to be written goes on
            found = self.given.again.of(target.tables)
        else:
            own = own_batches(self.given.batches, target.table)
            found = self._taken(target.table, own, self._written(target, own, changes))
        self.intakes += found
        return inputs_of(self.state, found)

    def _taken(self, table: Table, own: Sequence[Incoming], written: Sequence[Incoming]) -> list[Intake]:
        given, state = self.given, self.state
        if own and written:  # what its own rows may not do is refused, and not set aside as what is written
            self._folded(own, Rejections())
        rejections = self._tolerant(table) if written else given.rejections
        found = self._folded([*own, *written], rejections)
        if not given.ended:
            return found
        held = state.tables.released(found, rejections, given.refused, {table.name.lower()})
        return [*_together([*found[:1], *held]), *found[1:]]  # its versions hold nothing back

    def _folded(self, batches: Sequence[Incoming], rejections: Rejections) -> list[Intake]:
        given, state = self.given, self.state
        judged = (given.clock, rejections, state.columns_read, given.refused)
        return state.tables.fold(batches, *judged, step=state.number + 1)

    def _tolerant(self, table: Table) -> Rejections:
        """Rows that do not fit go to `error_view`, as those of a source do."""
        rejections = self.given.rejections
        return rejections if is_strict(table) else Rejections(tolerant=True, rows=rejections.rows)

    def _written(self, target: Target, own: Sequence[Incoming], changes: Mapping[str, Delta]) -> list[Incoming]:
        """The operations that the writers of a table make of their changes."""
        shown = [item for view in target.writers if (item := self._shown(view, changes)) is not None]
        if not shown:
            return []
        table, tables = target.table, self.state.tables
        given = [given_of(table, view, rows) for view, rows in shown]
        store, batches = tables.memory(table).store, [item for item in own if isinstance(item, Batch)]
        reader = self.state.reader(table)
        found = written_batches(given, batches, reader, store, self._tolerant(table))
        return [item for item in found if len(item)]

    def _shown(self, view: View, changes: Mapping[str, Delta]) -> tuple[View, Delta | pa.Table] | None:
        """The rows that a writer's policy shows in the step."""
        name = view.name.lower()
        emitted = self.state.views.emitted(name, changes.get(name), self._values, self._moment())
        self.emitted[name] = emitted
        return None if emitted.shown is None else (view, emitted.shown)

    def _values(self, wanted: Sequence[object]) -> list[object]:
        lines = lines_after(self.state, self.given.clock, self.intakes, self.given.advances)
        return self.state.line_reader.values(wanted, lines)  # type: ignore[arg-type]

    def _moment(self) -> Moment:
        return moment_of(self.state, self.given, self.intakes)


def moment_of(state: State, given: StepInput, intakes: Iterable[Intake]) -> Moment:
    """All of a step that policies go by, but for waterlines."""
    arrived = frozenset(intake.table.name.lower() for intake in intakes if not intake.is_empty)
    return Moment((), given.clock, arrived, given.ended, state.engine.gates())


def own_batches(batches: Sequence[Incoming], table: Table) -> list[Incoming]:
    """The rows that a step brings for one table."""
    return [item for item in batches if item.table.name.lower() == table.name.lower()]


def inputs_of(state: State, intakes: Sequence[Intake]) -> dict[str, Delta]:
    """The changes of the tables that change."""
    return {intake.table.name.lower(): change_of(state, intake) for intake in intakes if not intake.is_empty}


def change_of(state: State, intake: Intake) -> Delta:
    """The change of a table as the engine takes it."""
    change = intake.change
    return state.engine.change_of(intake.table, change) if isinstance(change, pa.Table) else change


def given_of(table: Table, view: View, shown: Delta | pa.Table) -> Given:
    """The weighted rows of a statement under the names of the columns that it writes."""
    assert view.writes is not None  # noqa: S101 - a writer does
    writing = view.writes
    rows = shown if isinstance(shown, pa.Table) else _fetched(table, shown)
    if writing.delta is not None:
        rows = _told(rows, writing.delta)
    rows = rows.rename_columns([*writing.columns, WEIGHT])
    return Given(
        str(view.owner), writing, in_arrow(table, rows), ordered=view.showing is not None and bool(view.showing.order)
    )


def _fetched(table: Table, delta: Delta) -> pa.Table:
    if all(carried_plainly(column.type) for column in table.columns):
        return delta.arrow()
    return delta.declared_rows(table)


def _told(rows: pa.Table, place: int) -> pa.Table:
    """Rows whose weight stands in one of their columns, without it."""
    told = rows.column(place).cast(pa.int64())
    return rows.remove_column(place).drop_columns([WEIGHT]).append_column(WEIGHT, told)


def _together(intakes: Sequence[Intake]) -> Sequence[Intake]:
    """One intake of what comes in and of what is released behind it."""
    if len(intakes) < 2:  # noqa: PLR2004 - nothing to put together
        return intakes
    first, second = intakes
    assert isinstance(first.change, pa.Table)  # noqa: S101 - a table that holds rows back has none on the executors
    assert isinstance(second.change, pa.Table)  # noqa: S101 - held rows are here
    change = pa.concat_tables([first.change, fitted(second.change, first.change.schema)])
    return [replace(first, change=change, holding=second.holding)]
