"""MATCH_RECOGNIZE: a keyed operator that forgets the rows before the first search that can still change."""

from __future__ import annotations

from penstock.backends.matching.query import unsettled_query
from penstock.backends.native.dialect import NativeDialect
from penstock.backends.native.operators.keyed import KeyedOperator
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Trace, weighing
from penstock.backends.render import Renderer
from penstock.circuit.operators import Keyed
from penstock.plan.matching import MatchRecognize


class MatchingOperator(KeyedOperator):
    """The matches in the rows of each partition."""

    def __init__(self, store: Store, operator: Keyed, node: MatchRecognize) -> None:
        super().__init__(store, operator)
        self.matches = node
        self.collector.settle = self._settle

    def _settle(self, trace: Trace, line: str) -> None:
        renderer = Renderer(NativeDialect(), {f"#{self.operator.inputs[0]}": trace.table})
        kept = unsettled_query(renderer, self.matches, line)
        trace.rows = self.store.rewritten(trace.table, f"SELECT {weighing(trace.names)} FROM ({kept})")
