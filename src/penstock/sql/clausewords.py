"""The words of a clause that the grammar leaves unread, and the lengths of time in it.

Words count in any case, units of time do not: `1m` is a minute, `1M` a month.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from typing import NoReturn

from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import Diagnostic, Span, SqlError
from penstock.sql.dialects import rules_of
from penstock.sql.lexer import tokenize

_CODE = "EMIT_LENGTH"
UNITS = ("us", "ms", "s", "m", "h", "d")
_MICROS = {"us": 1, "ms": 1000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}
_CALENDAR = {"w": "weeks", "M": "months", "q": "quarters", "y": "years"}
_LONG = {
    "NANOSECOND": "ns",
    "MICROSECOND": "us",
    "MILLISECOND": "ms",
    "SECOND": "s",
    "MINUTE": "m",
    "HOUR": "h",
    "DAY": "d",
    "WEEK": "w",
    "MONTH": "M",
    "QUARTER": "q",
    "YEAR": "y",
}
_SHORT = frozenset(_LONG.values())
_MOST = timedelta(days=365_000)  # a clock so far from now is still a time
_LENGTH = re.compile(r"([+-]?)\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([A-Za-z]*)")
_BARE = re.compile(r"[^\W\d]\w*")
_DIGITS = 18  # more than any length of time has
_SHOWN = 40
_TEXTS = (TokenType.STRING, TokenType.RAW_STRING)


@dataclass(frozen=True, slots=True)
class ClauseWord:
    """One word, sign or quoted text, as written; `value` is what quotes enclose."""

    written: str
    start: int
    value: str | None = None

    @property
    def word(self) -> str:
        """The upper-case word; empty for what is quoted."""
        return self.written.upper() if self.value is None else ""

    @property
    def column(self) -> str | None:
        """The name of a column that this can be; a text in double quotes is one, as in most dialects."""
        if self.value is not None:
            return self.value if self.written[:1] in {"`", '"'} else None
        return self.written if _BARE.fullmatch(self.written) else None


class ClauseWords:
    """Walks over a clause's words; `span` is the clause's place in the program."""

    def __init__(self, text: str, span: Span | None = None) -> None:
        self.text = text
        self.span = span or Span(0, len(text))
        self._source = text if span is None else None
        self.words = self._read()
        self.place = 0

    def _read(self) -> list[ClauseWord]:
        try:
            tokens = tokenize(self.text, rules_of("penstock"))
        except SqlError as error:
            raise self._moved(error) from None
        # The lexer makes three tokens of `5s`, all at its place.
        return [self._word(list(group)) for _, group in groupby(tokens, key=lambda token: token.start)]

    def _word(self, tokens: list[Token]) -> ClauseWord:
        first, last = tokens[0], tokens[-1]
        written = self.text[first.start : last.end + 1]
        enclosed = len(tokens) == 1 and (first.token_type in _TEXTS or written[:1] == "`")
        return ClauseWord(written, first.start, str(first.text) if enclosed else None)

    def _moved(self, error: SqlError) -> SqlError:
        """The error at its place in the program."""
        found = [replace(item, span=self._in_program(item.span)) for item in error.diagnostics]
        return SqlError(found, self._source)

    def _in_program(self, span: Span | None) -> Span:
        if span is None:
            return self.span
        return Span(self.span.start + span.start, self.span.start + span.end)

    @property
    def next(self) -> ClauseWord | None:
        """The present word; None at the end."""
        return self.words[self.place] if self.place < len(self.words) else None

    def peek(self, ahead: int = 0) -> str:
        """The upper-case word some words ahead; empty for what is quoted and at the end."""
        index = self.place + ahead
        return self.words[index].word if index < len(self.words) else ""

    def accept(self, *words: str) -> bool:
        """True if these words come next; steps over them if so."""
        if any(self.peek(ahead) != expected for ahead, expected in enumerate(words)):
            return False
        self.place += len(words)
        return True

    @property
    def found(self) -> str:
        """The present word in a message."""
        return "the clause ends here" if self.next is None else f"found {_short(self.next.written)}"

    def since(self, place: int) -> Span:
        """The span, in the program, from a word to the one before the present."""
        return self._between(place, self.place)

    def ahead(self, count: int) -> Span:
        """The span, in the program, of so many words from the present on."""
        return self._between(self.place, self.place + count)

    def _between(self, place: int, end: int) -> Span:
        words = self.words[place:end]
        if not words:
            return Span(max(self.span.start, self.span.end - 1), self.span.end)
        return self._in_program(Span(words[0].start, words[-1].start + len(words[-1].written)))

    def written(self, span: Span) -> str:
        """The text of a span, on one line."""
        start = self.span.start
        return _short(" ".join(self.text[span.start - start : span.end - start].split()))

    def error(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        *,
        candidates: tuple[str, ...] = (),
        hint: str | None = None,
    ) -> SqlError:
        """The error at a place; the present word unless said."""
        return SqlError(Diagnostic(code, message, span or self.ahead(1), candidates, hint), self._source)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def read_length(words: ClauseWords, clause: str, units: tuple[str, ...] = UNITS) -> timedelta:
    """The length of time that a clause is given: `5s`, `5 s`, `INTERVAL 5 SECOND`, `INTERVAL '5' SECONDS`."""
    began = words.place
    found = _LENGTH.fullmatch(_gathered(words))
    if found is None:
        words.place = began
        message = f"{clause} is followed by a length of time, {words.found}"
        raise words.error(_CODE, message, hint=f"write {clause} 5s, or {clause} INTERVAL 5 SECOND")
    return _Length(words, clause, units, words.since(began)).of(*found.groups())


def _gathered(words: ClauseWords) -> str:
    """Sign, number and unit, which are one word, or several, or partly in quotes; steps over them."""
    words.accept("INTERVAL")
    sign = words.peek() if words.peek() in {"-", "+"} else ""
    words.place += len(sign)
    if words.next is None:
        return sign
    amount = words.next.written if words.next.value is None else words.next.value.strip()
    words.place += 1
    if amount[-1:].isdigit() and words.next is not None and _unit(words.next.written):
        amount += words.next.written
        words.place += 1
    return sign + amount


def _unit(written: str) -> str:
    """The short name of a unit of time; empty for what is none."""
    return written if written in _SHORT else _LONG.get(written.upper().removesuffix("S"), "")


@dataclass(frozen=True, slots=True)
class _Length:
    """Judges a length of time that a clause is given at a place."""

    words: ClauseWords
    clause: str
    units: tuple[str, ...]
    span: Span

    def of(self, sign: str, amount: str, written: str) -> timedelta:
        """The length of time; raises SqlError if the clause cannot have it."""
        unit = _unit(written)
        if unit in _CALENDAR:
            self._refuse(f"no {_CALENDAR[unit]}", self._instead(unit))
        if unit not in self.units and not (unit == "ns" and "us" in self.units):
            takes = f"a length of time in {', '.join(self.units[:-1])} or {self.units[-1]}"
            self._refuse(takes, f"as in {self.clause} 5s; units are case sensitive: m is a minute, M a month")
        if not amount.isdigit():
            self._refuse("a whole number", "write 1500ms for one and a half seconds")
        if sign == "-" or not amount.strip("0"):
            self._refuse("a length of time above zero", f"as in {self.clause} 5s")
        return self._measured(amount.lstrip("0"), unit)

    def _measured(self, amount: str, unit: str) -> timedelta:
        nanos = int(amount[:_DIGITS]) * (1 if unit == "ns" else 1000 * _MICROS[unit])
        if nanos % 1000:
            self._refuse("whole microseconds", "times are kept in microseconds")
        if len(amount) > _DIGITS or nanos // 1000 > _MOST // timedelta(microseconds=1):
            self._refuse(f"a length of time up to {_MOST.days}d", "leave it out for one without end")
        return timedelta(microseconds=nanos // 1000)

    def _instead(self, unit: str) -> str:
        if unit == "w":
            return "write days, such as 7d"
        return "months and years have no fixed length: write days, such as 30d; 1m is a minute, 1M a month"

    def _refuse(self, takes: str, hint: str | None = None) -> NoReturn:
        message = f"{self.clause} takes {takes}, found {self.words.written(self.span)}"
        raise self.words.error(_CODE, message, self.span, hint=hint)
