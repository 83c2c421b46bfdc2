"""The run loop: read what has come, step, write what has changed, and choose how much to take next.

A step grows while it is quick and full, and shrinks when it takes too long: small when idle (latency), large under load
(throughput). Rows for which an expression of a view raises are set aside (`steps.setting_aside`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError, first_line, message_of
from penstock.failpoints import reach
from penstock.pipeline.deploying import Requests
from penstock.pipeline.supported import check_followed, follows_clock
from penstock.sources.api import Answering, Output, Remarking, TableSource
from penstock.sources.patience import is_awaited
from penstock.sources.properties import rows_per_step
from penstock.steps.change import Change
from penstock.steps.events import (
    Event,
    OutputFailed,
    OutputsDone,
    RunFinished,
    RunProgress,
    RunStarted,
    SourceLag,
    SourceRemark,
)
from penstock.steps.interrupts import noted
from penstock.steps.phases import Phase
from penstock.steps.proposing import StepInput
from penstock.steps.rows.batch import Batch
from penstock.steps.rows.rejected import Rejections
from penstock.steps.tables import is_strict

if TYPE_CHECKING:
    from penstock.pipeline.execution import Execution

_PROGRESS_SECONDS = 1.0
# New views are filled for half as long as steps take, in pieces that take no longer than half a step.
_FILLING_SHARE = 0.5
_LEAST_PIECE, _MOST_PIECE, _MOST_ALLOWED = 0.005, 0.5, 0.5
_BREATH_SECONDS = 0.001  # between two pieces, for who waits for the lock
# The first steps compile everything; how long they take says nothing about their size.
_WARM_UP = 3


@dataclass(frozen=True)
class RunOptions:
    """Bounds of the loop: rows of a step and source, how long a step should take, how often to look for input.

    `least_rows`, `first_rows` and `most_rows` are those that a step takes of each source; it takes more while steps are
    full and quicker than `quick_seconds`, less when one is slower than `slow_seconds`. Without input the sources are
    looked at every `poll_seconds`; every `clock_resolution` seconds a program that reads the clock steps
    if that changes anything.
    `on_error` is 'skip', or 'fail' to stop before a step with a broken row. `on_output_error` is 'stop', or 'retry' to
    give an output its step again every `retry_seconds` until it takes it. The run ends after `most_steps`, if given.
    """

    first_rows: int = 5_000
    least_rows: int = 500
    most_rows: int = 500_000
    quick_seconds: float = 1.0
    slow_seconds: float = 4.0
    poll_seconds: float = 0.2
    clock_resolution: float = 1.0
    on_error: str = "skip"
    on_output_error: str = "stop"
    retry_seconds: float = 1.0
    most_steps: int | None = None


@dataclass
class _Delivery:
    """All that one look at the sources has brought; `ranges` says per table what was read from where."""

    batches: Sequence[Batch]
    rejections: Rejections
    ranges: Mapping[str, Any]
    phase: Phase
    tick: bool = False
    stepped: bool = False

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(len(batch) for batch in self.batches)


@dataclass
class _Totals:
    steps: int = 0
    rows: int = 0
    changed: int = 0
    rejected: int = 0
    started: float = field(default_factory=time.perf_counter)
    reported: float = 0.0
    reported_rows: int = 0


class RunLoop:
    """One run of a pipeline's sources into its outputs."""

    def __init__(
        self,
        execution: Execution,
        lock: threading.RLock,
        outputs: tuple[Output, ...],
        options: RunOptions,
        tell: Callable[[Event], None],
        *,
        requests: Requests | None = None,
    ) -> None:
        self._execution = execution
        self._requests = requests or Requests()
        self._program = execution.changes_of_program
        self._lock = lock
        self._outputs = outputs
        self._outbox = execution.outbox
        self._outlets = execution.outlets
        self._options = options
        self._tell = tell
        self._size = options.first_rows
        self._totals = _Totals()
        self._stopping = threading.Event()
        self._interrupted = False
        self._input_ended = False
        self._tolerant = options.on_error != "fail"
        self._sources: list[TableSource] = execution.opened_sources()
        self._ticks = follows_clock(execution.catalog)
        self._lags: tuple[SourceLag, ...] = ()
        self._meters = execution.meters
        self._measured = 0.0
        self._behind: float | None = None  # since when outputs have not taken all
        self._allowed = 0.0  # seconds that new views may be filled for

    def stop(self) -> None:
        """End after the step that is under way."""
        self._stopping.set()

    def run(self, *, once: bool) -> None:
        """Step until `stop()`, or with `once` until the sources are used up."""
        with noted(self._interrupt) as has_come:
            self._interrupted = self._interrupted or has_come
            self._run(once=once)

    def _interrupt(self) -> None:
        self._interrupted = True  # a handler must not ask for the lock of an event: the thread may have it

    @property
    def _ends(self) -> bool:
        return self._interrupted or self._stopping.is_set()

    def _run(self, *, once: bool) -> None:
        sources = tuple(source.describe() for source in self._sources)
        if not once:
            check_followed(self._execution.catalog, once=once)
        outputs = (*self._outlets.described(), *(output.describe() for output in self._outputs))
        self._tell(RunStarted(sources, outputs))
        self._remark(self._sources)
        last_step = 0.0
        try:
            self._outbox.opened_again(self._outputs, self._execution.stepper.number)
            while not (self._ends or self._has_stepped_enough()):
                if not self._handed_over():
                    self._stopping.wait(self._options.retry_seconds)
                    continue
                if (seconds := self._delivered()) is not None:
                    self._stopping.wait(seconds)
                    continue
                self._allowed -= self._change_program()
                began = time.perf_counter()
                due, ticks = self._totals.steps == 0 or self._timer_is_due(), self._ticks_after(last_step)
                worked = self._look(due=due, ticks=ticks)
                if worked or due or ticks:
                    last_step = time.perf_counter()
                if worked:
                    self._allow(last_step - began)
                elif self._requests.is_busy:
                    self._fill()
                elif once and any(map(is_awaited, self._sources)):
                    self._report_idle()  # it is not at its end; that it is away for too long is its error
                    self._stopping.wait(self._options.poll_seconds)
                elif once and not self._input_ended:
                    self._input_ended = True  # what has no line end is a record now: look once more
                elif once:
                    self._end()
                    break
                else:
                    self._report_idle()
                    self._stopping.wait(self._options.poll_seconds)
            self._deliver_rest()
        finally:
            with self._lock:
                self._requests.end()
            self._outlets.rest()
            for output in self._outputs:
                output.close()
            self._finish()

    def _change_program(self) -> float:
        """Go on with a change of program that somebody waits for, where that may be; how long new views were filled."""
        if self._allowed < 0:
            return 0.0
        with self._lock:
            taken = self._requests.serve(lambda changes: self._written(0, changes, Rejections()), self._piece_seconds)
            if self._program != self._execution.changes_of_program:
                self._follow_program()
        return taken

    @property
    def _piece_seconds(self) -> float:
        """The time that a piece of what fills new views should take: others wait for it."""
        return min(max(_FILLING_SHARE * self._execution.stepper.seconds, _LEAST_PIECE), _MOST_PIECE)

    def _allow(self, seconds: float) -> None:
        """Have new views be filled for a part of the time that a step has taken."""
        self._allowed = min(self._allowed + _FILLING_SHARE * seconds, _MOST_ALLOWED)

    def _fill(self) -> None:
        """Nothing has come: fill new views until it is time to look again."""
        until = time.perf_counter() + self._options.poll_seconds
        self._allowed = 0.0
        while self._requests.is_busy and not self._ends and time.perf_counter() < until:
            self._change_program()
            self._stopping.wait(_BREATH_SECONDS)

    def _follow_program(self) -> None:
        """Follow the sources that there are now."""
        self._program, before = self._execution.changes_of_program, self._sources
        self._sources = self._execution.opened_sources()
        self._ticks = follows_clock(self._execution.catalog)
        self._remark(source for source in self._sources if all(source is not known for known in before))

    def _remark(self, sources: Iterable[TableSource]) -> None:
        """Say what somebody may not expect of sources that are followed from now on."""
        for source in sources:
            if isinstance(source, Remarking) and (text := source.remark()):
                self._tell(SourceRemark(source.table.name, text))

    def _deliver_rest(self) -> None:
        """Have the declared outputs take what the last step has changed, or stop waiting for them when told to."""
        while (seconds := self._delivered()) is not None and not self._ends:
            self._stopping.wait(seconds)

    def _has_stepped_enough(self) -> bool:
        most = self._options.most_steps
        return most is not None and self._totals.steps >= most

    def _end(self) -> None:
        """The input has ended: release what WATERMARK still holds."""
        with self._lock:
            stepper = self._execution.stepper
            if stepper.holds_rows:
                given = StepInput(self._execution.clock(), ended=True, spares=self._tolerant)
                stepper.step(given, lambda changes: self._written(0, changes, given.rejections))

    def _finish(self) -> None:
        totals = self._totals
        self._measured = 0.0
        self._measure()
        seconds = time.perf_counter() - totals.started
        self._tell(RunFinished(totals.steps, totals.rows, seconds, totals.changed, totals.rejected))

    def _ticks_after(self, last_step: float) -> bool:
        """True if it is time to see whether the clock has changed a view."""
        return self._ticks and time.perf_counter() - last_step >= self._options.clock_resolution

    def _timer_is_due(self) -> bool:
        """True if there is to be a step although nothing has come, for a timer of a view."""
        timer = self._execution.stepper.next_timer
        return timer is not None and self._execution.clock() >= timer

    def _look(self, *, due: bool, ticks: bool) -> bool:
        """Read and step once; whether there was anything to do. With `ticks` the clock may have changed something."""
        delivery = self._read(due=due or ticks)
        if delivery is None:
            return False
        began = time.perf_counter()
        try:
            delivery.tick = not due and not delivery.rows and not delivery.rejections.rows and not delivery.ranges
            self._step(delivery)
        finally:
            if delivery.stepped or not delivery.tick:
                self._settle_sources(delivery)
        self._adapt(max((len(batch) for batch in delivery.batches), default=0), time.perf_counter() - began)
        # The outputs have the changes; what is left to tidy up would otherwise begin the next step.
        with self._lock:
            self._execution.stepper.maintain()
            self._execution.keep_state_if_due()
        return bool(delivery.batches) or bool(delivery.rejections.rows)

    def _read(self, *, due: bool) -> _Delivery | None:
        """All that the sources have now; None if there is nothing and no step is due."""
        began, at = time.time(), time.perf_counter()
        rejections = Rejections(tolerant=self._tolerant)
        batches: list[Batch] = []
        try:
            for source in self._sources:
                strict = is_strict(source.table)
                kept = Rejections(tolerant=False) if strict else rejections
                batch = self._read_from(source, kept)
                if batch is not None:
                    batches.append(batch)
        except BaseException:
            self._rewind()
            raise
        if self._has_added_columns():
            return self._read(due=due)
        if not batches and not rejections.rows and not due:
            return None
        ranges = {source.table.name: read for source in self._sources if (read := source.taken())}
        return _Delivery(batches, rejections, ranges, Phase("read", began, time.perf_counter() - at))

    def _has_added_columns(self) -> bool:
        """True if rows have columns that their tables had not: what has been read is to be read again with them."""
        with self._lock:
            try:
                added = self._execution.add_columns()
            except BaseException:
                self._rewind()
                raise
            if not added:
                return False
            self._rewind()
            self._follow_program()
        for event in added:
            self._tell(event)
        return True

    def _read_from(self, source: TableSource, rejections: Rejections) -> Batch | None:
        """The rows that a source has now, which its meter notes."""
        meter = self._meters.of(source)
        try:
            most = rows_per_step(source.table) or self._size
            batch = source.read(min(most, self._size), rejections, ended=self._input_ended)
        except PenstockError as error:
            meter.met(first_line(error), failed=True)
            raise
        meter.looked(0 if batch is None else len(batch))
        return batch

    def _settle_sources(self, delivery: _Delivery) -> None:
        """Count what has been read as used once it has been stepped."""
        if delivery.stepped:
            number = self._execution.stepper.number
            for source in self._sources:
                if isinstance(source, Answering):
                    source.stepped(number)
                reach("source.before")
                source.commit()
                reach("source.told")
            for batch in delivery.batches:
                self._meters.of(self._execution.sources[batch.table.name.lower()]).stepped(len(batch))
            self._meters.rejected(delivery.rejections.rows)
        else:
            self._rewind()

    def _rewind(self) -> None:
        for source in self._sources:
            source.rewind()

    def _step(self, delivery: _Delivery) -> None:
        rejections = delivery.rejections

        def happened(changes: Mapping[str, Change]) -> None:
            delivery.stepped = True
            self._execution.taken.add(delivery.ranges)
            self._written(delivery.rows, changes, rejections)

        with self._lock:
            if self._program != self._execution.changes_of_program:
                return  # what was read is of tables as they were: it is read again
            self._execution.sweep()
            self._execution.stepper.stopwatch.add(delivery.phase)
            given = StepInput(
                self._execution.clock(),
                delivery.batches,
                rejections,
                sources=delivery.ranges,
                spares=rejections.tolerant,
                tick=delivery.tick,
            )
            self._execution.stepper.step(given, happened)

    def _written(self, rows: int, changes: Mapping[str, Change], rejections: Rejections) -> None:
        self._outbox.put(self._outputs, self._execution.stepper.number, changes)
        totals = self._totals
        totals.steps += 1
        totals.rows += rows
        totals.rejected += len(rejections.rows)
        totals.changed += sum(change.delta.count() for change in changes.values() if change.delta is not None)
        self._handed_over()
        self._report()

    def _handed_over(self) -> bool:
        """Give the outputs what they have not taken; whether they have it all now. Raises where none is to retry."""
        if self._outbox.is_empty:
            return True
        began = time.perf_counter()
        failed = self._outbox.deliver()
        self._tell_outputs(began)
        if failed and self._options.on_output_error != "retry":
            raise failed[0][1]
        for output, error in failed:
            self._tell(OutputFailed(output.describe(), self._execution.stepper.number, message_of(error)))
        return not failed

    def _delivered(self) -> float | None:
        """Give the declared outputs what waits; in how many seconds to try again, None if nothing has to wait."""
        waited, began = self._outlets.waiting, time.perf_counter()
        seconds = self._outlets.deliver()
        if waited:
            self._tell_outputs(began)
        return seconds

    def _tell_outputs(self, began: float) -> None:
        waiting = self._outbox.waiting + self._outlets.waiting
        self._behind = (self._behind or time.time()) if waiting else None
        self._tell(OutputsDone(self._execution.stepper.number, time.perf_counter() - began, waiting, self._behind))

    def _report(self) -> None:
        totals, at = self._totals, time.perf_counter()
        passed = at - max(totals.reported, totals.started)
        if passed < _PROGRESS_SECONDS:
            return
        rate = (totals.rows - totals.reported_rows) / passed
        totals.reported, totals.reported_rows = at, totals.rows
        lags = self._measure()
        waiting_bytes, waiting_files = sum(item.bytes or 0 for item in lags), sum(item.files for item in lags)
        self._tell(
            RunProgress(
                totals.steps, totals.rows, rate, self._size, waiting_bytes, waiting_files, totals.rejected, lags
            )
        )

    def _measure(self) -> tuple[SourceLag, ...]:
        """Have the meters note how the sources stand, at most once a second."""
        at = time.perf_counter()
        if at - self._measured >= _PROGRESS_SECONDS:
            self._measured = at
            self._lags = tuple(self._lag(source) for source in self._sources)
        return self._lags

    def _lag(self, source: TableSource) -> SourceLag:
        meter = self._meters.of(source)
        lag = meter.measure()
        return SourceLag(
            source.table.name,
            source.describe(),
            lag.bytes,
            lag.streams or 0,
            lag.rows,
            lag.seconds,
            meter.rows_per_second,
            meter.idle_seconds,
        )

    def _report_idle(self) -> None:
        """Note how the sources stand; say once that nothing waits any more."""
        waited = any(item.bytes or item.files or item.rows for item in self._lags)
        self._measure()
        if waited:
            self._report()

    def _adapt(self, rows: int, seconds: float) -> None:
        """Take more next time if the step was full and quick, less if it was slow."""
        options = self._options
        if seconds > options.slow_seconds and self._totals.steps > _WARM_UP:
            self._size = max(options.least_rows, self._size // 2)
        elif rows >= self._size and seconds < options.quick_seconds:
            self._size = min(options.most_rows, self._size * 2)
