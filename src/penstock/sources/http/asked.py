"""The rows that an address has: those above a growing column's last value, or a document whenever it has changed.

    https://host/orders?after={id}      asked again and again with the largest id so far, at once while there are more
    https://host/rates                  asked with the mark of the last answer (ETag); the same body is not taken again

A step's manifest has the values from which and up to which it has read, or the digest of the document. A document
cannot be asked for as it was; its rows are in the input log.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from decimal import Decimal
from typing import Any

from penstock.catalog.model import Column, Table
from penstock.errors import DataError, Diagnostic
from penstock.sources.formats.choice import csv_shape, leniency
from penstock.sources.formats.csv import Shape
from penstock.sources.formats.rows import readable
from penstock.sources.http.address import ask, headers_of, shown_address
from penstock.sources.http.cut import BadBodyError, cut
from penstock.sources.http.declared import (
    EVERY,
    FORMAT,
    MOST_BYTES,
    START,
    TIMEOUT,
    URL,
    growing,
    is_address,
    with_value,
)
from penstock.sources.looks import LookedSource, Looks, RefusedError
from penstock.sources.messages.api import Message
from penstock.sources.messages.rows import MessageRows
from penstock.sources.properties import duration
from penstock.sources.secrets import expanded, secret_values
from penstock.steps.exact import exact, from_exact
from penstock.steps.rows.batch import Batch, bad_value, reject_row
from penstock.steps.rows.rejected import BAD_FILE, Rejections, row_json
from penstock.steps.rows.values import Convert, converter

_OPERATIONS = ("insert", "delete", "update")
_SHOWN = 500
_TOLD = 100_000


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the growing column: as the table has it, and as the address has said it and is told it again.

    Values compare in full: a table's may have lost digits that the address goes by.
    """

    value: Any
    text: str

    @property
    def order(self) -> tuple[Any, ...]:
        """The value to compare by."""
        number = isinstance(self.value, int | float | Decimal)
        return (Decimal(self.text),) if number else (self.value, self.text)


@dataclass(frozen=True, slots=True)
class _Read:
    """Rows that an answer has, and where they end: at a value, or with the whole document of a digest and a mark.

    `unknown` ones have no value by which they would be known again; `broken` is why a document has no rows.
    """

    messages: Sequence[bytes]
    end: Value | None = None
    digest: str = ""
    mark: str | None = None
    unknown: Sequence[bytes] = ()
    broken: str = ""


@dataclass(frozen=True, slots=True)
class Growing:
    """The column by which rows are asked for, found in a message of JSON or a record of CSV."""

    column: Column
    convert: Convert
    names: tuple[str, ...]
    shape: Shape | None  # that of CSV

    def value(self, message: bytes) -> Value | None:
        """The value of a row; None if it has none that fits the column."""
        try:
            found = self._given(message)
            if found is None or isinstance(found, bool | list | dict):
                return None
            exactly = isinstance(found, Decimal) and not self.column.type.lower().startswith("decimal")
            value = self.convert(float(found) if exactly else found)
            return Value(value, str(found)) if not isinstance(value, float) or math.isfinite(value) else None
        except (ArithmeticError, ValueError, TypeError, RecursionError, csv.Error):
            return None

    def _given(self, message: bytes) -> Any:
        lower = self.column.label.lower()
        if self.shape is not None:
            fields = next(csv.reader(io.StringIO(message.decode(), newline=""), **self.shape.options), [])
            place = self.names.index(lower)
            return fields[place] if place < len(fields) and fields[place] != self.shape.null_text else None
        row = json.loads(message, parse_float=Decimal)
        for name in _OPERATIONS:
            if isinstance(row, dict) and isinstance(row.get(name), dict) and name not in self.names:
                row = row[name]
        named = row.items() if isinstance(row, dict) else ()
        return next((value for name, value in named if name.lower() == lower), None)


