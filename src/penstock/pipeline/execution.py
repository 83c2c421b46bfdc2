"""Statements at work: declarations, changes, transactions, queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.analysis.waterline import has_waterline
from penstock.backends.api import Relation
from penstock.bind.emission.standing import StandingQuery as StandingBound
from penstock.bind.emission.standing import bind_standing, shown_by
from penstock.bind.program.compile import Program, declare
from penstock.bind.program.dml import advanced_column
from penstock.bind.program.queries import bind_query, check_asked
from penstock.bind.program.transactions import already_open, no_transaction
from penstock.bind.program.writers import declare_insert, stands_as_statement, writer_views
from penstock.bind.taking_in import Start, TakingIn, taking_in_view, with_taking_in
from penstock.catalog.meanings import differing
from penstock.catalog.model import ERROR_VIEW, Catalog, Table, View, Writer
from penstock.catalog.settings import TIME_ZONE, cuts_log, state_seconds_of
from penstock.engine.constants import constant_row
from penstock.engine.engine import Engine
from penstock.engine.placing import wants_process
from penstock.engine.typed import typed_in_process
from penstock.errors import DataError, Diagnostic, PenstockError, Span, SqlError, UnsupportedError
from penstock.outputs.names import file_name
from penstock.pipeline.answer import Answer
from penstock.pipeline.blame import blamed
from penstock.pipeline.contents import Contents
from penstock.pipeline.dml import delete_batch, insert_batch, update_batch
from penstock.pipeline.native_only import check_native_program
from penstock.pipeline.one_query import in_python, one_query
from penstock.pipeline.outbox import Outbox
from penstock.pipeline.outlets import Outlets
from penstock.pipeline.own_files import check_apart
from penstock.pipeline.points import Points, check_start, placed_at, start_at
from penstock.pipeline.reads import (
    as_spark_sees,
    read_by,
    read_whole,
    tables_read,
    with_hidden,
    with_views,
    without_hidden,
)
from penstock.pipeline.retention import cut_log
from penstock.pipeline.source_facts import Meters, SourceFact, not_read_yet
from penstock.pipeline.source_positions import SourcePositions
from penstock.pipeline.supported import check_promises, check_supported, is_source, refuse_widened_outputs
from penstock.plan.nodes import Plan
from penstock.plan.scalar import quoted
from penstock.rewrite.from_views import from_views
from penstock.sources.api import Held, Noting, TableSource, open_source
from penstock.sql import statements as sql
from penstock.sql.parse import parse
from penstock.sql.points import START_AT, Point, PointKind, begun_at, is_begun, point_of, without_past
from penstock.sql.statements import Statement
from penstock.sql.text import relations_named, span_of, spark_sql
from penstock.steps.change import Change, merged
from penstock.steps.events import ColumnsAdded
from penstock.steps.failing_expression import At
from penstock.steps.failures import translated
from penstock.steps.intake.fold import Intake
from penstock.steps.intake.inputs import Readers, zone_of
from penstock.steps.intake.lateness import comparable_value
from penstock.steps.manifest import PROGRAM, Advances, Declaration
from penstock.steps.proposing import StepInput
from penstock.steps.rows.added import columns_added, with_earlier
from penstock.steps.saved_positions import Position
from penstock.steps.snapshots import Snapshots
from penstock.steps.stepper import Installation, Stepper
from penstock.steps.tables import Incoming

if TYPE_CHECKING:
    import pyarrow as pa

Changes = dict[str, Change]
Found = TypeVar("Found")
_DECLARATIONS = (
    sql.CreateTable,
    sql.AddColumns,
    sql.SetProperties,
    sql.CreateView,
    sql.Unparsed,
    sql.DeclareRecursiveView,
    sql.CreateFunction,
    sql.CreateType,
    sql.Drop,
    sql.SetLateness,
    sql.Set,
    sql.Reset,
)

_ASKING = (sql.Query, sql.Explain, sql.Show, sql.Describe, sql.KillQuery)


def declaring(program: Program) -> list[str]:
    """The statements of a program that stand as long as it does, as they are written."""
    return [item.text for item in program.statements if _declares(item, program.catalog)]


def _declares(statement: sql.Statement, catalog: Catalog) -> bool:
    stands = isinstance(statement, sql.Insert) and stands_as_statement(statement, catalog)
    return stands or isinstance(statement, _DECLARATIONS)


@dataclass
class Transaction:
    """Statements that wait for COMMIT: what they bring, and the clock at which they are judged."""

    clock: datetime
    batches: list[Incoming] = field(default_factory=list)


@dataclass
class Execution:
    """A program at work; `begun_in` is the dialect in which its text begins."""

    stepper: Stepper
    begun_in: str
    readers: Readers
    clock: Callable[[], datetime]
    outlets: Outlets
    transaction: Transaction | None = None
    sources: dict[str, TableSource] = field(default_factory=dict)
    outbox: Outbox = field(default_factory=Outbox)
    directory: Path | None = None
    snapshots: Snapshots | None = None
    lasting: Callable[[], Mapping[str, Any]] = dict  # what a snapshot keeps of the queries that stand
    taken: SourcePositions = field(default_factory=SourcePositions)
    meters: Meters = field(default_factory=Meters)
    standing: Callable[[sql.Insert, str], object] = lambda _statement, _text: None  # begins an INSERT that stands
    sweep: Callable[[], None] = lambda: None  # before each step and declaration: queries that have ended go
    changes_of_program: int = 0
    _visible: tuple[Catalog, Catalog] | None = None
    _aside: TemporaryDirectory[str] | None = None

    @property
    def catalog(self) -> Catalog:
        """The catalog of all that is declared now; what standing queries have brought along is not in it."""
        whole = self.stepper.catalog
        if self._visible is None or self._visible[0] is not whole:
            self._visible = whole, without_hidden(whole)
        return self._visible[1]

    @property
    def dialect(self) -> str:
        """The dialect in which the next statement is read."""
        return self.catalog.dialect

    def parsed(self, text: str) -> tuple[Statement, ...]:
        """The statements of a text, in the dialect and by the settings of now."""
        return parse(text, self.dialect, self.catalog.types, self.catalog.nesting)

    def opened_sources(self) -> list[TableSource]:
        """The sources of all tables that have a connector; each goes on where it was."""
        zone = zone_of(self.catalog)
        for name, table in self.catalog.tables.items():
            known = self.sources.get(name)
            if is_source(table, self.catalog) and (known is None or known.table is not table):
                if isinstance(known, Held):
                    known.close()  # it has a table before that had other columns
                self.sources.pop(name, None)
                self.sources[name] = self._opened_source(table, zone)
        return [source for name, source in self.sources.items() if name in self.catalog.tables]

    def _opened_source(self, table: Table, zone: tzinfo) -> TableSource:
        """A source that stands where it was; one that cannot go there is not kept, since it would begin anew."""
        source = open_source(table, self.readers, zone)
        if isinstance(source, Noting):
            source.note_in(self._notes() / file_name(table.name.lower()))
        try:
            for taken in self.taken.of(table.name):
                source.skip(taken)
        except BaseException:
            if isinstance(source, Held):
                source.close()
            raise
        return source

    def _notes(self) -> Path:
        """The folder of what sources keep, which is gone with the pipeline if that has no directory."""
        if self.directory is not None:
            return self.directory / "sources"
        self._aside = self._aside or TemporaryDirectory(prefix="penstock-sources-")
        return Path(self._aside.name)

    def source_facts(self) -> list[SourceFact]:
        """The standing of each source; opens none."""
        tables = [table for table in self.catalog.tables.values() if is_source(table, self.catalog)]
        known = [(table, self.sources.get(table.name.lower()), self.taken.of(table.name)) for table in tables]
        return [
            not_read_yet(table, taken) if source is None else self.meters.of(source).fact(taken)
            for table, source, taken in known
        ]

    def close_sources(self) -> None:
        """Have the sources let go of what they hold."""
        for source in self.sources.values():
            if isinstance(source, Held):
                source.close()
        if self._aside is not None:
            self._aside.cleanup()

    def run(self, text: str) -> Changes:
        """Run the statements of a text, one after the other."""
        changes: Changes = {}
        for statement in self.parsed(text):
            if isinstance(statement, sql.CreateView):
                # What a view of that name has shown before is not the new view's.
                changes = {name: change for name, change in changes.items() if name.lower() != statement.name.lower()}
            changes = merged(changes, self.statement(statement, text))
        return changes

    def keep_state(self) -> None:
        """Write a snapshot of what is remembered, where there is a directory, and no output lacks anything."""
        if self.snapshots is None or self.transaction is not None or not self.outbox.is_settled(self.stepper.number):
            return
        if self.stepper.filling is not None:
            return  # what is filled aside is in no snapshot
        self.snapshots.keeps_two = cuts_log(self.catalog.settings)
        written = self.stepper.keep_state(self.snapshots, {"taken": self.taken.to_json(), "queries": self.lasting()})
        if written and self.snapshots.keeps_two:
            self.snapshots.cut(cut_log)

    def keep_state_if_due(self) -> None:
        """The same, where making the steps since the last one again would take long."""
        if self.snapshots is not None and self.snapshots.is_due(state_seconds_of(self.catalog.settings)):
            self.keep_state()

    def keep_state_at_end(self) -> None:
        """The same, where making them again would take longer than writing what is remembered."""
        if self.snapshots is not None and self.snapshots.is_worth_it(state_seconds_of(self.catalog.settings)):
            self.keep_state()

    def begin_program(self, statements: Iterable[sql.Statement], began: datetime) -> None:
        """Have the log know what a program declares, and when it began."""
        texts = [item.text for item in statements if self.declares(item)]
        self.declared([Declaration(text, PROGRAM, began) for text in texts])

    def declares(self, statement: sql.Statement) -> bool:
        """True for a statement of a program that stands as long as the program does."""
        return _declares(statement, self.catalog)

    def run_program(self, statements: Iterable[sql.Statement], source: str) -> Changes:
        """Run what a program does beside its declarations, which stand already; queries are for `query()`."""
        changes: Changes = {}
        waiting = [item for item in statements if not self.declares(item) and not isinstance(item, _ASKING)]
        for statement in waiting[self.stepper.program :]:
            with self.counted():
                found = self.statement(statement, source)
            changes = merged(changes, found)
        return changes

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Run a statement of the program that changes something: it is not run again once its step is there."""
        before = self.stepper.program
        self.stepper.goes_on_at(before + 1)
        try:
            yield
        except BaseException:
            self.stepper.goes_on_at(before)
            raise

    def statement(self, statement: sql.Statement, source: str) -> Changes:
        """Run one statement."""
        match statement:
            case sql.Insert() if stands_as_statement(statement, self.catalog):
                self.standing(statement, source)
            case sql.Insert() | sql.Update() | sql.Delete():
                return self._change(statement, source)
            case sql.Begin():
                self.begin(statement)
            case sql.Commit():
                return self.commit(statement)
            case sql.Rollback():
                self.rollback(statement)
            case sql.Advance():
                return self._advance(statement)
            case sql.SavePosition():
                self.save_position(statement.name)
            case sql.DropPosition():
                self._drop_position(statement)
            case sql.Query():
                raise SqlError(
                    Diagnostic("NOT_A_CHANGE", "a query changes nothing", statement.span, hint="use query()")
                )
            case sql.KillQuery():
                hint = in_python(statement)
                raise SqlError(Diagnostic("NOT_A_CHANGE", "KILL QUERY changes nothing", statement.span, hint=hint))
            case sql.Explain() | sql.Show() | sql.Describe():
                message = f"{statement.text.split()[0].upper()} shows something and changes nothing"
                raise SqlError(Diagnostic("NOT_A_CHANGE", message, statement.span, hint=in_python(statement)))
            case _:
                self.declare(statement, source)
        return {}

    def _change(self, statement: sql.Insert | sql.Update | sql.Delete, source: str) -> Changes:
        try:
            batch = self._spark(lambda: self._batch(statement, source))
        except PenstockError as error:
            raise blamed(error, statement, self.catalog, zone_of(self.catalog)) from error.__cause__
        if self.transaction is not None:
            self._add([batch])
            return {}
        return self._step([batch], self.clock())

    def _batch(self, statement: sql.Insert | sql.Update | sql.Delete, source: str) -> Incoming:
        contents = self._contents()
        if isinstance(statement, sql.Insert):
            return insert_batch(statement, self.catalog, source, contents, self.readers)
        if isinstance(statement, sql.Update):
            return update_batch(statement, self.catalog, source, contents, self.readers)
        return delete_batch(statement, self.catalog, source, contents)

    def _contents(self, step: int | None = None) -> Contents:
        """The present contents, or those after a step."""
        self.stepper.check_intact()
        if step is not None:
            clock = self.stepper.log.moments.clock_of(step) or self.clock()
            return Contents(self.stepper, clock, past=self.stepper.stored.past(step))
        if self.transaction is None:
            return Contents(self.stepper, self.clock())
        return Contents(self.stepper, self.transaction.clock, self._preview(self.transaction.batches))

    def _preview(self, batches: Sequence[Incoming]) -> list[Intake]:
        """The changes that a transaction would make so far; DataError if it could not be committed."""
        clock = self.clock() if self.transaction is None else self.transaction.clock
        return self.stepper.preview(batches, clock)

    def _step(self, batches: Sequence[Incoming], clock: datetime, advances: Advances = ()) -> Changes:
        self.sweep()
        self.keep_state_if_due()
        return self._stepped(StepInput(clock, batches, advances=advances))

    def end_of_input(self) -> Changes:
        """A step that releases what is held back, if something is."""
        return self._stepped(StepInput(self.clock(), ended=True)) if self.stepper.holds_rows else {}

    def _stepped(self, given: StepInput) -> Changes:
        """One step; DataError, and nothing has changed, while a declared output does not take an earlier one."""
        self.outlets.settle_earlier()
        return self.stepper.step(given, self.made)

    def made(self, changes: Changes) -> None:
        """A step has happened, whose changes the call that made it is to give back."""
        self.outbox.made(self.stepper.number, changes)

    def begin(self, statement: sql.Begin | None = None) -> None:
        """BEGIN."""
        if self.transaction is not None:
            raise SqlError(already_open(statement))
        self.transaction = Transaction(self.clock())

    def commit(self, statement: sql.Commit | None = None) -> Changes:
        """COMMIT: the whole transaction is one step; if that is refused, the transaction is gone."""
        transaction = self._open_transaction(statement)
        self.outlets.settle_earlier()
        self.transaction = None
        return self._step(transaction.batches, transaction.clock)

    def rollback(self, statement: sql.Rollback | None = None) -> None:
        """ROLLBACK."""
        self._open_transaction(statement)
        self.transaction = None

    def _open_transaction(self, statement: sql.Commit | sql.Rollback | None = None) -> Transaction:
        if self.transaction is None:
            raise SqlError(no_transaction(statement))
        return self.transaction

    def _add(self, batches: Sequence[Incoming]) -> None:
        """Add to the open transaction, unless what it would then do is refused."""
        transaction = self._open_transaction()
        grown = [*transaction.batches, *batches]
        self._spark(lambda: self._preview(grown))
        transaction.batches = grown

    def step(self, batches: Sequence[Incoming], text: str | None) -> Changes:
        """Rows and then statements as one step; within a transaction they are added to it."""
        if self.transaction is not None:
            self._add(batches)
            return {} if text is None else self.run(text)
        if text is None:
            return self._step(batches, self.clock())

        statements = self.parsed(text)
        if not batches and len(statements) == 1 and isinstance(statements[0], sql.Advance):
            return self._advance(statements[0])
        self.begin()
        try:
            self._add(batches)
            self._run_inside(statements, text)
            return self.commit()
        except BaseException:
            self.transaction = None
            raise

    def _run_inside(self, statements: Iterable[sql.Statement], text: str) -> None:
        for statement in statements:
            if not isinstance(statement, sql.Insert | sql.Update | sql.Delete | sql.Advance):
                message = f"{statement.text.split()[0].upper()} cannot stand in a step's statements"
                raise SqlError(Diagnostic("NOT_A_CHANGE", message, statement.span, hint="INSERT, UPDATE, DELETE can"))
            self.statement(statement, text)

    def _advance(self, statement: sql.Advance) -> Changes:
        if self.transaction is not None:
            raise SqlError(
                Diagnostic("IN_TRANSACTION", "ADVANCE is a step of its own", statement.span, hint="give it alone")
            )
        table, column = advanced_column(self.catalog, statement)
        text = f"CAST(({spark_sql(statement.value)}) AS {column.type})"
        store = self.stepper.engine.process(self.catalog)
        with placed_at(span_of(statement.value)):
            (value,) = self._spark(lambda: constant_row(self.engine.relations, store, [text]))
        if value is None:
            raise SqlError(Diagnostic("BAD_VALUE", "ADVANCE … TO NULL promises nothing", statement.span))
        return self._step([], self.clock(), [(table, column.name, comparable_value(value))])

    # Points of the past

    @property
    def points(self) -> Points:
        """The steps that points of the past are."""
        return Points(self.stepper, self.clock, self._moment)

    def _moment(self, text: str) -> Any:
        store = self.stepper.engine.process(self.catalog)
        (value,) = self._spark(lambda: constant_row(self.engine.relations, store, [f"CAST(({text}) AS TIMESTAMP)"]))
        return value

    def save_position(self, name: str) -> Position:
        """SAVE POSITION: the point behind the last step has a name."""
        return self.stepper.positions.save(name, self.stepper.number, self.stepper.clock)

    def _drop_position(self, statement: sql.DropPosition) -> None:
        if not statement.if_exists:
            self.points.step_of(Point(START_AT, PointKind.POSITION, statement.name, statement.name_span))
        self.stepper.positions.drop(statement.name)

    # Declarations

    def declare(self, statement: sql.Statement, source: str) -> None:
        """A declaration: checked by the binder, then installed; if anything fails nothing has been declared."""
        if self.transaction is not None:
            message = "a declaration cannot stand in a transaction"
            raise SqlError(Diagnostic("IN_TRANSACTION", message, statement.span, hint="COMMIT first"))
        self.sweep()
        before, after = self.catalog, declare(self.catalog, statement, source)
        if self.stepper.number and zone_of(before) != zone_of(after):
            message = "the time zone cannot change after the first step: rows that are there were read in it"
            hint = "SET TIME ZONE before the first step, or use from_utc_timestamp() in a view"
            raise SqlError(Diagnostic("TIME_ZONE_FIXED", message, statement.span, hint=hint))
        begun = self.stepper.number or before.views or self.stepper.engine.store is not None
        if begun and differing(before.in_effect) != differing(after.in_effect):
            message = "a setting on which answers depend cannot change once there are views, steps or answers"
            hint = "SET it at the top of the program, or begin another pipeline"
            raise SqlError(Diagnostic("MEANING_FIXED", message, statement.span, hint=hint))
        gone = [name for name, view in before.views.items() if after.views.get(name) is not view]
        added = [view.name for name, view in after.views.items() if before.views.get(name) is not view]
        self._check_dependents(gone, after)
        at = self.clock()
        widened = columns_added(before, after) if isinstance(statement, sql.AddColumns) else ()
        replaced = [name for name, table in before.tables.items() if after.tables.get(name) is not table]
        read_otherwise = {statement.table.lower()} if isinstance(statement, sql.SetProperties) else set()
        replaced = [name for name in replaced if name not in widened and name not in read_otherwise]
        refuse_widened_outputs(before, after, widened)
        self.install(with_earlier(before, after, widened, at), added, removed=gone, forgotten=replaced, widened=widened)
        for name in replaced:
            self.taken.forget(name)
        # Whoever reads their sources goes on with all columns, and in the way that is wanted now.
        self.changes_of_program += bool(widened or read_otherwise)
        self.declared([Declaration(statement.text, at=at)])

    def add_columns(self) -> list[ColumnsAdded]:
        """Give the tables the columns that rows of their sources have been found to have."""
        added: list[ColumnsAdded] = []
        for name, columns in self.readers.new_columns().items():
            table = self.catalog.tables[name]
            there = [*(item.name for item in table.columns), *(item.name for item in table.computed)]
            known = {item.lower() for item in there}
            new = tuple((column, kind) for column, kind in columns.items() if column.lower() not in known)
            if new:
                listed = ", ".join(f"{quoted(column)} {kind}" for column, kind in new)
                text = f"ALTER TABLE {quoted(table.name)} ADD COLUMNS ({listed});"
                for statement in self.parsed(text):
                    self.declare(statement, text)
                added.append(ColumnsAdded(table.name, new))
        return added

    def declared(self, found: Iterable[Declaration]) -> None:
        """Have the log know what has been declared."""
        understood = {
            "dialect": self.begun_in,
            "ansi": True,  # a session in another mode is refused
            "time zone": self.catalog.settings.get(TIME_ZONE, "UTC"),
        }
        self.stepper.declare(understood, found)

    def _check_dependents(self, gone: Sequence[str], after: Catalog) -> None:
        for name in gone:
            own = (name, self.catalog.views[name].owner)
            for other in after.views.values():
                if other.name.lower() not in own and other.plan is not None and name in read_by(other):
                    message = f"view {name} cannot be replaced while {other.name} reads it"
                    raise UnsupportedError(Diagnostic("REPLACED_VIEW", message, hint=f"drop {other.name} first"))

    def install(
        self,
        catalog: Catalog,
        added: Sequence[str],
        removed: Sequence[str] = (),
        forgotten: Sequence[str] = (),
        widened: Sequence[str] = (),
    ) -> None:
        """Make a catalog the present one; views `added` are maintained from the next step on."""
        wanted = self.installation(catalog, added, removed, forgotten, widened)
        self.outlets.follow(wanted.catalog, {*(name.lower() for name in added), *forgotten})
        self._spark(lambda: self.stepper.install(wanted), catalog)

    def installation(
        self,
        catalog: Catalog,
        added: Sequence[str],
        removed: Sequence[str] = (),
        forgotten: Sequence[str] = (),
        widened: Sequence[str] = (),
    ) -> Installation:
        """All that the stepper needs for a catalog; nothing has changed yet."""
        check_supported(catalog)
        check_apart(catalog, self.directory)
        self._check_standing([*removed, *forgotten])
        engine, stepper = self.engine, self.stepper
        before = stepper.catalog
        gone = {*removed, *(name for name, item in before.writers.items() if catalog.writers.get(name) is not item)}
        removed = [*removed, *(item.name.lower() for item in before.views.values() if item.owner in gone)]
        catalog, shown = self._with_shown(with_hidden(catalog, before, removed), added)
        begun = [item for name, item in catalog.writers.items() if before.writers.get(name) is not item]
        catalog, writers = _with_writers(catalog, begun, self._start())
        added = [*added, *shown, *writers]
        engine.check_session()
        typed = as_spark_sees(catalog.with_table(ERROR_VIEW))
        ask: Callable[[], Catalog] | None = None
        if added:
            typed, ask = self._spark(lambda: self._typed(typed, added), catalog)
            for table in {table for name in added for table in tables_read(typed, name, tails=False)}:
                stepper.stored.check_reach(table)
            check_promises(typed)
        engine.follow(catalog.settings)
        planned = tuple(name for name in added if typed.views[name.lower()].plan is not None)
        whole = replace(catalog, views=typed.views)
        return Installation(whole, typed, planned, removed, forgotten, widened, ask)

    def _with_shown(self, catalog: Catalog, added: Sequence[str]) -> tuple[Catalog, list[str]]:
        """The catalog with the standing queries that show the views with EMIT among those added, and their names."""
        names: list[str] = []
        for view in [catalog.views[name.lower()] for name in added]:
            if view.emits:
                found = bind_standing(
                    view.query,
                    catalog.read_as(view),
                    view.source or "",
                    shown_by(view.name),
                    has_waterline,
                    properties=view.properties,
                    start=self._start(),
                )
                for item in found.views:
                    catalog = catalog.with_view(
                        replace(item, owner=view.name.lower(), source=view.source, dialect=view.dialect)
                    )
                    names.append(item.name)
        return catalog, names

    def _check_standing(self, gone: Sequence[str]) -> None:
        """Refuse to drop what a standing query reads."""
        for name in gone:
            for view in self.stepper.catalog.views.values():
                if view.is_hidden and view.owner not in gone and name in read_by(view):
                    message = f"{name} cannot go or be replaced while the standing query {view.name} reads it"
                    raise UnsupportedError(Diagnostic("READ_BY_QUERY", message, hint=f"KILL QUERY {view.name} first"))

    # Standing queries

    def stand(self, tree: Any, text: str, name: str, at: int | None = None) -> StandingBound:
        """Have a query stand from now on, or over streams from behind step `at` on, unless it says START AT itself.

        Its rows are shown as its policy says. SqlError or UnsupportedError.
        """
        if self.transaction is not None:
            hint = "COMMIT first"
            raise SqlError(Diagnostic("IN_TRANSACTION", "a query cannot begin to stand in a transaction", hint=hint))
        begun = is_begun(tree)
        after = at if begun is None else self.points.step_of(begun)
        tree = tree if after is None or begun is not None else begun_at(tree, after)
        start = start_at(self.stepper, self.clock(), after)
        found = bind_standing(tree, self.catalog, text, name, has_waterline, start=start)
        check_start(self.stepper, with_views(self.catalog, found.views), found.views)
        whole = {table for view in found.views for table in read_whole(view)}
        known = self.stepper.has_rows
        filled = any(known(table) for table in whole) or (after is not None and after < self.stepper.number)
        last = found.view
        showing = None if last.showing is None else replace(last.showing, started=self.clock(), filled=filled)
        catalog = with_views(self.catalog, (*found.views[:-1], replace(last, showing=showing)))
        self.install(catalog, [view.name for view in found.views])
        return found

    def _start(self) -> Start:
        """The moment at which a query begins now."""
        return start_at(self.stepper, self.clock(), None)

    def stand_statement(self, statement: sql.Insert, text: str, name: str) -> StandingBound:
        """Have an INSERT stand from now on. SqlError or UnsupportedError."""
        if self.transaction is not None:
            message, hint = "a statement cannot begin to stand in a transaction", "COMMIT first"
            raise SqlError(Diagnostic("IN_TRANSACTION", message, statement.span, hint=hint))
        self.install(declare_insert(self.catalog, statement, text, name, session=True), [])
        views = self.stepper.catalog.views.values()
        return StandingBound(tuple(view for view in views if view.owner == name.lower()))

    def fall(self, found: StandingBound) -> None:
        """Have a standing query or statement stand no more."""
        names = [view.name.lower() for view in found.views]
        whole = self.stepper.catalog
        if found.view.writes is not None:
            whole = whole.without_writer(str(found.view.owner))
        for name in names:
            whole = whole.without(name)
        self.stepper.install(Installation(whole, whole, removed=names))

    def _typed(self, catalog: Catalog, added: Sequence[str]) -> tuple[Catalog, Callable[[], Catalog] | None]:
        """The catalog with the types of all columns; and what asks Spark for them, if it has not been asked."""

        def ask() -> Catalog:
            return self.engine.resolved(catalog)

        proven = typed_in_process(catalog, added) if wants_process(catalog, local=self.engine.is_local) else None
        if proven is None:
            check_native_program(catalog)  # what wants no Spark is refused before that starts
            return ask(), None
        return proven, ask

    # Queries

    def query(self, text: str, as_of: int | None = None) -> Answer:
        """The answer of the one query in the text, over the contents after step `as_of` if it says no AS OF itself."""
        return self.answer(one_query(text, self.dialect, self.catalog.types, self.catalog.nesting).tree, text, as_of)

    def answer(self, tree: Any, text: str, as_of: int | None = None) -> Answer:
        """The answer of a parsed query."""
        point = point_of(tree)
        step = as_of if point is None else self.points.step_of(point)
        taking_in = taking_in_view("(query)", self.catalog)
        plan = self._asked(tree, text, taking_in, past=step is not None)

        sufficient: frozenset[str] = frozenset()

        def answered() -> pa.Table | Relation:
            nonlocal sufficient
            contents = replace(self._contents(step), passed=tuple(taking_in.views)).sufficing(plan)
            sufficient = contents.sufficient or frozenset()
            return contents.answered(plan)

        def reading(work: Callable[[], Found]) -> Found:
            try:
                return self._spark(work, at=plan)
            except PenstockError as error:
                raise error.with_source(text) from error.__cause__

        try:
            return Answer(self.engine.relations, reading(lambda: self._released(answered)), reading)
        except PenstockError as error:
            raise error.with_place(self._without_history(tree, sufficient)) from error.__cause__

    def _without_history(self, tree: Any, sufficient: frozenset[str]) -> Span | None:
        """The relation in a query that needs more of a history than there is."""
        known = {name: table for name, table in self.catalog.tables.items() if name not in sufficient}
        for name, place in relations_named(tree):
            tables = {name.lower()} if name.lower() in known else tables_read(self.catalog, name, tails=False)
            if any(not self.stepper.log.reaches(known[item]) for item in tables & known.keys()):
                return place
        return None

    def _asked(self, tree: Any, text: str, taking_in: TakingIn, *, past: bool) -> Plan:
        """The plan of a query, over MATERIALIZED views that contain the answer where it is of the present."""
        catalog = self.catalog
        try:
            check_asked(tree, catalog, text)
        except SqlError as error:
            if past or error.diagnostics[0].code != "NO_HISTORY":
                raise
            found = from_views(bind_query(tree, catalog, text), catalog)
            if not found.views or any(name in catalog.tables for name in found.plan.scanned):
                raise
            return found.plan
        plan = bind_query(without_past(tree), catalog, text, taking_in=taking_in)
        if past or self.transaction is not None:
            return plan
        return from_views(plan, with_taking_in(catalog, taking_in)).plan

    @property
    def engine(self) -> Engine:
        """The circuits at work."""
        return self.stepper.engine

    def content(self, name: str) -> Answer:
        """The rows of a view or table as they are now: those maintained by change where they are kept."""
        view = self.catalog.views.get(name.lower())
        if view is not None and self.stepper.stored.has_stepped(view):
            kept = self._contents().maintained_rows(view)
            if kept is not None:
                self.engine.left()
                return Answer(self.engine.relations, kept, self._spark)
        return self.query(f"SELECT * FROM `{name}`")

    def _released(self, work: Callable[[], Found]) -> Found:
        try:
            return work()
        finally:
            self.engine.left()
            self.engine.release()

    def maintained(self, view: View, like: Relation) -> Relation:
        """The rows of a view as its changes add up; DataError if they are not kept."""
        if not self.stepper.stored.keeps(view):
            message = f"the content of view {view.name} is not kept, so there is nothing to verify"
            raise DataError(Diagnostic("NOT_RETAINED", message, hint="make it MATERIALIZED, or leave out retain"))
        if not self.stepper.stored.has_stepped(view):
            message = f"view {view.name} has not had a step yet"
            raise DataError(Diagnostic("NOT_STEPPED", message, hint="step() with no rows will do"))
        found = self.stepper.stored.view(view)
        return self.engine.relations.empty_like(like) if found is None else found

    def _spark(self, work: Callable[[], Found], catalog: Catalog | None = None, at: At = None) -> Found:
        """Run something that may fail inside an engine, with its failure translated: that of a query, if it is one."""
        try:
            return work()
        except BaseException as error:
            found = translated(error, catalog or self.catalog, at)
            if found is error:
                raise
            raise found from error


def _with_writers(catalog: Catalog, begun: Iterable[Writer], start: Start) -> tuple[Catalog, list[str]]:
    """The catalog with the views of standing statements that begin, and their names."""
    names: list[str] = []
    for writer in begun:
        for view in writer_views(writer, catalog, has_waterline, start):
            catalog = catalog.with_view(view)
            names.append(view.name)
    return catalog, names
