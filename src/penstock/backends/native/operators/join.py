"""Inner and cross joins of tables in DuckDB."""

from __future__ import annotations

from penstock.backends.joins import join_condition
from penstock.backends.native.dialect import NativeDialect
from penstock.backends.native.operators.operator import NativeOperator
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Rows, Trace, added_up, weighing
from penstock.backends.rules.join import LEFT, RIGHT, JoinRule
from penstock.catalog.reserved import WEIGHT
from penstock.circuit.operators import Bilinear
from penstock.plan.nodes import Join


class JoinOperator(JoinRule[Rows], NativeOperator):
    """A join that keeps both inputs."""

    def __init__(self, store: Store, operator: Bilinear) -> None:
        super().__init__(store, operator)
        node: Join = operator.node  # type: ignore[assignment]
        names = [name for name, _ in self.outputs]
        self._select = f"SELECT {weighing(names, f'__left.{WEIGHT} * __right.{WEIGHT}')}"
        self._retracts = not all(operator.append_only)
        self._on = join_condition(NativeDialect(), node)
        self.traces = [
            Trace(store, columns, append_only=only)
            for columns, only in zip(self.inputs, operator.append_only, strict=True)
        ]

    def matches(self, left: Rows | None, right: Rows | None) -> Rows | None:
        parts = []
        if left is not None:
            parts.append(self._probe(left.name, self.traces[RIGHT].table))
        if right is not None:
            parts.append(self._probe(self.traces[LEFT].table, right.name))
        return self.made(self._together(parts), distinct=self._retracts) if parts else None

    def _together(self, parts: list[str]) -> str:
        """The rows without those that cancel one another, which the next join would multiply (docs/adr/0018)."""
        return added_up([name for name, _ in self.outputs], parts) if self._retracts else " UNION ALL ".join(parts)

    def _probe(self, left: str, right: str) -> str:
        return f"{self._select} FROM {left} __left JOIN {right} __right ON {self._on}"
