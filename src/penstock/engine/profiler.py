"""Measures what each operator costs, while `SET profile = 'on'` asks for it.

A change is lazy: it is evaluated by whatever first needs its rows, mostly an operator further on. So while an engine is
measured, each operator's change is evaluated right behind it, and operators run one after the other. Then its time, its
jobs and its rows are its own; docs/adr/0008 has the price. What a step that fails has measured is forgotten with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.backends.scans import Scans
from penstock.backends.spark.workspace import Workspace
from penstock.circuit.measured import NO_WORK, Measured, MeasuredCircuit, Profile, Work
from penstock.circuit.operators import Operator, Source
from penstock.engine.installed import Installed, Tally

if TYPE_CHECKING:
    from penstock.backends.api import Runner
    from penstock.backends.spark.change import Delta

Run = Callable[[Operator], "Delta | None"]
Changes = Mapping[int, "Delta | None"]


class Profiler:
    """The measurements of one engine; `wanted` is asked before each step."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.wanted: Callable[[], bool] = lambda: False
        self.on = False
        self.profile = Profile()
        self._pending: list[tuple[Tally, Work]] = []

    def begin(self) -> None:
        """A step begins."""
        self.on = self.wanted()

    def measured(self, tally: Tally, operator: Operator, inputs: Changes, run: Run) -> Delta | None:
        """Run an operator and evaluate its change; None if that has no rows."""
        scans = self.workspace.scans = Scans()
        jobs, began = self._jobs(), time.perf_counter()
        try:
            found = run(operator)
            rows = 0 if found is None else found.count()
        finally:
            self.workspace.scans = None
        seconds = time.perf_counter() - began
        scans.add_up()
        taken = rows if isinstance(operator, Source) else _rows_in(operator, inputs)
        work = Work(seconds, taken, rows, scans.rows, scans.layers, self._jobs() - jobs)
        self._pending.append((tally, work))
        return found if rows else None

    @contextmanager
    def merging(self, runner: Runner[Delta], installed: Sequence[Installed]) -> Iterator[None]:
        """Measure the merging of an operator's state, between two steps."""
        if not self.on:
            yield
            return
        jobs, began = self._jobs(), time.perf_counter()
        yield
        tally = _tally(runner, installed)
        work = Work(seconds=time.perf_counter() - began, jobs=self._jobs() - jobs)
        tally.merging += work
        tally.merged = tally.merged + work if tally.merged_at == self.profile.steps else work
        tally.merged_at = self.profile.steps

    def commit(self) -> None:
        """Count what the step has measured."""
        for tally, work in self._pending:
            tally.steps, tally.at = tally.steps + 1, self.profile.steps + 1
            tally.total, tally.last = tally.total + work, work
        self._pending.clear()

    def discard(self) -> None:
        """Forget what the step has measured."""
        self._pending.clear()

    def stepped(self, number: int, seconds: float) -> None:
        """The number and the time of a step that has been committed."""
        if self.on:
            self.profile = self.profile.followed(number, seconds)

    def of_circuit(self, installed: Installed) -> MeasuredCircuit:
        """The measurements of a circuit, with the size of its state now."""
        circuit = installed.circuit
        found = {operator.number: self._of_operator(operator, installed) for operator in circuit.operators}
        return MeasuredCircuit(circuit, found)

    def _of_operator(self, operator: Operator, installed: Installed) -> Measured:
        number, steps = operator.number, self.profile.steps
        tally, runner = installed.tallies.get(number, Tally()), installed.runners.get(number)
        sizes = [] if runner is None else list(runner.state())
        return Measured(
            operator,
            installed.circuit.readers[number],
            tally.steps,
            tally.total,
            tally.last if tally.steps and tally.at == steps else None,
            tally.merging,
            tally.merged if tally.merged_at == steps - 1 else NO_WORK,
            sum(rows for rows, _ in sizes),
            sum(size for _, size in sizes),
            installed.place_of(number),
        )

    def _jobs(self) -> int:
        """The number of jobs that the session's context has started so far; none before there is one."""
        if not self.workspace.has_spark:
            return 0
        context = self.workspace.spark.sparkContext._jsc.sc()  # noqa: SLF001
        return int(context.dagScheduler().numTotalJobs())


def _rows_in(operator: Operator, inputs: Changes) -> int:
    found = (inputs.get(number) for number in operator.inputs)
    return sum(delta.count() for delta in found if delta is not None)


def _tally(runner: Runner[Delta], installed: Sequence[Installed]) -> Tally:
    """The tally of a running operator; one that nobody reads if its view has been dropped."""
    found = ((item, number) for item in installed for number, own in item.runners.items() if own is runner)
    return next((item.tallies[number] for item, number in found), Tally())
