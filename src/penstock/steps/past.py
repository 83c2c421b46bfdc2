"""Tables as they were after an earlier step: what the log has until then, added up.

Where the log no longer reaches back to the first step, the rows that a table with a key has now are there all the same,
and what has come since is taken away from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from penstock.backends.api import Relation
from penstock.backends.columns import fitted
from penstock.catalog.model import Table
from penstock.catalog.reserved import WEIGHT
from penstock.steps.intake.forgetting import forgets

if TYPE_CHECKING:
    from penstock.steps.intake.keystore import KeyStore
    from penstock.steps.state import State


@dataclass(frozen=True, slots=True)
class Past:
    """The stored tables after a step; SqlError or DataError for one of which too little is kept.

    Of those in `sufficient`, named in lower case, what is kept will do.
    """

    state: State
    step: int
    sufficient: frozenset[str] = frozenset()

    def pieces(self, table: Table) -> Iterator[pa.Table]:
        """The weighted rows of a table, piece by piece; NotProvenError if some lie on the executors."""
        stored = self._stored(table)
        if stored is None:
            whole = table.name.lower() not in self.sufficient
            yield from self.state.log.pieces(table, until=self.step, whole=whole)
        else:
            yield stored.arrow()
            yield from self._since(table)

    def weighted(self, table: Table) -> Relation | None:
        """The same for the backend; None if there are none."""
        stored = self._stored(table)
        if stored is None:
            return gathered(self.state, table, self.pieces(table))
        relations = self.state.engine.relations
        rows, since = relations.weighted(stored.content()), list(self._since(table))
        taken = gathered(self.state, table, since)
        return rows if taken is None else relations.together(rows, taken)

    def _stored(self, table: Table) -> KeyStore | None:
        """The rows that a table has now, where the log alone does not tell what it had then."""
        memory = self.state.tables.known(table.name.lower())
        if memory is None or memory.store is None or forgets(table) or self.state.log.reaches(table):
            return None
        self.state.log.check_reach(table, self.step + 1)
        return memory.store

    def _since(self, table: Table) -> Iterator[pa.Table]:
        return map(_taken_back, self.state.log.pieces(table, self.step))


def gathered(state: State, table: Table, pieces: Iterable[pa.Table]) -> Relation | None:
    """Pieces of a table for the backend; None if there are none."""
    found = [piece for piece in pieces if piece.num_rows]
    if not found:
        return None
    return state.engine.relations.relation_of(
        table, pa.concat_tables([fitted(item, found[0].schema) for item in found])
    )


def _taken_back(change: pa.Table) -> pa.Table:
    place = change.column_names.index(WEIGHT)
    return change.set_column(place, change.schema.field(place), pc.negate(change.column(WEIGHT)))
