"""The outputs that a program declares, at work: each is given its steps in order, every one once.

    keep (before the step happens)  →  committed  →  deliver: take, or try again, or stop
                                                          ↓ an output that failed
                                       opened anew, asked for the last step that it has, given what follows

With a directory what an output has still to take lies there from before its step happens until it has been taken
(`parcels`), so that a process that is killed loses nothing and gives nothing twice to a receiver that knows its steps.

An output that others are not to wait for (`'on_output_error' = 'continue'`) is given its steps on a thread of its own,
if it takes longer than a moment (`aside`). All else happens in the thread of the pipeline.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from penstock.backends.api import Workspace
from penstock.catalog.model import Catalog, Table
from penstock.errors import DataError, Diagnostic, PenstockError, UnsupportedError, message_of
from penstock.failpoints import reach
from penstock.outputs.connectors import Outlet, outlets_of
from penstock.outputs.declared import ON_ERROR, timeout_of
from penstock.outputs.forms import Form
from penstock.outputs.receiver import Owner, Receiver, Unreachable, in_use
from penstock.pipeline.aside import Aside
from penstock.pipeline.parcels import ParcelFiles, read_parcel
from penstock.steps.change import Change
from penstock.steps.events import Event, OutputAtLeastOnce, OutputFailed
from penstock.watching.watched import OutputProgress

_FIRST_WAIT, _LONGEST_WAIT = 0.1, 10.0
_MOST_WAITING = 10_000
_PATIENCE = 0.5  # seconds for which the pipeline waits for an output that others are not to wait for


@dataclass(frozen=True, slots=True)
class OutputFact:
    """The state of an output: the last step that it took, how many wait, and what it said when it last failed."""

    name: str
    target: str
    form: str
    key: tuple[str, ...]
    guarantee: str
    step: int
    rows: int
    waiting: int
    state: str
    error: str | None = None


@dataclass
class _Failure:
    """An output that does not take what it is given: since when, how often it was tried, and when it is again."""

    error: Exception
    since: float
    tries: int = 1
    again: float = 0.0
    final: bool = False


@dataclass
class _Line:
    """One output at work, and what waits for it, oldest first; of each step since when, in seconds since 1970.

    While `aside` is busy, it has the receiver, and takes away what waits.
    """

    outlet: Outlet
    receiver: Receiver | None = None
    waiting: deque[Change] = field(default_factory=deque)
    since: dict[int, float] = field(default_factory=dict)
    step: int = 0
    rows: int = 0
    failure: _Failure | None = None
    is_unfinished: bool = False  # it was given steps, and letting go of it has failed since
    aside: Aside = field(init=False)

    def __post_init__(self) -> None:
        self.aside = Aside(f"penstock output {self.outlet.name}")

    @property
    def goes_on(self) -> bool:
        """True if the pipeline goes on where this output fails."""
        return ON_ERROR.value(self.outlet.sink) == "continue"

    @property
    def state(self) -> str:
        if self.failure is None:
            return "waiting" if self.waiting else "up to date"
        return "refused" if self.failure.final else "failing"

    @property
    def progress(self) -> OutputProgress:
        """Its progress, whatever another thread does with it."""
        waiting = list(self.since.values())
        return OutputProgress(self.outlet.name, self.rows, len(waiting), min(waiting, default=None))

    def put(self, change: Change, at: float) -> None:
        """Have a change wait, behind the others."""
        self.waiting.append(change)
        self.since[change.step] = at


class Outlets:
    """All declared outputs of a pipeline; without `writes` they are left alone."""

    def __init__(
        self,
        owner: Owner,
        tell: Callable[[Event], None],
        *,
        writes: bool = True,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._owner = owner
        self._tell = tell
        self._writes = writes
        self._seconds = seconds
        self._lines: dict[str, _Line] = {}
        self._kept: list[tuple[_Line, Change]] = []
        self._files: ParcelFiles | None = None
        self._started = False
        self._began_at = 0  # the number of the step behind which this process began
        self._lock = threading.RLock()

    # What there is

    @property
    def tables(self) -> Collection[str]:
        """The tables among the outputs, in lower case."""
        return {name for name, line in self._lines.items() if isinstance(line.outlet.sink.relation, Table)}

    @property
    def names(self) -> Collection[str]:
        """All outputs, in lower case."""
        return self._lines.keys()

    def facts(self) -> list[OutputFact]:
        """The state of each output."""
        return [_fact(line) for line in self._lines.values()]

    def progress(self) -> list[OutputProgress]:
        """The progress of each output; never waits."""
        return [line.progress for line in list(self._lines.values())]

    @property
    def waiting(self) -> int:
        """The number of steps that have not been taken, added up over the outputs."""
        return sum(len(line.waiting) for line in self._lines.values())

    def described(self) -> list[str]:
        """Each output in a line: where, in which form, how often."""
        return [line.outlet.describe() for line in self._lines.values()]

    def held(self) -> Callable[[], None]:
        """A function that has the outputs be those of now again."""
        lines = [(name, line, line.outlet) for name, line in self._lines.items()]

        def restore() -> None:
            _let_go(line for name, line in self._lines.items() if all(line is not one for _, one, _ in lines))
            for _, line, outlet in lines:
                line.outlet = outlet
            self._lines = {name: line for name, line, _ in lines}

        return restore

    def follow(self, catalog: Catalog, replaced: Collection[str] = (), differing: Collection[str] = ()) -> None:
        """Have the outputs be those of a catalog; if one cannot be opened, nothing has changed.

        Relations that are `replaced`, in lower case, are others than those of their names before; of those that are
        `differing` the outputs will be given what is different, if they can take it.
        """
        if not self._writes:
            return
        found = {outlet.name.lower(): outlet for outlet in outlets_of(catalog)}
        kept = {name: line for name, line in self._lines.items() if name in found}
        for name, line in kept.items():
            goes_on = name in differing and _takes_differences(line.outlet, found[name])
            if name in replaced and self._started and line.step and not goes_on:
                raise _replaced(line, found[name])
        for name, line in kept.items():
            line.outlet = found[name]
        fresh = {name: _Line(outlet) for name, outlet in found.items() if name not in kept}
        if self._started:
            self._open_fresh(fresh.values())
        gone = [line for name, line in self._lines.items() if name not in found]
        self._lines = {name: kept.get(name) or fresh[name] for name in found}
        _let_go(gone)

    def _open_fresh(self, lines: Iterable[_Line]) -> None:
        """Open outputs that come while the pipeline is at work; what their targets have is nothing of theirs."""
        opened: list[_Line] = []
        try:
            for line in lines:
                self._warn(line)
                line.receiver = self._receiver(line)
                opened.append(line)
                _refuse_earlier(line, line.receiver)
        except BaseException:
            _let_go(opened)
            raise

    def start(self, number: int, workspace: Workspace) -> None:
        """Open all outputs, after step `number`; what a directory has kept for them waits for them again."""
        directory = self._owner.directory
        self._began_at = number
        self._files = None if directory is None else ParcelFiles(directory)
        try:
            for line in self._lines.values():
                self._found_again(line, number, workspace)
                self._begin(line, number)
        except BaseException:
            _let_go(self._lines.values())
            raise
        self._started = True

    def _warn(self, line: _Line) -> None:
        """Say of an output that it may be given a step twice, before it is given one."""
        if not line.outlet.is_exact:
            self._tell(OutputAtLeastOnce(line.outlet.describe()))

    def _found_again(self, line: _Line, number: int, workspace: Workspace) -> None:
        if self._files is None:
            return
        line.step = self._files.last(line.outlet.name)
        for step, path in self._files.waiting(line.outlet.name, number):
            table, columns, clock = read_parcel(path)
            change = Change(line.outlet.name, columns, step, clock, workspace.change(table))
            line.put(change, path.stat().st_mtime)

    def _begin(self, line: _Line, number: int) -> None:
        """Open an output for the first time; one that does not answer stops here, unless the others go on."""
        self._warn(line)
        try:
            self._opened(line)
        except Unreachable as error:
            if not line.goes_on:
                raise
            self._failed(line, error)
            return
        taken = None if line.receiver is None else line.receiver.taken()
        if taken is not None and taken > number:
            message = f"{line.outlet.target} has step {taken} of this pipeline, which is at step {number}"
            hint = "the directory is an older copy, or begins anew; name another target, or empty this one"
            raise DataError(Diagnostic("OUTPUT_AHEAD", message, line.outlet.sink.span, hint=hint))

    # A step

    def keep(self, changes: Mapping[str, Change]) -> None:
        """Before a step happens: keep what it gives to each output; DataError if one could never take it."""
        self._forget()
        for line in self._lines.values():
            change = changes.get(line.outlet.name)
            if change is None or change.delta is None or change.delta.is_empty():
                continue
            _check_taken_back(line, change)
            change.delta.detached()  # what lies in the process is there until the step ends
            self._kept.append((line, change))
            if self._files is not None:
                self._files.put(line.outlet.name, change)
                reach("outbox.kept")

    def _forget(self) -> None:
        """Give up what was kept for a step that did not happen."""
        for line, change in self._kept:
            if self._files is not None:
                self._files.remove(line.outlet.name, change.step)
        self._kept = []

    def committed(self) -> None:
        """The step has happened: what was kept is to be delivered."""
        kept, self._kept = self._kept, []
        for line, change in kept:
            line.put(change, time.time())

    def deliver(self) -> float | None:
        """Give the outputs what waits; in how many seconds to try again, None if nothing keeps the pipeline waiting.

        Raises what an output that is to stop the pipeline has failed with.
        """
        with self._lock:
            waits = [self._delivered(line) for line in self._lines.values()]
        return min((seconds for seconds in waits if seconds is not None), default=None)

    def settle(self) -> None:
        """Deliver, however long it takes within each output's timeout."""
        while (seconds := self.deliver()) is not None:
            threading.Event().wait(seconds)

    def settle_earlier(self) -> None:
        """Before a step of a caller's: deliver what waits of those before; DataError if an output does not take it."""
        if not self.waiting:
            return
        try:
            self.settle()
        except Exception as error:
            said = error.diagnostics[0].message if isinstance(error, PenstockError) else str(error)
            message = f"no step is made while an earlier one waits for an output: {said}"
            hint = "nothing has changed: once the receiver takes the earlier step, make this call again"
            raise DataError(Diagnostic("OUTPUT_WAITS", message, hint=hint)) from error

    def rest(self) -> None:
        """Let go of all receivers, so that what they have is finished; they are opened again when there is more."""
        with self._lock:
            for line in self._lines.values():
                self._wait_for(line)
                if line.receiver is None and line.is_unfinished:
                    self._opened(line)
                receiver, line.receiver = line.receiver, None
                if receiver is not None:
                    line.is_unfinished = True
                    receiver.close()
                    line.is_unfinished = False

    def _wait_for(self, line: _Line) -> None:
        """Return when an output that others do not wait for has all that it takes now."""
        line.aside.wait()
        while line.goes_on and line.failure is None and line.waiting:
            self._delivered(line)
            line.aside.wait()

    def close(self) -> None:
        """Let go of all receivers, whatever they say."""
        with self._lock:
            _let_go(self._lines.values())

    def _delivered(self, line: _Line) -> float | None:
        if line.aside.is_busy:
            if len(line.waiting) > _MOST_WAITING:
                line.aside.wait()
            return None
        failure = line.failure
        if failure is not None and failure.final:
            self._check_kept(line)
            return None
        if failure is not None and self._seconds() < failure.again:
            return None if line.goes_on else failure.again - self._seconds()
        try:
            line.aside.check()
            if line.waiting and not self._handed_over(line):
                return None
        except (Unreachable, OSError) as error:  # the latter also of what the directory notes of the output
            return self._failed(line, error)
        except Exception as error:
            self._closed_after(line)
            if not line.goes_on:
                raise
            line.failure = _Failure(error, self._seconds(), final=True)
            self._say(line, error)
            self._check_kept(line)
            return None
        line.failure = None
        return None

    def _handed_over(self, line: _Line) -> bool:
        """True once it has all; False if it still takes, and others do not wait for it."""
        if line.goes_on:
            return line.aside.ended(partial(self._hand_over, line), _PATIENCE)
        self._hand_over(line)
        return True

    def _hand_over(self, line: _Line) -> None:
        receiver = line.receiver or self._opened(line)
        while line.waiting:
            change = line.waiting[0]
            reach("receiver.before")
            receiver.take(change)
            reach("receiver.taken")
            line.step, line.rows = change.step, line.rows + (change.delta.count() if change.delta is not None else 0)
            self._done(line)
            reach("receiver.noted")

    def _opened(self, line: _Line) -> Receiver:
        """The receiver, opened, without what it has already; DataError if it lacks what it had."""
        receiver = line.receiver = self._receiver(line)
        taken = receiver.taken()
        if taken is not None and taken < line.step:
            self._closed_after(line)
            message = f"{line.outlet.target} has step {taken} of this pipeline, which had given it step {line.step}"
            hint = "it was emptied, or is an older copy: name another target, and begin with an empty directory"
            raise DataError(Diagnostic("OUTPUT_BEHIND", message, line.outlet.sink.span, hint=hint))
        while taken is not None and line.waiting and line.waiting[0].step <= taken:
            line.step = line.waiting[0].step
            self._done(line)
        return receiver

    def _receiver(self, line: _Line) -> Receiver:
        self._owner.openings.begin(self._began_at)
        return line.outlet.opened(self._owner)

    def _done(self, line: _Line) -> None:
        """The oldest that waits has been taken."""
        if self._files is not None:
            self._files.took(line.outlet.name, line.waiting[0].step)
        line.since.pop(line.waiting.popleft().step)

    def _failed(self, line: _Line, error: Exception) -> float | None:
        """The output will be tried again; raises the error once its time is up, or too much waits."""
        now = self._seconds()
        self._closed_after(line)
        failure = line.failure = line.failure or _Failure(error, now, tries=0)
        if not failure.tries:
            self._say(line, error)
        if now - failure.since >= timeout_of(line.outlet.sink) and not line.goes_on:
            line.failure = None
            raise error
        wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2**failure.tries)
        failure.error, failure.tries, failure.again = error, failure.tries + 1, now + wait
        self._check_kept(line)
        return None if line.goes_on else wait

    @staticmethod
    def _check_kept(line: _Line) -> None:
        """Raise for an output for which more waits than can be kept."""
        if len(line.waiting) > _MOST_WAITING and line.failure is not None:
            error, line.failure = line.failure.error, None
            raise error

    def _say(self, line: _Line, error: Exception) -> None:
        self._tell(
            OutputFailed(line.outlet.name, line.waiting[0].step if line.waiting else line.step, message_of(error))
        )

    @staticmethod
    def _closed_after(line: _Line) -> None:
        receiver, line.receiver = line.receiver, None
        if receiver is not None:
            with suppress(PenstockError, OSError):  # the failure that led here is what is told
                receiver.close()


