"""LIMIT n BY c in a query that is answered once, and in a view: the first n rows for each value of c.

SELECT a, b FROM t ORDER BY a DESC LIMIT 1 BY b
    = SELECT a, b FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY b ORDER BY a DESC) <= 1 ORDER BY a DESC

With LIMIT n OFFSET m BY c the first m of them are left out. Without ORDER BY the first rows are those of the order of
whole rows. A query that stands counts what it shows.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from penstock.sql.complaints import unsupported

_HINT = "QUALIFY ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) <= 1 in a query around it"


def with_limited_groups(tree: exp.Expression) -> exp.Expression:
    """The query, a copy where a SELECT in it has LIMIT … BY, which is a condition on the number of a row then."""
    if not any(_limit_by(select) for select in tree.find_all(exp.Select)):
        return tree
    found = tree.copy()
    found.parent = tree.parent
    for select in found.find_all(exp.Select):
        if _limit_by(select):
            _number_rows(select)
    return found


def refuse_limit_by(limit: exp.Expression | None) -> None:
    """UnsupportedError for LIMIT … BY behind a set operation and its like."""
    if limit is not None and limit.expressions:
        raise unsupported(code="LIMIT", message="LIMIT … BY behind this query", place=limit, hint=_HINT)


def _limit_by(select: exp.Select) -> bool:
    limit = select.args.get("limit")
    return limit is not None and bool(limit.expressions)


def _number_rows(select: exp.Select) -> None:
    limit, order = select.args["limit"], select.args.get("order")
    if select.args.get("distinct") or select.args.get("offset") is not None:
        refuse_limit_by(limit)
    keys = [_item(key, select) for key in limit.expressions]
    first = [exp.Ordered(this=key.copy(), nulls_first=True) for key in keys]
    if order is not None:
        first = [item.copy() for item in order.expressions]
        for item in first:
            item.set("this", _item(item.this, select))
    number = exp.Window(
        this=exp.Anonymous(this="row_number", expressions=[]), partition_by=keys, order=exp.Order(expressions=first)
    )
    condition: exp.Expression = exp.LTE(this=number, expression=limit.expression.copy())
    skipped = limit.args.get("offset")
    if skipped is not None:
        last = exp.Add(this=exp.Paren(this=skipped.copy()), expression=exp.Paren(this=limit.expression.copy()))
        behind = exp.GT(this=number.copy(), expression=exp.Paren(this=skipped.copy()))
        condition = exp.And(this=behind, expression=exp.LTE(this=number, expression=exp.Paren(this=last)))
    qualify = select.args.get("qualify")
    if qualify is not None:
        condition = exp.And(this=exp.Paren(this=qualify.this), expression=condition)
    select.set("qualify", exp.Qualify(this=condition))
    select.set("limit", None)


def _item(key: exp.Expression, select: exp.Select) -> Any:
    """A key; that of a number is the item of the SELECT list in that place."""
    place = int(key.name) if isinstance(key, exp.Literal) and key.name.isdigit() else 0
    if not 1 <= place <= len(select.expressions):
        return key.copy()
    item: exp.Expression = select.expressions[place - 1].unalias()
    return item.copy()
