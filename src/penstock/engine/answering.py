"""Queries answered in the process, over contents that somebody else finds: DuckDB's SQL and its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from penstock.backends.native.dialect import NativeDialect
from penstock.backends.native.kinds import schema_in_arrow, stored, to_arrow
from penstock.backends.native.operators.operator import columns_of
from penstock.backends.native.operators.text import cast
from penstock.backends.native.proof import not_proven
from penstock.backends.native.store import Store
from penstock.backends.native.trace import content, listed
from penstock.backends.native.typing import completed
from penstock.backends.render import Renderer
from penstock.catalog.model import Catalog, Column, Table
from penstock.catalog.reserved import WEIGHT
from penstock.catalog.types import plain_type
from penstock.engine.typed import leaves_of
from penstock.plan.nodes import Filter, Fixpoint, Plan, Project, Recompute, Scan


@dataclass(frozen=True)
class Answering:
    """Queries at one moment; `relation` gives what a relation holds, by its lower-case name, as FROM takes it.

    What is not proven raises NotProvenError.
    """

    store: Store
    clock: datetime
    catalog: Catalog
    relation: Callable[[str], str]

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A block in which is answered; what is made for that is gone behind it."""
        self.store.begin(self.clock, self.clock)
        try:
            self.store.see_clock()
            yield
        finally:
            self.store.discard()

    def rows(self, plan: Plan) -> pa.Table:
        """The answer of a plan, in its order, in the Arrow types of Spark's answer."""
        typed = self._typed(plan)
        columns = columns_of(typed.fields)
        if all(isinstance(node, Scan | Project | Filter) for node in typed.walk()):
            self.store.keep_order()  # a table's history is shown as it came
        query = f"SELECT {', '.join(cast(columns)) or '1 AS __none'} FROM ({self._query(typed)})"
        return to_arrow(self.store.arrow(query), schema_in_arrow(columns))

    def rows_of(self, relation: str, columns: Iterable[Column]) -> pa.Table:
        """All rows of what FROM takes, in the Arrow types of the columns that they have."""
        schema = schema_in_arrow((column.name, column.type) for column in columns)
        return to_arrow(self.store.arrow(f"SELECT * FROM {relation}"), schema)

    def relation_of(self, plan: Plan) -> str:
        """The answer of a plan, as FROM takes it."""
        return f"({self._query(self._typed(plan))})"

    def loaded(self, columns: Iterable[Column], rows: pa.Table) -> str:
        """Rows as FROM takes them."""
        return self.store.loaded([(column.name, stored(column.type)) for column in columns], [rows])

    def nothing(self, columns: Iterable[Column]) -> str:
        """No rows of these columns, as FROM takes them."""
        return self.store.loaded([(column.name, stored(column.type)) for column in columns], ())

    def loaded_table(self, table: Table, pieces: Callable[[], Iterable[pa.Table]], *, cancels: bool) -> str:
        """The rows that the weighted ones of a table are, which come in pieces; each is one if none `cancels` another.

        They are asked for once it is known that such rows can lie in the process.
        """
        columns = [(column.name, plain_type(column.type)) for column in table.columns]
        kinds = [*((name, stored(kind)) for name, kind in columns), (WEIGHT, "BIGINT")]
        names = [name for name, _ in columns]
        rows = self.store.loaded(kinds, pieces())
        return content(names, rows) if cancels else f"(SELECT {listed(names)} FROM {rows})"

    def _typed(self, plan: Plan) -> Plan:
        """The plan with every type that can be told, of columns as they are carried."""
        if any(isinstance(node, Fixpoint | Recompute) for node in plan.walk()):
            not_proven("recursion, or a query that is recomputed")
        return completed(plan, leaves_of(self.catalog, plan))

    def _query(self, typed: Plan) -> str:
        leaves = {node.relation.lower() for node in typed.walk() if isinstance(node, Scan)}
        return Renderer(NativeDialect(), {name: self.relation(name) for name in leaves}).sql(typed)
