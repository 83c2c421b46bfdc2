"""Partials of a small change, added up on the driver by Arrow.

What is left for Spark is to compute a row from a row, which over rows of the driver it does while it plans: such a
step runs no job. Only where Arrow finds the same groups and the same results as Spark; `addable` knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds
from pyspark.sql.types import StructField, StructType

from penstock.backends.cancelling import groups_alike, may_be_null
from penstock.backends.columns import fitted
from penstock.backends.spark.carrying import driver_safe
from penstock.backends.spark.change import Delta
from penstock.backends.spark.void_columns import arrow_schema
from penstock.backends.spark.workspace import Workspace
from penstock.catalog.reserved import KEY
from penstock.circuit.partials import Partial

STATES = ("__o_", "__n_", "__t_")
AT = "__at"  # of an entry with totals: how many rows its group has after its change
_MERGES = {"sum": "sum", "min": "min", "max": "max", "bool_and": "all", "bool_or": "any"}
_BIGINT = 1 << 63
_DIGITS = 38


@dataclass
class Adder:
    """The partials of one operator, added up on the driver."""

    workspace: Workspace
    groups: Sequence[str]
    partials: Sequence[Partial]
    _kinds: StructType | None = None  # of entries: `__key`, groups, partials
    _addable: bool = True
    _answer: StructField | None = None

    def touched(self, entries: str, estimate: int, state: pa.Table | None, output: str) -> Delta | None:
        """The groups that a change touches: `three_states` and, as `__out`, what `output` says of each.

        `entries` is the query for what the rows of the change contribute, `state` what is known of all groups, and
        `output` an expression over the three states. None where Spark has to add up.
        """
        change = self._entries(entries, estimate)
        if change is None:
            return None
        states = three_states(state, change.arrow(), self.groups, self.partials)
        return None if states is None else self._answered(states, change.schema, output)

    def _entries(self, query: str, estimate: int) -> Delta | None:
        if self._kinds is None:
            # What holds no NULL in one change may hold some in the next.
            self._kinds = self.workspace.sql(query).schema.toNullable()
            self._addable = addable(self._kinds, self.groups, self.partials)
        if not self._addable:
            return None
        change = Delta.of_query(self.workspace, query, self._kinds, estimate=estimate).settled()
        # Without groups there is an answer over no rows as well.
        return change if change.on_driver and (self.groups or not change.is_empty()) else None

    def _answered(self, states: pa.Table, kinds: StructType, output: str) -> Delta:
        fields = [kinds[name] for name in (KEY, *self.groups)]
        fields += [StructField(at + item.name, kinds[item.name].dataType) for at in STATES for item in self.partials]
        name = self.workspace.name(self.workspace.local(states, StructType(fields)))
        answer = self.workspace.sql(f"SELECT {output} AS __out FROM {name}")
        if self._answer is None:
            self._answer = answer.schema.toNullable()["__out"]
        rows = self.workspace.shortcuts.collected(answer)
        table = states.append_column("__out", rows["__out"])
        return Delta.of_arrow(self.workspace, table, StructType([*fields, self._answer]))


def addable(entries: StructType, groups: Sequence[str], partials: Sequence[Partial]) -> bool:
    """True if entries (`__key`, groups, partials) of these types can be added up here."""
    if not driver_safe(entries):
        return False
    kinds = arrow_schema(entries)
    grouped = pa.schema([kinds.field(name) for name in groups])
    return groups_alike(grouped) and all(_mergeable(item.merge, kinds.field(item.name).type) for item in partials)


def _mergeable(merge: str, kind: pa.DataType) -> bool:
    if merge == "sum":  # the type of the sum must be that of the summands
        wide = kinds.is_decimal128(kind) and kind.precision == _DIGITS
        return bool(kinds.is_int64(kind) or wide or kinds.is_float64(kind))
    if merge in ("min", "max"):
        ordered = (kinds.is_integer, kinds.is_date, kinds.is_timestamp, kinds.is_decimal)
        return any(test(kind) for test in ordered)
    return merge in _MERGES and bool(kinds.is_boolean(kind))


def three_states(
    state: pa.Table | None, change: pa.Table, groups: Sequence[str], partials: Sequence[Partial]
) -> pa.Table | None:
    """For each group of the change, its partials before, of the change, and after: `__key`, groups, then `STATES`.

    None where a sum might not fit its type: Spark then says so, or finds that it does.
    """
    keys, change = [KEY, *groups], may_be_null(change)
    sides = [change]
    if state is not None:
        columns = [*keys, *(item.name for item in partials)]
        touched = state.filter(pc.is_in(state[KEY], value_set=change[KEY].combine_chunks()))
        in_order = touched.sort_by(AT) if AT in touched.column_names else touched
        sides.insert(0, fitted(in_order.select(columns), change.schema))
    together = pa.concat_tables(sides)
    if not all(_fits(together[item.name]) for item in partials if item.merge == "sum"):
        return None
    new = pa.array([False] * (together.num_rows - change.num_rows) + [True] * change.num_rows, pa.bool_())
    grouped = _grouped(together, new, keys, partials)
    return grouped.filter(grouped["new_max"]).drop_columns("new_max")


def _grouped(together: pa.Table, new: pa.Array, keys: list[str], partials: Sequence[Partial]) -> pa.Table:
    """Every group with its partials in all states, and whether the change has rows of it."""
    before, of_change, after = STATES
    among = {before: pc.invert(new), of_change: new, after: None}
    options = pc.ScalarAggregateOptions(skip_nulls=True, min_count=1)
    columns, wanted, fields = {name: together[name] for name in keys}, [], []
    for state, rows in among.items():
        for item in partials:
            values, name = together[item.name], state + item.name
            fields.append(pa.field(name, values.type))
            if item.total and rows is None:
                continue  # below, from the other two
            columns[name] = values if rows is None else pc.if_else(rows, values, pa.scalar(None, values.type))
            wanted.append((name, "last" if item.total and state == before else _MERGES[item.merge], options))
    found = pa.table({**columns, "new": new}).group_by(keys, use_threads=False).aggregate([*wanted, ("new", "max")])
    named = found.rename_columns({f"{name}_{merge}": name for name, merge, _ in wanted})
    for name in (item.name for item in partials if item.total):
        was, change = named[before + name], named[of_change + name]
        named = named.append_column(after + name, pc.coalesce(pc.add(was, change), was, change))
    schema = pa.schema([*(together.schema.field(name) for name in keys), *fields, pa.field("new_max", pa.bool_())])
    return fitted(named.select(schema.names), schema)


def _fits(values: pa.ChunkedArray) -> bool:
    """True if no sum over some of the values can leave their type."""
    if kinds.is_floating(values.type):
        return True
    ends = pc.min_max(values).as_py()
    largest = max(abs(ends["min"] or 0), abs(ends["max"] or 0)) * len(values)
    if kinds.is_decimal(values.type):
        return bool(Decimal(largest) < Decimal(10) ** (_DIGITS - values.type.scale))
    return bool(largest < _BIGINT)
