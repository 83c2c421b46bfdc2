"""Top-K of rows that are only added: the best rows of each key are kept, as they were answered.

By the first value that the query orders by nearly all rows are told to be too late. What is left is small, and only
equals of it are compared further, down to whole rows (docs/adr/0020). What goes is told by its place in the table.
"""

from __future__ import annotations

from penstock.backends.api import LineText
from penstock.backends.native.collecting import Collector
from penstock.backends.native.comparing import Order, directed_sort_key, key, order_of
from penstock.backends.native.operators.operator import Changes, NativeOperator
from penstock.backends.native.proof import Proven, quoted
from penstock.backends.native.scalars import proven
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Columns, Replaced, Rows, listed, once_each, spelled, summed, weighing
from penstock.backends.portable import Portable
from penstock.catalog.reserved import WEIGHT
from penstock.circuit.operators import Keyed, Ranked
from penstock.plan.nodes import TopK

_ID, _WAS, _AT, _RANK, _PLACE = "__id", "__was", "__at", "__rank", "__place"
_VALUE, _LAST, _TIED = "__value", "__last", "__tied"


class BestOperator(NativeOperator):
    """A Top-K without an offset whose input is append-only: of each key, or of all rows."""

    keeps_answers = True

    def __init__(self, store: Store, operator: Keyed | Ranked) -> None:
        super().__init__(store, operator)
        node: TopK = operator.node  # type: ignore[assignment]
        types = dict(self.inputs[0])
        self._count = node.limit or 0
        self._number = node.number
        self._keys = [key(proven(scalar.form, types)) for scalar in node.partition]
        self._names = tuple(f"__key{place}" for place in range(len(self._keys)))
        self._columns = listed(name for name, _ in self.inputs[0])
        self._order, self._further = _ordered(node, self.inputs[0])
        self._old, self._candidates, self._changed = store.name(), store.name(), store.name()
        self.collector.check(0, self.inputs[0])
        # Of rows that are the best already there are none behind them.
        self._forgotten = Collector([item for item in operator.expiries if not item.keep])
        self._answers = Replaced(store, self.outputs)
        self.traces = [self._answers]

    @property
    def _is_numbered(self) -> bool:
        return self._number is not None and self._count > 1

    def step(self, inputs: Changes, *, first: bool) -> Rows | None:
        del first
        (rows,) = self.all_met(inputs)
        if rows is None or not self._count:
            return None
        self.store.made(self._old, self._before(rows))
        self.store.made(self._candidates, self._reaching(rows))
        count = self.store.made(self._changed, self._difference())
        if not count:
            return None
        came, gone = self._rows_that(self._candidates, "rowid", _AT), self._rows_that(self._old, _ID, _ID)
        self._answers.replace(f"(SELECT {_ID} FROM {self._changed} WHERE {_ID} IS NOT NULL)", f"({came})")
        columns, both = weighing(self._answers.names), f"({came} UNION ALL {gone})"
        if not self._is_numbered:
            return Rows(f"(SELECT {columns} FROM {both})", count)
        apart = f"SELECT {columns} FROM {both} WHERE {_TIED} IS NULL"
        tied = summed(self._answers.names, f"(SELECT * FROM {both} WHERE {_TIED})")
        return Rows(f"({apart} UNION ALL {tied})")

    def collect(self, lines: LineText | None, *, whole: bool) -> None:
        self._forgotten.collect(0, self._answers, lines, whole=whole)

    def portable(self) -> Portable:
        """The best rows, which are all of the input that can ever matter."""
        answers = self._answers.fetched()
        return Portable((answers.select([*(name for name, _ in self.inputs[0]), WEIGHT]),), answers)

    def hold(self, found: Portable) -> None:
        if found.answers is not None and found.answers.num_rows:
            with self.store.given(found.answers) as given:  # where equal rows may be one with their weight
                self._answers.append(
                    Rows(f"({once_each(self._answers.names, f'({spelled(self._answers.names, given)})')})")
                )
            self._answers.commit()

    def drop(self) -> None:
        super().drop()
        for name in (self._old, self._candidates, self._changed):
            self.store.drop(name)

    def _before(self, rows: Rows) -> str:
        """The answers for the touched keys, with their places in the table."""
        was = "1" if self._number is None else quoted(self._number)
        answers = f"SELECT rowid AS {_ID}, {was}::BIGINT AS {_WAS}, *, {self._computed()} FROM {self._answers.table}"
        if not self._keys:
            return answers
        touched = f"(SELECT {self._computed()} FROM {rows.name})"
        return f"SELECT * FROM ({answers}) __r SEMI JOIN {touched} __t ON {self._alike('__r', '__t')}"

    def _reaching(self, rows: Rows) -> str:
        """Old and new rows that can be among the best, by the values that they are ordered by."""
        columns = ", ".join([_ID, _WAS, self._columns, *self._names, _VALUE])
        new = f"SELECT NULL::BIGINT AS {_ID}, NULL::BIGINT AS {_WAS}, {self._columns}, {self._computed()}"
        both = f"(SELECT {columns} FROM {self._old} UNION ALL {new} FROM ({self._spelled(rows)}))"
        narrow = ", ".join([*self._names, _VALUE])
        values = f"(SELECT {narrow} FROM {self._old} UNION ALL SELECT {self._computed()} FROM ({self._spelled(rows)}))"
        last = self._grouped(f"{self._order.last(_VALUE, self._count)} AS {_LAST}", values)
        on = f"{self._alike('__r', '__b')} AND {self._order.reaches(_VALUE, _LAST)}"
        return f"SELECT __r.* FROM {both} __r JOIN ({last}) __b ON {on}"

    def _spelled(self, rows: Rows) -> str:
        """The rows of a change, each as often as it is there, as far as that matters."""
        if self._count == 1:
            return f"SELECT {self._columns} FROM {rows.name} WHERE {WEIGHT} > 0"
        copies = f"unnest(range(least({WEIGHT}, {self._count})))"
        several = f"(SELECT {self._columns}, {copies} FROM {rows.name} WHERE {WEIGHT} > 1)"
        once = f"SELECT {self._columns} FROM {rows.name} WHERE {WEIGHT} = 1"
        return f"{once} UNION ALL SELECT {self._columns} FROM {several}"

    def _difference(self) -> str:
        """Where the rows are that come, among the candidates, and those that go, among the answers; none is copied."""
        rank = f"__n.{_RANK} <= {self._count}"
        place = (
            f"CASE WHEN {rank} THEN __n.{_RANK} END" if self._is_numbered else f"CASE WHEN NOT {rank} THEN 0 ELSE 1 END"
        )
        placed = f"{self._candidates} __r LEFT JOIN __ranks __n ON __r.rowid = __n.{_AT}"
        came = f"SELECT {self._changing('__r.rowid', 'NULL::BIGINT', place, 1)} FROM {placed}{self._peers()}"
        came += f" WHERE {place} > 0 AND __r.{_WAS} IS DISTINCT FROM {place}"
        stay = f"(SELECT __r.{_ID} FROM {placed} WHERE __r.{_WAS} = {place}) __s ON __g.{_ID} = __s.{_ID}"
        gone = f"(SELECT * FROM {self._old} __g ANTI JOIN {stay}) __r"
        gone = f"SELECT {self._changing('NULL::BIGINT', f'__r.{_ID}', f'__r.{_WAS}', -1)} FROM {gone}{self._peers()}"
        return f"WITH {self._ranks()} {came} UNION ALL {gone}"

    def _changing(self, at: str, identity: str, place: str, weight: int) -> str:
        tied = [f"__p.{_TIED}"] if self._is_numbered else []
        items = [f"{at} AS {_AT}", f"{identity} AS {_ID}", f"({place})::INTEGER AS {_PLACE}", *tied]
        return ", ".join([*items, f"{weight}::BIGINT AS {WEIGHT}"])

    def _rows_that(self, table: str, place: str, changed: str) -> str:
        """The rows of a table that come, or go, with what is said of them: found by their places in it."""
        columns = [f"__r.{quoted(name)}" for name, _ in self.inputs[0]]
        number = [] if self._number is None else [f"__c.{_PLACE} AS {quoted(self._number)}"]
        tied = [f"__c.{_TIED}"] if self._is_numbered else []
        items = ", ".join([*columns, *number, *tied, f"__c.{WEIGHT}"])
        return f"SELECT {items} FROM {table} __r JOIN {self._changed} __c ON __r.{place} = __c.{changed}"

    def _peers(self) -> str:
        """The join with the values that several rows of a key have, where they decide numbers."""
        return f" LEFT JOIN __peers __p ON {self._alike('__r', '__p', _VALUE)}" if self._is_numbered else ""

    def _ranks(self) -> str:
        """The ranks of candidates: of all if they are numbers, or else where there are more than can stay."""
        if not self._is_numbered:
            crowded = f"({self._grouped('1', self._candidates, f'count(*) > {self._count}')})"
            rows = f"{self._candidates} __r SEMI JOIN {crowded} __c ON {self._alike('__r', '__c')}"
            return f"__ranks AS MATERIALIZED ({self._ranked(rows, self._further)})"
        of_key = ", ".join([*self._names, _VALUE])
        peers = f"SELECT {of_key}, true AS {_TIED} FROM {self._candidates} GROUP BY {of_key} HAVING count(*) > 1"
        ranked = self._ranked(
            f"{self._candidates} __r{self._peers()}", f"CASE WHEN __p.{_TIED} THEN {self._further} END"
        )
        return f"__peers AS MATERIALIZED ({peers}), __ranks AS MATERIALIZED ({ranked})"

    def _ranked(self, rows: str, equals: str) -> str:
        """The ranks of candidates in the whole order; of equal rows those are first that were so before."""
        by = f"PARTITION BY {', '.join(self._names)} " if self._names else ""
        order = f"{self._order.item(_VALUE)}, {_TIED} NULLS LAST, {_WAS} NULLS LAST"
        narrow = ", ".join(f"__r.{name}" for name in (f"rowid AS {_AT}", *self._names, _VALUE, _WAS))
        rank = f"row_number() OVER ({by}ORDER BY {order}) AS {_RANK}"
        return f"SELECT {_AT}, {rank} FROM (SELECT {narrow}, {equals} AS {_TIED} FROM {rows})"

    def _computed(self) -> str:
        """The keys of a row and the value by which it is ordered."""
        keys = [f"{text} AS {name}" for text, name in zip(self._keys, self._names, strict=True)]
        return ", ".join([*keys, f"{self._order.value} AS {_VALUE}"])

    def _grouped(self, item: str, rows: str, having: str = "") -> str:
        """Something of each key; of all rows, if there are no keys."""
        names = ", ".join(self._names)
        by = f" GROUP BY {names}" if names else ""
        return f"SELECT {names}{', ' if names else ''}{item} FROM {rows}{by}{having and f' HAVING {having}'}"

    def _alike(self, one: str, other: str, *further: str) -> str:
        """The condition that the keys of two relations are alike."""
        names = (*self._names, *further)
        return " AND ".join(f"{one}.{name} IS NOT DISTINCT FROM {other}.{name}" for name in names) or "true"


def _ordered(node: TopK, columns: Columns) -> tuple[Order, str]:
    """The order by the first value, and one value for the order of rows that are equal in it, down to whole rows."""
    types = dict(columns)
    items = [
        (proven(item.value.form, types), item.descending, item.nulls_first)
        for item in node.order
        if not item.value.is_constant
    ]
    items += [(Proven(quoted(name), kind), False, True) for name, kind in columns]
    if not items:
        return Order("0", largest=True), "0"
    (value, descending, nulls_first), *further = items
    return order_of(value, descending=descending, nulls_first=nulls_first), directed_sort_key(further)
