"""WHERE of a subquery: which conditions tie it to the enclosing query, and how a join can carry them."""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.bound_query import OuterKey
from penstock.bind.domain import NeedDomain
from penstock.bind.level import Level
from penstock.bind.marks import OUTER, SUBQUERY, has_mark, is_mark
from penstock.plan.scalar import column_tree
from penstock.sql.trees import replace_nodes


def split_correlated(parts: list[exp.Expression], level: Level) -> list[exp.Expression]:
    """The conditions that stay inside; `level.keys`, `.residual` and `.carried` take the others.

    `inner = outer` becomes a key of the join with the enclosing query. Any other condition goes to `residual`, which
    only a SEMI or ANTI join can carry.
    """
    inside: list[exp.Expression] = []
    for part in parts:
        if not has_mark(part, OUTER):
            inside.append(part)
        elif has_mark(part, SUBQUERY):
            raise NeedDomain
        elif not _take_key(part, level):
            level.residual.append(_carrying(part, level))
    return inside


def _take_key(part: exp.Expression, level: Level) -> bool:
    if not isinstance(part, exp.EQ | exp.NullSafeEQ):
        return False
    for inner, outer in ((part.this, part.expression), (part.expression, part.this)):
        if has_mark(inner, OUTER) or not _only_outer(outer) or not list(inner.find_all(exp.Column)):
            continue
        name = f"__k{len(level.keys)}"
        level.keys.append(OuterKey(name, inner, without_marks(outer), isinstance(part, exp.NullSafeEQ)))
        level.carried.append((name, inner))
        return True
    return False


def _carrying(part: exp.Expression, level: Level) -> exp.Expression:
    """The condition over columns that the subquery hands out for it."""

    def renamed(node: exp.Expression) -> exp.Expression | None:
        if is_mark(node, OUTER):
            return node.copy()
        if not isinstance(node, exp.Column):
            return None
        name = f"__r{len(level.carried)}"
        level.carried.append((name, node.copy()))
        return column_tree(name)

    return replace_nodes(part, renamed)


def _only_outer(tree: exp.Expression) -> bool:
    """True if every column in the tree is the enclosing query's."""
    if is_mark(tree, OUTER):
        return True
    if isinstance(tree, exp.Column):
        return False
    parts = [item for value in tree.args.values() for item in (value if isinstance(value, list) else [value])]
    return all(_only_outer(item) for item in parts if isinstance(item, exp.Expression))


def without_marks(tree: exp.Expression) -> exp.Expression:
    """The expression over the enclosing query's fields."""
    return replace_nodes(tree, lambda node: node.expressions[0].copy() if is_mark(node, OUTER) else None)
