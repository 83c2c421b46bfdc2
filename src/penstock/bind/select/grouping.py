"""GROUP BY: ordinals, aliases, ALL, and GROUPING SETS, CUBE and ROLLUP as sets of positions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

from sqlglot import exp

from penstock.bind.level import Level
from penstock.bind.select.ordering import by_position
from penstock.bind.time_windows.group_functions import group_keys
from penstock.bind.time_windows.in_group_by import ends_of
from penstock.catalog.settings import DEFAULT_DIALECT, DIALECT
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.trees import aggregate_calls, bare, same


@dataclass(frozen=True)
class Grouping:
    """The grouping expressions; `sets` has the positions that each grouping set groups by, None in a plain GROUP BY."""

    trees: tuple[exp.Expression, ...]
    sets: tuple[tuple[int, ...], ...] | None = None


def grouping_of(select: exp.Select, names: list[str], items: list[exp.Expression], level: Level) -> Grouping | None:
    """The bound GROUP BY of a SELECT, None without one."""
    group = select.args.get("group")
    if group is None:
        return None
    if group.args.get("totals"):
        hint = "GROUP BY GROUPING SETS ((k), ()) has a row of all rows"
        raise unsupported(code="QUERY", message="GROUP BY … WITH TOTALS", place=group, hint=hint)
    if group.args.get("all"):
        keys = {same(tree): tree for tree in items if next(aggregate_calls(tree), None) is None}
        return Grouping(tuple(keys.values()))
    builder = _Builder(names, items, level)
    listed = builder.listed(group) if group.args.get("grouping_sets") else _parts(group)
    if listed and all(isinstance(item, exp.Tuple) and not item.expressions for item in listed):
        return Grouping((), None if _totals_always(level) else ((),))
    alternatives = [builder.alternatives(item) for item in listed]
    if all(len(item) == 1 for item in alternatives) and not builder.sets:
        return Grouping(tuple(builder.trees))
    sets = tuple(tuple(dict.fromkeys(part for one in choice for part in one)) for choice in product(*alternatives))
    return Grouping(tuple(builder.trees), sets)


def _totals_always(level: Level) -> bool:
    """True in dialects whose GROUP BY () has its row over no rows, too; in Spark's words it is GROUPING SETS (())."""
    return level.context.catalog.settings.get(DIALECT, DEFAULT_DIALECT) in ("calcite", "feldera", "flink")


def _parts(group: exp.Group) -> list[exp.Expression]:
    """The items of GROUP BY; `a, b WITH ROLLUP` is `ROLLUP (a, b)`."""
    items = list(group.expressions)
    for key in ("cube", "rollup"):
        for item in group.args.get(key) or []:
            behind = isinstance(item, exp.Cube | exp.Rollup) and not item.expressions
            items = [type(item)(expressions=items)] if behind else [*items, item]
    return items


def grouped_by(group: exp.Group) -> Iterator[exp.Expression]:
    """Every expression of GROUP BY, out of the sets that it stands in."""
    items = [*(group.args.get("grouping_sets") or []), *_parts(group)]
    while items:
        item = items.pop(0)
        if isinstance(item, exp.GroupingSets | exp.Cube | exp.Rollup | exp.Tuple):
            items[:0] = item.expressions
        else:
            yield bare(item)


def has_sets(group: exp.Group) -> bool:
    """True for a GROUP BY with GROUPING SETS, CUBE or ROLLUP."""
    items = [*(group.args.get("grouping_sets") or []), *_parts(group)]
    return any(isinstance(item, exp.GroupingSets | exp.Cube | exp.Rollup) for item in items)


class _Builder:
    def __init__(self, names: list[str], items: list[exp.Expression], level: Level) -> None:
        self.names, self.items, self.level = names, items, level
        self.trees: list[exp.Expression] = []
        self.texts: dict[str, int] = {}
        self.sets = False

    def listed(self, group: exp.Group) -> list[exp.Expression]:
        """`a, b GROUPING SETS (…)`: the sets alone; the list before them says what the keys are."""
        for item in group.expressions:
            self._position_set(item)
        return list(group.args["grouping_sets"])

    def alternatives(self, item: exp.Expression) -> list[tuple[int, ...]]:
        """The grouping sets that one item of GROUP BY stands for."""
        if isinstance(item, exp.GroupingSets):
            self.sets = True
            return [found for part in item.expressions for found in self.alternatives(part)]
        if isinstance(item, exp.Cube | exp.Rollup):
            self.sets = True
            parts = [self._position_set(part) for part in item.expressions]
            return _rollup(parts) if isinstance(item, exp.Rollup) else _cube(parts)
        return [self._position_set(item)]

    def _position_set(self, item: exp.Expression) -> tuple[int, ...]:
        if isinstance(item, exp.Tuple):
            return tuple(place for part in item.expressions for place in self._positions(part))
        return self._positions(item)

    def _positions(self, item: exp.Expression) -> tuple[int, ...]:
        session = group_keys(bare(item), self.level)
        trees = self._keys(bare(item)) if session is None else session
        return tuple(self._position(tree) for tree in trees)

    def _keys(self, item: exp.Expression) -> list[exp.Expression]:
        tree = self._bound(item)
        return ends_of(tree, self.level) or [tree]

    def _bound(self, item: exp.Expression) -> exp.Expression:
        tree = by_position(item, self.items, "GROUP BY")
        if tree is not None:
            return tree
        self.level.in_group = True
        try:
            return bare(self.level.bind(item))  # an alias stands for its expression in parentheses
        finally:
            self.level.in_group = False

    def _position(self, tree: exp.Expression) -> int:
        found = next(aggregate_calls(tree), None)
        if found is not None:
            message = "an aggregate cannot stand in GROUP BY"
            raise wrong(code="AGGREGATE_IN_GROUP_BY", message=message, place=found, sqlstate="42903")
        text = same(tree)
        if text not in self.texts:
            self.texts[text] = len(self.trees)
            self.trees.append(tree)
        return self.texts[text]


def _rollup(parts: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return [tuple(item for part in parts[:length] for item in part) for length in range(len(parts), -1, -1)]


def _cube(parts: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    chosen = [choice for length in range(len(parts), -1, -1) for choice in combinations(parts, length)]
    return [tuple(item for part in choice for item in part) for choice in chosen]
