"""From a compiled program to one at work: the session, the engine, the log."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.backends.spark.functions import registered_functions
from penstock.backends.spark.jvm import configured
from penstock.backends.spark.later import LaterSession, check_as_known
from penstock.backends.spark.session import (
    RUNTIME_SETTINGS,
    Aside,
    adopt_session,
    is_local,
    open_session,
    running_session,
)
from penstock.backends.spark.settings import settings_of
from penstock.backends.spark.starting import Expected
from penstock.backends.spark.workspace import Opener, Workspace
from penstock.bind.program.compile import Program, compile_program
from penstock.catalog.functions import built_in
from penstock.catalog.meanings import check_meaning, differing
from penstock.catalog.model import Catalog
from penstock.catalog.settings import (
    CHANGEABLE,
    DEFAULT_DIALECT,
    DIALECT,
    ENGINE,
    MEMORY_LIMIT,
    check_conf,
    check_setting,
    engine_of,
    why_on_spark,
)
from penstock.circuit.measured import ON, SETTING
from penstock.engine.engine import Engine
from penstock.engine.placing import Kept, none_kept
from penstock.errors import DataError, Diagnostic, SqlError
from penstock.failpoints import reach
from penstock.outputs.receiver import Owner
from penstock.pipeline.execution import Execution, declaring
from penstock.pipeline.outbox import Outbox, Taken
from penstock.pipeline.outlets import Outlets
from penstock.pipeline.own_files import check_apart
from penstock.pipeline.recovery import ProgramRecord, Recovery, check_program, program_record, settle_program
from penstock.pipeline.retention import check_log, check_reaches, is_cut_log
from penstock.pipeline.session_queries import SessionQueries
from penstock.pipeline.source_positions import SourcePositions
from penstock.pipeline.standing_queries import StandingQueries
from penstock.pipeline.supported import check_supported
from penstock.source_text import SourceText
from penstock.steps.directory import check_own, directory_id
from penstock.steps.events import Event, QueriesEnded
from penstock.steps.intake.inputs import Readers
from penstock.steps.log import InputLog
from penstock.steps.openings import Openings
from penstock.steps.origin import Origin
from penstock.steps.recorded import last_step
from penstock.steps.snapshots import Snapshots
from penstock.steps.stepper import Stepper

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_ERROR_HISTORY = 1_000_000
Clock = Callable[[], datetime]


@dataclass
class Opened:
    """The place in which a pipeline was told to work."""

    spark: SparkSession | Opener | None
    directory: Path | None
    master: str
    conf: Mapping[str, str]
    retain: str
    kept: Kept = none_kept
    rebuild: bool = False
    anew: bool = False  # another program makes everything again
    standing: StandingQueries = field(default_factory=lambda: StandingQueries(threading.RLock()))
    tell: Callable[[Event], None] = lambda _event: None
    expected: Expected | None = None  # a session that will be asked for

    def __post_init__(self) -> None:
        """UnsupportedError for a setting under which a program would mean something else."""
        check_conf(self.conf)

    @cached_property
    def workspace(self) -> Workspace:
        """The session with Penstock's settings, or what opens one when it is first needed."""
        given, local = self._given, is_local(self.master)
        if given is not None:
            return Workspace(adopt_session(given, self.conf), known=self.known)
        if isinstance(self.spark, LaterSession) or running_session() is None:
            return Workspace(self._open, local_master=local, known=self.known)
        return Workspace(self._open(), known=self.known)

    def _open(self) -> SparkSession:
        """The session; UnsupportedError for one that is not as the program has been told."""
        if self.expected is not None:
            self.expected.wait()
            expected, self.expected = self.expected, None
            expected.check()
        if isinstance(self.spark, LaterSession):
            session = adopt_session(self.spark(), self.conf)
        else:
            session = open_session(master=self.master, conf=self.conf)
        taken = {name for name in registered_functions(session) - self.registered if built_in(name) is not None}
        check_as_known(self.known, differing(settings_of(session)), taken)
        return session

    @cached_property
    def _given(self) -> SparkSession | None:
        """The session that whoever opens the pipeline has; a function is asked for it, since only it knows."""
        given = self.spark
        if isinstance(given, LaterSession):
            return None
        return given() if callable(given) else given

    @cached_property
    def _there(self) -> SparkSession | None:
        """The session that is given, or that the process has already; None for one that is opened later."""
        return self._given if self.spark is not None else running_session()

    def expect(self, judged: Callable[[], bool]) -> None:
        """Begin a session on a thread of its own, if it is `judged` that one will be needed.

        One that is there already, that a function gives, or that a cluster has, is waited for when it is needed.
        """
        if self.expected is None and self.spark is None and is_local(self.master) and running_session() is None:
            self.expected = Expected(Aside(self.master, self.conf), judged)

    @cached_property
    def registered(self) -> frozenset[str]:
        """The functions that the session has beside Spark's; none where there is no session yet."""
        return frozenset() if self._there is None else registered_functions(self._there)

    @cached_property
    def known(self) -> Mapping[str, str]:
        """The settings of the session, as it is or will be, by which SQL may mean something else than is assumed.

        UnsupportedError for one by which Penstock would read a program wrongly.
        """
        if isinstance(self.spark, LaterSession):
            found = dict(self.spark.conf)
        else:
            found = configured() if self._there is None else settings_of(self._there)
        found = {name: value for name, value in found.items() if name not in RUNTIME_SETTINGS} | dict(self.conf)
        for name, value in found.items():
            check_meaning(name, value)
        return differing(found)

    def owner(self) -> Owner:
        """The pipeline as its outputs know it."""
        own = uuid.uuid4().hex if self.directory is None else directory_id(self.directory)
        return Owner(own, self.directory, Openings(self.directory))

    def execution(
        self, program: Program, catalog: Catalog, begun_in: str, readers: Readers, *, clock: Clock, outlets: Outlets
    ) -> Execution:
        """The program at work, its views installed and its outputs open.

        It is before its first step, or where its directory has got to.
        """
        check_supported(catalog)
        check_apart(catalog, self.directory)
        log = InputLog(self.directory, int(catalog.settings.get("error_history", _ERROR_HISTORY)))
        engine = Engine(self.workspace, self.directory, self.kept)
        try:
            self.workspace.follow(catalog.settings)
            stepper = Stepper(engine, log, self.retain)
            stepper.read_by(readers)
            execution = Execution(stepper, begun_in, readers, clock, outlets)
            self._begin(execution, program, catalog)
            outlets.start(stepper.number, self.workspace)
            stepper.keep_by(outlets)
        except BaseException:
            engine.close()
            log.close()
            raise
        return execution

    def compiled(self, text: str, dialect: str | None) -> Program:
        """A program for the session, checked as a whole; raises as `compile_program`."""
        return compile_program(text, dialect, self.registered, self.known)

    def begun_with(self, program: Program, dialect: str | None) -> Program:
        """The program with which the directory began, if the log makes this one of it; else this one.

        DataError for a folder with files that are not a pipeline's.
        """
        if self.directory is not None:
            check_own(self.directory)
        known = None if self.directory is None else program_record(self.directory)
        if self.directory is None or known is None:
            return program
        self.anew = self.rebuild and not known.is_of(declaring(program))
        if known.deployed is None or self.anew:
            return program
        check_program(known, declaring(program), self.directory)
        return self.compiled(known.text, dialect)

    @contextmanager
    def deploying(self, program: Program, step: int) -> Iterator[None]:
        """A block in which another program takes the place of the one at work, with a step, or not at all."""
        known = None if self.directory is None else program_record(self.directory)
        if known is None or self.directory is None:
            yield
            return
        replace(known, pending=(step, tuple(declaring(program)))).write(self.directory)
        reach("deploy.pending")
        try:
            yield
        except BaseException:
            replace(known, pending=(step, tuple(declaring(program)))).settled(self.directory).write(self.directory)
            raise
        reach("deploy.step")
        replace(known, deployed=tuple(declaring(program))).write(self.directory)

    def _begin(self, execution: Execution, program: Program, catalog: Catalog) -> None:
        known = None if self.directory is None else program_record(self.directory)
        began = execution.clock() if known is None else known.began
        record = ProgramRecord(tuple(declaring(program)), began)
        if self.directory is None:
            _install(execution, catalog, began)
            execution.begin_program(program.statements, began)
            return
        check_log(self.directory)
        execution.directory = self.directory
        execution.outbox = Outbox(Taken(self.directory))
        self.standing.of_session = SessionQueries(self.directory)
        if left := self.standing.of_session.left():
            self.tell(QueriesEnded(tuple(left.items())))
        program_text = (record if known is None or self.anew else known).text  # whose layout may be another
        engine, place = engine_of(catalog.settings), self._place(catalog)
        origin = Origin.here(_settings(catalog), self.retain, engine, place, program_text)
        is_cut = partial(is_cut_log, execution.stepper.log.folder)
        snapshots = execution.snapshots = Snapshots(self.directory, origin, self.tell, is_cut=is_cut)
        execution.stepper.listen(lambda event, _: snapshots.worked(event.seconds))
        if known is None:
            check_reaches(execution.stepper.log.folder, 0)
            _install(execution, catalog, began)
            record.write(self.directory)
            execution.begin_program(program.statements, began)
            return
        if self.rebuild:
            check_reaches(execution.stepper.log.folder, 0)
        settle_program(self.directory)
        if self.anew:
            known = replace(record, anew=last_step(execution.stepper.log.folder))
            known.write(self.directory)
        elif known.deployed is None:
            check_program(known, record.statements, self.directory)
            known.keep(self.directory)
        if self.rebuild:
            snapshots.remove()
        if not self._taken_over(execution, snapshots, catalog):
            check_reaches(execution.stepper.log.folder, execution.stepper.number, snapshots.unused)
            _install(execution, catalog, began)
        started = time.perf_counter()
        Recovery(execution, self.standing.restore, known).run()
        snapshots.worked(time.perf_counter() - started)

    def _place(self, catalog: Catalog) -> str:
        """The place of operators, which is all that snapshots depend on of a master."""
        return "on Spark" if why_on_spark(catalog.in_effect, local=self.workspace.is_local) else "in the process"

    def _taken_over(self, execution: Execution, snapshots: Snapshots, catalog: Catalog) -> bool:
        """True if the last snapshot is one to go on from."""
        execution.stepper.engine.process(catalog)
        more = execution.stepper.take_over(snapshots, catalog)
        if more is None:
            return False
        self.workspace.follow(execution.stepper.catalog.settings)
        execution.taken = SourcePositions(more["taken"])
        execution.outbox.since = execution.stepper.number + 1
        execution.outlets.follow(execution.stepper.catalog)
        self.standing.take_over(execution, more["queries"])
        return True

    def release(self) -> None:
        """Have the session, which may live on, forget what it knows of the pipeline."""
        self.workspace.leave()

    def leave(self) -> None:
        """Have nothing be left of a session that was expected, and that nobody has asked for."""
        expected, self.expected = self.expected, None
        if expected is not None:
            expected.leave()


