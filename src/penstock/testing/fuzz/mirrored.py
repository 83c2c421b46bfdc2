"""The same program with each operator in the other place: both must change every view alike in every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.testing.cases import Case, Step
from penstock.testing.content import Observed
from penstock.testing.multisets import Weighted, consolidate

if TYPE_CHECKING:
    from penstock.pipeline.pipeline import Pipeline

Changes = Mapping[str, Sequence[Weighted]]


class Mirrored:
    """A second pipeline, beside the one that is observed."""

    def __init__(self, pipeline: Pipeline, first: Observed, case: Case) -> None:
        self._pipeline = pipeline
        self._first = first
        self._observed = Observed(pipeline, case)

    def violation(self, step: Step, changes: Changes) -> str | None:
        """Make a step here too; the first view that it changes in another way than the observed one has changed it."""
        found = self._observed.take(self._pipeline.step(inputs_of(step), sql=step.sql))
        if isinstance(found, str):
            return f"{found} (with each operator in the other place)"
        for name in sorted({*changes, *found}):
            if wrong := self._difference(changes.get(name, ()), found.get(name, ())):
                return f"{name}: in the other places {wrong}"
        return None

    def _difference(self, one: Sequence[Weighted], other: Sequence[Weighted]) -> str:
        """The rest of a change if the other one is taken back, but for the last digits of floating point."""
        left = consolidate([*other, *((-weight, row) for weight, row in one)])
        more = [(weight, row) for weight, row in left if weight > 0]
        less = [(-weight, row) for weight, row in left if weight < 0]
        return self._first.difference(less, more).describe()


def inputs_of(step: Step) -> dict[str, list[Any]]:
    """The operations of a step by their tables, as `Pipeline.step` takes them."""
    inputs: dict[str, list[Any]] = {}
    for operation in step.operations:
        inputs.setdefault(operation.table, []).append((operation.kind, operation.row))
    return inputs
