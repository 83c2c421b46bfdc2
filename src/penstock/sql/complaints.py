"""Errors about a parsed tree, with its place in the program."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.errors import Diagnostic, Span, SqlError, UnsupportedError
from penstock.sql.text import span_of


def wrong(
    code: str,
    message: str,
    place: exp.Expression | Span | None = None,
    *,
    candidates: Sequence[str] = (),
    hint: str | None = None,
    sqlstate: str | None = None,
) -> SqlError:
    """The error for SQL that is wrong."""
    return SqlError(Diagnostic(code, message, _span(place), tuple(candidates), hint, sqlstate))


def unsupported(
    code: str, message: str, place: exp.Expression | Span | None = None, *, hint: str | None = None
) -> UnsupportedError:
    """The error for SQL that is right and that Penstock cannot run."""
    text = message if "cannot" in message else f"not supported: {message}"
    return UnsupportedError(Diagnostic(code, text, _span(place), hint=hint))


def _span(place: exp.Expression | Span | None) -> Span | None:
    return span_of(place) if isinstance(place, exp.Expression) else place
