"""The best rows of each key, from rows that are never taken back.

A row can only be pushed back by better ones. So the old rows of the touched keys and the new ones are sorted once, and
each row is numbered twice on the way: among all rows, and among the old ones. A row whose number has not changed is no
change; nothing has to be ranked as it was, and nothing compared.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from penstock.backends.columns import fitted
from penstock.backends.render import VERSION
from penstock.backends.spark.change import Delta
from penstock.backends.spark.names import columns_text
from penstock.backends.spark.operators.keyed import KeyedRunner, among, tagged
from penstock.catalog.reserved import KEY, WEIGHT
from penstock.catalog.sorting import sortable
from penstock.circuit.forgetting import sorted_text
from penstock.circuit.operators import Keyed
from penstock.plan.nodes import TopK
from penstock.plan.scalar import quoted

_NOW, _WAS = "__now", "__was"


def only_pushed_back(operator: Keyed) -> bool:
    """True if the operator numbers rows, none of which is ever taken back."""
    node = operator.node
    return isinstance(node, TopK) and bool(node.partition) and node.ties is None and all(operator.append_only)


class BestRunner(KeyedRunner):
    """Top-K by key over an append-only input."""

    def difference(self, changes: Sequence[Delta | None], *, first: bool) -> Delta | None:
        del first
        (change,) = changes
        assert change is not None  # noqa: S101 - without rows it has no answers
        return self._output(self._renumbered(self._spelled(change)), [change])

    @property
    def node(self) -> TopK:
        assert isinstance(self.operator.node, TopK)  # noqa: S101 - `only_pushed_back` has seen it
        return self.operator.node

    def _spelled(self, change: Delta) -> str:
        """The old rows of the touched keys and the new rows, told apart by `__version`, duplicates spelled out."""
        fields = [name for name in self.schemas[0].names if name != WEIGHT]
        trace = self.traces[0]
        if trace.is_local and change.on_driver:
            local = self.workspace.local(self._local_rows(change, [*fields, KEY]), self._schema_of_rows())
            rows = self.workspace.name(local)
        else:
            columns = columns_text((*fields, KEY, WEIGHT))
            rows = f"SELECT {columns}, 1 AS {VERSION} FROM {change.view}"
            if trace.view is not None:
                rows += f" UNION ALL SELECT {columns}, 0 AS {VERSION} FROM {self._touched(trace, [change])}"
            rows = f"({rows})"
        if self.operator.single[0]:
            return rows
        return f"(SELECT * FROM {rows} LATERAL VIEW explode(array_repeat(0, cast({WEIGHT} as int))) __c AS __copy)"

    def _schema_of_rows(self) -> StructType:
        fields = [field for field in self.schemas[0].fields if field.name != WEIGHT]
        added = [StructField(KEY, LongType()), StructField(VERSION, IntegerType()), self.schemas[0][WEIGHT]]
        return StructType([*fields, *added])

    def _local_rows(self, change: Delta, fields: list[str]) -> pa.Table:
        columns = [*fields, WEIGHT]
        parts = [tagged(change.arrow().select(columns), 1)]
        memory = self.traces[0].memory
        if memory is not None:
            parts.append(tagged(memory.filter(among(memory[KEY], [change])).select(columns), 0))
        return pa.concat_tables([fitted(part, parts[-1].schema) for part in parts])

    def _renumbered(self, rows: str) -> str:
        """The change of the numbers: a row under its new number, and taken back under its old one."""
        node = self.node
        names = [name for name in self.schemas[0].names if name != WEIGHT]
        whole = [f"{sortable(quoted(item.name), item.type)} ASC NULLS FIRST" for item in node.input.fields]
        order = ", ".join([*(sorted_text(key) for key in node.order), *whole, VERSION])
        partition = ", ".join([KEY, *(item.text for item in node.partition)])
        over = f"OVER (PARTITION BY {partition} ORDER BY {order} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
        numbered = (
            f"SELECT *, row_number() {over} AS {_NOW}, cast(sum(1 - {VERSION}) {over} as int) AS {_WAS} FROM {rows}"
        )
        now, was = self._shown(_NOW), f"({VERSION} = 0 AND {self._shown(_WAS)})"
        if node.number is None:
            weight = f"if({now}, 1L, 0L) - if({was}, 1L, 0L)"
            signed = f"SELECT {columns_text(tuple(names))}, {weight} AS {WEIGHT} FROM ({numbered})"
            return f"SELECT * FROM ({signed}) WHERE {WEIGHT} <> 0"
        moved = f"(({now}) OR {was}) AND NOT ({VERSION} = 0 AND {_NOW} = {_WAS})"
        sides = f"SELECT * FROM ({numbered}) LATERAL VIEW explode(array(1L, -1L)) __s AS __sign WHERE {moved}"
        number = f"if(__sign = 1, {_NOW}, {_WAS}) AS {quoted(node.number)}"
        listed = ", ".join([*(quoted(name) for name in names), number, f"__sign AS {WEIGHT}"])
        return f"SELECT {listed} FROM ({sides}) WHERE if(__sign = 1, {now}, {was})"

    def _shown(self, number: str) -> str:
        first, limit = self.node.offset, self.node.limit
        conditions = [f"{number} > {first}"] if first else []
        conditions += [] if limit is None else [f"{number} <= {first + limit}"]
        return f"({' AND '.join(conditions) or 'true'})"
