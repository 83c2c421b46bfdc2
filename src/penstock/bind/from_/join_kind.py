"""The kind of a join, from the words before JOIN."""

from __future__ import annotations

from sqlglot import exp

from penstock.plan.nodes import ANTI, FULL, INNER, LEFT, RIGHT, SEMI
from penstock.sql.complaints import unsupported


def kind_of(join: exp.Join) -> str:
    """The plan's kind of a parsed join."""
    side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
    if kind in ("SEMI", "ANTI"):
        return SEMI if kind == "SEMI" else ANTI
    found = {"LEFT": LEFT, "RIGHT": RIGHT, "FULL": FULL, "": INNER}.get(side)
    if found is None or kind not in ("", "INNER", "CROSS", "OUTER"):
        raise unsupported(code="JOIN_KIND", message=f"a {side} {kind} JOIN", place=join)
    return found