def _install(execution: Execution, catalog: Catalog, began: datetime) -> None:
    """Have the program's views stand since it began."""
    clock = execution.clock
    execution.clock = lambda: began
    execution.install(catalog, [view.name for view in catalog.views.values() if view.plan is not None])
    execution.clock = clock


_OF_NO_FORM = {MEMORY_LIMIT, ENGINE, *CHANGEABLE}


def _settings(catalog: Catalog) -> dict[str, str]:
    """The settings on which the form of the state may depend; a dialect that is the default says nothing."""
    told = ((name, value) for name, value in catalog.in_effect.items() if name not in _OF_NO_FORM)
    return {name: value for name, value in told if (name, value) != (DIALECT, DEFAULT_DIALECT)}


def as_wanted(catalog: Catalog, *, profile: bool, engine: str | None, memory_limit: str | None) -> Catalog:
    """The catalog with what whoever opens a pipeline asks for beside its program; SqlError for a bad value."""
    found = catalog.with_setting(SETTING, ON) if profile else catalog
    for name, value in ((ENGINE, engine), (MEMORY_LIMIT, memory_limit)):
        if value is not None:
            check_setting(name, value)
            found = found.with_setting(name, value)
    return found


def read_program(program: str | Path) -> str:
    """The program text: `program` itself, or the file that it names, which its places name too."""
    if isinstance(program, str) and not _names_file(program):
        return program
    path = Path(program)
    try:
        return SourceText.joined([(path.read_bytes().decode("utf-8-sig"), str(program))])
    except UnicodeDecodeError as error:
        raise SqlError(
            Diagnostic("NOT_UTF8", f"{path} is not UTF-8: byte {error.start} is {error.object[error.start]:#04x}")
        ) from None
    except OSError as error:
        raise DataError(Diagnostic("CANNOT_READ", f"{path} cannot be read: {error.strerror}")) from None


def _names_file(program: str) -> bool:
    return program.lower().endswith(".sql") and "\n" not in program and ";" not in program
