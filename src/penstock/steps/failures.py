"""Spark's exceptions as Penstock's errors: the expression that failed, the view it stands in, and its place there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from penstock.backends.reported import Reported, clipped
from penstock.catalog.model import Catalog, View
from penstock.catalog.types import Type
from penstock.circuit.raised import SUM_TOO_LONG, SUM_TOO_WIDE
from penstock.engine.reported import report_of, without_version
from penstock.errors import DataError, Diagnostic, InternalError, PenstockError, SqlError
from penstock.plan.nodes import Aggregate, Plan, Recompute, Window
from penstock.plan.opaque import filled
from penstock.plan.scalar import Scalar, quoted
from penstock.steps.interrupts import interrupt_behind

EVALUATION_ERROR = "EVALUATION_ERROR"
_NARROW = ("tinyint", "smallint", "int")  # no table has the rows whose sum is too long
_SUMS = {SUM_TOO_LONG: "bigint", SUM_TOO_WIDE: "decimal"}  # what the sums of one type say, and how that type begins


class EvaluationError(DataError):
    """An expression of a view has raised for the rows of a step; the step has left no trace.

    `fragment` is the expression as Spark was given it, None where Spark does not tell.
    """

    def __init__(self, diagnostic: Diagnostic, view: View | None, fragment: str | None = None) -> None:
        super().__init__(diagnostic, None if view is None else view.source)
        self.view = None if view is None else view.name
        self.fragment = fragment

    def stands_in(self, scalar: Scalar) -> bool:
        """True if the expression that raised is a part of another."""
        return self.fragment is not None and _bare(self.fragment) in _bare(scalar.text)

    def columns_in(self, scalar: Scalar) -> frozenset[str] | None:
        """The columns that the expression that raised reads, if it is a part of another."""
        if self.fragment is None or not self.stands_in(scalar):
            return None
        return frozenset(name for name in scalar.columns if quoted(name) in self.fragment) or scalar.columns

    def in_general(self) -> EvaluationError:
        """The same without what is said of one row's values."""
        where = f"view {self.view}: " if self.view is not None else ""
        message = f"{where}cannot be evaluated{clipped(f' in {self.fragment}')}"
        found = EvaluationError(replace(self.diagnostics[0], message=message), None, self.fragment)
        found.view, found.source = self.view, self.source
        return found


def translated(error: BaseException, catalog: Catalog, at: Plan | None = None) -> BaseException:
    """The error to raise for one that came out of Spark or DuckDB; anything else comes back as it is.

    What is raised on the way out of an interrupted call, such as "job cancelled", is that interrupt. `at` is the plan
    of the operator that was at work, where that is known.
    """
    if isinstance(error, PenstockError) or not isinstance(error, Exception):
        return error
    interrupt = interrupt_behind(error)
    if interrupt is not None:
        return interrupt
    found = report_of(error)
    if found is None:
        return error
    if isinstance(found, PenstockError):
        return found
    if found.what == "failed":
        return InternalError(Diagnostic("SPARK_FAILED", found.message))
    refused = found.what == "refused"
    return _refused(found, catalog) if refused else _raised(found, catalog, at)


def _refused(error: Reported, catalog: Catalog) -> PenstockError:
    """The error for a query that Spark refuses when it reads it: types that do not fit, mostly."""
    view, scalar = _place(error.fragment, catalog) if error.fragment else (None, None)
    where = f"view {view.name}: " if view is not None else ""
    found = Diagnostic(
        error.condition,
        f"{where}{error.message or error.fragment or 'Spark refuses this'}",
        scalar.span if scalar is not None else None,
        sqlstate=error.sqlstate,
    )
    return SqlError(found, view.source if view is not None else None)


def _raised(found: Reported, catalog: Catalog, at: Plan | None) -> EvaluationError:
    """The error of an expression that has raised, with its view and its place."""
    message, fragment = found.message, None if found.fragment is None else without_version(found.fragment)
    view, scalar = _place(fragment, catalog) if fragment else (None, None)
    if scalar is None and message in _SUMS and (not fragment or fragment.startswith("sum(")):
        view, scalar = _only_sum(_SUMS[message], catalog, at)
        fragment = None if scalar is None else scalar.text
    where = f"view {view.name}: " if view is not None else ""
    what = f" in {scalar.text if scalar is not None else fragment}" if fragment else ""
    diagnostic = Diagnostic(
        EVALUATION_ERROR,
        f"{where}{message}{clipped(what)}",
        scalar.span if scalar is not None else None,
        sqlstate=found.sqlstate,
    )
    return EvaluationError(diagnostic, view, fragment)


def _bare(text: str) -> str:
    """An expression without what rewriting changes in it: qualified names, quotes, parentheses, spaces."""
    return _close(re.sub(r"`(?:[^`]*\.)?([^`]*)`", r"\1", text))


def _close(text: str) -> str:
    """An expression without parentheses and spaces."""
    return re.sub(r"[\s()]", "", text).lower()


def _only_sum(kind: Type, catalog: Catalog, at: Plan | None) -> tuple[View | None, Scalar | None]:
    """The one sum of a type that the operator has which raised, or else the views; Spark tells no place of a sum."""
    views = [view for view in catalog.views.values() if view.plan is not None]
    sums = [(view, call) for view in views for node in view.plan.walk() for call in _sums_of(node, kind)]
    own = {call.text for call in _sums_of(at, kind)} if at is not None else set[str]()
    here = [(view, call) for view, call in sums if call.text in own]
    if len(own) == 1 and here:
        return here[0]
    return sums[0] if len(sums) == 1 else (None, None)


def _sums_of(node: Plan, kind: Type) -> list[Scalar]:
    """The sums of a node that may have no room in a type."""
    made = [call for _, call in node.aggregates] if isinstance(node, Aggregate) else []
    calls = [call.call for call in made if call.arguments[:1] and call.arguments[0].type not in _NARROW]
    calls += [call for _, call in node.calls] if isinstance(node, Window) else []
    return [call for call in calls if (call.type or kind).startswith(kind) and call.text.startswith("sum(")]


def _place(fragment: str, catalog: Catalog) -> tuple[View | None, Scalar | None]:
    """The view whose plan has the expression that failed: under the very names, if there is one, else under any."""
    for read in (_close, _bare):
        found = _place_of(read(fragment), read, catalog)
        if found is not None:
            return found
    return None, None


def _place_of(fragment: str, read: Callable[[str], str], catalog: Catalog) -> tuple[View | None, Scalar | None] | None:
    """The view and the expression in it that has the fragment; one whose place in the SQL is known, if there is one."""
    unknown: tuple[View, Scalar] | None = None
    for view in catalog.views.values():
        for node in view.plan.walk() if view.plan is not None else ():
            if isinstance(node, Recompute) and fragment in read(filled(node.text, [""] * len(node.relations))):
                return unknown or (view, None)
            for scalar in scalars(node):
                if fragment in read(scalar.text):
                    if scalar.span is not None:
                        return view, scalar
                    unknown = unknown or (view, scalar)
    return unknown


def scalars(value: Any) -> Iterator[Scalar]:
    """The expressions of a plan node, without those of its inputs."""
    if isinstance(value, Scalar):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            if not isinstance(item, Plan):
                yield from scalars(item)
    elif is_dataclass(value):
        for item in fields(value):
            found = getattr(value, item.name)
            if not isinstance(found, Plan):
                yield from scalars(found)
