"""Random steps: inserts, retractions, duplicates, upserts, partial updates, empty steps, several tables at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.testing.cases import Operation, Step
from penstock.testing.fuzz.dice import Dice
from penstock.testing.fuzz.tables import BIGINT, INT, STRING, Relation, random_value, written


class Changes:
    """Makes up steps; it knows the tables' contents, so that what it deletes is there."""

    def __init__(self, dice: Dice, tables: Sequence[Relation]) -> None:
        self.dice = dice
        self.tables = tuple(tables)
        self._rows: dict[str, list[tuple[Any, ...]]] = {table.name: [] for table in tables}

    def rows(self, table: Relation) -> list[tuple[Any, ...]]:
        """The rows that a table holds by now."""
        return self._rows[table.name]

    def first(self) -> Step:
        """A step that fills most tables."""
        chosen = self.dice.some(self.tables, 1, len(self.tables))
        return Step(operations=tuple(item for table in chosen for item in self._inserts(table, 2, 7)))

    def next(self) -> Step:
        """One more step; one in ten is empty."""
        if self.dice.often(0.1):
            return Step()
        chosen = self.dice.some(self.tables, 1, 3)
        operations = [item for table in chosen for item in self._mixed(table)]
        sql = self._statements() if self.dice.often(0.2) else None
        return Step(operations=tuple(operations), sql=sql)

    def _inserts(self, table: Relation, low: int, high: int) -> list[Operation]:
        return [self.insert(table) for _ in range(self.dice.number(low, high))]

    def _mixed(self, table: Relation) -> list[Operation]:
        found: list[Operation] = []
        for _ in range(self.dice.number(1, 5)):
            rows = self._rows[table.name]
            kind = self.dice.weighted(((5, "+"), (4, "-"), (2 if table.key else 0, "~")))
            if kind == "+" or table.append_only or (not rows and not table.key):
                found.append(self.insert(table))
            elif kind == "-":
                found.append(self._delete(table))
            else:
                found.append(self._update(table))
        return found

    def _new_row(self, table: Relation) -> tuple[Any, ...]:
        rows = self._rows[table.name]
        if rows and self.dice.often(0.15):
            return self.dice.pick(rows)
        if rows and self.dice.often(0.2):
            return self._varied(table, self.dice.pick(rows))
        return tuple(
            random_value(self.dice, kind, null=0 if name in table.key else 0.15) for name, kind in table.columns
        )

    def _varied(self, table: Relation, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """A row that differs in one column."""
        at = self.dice.number(0, len(row) - 1)
        name, kind = table.columns[at]
        value = random_value(self.dice, kind, null=0 if name in table.key else 0.15)
        return (*row[:at], value, *row[at + 1 :])

    def insert(self, table: Relation) -> Operation:
        """One row more."""
        row = self._new_row(table)
        self._put(table, row)
        return Operation(table.name, "+", row)

    def _put(self, table: Relation, row: tuple[Any, ...]) -> None:
        if table.key:
            self._drop_key(table, row)
        self._rows[table.name].append(row)

    def _drop_key(self, table: Relation, row: tuple[Any, ...]) -> None:
        places = [at for at, (name, _) in enumerate(table.columns) if name in table.key]
        rows = self._rows[table.name]
        self._rows[table.name] = [old for old in rows if any(old[at] != row[at] for at in places)]

    def _delete(self, table: Relation) -> Operation:
        rows = self._rows[table.name]
        row = self.dice.pick(rows) if rows and not (table.key and self.dice.often(0.1)) else self._new_row(table)
        if table.key:
            self._drop_key(table, row)
            return Operation(table.name, "-", row)
        place = next(at for at, other in enumerate(rows) if other is row)
        del rows[place]
        return Operation(table.name, "-", row)

    def _update(self, table: Relation) -> Operation:
        rows = self._rows[table.name]
        old = self.dice.pick(rows) if rows else self._new_row(table)
        new = tuple(
            value if name in table.key else random_value(self.dice, kind, null=0.4)
            for (name, kind), value in zip(table.columns, old, strict=True)
        )
        merged = tuple(before if after is None else after for before, after in zip(old, new, strict=True))
        if rows:
            self._put(table, merged)
        else:
            self._put(table, new)
        return Operation(table.name, "~", new)

    def _statements(self) -> str:
        """Statements in the same transaction."""
        self.dice.use("DML in a step")
        return " ".join(self._statement(self.dice.pick(self.tables)) for _ in range(self.dice.number(1, 2)))

    def _statement(self, table: Relation) -> str:
        name, kind = table.columns[0]
        if table.append_only or kind not in (INT, BIGINT, STRING) or self.dice.often(0.5):
            row = self._new_row(table)
            self._put(table, row)
            values = ", ".join(written(value, kind) for value, (_, kind) in zip(row, table.columns, strict=True))
            return f"INSERT INTO {table.name} VALUES ({values});"
        if self.dice.often(0.4):
            return self._update_all(table, name, kind)
        value = random_value(self.dice, kind, null=0)
        self._rows[table.name] = [row for row in self._rows[table.name] if row[0] != value]
        return f"DELETE FROM {table.name} WHERE {name} = {written(value, kind)};"

    def _update_all(self, table: Relation, name: str, kind: str) -> str:
        """UPDATE of the last column, which is no key's, where the first one has a value."""
        value = random_value(self.dice, kind, null=0)
        last, last_kind = table.columns[-1]
        if last in table.key or last == name:
            return f"DELETE FROM {table.name} WHERE FALSE;"
        self.dice.use("UPDATE")
        wanted = random_value(self.dice, last_kind)
        self._rows[table.name] = [(*row[:-1], wanted) if row[0] == value else row for row in self._rows[table.name]]
        return f"UPDATE {table.name} SET {last} = {written(wanted, last_kind)} WHERE {name} = {written(value, kind)};"
