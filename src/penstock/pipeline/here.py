"""Queries over the present contents, answered in the process: nothing of them starts a JVM.

What is not proven raises `NotProvenError`, as do contents that lie on Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow as pa

from penstock.backends.api import Delta
from penstock.backends.native.dialect import NativeDialect
from penstock.backends.native.kinds import schema_in_arrow, stored, to_arrow
from penstock.backends.native.operators.operator import columns_of
from penstock.backends.native.operators.text import cast
from penstock.backends.native.proof import not_proven
from penstock.backends.native.store import Store
from penstock.backends.native.trace import content, listed
from penstock.backends.native.typing import completed
from penstock.backends.render import Renderer
from penstock.catalog.model import PASSED, Catalog, Table, View
from penstock.catalog.reserved import WEIGHT
from penstock.catalog.types import plain_type
from penstock.engine.typed import leaves_of
from penstock.errors import DataError, Diagnostic, InternalError
from penstock.plan.nodes import Arrived, Fixpoint, Plan, Recompute, Scan
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

    def rows(self, plan: Plan) -> pa.Table:
        """The answer of a plan, in its order, in the Arrow types of Spark's answer."""
        with self._reading():
            typed = self._typed(plan)
            columns = columns_of(typed.fields)
            query = f"SELECT {', '.join(cast(columns)) or '1 AS __none'} FROM ({self._query(typed)})"
            return to_arrow(self.store.arrow(query), schema_in_arrow(columns))

    def maintained_rows(self, view: View) -> pa.Table | None:
        """The rows of a view as its changes add up; None if they are not kept."""
        relation = self.stored.relation_of(view)
        if relation is None:
            return None
        schema = schema_in_arrow((column.name, column.type) for column in view.columns)
        with self._reading():
            return to_arrow(self.store.arrow(f"SELECT * FROM {relation}"), schema)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        self.store.begin(self.clock, self.clock)
        try:
            self.store.see_clock()
            yield
        finally:
            self.store.discard()

    def _typed(self, plan: Plan) -> Plan:
        """The plan with every type that can be told, of columns as they are carried."""
        if any(isinstance(node, Fixpoint | Recompute) for node in plan.walk()):
            not_proven("recursion, or a query that is recomputed")
        return completed(plan, leaves_of(self.catalog, plan))

    def _query(self, typed: Plan) -> str:
        leaves = {node.relation.lower() for node in typed.walk() if isinstance(node, Scan)}
        return Renderer(NativeDialect(), {name: self._relation(name) for name in leaves}).sql(typed)

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
            return f"({self._query(self._typed(view.plan))})"
        if view.lateness or (view.kind == "materialized" and not self.pending):
            kept = self.stored.relation_of(view)
            if kept is not None:
                return kept
        if view.lateness:
            not_proven(f"a view with LATENESS, {view.name}")
        return f"({self._query(self._typed(view.plan))})"

    def _passed(self, view: View) -> str:
        """The rows that dedup lets pass: those that have, or where there are none yet, or others, what would."""
        kept = None if self.past is not None or self.pending else self.stored.relation_of(view)
        if kept is not None:
            return kept
        columns = [(column.name, column.type) for column in view.columns]
        query = self._query(self._typed(view.plan))
        rows = to_arrow(self.store.arrow(f"SELECT * FROM ({query})"), schema_in_arrow(columns))
        kinds = [(name, stored(kind)) for name, kind in columns]
        return self.store.loaded(kinds, [passed_rows(view, rows)])

    def _table(self, table: Table) -> str:
        columns = [(column.name, plain_type(column.type)) for column in table.columns]
        kinds = [*((name, stored(kind)) for name, kind in columns), (WEIGHT, "BIGINT")]
        names = [name for name, _ in columns]
        if self.past is not None:
            return content(names, self.store.loaded(kinds, self.past.pieces(table)))
        pending = [item.change for item in self.pending if item.table.name.lower() == table.name.lower()]
        rows = self.store.loaded(kinds, (*self.stored.pieces(table), *map(_here, pending)))
        if pending or table.key or self.stored.retracts(table):
            return content(names, rows)
        return f"(SELECT {listed(names)} FROM {rows})"


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
