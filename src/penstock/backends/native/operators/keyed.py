"""Key by key in DuckDB: the rows of the touched keys are found by a semi-join over the keys themselves."""

from __future__ import annotations

from penstock.backends.native.operators.operator import Changes, NativeOperator
from penstock.backends.native.operators.text import template
from penstock.backends.native.operators.touched import Keys
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Rows, Trace, added_up, listed, summed, weighing
from penstock.backends.render import VERSION
from penstock.backends.rules.keyed import KeyedRule
from penstock.catalog.reserved import WEIGHT
from penstock.circuit.operators import Keyed
from penstock.plan.nodes import Plan


class KeyedOperator(KeyedRule[Rows], NativeOperator):
    """Any plan node that never lets rows of two keys meet."""

    def __init__(self, store: Store, operator: Keyed) -> None:
        super().__init__(store, operator)
        self._single = operator.single
        self.template = template(operator.node, operator.inputs, self.outputs, (VERSION,))
        self.keys = Keys(store, operator.keys, self.inputs)
        for position, columns in enumerate(self.inputs):
            self.collector.check(position, columns)
        self.traces = [
            Trace(store, columns, append_only=only)
            for columns, only in zip(self.inputs, operator.append_only, strict=True)
        ]

    @property
    def node(self) -> Plan:
        return self.operator.node

    def difference(self, changes: Changes, *, first: bool) -> Rows | None:
        touched = self._touched(changes) if self.keys.any else ""
        versions = {place: self._versions(place, rows, touched) for place, rows in enumerate(changes)}
        answer = self.template.over(self.names(versions))
        names = tuple(name for name, _ in self.outputs)
        sign = f"CASE WHEN {VERSION} = 1 THEN 1 ELSE -1 END::BIGINT"
        where = f" WHERE {VERSION} = 1" if first else ""
        signed = f"SELECT {weighing(names, sign)} FROM ({answer}){where}"
        return self.made(added_up(names, [signed]), distinct=True)

    def _touched(self, inputs: Changes) -> str:
        """A relation of the touched keys."""
        return self.keys.touched(inputs, max(trace.rows for trace in self.traces))

    def _among(self, side: int, relation: str, touched: str) -> str:
        """The rows of a relation that have one of the touched keys, for FROM."""
        return self.keys.among(side, relation, touched)

    def _versions(self, place: int, rows: Rows | None, touched: str) -> str:
        """The rows of the touched keys of an input, as they were (0) and as they are (1), duplicates spelled out."""
        trace = self.traces[place]
        columns = weighing(trace.names)
        old = f"SELECT {columns} FROM {self._among(place, trace.table, touched)}"
        parts = [f"SELECT *, unnest([0, 1]) AS {VERSION} FROM ({old})"]
        if rows is not None:
            parts.append(f"SELECT {columns}, 1 AS {VERSION} FROM {rows.name}")
        found = f"({' UNION ALL '.join(parts)})"
        if not trace.append_only:
            positive = summed((*trace.names, VERSION), found, "> 0")
            found = f"({positive})"
        names = listed((*trace.names, VERSION))
        if self._single[place]:
            return f"(SELECT {names} FROM {found})"
        return f"(SELECT {names} FROM (SELECT *, unnest(range({WEIGHT})) AS __copy FROM {found}))"
