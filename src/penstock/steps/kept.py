"""The maintained content of a view in the process: its changes added up in one table of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.backends.native.kinds import stored
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
    """The changes of one view so far; a step's are added within its transaction."""

    def __init__(self, store: Store, columns: Columns) -> None:
        self._columns = columns
        self._trace = Trace(store, columns)

    def add(self, delta: Delta) -> None:
        """Add the settled change of a step."""
        rows = relation_of(self._trace.store, delta, self._columns)
        if rows is not None:
            self._trace.append(rows)
            self._trace.commit()

    def maintain(self) -> None:
        """Between steps: have each different row once, where that is due."""
        if self._trace.is_due():
            self._trace.merge()

    @property
    def relation(self) -> str:
        """The rows as FROM takes them."""
        return content(self._trace.names, self._trace.table)

    def weighted(self, workspace: Workspace) -> DataFrame:
        """The rows with their weights, not consolidated, for Spark."""
        query = f"SELECT {weighing(self._trace.names)} FROM {self._trace.table}"
        return Delta.of_arrow(workspace, arrow_of(self._trace.store, query, self._columns)).frame()


def kept_rows(store: Store | None, view: View) -> KeptRows | None:
    """The content of a view that lies in the process; None where its rows cannot."""
    if store is None:
        return None
    columns = tuple((column.name, column.type) for column in view.columns)
    try:
        for _, kind in columns:
            stored(kind)
    except NotProvenError:
        return None
    return KeptRows(store, columns)
