"""Computed columns of tables: what they may read, the bounds of times that are computed, and where they may stand."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.bind.binder import context_of
from penstock.bind.event_time import counted_from
from penstock.bind.level import Level
from penstock.bind.program.purity import refuse_impure
from penstock.bind.scope import Scope, relation_in_scope
from penstock.catalog.model import Catalog, Column, ComputedColumn, Lateness, Table
from penstock.catalog.reserved import COMPUTED
from penstock.catalog.types import plain_type
from penstock.errors import PenstockError, Span, SqlError
from penstock.plan.forms import reads_clock
from penstock.plan.nodes import Field
from penstock.plan.parsing import parse_scalar
from penstock.plan.reading import form_of
from penstock.plan.scalar import render_scalar
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.parse import parse_expression
from penstock.sql.text import span_of, spark_sql
from penstock.sql.trees import aggregate_calls, nodes, replace_nodes, window_calls
from penstock.types.durations import Duration, duration_of
from penstock.types.infer import infer


def with_computed(table: Table, catalog: Catalog) -> Table:
    """The table with its computed columns bound, and with their bounds."""
    computed = tuple(_bound(catalog, table, item) for item in table.computed)
    table = replace(table, computed=computed)
    for item in table.computed:
        table = table if item.lateness is None else _with_watermark(table, item, item.lateness)
    return table


def refuse_value(table: Table, name: str, place: Span) -> None:
    """SqlError for a computed column that is given a value."""
    if any(item.name.lower() == name.lower() for item in table.computed):
        message = f"the column {name!r} is computed of the others, and cannot be given a value"
        raise wrong(code="COMPUTED_COLUMN", message=message, place=place, hint=f"leave {name} out")


def over_kept(tree: exp.Expression, table: Table, alias: str | None) -> exp.Expression:
    """An expression of UPDATE or DELETE with what computed columns are in place of their names, but in subqueries."""
    texts = {item.name.lower(): item.text for item in table.computed}
    qualifiers = {"", (alias or table.name).lower()}

    def put(node: exp.Expression) -> exp.Expression | None:
        if isinstance(node, exp.Query):
            return node
        if not isinstance(node, exp.Column) or node.table.lower() not in qualifiers:
            return None
        text = texts.get(node.name.lower())
        return None if text is None else exp.Paren(this=parse_expression(text))

    return replace_nodes(tree, put) if texts else tree


def _bound(catalog: Catalog, table: Table, item: ComputedColumn) -> ComputedColumn:
    """The computed column in Spark's words, over the names of the columns that are kept."""
    tree = parse_expression(item.text)
    what = f"the computed column {item.name}"
    refuse_impure(tree if item.tree is None else item.tree, catalog, what)
    if tree.find(exp.Query) or reads_clock(form_of(tree)):
        message = f"{what} reads {'another table' if tree.find(exp.Query) else 'the clock'}"
        hint = "AS PROCTIME() alone is the time at which a row comes; a view may compute with it"
        raise wrong(code="COMPUTED_COLUMN", message=message, place=item.span, hint=hint)
    fields = _fields(table)
    context = context_of(catalog)
    names = tuple(one.label for one in table.columns)
    level = Level(context, Scope((relation_in_scope(table.name, names, fields, exact=context.exact),)))
    level.fields.update({one.name: one for one in fields})
    try:
        bound = level.bind(tree)
    except PenstockError as error:  # its places are those of the column's own text
        raise SqlError([replace(found, span=_place(item, found.span)) for found in error.diagnostics]) from None
    if any(True for _ in (*aggregate_calls(bound), *window_calls(bound))):
        raise wrong(code="COMPUTED_COLUMN", message=f"{what} is of one row, and reads several", place=item.span)
    return replace(item, text=render_scalar(bound))


def _place(item: ComputedColumn, span: Span | None) -> Span | None:
    """The place in the program of a part of a computed column's own text."""
    part = "" if span is None else item.text[span.start : span.end]
    for node in () if item.tree is None else nodes(item.tree):
        place = span_of(node) if spark_sql(node) == part else None
        if place is not None:
            return place
    return item.span


def _with_watermark(table: Table, item: ComputedColumn, lateness: Lateness) -> Table:
    """The table with the bound of a computed time: on the number that it counts, in its own unit, or on its value."""
    name, unit = counted_from(parse_scalar(item.text)) or ("", 1)
    of, bound = table.column(name), parse_scalar(lateness.bound)
    length = _length(bound) if isinstance(bound, exp.Interval) else None
    if of is None or of.lateness is not None or length is None or length.months:
        return _with_value_kept(table, item, lateness)
    bounded = replace(of, lateness=replace(lateness, bound=str(length.micros // unit)))
    return replace(table, columns=tuple(bounded if one is of else one for one in table.columns))


def _with_value_kept(table: Table, item: ComputedColumn, lateness: Lateness) -> Table:
    """The table that keeps the value of a computed column, made when a row comes, so that it can be late by it."""
    kind, nullable = infer(parse_scalar(item.text), {one.name: one for one in _fields(table)})
    if kind is None:
        message = f"a WATERMARK on the computed column {item.name}, whose type is not known before Spark is asked"
        hint = f"say it: {item.name} AS CAST({item.text} AS TIMESTAMP)"
        raise unsupported(code="COMPUTED_WATERMARK", message=message, place=item.span, hint=hint)
    kept = Column(
        COMPUTED + item.name,
        kind,
        nullable=nullable,
        lateness=lateness,
        optional=True,
        hidden=True,
        computed=item.text,
        span=item.span,
    )
    computed = tuple(replace(one, kept=kept.name) if one is item else one for one in table.computed)
    return replace(table, columns=(*table.columns, kept), computed=computed)


def _fields(table: Table) -> tuple[Field, ...]:
    """The columns that rows are given."""
    given = (one for one in table.columns if one.computed is None)
    return tuple(Field(one.name, plain_type(one.type), one.nullable) for one in given)


def _length(bound: exp.Interval) -> Duration:
    nothing = bound.this is not None and not bound.this.name.strip("0. ")
    return Duration(0, 0) if nothing else duration_of(bound)
