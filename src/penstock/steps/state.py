"""All that a pipeline remembers between steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from penstock.catalog.model import Catalog
from penstock.engine.engine import Engine
from penstock.steps.lines import LineReader
from penstock.steps.log import InputLog
from penstock.steps.manifest import Declared
from penstock.steps.tables import Tables
from penstock.steps.views import Views


@dataclass
class State:
    """The engine's state, what is remembered of tables and views, and the counts; `stepping` is a clock under way.

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

    @classmethod
    def first(cls, engine: Engine, log: InputLog, retain: str) -> State:
        """The state before anything has been declared."""
        workspace = engine.workspace
        found = cls(engine, log, Catalog(), Tables(workspace, log), Views(engine, retain), LineReader(engine))
        found.tables.process = lambda: engine.process(found.catalog)
        return found

    def step_clock(self) -> datetime:
        """The clock of the step that is under way, or of the last one."""
        clock = self.stepping or self.clock
        return now() if clock is None else clock


def now() -> datetime:
    """The wall clock as a naive UTC datetime."""
    return datetime.now(UTC).replace(tzinfo=None)
