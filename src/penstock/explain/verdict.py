"""Is a view maintained by change, or recomputed and compared: what the circuit says.

The circuit is built once for all views. A view answers for the operators that it does not have from the views it reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never, cast

from penstock.catalog.model import Catalog
from penstock.circuit.build import build_circuit
from penstock.circuit.operators import (
    Additive,
    AnyOperator,
    Arrived,
    Arriving,
    Bilinear,
    Circuit,
    Cleaned,
    Clocked,
    Constant,
    Counted,
    Iterated,
    Keyed,
    Linear,
    Operator,
    Ranked,
    Recomputed,
    Sessions,
    Source,
)
from penstock.errors import Span
from penstock.plan.expressions import place_of, plan_reads_clock
from penstock.plan.nodes import AsofJoin, Fixpoint, Join, Plan, Recompute


@dataclass(frozen=True)
class Recomputation:
    """One operator that is recomputed: why, where in the SQL, and what would be incremental."""

    operator: str
    reason: str
    span: Span | None = field(default=None, compare=False)
    rewriting: str | None = None


@dataclass(frozen=True)
class Verdict:
    """The operators of one view; none in `recomputed` means that it is incremental throughout."""

    operators: tuple[Operator, ...]
    recomputed: tuple[Recomputation, ...]

    @property
    def incremental(self) -> bool:
        """True if a step costs as much as the change, not as the tables."""
        return not self.recomputed


def plans_of(catalog: Catalog) -> dict[str, Plan]:
    """The plans of all views."""
    return {name: view.plan for name, view in catalog.views.items() if view.plan is not None}


def circuit_of(catalog: Catalog, more: Mapping[str, Plan] | None = None) -> Circuit:
    """The circuit of all views, and of other plans beside them."""
    return build_circuit({**plans_of(catalog), **(more or {})}, catalog)


def verdict(name: str, plan: Plan, circuit: Circuit) -> Verdict:
    """The verdict of the circuit on one of its outputs; `plan` tells which views it reads."""
    views = (plan.scanned & circuit.outputs.keys()) - {name}
    operators = circuit.below(circuit.outputs[name], [circuit.outputs[item] for item in views])
    found = (_recomputation(item) for item in operators)
    return Verdict(operators, tuple(item for item in found if item is not None))


def _recomputation(found: Operator) -> Recomputation | None:
    operator, node = cast("AnyOperator", found), found.node
    match operator:
        case Recomputed():
            if isinstance(node, Recompute):
                return Recomputation("query", node.reason, node.span, node.rewriting)
            return Recomputation(_named(node), _no_key(node), place_of(node), _rewriting(node))
        case Iterated() if operator.rounds is None:
            span = node.span if isinstance(node, Fixpoint) else None
            return Recomputation("recursion", operator.reason, operator.place or span)
        case Keyed() if operator.keyless:
            return Recomputation(_named(node), _no_key(node), place_of(node), _rewriting(node))
        case Source() | Constant() | Cleaned() | Arriving() | Arrived() | Linear() | Clocked():
            return None
        case Additive() | Counted() | Bilinear() | Sessions() | Keyed() | Ranked() | Iterated():
            return None
        case _:
            assert_never(operator)


def _named(node: Plan) -> str:
    if isinstance(node, AsofJoin):
        return "ASOF join"
    return f"{node.kind.value} join" if isinstance(node, Join) else type(node).__name__.lower()


def _no_key(node: Plan) -> str:
    if plan_reads_clock(node):
        return "it reads the clock, so all its rows change with time"
    if isinstance(node, Join) and node.null_aware:
        return "NOT IN gives no row at all once there is a NULL, so every row depends on every other"
    if isinstance(node, Join):
        return "without an equality between the two sides there is no key to go by"
    return "without a key all rows belong together"


def _rewriting(node: Plan) -> str | None:
    if plan_reads_clock(node):
        return "compare with the clock in WHERE"
    if isinstance(node, Join) and node.null_aware:
        return "NOT EXISTS, if the compared values are never NULL"
    if isinstance(node, Join):
        return "an equality in ON, beside the other conditions"
    return {"Window": "PARTITION BY", "Aggregate": "GROUP BY", "AsofJoin": "an equality in ON"}.get(type(node).__name__)
