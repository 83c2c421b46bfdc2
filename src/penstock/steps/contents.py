"""Tables and views after the last step, as far as they are stored: in a table's rows, its history, or a view."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from penstock.backends.api import Relation
from penstock.backends.columns import weighted_schema
from penstock.backends.native.proof import not_proven
from penstock.catalog.model import ERROR_VIEW, Table, View
from penstock.steps.intake.forgetting import forgets
from penstock.steps.past import Past, gathered
from penstock.steps.state import State


def _each_once(keys: pa.Table) -> pa.Table:
    return keys if keys.num_rows == 1 else keys.group_by(keys.column_names, use_threads=False).aggregate([])


def as_declared(table: Table, rows: pa.Table) -> pa.Table:
    """Weighted rows of a table in the types of its declaration; a column that they do not have is NULL."""
    schema = weighted_schema(table.columns)
    there = set(rows.column_names)
    columns = [
        rows.column(item.name).cast(item.type) if item.name in there else pa.nulls(rows.num_rows, item.type)
        for item in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


@dataclass(frozen=True, slots=True)
class Stored:
    """The stored contents of a pipeline; an answer is a relation, to be read before the next step.

    Of the tables in `sufficient`, named in lower case, what is kept is all that is wanted.
    """

    state: State
    sufficient: frozenset[str] = frozenset()

    def _wants_whole(self, table: Table) -> bool:
        return table.name.lower() not in self.sufficient

    def weighted(self, name: str, since: int | None = None) -> Relation | None:
        """The rows of a table, or what has passed the LATENESS of a view, with weights that may still cancel.

        None if nothing ever came in. SqlError or DataError if the history that this needs is not kept. With `since`
        they are those that have come into a table after that step.
        """
        found = self.state.catalog.relation(name)
        if since is not None and isinstance(found, Table):
            return gathered(self.state, found, self.state.log.pieces(found, since))
        if isinstance(found, View):
            return self.state.views.weighted(name.lower())
        return None if found is None else self._weighted_table(found)

    def _weighted_table(self, table: Table) -> Relation | None:
        memory = self.state.tables.known(table.name.lower())
        if table.name != ERROR_VIEW.name and (memory is None or not memory.received):
            return None
        rows = self.rows(table)
        if rows is not None:
            return self.state.engine.relations.weighted(rows)
        return self.state.log.weighted(self.state.engine.relations, table, whole=self._wants_whole(table))

    def rows(self, table: Table) -> Relation | None:
        """The stored rows of a table with a key; None where nothing is stored but its history."""
        memory = self.state.tables.known(table.name.lower())
        if memory is None or memory.store is None:
            return None
        if forgets(table):
            self.state.log.check_reach(table)
        return memory.store.content()

    def pieces(self, table: Table) -> Iterator[pa.Table]:
        """The weighted rows of a table in Arrow, piece by piece; NotProvenError if they lie on the executors.

        SqlError or DataError if the history that this needs is not kept.
        """
        memory = self.state.tables.known(table.name.lower())
        if table.name != ERROR_VIEW.name and (memory is None or not memory.received):
            return
        if memory is not None and memory.store is not None:
            if forgets(table):
                self.state.log.check_reach(table)
            yield memory.store.arrow()
        else:
            yield from self.state.log.pieces(table, whole=self._wants_whole(table))

    def frozen(self, table: Table) -> Iterator[pa.Table]:
        """The same of a table as it is now, whatever steps do to it before the last piece is asked for."""
        memory = self.state.tables.known(table.name.lower())
        if memory is None or not memory.received:
            return iter(())
        if memory.store is not None:
            return iter((as_declared(table, memory.store.arrow()),))
        pieces = self.state.log.pieces(table, until=self.state.number)
        return (as_declared(table, piece) for piece in pieces)

    def count(self, table: Table) -> int:
        """The number of rows that these are, those that cancel among them."""
        memory = self.state.tables.known(table.name.lower())
        if memory is not None and memory.store is not None:
            return memory.store.count
        return self.state.log.rows(table)

    def pieces_of(self, name: str, since: int | None = None) -> Iterator[pa.Table]:
        """The same of a table or of a view with LATENESS, by its name."""
        found = self.state.catalog.relation(name)
        if since is not None and isinstance(found, Table):
            return self.state.log.pieces(found, since)
        if isinstance(found, View):
            return self.state.views.pieces(name.lower())
        return iter(()) if found is None else self.pieces(found)

    def relation_of(self, view: View) -> str | None:
        """The content of a view as FROM takes it in the process; None if it is not kept.

        NotProvenError if it is kept on Spark.
        """
        name = view.name.lower()
        if self.state.views.is_kept_elsewhere(name):
            not_proven(f"the content of {view.name}, which lies on Spark")
        return self.state.views.relation(name) if self.has_stepped(view) else None

    def is_empty(self, view: View) -> bool:
        """True for a view whose content is kept, and that has never had a row."""
        return self.keeps(view) and self.has_stepped(view) and not self.state.views.has_changed(view.name.lower())

    def looked_up(self, view: View, keys: pa.Table) -> pa.Table | None:
        """The rows of a view that have the values of one of the keys; None where they have to be asked for."""
        return self.state.views.looked_up(view.name.lower(), _each_once(keys)) if self.has_stepped(view) else None

    def retracts(self, table: Table) -> bool:
        """True if the history of a table holds deletions."""
        return self.state.log.retracts(table)

    def retracts_of(self, name: str) -> bool:
        """True if what `weighted` gives of a table or a view with LATENESS may hold weights that cancel."""
        found = self.state.catalog.relation(name)
        if isinstance(found, Table):
            memory = self.state.tables.known(name.lower())
            return (memory is None or memory.store is None) and self.retracts(found)
        return True

    def has_stepped(self, view: View) -> bool:
        """True if a view has had a step."""
        return self.state.views.has_stepped(view.name.lower())

    def keeps(self, view: View) -> bool:
        """True if the content of a view is kept."""
        return self.state.views.keeps(view)

    def view(self, view: View) -> Relation | None:
        """The rows of a view as its changes add up; None if there were none yet, or they are not kept."""
        weighted = self.state.views.weighted(view.name.lower()) if self.has_stepped(view) else None
        return None if weighted is None else self.state.engine.relations.repeated(weighted)

    def past(self, step: int) -> Past:
        """The tables as they were after a step."""
        return Past(self.state, step, self.sufficient)

    def check_reach(self, name: str) -> None:
        """Refuse to begin a view over a table whose rows have come in but are not kept (SqlError, DataError)."""
        memory = self.state.tables.known(name)
        if memory is not None and memory.received and (memory.store is None or forgets(memory.table)):
            self.state.log.check_reach(memory.table)
