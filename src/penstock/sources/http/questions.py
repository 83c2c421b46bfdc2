"""The questions that an address is asked: for the rows behind a value, or for a whole document.

They know nothing of the pipeline: whoever waits for an answer may be gone when it comes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.catalog.model import Table
from penstock.sources.formats.cutting import Cutting
from penstock.sources.http.address import ask
from penstock.sources.http.cut import BadBodyError, cut
from penstock.sources.http.declared import FORMAT, MOST_BYTES, START, URL, is_address, with_value
from penstock.sources.http.growing import Growing, Value
from penstock.sources.looks import RefusedError
from penstock.sources.secrets import expanded


@dataclass(frozen=True, slots=True)
class Answered:
    """Rows that an answer has, and where they end: at a value, or with the whole document of a digest and a mark.

    `unknown` ones have no value by which they would be known again; `broken` is why a document has no rows.
    """

    messages: Sequence[bytes]
    end: Value | None = None
    digest: str = ""
    mark: str | None = None
    unknown: Sequence[bytes] = ()
    broken: str = ""


@dataclass(frozen=True)
class Questions:
    """The address of one table; what it is asked raises AwayError or RefusedError."""

    table: Table
    url: str
    headers: Mapping[str, str]
    records: Cutting | None  # those of CSV

    def between(self, by: Growing, start: Value | None, end: Value) -> Answered:
        """The rows that a manifest names, of as many answers as it takes."""
        messages: list[bytes] = []
        unknown: list[bytes] = []
        at = start
        while at is None or at.order < end.order:
            page = self.page(by, at, end)
            if page is None or page.end is None:
                message = f"it has no rows any more up to {by.column.label} {end.text}, which a step has had"
                raise RefusedError(message)
            messages += page.messages
            unknown += page.unknown
            at = page.end
        return Answered(messages, end, unknown=unknown)

    def page(self, by: Growing, start: Value | None, end: Value | None) -> Answered | None:
        """The rows of one answer that are above `start`, and not above `end`."""
        text = START.value(self.table) if start is None else start.text
        answer = ask(self._expanded(with_value(self.url, text)), self.headers, self._most)
        if answer is None:
            return None
        try:
            messages = cut(answer.body, FORMAT.value(self.table), self.records)
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

    def document(self, known: str, mark: str | None) -> Answered | None:
        """The whole of an answer, unless it is that of the digest or mark that is known."""
        marked = {} if mark is None else {"If-None-Match": mark}
        answer = ask(self._expanded(self.url), {**self.headers, **marked}, self._most)
        if answer is None:
            return None
        digest = hashlib.sha256(answer.body).hexdigest()
        if digest == known:
            return None
        try:
            messages = cut(answer.body, FORMAT.value(self.table), self.records)
        except BadBodyError as error:
            return Answered([], None, digest, answer.mark, broken=str(error))
        return Answered(messages, None, digest, answer.mark)

    @property
    def _most(self) -> int:
        return int(MOST_BYTES.value(self.table))


def _above(by: Growing, messages: list[bytes], start: Value | None, end: Value | None) -> Answered | None:
    """The rows of an answer that are not there yet: an address may give those of the last value again."""
    values = [by.value(message) for message in messages]
    if messages and not any(values):
        message = f"no row of its answer has a value of {by.column.label}, by which it would be asked for more"
        raise RefusedError(message)
    unknown = [message for message, value in zip(messages, values, strict=True) if value is None]
    new = [(at, value) for at, value in enumerate(values) if value is not None and _is_within(value, start, end)]
    if not new:
        return Answered([], None, unknown=unknown) if unknown else None
    last = max((value for _, value in new), key=lambda item: item.order)
    return Answered([messages[at] for at, _ in new], last, unknown=unknown)


def _is_within(value: Value, start: Value | None, end: Value | None) -> bool:
    return (start is None or value.order > start.order) and (end is None or value.order <= end.order)
