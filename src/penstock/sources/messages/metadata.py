"""The columns that are filled by what is known of a message beside its value: METADATA [FROM 'name']."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.catalog.model import Column, Table
from penstock.errors import Diagnostic, SqlError
from penstock.sources.formats.rows import refuse_record
from penstock.sources.messages.api import Message


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that is known of each message, and the types that its column may have, the usual one first."""

    types: tuple[str, ...]
    of: Callable[[Message], Any]


FACTS: Mapping[str, Fact] = {
    "topic": Fact(("string",), lambda message: message.topic),
    "partition": Fact(("int", "bigint"), lambda message: message.partition),
    "offset": Fact(("bigint",), lambda message: message.offset),
    "timestamp": Fact(("timestamp", "timestamp_ntz"), lambda message: message.timestamp),
    "key": Fact(("binary", "string"), lambda message: message.key),
    "headers": Fact(("map<string,binary>", "map<string,string>"), lambda message: dict(message.headers)),
}


def metadata_columns(table: Table) -> list[Column]:
    """The columns of a table that are filled so."""
    return [column for column in table.columns if column.metadata is not None]


def check_metadata(table: Table) -> None:
    """SqlError for a column that cannot hold its fact."""
    for column in metadata_columns(table):
        name = column.metadata or ""
        types = FACTS[name].types
        if column.type.lower().replace(" ", "") not in types:
            message = f"column {column.name}: the metadata {name!r} is {types[0].upper()}, not {column.type.upper()}"
            hint = f"declare it as {' or '.join(item.upper() for item in types)}"
            raise SqlError(Diagnostic("BAD_METADATA", message, column.span, hint=hint))


def fact_of(column: Column, message: Message, table: Table) -> Any:
    """The value of such a column; DataError for bytes that are no text where that is wanted."""
    value = FACTS[column.metadata or ""].of(message)
    kind = column.type.lower()
    if "string" not in kind or column.metadata == "topic":
        return value
    try:
        if isinstance(value, bytes):
            return value.decode("utf-8")
        if isinstance(value, dict) and "binary" not in kind:
            return {name: None if item is None else item.decode("utf-8") for name, item in value.items()}
    except UnicodeDecodeError as error:
        refuse_record(table, message.place, f"its {column.metadata} is not UTF-8 at byte {error.start}")
    return value
