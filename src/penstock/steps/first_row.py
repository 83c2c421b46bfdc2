"""The first row, in the order of arrival, with which a step raises: an error of a step names it.

The rows before it do not raise, with it they do; where rows raise only together, as in a sum that overflows, it is the
row that completes them. In `run` nobody asks: there all rows that raise are found and set aside (`setting_aside`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.backends.rows import Row
from penstock.errors import PenstockError
from penstock.steps.apart import FailedStep, Unit
from penstock.steps.failures import EvaluationError
from penstock.steps.proposing import StepInput
from penstock.steps.rows.batch import Batch
from penstock.steps.state import State

_MOST_ROWS = 10_000  # of a change: each halving of them evaluates the failing operator once more
_LONGEST_VALUE = 60


def with_first_row(state: State, given: StepInput, error: EvaluationError) -> EvaluationError:
    """The error that the step raises for the first of its rows, which it names; as it is where no row is at fault."""
    if given.again is not None or not _has_few(given):
        return error
    try:
        return _named(FailedStep(state, given, state.engine.failed).descended(), error)
    except PenstockError:  # parts of the step fail in another way: what the whole of it has raised is what counts
        return error


def _has_few(given: StepInput) -> bool:
    """True for rows that have been given one by one, and are not too many."""
    batches = [batch for batch in given.batches if isinstance(batch, Batch)]
    return len(batches) == len(given.batches) and 0 < sum(map(len, batches)) <= _MOST_ROWS


def _named(step: FailedStep, error: EvaluationError) -> EvaluationError:
    units = list(step.rows)
    if not units or step.error_without(units) is not None:
        return error
    raised = step.error_without(())
    if raised is None:
        return error
    first, raised = _first(step, units, raised)
    unit = units[first]
    row = f"{_shown(step, unit)} of {step.table(unit).name}"
    raised.diagnostics = tuple(replace(item, row=row) for item in raised.diagnostics)
    return raised


def _first(step: FailedStep, units: Sequence[Unit], raised: EvaluationError) -> tuple[int, EvaluationError]:
    """The place of the first unit that raises beside those before it, and its error, by halving."""
    fine, failing = 0, len(units)  # so many units from the beginning do not raise, so many do
    while failing - fine > 1:
        middle = (fine + failing) // 2
        error = step.error_without(units[middle:])
        if error is None:
            fine = middle
        else:
            failing, raised = middle, error
    return failing - 1, raised


def _shown(step: FailedStep, unit: Unit) -> str:
    row: Row = step.row(unit)
    names = [column.label for column in step.table(unit).columns]
    cells = (f"{name}: {_value(value)}" for name, value in zip(names, row, strict=False))
    return f"({', '.join(cells)})"


def _value(value: object) -> str:
    text = "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
