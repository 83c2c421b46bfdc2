"""Random tables, and values that make trouble: NULL, NaN, signed zeros, equal rows, texts that differ in little."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from penstock.testing.fuzz.dice import Dice

INT, BIGINT, DOUBLE, STRING, BOOLEAN = "int", "bigint", "double", "string", "boolean"
DATE, TIMESTAMP, DECIMAL, ARRAY = "date", "timestamp", "decimal", "array"
STRUCT, MAP = "struct", "map"
NUMBERS = (INT, BIGINT, DOUBLE, DECIMAL)
SCALARS = (INT, STRING, BIGINT, DOUBLE, BOOLEAN, DATE, TIMESTAMP, DECIMAL)

NESTED = (ARRAY, STRUCT, MAP)

_SQL = {DECIMAL: "DECIMAL(10,2)", ARRAY: "ARRAY<INT>", STRUCT: "STRUCT<p: INT, q: STRING>", MAP: "MAP<STRING, INT>"}
_POOL = (
    ("k", (INT, INT, INT, BIGINT, STRING)),
    ("g", (STRING,)),
    ("x", (INT, INT, BIGINT)),
    ("y", (DOUBLE,)),
    ("n", (BIGINT,)),
    ("s", (STRING,)),
    ("b", (BOOLEAN,)),
    ("d", (DATE,)),
    ("ts", (TIMESTAMP,)),
    ("m", (DECIMAL,)),
    ("a", (ARRAY,)),
    ("st", (STRUCT,)),
    ("mp", (MAP,)),
)
SHARED = (INT, STRING, BIGINT, DOUBLE, BOOLEAN, DATE)
_VALUES: dict[str, tuple[Any, ...]] = {
    INT: (1, 0, 2, 3, -2, 7),
    BIGINT: (1, 0, 2, 3, -2, 100),
    DOUBLE: (1.0, 0.5, -2.25, 0.0, -0.0, 3.0, float("nan"), float("inf"), float("-inf")),
    STRING: ("a", "b", "", "ab", "B", "ä", "1", "2"),
    BOOLEAN: (True, False),
    DATE: ("2024-02-29", "2024-03-01", "2023-12-31", "1970-01-01"),
    TIMESTAMP: ("2024-02-29 10:00:00", "2024-02-29 10:30:00", "2024-02-29 23:59:59", "1969-12-31 23:00:00"),
    DECIMAL: ("1.00", "0.50", "-2.25", "10.10"),
    ARRAY: ([1, 2], [], [3], [1, None, 1]),
    STRUCT: ({"p": 1, "q": "a"}, {"p": None, "q": "b"}, {"p": 2, "q": None}),
    MAP: ({"a": 1}, {}, {"a": 2, "b": None}),
}


@dataclass(frozen=True)
class Column:
    """A column as an expression sees it: `text` refers to it, `type` is one of the families above."""

    text: str
    name: str
    type: str


@dataclass(frozen=True)
class Relation:
    """A table or view that a query can read; `key` is a table's primary key."""

    name: str
    columns: tuple[tuple[str, str], ...]
    key: tuple[str, ...] = ()
    append_only: bool = False

    @property
    def ddl(self) -> str:
        """The CREATE TABLE statement."""
        parts = [f"{name} {sql_type(kind)}" + " NOT NULL" * (name in self.key) for name, kind in self.columns]
        if self.key:
            parts.append(f"PRIMARY KEY ({', '.join(self.key)})")
        options = " WITH ('append_only' = 'true')" if self.append_only else ""
        return f"CREATE TABLE {self.name} ({', '.join(parts)}){options};"


def sql_type(kind: str) -> str:
    """The SQL name of a type family."""
    return _SQL.get(kind, kind.upper())


def random_table(dice: Dice, name: str) -> Relation:
    """A table of 3 to 8 columns; `k` and `x` are always there, names are shared so that USING has something to name."""
    pool = _POOL[1:2] + _POOL[3:]
    others = dice.some([item for item in pool if not dice.shared or item[1][0] in SHARED], 1, 6)
    columns = tuple((name, dice.pick(kinds)) for name, kinds in (_POOL[0], _POOL[2], *others))
    key: tuple[str, ...] = ()
    if dice.often(0.35):
        dice.use("keyed table")
        key = ("k",) if dice.often(0.7) else ("k", columns[1][0])
    return Relation(name, columns, key, append_only=not key and dice.often(0.12))


def random_value(dice: Dice, kind: str, *, null: float = 0.15) -> Any:
    """A value of a type, as a case file writes it."""
    values = _VALUES[kind]
    if dice.shared and kind == DOUBLE:
        values = tuple(value for value in values if math.isfinite(value))
    return None if dice.often(null) else dice.pick(values)


def literal(dice: Dice, kind: str) -> str:
    """A literal of a type."""
    return written(random_value(dice, kind, null=0.05), kind)


def written(value: Any, kind: str) -> str:
    """A value as SQL."""
    if value is None:
        return f"CAST(NULL AS {sql_type(kind)})"
    if kind == DOUBLE:
        return f"CAST('{value}' AS DOUBLE)" if value != value or abs(value) == float("inf") else f"{value}D"  # noqa: PLR0124
    if kind == ARRAY:
        items = ", ".join("NULL" if item is None else str(item) for item in value)
        return f"array({items})" if any(item is not None for item in value) else "CAST(array() AS ARRAY<INT>)"
    if kind == STRUCT:
        return f"named_struct('p', {written(value['p'], INT)}, 'q', {written(value['q'], STRING)})"
    if kind == MAP:
        items = ", ".join(f"'{key}', {written(item, INT)}" for key, item in value.items())
        return f"map({items})" if items else f"CAST(map() AS {sql_type(MAP)})"
    quoted = {DATE: f"DATE '{value}'", TIMESTAMP: f"TIMESTAMP '{value}'", STRING: f"'{value}'"}
    plain = {BIGINT: f"{value}L", DECIMAL: f"{value}BD", BOOLEAN: str(value).upper()}
    return {**quoted, **plain}.get(kind, str(value))
