"""Batches of rows from messages: all at once where each is one plain row, else each message by itself.

A message that cannot be read is one rejected row, with its place. The columns of the key and of METADATA are put beside
those of the value here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from penstock.backends.columns import arrow_type
from penstock.catalog.model import Column, Table
from penstock.catalog.reserved import OPERATION
from penstock.errors import DataError
from penstock.sources.formats.rows import readable
from penstock.sources.messages.api import Message, MessageFormat, values_of
from penstock.sources.messages.keys import KeyFormat
from penstock.sources.messages.metadata import fact_of, metadata_columns
from penstock.steps.rows.batch import DELETE, INSERT, Batch, Operated, RowReader, concatenated, reject_row
from penstock.steps.rows.new_columns import NewColumns
from penstock.steps.rows.rejected import Rejections

_FEW = 64


@dataclass(frozen=True)
class MessageRows:
    """Makes the rows of one table; `said` are the columns that it lacks of which the messages' schemas tell."""

    table: Table
    reader: RowReader
    format: MessageFormat
    key: KeyFormat | None = None
    said: NewColumns = field(default_factory=NewColumns)

    @cached_property
    def _metadata(self) -> list[Column]:
        return metadata_columns(self.table)

    def batch(self, messages: Sequence[Message], rejections: Rejections) -> Batch:
        """The checked rows of messages, in their order."""
        data = self._at_once(messages) if self.format.in_bulk else None
        if data is not None:
            return self.reader.read_arrow(data, rejections, lambda index: messages[index].place)
        if self.format.in_bulk and len(messages) > _FEW:  # one message must not cost all others their speed
            half = len(messages) // 2
            return concatenated([self.batch(part, rejections) for part in (messages[:half], messages[half:])])
        return self._one_by_one(messages, rejections)

    def _at_once(self, messages: Sequence[Message]) -> pa.Table | None:
        """All rows as columns; None where a message must be looked at by itself."""
        values = values_of(messages)
        present = [value for value in values if value is not None]
        if not present or (len(present) < len(messages) and self.key is None):
            return None
        data = self.format.at_once(present)
        if data is None:
            return None
        if len(present) < len(messages):
            data = _with_emptied(data, messages)
        try:
            return self._beside(data, messages)
        except (DataError, pa.ArrowException, OverflowError, TypeError):
            return None

    def _beside(self, data: pa.Table, messages: Sequence[Message]) -> pa.Table:
        """The rows with the columns of keys and METADATA."""
        if self.key is not None:
            keys = [self.key.read(message.key, message.place) for message in messages]
            for name in self.key.columns:
                data = _with_column(data, name, pa.array([key[name] for key in keys]))
        for column in self._metadata:
            values = [fact_of(column, message, self.table) for message in messages]
            data = _with_column(data, column.name, pa.array(values, arrow_type(column.type)))
        return data

    def _one_by_one(self, messages: Sequence[Message], rejections: Rejections) -> Batch:
        items: list[Operated] = []
        places: list[str] = []
        for message in messages:
            try:
                found = self._operations(message)
            except DataError as error:
                if not rejections.tolerant or _is_away(error):
                    raise
                reject_row(rejections, self.table, message.place, error, _shown(message))
                continue
            items += found
            places += [message.place] * len(found)
        self.reader.know(self.said.taken())
        return self.reader.read(items, rejections, lambda index: places[index])

    def _operations(self, message: Message) -> Sequence[Operated]:
        key = None if self.key is None else self.key.read(message.key, message.place)
        if message.value is None:
            found = self.format.emptied(key, message.place)
        else:
            found = self.format.rows(message.value, message.place)
        beside: dict[str, Any] = dict(key or {})
        beside |= {column.name: fact_of(column, message, self.table) for column in self._metadata}
        return [replace(item, row=_joined(item.row, beside)) for item in found] if beside else found


def _is_away(error: DataError) -> bool:
    """True for an error that is not the message's: what is asked for its schema does not answer."""
    return any(item.code == "SOURCE_UNREACHABLE" for item in error.diagnostics)


def _joined(row: Any, beside: dict[str, Any]) -> Any:
    """A row by name with what stands beside it, which counts where both have a column."""
    lower = {name.lower() for name in beside}
    return {**{name: value for name, value in row.items() if str(name).lower() not in lower}, **beside}


def _with_emptied(data: pa.Table, messages: Sequence[Message]) -> pa.Table:
    """The rows with one that is deleted for each message without a value, at its place."""
    at, places, marks = 0, [], []
    given = data.column(OPERATION).to_pylist() if OPERATION in data.column_names else [INSERT] * data.num_rows
    for message in messages:
        places.append(None if message.value is None else at)
        marks.append(DELETE if message.value is None else given[at])
        at += message.value is not None
    return _with_column(data.take(pa.array(places, pa.int64())), OPERATION, pa.array(marks))


def _with_column(data: pa.Table, name: str, values: pa.Array) -> pa.Table:
    found = data.schema.get_field_index(name)
    return data.append_column(name, values) if found < 0 else data.set_column(found, name, values)


def _shown(message: Message) -> Any:
    return None if message.value is None else readable(message.value)
