"""Is a view maintained by change, or recomputed and compared: what the circuit says.

The circuit is built once for all views. A view answers for the operators that it does not have from the views it reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from penstock.catalog.model import Catalog
from penstock.circuit.build import build_circuit
from penstock.circuit.operators import (
    Additive,
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
from penstock.plan.nodes import AsofJoin, Fixpoint, Join, Plan, Recompute, Scan


@dataclass(frozen=True)
class Cost:
    """What an operator of a class keeps, and what one step costs it."""

    state: str
    step: str


COSTS: Mapping[type[Operator], Cost] = {
    Source: Cost("none", "nothing"),
    Constant: Cost("none", "nothing after the first step"),
    Cleaned: Cost("a waterline for each column with LATENESS", "the change"),
    Linear: Cost("none", "the change"),
    Bilinear: Cost("both inputs, by join key", "the change, and the rows that it meets on the other side"),
    Additive: Cost("partial results, one row for each group", "the change, and the groups that it touches"),
    Counted: Cost("how often each row is there", "the change, and the rows that it touches"),
    Keyed: Cost("the inputs, by key", "all rows of the keys that the change touches"),
    Sessions: Cost("all rows, with their sessions", "the sessions next to the change"),
    Ranked: Cost("the input, and its best rows", "the change; all rows when the best run out"),
    Clocked: Cost("the input", "the change; all rows when the clock moves"),
    Recomputed: Cost("the inputs and the last answer", "everything"),
    Iterated: Cost(
        "the inputs, and how often each round gives each row", "the change, and the rows that it touches in each round"
    ),
}


_EACH_WITH_EACH = Cost("both inputs", "the change, and all rows of the other side")
_ALL_AS_ONE = Cost("the inputs", "everything")
_EVERY_ROUND = Cost("the inputs and the last answer", "everything, in every round")

# From the cheapest to the dearest.
_RANKS = (
    Source,
    Constant,
    Cleaned,
    Linear,
    Additive,
    Counted,
    Bilinear,
    Sessions,
    Keyed,
    Ranked,
    Clocked,
    Recomputed,
    Iterated,
)


def cost_of(operator: Operator) -> Cost:
    """What one operator keeps and costs: that of its class, or more where it has no key to go by."""
    if isinstance(operator, Bilinear) and isinstance(operator.node, Join) and not operator.node.keys:
        return _EACH_WITH_EACH
    if isinstance(operator, Iterated) and operator.rounds is None:
        return _EVERY_ROUND
    return _ALL_AS_ONE if _is_keyless(operator) else COSTS[type(operator)]


def rank_of(operator: Operator) -> int:
    """How dear a step is, to compare operators by."""
    return len(_RANKS) if _is_keyless(operator) else _RANKS.index(type(operator))


def _is_keyless(operator: Operator) -> bool:
    return isinstance(operator, Keyed) and not operator.few and any(not keys for keys in operator.keys)


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
        """Whether a step costs as much as the change, not as the tables."""
        return not self.recomputed


def circuit_of(catalog: Catalog, more: Mapping[str, Plan] | None = None) -> Circuit:
    """The circuit of all views, and of other plans beside them."""
    plans = {name: view.plan for name, view in catalog.views.items() if view.plan is not None}
    return build_circuit({**plans, **(more or {})}, catalog)


def verdict(name: str, plan: Plan, circuit: Circuit) -> Verdict:
    """What the circuit says about one of its outputs; `plan` tells which views it reads."""
    read = {node.relation.lower() for node in plan.walk() if isinstance(node, Scan)}
    others = _reached(circuit, [circuit.outputs[item] for item in read if item in circuit.outputs and item != name])
    own = sorted(_reached(circuit, [circuit.outputs[name]]) - others)
    operators = tuple(circuit.operators[number] for number in own)
    found = (_recomputation(item) for item in operators)
    return Verdict(operators, tuple(item for item in found if item is not None))


def _reached(circuit: Circuit, numbers: Iterable[int]) -> set[int]:
    waiting, found = list(numbers), set[int]()
    while waiting:
        number = waiting.pop()
        if number not in found:
            found.add(number)
            waiting += circuit.operators[number].inputs
    return found


def _recomputation(operator: Operator) -> Recomputation | None:
    node = operator.node
    match operator:
        case Recomputed():
            if isinstance(node, Recompute):
                return Recomputation("query", node.reason, node.span, node.rewriting)
            return Recomputation(_named(node), _no_key(node), place_of(node), _rewriting(node))
        case Iterated() if operator.rounds is None:
            span = node.span if isinstance(node, Fixpoint) else None
            return Recomputation("recursion", operator.reason, operator.place or span)
        case Keyed() if _is_keyless(operator):
            return Recomputation(_named(node), _no_key(node), place_of(node), _rewriting(node))
        case _:
            return None


def _named(node: Plan) -> str:
    if isinstance(node, AsofJoin):
        return "ASOF join"
    return f"{node.kind} join" if isinstance(node, Join) else type(node).__name__.lower()


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
