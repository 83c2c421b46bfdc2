"""The reading of a table's messages: the format of their values, and of their keys, as its properties say."""

from __future__ import annotations

from dataclasses import replace

from penstock.catalog.model import Table
from penstock.catalog.properties import value_place
from penstock.errors import Diagnostic, SqlError, did_you_mean
from penstock.sources.formats.choice import csv_shape, leniency
from penstock.sources.messages import declared
from penstock.sources.messages.api import MessageFormat
from penstock.sources.messages.changes import ChangeMessages
from penstock.sources.messages.csv import CsvMessages
from penstock.sources.messages.debezium import DebeziumMessages
from penstock.sources.messages.json import JsonMessages
from penstock.sources.messages.keys import Decode, KeyFormat, Tell
from penstock.sources.messages.raw import RawMessages
from penstock.sources.messages.rows import MessageRows
from penstock.sources.messages.schemas import declared as schemas
from penstock.sources.messages.schemas.rows import DecodedMessages
from penstock.steps.intake.inputs import MakeReader
from penstock.steps.rows.new_columns import NewColumns
from penstock.steps.rows.values import Leniency


def rows_of(table: Table, readers: MakeReader, *, upserts: bool, patience: float = 0.0) -> MessageRows:
    """The maker of rows from a table's messages; SqlError if its columns do not go with its format.

    A schema registry that does not answer is waited for as many seconds as `patience`.
    """
    style = declared.style_of(table)
    lenient = leniency(style, table)
    fields = _key_columns(table, upserts=upserts)
    key = _of_key(table, fields, patience) if fields else None
    value = _of_value(table, fields if style == "raw" or _leaves_out(table) else ())
    said = NewColumns()
    tell = said.note_all if lenient.new else None
    return MessageRows(
        table, readers(table, lenient), _format(style, value, readers, lenient, patience=patience, tell=tell), key, said
    )


def check_messages(table: Table, *, upserts: bool) -> None:
    """SqlError for columns of the key that there are not, and for upserts without a key to go by."""
    missing = [name for name in declared.key_fields(table) if table.column(name) is None]
    if missing:
        known = [column.name for column in table.shown]
        message = f"table {table.name}: 'key.fields' names {missing[0][:60]!r}, which is no column of it"
        place = value_place(table, declared.KEY_FIELDS.name)
        raise SqlError(Diagnostic("UNKNOWN_COLUMN", message, place, did_you_mean(missing[0], known)))
    if upserts and not table.key:
        message = f"table {table.name}: messages that replace each other by key need a PRIMARY KEY"
        hint = "add PRIMARY KEY (…) to its columns"
        raise SqlError(Diagnostic("NO_PRIMARY_KEY", message, table.span, hint=hint))
    schemas.check_schemas(table, (declared.style_of(table), declared.KEY_FORMAT.value(table)))
    fields = _key_columns(table, upserts=upserts)
    if declared.KEY_FORMAT.value(table) == "raw" and len(fields) > 1:
        message = f"table {table.name}: 'key.format' = 'raw' fills one column, and the key has {', '.join(fields)}"
        raise SqlError(Diagnostic("BAD_PROPERTY", message, table.span, hint="'key.format' = 'json'"))


def _key_columns(table: Table, *, upserts: bool) -> tuple[str, ...]:
    return declared.key_fields(table) or (table.key if upserts else ())


def _leaves_out(table: Table) -> bool:
    return declared.FIELDS_INCLUDE.value(table) == "except_key"


def _of_value(table: Table, without: tuple[str, ...]) -> Table:
    """The table with the columns that the value fills."""
    lower = {name.lower() for name in without}
    columns = tuple(item for item in table.columns if item.metadata is None and item.name.lower() not in lower)
    names = {item.name.lower() for item in columns}
    return replace(table, columns=columns, key=tuple(name for name in table.key if name.lower() in names))


def _of_key(table: Table, fields: tuple[str, ...], patience: float) -> KeyFormat:
    style = declared.KEY_FORMAT.value(table)
    if style not in schemas.FORMATS:
        return KeyFormat(table, fields, style)
    return KeyFormat(table, fields, style, _decoding(table, style, patience, fields[0] if len(fields) == 1 else None))


def _decoding(table: Table, style: str, patience: float, column: str | None = None, tell: Tell | None = None) -> Decode:
    from penstock.sources.messages.schemas.decoding import decoding  # noqa: PLC0415 - most tables need none

    return decoding(table, style, patience, column, tell)


def _format(
    style: str, table: Table, readers: MakeReader, lenient: Leniency, *, patience: float, tell: Tell | None
) -> MessageFormat:
    match style:
        case "debezium-avro-confluent":
            return DebeziumMessages(table, style, _decoding(table, style, patience, tell=tell), tell=tell)
        case _ if style in schemas.FORMATS:
            return DecodedMessages(table, style, _decoding(table, style, patience, tell=tell))
        case "csv":
            return CsvMessages(table, csv_shape(table))
        case "raw":
            return RawMessages(table)
        case _ if style in declared.CHANGES:
            return ChangeMessages(table, style, adds=tell is not None)
        case "debezium" | "debezium-json":
            return DebeziumMessages(table, style, tell=tell)
        case _:
            return JsonMessages(table, readers(table, lenient), lenient=lenient, tell=tell)
