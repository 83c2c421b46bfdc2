"""`penstock.Pipeline`: a running program, for Python. Everything else (the command line, tests) goes through it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from penstock.bind.program.compile import Program
from penstock.bind.program.other_dialects import naming_dialects
from penstock.catalog.model import Catalog, View
from penstock.catalog.settings import DEFAULT_DIALECT
from penstock.circuit.measured import Profile, is_measured
from penstock.engine.foreseeing import foreseen
from penstock.errors import DataError, Diagnostic, PenstockError, SqlError, UnsupportedError, did_you_mean
from penstock.explain import explain
from penstock.outputs.connectors import outlets_of
from penstock.pipeline.answer import Answer
from penstock.pipeline.contents import Contents
from penstock.pipeline.deploying import Request, Requests, deployed, filling_of, planned, same_program, with_obstacles
from penstock.pipeline.deployment import Deployment
from penstock.pipeline.execution import Execution
from penstock.pipeline.expecting import needs_spark
from penstock.pipeline.lookups import looked_up
from penstock.pipeline.opening import Opened, as_wanted, read_program
from penstock.pipeline.outlets import Outlets, OutputFact
from penstock.pipeline.points import Value as Point
from penstock.pipeline.relations import create_view, relation_of, relation_of_text
from penstock.pipeline.run import RunLoop, RunOptions
from penstock.pipeline.source_facts import SourceFact
from penstock.pipeline.standing import StandingQuery
from penstock.pipeline.standing_queries import StandingQueries
from penstock.pipeline.subscription import Subscription
from penstock.pipeline.supervisor import Status, Supervisor, run_failed
from penstock.pipeline.supported import check_followed
from penstock.pipeline.verification import Verification, compare
from penstock.sources.api import Output
from penstock.sql.nesting import room_for_nesting
from penstock.steps.change import Change
from penstock.steps.directory import check_possible
from penstock.steps.events import Event, RunStarted, StepDone
from penstock.steps.facts import OperatorState, WaterlineFact, spilled_of, states_of
from penstock.steps.failures import translated
from penstock.steps.filling import Filling, FillingFacts
from penstock.steps.intake.inputs import Readers, batch_of, clock_value, find_table, zone_of
from penstock.steps.proposing import check_clock
from penstock.steps.saved_positions import Position
from penstock.steps.state import now
from penstock.steps.tables import Incoming
from penstock.watching.extras import check_extra
from penstock.watching.watched import OutputProgress, PipelineFacts, resident_bytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.backends.native.store import Store
    from penstock.relational.emitting import Emitting
    from penstock.relational.relation import Relation
    from penstock.watching.endpoint import Endpoint

Rows = Any
Found = TypeVar("Found")


class Pipeline:
    """A program of tables and views that are kept exactly up to date; also a context manager, which closes it.

    `program` is SQL text or the path of a file. `spark` is a session to use, or a function that gives one: it is set to
    what Penstock needs, such as ANSI mode, and stays so. A function is called at once, since the session may have
    functions and settings of its own that a program follows; a `LaterSession` is called when it is first needed.
    Without `spark` a session is opened by `master` and `conf` when it is first needed. `directory` keeps the input log;
    without it the log is temporary. One that holds steps is gone on from: as if the process had not ended. With
    `rebuild` everything is made again from its log, by this program, if it is another.
    `dialect` is the one in which the program begins, `penstock` unless given; SET dialect chooses another from there
    on. `retain` says whose content is kept for `verify`: 'all' views, or 'materialized' ones only. `profile` measures
    what each operator costs, for `explain(view, ['analyze'])`, as `SET profile = 'on'` does. `engine` is where
    operators work: 'spark', 'native' (in the process) or 'auto', whatever the program's SET says, and `memory_limit`
    the memory that state in the process may take, such as '2GB' or '40 %'. The outputs that the program declares are
    opened with it and given each step, unless `writes` is false. `on_event` is told of each step (`StepDone`) and of
    what `run` does; what it raises comes out of the call, and the step has happened. The attribute `source` is the
    program's text, and `program` what was compiled of it.
    Raises SqlError for a program that is wrong, UnsupportedError for one that cannot be run, DataError for a file that
    cannot be read.
    """

    def __init__(
        self,
        program: str | Path = "",
        *,
        spark: SparkSession | Callable[[], SparkSession] | None = None,
        directory: str | Path | None = None,
        dialect: str | None = None,
        master: str = "local[*]",
        conf: Mapping[str, str] | None = None,
        retain: str = "all",
        profile: bool = False,
        engine: str | None = None,
        memory_limit: str | None = None,
        writes: bool = True,
        on_event: Callable[[Event], None] | None = None,
        rebuild: bool = False,
    ) -> None:
        self._rooms = ExitStack()
        self._rooms.enter_context(room_for_nesting())
        self.source: str = read_program(program)
        self._lock = threading.RLock()
        self._standing = StandingQueries(self._lock)
        place = None if directory is None else Path(directory)
        if place is not None:
            check_possible(place)
        self._opening = Opened(spark, place, master, conf or {}, retain, rebuild=rebuild, standing=self._standing)
        self._opening.tell = self._tell
        self._given_dialect = dialect
        self.program: Program = self._compiled(self.source)
        declared = self.program.catalog
        self._wanted = partial(as_wanted, profile=profile, engine=engine, memory_limit=memory_limit)
        self._catalog: Catalog = self._wanted(declared)
        self._writes = writes
        self._listeners: list[Callable[[Event], None]] = [] if on_event is None else [on_event]
        self._endpoints: list[Endpoint] = []
        self._outputs: tuple[str, ...] = ()
        self._born = time.monotonic()
        self._rows, self._seconds = 0, 0.0
        self._requests = Requests()
        self._before_filling: Catalog | None = None
        self._subscriptions: list[Subscription] = []
        self._manual_clock: datetime | None = None
        self._execution: Execution | None = None
        self._supervisor = Supervisor(self._failed)
        self._closed = False
        self._goes_on = False

    def _compiled(self, source: str) -> Program:
        return self._opening.compiled(source, self._given_dialect)

    # What is there

    @property
    def dialect(self) -> str:
        """The dialect in which the next statement is read: of a directory that has been used, the one set there."""
        if self._opening.directory is not None:
            self._opened()
        return self.catalog.dialect

    @property
    def catalog(self) -> Catalog:
        """The tables, views, functions and settings that are declared now."""
        return self._catalog if self._execution is None else self._execution.catalog

    @property
    def spark(self) -> SparkSession:
        """The SparkSession in use; one is opened if there is none. UnsupportedError if no Java is found."""
        return self._opening.workspace.spark

    @property
    def has_spark(self) -> bool:
        """True if a SparkSession is in use already; starts no JVM."""
        return self._opening.workspace.has_spark

    def expect_spark(self, *, surely: bool = False) -> None:
        """Begin to start a session now, on a thread of its own, if the program will need one, or `surely`.

        Whoever needs it first waits for the rest, and is told what the start has failed with. Closing the pipeline
        before ends it. Does nothing where a session is there, is given by a function, or is a cluster's.
        """
        self._opening.expect((lambda: True) if surely else partial(needs_spark, self.catalog))

    @property
    def expects_spark(self) -> bool:
        """True if a session is being started that has not been needed yet."""
        expected = self._opening.expected
        return expected is not None and expected.is_wanted

    @property
    def is_local(self) -> bool:
        """True if Spark works, or would work, on this machine alone; starts no JVM."""
        return self._opening.workspace.is_local

    @property
    def steps(self) -> int:
        """The number of steps so far."""
        return self._opened().stepper.number

    @property
    def clock(self) -> datetime | None:
        """The clock of the last step, naive UTC."""
        return self._opened().stepper.clock

    @property
    def status(self) -> Status:
        """'running', 'stopped' or 'failed', with the last step, its clock and the error; starts no JVM."""
        stepper = None if self._execution is None else self._execution.stepper
        number, clock = (0, None) if stepper is None else (stepper.number, stepper.clock)
        return Status(self._supervisor.state, number, clock, self._supervisor.error)

    @property
    def in_transaction(self) -> bool:
        """True if BEGIN waits for its COMMIT."""
        return self._execution is not None and self._execution.transaction is not None

    def waterlines(self) -> dict[str, Any]:
        """The waterline of each LATENESS column, by `relation.column`; None before anything has been seen."""
        return {fact.name: fact.waterline for fact in self.waterline_facts()}

    def waterline_facts(self) -> list[WaterlineFact]:
        """The facts about each LATENESS or WATERMARK column of a table or view."""
        return self._opened().stepper.waterline_facts()

    def rejected(self) -> dict[tuple[str, str], int]:
        """The number of rows that went to `error_view` since the start, by relation and message."""
        return dict(self._opened().stepper.rejected)

    def inferred_waterlines(self) -> list[WaterlineFact]:
        """The waterlines of views' columns, with what each follows."""
        with self._lock:
            return self._opened().stepper.inferred_facts()

    def sources(self) -> list[SourceFact]:
        """The sources of tables: how far each has been read, what waits, how quickly rows come, its last error.

        What waits and how quickly rows come is noted by `run`, about once a second.
        """
        with self._lock:
            return self._opened().source_facts()

    def outputs(self) -> list[OutputFact]:
        """The outputs that the program declares: where each writes, in which form, how far it is, what it failed with.

        They are opened with the pipeline.
        """
        return self._opened().outlets.facts()

    def output_progress(self) -> list[OutputProgress]:
        """The progress of each output, declared or given to `run()`; never waits, and starts nothing."""
        execution = self._execution
        return [] if execution is None else [*execution.outlets.progress(), *execution.outbox.progress()]

    def state(self) -> list[OperatorState]:
        """The state that each operator remembers, how it grows, and what would bound it."""
        execution = self._opened()
        return states_of(execution.stepper.engine, execution.catalog)

    def profile(self) -> Profile:
        """The cost of each operator so far, in the steps that were measured; none are without `profile`."""
        with self._lock:
            return Profile() if self._execution is None else self._execution.stepper.engine.profile()

    def facts(self) -> PipelineFacts:
        """The pipeline as a whole: its state, step, clock and uptime, sources and outputs, and the memory it takes."""
        with self._lock:
            execution, status = self._opened(), self.status
            engine = execution.stepper.engine
            sources = tuple(source.describe() for source in execution.opened_sources())
            state = sum(size for _, _, _, size in engine.state())
            spilled, filling = spilled_of(engine), self._requests.facts
            return PipelineFacts(
                status.state,
                execution.stepper.number,
                execution.stepper.clock,
                time.monotonic() - self._born,
                sources,
                self._outputs,
                resident_bytes(),
                state,
                0 if spilled is None else spilled.bytes,
                "" if status.error is None else str(status.error),
                "" if filling is None else str(filling),
            )

    def serve_metrics(self, port: int = 9464, host: str = "127.0.0.1") -> Endpoint:
        """Serve /metrics for Prometheus, /health and /ready over HTTP until `close()`; port 0 is any that is free.

        Starts no JVM. Raises UnsupportedError without the package prometheus-client, DataError if it cannot listen.
        """
        check_extra("prometheus_client", "metrics", "serving metrics")
        from penstock.watching.endpoint import Endpoint  # noqa: PLC0415 - the package may be missing

        endpoint = Endpoint(self, port, host)
        self._endpoints.append(endpoint)
        self._listeners.append(endpoint)
        return endpoint

    def between_steps(self) -> AbstractContextManager[object]:
        """A block that waits for the step under way, and in which none begins: all that is read is of one state."""
        return self._lock

    # Changing it

    def execute(self, sql: str, *, clock: datetime | str | None = None) -> dict[str, Change]:
        """Run statements; each INSERT, UPDATE, DELETE, ADVANCE and COMMIT is a step, whose changes are given back.

        SELECT is for `query()`. A statement that is refused has changed nothing; those before it stand. A clock that
        is given once (naive UTC, or text in UTC) stays until the next that is given. Raises SqlError, UnsupportedError
        or DataError.
        """
        with self._lock, self._clocked(clock) as execution:
            return self._delivered(lambda: self._given(sql, lambda: execution.run(sql)))

    def step(
        self,
        inputs: Mapping[str, Rows] | None = None,
        *,
        clock: datetime | str | None = None,
        sql: str | None = None,
    ) -> dict[str, Change]:
        """One transaction: rows for tables, then the statements in `sql`, or one ADVANCE alone; gives all changes.

        Rows are tuples or dicts (inserts), `('+' | '-' | '~', row)`, pandas, Arrow or a Spark DataFrame with optional
        columns `__op` and `__seq`. Where all that reads a table works in the process, a DataFrame comes in as a stream;
        what is more than 64 MB of it lies in a file meanwhile. Otherwise a large one stays on the executors, except for
        a keyed table with LATENESS, or with '~': its rows come to the driver, so give it in pieces of some million
        rows. A clock that is given once stays until the next that is given.
        Raises DataError, and changes nothing, if anything does not fit. What a declared output fails with is raised
        too: then the step has happened, as `steps` says, the output gets it before the next, and `give` its changes.
        """
        with self._lock, self._clocked(clock) as execution:
            batches = [self._batch(name, rows) for name, rows in (inputs or {}).items()]
            return self._delivered(lambda: self._given(sql, lambda: execution.step(batches, sql)))

    def end_of_input(self) -> dict[str, Change]:
        """Nothing more will come: a step that releases what WATERMARK holds back; gives all changes."""
        with self._lock:
            return self._delivered(self._opened().end_of_input)

    @contextmanager
    def _clocked(self, clock: datetime | str | None) -> Iterator[Execution]:
        """The pipeline at a clock, which stays; as it was before if what runs inside fails and no step has taken it."""
        before = self._manual_clock
        if clock is not None:
            self._manual_clock = clock_value(clock)
        try:
            execution = self._opened()
            if clock is not None:
                check_clock(execution.stepper.clock, execution.clock())
            yield execution
        except BaseException:
            if self._execution is None or self._execution.stepper.clock != self._manual_clock:
                self._manual_clock = before
            raise

    @property
    def was_deployed(self) -> bool:
        """True if the program has taken the place of another, so that its statements are not run."""
        self._opened()
        return self._goes_on

    @property
    def program_statements(self) -> int:
        """The number of the program's statements that have changed something, and are not to be run again."""
        return self._opened().stepper.program

    def counted(self) -> AbstractContextManager[None]:
        """A block in which one more of these runs."""
        return self._opened().counted()

    def leave_other_queries(self) -> None:
        """Have the lasting queries go that stood when the directory was left, and have not been asked for again."""
        with self._lock:
            self._standing.leave_others(self._opened())

    def begin(self) -> None:
        """Begin a transaction; `step()` and statements add to it until `commit()`. SqlError if one is open."""
        self._opened().begin()

    def commit(self) -> dict[str, Change]:
        """Make the transaction one step; gives all changes. SqlError if none is open."""
        with self._lock:
            return self._delivered(self._opened().commit)

    def rollback(self) -> None:
        """Forget the transaction. SqlError if none is open."""
        self._opened().rollback()

    def deployment(self, program: str | Path) -> Deployment:
        """The difference between this program and another: its relations, what is rebuilt, what cannot be done.

        Raises SqlError or UnsupportedError for a program that is wrong by itself.
        """
        with self._lock:
            return with_obstacles(self._opened(), self._planned(read_program(program)))

    def _planned(self, source: str) -> Deployment:
        compiled = self._compiled(source)
        rate = self._rows / self._seconds if self._seconds else None
        return planned(self._opened(), replace(compiled, catalog=self._wanted(compiled.catalog)), rate)

    def deploy(self, program: str | Path, *, told: Callable[[FillingFacts], object] | None = None) -> dict[str, Change]:
        """Go on with another program, from the next step on: that step shows what is different, and is given back.

        Views that mean the same keep their answers and state; others begin with the present contents. If it fails
        nothing has changed. While a run is at work on another thread that one does it: new views are filled between its
        steps, which go on, and then take their places in one step; `told` is given how far they are, and what it raises
        (or Ctrl-C) gives the change up. Statements of the program that declare nothing are not run. Raises
        UnsupportedError for what cannot change (`deployment` says it before), DataError (DEPLOY_GIVEN_UP) if the run
        ends before.
        """
        source = read_program(program)
        self._opened()
        request = Request(partial(self._filling, source), partial(self._deployed, source), self._stop_filling)
        runs = self._supervisor.runs_elsewhere
        by_run = partial(self._requests.made_by_the_run, request, runs, told)
        return self._sourced(source, lambda: by_run() if runs() else request.made_here())

    def _filling(self, source: str) -> Filling | None:
        """The views of a program that are filled before it takes the place of this one."""
        with self._lock:
            execution = self._opened()
            found = filling_of(execution, self.deployment(source))
            self._before_filling = execution.catalog
            return found

    def _stop_filling(self) -> None:
        with self._lock:
            self._opened().stepper.stop_filling()

    def _deployed(
        self, source: str, then: Callable[[dict[str, Change]], None] | None, filled: Filling | None
    ) -> dict[str, Change]:
        with self._lock:
            execution, found = self._opened(), self._planned(source)
            if filled is not None and not self._is_as_before_filling(execution.catalog):
                execution.stepper.stop_filling()
                filled = None
            program, step = self._compiled(source), execution.stepper.number + 1
            try:
                with execution.outbox.giving_back(), self._opening.deploying(program, step):
                    changes = deployed(execution, found, then or execution.made, filled)
            finally:
                execution.stepper.stop_filling()  # what is not in its place
            self.source, self.program = source, program
            return changes

    def _is_as_before_filling(self, catalog: Catalog) -> bool:
        return self._before_filling is not None and same_program(self._before_filling, catalog)

    def compact(self) -> None:
        """Merge all state, and drop what no accepted input can touch; steps do it by themselves, a little at a time."""
        with self._lock:
            self._opened().stepper.engine.compact()

    def _batch(self, name: str, rows: Rows) -> Incoming:
        table = find_table(self.catalog, name)
        return batch_of(table, rows, self._opened().readers(table))

    # Reading it

    def query(self, sql: str, *, as_of: Point | None = None) -> Answer:
        """The answer of a query over the present contents: its `rows`, `arrow()`, `show()`, or `df()` for Spark.

        What is proven is answered in the process, the rest by Spark, as `engine` says. An open transaction's changes
        are among them. `as_of` asks for the contents as they were: after the step of a `Position` (or the name of a
        saved one), after the step of a number, or at a time (a datetime, or text in UTC); the query can say it too.
        Raises SqlError or UnsupportedError for the query, DataError for a past that is not kept.
        Raises DataError, once, if `start()`'s thread has ended with an error that no call has said.
        """
        self._supervisor.check()
        with self._lock:
            execution = self._opened()
            step = None if as_of is None else execution.points.step_of_value(as_of)
            return self._given(sql, lambda: execution.query(sql, step))

    def position(self, name: str | None = None) -> Position:
        """The point behind the last step, from which several queries can be started; saved under a name, if it has one.

        `subscribe(sql, at=…)` and `query(sql, as_of=…)` take it, as START AT and AS OF do in SQL. What is saved is kept
        with the directory; a name that is taken moves here.
        """
        with self._lock:
            execution = self._opened()
            if name is not None:
                return execution.save_position(name)
            return Position(execution.stepper.number, execution.stepper.clock)

    @property
    def positions(self) -> tuple[Position, ...]:
        """The saved positions, the first to be saved first."""
        return self._opened().stepper.positions.all

    def lookup(self, name: str, key: Any) -> Answer:
        """The rows of a view's maintained content with a key: a value, a tuple, or a list of several keys.

        The key is the smallest that is known of the view (`explain` names it), with its columns in the view's order, or
        what a dict says: `lookup("totals", {"customer": "ann"})`. Content in the process is found by an index, which is
        made when several have been looked up, and which steps keep; a table, and content on Spark, is asked as by
        `query()`, and so is all within a transaction. Raises SqlError for a name that is not there, DataError for a key
        that does not fit.
        """
        self._supervisor.check()
        with self._lock:
            return looked_up(self._opened(), name, key)

    def table(self, name: str) -> Relation:
        """A table or view as a relation, which grows into a query by calls: `table("t").filter(col("x") > 1)`."""
        return relation_of(self, name)

    def sql(self, text: str) -> Relation:
        """A query in SQL as a relation. Raises SqlError or UnsupportedError for the query."""
        with self._lock:
            return self._given(text, lambda: relation_of_text(self, text))

    def create_view(self, name: str, query: Relation | Emitting, *, materialized: bool = False) -> None:
        """Create a view of a relation; `materialized` keeps its content, so that queries read it."""
        create_view(name, query, materialized=materialized)

    def changes(self, view: str) -> Subscription:
        """A view's changes from now on, as they are committed (by any thread). SqlError if there is no such view.

        Raises DataError, once, if `start()`'s thread has ended with an error that no call has said. One that a call has
        said is what the first read raises: changes come with the next run.
        """
        self._supervisor.check()
        found = self._view(view)
        subscription = Subscription(found.name, self._leave)
        self._opened()
        self._subscriptions.append(subscription)
        if self._supervisor.thread_error is not None:
            subscription.fail(run_failed(self._supervisor.thread_error))
        return subscription

    def subscribe(
        self,
        sql: str,
        *,
        name: str | None = None,
        clock: datetime | str | None = None,
        at: Point | None = None,
        lasting: bool = False,
    ) -> StandingQuery:
        """Have a query stand, and give what it shows: an `Emission`, a sequence of rows, whenever its EMIT says so.

        It stands until it is closed, has shown as many rows as its LIMIT says, or the pipeline is closed. Its ticks are
        counted from `clock`, which stays as that of `step()` does. With `at`, a position or the number of a step, it
        reads of each stream what came after that, as START AT says in SQL. One that is `lasting` goes on where it was
        when the pipeline is opened again on its directory and is asked for it again; any other ends with its process.
        Raises SqlError or UnsupportedError for the query, and DataError as `query()` does.
        """
        self._supervisor.check()
        with self._lock, self._clocked(clock) as execution:
            step = None if at is None else execution.points.step_of_value(at)
            return self._given(sql, lambda: self._standing.stand(execution, sql, name, step, lasting=lasting))

    def give(self, outputs: Sequence[Output], changes: Mapping[str, Change] | None = None) -> None:
        """Give outputs what the last step has changed, and what they have not taken before; raises what one raises.

        `run()` does so by itself. Outputs that are given something for the first time begin with the present step. The
        steps of a call that has ended with an error, which gave nothing back, they get first.
        """
        with self._lock:
            execution = self._opened()
            execution.outbox.opened_again(outputs, execution.stepper.number - bool(changes))
            if changes:
                execution.outbox.put(outputs, execution.stepper.number, changes)
            failed = execution.outbox.deliver()
        if failed:
            raise failed[0][1]

    @property
    def queries(self) -> list[StandingQuery]:
        """The standing queries, in the order in which they began."""
        return self._standing.queries

    def content(self, view: str) -> Answer:
        """The rows of a view or table as they are now: those maintained by change where they are kept.

        Raises SqlError if there is neither, and DataError as `query()` does.
        """
        self._supervisor.check()
        with self._lock:
            execution = self._opened()
            return self._sourced(f"SELECT * FROM `{view}`", lambda: execution.content(view))

    def verify(self, view: str) -> Verification:
        """Compare a view's maintained content with its query, run in batch over the tables.

        Raises SqlError if there is no such view, DataError if the content is not kept (`retain='materialized'`), or the
        log no longer reaches back.
        """
        with self._lock:
            execution = self._opened()
            found = self._view(view)
            if found.lateness:
                message = f"view {found.name} has LATENESS: it forgets late rows, which its query does not"
                raise DataError(Diagnostic("NOT_COMPARABLE", message, hint="verify the views that read it"))
            contents = Contents(execution.stepper, execution.stepper.clock or self._now())
            expected = contents.query(found.plan)
            return compare(found.name, execution.engine.relations, execution.maintained(found, expected), expected)

    def explain(self, view: str | None = None, options: Sequence[str] = ()) -> str:
        """An account of how a view (or every view) is maintained, and where; starts no JVM.

        Options are 'verdict', 'plan', 'trace', 'rewritten', 'circuit' and 'json'; 'analyze' tells what its operators
        have cost. Raises SqlError if there is no such view, DataError if that has not been measured.
        """
        if "analyze" in options and is_measured(self.catalog):
            self._opened()  # a program's own statements are steps as well
        texts = {item.source for item in self.catalog.views.values()}
        source = self.source if texts == {self.source} else None  # else places are of several texts
        placing = partial(foreseen, local=self.is_local)
        text = str(explain(self.catalog, view, tuple(options), source, profile=self.profile(), placing=placing))
        return text if "json" in options else f"{text}{self._explained_outputs(view)}"

    def _explained_outputs(self, view: str | None) -> str:
        """A line for the output of a view, or for all outputs."""
        found = [item for item in outlets_of(self.catalog) if view is None or item.name.lower() == view.lower()]
        return "".join(f"\noutput: {item.describe()}" for item in found)

    def _view(self, name: str) -> View:
        view = self.catalog.views.get(name.lower())
        if view is None:
            known = [item.name for item in self.catalog.named_views()]
            message = f"view {name[:100]} does not exist"
            raise SqlError(Diagnostic("UNKNOWN_VIEW", message, candidates=did_you_mean(name, known)))
        return view

    # Running it

    def run(self, *, once: bool = False, outputs: Iterable[Output] = (), options: RunOptions | None = None) -> None:
        """Follow the sources of the program's tables until `stop()`, or with `once` until they are used up.

        Called again it goes on where it was: nothing is read twice or left out. An output that fails ends the run with
        its error, and gets the step from the next run, if it has the same name there (`describe()`); with
        `RunOptions(on_output_error='retry')` the run goes on when it has taken the step. Raises DataError if no table
        has a connector, unless `once` is said, for input that the program says must stop it, and while another run is
        under way.
        """
        if not once:
            check_followed(self.catalog, once=once)
        execution = self._opened()
        loop = self._loop(execution, outputs, options)
        self._sourced(self._text_of_tables(), lambda: self._supervisor.run(loop, once=once))

    def start(self, *, outputs: Iterable[Output] = (), options: RunOptions | None = None) -> None:
        """`run()` on a thread of its own.

        If that ends with an error, `status` has it, each subscription raises it once, and so does the first call of
        `query()`, `content()`, `changes()`, `stop()` or `close()`. `run()` or `start()` goes on where it was.
        """
        check_followed(self.catalog, once=False)
        execution = self._opened()
        self._supervisor.start(self._loop(execution, outputs, options))

    def _text_of_tables(self) -> str | None:
        """The text that the places of tables are places of: the program's, unless tables were declared since."""
        known = self.program.catalog.tables
        return self.source if all(known.get(name) == table for name, table in self.catalog.tables.items()) else None

    def _loop(self, execution: Execution, outputs: Iterable[Output], options: RunOptions | None) -> RunLoop:
        given = tuple(outputs), options or RunOptions()
        return RunLoop(execution, self._lock, *given, self._tell, requests=self._requests)

    def stop(self) -> None:
        """End `run()` or `start()` after the step under way; raises what the thread failed with, if no call has."""
        self._supervisor.stop()

    def close(self) -> None:
        """End the step that is under way; forget all that is not in the directory. The SparkSession stays."""
        if self._closed:
            return
        self._closed = True
        try:
            self.stop()
        finally:
            for endpoint in self._endpoints:
                endpoint.close()
            with self._lock, self._rooms:
                try:
                    self._keep_state()
                finally:
                    self._let_go()

    def _keep_state(self) -> None:
        """At the end: what would take longer to make again than to write down."""
        if self._execution is not None and self._execution.stepper.is_intact:
            self._execution.keep_state_at_end()

    def _let_go(self) -> None:
        self._opening.leave()
        for subscription in list(self._subscriptions):
            subscription.end()
        self._standing.end()
        if self._execution is not None:
            self._execution.outlets.close()
            self._execution.close_sources()
            self._execution.stepper.engine.close()
            self._execution.stepper.log.close()
            self._opening.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Inside

    def _opened(self) -> Execution:
        """The pipeline at work; Spark starts here, and the program's own statements run."""
        if self._closed:
            raise DataError(Diagnostic("CLOSED", "the pipeline is closed"))
        with self._lock:
            if self._execution is None:
                self._execution = self._sourced(self.source, self._open)
                self._execution.stepper.listen(self._stepped)
                self._execution.stepper.watch(self._standing.shown)
                self._execution.sweep = self._standing.sweep
                self._execution.lasting = self._standing.remembered
                self._execution.standing = partial(self._standing.stand_statement, self._execution)
                self._sourced(self.source, self._started_program)
                self._execution.outlets.settle()
            return self._execution

    def _delivered(self, work: Callable[[], dict[str, Change]]) -> dict[str, Change]:
        """The changes of the steps that `work` makes, once the declared outputs have them.

        What one of these fails with is raised, and the steps stand: `give` has their changes.
        Outputs of a pipeline that has been closed meanwhile are given the rest when it goes on.
        """
        execution = self._opened()
        with execution.outbox.giving_back() as made:
            changes = work()
            if made and not self._closed:
                execution.outlets.settle()
            return changes

    def _open(self) -> Execution:
        begun = self._opening.begun_with(self.program, self._given_dialect)
        if begun is not self.program:
            self._catalog, self._goes_on = self._wanted(begun.catalog), True
        zone = zone_of(self._catalog)
        readers = Readers(lambda: self._opening.workspace, zone, self._now, self._store)
        outlets = Outlets(self._opening.owner(), self._tell, writes=self._writes)
        begun_in = self._given_dialect or DEFAULT_DIALECT
        return self._opening.execution(begun, self._catalog, begun_in, readers, clock=self._now, outlets=outlets)

    def _store(self) -> Store | None:
        return None if self._execution is None else self._execution.stepper.engine.process(self.catalog)

    def _started_program(self) -> dict[str, Change]:
        assert self._execution is not None  # noqa: S101 - set by the caller
        # What a deployed program does beside its declarations is not run.
        return {} if self._goes_on else self._execution.run_program(self.program.statements, self.source)

    def _now(self) -> datetime:
        """The clock of a step that begins now; it never goes back by itself."""
        if self._manual_clock is not None:
            return self._manual_clock
        last = None if self._execution is None else self._execution.stepper.clock
        wall = now()
        return wall if last is None or wall > last else last

    def _stepped(self, event: StepDone, changes: Mapping[str, Change]) -> None:
        for subscription in list(self._subscriptions):
            change = changes.get(subscription.view)
            if change is not None and change.delta is not None:
                subscription.offer(change)
        self._tell(event)

    def _tell(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self._outputs = event.outputs
        if isinstance(event, StepDone):
            self._rows, self._seconds = self._rows + sum(event.received.values()), self._seconds + event.seconds
        for listener in self._listeners:
            listener(event)

    def _failed(self, error: BaseException) -> None:
        for subscription in list(self._subscriptions):
            subscription.fail(run_failed(error))
        self._standing.fail(run_failed(error))

    def _leave(self, subscription: Subscription) -> None:
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def _sourced(self, source: str | None, work: Callable[[], Found]) -> Found:
        try:
            return work()
        except PenstockError as error:
            raise (error if source is None else error.with_source(source)) from error.__cause__
        except Exception as error:
            known = translated(error, self.catalog)
            if known is error:
                raise
            raise known from error

    def _given(self, text: str | None, work: Callable[[], Found]) -> Found:
        """Do something with a text that the running pipeline is given; its errors name other dialects."""
        try:
            return self._sourced(text, work)
        except (SqlError, UnsupportedError) as error:
            raise (error if text is None else naming_dialects(error, text, self.catalog)) from error.__cause__
