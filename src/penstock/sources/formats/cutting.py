r"""Where CSV records end, by RFC 4180: at a line end that stands in no quoted field.

A field is quoted if it begins with the quote; what follows the closing quote, up to the delimiter, is taken as it is,
and a quote within an unquoted field is a character like any other. So Python's reader has it, which makes the fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from penstock.sources.formats.records import end_of_lines


@dataclass(frozen=True)
class Cutting:
    """The records of a table's files: their delimiter, and their quote ('' if there is none)."""

    delimiter: str
    quote: str

    def end(self, text: bytes, rows: int) -> int:
        """The end of the last whole record, or of the record number `rows`; 0 if there is none."""
        if not self.quote or self.quote.encode() not in text:
            return end_of_lines(text, rows)
        found = re.compile(rb"(?:%b){0,%d}+" % (self._record, rows)).match(text)
        return found.end() if found else 0

    def records(self, text: bytes) -> Iterator[bytes]:
        """The records one by one, with their line ends; one that is not closed reaches to the end."""
        at = 0
        while at < len(text):
            found = self._one.match(text, at)
            end = found.end() if found else len(text)
            yield text[at:end]
            at = end

    def is_closed(self, record: bytes) -> bool:
        """True if no quote is open at the end of a last record without a line end."""
        return not self.quote or self._one.match(record + b"\n") is not None

    @cached_property
    def _record(self) -> bytes:
        field, delimiter = self._field, re.escape(self.delimiter.encode())
        return rb"%b(?:%b%b)*+(?:\r\n|\n|\r)" % (field, delimiter, field)

    @cached_property
    def _field(self) -> bytes:
        """A field that begins with a quote, one that does not, or none at all."""
        delimiter, quote = re.escape(self.delimiter.encode()), re.escape(self.quote.encode())
        rest = rb"[^%b\r\n]*+" % delimiter
        if not self.quote:
            return rest
        quoted = rb"%b(?:[^%b]++|%b%b)*+%b%b" % (quote, quote, quote, quote, quote, rest)
        return rb"(?:%b|[^%b%b\r\n]%b|)" % (quoted, quote, delimiter, rest)

    @cached_property
    def _one(self) -> re.Pattern[bytes]:
        return re.compile(self._record)
