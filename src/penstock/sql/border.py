"""The border at the parser's library, and at mistakes of ours, where SQL is compiled: nothing passes it as it is.

What a library raises has neither a code of Penstock's nor a place in the program; behind the border it has both.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from sqlglot import exp

from penstock.errors import Diagnostic, InternalError, PenstockError, Span, SqlError, first_line
from penstock.sql.text import span_of

_PARSER = "sqlglot"


@contextmanager
def compiling(place: Span | exp.Expression | None, source: str | None = None) -> Iterator[None]:
    """A block that compiles what stands at a place; raises PenstockError alone."""
    try:
        yield
    except PenstockError:
        raise
    except RecursionError as error:
        message = "this statement is nested too deeply"
        raise SqlError(Diagnostic("NESTED_TOO_DEEPLY", message, _span(place)), source) from error
    except Exception as error:
        raise InternalError(_diagnostic(error, _span(place)), source) from error


def _span(place: Span | exp.Expression | None) -> Span | None:
    return span_of(place) if isinstance(place, exp.Expression) else place


def _diagnostic(error: Exception, span: Span | None) -> Diagnostic:
    raised = traceback.extract_tb(error.__traceback__)
    inside = f"/{_PARSER}/" in raised[-1].filename.replace("\\", "/") if raised else False
    own = type(error).__module__.partition(".")[0] == _PARSER
    message = f"this statement cannot be compiled: {type(error).__name__}: {first_line(error)}"
    return Diagnostic("PARSER_FAILED" if own or inside else "INTERNAL", message, span, hint=_HINT)


_HINT = "it is a fault in Penstock; please report the statement. Another way to write it may work"
