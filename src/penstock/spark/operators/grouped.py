"""State by group whose changes can be added up: GROUP BY with partial results, and what counted.py makes of it.

The trace has one entry for each group and change, with the partials that the change contributed. A step joins the
touched groups' entries with the change's own in one GROUP BY; its result holds, for each touched group, the partials
before (`__o_…`), of the change (`__n_…`) and after (`__t_…`).

Of a partial that is a total, an entry has the value after its change, and `__at`, which goes up from each entry of a
group to its next: how many rows the group then has.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructField, StructType

from penstock.catalog.reserved import KEY, WEIGHT
from penstock.circuit.operators import Additive
from penstock.circuit.partials import PRESENT, Partial
from penstock.plan.nodes import Aggregate
from penstock.plan.scalar import quoted
from penstock.spark.change import Delta
from penstock.spark.grouping import hash_text, holds_variant
from penstock.spark.operators.join import expression_type
from penstock.spark.operators.runner import Runner, Terms
from penstock.spark.sums import AT, STATES, Adder
from penstock.spark.thresholds import PLANNED_ROWS
from penstock.spark.trace import Trace, by_key
from penstock.spark.workspace import Workspace, columns_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SIDE = "__side"
_REWRITE_SHARE = 4  # a change above a quarter of the state rewrites it in one pass
_FEW_GROUPS = 4  # rows of a change for each group of the state from which on adding up first saves exchange
_ROOM = 3  # what Arrow adds up is not handed to Spark, so more of it may stay on the driver


class GroupedRunner(Runner):
    """The shared part; a subclass says what a row contributes and what a group's partials mean as output."""

    groups: tuple[str, ...]
    partials: tuple[Partial, ...]

    def output(self) -> str:
        """Spark SQL for the output rows of one touched group, from its partials before and after.

        An array of structs that end with `__weight`; NULL stands for a row that is not there.
        """
        raise NotImplementedError

    @property
    def trace(self) -> Trace | None:
        """The state, None before there is any."""
        return self.traces[0] if self.traces else None

    @cached_property
    def _group_list(self) -> str:
        return ", ".join(quoted(name) for name in (KEY, *self.groups))

    @cached_property
    def _adder(self) -> Adder:
        return Adder(self.workspace, self.groups, self.partials)

    @cached_property
    def _totals(self) -> bool:
        return any(item.total for item in self.partials)

    @cached_property
    def _appended(self) -> dict[str, str]:
        """The columns of an entry after its groups, and where they are among the three states."""
        columns = {item.name: ("__t_" if item.total else "__n_") + item.name for item in self.partials}
        return {**columns, AT: "__t_" + PRESENT} if self._totals else columns

    def _added(self) -> str:
        """The partials of a change, from those of its rows."""
        return ", ".join(f"{item.merge}({quoted(item.name)}) AS {quoted(item.name)}" for item in self.partials)

    def _kept(self) -> str:
        """The columns of one entry, from those of several."""
        merged = [f"{_kept(item)} AS {quoted(item.name)}" for item in self.partials]
        return ", ".join([*merged, f"max({AT}) AS {AT}"] if self._totals else merged)

    def combined(self, frame: DataFrame) -> DataFrame:
        """Entries of a trace with those of one group added up, and groups without rows gone."""
        name = self.workspace.name(frame)
        gone = self._vanished()
        having = f" HAVING NOT ({gone})" if gone else ""
        return self.workspace.sql(
            f"SELECT {self._group_list}, {self._kept()} FROM {name} GROUP BY {self._group_list}{having}"
        )

    def _vanished(self, prefix: str | None = None) -> str:
        """The condition of a group without rows, over its entries or over its partials with a prefix."""
        if not self.groups or any(item.merge != "sum" for item in self.partials):
            return ""
        names = [quoted((prefix or "") + item.name) for item in self.partials]
        sums = names if prefix is not None else [f"sum({name})" for name in names]
        return " AND ".join(f"coalesce({total}, 0) = 0" for total in sums)

    def advance(self, entries: str, estimate: int) -> Delta | None:
        """Propose the state after the change; the change of the output."""
        known = self.trace.rows if self.trace is not None else 0
        if estimate > self.workspace.driver_rows and estimate * _REWRITE_SHARE > known:
            return self._rewrite(entries, estimate)
        return self._touch(entries, estimate)

    def compacted(self, entries: str) -> str:
        """Entries with those of one group added up."""
        return f"SELECT {self._group_list}, {self._added()} FROM ({entries}) GROUP BY {self._group_list}"

    def _touch(self, entries: str, estimate: int) -> Delta | None:
        if estimate <= PLANNED_ROWS and (self.trace is None or self.trace.is_local):
            state = None if self.trace is None else self.trace.memory
            touched = self._adder.touched(entries, estimate, state, self._outcome())
            if touched is not None:
                return self._done(touched, room=_ROOM)
        change = entries if self.groups else self.compacted(entries)
        old, local = None, True
        if self.trace is not None and self.trace.view is not None:
            old, local = self.trace.view, self.trace.is_local
        if old is not None and not local:
            found = self._met(change, estimate)
            if found is None:
                return None
            old, change = found
        frame = self.workspace.sql(self._outcomes(self._three_states(old, change, local=local)))
        return self._done(Delta.of_frame(self.workspace, frame, estimate=estimate).settled())

    def _done(self, touched: Delta, room: int = 1) -> Delta | None:
        if touched.is_empty():
            return None
        self._propose(touched, room)
        return self._emitted(touched)

    def _met(self, change: str, estimate: int) -> tuple[str, str] | None:
        """The entries of the state that the change touches, and the change itself, evaluated."""
        query = self.workspace.sql(self.compacted(change))
        settled = Delta.of_frame(self.workspace, query, estimate=estimate).settled()
        if settled.is_empty():
            return None
        assert self.trace is not None  # noqa: S101 - the caller has seen it
        hint, old = self.hint("__k", settled.count(), self.trace), self.kept(self.trace, settled.count())
        keys = f"SELECT DISTINCT {KEY} AS __touched FROM {settled.view}"
        touched = f"(SELECT {hint} __s.* FROM {old} __s LEFT SEMI JOIN ({keys}) __k ON __s.{KEY} = __k.__touched)"
        return touched, f"SELECT * FROM {settled.view}"

    def _three_states(self, old: str | None, change: str, *, local: bool) -> str:
        states = self._states(*STATES)
        # In one partition nothing has to be exchanged to be grouped.
        hint = "/*+ COALESCE(1) */ " if local and old is not None else ""
        both = f"SELECT {hint}* FROM ({self._sides(old, change)})"
        return f"SELECT {self._group_list}, {states} FROM ({both}) GROUP BY {self._group_list} HAVING max({_SIDE}) = 1"

    def _states(self, *wanted: str) -> str:
        """The partials in the wanted ones of the three states, from the entries of `_sides`."""
        return ", ".join(
            f"{_in_state(item, at)} AS {quoted(at + item.name)}" for at in wanted for item in self.partials
        )

    def _sides(self, old: str | None, change: str) -> str:
        """State and change in one relation, told apart by `__side`."""
        at = f"CAST(NULL AS BIGINT) AS {AT}, " if self._totals else ""
        sides = [f"SELECT *, {at}1 AS {_SIDE} FROM ({change})"]
        if old is not None:
            sides.insert(0, f"SELECT *, 0 AS {_SIDE} FROM {old}")
        return " UNION ALL ".join(sides)

    def _outcomes(self, states: str) -> str:
        kept = ", ".join(quoted(name) for name in dict.fromkeys(self._appended.values()))
        return f"SELECT {self._group_list}, {kept}, {self._outcome()} AS __out FROM ({states})"

    def _outcome(self) -> str:
        return f"array_compact({self.output()})"

    def _emitted(self, touched: Delta) -> Delta:
        """The output rows of the touched groups; taken out on the driver where the groups are there."""
        schema: StructType = touched.schema["__out"].dataType.elementType  # type: ignore[attr-defined]
        if touched.on_driver:
            return Delta.of_arrow(self.workspace, _rows_of(touched.arrow()["__out"]), schema)
        query = f"SELECT inline(__out) FROM {touched.view}"
        return Delta.of_query(self.workspace, query, schema, estimate=2 * touched.estimate)

    def _propose(self, touched: Delta, room: int) -> None:
        """Append the change's partials to the trace; on the driver where the touched groups are there."""
        columns = [KEY, *self.groups]
        if touched.on_driver:
            table = touched.arrow().select([*columns, *self._appended.values()])
            entries = table.rename_columns([*columns, *self._appended])
            delta = Delta.of_arrow(self.workspace, entries, self._schema(touched.schema))
        else:
            renamed = ", ".join(f"{quoted(found)} AS {quoted(name)}" for name, found in self._appended.items())
            delta = touched.projected(f"{self._group_list}, {renamed}")
        self.proposed = [self._trace(delta.schema).appended(delta, room=room)]

    def _rewrite(self, entries: str, estimate: int) -> Delta | None:
        """One pass over state and change that is the new state as well."""
        old = None if self.trace is None else self.trace.exchanged
        known = 0 if self.trace is None else self.trace.rows
        # Few groups: add up before the exchange. Many: exchange the rows once and add up with the state.
        change = entries if known * _FEW_GROUPS > estimate else self.compacted(entries)
        everything, rows = by_key(
            self.workspace, self.workspace.sql(self._two_states(old, f"SELECT * FROM ({change}) DISTRIBUTE BY {KEY}"))
        )
        view = self.workspace.name(everything)
        columns = {name: "__t_" + (PRESENT if name == AT else name) for name in self._appended}
        renamed = ", ".join(f"{quoted(found)} AS {quoted(name)}" for name, found in columns.items())
        gone = self._vanished("__t_")
        state = self.workspace.sql(
            f"SELECT {self._group_list}, {renamed} FROM {view}{f' WHERE NOT ({gone})' if gone else ''}"
        )
        self.workspace.checkpoints.sharing(state, everything)
        self.proposed = [self._trace(state.schema).rewritten(state, rows)]
        return self._emitted_from(view, 2 * rows)

    def _two_states(self, old: str | None, change: str) -> str:
        """All groups with their partials before and after; `__touched` says whether the change has rows of one."""
        columns = f"{self._group_list}, {self._states('__o_', '__t_')}, max({_SIDE}) = 1 AS __touched"
        return f"SELECT {columns} FROM ({self._sides(self._live(old), change)}) GROUP BY {self._group_list}"

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

    def _trace(self, schema: StructType) -> Trace:
        if self.trace is not None:
            return self.trace
        return Trace(self.workspace, schema.toNullable(), combine=self.combined)

    def _schema(self, schema: StructType) -> StructType:
        groups = [schema[name] for name in (KEY, *self.groups)]
        columns = [StructField(name, schema[found].dataType) for name, found in self._appended.items()]
        return StructType([*groups, *columns])


