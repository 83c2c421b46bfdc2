"""The memory of the tables between steps, and the input for them judged by it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from penstock.backends.api import Relations
from penstock.backends.columns import python_rows, weighted_schema
from penstock.backends.native.stored import is_held, lies_in_process
from penstock.backends.thresholds import HELD_ROWS, MANY_ROWS
from penstock.bind.program.dml import refuse_unfindable
from penstock.catalog.model import Table
from penstock.catalog.reserved import VERSIONS
from penstock.engine.terms import Terms
from penstock.steps.intake.apart import next_silence, origin_of_change, settled
from penstock.steps.intake.bulk import GivenBatch, fold_given
from penstock.steps.intake.fold import Intake, Judge, fold_rows
from penstock.steps.intake.holding import Holding, declared_holding
from penstock.steps.intake.keystore import KeyStore
from penstock.steps.intake.lateness import TableLateness, declared_lateness
from penstock.steps.intake.many import fold_by_key
from penstock.steps.intake.memory import TableMemory
from penstock.steps.intake.refusing import without_refused_held
from penstock.steps.intake.rowcounts import RowCounts
from penstock.steps.intake.unsent import with_unsent
from penstock.steps.intake.versions import fold_versions, inserted
from penstock.steps.log import InputLog
from penstock.steps.manifest import Advances, promised
from penstock.steps.rows.batch import DELETE, Batch, concatenated
from penstock.steps.rows.refused import Refused
from penstock.steps.rows.rejected import Rejections
from penstock.steps.rows.row_lines import RowLines

if TYPE_CHECKING:
    from penstock.backends.native.store import Store
    from penstock.steps.rows.added import Added

Incoming = Batch | GivenBatch
# The columns of a table that views read, in lower case; None where all are wanted.
Read = Callable[[str], frozenset[str] | None]


def is_strict(table: Table) -> bool:
    """True if a table says `'on_error' = 'fail'`."""
    return table.properties.get("on_error", "").lower() == "fail"


class Tables:
    """The memory of each table, made when it is first asked for; it follows committed steps alone."""

    def __init__(self, relations: Relations, log: InputLog) -> None:
        self._relations = relations
        self._log = log
        self._memories: dict[str, TableMemory] = {}
        self._terms: dict[str, Terms] = {}
        # The store in the process, for tables that may lie there.
        self.process: Callable[[], Store | None] = lambda: None
        # Whether all who read a table, named in lower case, work there.
        self.is_read_here: Callable[[str], bool] = lambda _: False

    def memory(self, table: Table) -> TableMemory:
        """The memory of a table."""
        name = table.name.lower()
        if name not in self._memories:
            store = KeyStore(self._relations, table, self._process(table)) if table.key else None
            self._memories[name] = TableMemory(table, declared_lateness(table), store, holding=declared_holding(table))
        return self._memories[name]

    def _process(self, table: Table) -> Store | None:
        return self.process() if lies_in_process(table) else None

    def remembered(self) -> dict[str, TableMemory]:
        """The memories by name: for a snapshot."""
        return self._memories

    def take_over(self, found: dict[str, TableMemory]) -> None:
        """Remember what a snapshot has."""
        self._memories = found

    def known(self, name: str) -> TableMemory | None:
        """The memory of a table, by its lower-case name; None if nothing is remembered of it."""
        return self._memories.get(name)

    def __iter__(self) -> Iterator[tuple[str, TableMemory]]:
        return iter(self._memories.items())

    @property
    def holds_rows(self) -> bool:
        """True if some table holds rows back."""
        return any(memory.holding.count for memory in self._memories.values())

    def fold(
        self,
        batches: Sequence[Incoming],
        clock: datetime,
        rejections: Rejections,
        read: Read,
        refused: Refused | None = None,
        *,
        step: int = 0,
    ) -> list[Intake]:
        """The effect of a step's batches on their tables, without the rows that views refuse; nothing changes yet."""
        by_table: dict[str, list[Incoming]] = {}
        for batch in batches:
            by_table.setdefault(batch.table.name.lower(), []).append(batch)
        lines = RowLines({name: memory.lateness.lines() for name, memory in self._memories.items()})
        judge = Judge(TableLateness(), clock, rejections, refused=refused or Refused(), step=step, lines=lines)
        found: list[Intake] = []
        for given in by_table.values():
            found += self._with_versions(given, judge, read)
        return found

    def _with_versions(self, batches: Sequence[Incoming], judge: Judge, read: Read) -> list[Intake]:
        """The effect of batches for one table, and on its versions if it has any."""
        memory = self.memory(batches[0].table)
        if memory.table.versions is None:
            return [self._folded(batches, judge, read)]
        judge = replace(judge, lateness=memory.lateness, terms=self._terms_of(memory.table))
        given = concatenated([item if isinstance(item, Batch) else self._here(item, memory, judge) for item in batches])
        given = with_unsent(given, memory.store, judge.rejections)
        given = judge.stamped(given)
        content = self._folded([given], judge, read)
        versions = self.memory(memory.table.versions)
        if memory.table.append_only:
            rows = inserted(content)
            given = Batch(memory.table, rows, partitions=origin_of_change(rows, given))
        judge = replace(judge, lateness=versions.lateness)
        return [content, fold_versions(judge.stamped(given), judge, versions, memory)]

    def _terms_of(self, table: Table) -> Terms | None:
        """The terms of the columns that are computed when a row comes; None where there are none."""
        if not table.computing:
            return None
        found = self._terms.get(table.name.lower())
        if found is None or found.table != table:
            found = Terms(table, table.computing, lambda: self._relations, self.process)
            self._terms[table.name.lower()] = found
        return found

    @staticmethod
    def _here(batch: GivenBatch, memory: TableMemory, judge: Judge) -> Batch:
        """A DataFrame's rows on this machine, where both the table and its versions read them."""
        process = None if memory.store is None else memory.store.process
        return batch.fetched(judge) if process is None else batch.in_process(process, judge)

    def _folded(self, batches: Sequence[Incoming], judge: Judge, read: Read) -> Intake:
        memory = self.memory(batches[0].table)
        terms = self._terms_of(memory.table)
        judge = replace(judge, lateness=memory.lateness, holding=memory.holding, terms=terms)
        if any(isinstance(batch, GivenBatch) for batch in batches):
            name = memory.table.name.lower()
            here = self.process() if self.is_read_here(name) else None
            return fold_given(batches, judge, memory, lambda: self._counts(memory), read=read(name), here=here)
        plain = concatenated([batch for batch in batches if isinstance(batch, Batch)])
        batch = judge.stamped(with_unsent(plain, memory.store, judge.rejections))
        if memory.store is not None:
            return fold_by_key(batch, judge, memory.store)
        return fold_rows(batch, judge, lambda: self._counts(memory), memory.counts)

    def ready(self, table: Table, own: Sequence[Incoming], *, takes_back: bool) -> None:
        """Before the engine begins a step in which a table is written: what only then can be made or moved."""
        memory = self.memory(table)
        plain = [batch for batch in own if isinstance(batch, Batch)]
        deletes = any(batch.operations is not None and DELETE in batch.operations for batch in plain)
        if memory.store is None and (takes_back or deletes or len(plain) < len(own)) and not table.append_only:
            self._counts(memory)
        if len(plain) < len(own) or sum(map(len, plain)) >= MANY_ROWS:
            for part in (memory.store, memory.counts):
                if part is not None:
                    part.flush()

    def _counts(self, memory: TableMemory) -> RowCounts:
        """The whole-row counts of a table, made from its history when first asked for."""
        if memory.counts is None:
            refuse_unfindable(memory.table)
            found = RowCounts(self._relations, memory.table, self._process(memory.table))
            self._load(found, memory.table)
            if memory.holding.waiting is not None:
                found.apply((row[:-1], row[-1]) for row in python_rows(memory.holding.waiting))
            memory.counts = found
        return memory.counts

    def _load(self, counts: RowCounts, table: Table) -> None:
        """Have the counts know the history of a table."""
        if counts.process is not None:
            counts.process.load(self._log.pieces(table))
            return
        if self._log.rows(table) <= HELD_ROWS and is_held(table):
            for piece in self._log.pieces(table):
                counts.take(piece)
            return
        before = self._log.weighted(self._relations, table)
        if before is not None:
            counts.load(self._relations.change_from(before))

    def released(
        self, folded: Sequence[Intake], rejections: Rejections, refused: Refused, among: Collection[str]
    ) -> list[Intake]:
        """The held rows of tables, those that the step brought as well, without those that views refuse."""
        last = {name: memory.holding for name, memory in self._memories.items()}
        last |= {intake.table.name.lower(): intake.holding for intake in folded}
        found = []
        for name, holding in last.items():
            if holding.waiting is not None and name in among:
                memory = self._memories[name]
                lateness = next((item.lateness for item in folded if item.table is memory.table), memory.lateness)
                rows, _ = without_refused_held(memory.table, holding.waiting, refused, rejections)
                found.append(Intake(memory.table, rows, lateness, 0, holding=holding.emptied()))
        return found

    def silent(self, folded: Sequence[Intake], clock: datetime) -> list[Intake]:
        """Tables whose waterline moves because partitions of their sources have been silent up to this clock."""
        brought = {intake.table.name.lower() for intake in folded}
        found = []
        for name, memory in self._memories.items():
            moved = settled(memory.lateness, clock)
            if name not in brought and moved != memory.lateness:
                empty = weighted_schema(memory.table.columns).empty_table()
                found.append(Intake(memory.table, empty, moved, 0, holding=memory.holding))
        return found

    @property
    def next_silence(self) -> datetime | None:
        """The next clock at which a silent partition counts no more, and a waterline moves; None if there is none."""
        found = [at for memory in self._memories.values() if (at := next_silence(memory.lateness)) is not None]
        return min(found, default=None)

    def lateness(self, tables: Iterable[Table]) -> dict[str, tuple[TableLateness, Holding]]:
        """Of each table how far its waterlines have got, and what it holds back."""
        found = {name: (memory.lateness, memory.holding) for name, memory in self._memories.items()}
        for table in tables:
            found.setdefault(table.name.lower(), (declared_lateness(table), Holding()))
        return found

    def follow(self, intakes: Sequence[Intake], advances: Advances) -> None:
        """Remember what a committed step has done to the tables."""
        for intake in intakes:
            intake.apply()
            memory = self.memory(intake.table)
            memory.lateness = intake.lateness
            memory.holding = intake.holding
            memory.received += intake.received
        for table, column, value in promised(advances):
            memory = self.memory(table)
            memory.lateness = memory.lateness.advanced(column, value)

    def propose(self, intakes: Sequence[Intake]) -> None:
        """Have what a step brings be there, as a part of it: it may still fail."""
        for intake in intakes:
            intake.propose()

    def maintain(self) -> None:
        """Between steps: have rows lie where they should; drop those that no operation can reach any more."""
        for memory in self._memories.values():
            memory.maintain()

    def widen(self, table: Table, added: Added) -> list[TableMemory]:
        """Remember rows of a table, and its versions, with more columns; gives what was remembered, as it was."""
        known = [(item, self._memories.get(item.name.lower())) for item in (table, table.versions) if item is not None]
        found: dict[str, TableMemory] = {}
        try:
            for item, memory in known:
                if memory is not None:
                    found[item.name.lower()] = memory.widened(item, self._process(item), added)
        except BaseException:
            for memory in found.values():
                memory.drop()
            raise
        before = [self._memories[name] for name in found]
        self._memories |= found
        return before

    def take_back(self, found: Mapping[str, TableMemory]) -> None:
        """Remember what was remembered of tables, and drop what has been made of it since."""
        for name, memory in found.items():
            present = self._memories.get(name)
            if present is not None and present is not memory:
                present.drop()
            self._memories[name] = memory

    def drop(self, name: str) -> None:
        """Forget a table, and its history."""
        for owned in (name, VERSIONS + name):
            memory = self._memories.pop(owned, None)
            if memory is not None:
                memory.drop()
                self._log.forget(memory.table)
