"""The type of a rule, and the record of one that fires."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.plan.nodes import Plan

Rule = Callable[[Plan], Plan | None]
"""The node rewritten, or None if the rule has nothing to say about it."""


@dataclass(frozen=True)
class Stage:
    """Rules that are applied together until none of them fires; `why` says what the stage is for.

    A rule of a `whole` stage sees the root only, once; the others see every node.
    """

    name: str
    why: str
    rules: tuple[Rule, ...]
    whole: bool = False


@dataclass(frozen=True)
class Fired:
    """One rule that changed the plan: the node before and after."""

    stage: str
    rule: str
    before: Plan
    after: Plan
