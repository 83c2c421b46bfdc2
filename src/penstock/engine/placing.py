"""The operators of a circuit that work in the process, and what keeps the others on Spark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from penstock.analysis.derived import Derived, OfKeys, SourceColumn
from penstock.backends.clock import clocked_text
from penstock.backends.native.operators.make import native_operator
from penstock.backends.native.operators.operator import NativeOperator
from penstock.backends.native.proof import NotProvenError, not_proven
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Columns
from penstock.catalog.meanings import why_not_proven
from penstock.catalog.model import Catalog, Table
from penstock.catalog.properties import CONNECTOR, START_AFTER, value_place
from penstock.catalog.settings import AUTO, ENGINE, NATIVE, TIME_ZONE, UTC, engine_of, why_on_spark
from penstock.catalog.types import Type, plain_type
from penstock.circuit.operators import Circuit, OfStep, Operator
from penstock.circuit.places import SPARK, Place
from penstock.engine.constants import check_constant, proven_constant
from penstock.engine.terms import proven_term
from penstock.errors import Diagnostic, Span, UnsupportedError
from penstock.plan.expressions import scalars_of
from penstock.plan.nodes import Fixpoint, Generate, Recompute

_OF_BYTES = re.compile(r"(?i)\b(binary|unhex|unbase64|encode|decode|to_binary|try_to_binary|aes_\w+|\w*utf8\w*)\b|\bX'")
Kept = Callable[[Operator], bool]
"""Tells of an operator whether it is to stay on Spark, proven or not."""

_ANY_TIME = datetime(1970, 1, 1)  # noqa: DTZ001 - UTC, as all clocks
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
    other = why_not_proven(catalog.in_effect)
    if engine_of(catalog.settings) == NATIVE and other:
        message = f"{ENGINE} = '{NATIVE}' cannot be had under {other}"
        raise UnsupportedError(Diagnostic("NOT_NATIVE", message, hint=_AUTO_HINT))
    return not why_on_spark(catalog.in_effect, local=local)


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
                    "what Spark gives it: of a type that is not known, texts of bytes, which need not be UTF-8, or "
                    "MAPs that it has made, in which a key may stand twice"
                )
            native[operator.number] = native_operator(store, operator, known)
            known[f"#{operator.number}"] = native[operator.number].outputs
        except NotProvenError as error:
            others[operator.number] = Place(SPARK, error.what, error.span or next(_places(operator), None))
            doubts = _makes_texts_of_bytes(operator) or _makes_maps(operator)
            if doubts or doubtful.intersection(operator.inputs):
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


def _makes_maps(operator: Operator) -> bool:
    """True if an operator on Spark may give MAPs that it has made: CAST and `from_json` let a key be there twice."""
    plan = operator.plan or operator.node
    if not any("map<" in (item.type or "") for item in plan.fields):
        return False
    nodes = [*operator.node.walk(), plan]
    made = [item for node in nodes for item in scalars_of(node) if item.column is None]
    opaque = any(isinstance(node, Recompute | Fixpoint | Generate) for node in nodes)
    return opaque or any("map<" in (item.type or "") for item in made)


def check_native(catalog: Catalog, circuit: Circuit, others: Mapping[int, Place]) -> None:
    """UnsupportedError for the first operator that needs Spark, if the program wants none."""
    if engine_of(catalog.settings) != NATIVE:
        return
    for operator in circuit.operators:
        place = others.get(operator.number) or _forgetting_on_spark(operator, catalog)
        if place is not None:
            views = [catalog.views[name].name for name in circuit.readers[operator.number]]
            message = f"view {', '.join(views)}: its operator {operator.title} needs Spark, for {place.not_proven}"
            view = catalog.views[circuit.readers[operator.number][0]]
            writer = catalog.writers.get(view.owner or "")
            span = place.span or (view.span if writer is None else writer.span)
            found = Diagnostic("NOT_NATIVE", message, span, hint=_AUTO_HINT)
            raise UnsupportedError(found, view.source)


def _forgetting_on_spark(operator: Operator, catalog: Catalog) -> Place | None:
    """The place of an operator that forgets by a waterline which Spark would have to compute."""
    for expiry in operator.expiries:
        what = _line_on_spark(expiry.waterline, catalog)
        if what:
            return Place(SPARK, f"{what}, of the waterline {expiry.waterline.shown}", next(_places(operator), None))
    return None


def check_native_tables(catalog: Catalog) -> None:
    """UnsupportedError for the first table whose rows need Spark when they come, if the program wants none."""
    for table in catalog.tables.values() if engine_of(catalog.settings) == NATIVE else ():
        place = table_on_spark(table)
        if place is not None:
            message = f"table {table.name}: its rows need Spark when they come, for {place.not_proven}"
            raise UnsupportedError(Diagnostic("NOT_NATIVE", message, place.span, hint=_AUTO_HINT))


def check_native_lines(catalog: Catalog, lines: Mapping[str, Iterable[Derived]]) -> None:
    """The same for the first view whose emission goes by a waterline that Spark would have to compute."""
    for name, wanted in lines.items() if engine_of(catalog.settings) == NATIVE else ():
        view = catalog.views[name]
        for line in wanted:
            what = _line_on_spark(line, catalog)
            if what:
                message = f"view {view.name}: the waterline {line.shown} of its emission needs Spark, for {what}"
                raise UnsupportedError(Diagnostic("NOT_NATIVE", message, view.span, hint=_AUTO_HINT), view.source)


def table_on_spark(table: Table) -> Place | None:
    """The place of what Spark has to do when a row comes into a table; None if there is nothing."""
    for name, connector in table.properties.items():
        if connector == SPARK and (name == CONNECTOR or name.split(".")[-1] == START_AFTER):
            return Place(SPARK, f"the connector '{SPARK}'", value_place(table, name))
    for column in table.columns:
        try:
            if column.computed is not None:
                proven_term(table, column)
            elif column.default is not None:
                check_constant(f"CAST(({clocked_text(_ANY_TIME)(column.default)}) AS {plain_type(column.type)})")
        except NotProvenError as error:
            of = "the default of" if column.computed is None else "the computed column"
            return Place(SPARK, f"{error.what}, of {of} {column.told}", column.span)
    return None


def _line_on_spark(line: Derived, catalog: Catalog) -> str:
    """The part of a waterline that is not proven; nothing of one that is its source's, or each substream's own."""
    from penstock.backends.lines import alone, line_text  # noqa: PLC0415 - 100 ms that `explain` need not wait

    if isinstance(line, OfKeys) or alone(line) is not None:
        return ""
    try:
        proven_constant(line_text(line, lambda source: f"CAST(NULL AS {_type_of(source, catalog)})", _ANY_TIME))
    except NotProvenError as error:
        return error.what
    return ""


def _type_of(source: SourceColumn, catalog: Catalog) -> Type:
    relation = catalog.relation(source.relation)
    columns = () if relation is None else relation.columns
    found = next((item for item in columns if item.name.lower() == source.column.lower()), None)
    return "timestamp" if found is None or found.type is None else plain_type(found.type)


def _places(operator: Operator) -> Iterator[Span]:
    """The places in the SQL of what an operator evaluates."""
    plan = operator.plan or operator.node
    if isinstance(plan, Recompute) and plan.span is not None:
        yield plan.span
    yield from (scalar.span for scalar in scalars_of(plan) if scalar.span is not None)
