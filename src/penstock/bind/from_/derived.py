"""Derived tables and CTEs, which see nothing of the query around them."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery
from penstock.bind.diagnose import ReadsAround
from penstock.bind.domain import NeedDomain
from penstock.bind.level import Context
from penstock.errors import SqlError


def bind_apart(tree: exp.Expression, context: Context) -> BoundQuery:
    """A derived table or a CTE, which sees nothing of the query around it.

    In a subquery it may read what encloses that, as in Spark: a derived table is lateral then (`ReadsAround`), and with
    a CTE the whole query is recomputed.
    """
    try:
        return replace(context.alone(), hands_on=context.arrival).bind_query(tree)
    except SqlError as error:
        if context.enclosing is None or not _reads_outside(tree, context):
            raise error from None
    raise ReadsAround(tree)


def _reads_outside(tree: exp.Expression, context: Context) -> bool:
    """True if the tree lacks nothing but the enclosing query's columns."""
    try:
        replace(context, domain=None, outers={}).bind_query(tree)
    except NeedDomain:
        return True
    except SqlError:
        return False
    return True
