"""Taking plan nodes and conditions apart: the expressions of a node, the conjuncts of a condition, the clock in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import assert_never, cast

from sqlglot import exp

from penstock.errors import Span
from penstock.plan.forms import CLOCK_FUNCTIONS
from penstock.plan.nodes import (
    AsofJoin,
    Fixpoint,
    Join,
    JoinKind,
    Plan,
    Recompute,
    Scan,
)
from penstock.plan.scalar import Scalar, boolean
from penstock.sql.trees import bare

COMPARISONS: Mapping[str, Callable[..., exp.Expression]] = {">=": exp.GTE, ">": exp.GT, "<=": exp.LTE, "<": exp.LT}


def scalars_of(plan: Plan) -> tuple[Scalar, ...]:
    """The expressions of one node, not those of its inputs; an opaque node (Recompute, Fixpoint) has none."""
    return tuple(part.scalar for part in plan.parts)


def pairs_of(plan: AsofJoin) -> Join:
    """The join of which an ASOF join takes one pair for each left row: of all that match."""
    match = plan.match
    tree = COMPARISONS[match.comparison](this=_operand(match.left.tree), expression=_operand(match.right.tree))
    return Join(plan.left, plan.right, plan.kind, plan.keys, boolean(tree, match.left.span))


def place_of(plan: Plan) -> Span | None:
    """Where a node stands in the SQL: its own span, or from the first to the last of its expressions."""
    own: Span | None = getattr(plan, "span", None)
    if own is not None:
        return own
    spans = [scalar.span for scalar in scalars_of(plan) if scalar.span is not None]
    return Span(min(span.start for span in spans), max(span.end for span in spans)) if spans else None


def plan_reads_clock(plan: Plan) -> bool:
    """True if the node itself (not its inputs) reads the clock."""
    if isinstance(plan, Recompute):
        lower = plan.text.lower()
        return any(name in lower for name in CLOCK_FUNCTIONS - {"unix_timestamp"}) or "unix_timestamp()" in lower
    return any(part.scalar.reads_clock for part in plan.parts)


def kept_sides(join: Join) -> tuple[Plan, ...]:
    """The sides whose rows a join gives, or leaves out, by whether they have a match: none of an inner join."""
    match join.kind:
        case JoinKind.INNER:
            return ()
        case JoinKind.FULL:
            return (join.left, join.right)
        case JoinKind.RIGHT:
            return (join.right,)
        case JoinKind.LEFT | JoinKind.SEMI | JoinKind.ANTI:
            return (join.left,)
        case _:
            assert_never(join.kind)


def reads_tables(plan: Plan) -> bool:
    """True if anything in it can change: it reads tables, or the clock."""
    return any(isinstance(node, Scan | Recompute | Fixpoint) or plan_reads_clock(node) for node in plan.walk())


def conjuncts(condition: Scalar) -> tuple[Scalar, ...]:
    """The parts of a condition that are joined by AND, in the order written."""
    return condition.conjuncts


def disjuncts(condition: Scalar) -> tuple[Scalar, ...]:
    """The parts of a condition that are joined by OR, in the order written."""
    return condition.disjuncts


def conjunction(parts: Iterable[Scalar]) -> Scalar | None:
    """The parts joined by AND; None if there is none."""
    return _joined(exp.And, tuple(parts))


def disjunction(parts: Iterable[Scalar]) -> Scalar | None:
    """The parts joined by OR; None if there is none."""
    return _joined(exp.Or, tuple(parts))


def _joined(kind: type[exp.Connector], parts: tuple[Scalar, ...]) -> Scalar | None:
    if len(parts) <= 1:
        return parts[0] if parts else None
    tree: exp.Expr = _operand(parts[0].tree)
    for part in parts[1:]:
        tree = kind(this=tree, expression=_operand(part.tree))
    spans = [part.span for part in parts if part.span is not None]
    span = Span(min(item.start for item in spans), max(item.end for item in spans)) if spans else None
    return boolean(cast("exp.Expression", tree), span)


def _operand(tree: exp.Expression) -> exp.Expression:
    copied = bare(tree).copy()
    return exp.Paren(this=copied) if isinstance(copied, exp.Connector | exp.Lambda) else copied


__all__ = [
    "CLOCK_FUNCTIONS", "COMPARISONS", "bare", "boolean", "conjunction", "conjuncts", "disjunction", "disjuncts",
    "pairs_of", "place_of", "plan_reads_clock", "scalars_of",
]  # fmt: skip
