"""A query as a statement: its plan over a catalogue."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.bind.binder import context_of
from penstock.bind.bound_query import BoundQuery
from penstock.bind.modality import check_relational, streamed
from penstock.bind.taking_in import TakingIn
from penstock.catalog.model import Catalog
from penstock.errors import PenstockError
from penstock.plan.nodes import Plan
from penstock.sql.border import compiling
from penstock.sql.complaints import wrong
from penstock.sql.nesting import room_for_nesting
from penstock.sql.points import is_begun, refuse_point


def bind_query(
    tree: exp.Expression,
    catalog: Catalog,
    source: str = "",
    *,
    keep_order: bool = True,
    taking_in: TakingIn | None = None,
) -> Plan:
    """The plan of a query over a catalogue; its fields have the query's column names, made different where equal.

    An ORDER BY at the top stays as a TopK without a limit, for a query whose answer is shown, unless
    `keep_order` is False; a view has no order. Raises SqlError or UnsupportedError, with `source` filled in.
    """
    return bind_named(tree, catalog, source, keep_order=keep_order, taking_in=taking_in).plan


def bind_named(
    tree: exp.Expression,
    catalog: Catalog,
    source: str = "",
    *,
    keep_order: bool = False,
    taking_in: TakingIn | None = None,
) -> BoundQuery:
    """As `bind_query`, with the column names as the query has them, equal ones included.

    With `taking_in` dedup may remember keys.
    """
    try:
        with compiling(tree), room_for_nesting():
            context = context_of(catalog, taking_in)
            bound = context.bind_query(tree, keep_order=keep_order)
    except PenstockError as error:
        raise error.with_source(source) from None
    return replace(bound, warnings=tuple(context.warnings), meanings=frozenset(context.meanings))


def check_asked(tree: exp.Expression, catalog: Catalog, source: str = "") -> None:
    """Raise SqlError for a query that cannot be answered once: one with STREAM, or of a stream that keeps no rows."""
    try:
        if streamed(tree):
            message = "a query with STREAM stands, and is not answered once"
            hint = "subscribe() to it, write it in the shell, or leave STREAM out for the rows that are there"
            raise wrong(code="SELECT_STREAM", message=message, place=tree.meta.get("stream") or tree, hint=hint)
        if is_begun(tree):
            refuse_point(tree)
        check_relational(tree, catalog)
    except PenstockError as error:
        raise error.with_source(source) from None
