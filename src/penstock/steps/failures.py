"""Exceptions of the engines as Penstock's errors: the expression that failed, the view it stands in, and its place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from penstock.backends.reported import Library, Reported, ViewRefusedError, clipped
from penstock.catalog.model import Catalog
from penstock.circuit.raised import SUM_TOO_LONG, SUM_TOO_WIDE
from penstock.engine.reported import report_of, without_version
from penstock.errors import DataError, Diagnostic, InternalError, PenstockError, SqlError
from penstock.plan.scalar import Scalar, quoted
from penstock.steps.failing_expression import NOWHERE, At, Origin, bare, origin_of, origin_of_sum
from penstock.steps.interrupts import interrupt_behind

EVALUATION_ERROR = "EVALUATION_ERROR"
_SUMS = {SUM_TOO_LONG: "bigint", SUM_TOO_WIDE: "decimal"}  # what the sums of one type say, and how that type begins
# What DuckDB, Arrow and Spark say of what is nested more deeply than they can take.
_TOO_DEEP = ("Max expression depth limit", "Recursion level in Arrow", "java.lang.StackOverflowError")
_BY_USER = "P0001"  # what raise_error() raises, whose message says all


@dataclass(frozen=True, slots=True)
class Blamed:
    """The view, standing query or statement at fault: its `name`, the words for it, and the text of its places."""

    name: str | None = None
    words: str = ""
    source: str | None = None

    @classmethod
    def of(cls, origin: Origin, catalog: Catalog) -> Blamed:
        """The one whose text has an origin; a hidden view works for the view or the statement that it came with."""
        view = origin.view
        if view is None:
            return cls()
        writer = catalog.writers.get((view.owner or "").lower()) if view.writes is not None else None
        owner = writer.owner if writer is not None else view.owner
        shown = view if view.is_named else catalog.views.get((owner or "").lower())
        if shown is not None:
            return cls(shown.name, f"view {shown.name}", view.source)
        if view.writes is not None:
            return cls(view.name, f"the statement that writes into {view.writes.target}", view.source)
        return cls(view.name, "the standing query", view.source)

    @property
    def prefix(self) -> str:
        """The beginning of a message."""
        return f"{self.words}: " if self.words else ""


class EvaluationError(DataError):
    """An expression of a view has raised for the rows of a step; the step has left no trace.

    `fragment` is the expression as Spark was given it, None where Spark does not tell.
    """

    def __init__(self, diagnostic: Diagnostic, blamed: Blamed, fragment: str | None = None) -> None:
        super().__init__(diagnostic, blamed.source)
        self.blamed = blamed
        self.fragment = fragment

    @property
    def view(self) -> str | None:
        """The name of the view at fault."""
        return self.blamed.name

    def stands_in(self, scalar: Scalar) -> bool:
        """True if the expression that raised is a part of another."""
        return self.fragment is not None and bare(self.fragment) in bare(scalar.text)

    def columns_in(self, scalar: Scalar) -> frozenset[str] | None:
        """The columns that the expression that raised reads, if it is a part of another."""
        if self.fragment is None or not self.stands_in(scalar):
            return None
        return frozenset(name for name in scalar.columns if quoted(name) in self.fragment) or scalar.columns

    def in_general(self) -> EvaluationError:
        """The same without what is said of one row's values."""
        message = f"{self.blamed.prefix}cannot be evaluated{clipped(f' in {self.fragment}')}"
        return EvaluationError(replace(self.diagnostics[0], message=message), self.blamed, self.fragment)


def translated(error: BaseException, catalog: Catalog, at: At = None) -> BaseException:
    """The error to raise for one that came out of Spark or DuckDB; anything else comes back as it is.

    What is raised on the way out of an interrupted call, such as "job cancelled", is that interrupt. `at` is the
    operator that was at work, the view that was read, or the plan of the query that was asked, where that is known.
    """
    if isinstance(error, PenstockError) or not isinstance(error, Exception):
        return error
    if isinstance(error, ViewRefusedError) and error.__cause__ is not None:
        return translated(error.__cause__, catalog, catalog.views.get(error.view, at))
    interrupt = interrupt_behind(error)
    if interrupt is not None:
        return interrupt
    if isinstance(error, RecursionError) or any(sign in str(error) for sign in _TOO_DEEP):
        return _nested_too_deeply(catalog, at)
    found = report_of(error)
    if found is None:
        return error
    if isinstance(found, PenstockError):
        return found
    if found.what == "failed":
        return _failed(found, catalog, at)
    return _refused(found, catalog, at) if found.what == "refused" else _raised(found, catalog, at)


