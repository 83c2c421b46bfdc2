"""The engine's part of a step, until it is committed or discarded."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.backends.api import Runner
from penstock.backends.spark.change import Delta, own
from penstock.backends.spark.operators.cleaned import CleanedRunner
from penstock.engine.installed import Installed, InstalledOperator

if TYPE_CHECKING:
    from penstock.engine.engine import Engine

_THREADS = 2


@dataclass
class StepResult:
    """The changes of a step, until it is committed or discarded; views that did not change may be missing.

    `late` has the rows that LATENESS of a view has dropped, or that a view has not taken, as changes of `error_view`.
    """

    engine: Engine
    changes: dict[str, Delta]
    touched: list[Runner[Delta]]
    late: list[pa.Table] = field(default_factory=list)
    outputs: dict[str, InstalledOperator] = field(default_factory=dict)

    def gather_late(self, installed: Installed, deltas: Mapping[int, Delta | None]) -> None:
        """Take over what LATENESS of views in a circuit has dropped, and what its operators with `deltas` report."""
        runners = [item for item in installed.runners.values() if isinstance(item, CleanedRunner)]
        self.late += [item.late for item in runners if item.late is not None]
        reported = self.engine.reported
        for report in installed.circuit.reports:
            delta = deltas.get(report.number)
            if reported is not None and delta is not None and not delta.is_empty():
                with self.engine.failing_at(InstalledOperator(installed, report.number)):
                    self.late.append(reported(report.view, delta.arrow()))

    def complete(self, installed: Installed) -> None:
        """Have the views of a circuit that takes its place change by all of their answers."""
        for view, answer in installed.answers.items():
            delta = answer(self.changes.get(view))
            self.outputs[view] = InstalledOperator(installed, installed.circuit.outputs[view])
            if delta is not None:
                self.changes[view] = own(delta)

    def settled(self, names: Collection[str]) -> dict[str, Delta]:
        """The changes of those views, evaluated, so that nothing can fail later; without empty ones."""
        found = {name: delta for name, delta in self.changes.items() if name in names}
        waiting = [name for name, delta in found.items() if delta.rows is None]
        if len(waiting) > 1:
            with ThreadPoolExecutor(_THREADS) as pool:
                tasks = [pool.submit(self._settle, name) for name in waiting]
            self._raise_cause([error for task in tasks if (error := task.exception()) is not None])
        else:
            for name in waiting:
                self._settle(name)
        return {name: delta for name, delta in found.items() if not delta.is_empty()}

    def _raise_cause(self, errors: Sequence[BaseException]) -> None:
        """Raise what has failed, if something has, and not what others then found: a transaction that is over."""
        store = self.engine.store
        cause = next((error for error in errors if store is None or not store.has_ended_by(error)), None)
        if errors:
            self.engine.blame(cause or errors[0])
            raise cause or errors[0]

    def _settle(self, name: str) -> None:
        with self.engine.failing_at(self.outputs[name]):
            self.changes[name].handed_out()

    def detach(self) -> None:
        """Fetch what lies in the process only as long as the step, while the step can still fail."""
        for name, delta in self.changes.items():
            with self.engine.failing_at(self.outputs[name]):
                if not delta.is_empty():
                    delta.detached()

    def commit(self) -> None:
        """Make the step's state the engine's: nothing is evaluated, for the log has the step already."""
        if self.engine.store is not None:
            self.engine.store.commit()
        for runner in self.touched:
            runner.commit()
        self.engine.profiler.commit()
        self.engine._grown = self.touched  # noqa: SLF001 (the result is a part of the engine)
        for installed in self.engine.installed:
            installed.fresh = False
            installed.answers.clear()
        self.engine.clock = self.engine.workspace.clock
        self.engine.workspace.release()

    def commit_aside(self, installed: Installed) -> None:
        """Make the piece's state that of the circuit that is filled aside."""
        if self.engine.store is not None:
            self.engine.store.commit()
        for runner in self.touched:
            runner.commit()
        self.engine.profiler.discard()
        installed.fresh = False
        self.engine.workspace.release()

    def discard(self) -> None:
        """Forget the step."""
        if self.engine.store is not None:
            self.engine.store.discard()
        for runner in self.touched:
            runner.discard()
        self.engine.profiler.discard()
        self.engine.workspace.release()
