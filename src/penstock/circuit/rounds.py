"""Recursion by change: the body of a recursive view with the round of every row beside it.

In a round the body reads what the round before has found, so a row is known by its round as well as by its values:

    R(0) = base                 R(i + 1) = step(R(i))                the view is what all rounds give

`lifted` writes that as a plan over rows with a column `__round`: rows that are read from the recursive view come one
round later, rows of other relations belong to round 0, and a join of two recursive relations gives a row in the
later of their rounds. The lifted plan is maintained by the usual operators, fed with its own output round by round
(penstock.backends.spark.operators.iterated).

With set semantics a row belongs to the first round that gives it. That is the least fixed point only where more rows
never take one away (a monotone body), and one pass over new rows is enough only because each node here treats the
rows of the recursive view one by one. What is neither is told by `Unliftable`, and recomputed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import assert_never, cast

from penstock.circuit.operators import Keyed, leaf
from penstock.errors import Span
from penstock.plan.expressions import place_of, plan_reads_clock
from penstock.plan.nodes import (
    Aggregate,
    AggregateCall,
    Arrived,
    Arriving,
    AsofJoin,
    Distinct,
    Field,
    Filter,
    Fixpoint,
    Generate,
    Join,
    JoinKey,
    JoinKind,
    MatchRecognize,
    Node,
    Plan,
    Project,
    Recompute,
    Scan,
    Session,
    SetKind,
    SetOperation,
    TopK,
    UnionAll,
    Values,
    Window,
)
from penstock.plan.parsing import parse_scalar
from penstock.plan.scalar import Scalar, column, quoted

ROUND = "__round"
_OTHER = "__round_right"
_KIND = "int"


class Unliftable(Exception):  # noqa: N818 (it is an answer, not an error)
    """A body that cannot be maintained round by round."""

    def __init__(self, reason: str, node: Plan) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span: Span | None = place_of(node)


def independent(plan: Plan, views: frozenset[str]) -> Iterator[Plan]:
    """The largest parts of a body that do not read a recursive view."""
    if not plan.scanned & views:
        yield plan
    else:
        for item in plan.inputs:
            yield from independent(item, views)


def lifted_bodies(node: Fixpoint) -> tuple[Plan, ...]:
    """Every body with the round as its last column; raises `Unliftable`."""
    lifting = _Lifting(frozenset(name.lower() for name in node.views), node.distinct)
    return tuple(_ordered(lifting.tagged(body), body.names, body.names) for body in node.bodies)


def first_round(names: tuple[str, ...]) -> Keyed:
    """The operator that finds the first round of each row of a view with these columns."""
    groups = tuple((name, column(name)) for name in names)
    least = AggregateCall("min", (column(ROUND, _KIND),), _scalar(f"min({quoted(ROUND)})"))
    rows = leaf(0, (*(Field(name) for name in names), _FIELD))
    node = Aggregate(rows, groups, ((ROUND, least),))
    keys = tuple(scalar for _, scalar in groups)
    return Keyed(1, node, (0,), keys=(keys,), append_only=(False,), single=(False,))


@dataclass(frozen=True)
class _Lifting:
    """Lifts plans that read one of `views`; with set semantics if `distinct`."""

    views: frozenset[str]
    distinct: bool

    def tagged(self, plan: Plan) -> Plan:
        """The plan with a round: that of its recursive rows, or 0."""
        return self.lifted(plan) if self.reads(plan) else _with_round(plan, "0")

    def reads(self, plan: Plan) -> bool:
        return bool(plan.scanned & self.views)

    def lifted(self, plan: Plan) -> Plan:
        """A plan that reads a recursive view, with the round among its columns."""
        if plan_reads_clock(plan):
            raise Unliftable(_CLOCK, plan)
        node = cast("Node", plan)
        match node:
            case Scan():
                rows = replace(node, outputs=(*node.outputs, _FIELD))
                return _with_round(rows, f"{quoted(ROUND)} + 1", node.names)
            case Project():
                return Project(self.lifted(node.input), (*node.items, _ROUND_ITEM))
            case Filter() | Generate():
                return node.with_inputs(self.lifted(node.input))
            case UnionAll():
                branches = tuple(_ordered(self.tagged(item), item.names, node.names) for item in node.branches)
                return UnionAll(branches, (*node.outputs, _FIELD))
            case Join():
                return self.join(node)
            case Distinct() | Aggregate() | SetOperation() if self.distinct:
                return self.as_set(node)
            case Distinct() | Aggregate() | SetOperation():
                raise Unliftable(_why(node), node)
            case Values() | AsofJoin() | TopK() | Window() | Session() | MatchRecognize() | Recompute() | Fixpoint():
                raise Unliftable(_why(node), node)
            case Arriving() | Arrived():
                raise Unliftable(_why(node), node)
            case _:
                assert_never(node)

    def as_set(self, node: Distinct | Aggregate | SetOperation) -> Plan:
        """A node that makes a set, lifted where rows may stand in several rounds: the first of them counts."""
        match node:
            case Distinct():
                return self.lifted(node.input)
            case Aggregate() if node.groups and not node.aggregates:
                return Project(self.lifted(node.input), (*node.groups, _ROUND_ITEM))
            case SetOperation() if not node.all:
                return self.lifted(_as_join(node))
            case Aggregate() | SetOperation():
                raise Unliftable(_why(node), node)
            case _:
                assert_never(node)

    def join(self, plan: Join) -> Plan:
        """A join is lifted where each row of the recursive side goes its own way."""
        left, right = self.reads(plan.left), self.reads(plan.right)
        if plan.null_aware or (plan.kind not in (JoinKind.INNER, JoinKind.SEMI) and not plan.keys):
            raise Unliftable(_why(plan), plan)
        if plan.kind == JoinKind.SEMI and self.distinct:
            # Which rows there are is all that counts, so meeting several is as good as meeting one.
            return _without(self.join(replace(plan, kind=JoinKind.INNER)), plan.names)
        if left and right and plan.kind == JoinKind.INNER and self.distinct:
            return self.both(plan)
        if (
            left
            and not right
            and plan.kind in (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
            and (plan.keys or plan.kind == JoinKind.INNER)
        ):
            return plan.with_inputs(self.lifted(plan.left), plan.right)
        if right and not left and plan.kind in (JoinKind.INNER, JoinKind.RIGHT):
            return plan.with_inputs(plan.left, self.lifted(plan.right))
        raise Unliftable(_why(plan), plan)

    def both(self, plan: Join) -> Plan:
        """Two recursive sides: their row is there from the later of the two rounds on."""
        right = self.lifted(plan.right)
        items = tuple((name, column(name)) for name in plan.right.names)
        renamed = Project(right, (*items, (_OTHER, column(ROUND, _KIND))))
        joined = plan.with_inputs(self.lifted(plan.left), renamed)
        return _with_round(joined, f"greatest({quoted(ROUND)}, {quoted(_OTHER)})", plan.names)


_CLOCK = "its rows come and go as the clock moves"
_FIELD = Field(ROUND, _KIND, nullable=False)
_ROUND_ITEM = (ROUND, column(ROUND, _KIND, nullable=False))


def _scalar(text: str) -> Scalar:
    tree = parse_scalar(text)
    return Scalar(text, tree, _KIND, nullable=False)


def _with_round(plan: Plan, text: str, names: tuple[str, ...] | None = None) -> Plan:
    kept = plan.columns() if names is None else tuple(column(name) for name in names)
    items = tuple((scalar.column or "", scalar) for scalar in kept)
    return Project(plan, (*items, (ROUND, _scalar(text))))


def _ordered(plan: Plan, have: tuple[str, ...], names: tuple[str, ...]) -> Plan:
    """The columns `have` under the names `names`, then the round."""
    items = tuple((name, column(item)) for name, item in zip(names, have, strict=True))
    return Project(plan, (*items, _ROUND_ITEM))


def _without(plan: Plan, names: tuple[str, ...]) -> Plan:
    return _ordered(plan, names, names)


def _as_join(plan: SetOperation) -> Plan:
    """INTERSECT and EXCEPT of sets: rows of the left that are, or are not, among those of the right."""
    names = tuple(f"__among_{place}" for place in range(len(plan.fields)))
    other = Project(plan.right, tuple((n, column(have)) for n, have in zip(names, plan.right.names, strict=True)))
    keys = tuple(
        JoinKey(column(left), column(right), null_safe=True) for left, right in zip(plan.left.names, names, strict=True)
    )
    met = Join(plan.left, other, JoinKind.SEMI if plan.kind == SetKind.INTERSECT else JoinKind.ANTI, keys)
    named = zip(plan.names, plan.left.names, strict=True)
    return Project(met, tuple((name, column(have)) for name, have in named))


def _why(plan: Plan) -> str:
    node = cast("Node", plan)
    match node:
        case Join() if node.kind in (JoinKind.INNER, JoinKind.SEMI):
            return "with UNION ALL a round sees only the rows of the one before, and this join needs them twice"
        case Join():
            return "a row of the recursive view can take away a row that it has given"
        case Aggregate() | Window() | TopK() | MatchRecognize():
            return "what is computed over several rows of a round is another thing when the round has more rows"
        case Distinct() | SetOperation():
            return "duplicates are told apart by the round that gives them"
        case Fixpoint():
            return "one recursion stands inside another"
        case Recompute():
            return node.reason
        case Arriving() | Arrived():
            return "the rows of a step are told apart from those of other steps"
        case AsofJoin() | Session() | Scan() | Values() | Project() | Filter() | UnionAll() | Generate():
            return "a recursion is evaluated to its fixed point again"
        case _:
            assert_never(node)
