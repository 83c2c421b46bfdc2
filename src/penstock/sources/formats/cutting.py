r"""Where CSV records end, and what their fields hold.

A field is quoted if it begins with the quote; a quote within an unquoted field is a character like any other, and so is
the escape there. Within a quoted field the escape takes what it stands before as it is: `\"` is a quote and `\\` the
escape, as Spark writes them; before anything else it stands for itself. `""` is a quote, too. Behind the closing quote
only blanks may stand. With the quote itself as the escape, or without one, this is RFC 4180.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from penstock.sources.formats.records import end_of_lines


class BadRecordError(ValueError):
    """A record that is none; the message says why."""


@dataclass(frozen=True)
class Cutting:
    """The records of a table's files: their delimiter, their quote and their escape ('' if there is none)."""

    delimiter: str
    quote: str
    escape: str = ""

    def end(self, text: bytes, rows: int) -> int:
        """The end of the last whole record, or of the record number `rows`; 0 if there is none."""
        if not self.quote or self.quote.encode() not in text:
            return end_of_lines(text, rows)
        records = re.compile(rb"(?:%b){0,%d}+" % (self._record, rows)).match(text)
        return records.end() if records else 0

    def records(self, text: bytes) -> Iterator[bytes]:
        """The records one by one, with their line ends; one that is not closed reaches to the end."""
        at = 0
        while at < len(text):
            record = self._one.match(text, at)
            end = record.end() if record else len(text)
            yield text[at:end]
            at = end

    def is_closed(self, record: bytes) -> bool:
        """True if no quote is open at the end of a last record without a line end."""
        return not self.quote or self._one.match(record + b"\n") is not None

    def by_rfc4180(self, text: bytes) -> bytes | None:
        """The same records without the escape; None where one must be read by `fields`."""
        if not self.quote or self.quote.encode() not in text:
            return text
        if self._sound.fullmatch(text) is None:
            return None
        if not self._escapes or self.escape.encode() not in text:
            return text
        return self._quoted_fields.sub(self._without_escapes, text)

    def has_empty_texts(self, text: bytes) -> bool:
        """True if a field is two quotes, or may be, which Python's reader does not tell from no field."""
        return bool(self.quote) and self._empty_text.search(text) is not None

    def fields(self, record: str) -> list[str | None]:
        """The fields of one record: None for an empty one without quotes, [] for an empty line. BadRecordError."""
        line = record.rstrip("\r\n") if not self.quote or self.quote not in record else record
        if not line.strip("\r\n"):
            return []
        found: list[str | None] = []
        at = 0
        while True:
            field = self._field_of_text.match(line, at)
            if field is None:
                message = "a quote is opened and never closed"
                raise BadRecordError(message)
            found.append(self._value(field))
            at = field.end()
            if not line.startswith(self.delimiter, at):
                return found
            at += 1

    def _value(self, field: re.Match[str]) -> str | None:
        if field["quoted"] is None:
            return field["plain"] or None
        if field["behind"].strip(self._blanks):
            message = f"text stands behind a closing quote: {field['behind'][:60]!r}"
            raise BadRecordError(message)
        return self._escaped.sub(self._unescaped, field["quoted"])

    def _unescaped(self, pair: re.Match[str]) -> str:
        first, second = pair[0][0], pair[0][1]
        return second if first == self.quote or second in (self.quote, self.escape) else pair[0]

    def _without_escapes(self, field: re.Match[bytes]) -> bytes:
        text = field[0]
        if self.escape.encode() not in text:
            return text
        quote = self.quote.encode()
        inner = self._escaped.sub(self._unescaped, text[1:-1].decode("utf-8", "surrogateescape"))
        return quote + inner.encode("utf-8", "surrogateescape").replace(quote, quote * 2) + quote

    @property
    def _escapes(self) -> bool:
        return self.escape not in ("", self.quote, self.delimiter)

    @property
    def _blanks(self) -> str:
        return " \t".replace(self.delimiter, "")

    @property
    def _inner(self) -> str:
        """The inner text of a quoted field."""
        quote, escape = re.escape(self.quote), re.escape(self.escape)
        if not self._escapes:
            return rf"(?:[^{quote}]++|{quote}{quote})*+"
        return rf"(?:[^{quote}{escape}]++|{escape}.|{quote}{quote})*+"

    @cached_property
    def _record(self) -> bytes:
        """A record, whatever stands behind a closing quote."""
        field, delimiter = self._any_field, re.escape(self.delimiter)
        return rf"{field}(?:{delimiter}{field})*+(?:\r\n|\n|\r)".encode()

    @property
    def _rest(self) -> str:
        return rf"[^{re.escape(self.delimiter)}\r\n]*+"

    @property
    def _any_field(self) -> str:
        """A field that begins with a quote, one that does not, or none at all."""
        quote, delimiter = re.escape(self.quote), re.escape(self.delimiter)
        if not self.quote:
            return self._rest
        return rf"(?:{quote}{self._inner}{quote}{self._rest}|[^{quote}{delimiter}\r\n]{self._rest}|)"

    @cached_property
    def _one(self) -> re.Pattern[bytes]:
        return re.compile(self._record, re.DOTALL)

    @cached_property
    def _sound(self) -> re.Pattern[bytes]:
        """Whole records, in which nothing stands behind a closing quote."""
        quote, delimiter = re.escape(self.quote), re.escape(self.delimiter)
        field = rf"(?:{quote}{self._inner}{quote}|[^{quote}{delimiter}\r\n]{self._rest}|)"
        return re.compile(rf"(?:{field}(?:{delimiter}{field})*+(?:\r\n|\n|\r))*+".encode(), re.DOTALL)

    @cached_property
    def _quoted_fields(self) -> re.Pattern[bytes]:
        """The quoted fields of sound records; between them no quote stands where a field begins."""
        quote, delimiter = re.escape(self.quote), re.escape(self.delimiter)
        return re.compile(rf"(?:(?<=[{delimiter}\r\n])|\A){quote}{self._inner}{quote}".encode(), re.DOTALL)

    @cached_property
    def _empty_text(self) -> re.Pattern[bytes]:
        quote, delimiter = re.escape(self.quote), re.escape(self.delimiter)
        return re.compile(rf"(?:\A|[{delimiter}\r\n]){quote}{quote}[{self._blanks}]*(?:[{delimiter}\r\n]|\Z)".encode())

    @cached_property
    def _field_of_text(self) -> re.Pattern[str]:
        quote = re.escape(self.quote)
        if not self.quote:
            return re.compile(rf"(?P<quoted>(?!))?(?P<behind>)(?P<plain>{self._rest})")
        quoted = rf"{quote}(?P<quoted>{self._inner}){quote}(?P<behind>{self._rest})"
        return re.compile(rf"{quoted}|(?!{quote})(?P<plain>{self._rest})", re.DOTALL)

    @cached_property
    def _escaped(self) -> re.Pattern[str]:
        """A pair of characters within a quoted field of which both, or one, are meant."""
        quote, escape = re.escape(self.quote), re.escape(self.escape)
        return re.compile(rf"{escape}.|{quote}{quote}" if self._escapes else rf"{quote}{quote}", re.DOTALL)
