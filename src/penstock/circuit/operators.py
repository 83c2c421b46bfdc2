"""What a circuit is made of: operators as descriptions, each with its algebraic class.

A pass asks the class, never the name. `node` is the plan node (or, for `Linear`, the chain of nodes) that the
operator maintains, in which every input operator is read by a `Scan` of `#<number>`.

    class           | state                           | a step costs
    Source          | none                            | nothing
    Constant        | none                            | nothing after the first step
    Cleaned         | one waterline for each column     | the change
    Linear          | none                            | the change
    Bilinear        | both inputs, by join key        | the change, probed against the other side
    Additive        | partial results, by group       | the change, and the groups that it touches
    Counted         | multiplicities, by row          | the change, and the rows that it touches
    Keyed           | the inputs, by key              | all rows of the keys that the change touches
    Sessions        | the rows with their sessions    | all rows of the sessions next to the change
    Ranked          | the input, and its best rows      | the change; all rows when the best run out
    Clocked         | the input                       | the change; all rows where the clock moved
    Recomputed      | the inputs and the last answer  | everything
    Iterated        | the inputs, and rows by round    | the change, and the rows that it touches, by round
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from penstock.circuit.forgetting import Expiry
from penstock.circuit.partials import Partials
from penstock.errors import Span
from penstock.plan.nodes import Field, Plan
from penstock.plan.scalar import Scalar


@dataclass(frozen=True)
class Operator:
    """One operator: its number, its plan node, the numbers of its inputs, and what it may forget.

    `plan` is the node as it stands in the view, over its own inputs.
    """

    number: int
    node: Plan
    inputs: tuple[int, ...]
    expiries: tuple[Expiry, ...] = field(default=(), kw_only=True, compare=False)
    plan: Plan | None = field(default=None, kw_only=True, compare=False, repr=False)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns of its output, without the weight."""
        return self.node.fields


@dataclass(frozen=True)
class Source(Operator):
    """The change of a table, or of a view that another circuit maintains.

    The inputs of `error_view` are the `Cleaned` operators whose late rows it shows in the same step.
    """

    relation: str = ""


@dataclass(frozen=True)
class Constant(Operator):
    """Rows that are there from the first step on and never change."""


@dataclass(frozen=True)
class Cleaned(Operator):
    """LATENESS of a view: late rows of its change are dropped right behind it."""

    view: str = ""


@dataclass(frozen=True)
class Linear(Operator):
    """f(A + B) = f(A) + f(B): applied to the change alone."""


@dataclass(frozen=True)
class Bilinear(Operator):
    """An inner or cross join: Δ(A⋈B) = ΔA⋈B' ∪ A⋈ΔB; `append_only` says of each input that nothing is retracted."""

    append_only: tuple[bool, ...]


@dataclass(frozen=True)
class Additive(Operator):
    """A GROUP BY whose aggregates are kept as partial results that can be added up."""

    partials: Partials
    append_only: bool = False


@dataclass(frozen=True)
class Counted(Operator):
    """DISTINCT, INTERSECT, EXCEPT: the weight of an output row follows from its weights in the inputs."""


@dataclass(frozen=True)
class Keyed(Operator):
    """Whatever works key by key: Δ = f(new rows of the touched keys) − f(their old rows).

    `keys` has the key expressions of each input; no key means that all rows belong together. `append_only` and
    `single` say of each input that nothing is ever retracted from it, and that no row occurs twice. `few` says that
    there is no key, but only a bounded number of rows (penstock.circuit.buckets).
    """

    keys: tuple[tuple[Scalar, ...], ...]
    append_only: tuple[bool, ...]
    single: tuple[bool, ...]
    few: bool = False


@dataclass(frozen=True)
class Sessions(Operator):
    """SESSION: a changed row touches the sessions of its key that it lies in or within a gap of, no others."""


@dataclass(frozen=True)
class Ranked(Operator):
    """ORDER BY … LIMIT without a key: keeps more of the best rows than it shows.

    From an append-only input nothing but the shown rows is kept.
    """

    append_only: bool = False


@dataclass(frozen=True)
class Clocked(Operator):
    """A filter or projection that reads the step's clock."""


@dataclass(frozen=True)
class Recomputed(Operator):
    """A query without a key to go by: recomputed and compared (A5)."""

    uses_clock: bool = False


@dataclass(frozen=True)
class Iterated(Operator):
    """The least fixed point of recursive views.

    `rounds` maintains it by change, round by round (penstock.circuit.rounds). Without, it is recomputed: `reason` says
    why, and `place` where.
    """

    rounds: Rounds | None = None
    reason: str = ""
    place: Span | None = None
    uses_clock: bool = False


@dataclass(frozen=True)
class Rounds:
    """What maintains a recursion: its bodies, with the round of each row, and what finds each row's first round.

    The sources of `circuit` are the operator's inputs (`#<number>`) and the recursive views by their lower-case
    names. `firsts` has an operator for each view, in their order; none where every round counts (UNION ALL).
    """

    circuit: Circuit
    firsts: tuple[Keyed, ...]


@dataclass(frozen=True)
class Circuit:
    """Operators, each after its inputs; `outputs` maps a view's lower-case name to its operator."""

    operators: tuple[Operator, ...]
    outputs: Mapping[str, int]

    @cached_property
    def readers(self) -> Mapping[int, tuple[str, ...]]:
        """The views that each operator works for."""
        found: dict[int, dict[str, None]] = {operator.number: {} for operator in self.operators}
        for view, number in self.outputs.items():
            found[number][view] = None
        for operator in reversed(self.operators):
            for number in operator.inputs:
                found[number] |= found[operator.number]
        return {number: tuple(views) for number, views in found.items()}

    def consumers(self) -> dict[int, int]:
        """How many readers each operator's change has, views counted as one each."""
        counts = {operator.number: 0 for operator in self.operators}
        for operator in self.operators:
            for number in operator.inputs:
                counts[number] += 1
        for number in self.outputs.values():
            counts[number] += 1
        return counts


def leaf(number: int, fields: tuple[Field, ...]) -> Plan:
    """How a node reads the output of another operator."""
    from penstock.plan.nodes import Scan

    return Scan(f"#{number}", fields)
