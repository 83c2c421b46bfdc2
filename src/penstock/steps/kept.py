"""The maintained content of a view in the process: its changes added up in one table of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.backends.native.proof import NotProvenError
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Columns, Trace, content, weighing
from penstock.backends.spark.change import Delta
from penstock.backends.spark.workspace import Workspace
from penstock.catalog.model import View
from penstock.engine.native import arrow_of, relation_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class KeptRows:
    """The changes of one view so far; what a step adds is a part of its transaction."""

    def __init__(self, store: Store, columns: Columns, workspace: Workspace) -> None:
        self._columns = columns
        self._trace = Trace(store, columns)
        self._workspace = workspace

    def propose(self, delta: Delta) -> None:
        """Add the settled change of a step, if it is committed."""
        rows = relation_of(self._trace.store, delta, self._columns)
        if rows is not None:
            self._trace.append(rows)

    def commit(self) -> None:
        """The step has happened."""
        self._trace.commit()

    def discard(self) -> None:
        """The step has not happened; its rows go with the transaction."""
        self._trace.discard()

    def maintain(self) -> None:
        """Between steps: have each different row once, where that is due."""
        if self._trace.is_due():
            self._trace.merge()

    def drop(self) -> None:
        """Give back what its table takes; it is not used again."""
        self._trace.store.drop(self._trace.table)

    @property
    def relation(self) -> str | None:
        """The rows as FROM takes them in the process."""
        return content(self._trace.names, self._trace.table)

    def arrow(self) -> pa.Table:
        """The rows with their weights, not consolidated."""
        query = f"SELECT {weighing(self._trace.names)} FROM {self._trace.table}"
        return arrow_of(self._trace.store, query, self._columns)

    def weighted(self) -> DataFrame | None:
        """The same for Spark."""
        return Delta.of_arrow(self._workspace, self.arrow()).frame()


def kept_rows(store: Store | None, view: View, workspace: Workspace) -> KeptRows | None:
    """The content of a view that lies in the process; None where its rows cannot."""
    if store is None:
        return None
    try:
        return KeptRows(store, tuple((column.name, column.type) for column in view.columns), workspace)
    except NotProvenError:
        return None
