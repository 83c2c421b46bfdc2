"""Outer joins, windows, Top-K by key, and aggregates without partial results: what works key by key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, assert_never, cast

from penstock.circuit.buckets import BUCKET_TITLE, is_by_bucket
from penstock.circuit.forgetting import Expiry, keys_expire
from penstock.circuit.lookback import windows_expire
from penstock.circuit.operators.bilinear import KEPT_OF_BOTH_SIDES
from penstock.circuit.operators.operator import Cost, Knowledge, Operator
from penstock.plan.nodes import (
    Aggregate,
    Arrived,
    Arriving,
    AsofJoin,
    Distinct,
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
from penstock.plan.scalar import Scalar

_ALL_AS_ONE = Cost("the inputs", "everything")


@dataclass(frozen=True)
class Keyed(Operator):
    """Whatever works key by key: Δ = f(new rows of the touched keys) − f(their old rows).

    `keys` has the key expressions of each input; no key means that all rows belong together. `append_only` and
    `single` say of each input that nothing is ever retracted from it, and that no row occurs twice. `few` says that
    there is no key, but only a bounded number of rows (penstock.circuit.buckets).

    It forgets rows by a column of the key, or one that the key determines; Top-K, MIN and MAX also rows that cannot
    be deleted any more, but for the best of them; windows all but the rows that LAG or the frame of a later row
    reaches; joins rows of both sides, by columns that are equated, or that the condition keeps near each other; ASOF
    joins left rows, and right rows but for the closest of each key.
    """

    keys: tuple[tuple[Scalar, ...], ...]
    append_only: tuple[bool, ...]
    single: tuple[bool, ...]
    few: bool = False

    usual: ClassVar[Cost] = Cost("the inputs, by key", "all rows of the keys that the change touches")

    @property
    def keyless(self) -> bool:
        """True if each change touches all rows, and they are not few."""
        return not self.few and any(not keys for keys in self.keys)

    @property
    def cost(self) -> Cost:
        """That of its class, or of going through all rows."""
        return _ALL_AS_ONE if self.keyless else self.usual

    @property
    def keeps(self) -> str:
        """The rows that its state has, in words."""
        node = cast("Node", self.plan)
        match node:
            case Join() | AsofJoin():
                return KEPT_OF_BOTH_SIDES
            case Aggregate() if self.few:
                return f"one row for each {BUCKET_TITLE}"
            case Aggregate():
                return f"all rows that it reads, by {BUCKET_TITLE if is_by_bucket(node) else 'group'}"
            case TopK() | Window() if node.partition:
                return "all rows, by partition"
            case Scan() | Values() | Project() | Filter() | UnionAll() | Generate() | Distinct() | SetOperation():
                return "all rows"
            case TopK() | Window() | Session() | MatchRecognize() | Recompute() | Fixpoint() | Arriving() | Arrived():
                return "all rows"
            case _:
                assert_never(node)

    def forgets(self, plan: Plan, known: Knowledge) -> tuple[Expiry, ...]:
        """Rows of keys that are below a waterline, and rows that are of no use to later ones."""
        if isinstance(plan, Window):
            return windows_expire(*known.windows(plan), known.reader, known.catalog)
        if self.few:
            return ()  # its rows are the buckets' answers
        if isinstance(plan, Aggregate) and isinstance(self.node, Aggregate):
            # Among texts that a collation holds equal the node chooses by more than MIN and MAX say.
            plan = replace(plan, aggregates=self.node.aggregates)
        return keys_expire(plan, known.reader, known.catalog)
