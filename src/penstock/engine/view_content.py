"""The maintained content of a view in the process: its changes added up in one table of the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.backends.api import Content, Delta, Relation, Workspace
from penstock.backends.columns import arrow_rows, fitted, python_rows
from penstock.backends.native.kinds import is_nested, schema_in_arrow, stored, to_arrow
from penstock.backends.native.proof import NotProvenError, quoted
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Columns, Rows, Trace, content, summed, weighing
from penstock.backends.thresholds import INDEXED_KEYS, PASSES_BEFORE_INDEX
from penstock.catalog.model import View
from penstock.catalog.reserved import WEIGHT
from penstock.engine.native import arrow_of, change_in_store, relation_of


class ViewContent(Content):
    """The changes of one view so far; what a step adds is a part of its transaction."""

    def __init__(self, store: Store, columns: Columns, workspace: Workspace) -> None:
        self._columns = columns
        self._trace = Trace(store, columns)
        self._workspace = workspace
        self._passes = 0

    def load(self, rows: pa.Table) -> None:
        """Take in weighted rows that have come elsewhere, between steps."""
        self._trace.load(rows)

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

    def looked_up(self, keys: pa.Table) -> pa.Table:
        """The rows that have the values of one of the keys, which are columns of it; by an index if they are few.

        Nested values are handed on in Arrow: rows with such are found by a pass over all.
        """
        names, schema = keys.column_names, schema_in_arrow(self._columns)
        if keys.num_rows > INDEXED_KEYS or any(is_nested(kind) for _, kind in self._columns):
            return to_arrow(self._among(keys, names), schema)
        by = self._index(names, keys.num_rows)
        found = [row for key in python_rows(keys) for row in self._with_key(names, key, by)]
        return _added_up(arrow_rows(schema.append(pa.field(WEIGHT, pa.int64())), found))

    def _index(self, names: Sequence[str], keys: int) -> str | None:
        """The column by whose index some keys are to be found; None where passes over the rows cost less."""
        found = self._trace.indexed_among(names)
        if found is None:
            self._passes += keys
        return self._trace.index(names) if self._passes > PASSES_BEFORE_INDEX else found

    def _among(self, keys: pa.Table, names: Sequence[str]) -> pa.Table:
        """All rows with one of the keys, found by a pass over them."""
        same = " AND ".join(f"t.{quoted(name)} IS NOT DISTINCT FROM g.{quoted(name)}" for name in names)
        with self._trace.store.given(keys) as given:
            rows = f"(SELECT * FROM {self._trace.table} AS t SEMI JOIN {given} AS g ON {same})"
            return self._trace.store.arrow(f"SELECT * FROM {content(self._trace.names, rows)}")

    def _with_key(self, names: Sequence[str], key: tuple[Any, ...], by: str | None) -> list[tuple[Any, ...]]:
        """The rows that came and went with one key, whose values the planner knows.

        An index is gone by where its column alone is asked for; what is to hold besides is asked of what that finds.
        """
        values = dict(zip(names, key, strict=True))
        source, before, given = self._trace.table, "", list(values.values())
        if by is not None and values[by] is not None:
            column, value = self._trace.indexed_value(by, self._value(by))
            before = f"WITH found AS MATERIALIZED (SELECT * FROM {source} WHERE {column} = {value}) "
            source, given = "found", [values[by], *given]
        conditions = [
            f"{quoted(name)} IS NULL" if value is None else f"{quoted(name)} = {self._value(name)}"
            for name, value in values.items()
        ]
        query = f"{before}SELECT {weighing(self._trace.names)} FROM {source} WHERE {' AND '.join(conditions)}"
        return self._trace.store.fetched(query, [value for value in given if value is not None])

    def _value(self, name: str) -> str:
        return f"CAST(? AS {stored(dict(self._columns)[name])})"

    def whole(self) -> Delta | None:
        """All of it as a change of the step, each different row once; None if there is no row."""
        store, name = self._trace.store, self._trace.store.name()
        count = store.made(name, summed(self._trace.names, self._trace.table))
        return change_in_store(self._workspace, Rows(name, count), self._columns, self) if count else None

    def rows(self) -> pa.Table:
        """All rows that are left, each as often as it is there."""
        return to_arrow(self._trace.store.arrow(f"SELECT * FROM {self.relation}"), schema_in_arrow(self._columns))

    def fetched(self, rows: Rows) -> pa.Table:
        """The rows of such a change as Arrow."""
        return arrow_of(self._trace.store, f"SELECT {weighing(self._trace.names)} FROM {rows.name}", self._columns)

    def evaluated(self, rows: Rows) -> Rows:
        """Such a change, which is a table already."""
        return rows

    def arrow(self) -> pa.Table:
        """The rows with their weights, not consolidated."""
        query = f"SELECT {weighing(self._trace.names)} FROM {self._trace.table}"
        return arrow_of(self._trace.store, query, self._columns)

    def weighted(self) -> Relation | None:
        """The same for the backend."""
        return self._workspace.change(self.arrow()).frame()


def content_of(store: Store, view: View, workspace: Workspace) -> ViewContent:
    """The content of a view in the process; NotProvenError where its rows cannot lie there."""
    return ViewContent(store, tuple((column.name, column.type) for column in view.columns), workspace)


def can_lie_in_process(view: View) -> bool:
    """True if the rows of a view can lie in the process, and the types of all its columns are known."""
    try:
        return all(column.type is not None and stored(column.type) for column in view.columns)
    except NotProvenError:
        return False


def content_in_process(store: Store | None, view: View, workspace: Workspace) -> ViewContent | None:
    """The content of a view that lies in the process; None where its rows cannot."""
    if store is None:
        return None
    try:
        return content_of(store, view, workspace)
    except NotProvenError:
        return None


def _added_up(weighted: pa.Table) -> pa.Table:
    """The rows that are left of a few that came and went, each as often as it is there."""
    names = weighted.column_names[:-1]
    grouped = weighted.group_by(names, use_threads=False).aggregate([(WEIGHT, "sum")])
    weights = grouped.column(f"{WEIGHT}_sum").to_pylist()
    places = [at for at, weight in enumerate(weights) for _ in range(weight)]
    return fitted(grouped.select(names).take(pa.array(places, pa.int64())), weighted.schema.remove(len(names)))
