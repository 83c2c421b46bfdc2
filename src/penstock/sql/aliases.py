"""Names of the SELECT list within WHERE, where a dialect has them there, as ClickHouse does."""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.trees import aggregate_calls, is_generator

_STANDING_ALONE = exp.Column | exp.Literal | exp.Anonymous | exp.Paren


def spread_aliases(select: exp.Select) -> None:
    """Put what an item of the SELECT list is in the place of its alias in WHERE.

    `x + 1 AS x` is made of a column of that name, which WHERE then reads. An item that is no value of one row keeps its
    place: an aggregate, a window function, a query, rows made of a row.
    """
    where = select.args.get("where")
    items = {item.alias: item.this for item in select.expressions if isinstance(item, exp.Alias)}
    for column in [] if where is None else list(where.find_all(exp.Column)):
        item = None if column.table else items.get(column.name)
        if item is None or column.find_ancestor(exp.Query) is not select or _reads(item, column.name):
            continue
        if _is_of_one_row(item):
            column.replace(item.copy() if isinstance(item, _STANDING_ALONE) else exp.Paren(this=item.copy()))


def _is_of_one_row(item: exp.Expression) -> bool:
    if item.find(exp.Window, exp.Query) is not None or next(aggregate_calls(item), None) is not None:
        return False
    return not any(is_generator(node) for node in item.find_all(exp.Anonymous))


def _reads(item: exp.Expression, name: str) -> bool:
    return any(read.name == name for read in item.find_all(exp.Column))