def failure_code(library: Library) -> str:
    """The code for what a library raises and nobody foresaw."""
    match library:
        case "DuckDB":
            return "DUCKDB_FAILED"
        case "Arrow":
            return "ARROW_FAILED"
        case "the parser":
            return "PARSER_FAILED"
        case "Spark":
            return "SPARK_FAILED"
        case _:
            assert_never(library)


def _nested_too_deeply(catalog: Catalog, at: At) -> PenstockError:
    """The error for an expression, or views over views, beyond the room on the call stack."""
    origin = origin_of(None, catalog, at) if at is not None else NOWHERE
    message = f"{Blamed.of(origin, catalog).prefix}this is nested too deeply"
    hint = "name the parts with WITH … AS (…), or as views"
    return _sourced(SqlError(Diagnostic("NESTED_TOO_DEEPLY", message, origin.span, hint=hint)), origin)


def _failed(error: Reported, catalog: Catalog, at: At) -> PenstockError:
    """The error for a backend that has failed by itself; with the view for which it was at work."""
    origin = origin_of(error.fragment, catalog, at)
    diagnostic = Diagnostic(
        failure_code(error.library), f"{Blamed.of(origin, catalog).prefix}{error.message}", origin.span
    )
    return _sourced(InternalError(diagnostic), origin)


def _refused(error: Reported, catalog: Catalog, at: At) -> PenstockError:
    """The error for a query that Spark refuses when it reads it: types that do not fit, mostly."""
    origin = origin_of(error.fragment, catalog, at)
    message = f"{Blamed.of(origin, catalog).prefix}{error.message or error.fragment or 'Spark refuses this'}"
    return _sourced(SqlError(Diagnostic(error.condition, message, origin.span, sqlstate=error.sqlstate)), origin)


def _raised(error: Reported, catalog: Catalog, at: At) -> EvaluationError:
    """The error of an expression that has raised, with its view and its place."""
    message, fragment = error.message, None if error.fragment is None else without_version(error.fragment)
    if not fragment and error.sqlstate == _BY_USER:
        fragment = f"raise_error('{message}')"
    origin = NOWHERE
    if message in _SUMS and (not fragment or fragment.startswith("sum(")):
        origin = origin_of(fragment, catalog, at) if fragment else NOWHERE
        if origin.scalar is None:
            origin = origin_of_sum(_SUMS[message], catalog, at)
            fragment = fragment if origin.scalar is None else origin.scalar.text
    if not origin.known:
        origin = origin_of(fragment, catalog, at)
    what = "" if error.sqlstate == _BY_USER or not fragment else f" in {_shown(origin, fragment)}"
    diagnostic = Diagnostic(
        EVALUATION_ERROR,
        f"{Blamed.of(origin, catalog).prefix}{message}{clipped(what)}",
        origin.span,
        sqlstate=error.sqlstate,
    )
    if error.sqlstate == _BY_USER and origin.scalar is None:
        fragment = None
    return EvaluationError(diagnostic, Blamed.of(origin, catalog), fragment)


def _shown(origin: Origin, fragment: str) -> str:
    """The expression in words of the program: as it is written where its plan has columns that no text has."""
    text = fragment if origin.scalar is None else origin.scalar.text
    source = None if origin.view is None else origin.view.source
    if "`__" in text and source and origin.span is not None:
        return " ".join(source[origin.span.start : origin.span.end].split())
    return text


def _sourced(error: PenstockError, origin: Origin) -> PenstockError:
    error.source = None if origin.view is None else origin.view.source
    return error
