"""Cutting a case's input into other steps: the answer by the end must not depend on the cut."""

from __future__ import annotations

import random
from dataclasses import replace

from penstock.testing.cases import Case, Expectation, Operation, Step

_TIME_WORDS = ("LATENESS", "WATERMARK", "NOW()", "CURRENT_", "EMIT", "SELECT STREAM")


def can_be_recut(case: Case) -> bool:
    """True if the final content follows from the order of the input alone: nothing counts steps or tells the time."""
    step_wise = any(
        step.clock or step.advance or step.start or step.sql or step.error or step.query for step in case.steps
    )
    timed = any(word in case.sql.upper() for word in _TIME_WORDS)
    return len(case.steps) > 0 and not step_wise and not timed and case.expect.error is None


def recut(case: Case, seed: int) -> Case:
    """The case with its input in other steps; of the expectations those about the end are left."""
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    operations = [operation for step in case.steps for operation in step.operations]
    rows = dict(case.steps[-1].rows) | dict(case.expect.rows)
    steps = tuple(Step(operations=part) for part in _parts(operations, chance))
    return replace(case, steps=steps, expect=Expectation(rows=rows))


def _parts(operations: list[Operation], chance: random.Random) -> list[tuple[Operation, ...]]:
    """One to all-but-single rows a step, at random; an empty input stays one empty step."""
    if not operations:
        return [()]
    cuts = sorted(chance.sample(range(1, len(operations)), chance.randint(0, min(len(operations) - 1, 8))))
    return [tuple(operations[start:end]) for start, end in zip([0, *cuts], [*cuts, len(operations)], strict=True)]
