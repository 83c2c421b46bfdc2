"""The operators of a circuit that work in the process, and what keeps the others on Spark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from penstock.backends.native.operators.make import native_operator
from penstock.backends.native.operators.operator import NativeOperator
from penstock.backends.native.proof import NotProvenError, not_proven
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Columns
from penstock.catalog.model import Catalog, Table
from penstock.catalog.settings import AUTO, ENGINE, NATIVE, TIME_ZONE, UTC, engine_of, why_on_spark
from penstock.circuit.operators import Circuit, OfStep, Operator
from penstock.circuit.places import SPARK, Place
from penstock.engine.terms import proven_term
from penstock.errors import Diagnostic, Span, UnsupportedError
from penstock.plan.expressions import scalars_of
from penstock.plan.nodes import Recompute

_OF_BYTES = re.compile(r"(?i)\b(binary|unhex|unbase64|encode|decode|to_binary|try_to_binary|aes_\w+|\w*utf8\w*)\b|\bX'")
Kept = Callable[[Operator], bool]
"""Tells of an operator whether it is to stay on Spark, proven or not."""

_AUTO_HINT = f"SET {ENGINE} = '{AUTO}' has Spark do what is not proven to be the same in the process"


def none_kept(operator: Operator) -> bool:  # noqa: ARG001 - of every operator
    """False: what is proven works in the process."""
    return False


def wants_process(catalog: Catalog, *, local: bool) -> bool:
    """True if operators are to work in the process where that is proven; UnsupportedError if that cannot be had."""
    zone = catalog.settings.get(TIME_ZONE, UTC)
    if engine_of(catalog.settings) == NATIVE and zone != UTC:
        message = f"{ENGINE} = '{NATIVE}' needs times in {UTC}, not in {zone}"
        raise UnsupportedError(Diagnostic("NOT_NATIVE", message, hint=_AUTO_HINT))
    return not why_on_spark(catalog.settings, local=local)


def placed(
    store: Store, circuit: Circuit, kept: Kept = none_kept
) -> tuple[dict[int, NativeOperator], dict[int, Place]]:
    """The operators of a circuit that work in the process, and the place of each other one, with what is not proven.

    Those that are `kept` stay on Spark, as any other does that is not proven.
    """
    native: dict[int, NativeOperator] = {}
    others: dict[int, Place] = {}
    known: dict[str, Columns] = {}
    doubtful: set[int] = set()
    for operator in circuit.operators:
        if isinstance(operator, OfStep):
            continue  # the step itself feeds them
        try:
            if kept(operator):
                not_proven("whoever opened the pipeline, who keeps it there")
            if doubtful.intersection(operator.inputs):
                not_proven(
                    "what Spark gives it: of a type that is not known, or texts of bytes, which need not be UTF-8"
                )
            native[operator.number] = native_operator(store, operator, known)
            known[f"#{operator.number}"] = native[operator.number].outputs
        except NotProvenError as error:
            others[operator.number] = Place(SPARK, error.what, error.span or next(_places(operator), None))
            if doubtful.intersection(operator.inputs) or _makes_texts_of_bytes(operator):
                doubtful.add(operator.number)
    return native, others


def _makes_texts_of_bytes(operator: Operator) -> bool:
    """True if an operator on Spark may give a text that is not UTF-8, which cannot lie in the process."""
    plan = operator.plan or operator.node
    fields = [item for node in operator.node.walk() for item in node.fields]
    texts = [scalar.text for scalar in scalars_of(plan)]
    return any(item.type is None or "binary" in item.type for item in fields) or any(
        _OF_BYTES.search(text) for text in texts
    )


def check_native(catalog: Catalog, circuit: Circuit, others: Mapping[int, Place]) -> None:
    """UnsupportedError for the first operator that needs Spark, if the program wants none."""
    if engine_of(catalog.settings) != NATIVE:
        return
    for operator in circuit.operators:
        place = others.get(operator.number)
        if place is not None:
            views = [catalog.views[name].name for name in circuit.readers[operator.number]]
            message = f"view {', '.join(views)}: its operator {operator.title} needs Spark, for {place.not_proven}"
            view = catalog.views[circuit.readers[operator.number][0]]
            found = Diagnostic("NOT_NATIVE", message, place.span, hint=_AUTO_HINT)
            raise UnsupportedError(found, view.source)


def check_native_tables(catalog: Catalog) -> None:
    """UnsupportedError for the first table whose rows need Spark when they come, if the program wants none."""
    for table in catalog.tables.values() if engine_of(catalog.settings) == NATIVE else ():
        place = computed_on_spark(table)
        if place is not None:
            message = f"table {table.name}: its rows need Spark when they come, for {place.not_proven}"
            raise UnsupportedError(Diagnostic("NOT_NATIVE", message, place.span, hint=_AUTO_HINT))


def computed_on_spark(table: Table) -> Place | None:
    """The place of a column that Spark has to compute when a row comes; None if there is none."""
    for column in table.computing:
        try:
            proven_term(table, column)
        except NotProvenError as error:
            return Place(SPARK, f"{error.what}, of the computed column {column.told}", column.span)
    return None


def _places(operator: Operator) -> Iterator[Span]:
    """The places in the SQL of what an operator evaluates."""
    plan = operator.plan or operator.node
    if isinstance(plan, Recompute) and plan.span is not None:
        yield plan.span
    yield from (scalar.span for scalar in scalars_of(plan) if scalar.span is not None)
