"""The rows that an address has: those above a growing column's last value, or a document whenever it has changed.

    https://host/orders?after={id}      asked again and again with the largest id so far, at once while there are more
    https://host/rates                  asked with the mark of the last answer (ETag); the same body is not taken again

A step's manifest has the values from which and up to which it has read, or the digest of the document. A document
cannot be asked for as it was; its rows are in the input log.
"""

from __future__ import annotations

import csv
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from penstock.catalog.model import Column, Table
from penstock.errors import DataError, Diagnostic
from penstock.sources.formats.choice import csv_shape, leniency
from penstock.sources.http.address import AwayError, RefusedError, ask
from penstock.sources.http.cut import BadBodyError, cut
from penstock.sources.http.declared import (
    EVERY,
    FORMAT,
    MOST_BYTES,
    START,
    TIMEOUT,
    URL,
    growing,
    with_value,
)
from penstock.sources.messages.api import Message
from penstock.sources.messages.rows import MessageRows
from penstock.sources.patience import Patience
from penstock.sources.properties import duration
from penstock.sources.secrets import expanded, masked, secret_values
from penstock.steps.exact import exact, from_exact
from penstock.steps.rows.batch import Batch
from penstock.steps.rows.rejected import BAD_FILE, Rejections, row_json
from penstock.steps.rows.values import Convert, converter

