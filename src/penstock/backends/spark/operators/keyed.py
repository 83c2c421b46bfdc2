"""Key by key on Spark: the rows of the touched keys are found by a hash of the key, where they lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import IntegerType, StructField, StructType

from penstock.backends.render import VERSION
from penstock.backends.rules.keyed import KeyedRule
from penstock.backends.spark.change import Delta
from penstock.backends.spark.grouping import consolidation
from penstock.backends.spark.names import columns_text
from penstock.backends.spark.operators.join import expression_type, join_terms
from penstock.backends.spark.operators.runner import Fanout, SparkRunner, Terms
from penstock.backends.spark.trace import Trace, with_key
from penstock.backends.spark.typetext import type_text
from penstock.backends.spark.window_calls import adds_up
from penstock.backends.spark.workspace import Workspace
from penstock.backends.thresholds import ROWS_OF_KEY
from penstock.catalog.functions import APPROXIMATIONS
from penstock.catalog.reserved import KEY, WEIGHT
from penstock.catalog.sorting import sortable
from penstock.circuit.operators import Keyed
from penstock.plan.nodes import Aggregate, AsofJoin, Join, Plan, Window
from penstock.plan.scalar import quoted


class KeyedRunner(KeyedRule[Delta], SparkRunner):
    """Any plan node that never lets rows of two keys meet."""

    def __init__(
        self,
        workspace: Workspace,
        operator: Keyed,
        schemas: Sequence[StructType],
        output: Callable[[], StructType],
    ) -> None:
        super().__init__(workspace)
        self.output = output
        self.operator = operator
        self.schemas = tuple(schemas)
        self.terms = self._terms(workspace)
        self.traces = [
            Trace(workspace, with_key(schema), append_only=only)
            for schema, only in zip(self.schemas, operator.append_only, strict=True)
        ]
        self.fanout = Fanout(ROWS_OF_KEY)

    def _terms(self, workspace: Workspace) -> tuple[Terms, ...]:
        node = self.operator.node
        if isinstance(node, Join | AsofJoin):
            return join_terms(node, self.schemas[0], self.schemas[1], workspace)
        return tuple(
            [(key.text, expression_type(workspace, key.text, schema)) for key in keys]
            for keys, schema in zip(self.operator.keys, self.schemas, strict=True)
        )

    def _terms_of_traces(self) -> Sequence[Terms]:
        return self.terms

    @property
    def node(self) -> Plan:
        return self.operator.node

    def terms_of(self, place: int, change: Delta) -> Terms:
        del change
        return self.terms[place]

    def difference(self, changes: Sequence[Delta | None], *, first: bool) -> Delta | None:
        names = {
            f"#{number}": f"({self._versions(position, changes)})"
            for position, number in enumerate(self.operator.inputs)
        }
        answer = self.workspace.renderer(names, (VERSION,)).sql(self.operator.node)
        where = f" WHERE {VERSION} = 1" if first else ""
        fields = columns_text(self.operator.node.names)
        signed = f"SELECT {fields}, if({VERSION} = 1, 1L, -1L) AS {WEIGHT} FROM ({answer}){where}"
        query = consolidation(self.output(), f"({signed})", WEIGHT)
        return self._output(query, changes)

    def _output(self, query: str, changes: Sequence[Delta | None]) -> Delta:
        changed = sum(change.count() for change in changes if change is not None)
        expected, counted = self.fanout.expected(changed), self.fanout.counted(changed)
        return Delta.of_query(self.workspace, query, self.output(), estimate=expected, counted=counted)

    def _versions(self, position: int, changes: Sequence[Delta | None]) -> str:
        """The rows of the touched keys of one input, as they were (0) and as they are (1), duplicates spelled out."""
        change, trace = changes[position], self.traces[position]
        names = self.schemas[position].names
        fields = [name for name in names if name != WEIGHT]
        local = self._local_versions(position, changes, fields)
        if local is None:
            found = f"({self._distributed_versions(change, trace, changes, fields)})"
        else:
            found = self.workspace.name(self.workspace.local(local, self._tagged_schema(position)))
        if not self.operator.append_only[position]:
            found = f"({consolidation(self._tagged_schema(position), found, WEIGHT)})"
        listed = columns_text((*fields, VERSION))
        if self.operator.single[position]:
            # A row that was forgotten and then, before all layers were merged, is taken back has a weight below zero.
            rows = f"SELECT {listed} FROM {found} WHERE {WEIGHT} > 0"
            return self._in_order(position, rows, local=local is not None)
        spelled = f"LATERAL VIEW explode(array_repeat(0, cast({WEIGHT} as int))) __copies AS __copy"
        rows = f"SELECT {listed} FROM {found} {spelled}"
        return self._in_order(position, rows, local=local is not None)

    def _in_order(self, position: int, versions: str, *, local: bool) -> str:
        """The same rows, those of a key in one partition and sorted, where an answer depends on the order of adding.

        A row that is taken back must be the row that was given, to the last bit.
        """
        if not self._adds_fractions:
            return versions
        fields = [item for item in self.schemas[position].fields if item.name != WEIGHT]
        order = ", ".join([VERSION, *(sortable(quoted(item.name), type_text(item.dataType)) for item in fields)])
        if self.terms[position] and not local:
            keys = ", ".join([*(text for text, _ in self.terms[position]), VERSION])
            return f"SELECT * FROM ({versions}) DISTRIBUTE BY {keys} SORT BY {order}"
        hint = "COALESCE(1)" if local else "REPARTITION(1)"
        return f"SELECT /*+ {hint} */ * FROM ({versions}) SORT BY {order}"

    @cached_property
    def _adds_fractions(self) -> bool:
        """True if an aggregate, or a window over rows that its order may leave tied, gives DOUBLE or FLOAT.

        An approximation, too, depends on the order in which rows are added.
        """
        found: list[str] = []
        for node in self.operator.node.walk():
            if isinstance(node, Aggregate):
                if any(call.function in APPROXIMATIONS for _, call in node.aggregates):
                    return True
                found += [name for name, _ in node.aggregates]
            if isinstance(node, Window):
                found += [name for name, call in node.calls if adds_up(call)]
        known = {item.name: item.dataType.simpleString() for item in self.output().fields}
        # What is not among the output's columns may be of any type.
        return any("double" in known.get(name, "double") or "float" in known.get(name, "") for name in found)

    def _tagged_schema(self, position: int) -> StructType:
        fields = [field for field in self.schemas[position].fields if field.name != WEIGHT]
        return StructType([*fields, StructField(VERSION, IntegerType()), self.schemas[position][WEIGHT]])

    def _local_versions(self, position: int, changes: Sequence[Delta | None], fields: list[str]) -> pa.Table | None:
        """All of it on the driver, where the trace and every change are there: one partition, no exchange."""
        trace, change = self.traces[position], changes[position]
        if not trace.is_local or any(delta is not None and not delta.on_driver for delta in changes):
            return None
        parts = []
        columns = [*fields, WEIGHT]
        if trace.memory is not None:
            old = trace.memory.filter(among(trace.memory[KEY], changes)).select(columns)
            parts += [tagged(old, 0), tagged(old, 1)]
        if change is not None:
            parts.append(tagged(change.arrow().select(columns), 1))
        if not parts:
            return None
        unified = parts[0].schema
        return pa.concat_tables([part.cast(unified) for part in parts])

    def _distributed_versions(
        self, change: Delta | None, trace: Trace, changes: Sequence[Delta | None], fields: list[str]
    ) -> str:
        columns = columns_text((*fields,))
        parts = []
        if trace.view is not None:
            old = self._touched(trace, changes)
            both = "LATERAL VIEW explode(array(0, 1)) __both"
            parts.append(f"SELECT {columns}, {VERSION}, {WEIGHT} FROM {old} {both} AS {VERSION}")
        if change is not None:
            parts.append(f"SELECT {columns}, 1 AS {VERSION}, {WEIGHT} FROM {change.view}")
        if not parts:
            name = self.workspace.name(self.workspace.empty(trace.schema))
            parts.append(f"SELECT {columns}, 1 AS {VERSION}, {WEIGHT} FROM {name}")
        return " UNION ALL ".join(parts)

    def _touched(self, trace: Trace, changes: Sequence[Delta | None]) -> str:
        """The entries of a trace whose key is among those that the step touches."""
        touching = [delta for delta in changes if delta is not None]
        rows = sum(delta.count() for delta in touching)
        kept = self.trace_relation(trace, rows)
        if not touching or not self.terms[0]:
            return kept
        keys = " UNION ".join(f"SELECT {KEY} AS __touched FROM {delta.view}" for delta in touching)
        hint = self.hint("__k", rows, trace)
        return f"(SELECT {hint} __s.* FROM {kept} __s LEFT SEMI JOIN ({keys}) __k ON __s.{KEY} = __k.__touched)"


def among(column: pa.ChunkedArray, changes: Sequence[Delta | None]) -> pa.ChunkedArray:
    """The mask of the keys that are among those of the changes."""
    touched = [delta.arrow()[KEY] for delta in changes if delta is not None]
    keys = pa.chunked_array([chunk for part in touched for chunk in part.chunks], type=pa.int64())
    return pc.is_in(column, value_set=keys.combine_chunks() if keys.num_chunks else pa.array([], pa.int64()))


def tagged(table: pa.Table, version: int) -> pa.Table:
    """Rows with their version, before the weight."""
    column = pa.array([version] * table.num_rows, pa.int32())
    return table.add_column(table.num_columns - 1, VERSION, column)
