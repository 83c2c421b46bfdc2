"""Subqueries that GROUP BY and another clause both have."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from penstock.bind.level import Level
from penstock.bind.marks import SUBQUERY, is_mark
from penstock.sql.text import spark_sql
from penstock.sql.trees import at, nodes, replace_nodes


def as_grouped(trees: list[exp.Expression], groups: Iterable[exp.Expression], level: Level) -> list[exp.Expression]:
    """The trees, where a subquery that a GROUP BY expression has as well bears that one's mark."""
    marks = [node for tree in groups for node in nodes(tree) if is_mark(node, SUBQUERY)]
    known = {_content(mark, level): mark for mark in reversed(marks)}
    if not known:
        return trees

    def shared(node: exp.Expression) -> exp.Expression | None:
        found = known.get(_content(node, level)) if is_mark(node, SUBQUERY) else None
        return None if found is None else at(found.copy(), node)

    return [replace_nodes(tree, shared) for tree in trees]


def _content(mark: exp.Expression, level: Level) -> tuple[str, ...]:
    """The question of a mark, whatever number it bears: the subquery's text, and all that it reads around itself."""
    number, *arguments = mark.expressions
    found = level.subqueries[int(number.this)]
    return found.kind, spark_sql(found.compared or found.tree), *map(spark_sql, arguments)
