"""The way of a change that is large beside the state: one pass over both is the new state as well."""

from __future__ import annotations

from penstock.backends.spark.change import Delta
from penstock.backends.spark.names import columns_text
from penstock.backends.spark.operators.entries import OF_CHANGE
from penstock.backends.spark.operators.groupstate import GroupState
from penstock.backends.spark.sums import AT
from penstock.backends.spark.trace import by_key
from penstock.backends.thresholds import FEW_GROUPS
from penstock.catalog.reserved import KEY, WEIGHT
from penstock.circuit.partials import PRESENT
from penstock.plan.scalar import quoted


class Rewriting(GroupState):
    """Adds state and change up in one pass, and keeps what comes out as the state."""

    def rewrite(self, entries: str, estimate: int) -> Delta | None:
        """Propose what is added up from state and change; the change of the output."""
        old = None if self.trace is None else self.trace.exchanged
        known = 0 if self.trace is None else self.trace.rows
        # Few groups: add up before the exchange. Many: exchange the rows once and add up with the state.
        change = entries if known * FEW_GROUPS > estimate else self.compacted(entries)
        everything, rows = by_key(
            self.workspace, self.workspace.sql(self._two_states(old, f"SELECT * FROM ({change}) DISTRIBUTE BY {KEY}"))
        )
        view = self.workspace.name(everything)
        columns = {name: "__t_" + (PRESENT if name == AT else name) for name in self.entries.appended}
        renamed = ", ".join(f"{quoted(found)} AS {quoted(name)}" for name, found in columns.items())
        gone = self.entries.vanished("__t_")
        state = self.workspace.sql(
            f"SELECT {self.entries.listed}, {renamed} FROM {view}{f' WHERE NOT ({gone})' if gone else ''}"
        )
        self.workspace.checkpoints.sharing(state, everything)
        self.proposed = [self.state_of(state.schema).rewritten(state, rows)]
        return self._emitted_from(view, 2 * rows)

    def _two_states(self, old: str | None, change: str) -> str:
        """All groups with their partials before and after; `__touched` says whether the change has rows of one."""
        columns = f"{self.entries.listed}, {self.entries.states('__o_', '__t_')}, {OF_CHANGE} AS __touched"
        return f"SELECT {columns} FROM ({self.entries.sides(self._live(old), change)}) GROUP BY {self.entries.listed}"

    def _live(self, old: str | None) -> str | None:
        """The state without groups that no accepted row can touch any more: a rewriting is a merge as well."""
        conditions = self.unexpired(0)
        return old if old is None or not conditions else f"(SELECT * FROM {old} WHERE {conditions})"

    def _emitted_from(self, states: str, estimate: int) -> Delta:
        """The output rows of the touched groups of a relation, without a function that Spark would interpret."""
        query = f"SELECT inline({self.output()}) FROM {states} WHERE __touched"
        schema = self.workspace.sql(query).schema
        names = columns_text(tuple(schema.names))
        present = f"SELECT {names} FROM ({query}) WHERE {WEIGHT} IS NOT NULL"
        return Delta.of_query(self.workspace, present, schema, estimate=estimate)
