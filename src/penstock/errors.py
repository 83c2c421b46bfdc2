"""Diagnostics as values, and the exceptions that carry them.

    PenstockError                 every error that Penstock raises on purpose
    ├── SqlError                  your SQL: wrong name, wrong type, wrong syntax
    ├── UnsupportedError          your SQL is right, Penstock cannot do it; the hint names the alternative
    ├── DataError                 a row or a step that does not fit; the step left no trace
    └── InternalError             our bug; please report it

A renderer (text, JSON, the console) shows the `Diagnostic`s; nothing else decides how an error looks.
"""

from __future__ import annotations

import copyreg
import difflib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from penstock.passwords import concealed
from penstock.source_text import Location, location_of, part_at


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of character offsets in the source text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: what was found where, and what would work.

    `code` is stable and documented in docs/reference/errors.md; `sqlstate` is Spark's where there is one, and `row` the
    row for which an expression has raised. What is said
    has no passwords, wherever it comes from.
    """

    code: str
    message: str
    span: Span | None = None
    candidates: tuple[str, ...] = ()
    hint: str | None = None
    sqlstate: str | None = None
    severity: str = "error"
    row: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", concealed(self.message))
        if self.hint is not None:
            object.__setattr__(self, "hint", concealed(self.hint))

    def to_json(self, source: str | None = None) -> dict[str, Any]:
        """The diagnostic as JSON-ready values; with `source`, its file, line and column (from 1) are added.

        `end_line` and `end_column` are those of the character behind the last one.
        """
        values = {key: value for key, value in asdict(self).items() if value not in (None, ())}
        if source is not None and self.span is not None:
            values |= location_of(source, self.span.start).to_json()
            end = location_of(source, max(self.span.start, self.span.end - 1))
            values |= {"end_line": end.line, "end_column": end.column + (self.span.end > self.span.start)}
        return values


class PenstockError(Exception):
    """An error with at least one diagnostic; `source` is the text that the spans point into."""

    def __init__(self, diagnostics: Diagnostic | Iterable[Diagnostic], source: str | None = None) -> None:
        found = (diagnostics,) if isinstance(diagnostics, Diagnostic) else tuple(diagnostics)
        self.diagnostics: tuple[Diagnostic, ...] = found
        self.source = source
        super().__init__(self.summary)

    def __str__(self) -> str:
        """All that a person needs: code, message, place, the line with a caret, what would work."""
        return self.render()

    def __reduce__(self) -> tuple[Any, ...]:
        """The same error in another process, whatever its class is made from."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]

    @property
    def summary(self) -> str:
        """The messages alone, on one line: for a sentence of another message, or a log."""
        return "; ".join(diagnostic.message for diagnostic in self.diagnostics)

    @property
    def code(self) -> str:
        """The code of the first diagnostic."""
        return self.diagnostics[0].code

    @property
    def location(self) -> Location | None:
        """File, line and column of the first diagnostic; None where it has no place."""
        span = self.diagnostics[0].span
        return None if span is None or self.source is None else location_of(self.source, span.start)

    def to_json(self) -> list[dict[str, Any]]:
        """The diagnostics as JSON-ready values, each with its file, line and column."""
        return [item.to_json(self.source) for item in self.diagnostics]

    def with_source(self, source: str) -> PenstockError:
        """The error with the source text filled in, if it had none."""
        if not self.source:
            self.source = source
        return self

    def with_place(self, span: Span | None) -> PenstockError:
        """The error with a place for what it says without one."""
        self.diagnostics = tuple(item if item.span else replace(item, span=span) for item in self.diagnostics)
        return self

    def render(self) -> str:
        """The text that a person reads."""
        return "\n\n".join(render(diagnostic, self.source) for diagnostic in self.diagnostics)


class SqlError(PenstockError):
    """The SQL is wrong."""


class UnsupportedError(PenstockError):
    """The SQL is right, but Penstock cannot run it."""


class DataError(PenstockError):
    """A row, or a step, does not fit the tables; nothing has changed."""


class InternalError(PenstockError):
    """Penstock's own mistake."""


_LONGEST_LINE = 300


def first_line(error: BaseException) -> str:
    """The first line of what an error says, or else its name."""
    return (message_of(error) or type(error).__name__).splitlines()[0][:_LONGEST_LINE]


def message_of(error: BaseException) -> str:
    """The message of an error, without the place of one of Penstock's."""
    return error.summary if isinstance(error, PenstockError) else str(error)


def did_you_mean(name: str, known: Sequence[str], limit: int = 3, *, cutoff: float = 0.6) -> tuple[str, ...]:
    """The known names that are close to a misspelt one, best first; `cutoff` (to 1) is how close.

    Those of the same letters come first: letters are often typed in the wrong order.
    """
    by_lower, typed = {candidate.lower(): candidate for candidate in known}, name.lower()[:200]
    close = difflib.get_close_matches(typed, list(by_lower), n=limit + _MORE, cutoff=cutoff)
    close.sort(key=lambda match: sorted(match) != sorted(typed))
    return tuple(by_lower[match] for match in close[:limit])


_MORE = 5
_LINE_WIDTH = 160


def render(diagnostic: Diagnostic, source: str | None) -> str:
    """A diagnostic as text: headline, the line with a caret under the place, candidates, hint."""
    state = f" (SQLSTATE {diagnostic.sqlstate})" if diagnostic.sqlstate else ""
    lines = [f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}{state}"]
    if diagnostic.span is not None and source is not None:
        lines += _excerpt(diagnostic.span, source)
    if diagnostic.row is not None:
        lines.append(f"  for the row {diagnostic.row}")
    if diagnostic.candidates:
        lines.append(f"  did you mean: {', '.join(diagnostic.candidates)}?")
    if diagnostic.hint:
        lines.append(f"  hint: {diagnostic.hint}")
    return "\n".join(lines)


def _excerpt(span: Span, source: str) -> list[str]:
    location = location_of(source, span.start)
    begin, end, _ = part_at(source, span.start)
    rows = source[begin:end].split("\n")
    column = location.column
    text = concealed(rows[location.line - 1].rstrip("\r").replace("\t", " ")) if location.line <= len(rows) else ""
    width = max(1, min(span.end - span.start, len(text) - column + 1))
    shift = max(0, column - _LINE_WIDTH // 2) if len(text) > _LINE_WIDTH else 0
    shown = text[shift : shift + _LINE_WIDTH]
    marker = " " * (column - 1 - shift) + "^" * min(width, _LINE_WIDTH - (column - 1 - shift))
    gutter = f"{location.line:>4} | "
    return [f"  at {location}", gutter + shown, " " * (len(gutter) - 2) + "| " + marker]
