"""Spark's exceptions as Penstock's errors: the expression that failed, the view it stands in, and its place there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from penstock.backends.native.raised import diagnosed
from penstock.catalog.model import Catalog, View
from penstock.errors import DataError, Diagnostic, InternalError, PenstockError, SqlError
from penstock.plan.nodes import Plan, Recompute
from penstock.plan.opaque import filled
from penstock.plan.scalar import Scalar, quoted
from penstock.steps.interrupts import interrupt_behind
from penstock.steps.surroundings import of_surroundings

EVALUATION_ERROR = "EVALUATION_ERROR"
_CLIPPED = 500
# What functions of Spark let through of what they call, when a value does not suit them: without an SQLSTATE.
_OF_VALUES = (
    "java.lang.ArithmeticException",
    "java.lang.NumberFormatException",
    "java.time.DateTimeException",
    "java.util.regex.PatternSyntaxException",
)
_DATA_EXCEPTION = "22"  # the class of SQLSTATE that is about values
_STAGE = re.compile(r"^.*Job aborted due to stage failure: .*?: (?=[\w.$]+(?:Exception|Error))")


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
        message = f"{where}cannot be evaluated{_clipped(f' in {self.fragment}')}"
        found = EvaluationError(replace(self.diagnostics[0], message=message), None, self.fragment)
        found.view, found.source = self.view, self.source
        return found


def translated(error: BaseException, catalog: Catalog) -> BaseException:
    """The error to raise for one that came out of Spark or DuckDB; anything else comes back as it is.

    What is raised on the way out of an interrupted call, such as "job cancelled", is that interrupt.
    """
    if isinstance(error, PenstockError) or not isinstance(error, Exception):
        return error
    interrupt = interrupt_behind(error)
    if interrupt is not None:
        return interrupt
    raised = diagnosed(error)
    if raised is not None:
        return _raised(_clipped(raised.message.strip()), raised.sqlstate, raised.fragment or None, catalog)
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - check starts without pyspark
    from pyspark.errors import AnalysisException, PySparkException  # noqa: PLC0415 - check starts without pyspark

    around = of_surroundings(error)
    if around is not None:
        return around
    if isinstance(error, AnalysisException):
        return _analysis(error, catalog)
    if isinstance(error, PySparkException):
        return _evaluation(error, catalog)
    if isinstance(error, Py4JJavaError):
        cause = _innermost(error.java_exception)
        said = _about_values(error.java_exception)
        if said is None and cause.startswith(_OF_VALUES):
            said = Diagnostic(EVALUATION_ERROR, cause)
        return InternalError(Diagnostic("SPARK_FAILED", cause)) if said is None else EvaluationError(said, None)
    return error


def _analysis(error: Any, catalog: Catalog) -> PenstockError:
    """The error for a query that Spark refuses when it reads it: types that do not fit, mostly."""
    fragment = _fragment(error)
    view, scalar = _place(fragment, catalog) if fragment else (None, None)
    where = f"view {view.name}: " if view is not None else ""
    message = _message(error) or _message(error.getCause() if hasattr(error, "getCause") else "")
    found = Diagnostic(
        _condition(error),
        f"{where}{message or fragment or 'Spark refuses this'}",
        scalar.span if scalar is not None else None,
        sqlstate=_state(error),
    )
    return SqlError(found, view.source if view is not None else None)


def _evaluation(error: Any, catalog: Catalog) -> PenstockError:
    if _state(error) is None and "INTERNAL" in (_condition(error) or ""):
        return InternalError(Diagnostic("SPARK_FAILED", _message(error)))
    return _raised(_message(error), _state(error), _fragment(error), catalog)


def _raised(message: str, state: str | None, fragment: str | None, catalog: Catalog) -> EvaluationError:
    """The error of an expression that has raised, with its view and its place."""
    view, scalar = _place(fragment, catalog) if fragment else (None, None)
    where = f"view {view.name}: " if view is not None else ""
    what = f" in {scalar.text if scalar is not None else fragment}" if fragment else ""
    diagnostic = Diagnostic(
        EVALUATION_ERROR,
        f"{where}{message}{_clipped(what)}",
        scalar.span if scalar is not None else None,
        sqlstate=state,
    )
    return EvaluationError(diagnostic, view, fragment)


def _condition(error: Any) -> str:
    return error.getCondition() or "SPARK_ERROR"


def _state(error: Any) -> str | None:
    try:
        return error.getSqlState() or None
    except (AttributeError, TypeError):
        return None


def _message(error: Any) -> str:
    """The first sentence of Spark's message without its code; the rest is about Spark's settings."""
    text = str(error).split("\n")[0]
    text = text.partition("] ")[2] if text.startswith("[") and "] " in text else text
    return _clipped(text.partition(" If necessary set ")[0].partition(" SQLSTATE:")[0].strip())


def _about_values(error: Any) -> Diagnostic | None:
    """The message of the first cause that Spark itself calls an error of values; None if there is no such cause."""
    cause = error
    while cause is not None:
        state = _state_of_throwable(cause)
        if state is not None and state.startswith(_DATA_EXCEPTION):
            return Diagnostic(EVALUATION_ERROR, _message(cause.getMessage()), sqlstate=state)
        cause = cause.getCause()
    return None


def _state_of_throwable(cause: Any) -> str | None:
    from py4j.protocol import Py4JError  # noqa: PLC0415 - check starts without pyspark

    try:
        return str(cause.getSqlState())
    except Py4JError:  # it is none of Spark's
        return None


def _innermost(error: Any) -> str:
    """The message of the JVM's first cause, without the parts that only tell where it ran."""
    cause = error
    while cause.getCause() is not None:
        cause = cause.getCause()
    said = re.sub(_STAGE, "", f"{cause.getClass().getName()}: {cause.getMessage()}")
    return _clipped(said.split("\n")[0])


def _clipped(text: str) -> str:
    return text if len(text) <= _CLIPPED else text[: _CLIPPED - 1] + "…"


def _fragment(error: Any) -> str | None:
    try:
        contexts = error.getQueryContext()
        return contexts[0].fragment() if contexts else None
    except Exception:  # noqa: BLE001 - a context that cannot be read only costs the place
        return None


def _bare(text: str) -> str:
    """An expression without what rewriting changes in it: qualified names, quotes, parentheses, spaces."""
    return re.sub(r"[\s()]", "", re.sub(r"`(?:[^`]*\.)?([^`]*)`", r"\1", text)).lower()


def _place(fragment: str, catalog: Catalog) -> tuple[View | None, Scalar | None]:
    """The view whose plan has the expression that failed."""
    fragment = _bare(fragment)
    for view in catalog.views.values():
        for node in view.plan.walk() if view.plan is not None else ():
            if isinstance(node, Recompute) and fragment in _bare(filled(node.text, [""] * len(node.relations))):
                return view, None
            for scalar in scalars(node):
                if fragment in _bare(scalar.text):
                    return view, scalar
    return None, None


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
