"""Relations of inner joins stand in an order in which each has a key with those before it.

    Join(inner, s.c = cu.c AND d.d = cu.f)        Project(s.…, d.…, cu.…)
      Join(inner)                                   Join(inner, cu.f = d.d)
        s                                     →       Join(inner, s.c = cu.c)
        d                                               s
      cu                                                cu
                                                      d

A join without a key keeps every pair of rows. Spark puts such lists in order too, so nobody who brings their SQL has
had to. What comes of two streams is joined where their times are locked, which bounds what the join has to keep. Else
the relations stay in the order of FROM as far as keys allow, and then as far as conditions tie them. Another condition
that can raise is asked last of all, of rows that all others have let through; keys that can raise leave everything as
it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.plan.expressions import conjunction, conjuncts
from penstock.plan.nodes import Join, JoinKey, JoinKind, Plan, Project, Scan
from penstock.plan.scalar import Scalar, column
from penstock.plan.sides import Sides, sides_of
from penstock.rewrite.raising import TIMES, Types, cannot_raise, is_lock, types_of
from penstock.rewrite.splitting import filtered

Cost = tuple[int, int, int]
_NOTHING: Cost = (0, 0, 0)


@dataclass
class _List:
    """The relations of inner joins in their order, and all that ties them."""

    relations: list[Plan] = field(default_factory=list)
    keys: list[JoinKey] = field(default_factory=list)
    rest: list[Scalar] = field(default_factory=list)
    cost: Cost = _NOTHING

    def take(self, plan: Plan) -> None:
        """Add a plan: a relation, or inner joins of some."""
        join = _join_under(plan)
        if join is None:
            self.relations.append(plan)
            return
        self.take(join.left)
        self.take(join.right)
        self.keys += join.keys
        self.rest += [] if join.residual is None else list(conjuncts(join.residual))
        self.cost = _sum(self.cost, _cost(join))

    def ordered(self) -> tuple[Plan, Cost] | None:
        """The joins in another order, and what they cost; None if a key has no place there."""
        types = {name: kind for plan in self.relations for name, kind in types_of(plan).items()}
        if not all(_is_safe(key, types) for key in self.keys):
            return None
        plan, *others = self.relations
        keys, cost = list(self.keys), _NOTHING
        rest = [part for part in self.rest if cannot_raise(part, types) or is_lock(part, types)]
        last = [part for part in self.rest if part not in rest]
        while others:
            joins = [_joined(plan, item, keys, rest) for item in others]
            join = min(joins, key=_cost)  # of equal ones the first, as in FROM
            others = [item for item in others if item is not join.right]
            keys = [key for key in keys if _placed(key, plan, join.right) is None]
            rest = [part for part in rest if not part.columns <= set(join.names)]
            plan, cost = join, _sum(cost, _cost(join))
        return None if keys or rest else (filtered(plan, conjunction(last)), cost)


def order_joins(plan: Plan) -> Plan | None:
    """The same rows and columns by joins of which fewer have no key, or of streams no lock."""
    if not isinstance(plan, Join) or plan.kind != JoinKind.INNER:
        return None
    found = _List()
    found.take(plan)
    better = found.ordered() if found.cost > _NOTHING else None
    if better is None or better[1] >= found.cost:
        return None
    items = tuple((item.name, column(item.name, item.type, item.nullable)) for item in plan.fields)
    return Project(better[0], items)


def _joined(left: Plan, right: Plan, keys: list[JoinKey], conditions: list[Scalar]) -> Join:
    """The join of two relations by all that can be decided there."""
    both = {*left.names, *right.names}
    usable = (_placed(key, left, right) for key in keys)
    now = [part for part in conditions if part.columns <= both]
    return Join(left, right, JoinKind.INNER, tuple(key for key in usable if key is not None), conjunction(now))


def _cost(join: Join) -> Cost:
    """Of one join: 1 if it is of streams whose times nothing locks, 1 if it has no key, 1 if no condition either."""
    conditions = [] if join.residual is None else conjuncts(join.residual)
    tied = any(part.columns & {*join.left.names} and part.columns & {*join.right.names} for part in conditions)
    keyless = not join.keys
    return int(_is_unlocked(join)), int(keyless), int(keyless and not tied)


def _sum(one: Cost, other: Cost) -> Cost:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _is_unlocked(join: Join) -> bool:
    """True for a join of what comes of two streams, where none of its conditions compares times of both."""
    if not all(any(isinstance(node, Scan) and node.tail for node in side.walk()) for side in join.inputs):
        return False
    types = {**types_of(join.left), **types_of(join.right)}
    conditions = [] if join.residual is None else conjuncts(join.residual)
    locks = (part.columns for part in conditions if is_lock(part, types))
    equal = any(key.left.type in TIMES and key.right.type in TIMES for key in join.keys)
    return not equal and not any(read & {*join.left.names} and read & {*join.right.names} for read in locks)


def _join_under(plan: Plan) -> Join | None:
    """The inner join that a plan is, or shows with the same columns in another order."""
    inner = plan
    while isinstance(inner, Project) and all(scalar.column == name for name, scalar in inner.items):
        if len(inner.items) != len(inner.input.names):
            return None
        inner = inner.input
    return inner if isinstance(inner, Join) and inner.kind == JoinKind.INNER else None


def _is_safe(key: JoinKey, types: Types) -> bool:
    """True if the key has an answer for any two rows; Spark casts sides of two types, which can raise."""
    alike = None in (key.left.type, key.right.type) or key.left.type == key.right.type
    return alike and cannot_raise(key.left, types) and cannot_raise(key.right, types)


def _placed(key: JoinKey, left: Plan, right: Plan) -> JoinKey | None:
    """The key as one of a join of these two, None if it is of others."""
    match sides_of(key.left.columns, key.right.columns, left.names, right.names):
        case Sides.STRAIGHT:
            return key
        case Sides.CROSSED:
            return JoinKey(key.right, key.left, key.null_safe)
        case None:
            return None