@dataclass
class AskedSource(LookedSource[_Read]):
    """The rows of one table; `at` is the last value that a step has, `known` the document that the last one had."""

    table: Table
    rows: MessageRows
    url: str
    headers: Mapping[str, str]
    options: Mapping[str, Any]
    growing: Growing | None = None
    secrets: frozenset[str] = frozenset()
    now: Callable[[], float] = time.monotonic
    at: Value | None = None
    told: set[bytes] = field(default_factory=set)
    known: str = ""
    mark: str | None = None
    _read: _Read | None = None
    _again: tuple[Value | None, Value] | None = None
    _asked: int = 0

    def __post_init__(self) -> None:
        """The seconds between two looks."""
        every, timeout = (duration(item.value(self.table)).total_seconds() for item in (EVERY, TIMEOUT))
        now = lambda: self.now()  # noqa: E731, PLW0108 - a test puts another clock in
        self._looks = Looks.of(self.table, lambda: self.where, every, timeout, self.secrets, now)

    @property
    def where(self) -> str:
        """The address as people name it, without who asks, and as it is written."""
        return shown_address(URL.value(self.table))

    def read(self, rows: int, rejections: Rejections, *, ended: bool = False) -> Batch | None:  # noqa: ARG002
        """The rows of the next answer, or those that `seek` has named; None if there are none, or it is not time."""
        at_once = ended and (self.growing is not None or not self._asked)  # a document may differ each time
        found = self._looks.found(self._next, ended=at_once)
        if found is None:
            return None
        self._tell_broken(found.broken, rejections)
        self._tell_unknown(found.unknown, rejections)
        if self.growing is not None and found.end is None:
            self._looks.patience.rest()
            return None
        self._read = found
        self._asked += 1
        messages = [Message(value, None, "answer", self._asked, at) for at, value in enumerate(found.messages)]
        return self.rows.batch(messages, rejections)

    def _next(self) -> _Read | None:
        if self.growing is None:
            return self._document()
        if self._again is not None:
            return self._between(self.growing, *self._again)
        return self._page(self.growing, self.at, None)

    def _between(self, by: Growing, start: Value | None, end: Value) -> _Read:
        """The rows that a manifest names, of as many answers as it takes."""
        messages: list[bytes] = []
        unknown: list[bytes] = []
        at = start
        while at is None or at.order < end.order:
            page = self._page(by, at, end)
            if page is None or page.end is None:
                message = f"it has no rows any more up to {by.column.label} {end.text}, which a step has had"
                raise RefusedError(message)
            messages += page.messages
            unknown += page.unknown
            at = page.end
        return _Read(messages, end, unknown=unknown)

    def _page(self, by: Growing, start: Value | None, end: Value | None) -> _Read | None:
        """The rows of one answer that are above `start`, and not above `end`."""
        text = START.value(self.table) if start is None else start.text
        answer = ask(self._expanded(with_value(self.url, text)), self.headers, self._most)
        if answer is None:
            return None
        try:
            messages = cut(answer.body, FORMAT.value(self.table), self.options)
        except BadBodyError as error:
            message = f"its answer cannot be read: {error}"
            raise RefusedError(message) from None
        return _above(by, messages, start, end)

    def _expanded(self, url: str) -> str:
        """An address with its secrets; RefusedError if it is none then."""
        found = expanded(url, f"table {self.table.name}: '{URL.name}'")
        if not is_address(found):
            message = "it is no address of http or https"
            raise RefusedError(message)
        return found

    def _tell_broken(self, why: str, rejections: Rejections) -> None:
        """Set aside a document that has no rows, if it has none; DataError if nothing may be set aside."""
        if why and not rejections.tolerant:
            message = f"table {self.table.name}: {self.where} has an answer that cannot be read: {why}"
            raise DataError(Diagnostic("SOURCE_REFUSED", message, self.table.span))
        if why:
            rejections.add(self.table.name, BAD_FILE, row_json({"place": self.where, "error": why}))

    def _tell_unknown(self, messages: Sequence[bytes], rejections: Rejections) -> None:
        """Set rows aside of which nothing tells whether they are there already, each once; DataError if none may be."""
        label = "" if self.growing is None else self.growing.column.label
        for message in messages:
            digest = hashlib.sha256(message).digest()
            if digest in self.told:
                continue
            what = f"a row without a value of {label}, by which it would be known again: {readable(message)}"
            error = bad_value(self.table, self.where, what[:_SHOWN])
            if not rejections.tolerant:
                raise error
            reject_row(rejections, self.table, self.where, error, readable(message))
            if len(self.told) < _TOLD:
                self.told.add(digest)

    def _document(self) -> _Read | None:
        marked = {} if self.mark is None else {"If-None-Match": self.mark}
        answer = ask(self._expanded(self.url), {**self.headers, **marked}, self._most)
        if answer is None:
            return None
        digest = hashlib.sha256(answer.body).hexdigest()
        if digest == self.known:
            return None
        try:
            messages = cut(answer.body, FORMAT.value(self.table), self.options)
        except BadBodyError as error:
            return _Read([], None, digest, answer.mark, broken=str(error))
        return _Read(messages, None, digest, answer.mark)

    @property
    def _most(self) -> int:
        return int(MOST_BYTES.value(self.table))

    def taken(self) -> dict[str, Any]:
        """The values read from and to, or the document."""
        if self._read is None:
            return {}
        start = self.at if self._again is None else self._again[0]
        if self.growing is None:
            ends = {"document": self.known}, {"document": self._read.digest, "mark": self._read.mark}
        else:
            ends = _kept(start), _kept(self._read.end)
        item = {"address": URL.value(self.table), "from": ends[0], "to": ends[1]}
        return {"connector": "http", "read": [item]}

    def seek(self, taken: Mapping[str, Any]) -> None:
        """Ask next for what a manifest names; DataError for a document, which may be another by now."""
        item = taken["read"][0]
        end = _value(item["to"])
        if end is None:
            message = f"table {self.table.name}: {self.where} cannot be asked for a document as it was"
            raise DataError(Diagnostic("CANNOT_READ_AGAIN", message))
        self._again = _value(item["from"]), end

    def skip(self, taken: Mapping[str, Any]) -> None:
        """Go on behind what a manifest names."""
        end = taken["read"][-1]["to"]
        self.at, self.known, self.mark = _value(end), end.get("document", ""), end.get("mark")

    def commit(self) -> None:
        """Go on behind what a step has; above a value there may be more at once."""
        read, self._read, self._again = self._read, None, None
        if read is None:
            return
        self.at, self.known, self.mark = read.end, read.digest, read.mark
        if self.growing is None:
            self._looks.patience.rest()
        else:
            self._looks.patience.at_once()

    def rewind(self) -> None:
        """Ask for the same again."""
        self._read = None
        self._looks.patience.at_once()

    def describe(self) -> str:
        """The address."""
        by = f" by {self.growing.column.label}" if self.growing is not None else ""
        return f"{self.table.name} from {self.where}{by} ({self.rows.format.name})"


