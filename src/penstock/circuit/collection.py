"""What an operator may forget: rows of its state that no accepted input, and no clock, can touch again (B9).

operator              what goes, once it is below the waterline
Additive, Counted     groups, by a column of the group
Keyed (one input)     rows, by a column of the key
Sessions              rows, by the end of their session or a column of the key
Keyed (joins)         rows of both sides, by two columns that are equated: below the smaller waterline
Bilinear              rows of a side, by a column that later rows of the other side are bound to exceed
Clocked               rows that the clock has left behind for ever
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.analysis.derived import Derived, least
from penstock.analysis.direction import Direction, direction
from penstock.analysis.inequality import lower_bounds
from penstock.analysis.waterline import Reader
from penstock.plan.expressions import conjuncts, tree_reads_clock
from penstock.plan.nodes import (
    Aggregate,
    Distinct,
    Filter,
    Generate,
    Join,
    Plan,
    Project,
    Scan,
    Session,
    SetOperation,
    TopK,
    UnionAll,
    Window,
)
from penstock.plan.scalar import Scalar, column_tree, quoted, render_scalar


@dataclass(frozen=True)
class Expiry:
    """Entries of the operator's trace number `trace` whose `text` is below the waterline can go.

    `nulls` says that those where it is NULL can go as well.
    """

    trace: int
    text: str
    waterline: Derived
    nulls: bool = False


def groups_expire(plan: Plan, reader: Reader) -> tuple[Expiry, ...]:
    """Groups of GROUP BY, DISTINCT, INTERSECT, EXCEPT, whose entries have the columns `__g0`, `__g1`, and so on."""
    known = reader.of(plan)
    names: tuple[str, ...] = ()
    if isinstance(plan, Aggregate):
        names = tuple(name for name, _ in plan.groups)
    elif isinstance(plan, Distinct | SetOperation):
        names = plan.names
    found = ((f"`__g{place}`", known.get(name)) for place, name in enumerate(names))
    return tuple(Expiry(0, text, derived) for text, derived in found if derived is not None)


def keys_expire(plan: Plan, reader: Reader) -> tuple[Expiry, ...]:
    """Rows that an operator keeps by key: a key that nothing can touch any more takes its rows along."""
    if isinstance(plan, Join):
        return _equated(plan, reader)
    if isinstance(plan, Aggregate):
        known = reader.of(plan)
        found = [(scalar.text, known.get(name)) for name, scalar in plan.groups]
    elif isinstance(plan, Window | TopK):
        known = reader.of(plan.input)
        found = [(scalar.text, known.get(scalar.column or "")) for scalar in plan.partition]
    elif isinstance(plan, Session):
        known = reader.of(plan)
        keys = [(scalar.text, known.get(scalar.column or "")) for scalar in plan.keys]
        found = [(quoted(plan.end), known.get(plan.end)), *keys]
    else:
        return ()
    return tuple(Expiry(0, text, derived) for text, derived in found if derived is not None)


def _equated(join: Join, reader: Reader) -> tuple[Expiry, ...]:
    """Both sides of an equality go together, so no row loses its partner while it could still change."""
    left, right = reader.of(join.left), reader.of(join.right)
    found: list[Expiry] = []
    for key in join.keys:
        together = least((left.get(key.left.column or ""), right.get(key.right.column or "")))
        if together is not None and not join.null_aware:
            found += [Expiry(0, key.left.text, together), Expiry(1, key.right.text, together)]
    return tuple(found)


def sides_expire(join: Join, reader: Reader) -> tuple[Expiry, ...]:
    """Rows of an inner join that no later row of the other side can match."""
    left, right = reader.of(join.left), reader.of(join.right)
    sides = ((0, join.left, right), (1, join.right, left))
    return tuple(
        Expiry(number, quoted(name), derived)
        for number, side, other in sides
        for name, derived in reader.joined_bounds(join, side, other).items()
    )


def clock_expires(node: Plan, inputs: tuple[int, ...]) -> tuple[Expiry, ...]:
    """Rows of the leaves of a chain that a filter on the clock will never let pass again."""
    read = list(_conditions(node, ()))
    leaves = [leaf for leaf, _ in read]
    found: list[Expiry] = []
    for leaf, parts in read:
        if leaves.count(leaf) == 1:
            found += [replace(item, trace=inputs.index(int(leaf[1:]))) for part in parts for item in _passed(part)]
    return tuple(found)


def _passed(part: Scalar) -> Iterator[Expiry]:
    for item in lower_bounds(part, {}):
        fixed: dict[str, Direction] = {}
        timely = tree_reads_clock(item.bound) and not part.columns - {item.column}
        if timely and direction(item.bound, fixed).up:
            bound = Scalar(render_scalar(item.bound), item.bound)
            yield Expiry(0, quoted(item.column), Derived((bound,), frozenset()), nulls=True)


def _conditions(node: Plan, parts: tuple[Scalar, ...]) -> Iterator[tuple[str, tuple[Scalar, ...]]]:
    """Each leaf with the conditions above it, over its own columns."""
    match node:
        case Scan():
            yield node.relation, parts
        case Filter():
            yield from _conditions(node.input, parts + conjuncts(node.condition))
        case Project():
            computed = dict(node.items)
            yield from _conditions(node.input, tuple(part.replaced(lambda name: computed[name].tree) for part in parts))
        case Generate():
            below = set(node.input.names)
            yield from _conditions(node.input, tuple(part for part in parts if part.columns <= below))
        case UnionAll():
            for branch in node.branches:
                names = dict(zip(node.names, branch.names, strict=True))
                renamed = tuple(part.replaced(_renaming(names)) for part in parts)
                yield from _conditions(branch, renamed)
        case _:
            return


def _renaming(names: dict[str, str]) -> Callable[[str], exp.Expression]:
    return lambda name: column_tree(names[name])