_HEADER = "header."
_OPERATIONS = ("insert", "delete", "update")


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the growing column, as it compares and as an address is told it."""

    value: Any
    text: str


@dataclass(frozen=True, slots=True)
class _Read:
    """Rows that an answer has, and where they end: at a value, or with the whole document of a digest and a mark."""

    messages: Sequence[bytes]
    end: Value | None = None
    digest: str = ""
    mark: str | None = None


@dataclass(frozen=True, slots=True)
class Growing:
    """The column by which rows are asked for, found in a message of JSON or a record of CSV."""

    column: Column
    convert: Convert
    place: int
    options: Mapping[str, Any] | None  # those of CSV

    def value(self, message: bytes) -> Value | None:
        """The value of a row; None if it has none that fits the column."""
        found = self._given(message)
        if found is None or isinstance(found, bool | list | dict):
            return None
        try:
            number = float(found) if isinstance(found, Decimal) and "decimal" not in self.column.type.lower() else found
            return Value(self.convert(number), str(found))
        except (ArithmeticError, ValueError, TypeError):
            return None

    def _given(self, message: bytes) -> Any:
        if self.options is not None:
            fields = next(csv.reader([message.decode()], **self.options), [])
            return fields[self.place] if self.place < len(fields) else None
        row = json.loads(message, parse_float=Decimal)
        if isinstance(row, dict) and len(row) == 1 and isinstance(inner := next(iter(row.values())), dict):
            row = inner if next(iter(row)) in _OPERATIONS else row
        if not isinstance(row, dict):
            return None
        lower = self.column.label.lower()
        return next((value for name, value in row.items() if name.lower() == lower), None)


@dataclass
class AskedSource:
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
    known: str = ""
    mark: str | None = None
    _read: _Read | None = None
    _again: tuple[Value | None, Value] | None = None
    _asked: int = 0
    _looks: Patience = field(init=False)

    def __post_init__(self) -> None:
        """The seconds between two looks."""
        every, timeout = (duration(item.value(self.table)).total_seconds() for item in (EVERY, TIMEOUT))
        self._looks = Patience(every, timeout, lambda: self.now())  # noqa: PLW0108 - a test puts another clock in

    @property
    def where(self) -> str:
        """The address as people name it, without who asks, and as it is written."""
        parts = urlsplit(URL.value(self.table))
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()

    def read(self, rows: int, rejections: Rejections, *, ended: bool = False) -> Batch | None:  # noqa: ARG002
        """The rows of the next answer, or those that `seek` has named; None if there are none, or it is not time."""
        if not self._looks.is_due(ended=ended):
            return None
        try:
            found = self._next(rejections)
        except AwayError as error:
            why = masked(str(error), self.secrets)
            if self._looks.is_over(why, error.pause):
                message = f"does not answer: {why}"
                raise self._error(message, code="SOURCE_UNREACHABLE") from None
            return None
        except RefusedError as error:
            message = f"refuses: {masked(str(error), self.secrets)}"
            raise self._error(message, code="SOURCE_REFUSED") from None
        self._looks.answered()
        if found is None:
            self._looks.rest()
            return None
        self._read = found
        self._asked += 1
        messages = [Message(value, None, "answer", self._asked, at) for at, value in enumerate(found.messages)]
        return self.rows.batch(messages, rejections)

    def _next(self, rejections: Rejections) -> _Read | None:
        if self.growing is None:
            return self._document(rejections)
        if self._again is not None:
            return self._between(self.growing, *self._again)
        return self._page(self.growing, self.at, None)

    def _between(self, by: Growing, start: Value | None, end: Value) -> _Read:
        """The rows that a manifest names, of as many answers as it takes."""
        messages: list[bytes] = []
        at = start
        while at is None or at.value < end.value:
            page = self._page(by, at, end)
            if page is None or page.end is None:
                message = f"it has no rows any more up to {by.column.label} {end.text}, which a step has had"
                raise RefusedError(message)
            messages += page.messages
            at = page.end
        return _Read(messages, end)

    def _page(self, by: Growing, start: Value | None, end: Value | None) -> _Read | None:
        """The rows of one answer that are above `start`, and not above `end`."""
        text = START.value(self.table) if start is None else start.text
        answer = ask(with_value(self.url, text), self.headers, self._most)
        if answer is None:
            return None
        try:
            messages = cut(answer.body, FORMAT.value(self.table), self.options)
        except BadBodyError as error:
            message = f"its answer cannot be read: {error}"
            raise RefusedError(message) from None
        return self._above(by, messages, start, end)

    def _above(self, by: Growing, messages: list[bytes], start: Value | None, end: Value | None) -> _Read | None:
        """The rows of an answer that are not there yet: an address may give those of the last value again."""
        values = [by.value(message) for message in messages]
        if messages and not any(values):
            message = f"no row of its answer has a value of {by.column.label}, by which it would be asked for more"
            raise RefusedError(message)
        kept = [at for at, value in enumerate(values) if value is None or _is_within(value, start, end)]
        new = [value for at in kept if (value := values[at]) is not None]
        if not new:
            return None
        return _Read([messages[at] for at in kept], max(new, key=lambda item: item.value))

    def _document(self, rejections: Rejections) -> _Read | None:
        marked = {} if self.mark is None else {"If-None-Match": self.mark}
        answer = ask(self.url, {**self.headers, **marked}, self._most)
        if answer is None:
            return None
        digest = hashlib.sha256(answer.body).hexdigest()
        if digest == self.known:
            return None
        try:
            messages = cut(answer.body, FORMAT.value(self.table), self.options)
        except BadBodyError as error:
            if not rejections.tolerant:
                message = f"has an answer that cannot be read: {error}"
                raise self._error(message, code="SOURCE_REFUSED") from None
            rejections.add(self.table.name, BAD_FILE, row_json({"place": self.where, "error": str(error)}))
            messages = []
        return _Read(messages, None, digest, answer.mark)

    @property
    def _most(self) -> int:
        return int(MOST_BYTES.value(self.table))

    def _error(self, what: str, *, code: str) -> DataError:
        hint = "the run goes on where it was once it is started again" if code == "SOURCE_UNREACHABLE" else None
        message = f"table {self.table.name}: {self.where} {what}"
        return DataError(Diagnostic(code, message, self.table.span, hint=hint))

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
            self._looks.rest()
        else:
            self._looks.at_once()

    def rewind(self) -> None:
        """Ask for the same again."""
        self._read = None
        self._looks.at_once()

    def waiting(self) -> tuple[int, int]:
        """Nothing that is known."""
        return 0, 0

    def trouble(self) -> str:
        """The reason for which it does not answer, while it does not."""
        return self._looks.said

    def describe(self) -> str:
        """The address."""
        by = f" by {self.growing.column.label}" if self.growing is not None else ""
        return f"{self.table.name} from {self.where}{by} ({self.rows.format.name})"


def _is_within(value: Value, start: Value | None, end: Value | None) -> bool:
    return (start is None or value.value > start.value) and (end is None or value.value <= end.value)


def _kept(value: Value | None) -> dict[str, Any]:
    return {"value": None} if value is None else {"value": exact(value.value), "text": value.text}


def _value(kept: Mapping[str, Any]) -> Value | None:
    return None if kept.get("value") is None else Value(from_exact(kept["value"]), kept["text"])


def opened(table: Table, rows: MessageRows, zone: tzinfo) -> AskedSource:
    """The source of a table; its address is asked when it is first read. DataError for a secret that is not there."""
    what = f"table {table.name}"
    headers = {
        name.removeprefix(_HEADER): expanded(value, f"{what}: {name!r}")
        for name, value in table.properties.items()
        if name.startswith(_HEADER)
    }
    options = dict(csv_shape(table).options) if FORMAT.value(table) == "csv" else {}
    url = expanded(URL.value(table), f"{what}: '{URL.name}'")
    secrets = frozenset(secret_values(table.properties.values()))
    return AskedSource(table, rows, url, headers, options, _growing(table, zone, options), secrets)


def _growing(table: Table, zone: tzinfo, options: Mapping[str, Any]) -> Growing | None:
    name, style = growing(table), FORMAT.value(table)
    if name is None:
        return None
    filled = [column for column in table.shown if column.metadata is None]
    place = next(at for at, column in enumerate(filled) if column.label.lower() == name.lower())
    convert = converter(filled[place].type, zone, leniency(style, table))
    return Growing(filled[place], convert, place, options if style == "csv" else None)