def _above(by: Growing, messages: list[bytes], start: Value | None, end: Value | None) -> _Read | None:
    """The rows of an answer that are not there yet: an address may give those of the last value again."""
    values = [by.value(message) for message in messages]
    if messages and not any(values):
        message = f"no row of its answer has a value of {by.column.label}, by which it would be asked for more"
        raise RefusedError(message)
    unknown = [message for message, value in zip(messages, values, strict=True) if value is None]
    new = [(at, value) for at, value in enumerate(values) if value is not None and _is_within(value, start, end)]
    if not new:
        return _Read([], None, unknown=unknown) if unknown else None
    last = max((value for _, value in new), key=lambda item: item.order)
    return _Read([messages[at] for at, _ in new], last, unknown=unknown)


def _is_within(value: Value, start: Value | None, end: Value | None) -> bool:
    return (start is None or value.order > start.order) and (end is None or value.order <= end.order)


def _kept(value: Value | None) -> dict[str, Any]:
    return {"value": None} if value is None else {"value": exact(value.value), "text": value.text}


def _value(kept: Mapping[str, Any]) -> Value | None:
    return None if kept.get("value") is None else Value(from_exact(kept["value"]), kept["text"])


def opened(table: Table, rows: MessageRows, zone: tzinfo) -> AskedSource:
    """The source of a table; its address is asked when it is first read. DataError for a secret that is not there."""
    what = f"table {table.name}"
    headers = headers_of(table.properties, what)
    options = dict(csv_shape(table).options) if FORMAT.value(table) == "csv" else {}
    url = URL.value(table)
    expanded(url, f"{what}: '{URL.name}'")  # a secret that is not there is told before the start
    secrets = frozenset(secret_values(table.properties.values()))
    return AskedSource(table, rows, url, headers, options, _growing(table, zone), secrets)


def _growing(table: Table, zone: tzinfo) -> Growing | None:
    name, style = growing(table), FORMAT.value(table)
    if name is None:
        return None
    filled = [column for column in table.shown if column.metadata is None]
    column = next(item for item in filled if item.label.lower() == name.lower())
    convert = converter(column.type, zone, leniency(style, table))
    names = tuple(item.label.lower() for item in filled)
    return Growing(column, convert, names, csv_shape(table) if style == "csv" else None)
