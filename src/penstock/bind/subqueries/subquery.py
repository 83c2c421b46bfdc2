"""Subqueries in expressions, left as marks until the query's plan is there to join them with.

A subquery reads the enclosing query in one of two ways. Where `inner = outer` conditions say it all, they become join
keys (`correlation.py`). Otherwise the subquery is bound once for all distinct values that it reads of the enclosing
query, its *domain*: FROM starts with the domain, and GROUP BY, OVER and LIMIT work within each of its rows
(Neumann and Kemper, "Unnesting Arbitrary Queries", BTW 2015).
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.bind.bound_query import Correlation
from penstock.bind.domain import NeedDomain
from penstock.bind.level import EXISTS, IN, QUANTIFIED, SCALAR, Level, Subquery
from penstock.bind.marks import OUTER, SUBQUERY, is_mark, marked
from penstock.bind.subqueries.over_domain import subquery_over_domain
from penstock.sql.complaints import wrong
from penstock.sql.trees import aggregate_calls, bare, call_name, is_generator, replace_nodes


def bind_subquery(node: exp.Expression, level: Level) -> exp.Expression:
    """Bind a subquery and leave its mark: `__subquery(number, left sides of IN …, enclosing values …)`."""
    kind, query, lefts = _parts(node, level)
    if kind == EXISTS and _always_a_row(query):
        return exp.Boolean(this=True)
    needles = [level.bind(item) for item in lefts]
    subquery = _bind(kind, simplified(query) if kind == EXISTS else query, level, len(needles))
    subquery.compared = node if kind == QUANTIFIED else None
    _check_width(subquery, node)
    level.subqueries.append(subquery)
    position = exp.Literal.number(len(level.subqueries) - 1)
    return marked(SUBQUERY, [position, *needles, *(item.copy() for item in subquery.outers)])


def _parts(node: exp.Expression, level: Level) -> tuple[str, exp.Expression, list[exp.Expression]]:
    if isinstance(node, exp.Exists):
        return EXISTS, node.this, []
    if isinstance(node, exp.In):
        return IN, node.args["query"], _compared(node.this, level)
    if isinstance(node.args.get("expression"), exp.Any | exp.All):
        query = node.expression.this
        return (
            QUANTIFIED,
            query if isinstance(query, exp.Subquery) else exp.Subquery(this=query),
            _compared(node.this, level),
        )
    return SCALAR, node, []


def _compared(left: exp.Expression, level: Level) -> list[exp.Expression]:
    """The values that are compared: those of `(a, b)`, and in standard SQL those of `ROW(a, b)`."""
    inner = bare(left)
    is_row = call_name(inner) == "struct" and "open_rows" in level.context.rules.meanings
    return list(inner.expressions) if isinstance(inner, exp.Tuple) or is_row else [inner]


def _check_width(subquery: Subquery, node: exp.Expression) -> None:
    wanted = {IN: subquery.needles, QUANTIFIED: subquery.needles, SCALAR: 1}.get(subquery.kind)
    given = len(subquery.bound.names)
    if wanted is not None and wanted != given:
        message = f"this subquery has {given} columns where {wanted} can be used"
        raise wrong(code="SUBQUERY_COLUMNS", message=message, place=node, sqlstate="42823")


def _bind(kind: str, query: exp.Expression, level: Level, needles: int) -> Subquery:
    context = replace(level.context, enclosing=level, domain=None, outers={})
    try:
        bound = context.bind_query(query)
    except NeedDomain as need:
        if not need.concerns(context.outers):
            raise
        return subquery_over_domain(kind, query, level, needles)
    if context.outers and bound.correlation is None:
        return subquery_over_domain(kind, query, level, needles)
    found = Subquery(kind, query, level, needles, bound)
    if bound.correlation is not None and context.outers:
        _tie(found, bound.correlation)
    if kind == SCALAR and found.residual:
        return subquery_over_domain(kind, query, level, needles)
    return found


def _tie(found: Subquery, correlation: Correlation) -> None:
    for key in correlation.keys:
        found.keys.append((key.name, len(found.outers), key.null_safe))
        found.outers.append(key.outer)
    for part in correlation.residual:
        found.residual.append(replace_nodes(part, lambda node: _numbered(node, found)))


def _numbered(node: exp.Expression, found: Subquery) -> exp.Expression | None:
    if not is_mark(node, OUTER):
        return None
    found.outers.append(node.expressions[0])
    return marked(OUTER, [exp.Literal.number(len(found.outers) - 1)])


def _plain(query: exp.Expression) -> exp.Select | None:
    select = query.this if isinstance(query, exp.Subquery) else query
    return select if isinstance(select, exp.Select) else None


def _always_a_row(query: exp.Expression) -> bool:
    """True for a global aggregate, which has one row over nothing too."""
    select = _plain(query)
    if select is None or any(select.args.get(key) for key in ("group", "having", "qualify", "limit", "offset")):
        return False
    return any(next(aggregate_calls(item), None) is not None for item in select.expressions)


def simplified(query: exp.Expression) -> exp.Expression:
    """EXISTS asks for rows, not for values: in a plain query `SELECT *` becomes `SELECT 1`."""
    select = _plain(query)
    if select is None or any(select.args.get(key) for key in ("group", "having", "qualify", "limit", "offset")):
        return query
    if any(is_generator(item.unalias()) for item in select.expressions):
        return query
    copy = select.copy()
    copy.set("expressions", [exp.alias_(exp.Literal.number(1), "one")])
    copy.set("distinct", None)
    copy.set("order", None)
    return copy
