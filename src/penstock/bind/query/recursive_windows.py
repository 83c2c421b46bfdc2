"""Window functions over the rows of a recursion, which have no meaning: each round would number the rows anew."""

from __future__ import annotations

from collections.abc import Collection

from penstock.plan.expressions import place_of
from penstock.plan.nodes import Plan, TopK, Window
from penstock.sql.complaints import wrong


def refuse_windows(body: Plan, names: Collection[str]) -> None:
    """Raise SqlError for a window function in the body of a recursion over the relations of these lower-case names."""
    for node in body.walk():
        if _is_window(node) and not node.scanned.isdisjoint(names):
            message = "a window function over the rows of a recursion, of which each round brings more"
            hint = "put the function into a query over the recursion, or over what the recursion reads"
            raise wrong(code="RECURSION_WINDOW", message=message, place=place_of(node), hint=hint)


def _is_window(node: Plan) -> bool:
    """True for OVER, and for a rank that became a Top-K."""
    return isinstance(node, Window) or (isinstance(node, TopK) and node.number is not None)
