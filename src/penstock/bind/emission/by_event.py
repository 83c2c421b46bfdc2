"""PER EVENT: a result for each row, over the rows so far, in the order in which they have arrived.

SELECT k, count(*) FROM s GROUP BY k EMIT PER EVENT
→  SELECT k, count(*) OVER (PARTITION BY k ORDER BY position ROWS UNBOUNDED PRECEDING) FROM s
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from penstock.bind.select.column_names import written_name_of
from penstock.catalog.model import Catalog, View
from penstock.catalog.reserved import POSITION
from penstock.sql.complaints import unsupported
from penstock.sql.nodes import TableFunction
from penstock.sql.trees import aggregate_calls, at, call, replace_nodes


def for_each_row(select: exp.Select, order: Sequence[exp.Expression]) -> None:
    """Have the aggregates of a SELECT run over its rows in an order, and its HAVING choose rows."""
    if not order:
        message = "EMIT PER EVENT goes by the order in which rows arrive, which these rows do not keep"
        hint = "streams of dialect timeplus keep it, and queries that choose rows of them; ON UPDATE shows each step"
        raise unsupported(code="PER_EVENT", message=message, place=_source(select), hint=hint)
    group = select.args.pop("group", None)
    keys = [] if group is None else [_meant(item, select) for item in group.expressions]
    if group is not None and any(group.args.get(kind) for kind in ("grouping_sets", "cube", "rollup", "all")):
        hint = "name the keys: GROUP BY a, b"
        raise unsupported(code="PER_EVENT", message="EMIT PER EVENT over GROUPING SETS", place=group, hint=hint)
    for place, item in enumerate(select.expressions):
        found = _running(item, keys, order)
        is_named = isinstance(item, exp.Alias) or found is item
        select.expressions[place] = found if is_named else exp.alias_(found, written_name_of(item), quoted=True)
    having = select.args.pop("having", None)
    if having is not None:
        select.set("qualify", exp.Qualify(this=_running(having.this, keys, order)))


def _source(select: exp.Select) -> exp.Expression:
    found = select.args.get("from_")
    return select if found is None or select.args.get("joins") else found.this


def order_of_events(select: exp.Select, catalog: Catalog) -> list[exp.Expression]:
    """The values by which the rows of a SELECT arrive; none where they keep no order.

    A row of a join arrives with the last of those that it is made of; tables beside streams bring no rows.
    """
    if select.args.get("distinct"):
        return []
    ctes = {cte.alias.lower(): cte.this for cte in select.ctes}
    told: list[exp.Expression] = []
    others: list[exp.Expression] = []
    relations = _relations(select)
    for item in relations:
        brings = len(relations) == 1 or not _is_replaced(item, ctes, catalog)
        (told if brings and _tells(item, ctes, catalog) else others).append(item)
    if not all(_is_table(item, ctes, catalog) for item in others):
        return []
    found = [_position(item, number, alone=not others and len(told) == 1) for number, item in enumerate(told)]
    return [call("greatest", *found), *(item.copy() for item in found)] if len(found) > 1 else found


def _relations(select: exp.Select) -> list[exp.Expression]:
    source = select.args.get("from_")
    return [] if source is None else [source.this, *(join.this for join in select.args.get("joins") or [])]


def _is_table(item: exp.Expression, ctes: Mapping[str, exp.Expression], catalog: Catalog) -> bool:
    return isinstance(item, exp.Table) and item.name.lower() in catalog.tables and item.name.lower() not in ctes


def _is_replaced(item: exp.Expression, ctes: Mapping[str, exp.Expression], catalog: Catalog) -> bool:
    """True for a table whose rows go or replace each other."""
    return _is_table(item, ctes, catalog) and not catalog.tables[item.name.lower()].append_only


def _tells(item: exp.Expression, ctes: Mapping[str, exp.Expression], catalog: Catalog) -> bool:
    """True for a relation that hands on in which order its rows arrive."""
    match item:
        case TableFunction():
            return _tells(item.expressions[0], ctes, catalog)
        case exp.Subquery():
            return _query_tells(item.this, ctes, catalog)
        case exp.Table() if item.name.lower() in ctes:
            return _query_tells(ctes[item.name.lower()], ctes, catalog)
        case exp.Table():
            found = catalog.relation(item.name)
            if isinstance(found, View):
                return isinstance(found.query, exp.Expression) and _query_tells(found.query, {}, catalog)
            return found is not None and any(column.name == POSITION for column in found.columns)
        case _:
            return False


def _query_tells(query: exp.Expression, ctes: Mapping[str, exp.Expression], catalog: Catalog) -> bool:
    if isinstance(query, exp.Subquery):
        return _query_tells(query.this, ctes, catalog)
    if isinstance(query, exp.Union) and not query.args.get("distinct"):
        return all(_query_tells(part, ctes, catalog) for part in (query.this, query.expression))
    if not isinstance(query, exp.Select) or query.args.get("distinct") or _is_aggregated(query):
        return False
    own = {**ctes, **{cte.alias.lower(): cte.this for cte in query.ctes}}
    return all(_tells(item, own, catalog) for item in _relations(query))


def _position(item: exp.Expression, number: int, *, alone: bool) -> exp.Expression:
    """The place of a relation's rows among all that have arrived."""
    name = exp.to_identifier(POSITION, quoted=True)
    if alone:
        return exp.column(name)
    inner = item
    while isinstance(inner, TableFunction) and not inner.alias:
        inner = inner.expressions[0]
    if not inner.alias_or_name:
        inner.set("alias", exp.TableAlias(this=exp.to_identifier(f"__event{number}")))
    return exp.column(name, table=exp.to_identifier(inner.alias_or_name, quoted=True))


def _is_aggregated(select: exp.Select) -> bool:
    return select.args.get("group") is not None or any(
        next(aggregate_calls(item), None) is not None for item in select.expressions
    )


def _meant(item: exp.Expression, select: exp.Select) -> exp.Expression:
    """The key that an ordinal or an alias of the SELECT list stands for."""
    items: list[Any] = select.expressions
    if isinstance(item, exp.Literal) and not item.is_string and 0 < int(item.name) <= len(items):
        found: exp.Expression = items[int(item.name) - 1].unalias().copy()
        return found
    if isinstance(item, exp.Column) and not item.table:
        named = (part for part in items if isinstance(part, exp.Alias) and part.alias == item.name)
        return next((part.this.copy() for part in named), item)
    return item


def _running(tree: exp.Expression, keys: Sequence[exp.Expression], order: Sequence[exp.Expression]) -> exp.Expression:
    calls = {id(call) for call in aggregate_calls(tree)}

    def replacement(node: exp.Expression) -> exp.Expression | None:
        return at(_over(node, keys, order), node) if id(node) in calls else None

    return replace_nodes(tree, replacement)


def _over(aggregate: exp.Expression, keys: Sequence[exp.Expression], order: Sequence[exp.Expression]) -> exp.Window:
    frame = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW", end_side=None)
    ordered = [exp.Ordered(this=item.copy(), desc=False, nulls_first=True) for item in order]
    partition = [key.copy() for key in keys]
    return exp.Window(this=aggregate.copy(), partition_by=partition, order=exp.Order(expressions=ordered), spec=frame)
