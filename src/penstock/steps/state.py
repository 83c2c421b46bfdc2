"""All that a pipeline remembers between steps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from penstock.backends.api import Delta
from penstock.catalog.model import Catalog, Table
from penstock.engine.engine import Engine
from penstock.errors import Diagnostic, InternalError
from penstock.steps.lines import LineReader
from penstock.steps.log import InputLog
from penstock.steps.manifest import Declared
from penstock.steps.phases import Stopwatch
from penstock.steps.rows.added import Added
from penstock.steps.rows.batch import RowReader
from penstock.steps.saved_positions import SavedPositions
from penstock.steps.tables import Tables
from penstock.steps.targets import Target
from penstock.steps.told import Differing
from penstock.steps.views import Views


def _no_reader(table: Table) -> RowReader:
    message = f"nothing reads the rows that are written into {table.name}"
    raise InternalError(Diagnostic("NO_READER", message))


@dataclass
class State:
    """The engine's state, what is remembered of tables and views, and the counts; `stepping` is a clock under way.

    `targets` are the tables that standing statements write into, and `reader` checks the rows for one. `whole` names
    tables, in lower case, all of whose columns are wanted, whatever views read. `positions` are the saved ones.

    `earlier` are the answers, taken back, of views that another query takes the place of in the next step,
    and `differing` what steps that were made again showed otherwise.

    Views and tables come and go by `Stepper.install`; all else follows a committed step, in `steps.committing`.
    """

    engine: Engine
    log: InputLog
    catalog: Catalog
    tables: Tables
    views: Views
    line_reader: LineReader
    number: int = 0
    clock: datetime | None = None
    stepping: datetime | None = None
    rejected: dict[tuple[str, str], int] = field(default_factory=dict)
    declared: Declared = field(default_factory=Declared)
    targets: tuple[Target, ...] = ()
    positions: SavedPositions = field(default_factory=SavedPositions)
    reader: Callable[[Table], RowReader] = _no_reader
    whole: Callable[[], Collection[str]] = tuple
    stopwatch: Stopwatch = field(default_factory=Stopwatch)
    earlier: Mapping[str, Delta] = field(default_factory=dict)
    differing: Differing = field(default_factory=Differing)

    @classmethod
    def first(cls, engine: Engine, log: InputLog, retain: str) -> State:
        """The state before anything has been declared."""
        found = cls(engine, log, Catalog(), Tables(engine.relations, log), Views(engine, retain), LineReader(engine))
        found.positions = SavedPositions(log.positions_file)
        log.added = Added(engine.relations, lambda: engine.process(found.catalog))
        found.tables.process = lambda: engine.process(found.catalog)
        found.tables.is_read_here = engine.is_read_here
        return found

    def columns_read(self, relation: str) -> frozenset[str]:
        """The columns of a table, named in lower case, that somebody reads, in lower case."""
        table = self.catalog.table(relation)
        if table is not None and relation in self.whole():
            return frozenset(column.name.lower() for column in table.columns)
        return self.engine.columns_read(relation)

    def step_clock(self) -> datetime:
        """The clock of the step that is under way, or of the last one."""
        clock = self.stepping or self.clock
        return now() if clock is None else clock


def now() -> datetime:
    """The wall clock as a naive UTC datetime."""
    return datetime.now(UTC).replace(tzinfo=None)
