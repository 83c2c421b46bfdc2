"""The oracle's row above GROUP BY: functions OVER groups go by the groups' keys, not by a row of the FROM clause."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

from sqlglot import exp

from penstock.catalog.functions import is_aggregate

_WRAPPERS = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)


def is_over_groups(node: exp.Expression, select: exp.Select) -> bool:
    """True if an expression of a SELECT stands in a window, and that window is over groups."""
    parent = node.parent
    while parent is not None and parent is not select:
        if isinstance(parent, exp.Window):
            return _is_grouped(select)
        if _is_aggregate(parent) and not _is_windowed(parent):  # it is of the rows that are grouped
            return False
        parent = parent.parent
    return False


def group_row(select: exp.Select, is_column: Callable[[exp.Expression], bool]) -> exp.Expression:
    """The keys of a grouped SELECT as one value; `is_column` tells names of the FROM clause from those of the list."""
    group = select.args.get("group")
    keys: list[exp.Expression] = []
    if group is not None and group.args.get("all"):
        keys = [item.unalias() for item in select.expressions if not any(map(_is_aggregate, item.walk()))]
    elif group is not None:
        keys = [_key(item, select, is_column) for item in _items(group)]
        if any(group.args.get(kind) for kind in ("grouping_sets", "cube", "rollup")) or _has_sets(group):
            keys.append(exp.Anonymous(this="grouping_id", expressions=[]))
    return exp.Anonymous(this="struct", expressions=[key.copy() for key in keys] or [exp.Literal.number(1)])


def _is_grouped(select: exp.Select) -> bool:
    if select.args.get("group") or select.args.get("having"):
        return True
    return any(
        _is_aggregate(node) and not _is_windowed(node) and node.find_ancestor(exp.Select) is select
        for node in select.find_all(exp.Anonymous)
    )


def _is_aggregate(node: object) -> bool:
    return isinstance(node, exp.Anonymous) and is_aggregate(str(node.this))


def _is_windowed(node: exp.Expr) -> bool:
    """True if the call is the function of an OVER itself."""
    while isinstance(node.parent, _WRAPPERS):
        node = node.parent
    return isinstance(node.parent, exp.Window) and node.parent.this is node


def _has_sets(group: exp.Group) -> bool:
    return any(isinstance(item, exp.GroupingSets | exp.Cube | exp.Rollup) for item in group.expressions)


def _items(group: exp.Group) -> Iterator[exp.Expression]:
    """Every expression that is grouped by, out of the sets it stands in."""
    parts = list(group.expressions)
    for kind in ("grouping_sets", "cube", "rollup"):
        parts += group.args.get(kind) or []
    while parts:
        part = parts.pop(0)
        if isinstance(part, exp.GroupingSets | exp.Cube | exp.Rollup | exp.Tuple):
            parts[:0] = part.expressions
        else:
            yield part


def _key(item: exp.Expression, select: exp.Select, is_column: Callable[[exp.Expression], bool]) -> exp.Expression:
    bare = item.unnest()
    if isinstance(bare, exp.Literal) and not bare.is_string:
        return cast("exp.Expression", select.selects[int(bare.name) - 1].unalias())
    if isinstance(bare, exp.Column) and not bare.table and not is_column(bare):
        named = (part for part in select.expressions if part.alias.lower() == bare.name.lower())
        return cast("exp.Expression", next(named, bare).unalias())
    return item
