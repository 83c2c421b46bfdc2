"""Queries over the present contents, answered in the process: nothing of them starts a JVM.

What is not proven raises `NotProvenError`, as do contents that lie on Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow as pa

from penstock.backends.native.dialect import NativeDialect
from penstock.backends.native.kinds import in_arrow, stored, to_arrow
from penstock.backends.native.proof import not_proven, quoted
from penstock.backends.native.store import Store
from penstock.backends.native.trace import content, listed
from penstock.backends.native.typing import completed
from penstock.backends.render import Renderer
from penstock.backends.spark.change import Delta
from penstock.catalog.model import Table, View
from penstock.catalog.reserved import WEIGHT
from penstock.catalog.types import plain_type
from penstock.engine.typed import leaves_of
from penstock.errors import Diagnostic, InternalError
from penstock.plan.nodes import Fixpoint, Plan, Recompute, Scan
from penstock.steps.intake.fold import Intake
from penstock.steps.stepper import Stepper


@dataclass
class ContentsHere:
    """The present contents as far as they lie in the process, with a transaction's own changes (`pending`) on top."""

    stepper: Stepper
    store: Store
    clock: datetime
    pending: Sequence[Intake] = ()
    _relations: dict[str, str] = field(default_factory=dict)

    def rows(self, plan: Plan) -> pa.Table:
        """The answer of a plan, in its order, in the Arrow types of Spark's answer."""
        with self._reading():
            query = self._query(plan)
            fields = completed(plan, leaves_of(self.stepper.catalog, plan)).fields
            schema = pa.schema([(item.name, in_arrow(item.type)) for item in fields])
            return to_arrow(self.store.arrow(_as_stored(query, schema, [item.type for item in fields])), schema)

    def kept(self, view: View) -> pa.Table | None:
        """The rows of a view as its changes add up; None if they are not kept."""
        relation = self.stepper.stored.relation_of(view)
        if relation is None:
            return None
        columns = [(column.name, column.type) for column in view.columns]
        schema = pa.schema([(name, in_arrow(kind)) for name, kind in columns])
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

    def _query(self, plan: Plan) -> str:
        if any(isinstance(node, Fixpoint | Recompute) for node in plan.walk()):
            not_proven("recursion, or a query that is recomputed")
        typed = completed(plan, leaves_of(self.stepper.catalog, plan))
        leaves = {node.relation.lower() for node in typed.walk() if isinstance(node, Scan)}
        return Renderer(NativeDialect(), {name: self._relation(name) for name in leaves}).sql(typed)

    def _relation(self, name: str) -> str:
        if name not in self._relations:
            self._relations[name] = self._made(name)
        return self._relations[name]

    def _made(self, name: str) -> str:
        relation = self.stepper.catalog.relation(name)
        if isinstance(relation, Table):
            return self._table(relation)
        if isinstance(relation, View):
            return self._view(relation)
        raise InternalError(Diagnostic("NO_RELATION", f"a plan reads {name}, which does not exist"))

    def _view(self, view: View) -> str:
        stored_views = self.stepper.stored
        if view.lateness or (view.kind == "materialized" and not self.pending):
            kept = stored_views.relation_of(view)
            if kept is not None:
                return kept
        if view.lateness:
            not_proven(f"a view with LATENESS, {view.name}")
        return f"({self._query(view.plan)})"

    def _table(self, table: Table) -> str:
        columns = [(column.name, plain_type(column.type)) for column in table.columns]
        kinds = [*((name, stored(kind)) for name, kind in columns), (WEIGHT, "BIGINT")]
        pending = [item.change for item in self.pending if item.table.name.lower() == table.name.lower()]
        rows = self.store.loaded(kinds, (*self.stepper.stored.pieces(table), *map(_here, pending)))
        names = [name for name, _ in columns]
        if pending or table.key or self.stepper.stored.retracts(table):
            return content(names, rows)
        return f"(SELECT {listed(names)} FROM {rows})"


def _here(change: pa.Table | Delta) -> pa.Table:
    return change if isinstance(change, pa.Table) else not_proven("rows of a transaction that lie on Spark")


def _as_stored(query: str, schema: pa.Schema, kinds: Sequence[str | None]) -> str:
    """The query with each column of its declared type; its order stays."""
    items = [
        f"CAST({quoted(name)} AS {stored(kind)}) AS {quoted(name)}"
        for name, kind in zip(schema.names, kinds, strict=True)
    ]
    return f"SELECT {', '.join(items)} FROM ({query})" if items else query
