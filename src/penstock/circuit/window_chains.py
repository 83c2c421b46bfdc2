"""Windows over windows: which of them can be one operator.

Window(partition k, session)       one Keyed operator of k: its rows are recomputed together,
  Window(partition k)          →   and what passes between them is never compared or kept
    Window(partition k)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.plan.nodes import Filter, MatchRecognize, Plan, Project, Window
from penstock.plan.scalar import Scalar

Link = Window | Project | Filter


@dataclass(frozen=True)
class Chain:
    """Nodes from the top window down to the lowest one, `window`, that can share its key."""

    chain: tuple[Link, ...]
    window: Window


def lowest_window(top: Window, alone: Callable[[Plan], bool]) -> Chain | None:
    """The longest chain of at least two windows whose partitions all contain the lowest one's.

    `alone` says that nobody else reads a node; only such nodes disappear into the chain.
    """
    found: Chain | None = None
    passed: list[Link] = [top]
    partitions = [top.partition]
    node: Plan = top.input
    while isinstance(node, Window | Project | Filter) and alone(node):
        passed.append(node)
        if isinstance(node, Project):
            computed = dict(node.items)
            partitions = [_lowered(part, computed) for part in partitions]
        if isinstance(node, Window):
            key = {scalar.text for scalar in node.partition}
            if any(key - {scalar.text for scalar in part} for part in partitions) or (not key and top.partition):
                break
            found = Chain(tuple(passed), node)
            calls = {name for name, _ in node.calls}
            # Below this window there is nothing that its own columns could be compared with.
            partitions = [tuple(item for item in part if not item.columns & calls) for part in partitions]
            partitions.append(node.partition)
        node = node.inputs[0]
    return found


def _lowered(partition: tuple[Scalar, ...], computed: dict[str, Scalar]) -> tuple[Scalar, ...]:
    """The partition as expressions over the input of a projection."""
    return tuple(item.replaced(lambda name: computed[name].tree) for item in partition)


def below_numbers(matches: MatchRecognize) -> tuple[Plan, ...]:
    """The nodes below MATCH_RECOGNIZE down to the window that numbers its rows, which belong to its operator."""
    passed: list[Plan] = [matches.input]
    while not isinstance(passed[-1], Window):
        passed.append(passed[-1].inputs[0])
    return tuple(passed)
