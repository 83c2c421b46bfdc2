"""Queries over the present contents, answered in the process: nothing of them starts a JVM.

What is not proven raises `NotProvenError`, as do contents that lie on Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

import pyarrow as pa

from penstock.backends.api import Delta
from penstock.backends.native.proof import not_proven
from penstock.backends.native.store import Store
from penstock.catalog.model import PASSED, Catalog, Table, View
from penstock.engine.answering import Answering
from penstock.errors import DataError, Diagnostic, InternalError
from penstock.plan.nodes import Arrived, Plan
from penstock.steps.contents import Stored
from penstock.steps.intake.fold import Intake
from penstock.steps.intake.remembering_gate import passed_rows
from penstock.steps.past import Past
from penstock.steps.stepper import Stepper


@dataclass
class ContentsHere:
    """The present contents as far as they lie in the process, with a transaction's own changes (`pending`) on top.

    With `past` they are those after an earlier step; `catalog` tells what is read.
    """

    stepper: Stepper
    stored: Stored
    store: Store
    clock: datetime
    catalog: Catalog
    pending: Sequence[Intake] = ()
    past: Past | None = None
    _relations: dict[str, str] = field(default_factory=dict)

    @cached_property
    def _answering(self) -> Answering:
        return Answering(self.store, self.clock, self.catalog, self._relation)

    def rows(self, plan: Plan) -> pa.Table:
        """The answer of a plan, in its order, in the Arrow types of Spark's answer."""
        with self._answering.reading():
            return self._answering.rows(plan)

    def maintained_rows(self, view: View) -> pa.Table | None:
        """The rows of a view as its changes add up; None if they are not kept."""
        relation, is_empty = self.stored.relation_of(view), self.stored.is_empty(view)
        if relation is None and not is_empty:
            return None
        with self._answering.reading():
            return self._answering.rows_of(relation or self._answering.nothing(view.columns), view.columns)

    def _relation(self, name: str) -> str:
        if name not in self._relations:
            self._relations[name] = self._made(name)
        return self._relations[name]

    def _made(self, name: str) -> str:
        relation = self.catalog.relation(name)
        if isinstance(relation, Table):
            return self._table(relation)
        if isinstance(relation, View):
            return self._view(relation)
        raise InternalError(Diagnostic("NO_RELATION", f"a plan reads {name}, which does not exist"))

    def _view(self, view: View) -> str:
        if view.kind == PASSED:
            return self._passed(view)
        if self.past is not None:
            check_recomputable(view)
            return self._answering.relation_of(view.plan)
        if view.lateness or (view.kind == "materialized" and not self.pending):
            kept = self.stored.relation_of(view)
            if kept is not None:
                return kept
            if self.stored.is_empty(view):
                return self._answering.nothing(view.columns)
        if view.lateness:
            not_proven(f"a view with LATENESS, {view.name}")
        return self._answering.relation_of(view.plan)

    def _passed(self, view: View) -> str:
        """The rows that dedup lets pass: those that have, or where there are none yet, or others, what would."""
        kept = None if self.past is not None or self.pending else self.stored.relation_of(view)
        if kept is not None:
            return kept
        rows = self._answering.rows_of(self._answering.relation_of(view.plan), view.columns)
        return self._answering.loaded(view.columns, passed_rows(view, rows))

    def _table(self, table: Table) -> str:
        past = self.past
        if past is not None:
            return self._answering.loaded_table(table, lambda: past.pieces(table), cancels=True)
        pending = [item.change for item in self.pending if item.table.name.lower() == table.name.lower()]

        def pieces() -> Sequence[pa.Table]:
            return (*self.stored.pieces(table), *map(_here, pending))

        cancels = bool(pending or table.key) or self.stored.retracts(table)
        return self._answering.loaded_table(table, pieces, cancels=cancels)


def check_recomputable(view: View) -> None:
    """DataError for a view whose rows of the past its query does not tell."""
    if view.lateness:
        message = f"view {view.name} has LATENESS: what it had let pass by then is not kept"
        raise DataError(Diagnostic("HISTORY_GONE", message, hint="ask the tables that it reads"))
    if view.plan is not None and any(isinstance(node, Arrived) for node in view.plan.walk()):
        message = f"view {view.name} looks rows up when they come: what it had found by then is not told by its query"
        raise DataError(Diagnostic("HISTORY_GONE", message, hint="ask for its present content, or for the tables"))


def _here(change: pa.Table | Delta) -> pa.Table:
    return change if isinstance(change, pa.Table) else not_proven("rows of a transaction that lie on Spark")
