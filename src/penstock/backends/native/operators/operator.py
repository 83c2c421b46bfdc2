"""The part that every operator in DuckDB has in common.

Its state is tables of the store, which change within the step's transaction; what it knows of them besides is only
proposed until `commit`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.backends.api import LineText
from penstock.backends.native.collecting import Collector
from penstock.backends.native.kinds import is_nested, stored
from penstock.backends.native.proof import NotProvenError
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Columns, Rows, Trace
from penstock.backends.portable import Portable
from penstock.backends.rules.rule import Rule
from penstock.circuit.operators import Operator
from penstock.plan.expressions import plan_reads_clock
from penstock.plan.nodes import Field, Plan, Scan

Changes = Sequence[Rows | None]


class NativeOperator(Rule[Rows]):
    """One operator at work; `traces` is its state, in the order by which its expiries name it.

    `renamed` are the columns of its only input, one for each of its own, where it does nothing but name them.
    """

    renamed: tuple[str, ...] | None = None
    keeps_answers = False  # beside its inputs, or in their place

    def __init__(self, store: Store, operator: Operator) -> None:
        self.store = store
        self.operator = operator
        self.inputs = inputs_of(operator)
        self.outputs = columns_of(operator.node.fields)
        self.traces: list[Trace] = []
        self.collector = Collector(operator.expiries)
        self._table = store.name()
        self._met = [store.name() for _ in self.inputs]
        # Values within values may be equal in several forms, which the process keeps apart.
        self.tells_equals = not any(is_nested(kind) for _, kind in self.outputs)
        self._reads_clock = plan_reads_clock(operator.node)

    def met(self, place: int, change: Rows | None) -> Rows | None:
        if change is None or not change.costly or change.count is not None:
            return change
        count = self.store.made(self._met[place], f"SELECT * FROM {change.name}")
        return Rows(self._met[place], count, change.distinct) if count else None

    def remember(self, place: int, change: Rows) -> None:
        self.traces[place].append(change)

    def remembers(self, place: int) -> bool:
        return not self.traces[place].is_empty

    def commit(self) -> None:
        for trace in self.traces:
            trace.commit()

    def discard(self) -> None:
        for trace in self.traces:
            trace.discard()

    def merge(self, lines: LineText | None = None) -> None:
        self.collect(lines, whole=False)

    def compact(self, lines: LineText | None = None) -> None:
        self.collect(lines, whole=True)

    def collect(self, lines: LineText | None, *, whole: bool) -> None:
        """Have traces as few entries as there are rows, without what has expired, where that is due, or `whole`."""
        for position, trace in enumerate(self.traces):
            self.collector.collect(position, trace, lines, whole=whole)

    def drop(self) -> None:
        """Give back what its tables take; it is not used again."""
        for name in (self._table, *self._met, *(trace.table for trace in self.traces)):
            self.store.drop(name)

    def portable(self) -> Portable:
        """All that it remembers, for an operator elsewhere."""
        return Portable(tuple(trace.fetched() for trace in self.traces))

    def hold(self, found: Portable) -> None:
        """Remember what an operator elsewhere does, in place of nothing."""
        for trace, rows in zip(self.traces, found.rows, strict=True):
            trace.load(rows)

    def state(self) -> Iterator[tuple[int, int]]:
        for trace in self.traces:
            yield trace.rows, trace.bytes

    def made(self, query: str, *, distinct: bool = False) -> Rows | None:
        """The rows of a query, `distinct` or not, as a relation of the step; None if there are none."""
        self.see_clock()
        count = self.store.made(self._table, query)
        return Rows(self._table, count, distinct and self.tells_equals) if count else None

    def see_clock(self) -> None:
        """Let what it reads of the clock be the step's."""
        if self._reads_clock:
            self.store.see_clock()

    def evaluated(self, rows: Rows) -> Rows:
        """A change of its own that is a query, as a table of the step."""
        if rows.count is not None:
            return rows
        return self.made(f"SELECT * FROM {rows.name}", distinct=rows.distinct) or Rows(self._table, 0)

    def names(self, found: Mapping[int, str]) -> dict[str, str]:
        """Relations by the names of the leaves that read them."""
        return {f"#{number}": found[place] for place, number in enumerate(self.operator.inputs)}


def columns_of(fields: Sequence[Field]) -> Columns:
    """Columns with their types; NotProvenError where a type is not known, or cannot lie in DuckDB."""
    found = []
    for item in fields:
        if item.type is None:
            raise NotProvenError(what=f"the type of {item.name}, which only Spark knows")
        stored(item.type)
        found.append((item.name, item.type))
    return tuple(found)


def inputs_of(operator: Operator) -> tuple[Columns, ...]:
    """The columns of each input, as the node reads them."""
    leaves = {node.relation: node for node in operator.node.walk() if isinstance(node, Scan)}
    return tuple(columns_of(_leaf(leaves, number).fields) for number in operator.inputs)


def _leaf(leaves: Mapping[str, Plan], number: int) -> Plan:
    if f"#{number}" not in leaves:
        raise NotProvenError(what="an operator that reads its inputs in more ways than one")
    return leaves[f"#{number}"]
