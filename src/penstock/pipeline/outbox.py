"""The steps that outputs have still to be given: one is in here from its commit until the output has taken it.

An output that fails is given the same step again, and later steps only behind it; the others do not wait for it. The
outbox outlives a run, so that one that is started again goes on where an output had stopped.

With a directory `<directory>/outputs.json` says which step each output has taken last. A process that goes on from
there makes the later steps again (`pipeline.recovery`), and each output is given those that it has not taken. One that
can tell by itself which step it has, because its receiver keeps the number, is asked: it has `taken_step()`.

A step that has happened in a call which ends with an error has been given back to nobody: a declared output has failed
with it, or a later statement. It is kept in here, and the outputs get it in front of whatever they are given next.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from penstock.errors import DataError, Diagnostic
from penstock.failpoints import reach
from penstock.sources.api import Output
from penstock.steps.change import Change
from penstock.steps.checked_files import facts_of, facts_text
from penstock.steps.durable import replace_atomically
from penstock.watching.watched import OutputProgress

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Parcel:
    """The changes of one step for one output, which have waited `since` then, in seconds since 1970."""

    output: Output
    step: int
    changes: Mapping[str, Change]
    since: float = field(default_factory=time.time)

    @property
    def rows(self) -> int:
        """The rows of all changes."""
        return sum(change.delta.count() for change in self.changes.values() if change.delta is not None)


class Taken:
    """The step that each output has taken last, by its name; with a file if the pipeline has a directory."""

    def __init__(self, directory: Path | None = None) -> None:
        self._path = None if directory is None else directory / "outputs.json"
        self.steps: dict[str, int] = {}
        self.is_written = True
        if self._path is not None and self._path.exists():
            self.steps = dict(facts_of(self._path)["taken"])

    def note(self, steps: Mapping[str, int]) -> None:
        """Write down what outputs have taken, and what could not be written before."""
        if not self.is_written or not steps.items() <= self.steps.items():
            self.steps |= steps
            self._write()

    def forget(self, name: str) -> bool:
        """Know nothing of an output any more; False if nothing was known."""
        known = self.steps.pop(name, None) is not None
        if known:
            self._write()
        return known

    def _write(self) -> None:
        if self._path is not None:
            self.is_written = False
            text = facts_text({"format": FORMAT, "taken": self.steps})
            replace_atomically(self._path, lambda path: path.write_text(text, encoding="utf-8"))
            self.is_written = True


@dataclass
class Outbox:
    """The parcels that have not been taken, oldest first.

    `again` has the changes of the steps that recovery has made again, for outputs that have not taken them; `since` is
    the first step whose changes can be given.
    """

    taken: Taken = field(default_factory=Taken)
    again: dict[int, Mapping[str, Change]] = field(default_factory=dict)
    since: int = 1
    _waiting: list[Parcel] = field(default_factory=list)
    _put: dict[str, int] = field(default_factory=dict)  # the last step that is in here for an output, or has been
    _untold: dict[int, Mapping[str, Change]] = field(default_factory=dict)  # steps of calls that ended with an error
    _made: dict[int, Mapping[str, Change]] | None = None  # the steps of the call that is under way
    _given: list[Parcel] = field(default_factory=list)  # those that are being given
    _rows: dict[str, int] = field(default_factory=dict)  # the rows that each output has taken

    @property
    def is_empty(self) -> bool:
        """True if all has been taken."""
        return not self._waiting

    @property
    def waiting(self) -> int:
        """The number of parcels that have not been taken."""
        return len(self._waiting)

    def progress(self) -> list[OutputProgress]:
        """The progress of each output that has been given something, or is to be; never waits."""
        waiting: dict[str, list[float]] = {name: [] for name in list(self._put)}
        for parcel in [*self._given, *self._waiting]:
            waiting.setdefault(parcel.output.describe(), []).append(parcel.since)
        return [
            OutputProgress(name, self._rows.get(name, 0), len(found), min(found, default=None))
            for name, found in waiting.items()
        ]

    def is_settled(self, step: int) -> bool:
        """True if no output, open or not, lacks anything of the steps so far, and if that is written down."""
        return self.is_empty and self.taken.is_written and all(last >= step for last in self.taken.steps.values())

    @contextmanager
    def giving_back(self) -> Iterator[Mapping[int, Mapping[str, Change]]]:
        """A call that gives back the changes of the steps that it makes; what it cannot give back is kept."""
        before, self._made = self._made, {}
        try:
            yield self._made
        except BaseException:
            # Where no output is known one that comes begins with the last call, be it this one.
            self._untold = {**self._untold, **self._made} if self._put else self._made or self._untold
            raise
        finally:
            self._made = before

    def made(self, step: int, changes: Mapping[str, Change]) -> None:
        """A step has happened in the call that is under way."""
        if self._made is not None:
            self._made[step] = changes

    def put(self, outputs: Sequence[Output], step: int, changes: Mapping[str, Change]) -> None:
        """Add what a step has changed, for each of the outputs, behind what they still lack of those before."""
        self._put_untold(outputs)
        self._waiting += [Parcel(output, step, changes) for output in outputs]
        self._put |= {output.describe(): step for output in outputs}

    def opened_again(self, outputs: Sequence[Output], step: int) -> None:
        """Have the outputs of a new run, behind `step`, take what those of the same name had not taken.

        An output that is not known begins here, or with the steps that nobody has been given. DataError if what an
        output lacks cannot be given any more.
        """
        by_name = {output.describe(): output for output in outputs}
        self._waiting = [
            replace(parcel, output=by_name.get(parcel.output.describe(), parcel.output)) for parcel in self._waiting
        ]
        new = {name: output for name, output in by_name.items() if name not in self._put}
        begins = min((number - 1 for number in self._untold), default=step)
        last = {name: self._last(name, output, begins) for name, output in new.items()}
        missed = [
            Parcel(new[name], number, changes)
            for number, changes in self.again.items()
            for name in new
            if number > last[name]
        ]
        self._waiting = missed + self._waiting
        self._put |= last
        self.taken.note(last)
        self._put_untold(outputs)

    def _put_untold(self, outputs: Sequence[Output]) -> None:
        """Add the steps that nobody has been given, as far as these outputs lack them."""
        for step, changes in self._untold.items():
            for output in outputs:
                name = output.describe()
                if self._put.get(name, step) < step:
                    self._waiting.append(Parcel(output, step, changes))
                    self._put[name] = step
        last = min(self._put.values(), default=0)
        self._untold = {step: changes for step, changes in self._untold.items() if step > last}

    def _last(self, name: str, output: Output, step: int) -> int:
        """The step that an output has taken last; the present one for an output that begins."""
        asked = getattr(output, "taken_step", None)
        told = None if asked is None else asked()
        last = self.taken.steps.get(name, step) if told is None else int(told)
        if last < step and last + 1 < self.since:
            message = f"{name} has taken step {last} last, and the steps before {self.since} cannot be given again"
            hint = "penstock run --rebuild makes them again from the log, as far as it is kept"
            raise DataError(Diagnostic("STEPS_GONE", message, hint=hint))
        return last

    def deliver(self) -> list[tuple[Output, Exception]]:
        """Give each output what waits for it, in the order of the steps; which have failed, with what they raised."""
        waiting, self._waiting = self._waiting, []
        self._given = waiting
        try:
            failed, done = self._offered(waiting)
        finally:
            self._given = []
        self.taken.note(done)
        reach("output.position")
        return failed

    def _offered(self, waiting: list[Parcel]) -> tuple[list[tuple[Output, Exception]], dict[str, int]]:
        """The outputs that have failed, and the last step that each other one has taken of what waits."""
        failed: dict[int, tuple[Output, Exception]] = {}
        done: dict[str, int] = {}
        while waiting:
            parcel = waiting[0]
            if id(parcel.output) in failed:
                self._waiting.append(parcel)
            else:
                try:
                    self._give(parcel, done)
                except Exception as error:  # noqa: BLE001 - it is told, and the step given again
                    failed[id(parcel.output)] = parcel.output, error
                    self._waiting.append(parcel)
                except BaseException:
                    self._waiting += waiting
                    raise
            del waiting[0]
        return list(failed.values()), done

    def _give(self, parcel: Parcel, done: dict[str, int]) -> None:
        name, rows = parcel.output.describe(), parcel.rows
        reach("output.before")
        parcel.output.write(parcel.changes)
        reach("output.written")
        done[name] = parcel.step
        self._rows[name] = self._rows.get(name, 0) + rows
