"""The rows that an address has: those above a growing column's last value, or a document whenever it has changed.

    https://host/orders?after={id}      asked again and again with the largest id so far, at once while there are more
    https://host/rates                  asked with the mark of the last answer (ETag); the same body is not taken again

A step's manifest has the values from which and up to which it has read, or the digest of the document. A document
cannot be asked for as it was; its rows are in the input log.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import partial
from typing import Any

from penstock.catalog.model import Table
from penstock.errors import DataError, Diagnostic
from penstock.sources.formats.choice import csv_shape
from penstock.sources.formats.rows import readable
from penstock.sources.http.address import headers_of, shown_address
from penstock.sources.http.declared import (
    EVERY,
    FORMAT,
    TIMEOUT,
    URL,
)
from penstock.sources.http.growing import Growing, Value, from_kept, growing_column, kept
from penstock.sources.http.questions import Answered, Questions
from penstock.sources.looks import LookedSource, Looks
from penstock.sources.messages.api import Message
from penstock.sources.messages.rows import MessageRows
from penstock.sources.secrets import expanded, secret_values
from penstock.steps.rows.batch import Batch, bad_value, reject_row
from penstock.steps.rows.rejected import BAD_FILE, Rejections, row_json

_SHOWN = 500
_TOLD = 100_000


@dataclass
class AskedSource(LookedSource[Answered]):
    """The rows of one table; `at` is the last value that a step has, `known` the document that the last one had."""

    table: Table
    rows: MessageRows
    questions: Questions
    growing: Growing | None = None
    secrets: frozenset[str] = frozenset()
    now: Callable[[], float] = time.monotonic
    at: Value | None = None
    told: set[bytes] = field(default_factory=set)
    known: str = ""
    mark: str | None = None
    _read: Answered | None = None
    _again: tuple[Value | None, Value] | None = None
    _asked: int = 0

    def __post_init__(self) -> None:
        """The looks, as the table says."""
        now = lambda: self.now()  # noqa: E731, PLW0108 - a test puts another clock in
        self._looks = Looks.of(self.table, lambda: self.where, EVERY, TIMEOUT, self.secrets, now)

    @property
    def where(self) -> str:
        """The address as people name it, without who asks, and as it is written."""
        return shown_address(URL.value(self.table))

    def read(self, rows: int, rejections: Rejections, *, ended: bool = False) -> Batch | None:  # noqa: ARG002
        """The rows of the next answer, or those that `seek` has named; None if there are none, or it is not time."""
        at_once = ended and (self.growing is not None or not self._asked)  # a document may differ each time
        found = self._looks.found(self._question(), ended=at_once)
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

    def _question(self) -> Callable[[], Answered | None]:
        """The next question, with all that it needs."""
        if self.growing is None:
            return partial(self.questions.document, self.known, self.mark)
        if self._again is not None:
            return partial(self.questions.between, self.growing, *self._again)
        return partial(self.questions.page, self.growing, self.at, None)

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

    def taken(self) -> dict[str, Any]:
        """The values read from and to, or the document."""
        if self._read is None:
            return {}
        start = self.at if self._again is None else self._again[0]
        if self.growing is None:
            ends = {"document": self.known}, {"document": self._read.digest, "mark": self._read.mark}
        else:
            ends = kept(start), kept(self._read.end)
        item = {"address": URL.value(self.table), "from": ends[0], "to": ends[1]}
        return {"connector": "http", "read": [item]}

    def seek(self, taken: Mapping[str, Any]) -> None:
        """Ask next for what a manifest names; DataError for a document, which may be another by now."""
        item = taken["read"][0]
        end = from_kept(item["to"])
        if end is None:
            message = f"table {self.table.name}: {self.where} cannot be asked for a document as it was"
            raise DataError(Diagnostic("CANNOT_READ_AGAIN", message))
        self._again = from_kept(item["from"]), end

    def skip(self, taken: Mapping[str, Any]) -> None:
        """Go on behind what a manifest names."""
        end = taken["read"][-1]["to"]
        self.at, self.known, self.mark = from_kept(end), end.get("document", ""), end.get("mark")

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


def opened(table: Table, rows: MessageRows, zone: tzinfo) -> AskedSource:
    """The source of a table; its address is asked when it is first read. DataError for a secret that is not there."""
    what = f"table {table.name}"
    headers = headers_of(table.properties, what)
    records = csv_shape(table).cutting if FORMAT.value(table) == "csv" else None
    url = URL.value(table)
    expanded(url, f"{what}: '{URL.name}'")  # a secret that is not there is told before the start
    secrets = frozenset(secret_values(table.properties.values()))
    return AskedSource(table, rows, Questions(table, url, headers, records), growing_column(table, zone), secrets)
