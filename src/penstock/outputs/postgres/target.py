"""The table that is written: found or made, and compared with what is to be written into it before anything is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.catalog.model import Column
from penstock.errors import DataError, Diagnostic
from penstock.outputs.sink import Sink
from penstock.sources.postgres.connection import TableName, quoted
from penstock.steps.rows.rejected import json_text

# Of each of Spark's types: the type of a table that is made, and all into which its values go without loss.
_TEXTS = ("text", "varchar", "bpchar", "citext", "uuid", "json", "jsonb", "inet", "xml", "name")
_TYPES: dict[str, tuple[str, ...]] = {
    "boolean": ("bool",),
    "tinyint": ("int2", "int4", "int8", "numeric"),
    "smallint": ("int2", "int4", "int8", "numeric"),
    "int": ("int4", "int8", "numeric"),
    "bigint": ("int8", "numeric"),
    "float": ("float4", "float8"),
    "double": ("float8",),
    "decimal": ("numeric",),
    "string": _TEXTS,
    "varchar": _TEXTS,
    "char": _TEXTS,
    "date": ("date",),
    "timestamp": ("timestamptz",),
    "timestamp_ntz": ("timestamp",),
    "time": ("time",),
    "binary": ("bytea",),
    "struct": ("jsonb", "json"),
    "map": ("jsonb", "json"),
    "variant": ("jsonb", "json"),
    "interval": ("interval",),
}
_JSON = ("json", "jsonb")
_ARRAY = re.compile(r"array<(.*)>", re.DOTALL)
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")
_COLUMNS = """
SELECT a.attname, COALESCE(b.typname, t.typname), t.typtype, a.attnotnull,
       a.atthasdef OR a.attidentity <> '', a.attgenerated <> '' OR a.attidentity = 'a', a.atttypmod
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = NULLIF(t.typbasetype, 0)
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_INDEXES = """
SELECT array_agg(a.attname::text), bool_and(a.attnotnull), {}
FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey[:i.indnkeyatts - 1])
WHERE i.indrelid = %s AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL
GROUP BY i.indexrelid, i.indnkeyatts HAVING count(*) = i.indnkeyatts
"""
_NULLS_NOT_DISTINCT = 150000


@dataclass(frozen=True, slots=True)
class Found:
    """A column of the table: its type by the catalogue's name, an array's with `_` before it."""

    name: str
    type: str
    kind: str
    not_null: bool
    filled: bool
    generated: bool
    modifier: int


@dataclass(frozen=True)
class Target:
    """The table as it is written: its columns in the order of the view's, and the key that a row is found by."""

    table: TableName
    oid: int
    columns: tuple[Found, ...]
    key: tuple[str, ...] = ()

    def converters(self) -> list[Callable[[Any], Any] | None]:
        """For each column what makes a value one that psycopg writes, None where it does as it is."""
        return [_as_json if item.type in _JSON else None for item in self.columns]


def found_target(connection: Any, table: TableName, sink: Sink, key: Sequence[str] | None, *, creates: bool) -> Target:
    """The table, whose rows are upserted by `key` if there is one; DataError if it is not there, or is another."""
    oid = _oid(connection, table)
    if oid is None and creates:
        connection.execute(_creation(connection, table, sink, key))
        oid = _oid(connection, table)
    if oid is None:
        message = f"there is no table {table} for {sink.what}"
        hint = "create it; or 'create' = 'true' has it made"
        raise DataError(Diagnostic("OUTPUT_DIFFERS", message, sink.span, hint=hint), sink.source)
    found = [Found(*row) for row in connection.execute(_COLUMNS, (oid,))]
    columns = tuple(_matching(item, found, table, sink) for item in sink.columns)
    _refuse_unfilled(found, columns, table, sink)
    by_name = dict(zip((item.name for item in sink.columns), columns, strict=True))
    names = tuple(by_name[name].name for name in key or ())
    if key:
        _check_key(connection, oid, names, table, sink)
    return Target(table, oid, columns, names)


def _oid(connection: Any, table: TableName) -> int | None:
    row = connection.execute("SELECT to_regclass(%s)::oid", (table.quoted(),)).fetchone()
    return None if row[0] is None else int(row[0])


def _matching(wanted: Column, found: Sequence[Found], table: TableName, sink: Sink) -> Found:
    """The column of the table for one of the view."""
    exact = next((item for item in found if item.name == wanted.label), None)
    column = exact or next((item for item in found if item.name.lower() == wanted.label.lower()), None)
    if column is None:
        there = ", ".join(item.name for item in found)
        raise _differs(
            sink, f"table {table} has no column {wanted.label}, only {there}", f"add it to the table {table}"
        )
    if column.generated:
        raise _differs(sink, f"column {column.name} of table {table} is generated", "leave it out of the view")
    if not _takes(column, wanted.type):
        kind = (wanted.type or "").upper()
        hint = f"it has to be of type {_made(wanted.type) or 'jsonb'}; or CAST in the view"
        raise _differs(sink, f"column {column.name} of table {table} is {column.type}, which cannot take {kind}", hint)
    return column


