"""The base of all operators, and what every class of them has to say of itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, assert_never, cast

from penstock.analysis.waterline import Reader
from penstock.catalog.model import Catalog
from penstock.circuit.forgetting import Expiry
from penstock.circuit.window_chains import Link
from penstock.plan.nodes import (
    Aggregate,
    Arrived,
    Arriving,
    AsofJoin,
    Distinct,
    Field,
    Filter,
    Fixpoint,
    Generate,
    Join,
    MatchRecognize,
    Node,
    Plan,
    Project,
    Recompute,
    Scan,
    Session,
    SetOperation,
    TopK,
    UnionAll,
    Values,
    Window,
)

NO_STATE = "none"


@dataclass(frozen=True)
class Cost:
    """The words for what an operator keeps, and for what one step costs it."""

    state: str
    step: str


@dataclass(frozen=True)
class Knowledge:
    """The facts from which an operator finds out what it may forget.

    `windows` gives the chain of nodes that a window's operator works through, the top first, and its lowest window.
    """

    reader: Reader
    catalog: Catalog
    windows: Callable[[Window], tuple[tuple[Link, ...], Window]]


@dataclass(frozen=True)
class Operator:
    """One operator: its number, its plan node, the numbers of its inputs, and what it may forget.

    `plan` is the node as it stands in the view, over its own inputs. `usual` is what the class costs.
    """

    number: int
    node: Plan
    inputs: tuple[int, ...]
    expiries: tuple[Expiry, ...] = field(default=(), kw_only=True, compare=False)
    plan: Plan | None = field(default=None, kw_only=True, compare=False, repr=False)

    usual: ClassVar[Cost]

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns of its output, without the weight."""
        return self.node.fields

    @property
    def cost(self) -> Cost:
        """The cost of this one: that of its class, or more where it has no key to go by."""
        return self.usual

    @property
    def stateful(self) -> bool:
        """True if it remembers anything from step to step."""
        return self.usual.state != NO_STATE

    @property
    def title(self) -> str:
        """The name that people know it by."""
        return node_title(self.node)

    @property
    def keeps(self) -> str:
        """The rows that its state has, in words; "" where it keeps none."""
        return ""

    def forgets(self, plan: Plan, known: Knowledge) -> tuple[Expiry, ...]:
        """The entries of its state that no accepted input can touch again, once a waterline has passed them."""
        del self, plan, known
        return ()


def node_title(plan: Plan) -> str:
    """The name that people know the operator of a node by."""
    node = cast("Node", plan)
    match node:
        case Join():
            return f"{node.kind.value.capitalize()} join"
        case AsofJoin():
            return "ASOF join"
        case SetOperation():
            return node.kind.value.upper()
        case Distinct():
            return "DISTINCT"
        case Session():
            return "SESSION"
        case MatchRecognize():
            return "MATCH_RECOGNIZE"
        case TopK():
            return "Top-K"
        case Scan() | Values() | Project() | Filter() | UnionAll() | Generate():
            return type(node).__name__
        case Aggregate() | Window() | Recompute() | Fixpoint() | Arriving() | Arrived():
            return type(node).__name__
        case _:
            assert_never(node)
