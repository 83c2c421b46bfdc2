# ruff: noqa: DTZ001 - points in time are naive UTC datetimes, at the API too
"""Tables for tests that start no JVM: declared by SQL, without the binder."""

from datetime import datetime

import pytest

from penstock.backends.native.store import Store
from penstock.backends.spark.workspace import Workspace
from penstock.catalog.model import Table
from penstock.sql.parse import parse
from penstock.sql.statements import CreateTable
from penstock.steps.intake.fold import Intake, Judge, fold_rows
from penstock.steps.intake.holding import declared_holding
from penstock.steps.intake.keystore import KeyStore
from penstock.steps.intake.lateness import declared_lateness
from penstock.steps.intake.many import fold_by_key
from penstock.steps.intake.rowcounts import RowCounts
from penstock.steps.rows.batch import RowReader
from penstock.steps.rows.defaults import Defaults
from penstock.steps.rows.rejected import Rejections

CLOCK = datetime(2024, 6, 1, 12)


def _no_spark():
    pytest.fail("a test that starts no JVM has no value for a DEFAULT")


NO_DEFAULTS = Defaults(_no_spark, lambda: CLOCK)


def declared(sql: str) -> Table:
    (statement,) = parse(sql)
    assert isinstance(statement, CreateTable)
    return statement.table


class Bench:
    """One table with its memory, which lies in `process` if that is given, stepped by hand."""

    def __init__(self, sql: str, process: Store | None = None) -> None:
        self.table = declared(sql)
        self.process = process
        self.reader = RowReader(self.table, NO_DEFAULTS)
        self.lateness = declared_lateness(self.table)
        self.holding = declared_holding(self.table)
        self.store = KeyStore(Workspace(None), self.table, process) if self.table.key else None
        self.counts = RowCounts(Workspace(None), self.table, process)
        self.rejections = Rejections()

    def fold(self, rows, *, tolerant=False, clock=CLOCK) -> Intake:
        self.rejections = Rejections(tolerant)
        batch = self.reader.read(rows, self.rejections)
        judge = Judge(self.lateness, clock, self.rejections, self.holding)
        if self.store is not None:
            return fold_by_key(batch, judge, self.store)
        return fold_rows(batch, judge, lambda: self.counts, self.counts)

    def step(self, rows, **options):
        """The change as `[(weight, row)]` and the messages of the rejected rows."""
        for part in filter(None, (self.store, self.counts)):
            part.maintain()
        intake = self.fold(rows, **options)
        self._follow(intake)
        self.lateness, self.holding = intake.lateness, intake.holding
        change = [
            (row[-1], row[:-1]) for row in zip(*(column.to_pylist() for column in intake.change.columns), strict=True)
        ]
        return change, [row.message for row in self.rejections.rows]

    def _follow(self, intake):
        if self.process is not None:
            self.process.begin(None, None)
        intake.propose()
        if self.process is not None:
            self.process.commit()
        intake.apply()

    def waterline(self, column):
        item = next(found for found in self.lateness.columns if found.column.name == column)
        return self.lateness.waterline(item).at