def _fact(line: _Line) -> OutputFact:
    outlet = line.outlet
    error = None if line.failure is None else str(line.failure.error)
    waiting = len(line.waiting)
    facts = outlet.name, outlet.target, str(outlet.form), outlet.key, outlet.guarantee
    return OutputFact(*facts, line.step, line.rows, waiting, line.state, error)


def _check_taken_back(line: _Line, change: Change) -> None:
    """DataError for a row that goes from a table whose receiver can only be added to."""
    if line.outlet.form is not Form.APPEND or not isinstance(line.outlet.sink.relation, Table):
        return
    gone = next((row for weight, row in change.rows if weight < 0), None)
    if gone is not None:
        message = f"a row of {line.outlet.name} goes, but {line.outlet.target} can only be added to: {gone!r}"
        hint = "give the table a PRIMARY KEY, or another 'form'"
        raise DataError(Diagnostic("TAKES_ROWS_BACK", message, hint=hint))


def _refuse_earlier(line: _Line, receiver: Receiver) -> None:
    if receiver.taken():
        raise in_use(line.outlet.target, "an earlier output of that name")


def _takes_differences(before: Outlet, after: Outlet) -> bool:
    """True if what one has been given can be changed into what the other is to have."""
    return before.form is after.form is not Form.APPEND and before.key == after.key


def _replaced(line: _Line, outlet: Outlet) -> UnsupportedError:
    """The error for another query in the place of one whose answer the receiver has."""
    message = f"{outlet.sink.what} cannot be replaced: {line.outlet.target} has the answer of the one before"
    hint = "drop it, and create one of another name with another target"
    return UnsupportedError(Diagnostic("REPLACED_OUTPUT", message, outlet.sink.span, hint=hint))


def _let_go(lines: Iterable[_Line]) -> None:
    for line in lines:
        line.aside.wait()
        receiver, line.receiver = line.receiver, None
        if receiver is not None:
            with suppress(PenstockError, OSError):  # what was taken is safe; the rest is given again
                receiver.close()
