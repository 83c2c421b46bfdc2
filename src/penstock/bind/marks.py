"""The marks that the binder leaves in parsed trees.

Between binding and planning a tree may hold marks, written as calls: `__outer(e)`, an expression over the
enclosing query's fields, and `__subquery(n, e, …)`, the value of the query's n-th subquery, which reads the
expressions e of this query; `__denied(n, e, …)` is the same for an IN below a NOT.
"""

from __future__ import annotations

from sqlglot import exp

OUTER, SUBQUERY, DENIED = "__outer", "__subquery", "__denied"


def marked(name: str, expressions: list[exp.Expression]) -> exp.Anonymous:
    """A mark of the binder."""
    return exp.Anonymous(this=name, expressions=expressions)


def is_mark(tree: object, name: str) -> bool:
    """True for that mark."""
    return isinstance(tree, exp.Anonymous) and tree.this == name


def has_mark(tree: exp.Expression, name: str) -> bool:
    """True if that mark stands anywhere in the tree."""
    return any(is_mark(node, name) for node in tree.walk())