class AdditiveRunner(GroupedRunner):
    """GROUP BY whose aggregates are partial results."""

    def __init__(self, workspace: Workspace, operator: Additive, schema: StructType) -> None:
        super().__init__(workspace)
        self.operator = operator
        self.node: Aggregate = operator.node  # type: ignore[assignment]
        self.schema = schema
        self.groups = tuple(f"__g{position}" for position in range(len(self.node.groups)))
        self.partials = operator.partials.columns
        self.first = True
        self.terms: Terms = [
            (scalar.text, expression_type(workspace, scalar.text, schema)) for _, scalar in self.node.groups
        ]
        self.comparable = not any("map<" in kind.simpleString() or holds_variant(kind) for _, kind in self.terms)

    def step(self, inputs: Sequence[Delta | None], *, first: bool) -> Delta | None:
        (delta,) = inputs
        if delta is None or delta.is_empty():
            if not first or self.node.groups:
                return None
            delta = Delta.of_frame(self.workspace, self.workspace.empty(self.schema), rows=0)
        self.first = first
        return self.advance(self._entries(delta), max(delta.estimate, 1))

    def _entries(self, delta: Delta) -> str:
        groups = [f"{scalar.text} AS {name}" for name, (_, scalar) in zip(self.groups, self.node.groups, strict=True)]
        values = [f"{item.value} AS {quoted(item.name)}" for item in self.partials]
        items = ", ".join([f"{hash_text(self.terms)} AS {KEY}", *groups, *values])
        return f"SELECT {items} FROM {delta.view}"

    def compacted(self, entries: str) -> str:
        if self.groups:
            return super().compacted(entries)
        return f"SELECT 0L AS {KEY}, {self._added()} FROM ({entries})"

    def _rewrite(self, entries: str, estimate: int) -> Delta | None:
        return super()._rewrite(entries, estimate) if self.groups else self._touch(entries, 1)

    def output(self) -> str:
        was, now = self._present("__o_"), self._present("__t_")
        before, after = self._answer("__o_", -1), self._answer("__t_", 1)
        if self.comparable or not self.node.aggregates:
            same = f"({was} AND {now} AND {self._unchanged()})"
            was, now = f"{was} AND NOT {same}", f"{now} AND NOT {same}"
        return f"array(if({was}, {before}, NULL), if({now}, {after}, NULL))"

    def _unchanged(self) -> str:
        pairs = zip(self._answers("__o_"), self._answers("__t_"), strict=True)
        return " AND ".join(f"{before} <=> {after}" for before, after in pairs) or "true"

    def _answers(self, prefix: str) -> list[str]:
        """The aggregates' values, computed from the partials with one prefix."""
        found = []
        for _, answer in self.operator.partials.answers:
            text = answer
            for item in self.partials:
                text = text.replace(quoted(item.name), quoted(prefix + item.name))
            found.append(f"({text})")
        return found

    def _present(self, prefix: str) -> str:
        if self.groups:
            return f"coalesce({quoted(prefix + PRESENT)}, 0L) > 0"
        return "true" if prefix == "__t_" else str(not self.first).lower()

    def _answer(self, prefix: str, weight: int) -> str:
        """A struct of the output row, computed from the partials with one prefix."""
        named = [f"{name} AS {quoted(output)}" for name, (output, _) in zip(self.groups, self.node.groups, strict=True)]
        names = [output for output, _ in self.operator.partials.answers]
        named += [f"{text} AS {quoted(name)}" for name, text in zip(names, self._answers(prefix), strict=True)]
        return f"struct({', '.join([*named, f'{weight}L AS {WEIGHT}'])})"


def _kept(item: Partial) -> str:
    """A partial of one entry, from those of several."""
    return f"max_by({quoted(item.name)}, {AT})" if item.total else f"{item.merge}({quoted(item.name)})"


def _in_state(item: Partial, state: str) -> str:
    """A partial in one of the three states, from entries of state and change told apart by `__side`."""
    added = f"{item.merge}({quoted(item.name)})"
    before, of_change = f"{_kept(item)} FILTER (WHERE {_SIDE} = 0)", f"{added} FILTER (WHERE {_SIDE} = 1)"
    if state == "__t_":
        return f"coalesce({before} + {of_change}, {before}, {of_change})" if item.total else added
    return before if state == "__o_" else of_change


def _rows_of(column: pa.ChunkedArray) -> pa.Table:
    """The structs of a column of arrays, one row each."""
    structs = pc.list_flatten(column.combine_chunks())
    if isinstance(structs, pa.ChunkedArray):
        structs = structs.combine_chunks()
    return pa.Table.from_arrays(structs.flatten(), names=[item.name for item in structs.type])
