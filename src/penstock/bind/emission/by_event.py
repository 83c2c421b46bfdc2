"""PER EVENT: a result for each row, over the rows so far, in the order in which they have arrived.

SELECT k, count(*) FROM s GROUP BY k EMIT PER EVENT
→  SELECT k, count(*) OVER (PARTITION BY k ORDER BY position ROWS UNBOUNDED PRECEDING) FROM s
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from penstock.catalog.model import Catalog
from penstock.catalog.reserved import POSITION
from penstock.sql.complaints import unsupported
from penstock.sql.trees import aggregate_calls, at, replace_nodes


def for_each_row(select: exp.Select, catalog: Catalog) -> None:
    """Have the aggregates of a SELECT run over its rows, and its HAVING choose rows."""
    without = hand_on_position(select, catalog)
    if without is not None:
        message = "EMIT PER EVENT goes by the order in which rows arrive, which these rows do not keep"
        hint = "streams of dialect timeplus keep it, and queries that choose rows of one; ON UPDATE shows each step"
        raise unsupported(code="PER_EVENT", message=message, place=without, hint=hint)
    group = select.args.pop("group", None)
    keys = [] if group is None else [_meant(item, select) for item in group.expressions]
    if group is not None and any(group.args.get(kind) for kind in ("grouping_sets", "cube", "rollup", "all")):
        hint = "name the keys: GROUP BY a, b"
        raise unsupported(code="PER_EVENT", message="EMIT PER EVENT over GROUPING SETS", place=group, hint=hint)
    for place, item in enumerate(select.expressions):
        select.expressions[place] = _running(item, keys)
    having = select.args.pop("having", None)
    if having is not None:
        select.set("qualify", exp.Qualify(this=_running(having.this, keys)))


def hand_on_position(select: exp.Select, catalog: Catalog) -> exp.Expression | None:
    """Have what a SELECT reads tell the position of its rows; the relation that has none, if one has not."""
    return _handed_on(select, {cte.alias.lower(): cte.this for cte in select.ctes}, catalog)


def _handed_on(select: exp.Select, ctes: Mapping[str, exp.Expression], catalog: Catalog) -> exp.Expression | None:
    source = select.args.get("from_")
    found: exp.Expression | None = None if source is None else source.this
    if found is None or select.args.get("joins") or select.args.get("distinct"):
        return select
    if isinstance(found, exp.Table) and found.name.lower() not in ctes:
        table = catalog.tables.get(found.name.lower())
        return None if table is not None and any(column.name == POSITION for column in table.columns) else found
    inner = ctes[found.name.lower()] if isinstance(found, exp.Table) else found.this
    inner = inner.this if isinstance(inner, exp.Subquery) else inner
    if not isinstance(found, exp.Table | exp.Subquery) or not isinstance(inner, exp.Select) or _is_aggregated(inner):
        return found
    without = _handed_on(inner, ctes, catalog)
    if without is None and all(item.alias_or_name != POSITION for item in inner.expressions):
        inner.append("expressions", position())
    return without


def _is_aggregated(select: exp.Select) -> bool:
    return select.args.get("group") is not None or any(
        next(aggregate_calls(item), None) is not None for item in select.expressions
    )


def position() -> exp.Column:
    """The place of a row among all that have arrived."""
    return exp.column(exp.to_identifier(POSITION, quoted=True))


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


def _running(tree: exp.Expression, keys: Sequence[exp.Expression]) -> exp.Expression:
    calls = {id(call) for call in aggregate_calls(tree)}

    def replacement(node: exp.Expression) -> exp.Expression | None:
        return at(_over(node, keys), node) if id(node) in calls else None

    return replace_nodes(tree, replacement)


def _over(call: exp.Expression, keys: Sequence[exp.Expression]) -> exp.Window:
    frame = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW", end_side=None)
    order = exp.Order(expressions=[exp.Ordered(this=position(), desc=False, nulls_first=True)])
    return exp.Window(this=call.copy(), partition_by=[key.copy() for key in keys], order=order, spec=frame)
