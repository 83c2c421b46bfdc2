"""Relations of inner joins stand in an order in which each has a key with those before it.

    Join(inner, s.c = cu.c AND d.d = cu.f)        Project(s.…, d.…, cu.…)
      Join(inner)                                   Join(inner, cu.f = d.d)
        s                                     →       Join(inner, s.c = cu.c)
        d                                               s
      cu                                                cu
                                                      d

A join without a key keeps every pair of rows. Spark puts such lists in order too, so nobody who brings their SQL has
had to. The relations stay in the order of FROM as far as keys allow, and else as far as conditions tie them: times that
are locked bound what a join has to keep. Another condition that can raise is asked last of all,
of rows that all others have let through; keys that can raise leave everything as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.plan.expressions import conjunction, conjuncts
from penstock.plan.nodes import Join, JoinKey, JoinKind, Plan, Project
from penstock.plan.scalar import Scalar, column
from penstock.plan.sides import Sides, sides_of
from penstock.rewrite.raising import Types, cannot_raise, is_lock, types_of
from penstock.rewrite.splitting import filtered


@dataclass
class _List:
    """The relations of inner joins in their order, all that ties them, and how many joins have no key, or no tie."""

    relations: list[Plan] = field(default_factory=list)
    keys: list[JoinKey] = field(default_factory=list)
    rest: list[Scalar] = field(default_factory=list)
    keyless: int = 0
    untied: int = 0

    @property
    def cost(self) -> tuple[int, int]:
        """The joins without a key, and those of them without a condition that compares both sides either, as numbers."""
        return self.keyless, self.untied

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
        self.keyless += not join.keys
        self.untied += not join.keys and not _tied(self.rest, join.left, join.right)

    def ordered(self) -> tuple[Plan, tuple[int, int]] | None:
        """The joins in another order, and what they cost; None if a key has no place there."""
        types = {name: kind for plan in self.relations for name, kind in types_of(plan).items()}
        if not all(_is_safe(key, types) for key in self.keys):
            return None
        plan, *others = self.relations
        keys, keyless, untied = list(self.keys), 0, 0
        rest = [part for part in self.rest if cannot_raise(part, types) or is_lock(part, types)]
        last = [part for part in self.rest if part not in rest]
        while others:
            after = _following(plan, others, keys, rest)
            others = [item for item in others if item is not after]
            found = {key: _placed(key, plan, after) for key in keys}
            both = {*plan.names, *after.names}
            now = [part for part in rest if part.columns <= both]
            usable = tuple(key for key in found.values() if key is not None)
            plan = Join(plan, after, JoinKind.INNER, usable, conjunction(now))
            keys = [key for key in keys if found[key] is None]
            rest = [part for part in rest if part not in now]
            keyless += not usable
            untied += not usable and not now
        return None if keys or rest else (filtered(plan, conjunction(last)), (keyless, untied))


def order_joins(plan: Plan) -> Plan | None:
    """The same rows and columns by joins of which fewer have no key."""
    if not isinstance(plan, Join) or plan.kind != JoinKind.INNER:
        return None
    found = _List()
    found.take(plan)
    better = found.ordered() if found.keyless else None
    if better is None or better[1] >= found.cost:
        return None
    items = tuple((item.name, column(item.name, item.type, item.nullable)) for item in plan.fields)
    return Project(better[0], items)


def _following(plan: Plan, others: list[Plan], keys: list[JoinKey], rest: list[Scalar]) -> Plan:
    """The next relation: the first that has a key with those before it, or else a condition, or else the first."""
    keyed = (item for item in others if any(_placed(key, plan, item) for key in keys))
    tied = (item for item in others if _tied(rest, plan, item))
    return next(keyed, None) or next(tied, others[0])


def _tied(conditions: list[Scalar], left: Plan, right: Plan) -> bool:
    """True if one of the conditions compares the two sides, and nothing else."""
    one, other = set(left.names), set(right.names)
    return any(part.columns & one and part.columns & other and part.columns <= one | other for part in conditions)


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
