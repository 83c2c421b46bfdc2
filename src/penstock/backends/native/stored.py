"""The part of a store that is not at hand, in the process: weighted rows in a table of DuckDB.

Columns go by their places, `c0`, `c1`, …, so that a table may give them any name. What a step adds is a part of its
transaction; all else happens between steps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.backends.api import Delta, Earlier, Limits, Relation, Relations, Stored
from penstock.backends.columns import arrow_schema, in_arrow, python_rows
from penstock.backends.native.kinds import is_nested, schema_in_arrow, stored
from penstock.backends.native.proof import is_proven
from penstock.backends.native.trace import weighing
from penstock.backends.rows import Row
from penstock.backends.sound import is_sound
from penstock.backends.thresholds import HELD_ROWS, LEAST_FORGOTTEN_ROWS, LEAST_MERGED_ROWS
from penstock.backends.waterlines import below
from penstock.catalog.model import Table
from penstock.catalog.reserved import WEIGHT
from penstock.catalog.types import FRACTIONAL, Type, plain_type
from penstock.errors import DataError, Diagnostic

if TYPE_CHECKING:
    from penstock.backends.native.store import Store


@dataclass(frozen=True)
class _Proposed:
    """Rows that have been added to a table of the store: how many, and whether some take others back."""

    relation: str
    count: int
    retracts: bool


def lies_in_process(table: Table) -> bool:
    """True if DuckDB holds the values of all columns exactly, none of them nested, and finds equal what Spark does."""
    return is_held(table) and not any(is_nested(plain_type(column.type.lower())) for column in table.columns)


def is_held(table: Table) -> bool:
    """True if DuckDB, and so Arrow, holds the values of all columns exactly, nested ones among them."""
    return is_proven(lambda: [stored(plain_type(column.type.lower())) for column in table.columns])


class ProcessRows(Stored):
    """The part of a store that lies in DuckDB: weighted rows, found by some of their columns."""

    def __init__(self, store: Store, relations: Relations, table: Table, by: Sequence[str]) -> None:
        self.store = store
        self._relations = relations
        self._table = table
        names = [column.name.lower() for column in table.columns]
        self.keys = [f"c{names.index(name.lower())}" for name in by]
        self._nullable = frozenset() if table.key else frozenset(self.keys)
        self._columns = tuple((f"c{at}", plain_type(column.type.lower())) for at, column in enumerate(table.columns))
        self.names = tuple(name for name, _ in self._columns)
        self._relation: str | None = None
        self._rows = 0
        self._merged = 0  # rows after the last merge
        self._retracts = False
        self._proposed: _Proposed | None = None
        self._kept = 0  # rows that forgetting has left

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns as they lie here, in Arrow."""
        return schema_in_arrow(self._columns)

    @property
    def count(self) -> int:
        """The number of stored rows, those that cancel among them."""
        return self._rows

    @property
    def is_empty(self) -> bool:
        return self._relation is None

    def placed(self, rows: pa.Table) -> pa.Table:
        """Rows of the table, perhaps with further columns, as they lie here."""
        return rows.rename_columns([*self.names, *rows.column_names[len(self.names) :]])

    def declared(self, rows: pa.Table) -> pa.Table:
        """Rows that lie here in the types and under the names of the table; columns behind its own stay."""
        behind = rows.column_names[len(self.names) :]
        return in_arrow(self._table, rows.rename_columns([*(column.name for column in self._table.columns), *behind]))

    def agreeing(self, one: str, other: str) -> str:
        """The condition that two relations agree in the columns by which rows are found."""
        return same(self.keys, one, other, self._nullable)

    def found_in(self, keys: str, nullable: frozenset[str] | None = None) -> str:
        """The query for the stored rows, with their weights, that agree with one of a relation.

        Only the columns that are `nullable` have NULLs there.
        """
        columns = ", ".join(f"t.{name}" for name in (*self.names, WEIGHT))
        agreeing = same(self.keys, "t", "k", self._nullable if nullable is None else nullable)
        query = f"SELECT {columns} FROM {self._relation} t SEMI JOIN {keys} k ON {agreeing}"
        return self._present(f"({query})") if self._retracts else query

    def has_any(self, keys: str) -> bool:
        """True if some row that ever came agrees with one of a relation."""
        if self.is_empty:
            return False
        query = f"SELECT 1 FROM {self._relation} t SEMI JOIN {keys} k ON {self.agreeing('t', 'k')} LIMIT 1"
        return bool(self.store.arrow(query).num_rows)

    def are_apart(self, rows: str) -> bool:
        """True if no two rows of a relation agree in the columns by which rows are found."""
        count = f"SELECT count(*) FROM {rows}"
        apart = f"SELECT count(*) FROM (SELECT DISTINCT {', '.join(self.keys)} FROM {rows})"
        return bool(self.store.arrow(f"SELECT ({count}) = ({apart})").column(0)[0].as_py())

    def twice(self, rows: pa.Table) -> tuple[Any, ...] | None:
        """A key that several rows have; None if there is none."""
        keys = ", ".join(self.keys)
        with self.store.given(self.placed(rows)) as given:
            query = f"SELECT {keys} FROM {given} GROUP BY {keys} HAVING count(*) > 1 LIMIT 1"
            return next(iter(python_rows(self.store.arrow(query))), None)

    def missing(self, rows: pa.Table, deletes: pa.Array) -> int | None:
        """The place of the first row whose deletion, its last in these rows, finds it not there often enough."""
        names = ", ".join(self.names)
        given = self.placed(rows).append_column("p", positions(rows.num_rows)).append_column("gone", deletes)
        with self.store.given(given) as batch:
            net = "sum(CASE WHEN gone THEN -1 ELSE 1 END)"
            last = "max(p) FILTER (gone) AS last"
            asked = f"SELECT {names}, {last}, {net} AS net FROM {batch} GROUP BY ALL HAVING net < 0"
            if self.is_empty:
                query = f"SELECT min(last) FROM ({asked})"
            else:
                there = f"SELECT {names}, sum({WEIGHT}) AS there FROM ({self.found_in('asked')}) GROUP BY ALL"
                joined = f"asked a LEFT JOIN ({there}) h ON {self.agreeing('a', 'h')}"
                query = f"WITH asked AS ({asked}) SELECT min(last) FROM {joined} WHERE -net > coalesce(there, 0)"
            found = self.store.arrow(query).column(0)[0].as_py()
        return None if found is None else int(found)

    def _present(self, rows: str) -> str:
        """The query for the rows that are left of those that came and went."""
        total, names = f"sum({WEIGHT})::BIGINT", ", ".join(f"r.{name}" for name in self.names)
        columns = ", ".join([*(_left(name, kind) for name, kind in self._columns), f"{total} AS {WEIGHT}"])
        return f"SELECT {columns} FROM {rows} r GROUP BY {names} HAVING {total} <> 0"

    def probe(self, rows: pa.Table) -> list[tuple[Row, int]]:
        if self.is_empty or not rows.num_rows:
            return []
        placed = self.placed(rows)
        nullable = frozenset(name for name in self._nullable if placed.column(name).null_count)
        with self.store.given(placed) as keys:
            query = f"SELECT {weighing(self.names)} FROM ({self.found_in(keys, nullable)})"
            found = self.declared(self.store.arrow(query))
        return [(row[:-1], row[-1]) for row in python_rows(found)]

    def append(self, rows: pa.Table) -> None:
        if not rows.num_rows:
            return
        self.store.discard()  # a step that was stopped where nothing could follow it
        self._relation = self._relation or self._made()
        with self.store.given(self.placed(rows)) as given:
            self._take_over(self._inserted(self._relation, given, rows))

    def propose(self, change: pa.Table | Delta) -> None:
        self._proposed = None
        rows = change if isinstance(change, pa.Table) else self._fetched(change)
        if rows.num_rows:
            relation = self._relation or self._made()
            self._proposed = self._inserted(relation, self.store.taken(self.placed(rows)), rows)

    def commit(self) -> None:
        if self._proposed is not None:
            self._take_over(self._proposed)
        self._proposed = None

    def _inserted(self, relation: str, given: str, rows: pa.Table) -> _Proposed:
        count = self.store.changed(f"INSERT INTO {relation} SELECT {weighing(self.names)} FROM {given}")
        return _Proposed(relation, count, bool(pc.any(pc.less(rows[WEIGHT], 0)).as_py()))

    def _take_over(self, added: _Proposed) -> None:
        self._relation = added.relation
        self._rows += added.count
        self._retracts = self._retracts or added.retracts

    def _fetched(self, delta: Delta) -> pa.Table:
        rows = in_arrow(self._table, delta.arrow())
        for column in rows.columns:
            if not is_sound(column):  # as Spark makes it of bytes; a row at hand is refused likewise
                message = (
                    f"table {self._table.name}: found text that is not UTF-8, or a time beyond the years 1 to 9999"
                )
                raise DataError(Diagnostic("BAD_VALUE", message))
        return rows

    def load(self, pieces: Iterable[pa.Table]) -> None:
        """Add weighted rows that come in pieces, all or none."""
        names = [*(column.name for column in self._table.columns), WEIGHT]
        try:
            for piece in pieces:
                self.append(piece.select(names))
        except BaseException:
            self.drop()
            raise

    def take_over(self, other: Stored, earlier: Earlier) -> None:
        assert isinstance(other, ProcessRows)  # noqa: S101 - a column more moves nothing to the process
        if other._relation is None:  # noqa: SLF001 - another one of these
            return
        self.store.discard()
        there = dict(zip((column.name for column in other._table.columns), other.names, strict=True))  # noqa: SLF001
        columns = list(zip(self._table.columns, self.names, strict=True))
        items = [f"o.{there[column.name]}" if column.name in there else f"n.{name}" for column, name in columns]
        new = {name: pa.repeat(earlier.value(column), 1) for column, name in columns if column.name not in there}
        relation = self._made()
        with self.store.given(pa.table(new)) as values:
            rows = f"{other._relation} o CROSS JOIN {values} n"  # noqa: SLF001
            self._rows = self.store.changed(f"INSERT INTO {relation} SELECT {', '.join(items)}, o.{WEIGHT} FROM {rows}")
        self._relation, self._retracts = relation, other._retracts  # noqa: SLF001
        self._merged, self._kept = other._merged, other._kept  # noqa: SLF001

    def maintain(self) -> None:
        due = self._retracts and self._rows >= 2 * max(self._merged, LEAST_MERGED_ROWS)
        if due and self._relation is not None:
            self.store.discard()
            self._rows = self._merged = self.store.rewritten(self._relation, self._present(self._relation))

    def _made(self) -> str:
        return self.store.table([*((name, stored(kind)) for name, kind in self._columns), (WEIGHT, "BIGINT")])

    def worth_forgetting(self, entries: int, kept: int) -> bool:
        doubled = self._rows >= 2 * max(self._kept, HELD_ROWS)
        return doubled or entries >= 2 * max(kept, LEAST_FORGOTTEN_ROWS)

    def forget(self, limits: Limits) -> None:
        if self._relation is None or all(limit is None for _, limit in limits):
            return
        self.store.discard()
        rows = self.arrow()
        for place, limit in limits:
            if limit is not None:
                rows = rows.filter(pc.invert(below(rows.column(place), limit)))
        with self.store.given(self.placed(rows)) as left:
            query = f"SELECT {weighing(self.names)} FROM {left}"
            self._rows = self._kept = self._merged = self.store.rewritten(self._relation, query)

    def arrow(self) -> pa.Table:
        """Every stored row with its weight, in Arrow."""
        if self._relation is None:
            return arrow_schema(self._table.columns).append(pa.field(WEIGHT, pa.int64())).empty_table()
        query = self._present(self._relation) if self._retracts else f"SELECT * FROM {self._relation}"
        return self.declared(self.store.arrow(query))

    def drop(self) -> None:
        """Forget everything."""
        if self._relation is not None:
            self.store.drop(self._relation)
            self._relation = None

    def weighted(self) -> Relation | None:
        return None if self._relation is None else self._relations.relation_of(self._table, self.arrow())


def _left(name: str, kind: Type) -> str:
    """A column of a row that is left: of both zeros, which are equal, the one of more that came than went."""
    if kind not in FRACTIONAL:
        return name
    negative = f"coalesce(sum({WEIGHT}) FILTER (signbit(r.{name})), 0) > 0"
    zero = f"CASE WHEN {negative} THEN '-0'::{stored(kind)} ELSE '0'::{stored(kind)} END"
    return f"CASE WHEN r.{name} = 0 THEN {zero} ELSE r.{name} END AS {name}"


def same(names: Iterable[str], one: str, other: str, nullable: Collection[str]) -> str:
    """The condition that two relations agree in some columns, NULL with NULL where they are `nullable`.

    Where they are not, DuckDB reads no more of a large table than the values of the small one ask for.
    """
    return " AND ".join(
        f"{one}.{name} {'IS NOT DISTINCT FROM' if name in nullable else '='} {other}.{name}" for name in names
    )


def positions(count: int) -> pa.Array:
    """The numbers from zero on."""
    return pc.indices_nonzero(pa.repeat(pa.scalar(value=True), count)).cast(pa.int64())