def _takes(column: Found, kind: str | None) -> bool:
    """True if the column takes all values of one of Spark's types; one that is not known is left to the database."""
    if not kind:
        return True
    array = _ARRAY.fullmatch(kind)
    if array is not None:
        inner = Found(column.name, column.type.removeprefix("_"), "b", column.not_null, False, False, -1)  # noqa: FBT003
        return column.type in _JSON or (column.type.startswith("_") and _takes(inner, array[1]))
    base = re.split(r"[(<: ]", kind.lower(), maxsplit=1)[0]
    if column.kind == "e":
        return base == "string"
    if column.type not in _TYPES.get(base, ()):
        return False
    return column.type != "numeric" or column.modifier < 0 or _holds(column.modifier, kind)


def _holds(modifier: int, kind: str) -> bool:
    """True if a NUMERIC of bounded size holds all values of a type."""
    precision, scale = (modifier - 4) >> 16 & 0xFFFF, (modifier - 4) & 0x7FF
    found = _DECIMAL.fullmatch(kind.lower())
    digits = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
    wanted = (int(found[1]), int(found[2])) if found else (digits.get(kind.lower(), 38), 0)
    return scale >= wanted[1] and precision - scale >= wanted[0] - wanted[1]


def _refuse_unfilled(found: Sequence[Found], written: Sequence[Found], table: TableName, sink: Sink) -> None:
    for item in found:
        if item not in written and item.not_null and not item.filled and not item.generated:
            message = f"column {item.name} of table {table} must not be NULL, and {sink.what} does not give it"
            raise _differs(sink, message, "give it in the view, or a DEFAULT in the table")


def _check_key(connection: Any, oid: int, key: Sequence[str], table: TableName, sink: Sink) -> None:
    """Refuse a table in which a row of a key could not take the place of the one before."""
    newer = connection.info.server_version >= _NULLS_NOT_DISTINCT
    rows = connection.execute(_INDEXES.format("bool_and(i.indnullsnotdistinct)" if newer else "false"), (oid,))
    listed = ", ".join(map(quoted, key))
    found = [(bool(not_null), bool(one)) for names, not_null, one in rows if set(names) == set(key)]
    if not found:
        message = f"table {table} has no PRIMARY KEY or unique index on ({', '.join(key)}), the key of {sink.what}"
        raise _differs(sink, message, f"ALTER TABLE {table.quoted()} ADD PRIMARY KEY ({listed})")
    nullable = {item.name.lower() for item in sink.columns if item.nullable}
    if not any(not_null or one for not_null, one in found) and nullable & {name.lower() for name in key}:
        message = f"the unique index on ({', '.join(key)}) of table {table} holds a NULL any number of times"
        raise _differs(sink, message, "a PRIMARY KEY does not, nor does UNIQUE NULLS NOT DISTINCT")


def _creation(connection: Any, table: TableName, sink: Sink, key: Sequence[str] | None) -> str:
    """The statement that makes the table."""
    parts = [f"{quoted(item.label)} {_kind(item, sink)}{'' if item.nullable else ' NOT NULL'}" for item in sink.columns]
    if key:
        nullable = any(item.nullable for item in sink.columns if item.name in key)
        if nullable and connection.info.server_version < _NULLS_NOT_DISTINCT:
            message = f"the key of {sink.what} may be NULL, which a key of this database's version cannot be"
            raise _differs(sink, message, "COALESCE it in the view")
        labels = {item.name: item.label for item in sink.columns}
        kind = "UNIQUE NULLS NOT DISTINCT" if nullable else "PRIMARY KEY"
        parts.append(f"{kind} ({', '.join(quoted(labels[name]) for name in key)})")
    return f"CREATE TABLE {table.quoted()} ({', '.join(parts)})"


def _kind(item: Column, sink: Sink) -> str:
    found = _made(item.type)
    if found is None:
        message = (
            f"the type of column {item.label} of {sink.what} has none like it in PostgreSQL: {item.type or 'unknown'}"
        )
        raise _differs(sink, message, "CAST it in the view, or create the table yourself")
    return found


def _made(kind: str | None) -> str | None:
    """The type of a column that is made for one of Spark's types; None if there is none."""
    if not kind:
        return None
    array = _ARRAY.fullmatch(kind)
    if array is not None:
        inner = _made(array[1])
        return None if inner is None else "jsonb" if inner in ("json", "jsonb") or "[]" in inner else f"{inner}[]"
    decimal = _DECIMAL.fullmatch(kind.lower())
    if decimal is not None:
        return f"numeric({decimal[1]}, {decimal[2]})"
    found = _TYPES.get(re.split(r"[(<: ]", kind.lower(), maxsplit=1)[0])
    return None if found is None else found[0]


def _differs(sink: Sink, message: str, hint: str) -> DataError:
    return DataError(Diagnostic("OUTPUT_DIFFERS", f"{sink.what}: {message}", sink.span, hint=hint), sink.source)


def _as_json(value: Any) -> Any:
    return value if value is None or isinstance(value, str) else json_text(value)
