"""Put the demo together: a thread replays the events into a folder, a pipeline follows it, a console shows the views.

replay ── files ──→ Pipeline.run ── changes ──→ Board ──→ console
   ↑                     │
   └──── consumed ───────┘        the replay is held back, so that what is shown is what has just happened
"""

from __future__ import annotations

import tempfile
import threading
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live

from penstock.demo.board import SHOWN, Board, Progress, totals
from penstock.demo.dataset import load
from penstock.demo.gain import Gain, measured
from penstock.demo.landings import Landings
from penstock.demo.places import Places, places_of
from penstock.demo.replay import Pace, Replay, Slice
from penstock.demo.timeline import Timeline, timeline
from penstock.errors import DataError, Diagnostic
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.run import RunOptions
from penstock.pipeline.verification import Verification
from penstock.steps.change import Change
from penstock.steps.events import Event, StepDone

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENTS_AHEAD = 75_000
"""The number of events that may wait in files that the pipeline has not read."""

# What a step costs here is nearly the same for one row and for thousands, so on a slow or busy machine smaller
# steps, which the loop would choose, would only take longer altogether.
STEPS = RunOptions(
    first_rows=10_000, least_rows=10_000, most_rows=50_000, quick_seconds=5.0, slow_seconds=20.0, poll_seconds=0.02
)

# The second compiler of the JVM takes half of the processor time of the first minute, and pays it back after the demo.
_JVM = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}

_SECONDS_BETWEEN_LINES = 2.0
_STATE_SAMPLES = 12
_LATE_LISTED = 10


@dataclass(frozen=True)
class StateSize:
    """The size of what the operators remembered after some number of events."""

    events: int
    rows: int
    size: int


@dataclass(frozen=True)
class Summary:
    """The outcome of the demo; `ok` says whether every view equals its query run in batch.

    `gain` is None where all views are on Spark anyway.
    """

    progress: Progress
    changed: Mapping[str, int]
    states: Sequence[StateSize]
    rejected: Mapping[tuple[str, str], int]
    verified: Sequence[Verification]
    gain: Gain | None = None

    @property
    def ok(self) -> bool:
        """True if every view is right and nothing is missing."""
        return all(self.verified) and self.progress.events == self.progress.total


def run(
    *,
    days: int | None = None,
    speed: float | None = None,
    directory: Path | None = None,
    console: Console | None = None,
    spark: SparkSession | None = None,
    master: str = "local[*]",
    engine: str | None = None,
) -> Summary:
    """Replay the year, or its first `days`, through `flights.sql`; show it live, then verify every view.

    Where views work in the process, it measures what that gains. With `engine` 'spark' they all work on Spark.

    `speed` is how many seconds of 2013 pass in one second; without it they pass as fast as the pipeline follows. The
    files are written to `directory`, which must not hold an earlier replay, or to a temporary folder.
    """
    shown = console or Console()
    with _folder(directory) as folder:
        shown.print(f"Ordering what happened to the flights of 2013, to replay it into {folder} …", soft_wrap=True)
        replay = Replay(timeline(load(), days), folder / "data")
        replay.prepare()
        program = folder / "flights.sql"
        program.write_text(located_program(folder / "data"), encoding="utf-8")
        follower = Follower(replay, shown)
        pipeline = Pipeline(program, spark=spark, master=master, conf=_JVM, engine=engine, on_event=follower.happened)
        with pipeline:
            places = places_of(pipeline)
            shown.print(places.render(), highlight=False)
            shown.print("Starting Spark …")
            landings = Landings(pipeline, days)
            shown.print("A query that stands beside the views, and shows each row once:")
            shown.print(landings.text, highlight=False)
            _follow(pipeline, replay, follower, speed, landings)
            summary = _finished(pipeline, follower, shown)
            return replace(summary, gain=_gain(pipeline, places, replay.events, shown))


def located_program(data: Path) -> str:
    """The text of `flights.sql` with its folders under `data`."""
    text = (Path(__file__).parent / "flights.sql").read_text(encoding="utf-8")
    place = str(data.absolute()).replace("'", "''")
    return text.replace("'path' = 'data/", f"'path' = '{place}/")


class Follower:
    """Listens to the pipeline, as an output of its run: counts, keeps the board, and lets the replay go on."""

    def __init__(self, replay: Replay, console: Console) -> None:
        self.board = Board()
        self.changed: Counter[str] = Counter()
        self.states: list[StateSize] = []
        self._console = console
        self._parts = replay.slices
        self._bounds = [part.events for part in replay.slices]
        self._total = replay.events.events
        self._events = self._steps = self._late = 0
        self._started = self._said = 0.0
        self._went_on = threading.Condition()
        self._stopped = False
        self._pipeline: Pipeline | None = None
        self._landings: Landings | None = None
        self._live: Live | None = None

    # The replay's side

    def room_for(self, part: Slice) -> bool:
        """Wait until little enough is unread; False when the demo has ended."""
        with self._went_on:
            self._went_on.wait_for(lambda: self._stopped or part.events - self._events <= EVENTS_AHEAD)
            return not self._stopped

    def stop(self) -> None:
        """Let a waiting replay end."""
        with self._went_on:
            self._stopped = True
            self._went_on.notify_all()

    # The pipeline's side

    @contextmanager
    def following(self, pipeline: Pipeline, landings: Landings) -> Iterator[None]:
        """Show what the pipeline does meanwhile, and what a standing query of it shows."""
        self._pipeline, self._landings = pipeline, landings
        self._started = time.monotonic()
        if not self._console.is_terminal:
            yield
            return
        with Live(console=self._console, auto_refresh=False, transient=False) as self._live:
            yield

    def happened(self, event: Event) -> None:
        """Count a step."""
        if not isinstance(event, StepDone):
            return
        with self._went_on:
            self._events += sum(event.received.values())
            self._went_on.notify_all()
        self._steps = event.step
        self._late += sum(event.rejected.values())
        self.changed.update(event.changed)

    def write(self, changes: Mapping[str, Change]) -> None:
        """Take the changes of a step, show them, and end the run after the last event."""
        for view in SHOWN:
            self.board.apply(view, changes[view].rows)
        self._measure()
        self._show()
        for line in () if self._landings is None else self._landings.lines():
            self._console.print(line, soft_wrap=True, highlight=False)
        if self._events >= self._total and self._pipeline is not None:
            self._pipeline.stop()

    def close(self) -> None:
        """Nothing is left to be written."""

    def describe(self) -> str:
        """The output as its user names it."""
        return "the board"

    def progress(self) -> Progress:
        """The progress of the pipeline."""
        known = min(bisect_right(self._bounds, self._events), len(self._parts) - 1)
        return Progress(
            moment=self._parts[known].moment,
            events=self._events,
            total=self._total,
            step=self._steps,
            seconds=time.monotonic() - self._started,
            rows_changed=self.changed.total(),
            late=self._late,
            state_rows=self.states[-1].rows if self.states else None,
        )

    def _measure(self) -> None:
        if self._pipeline is None or self._events * _STATE_SAMPLES < len(self.states) * self._total:
            return
        operators = self._pipeline.state()
        rows, size = sum(item.rows for item in operators), sum(item.bytes for item in operators)
        self.states.append(StateSize(self._events, rows, size))

    def _show(self) -> None:
        progress = self.progress()
        if self._live is not None:
            self._live.update(self.board.render(progress, self._console.width), refresh=True)
        elif progress.seconds - self._said >= _SECONDS_BETWEEN_LINES or progress.events == progress.total:
            self._said = progress.seconds
            self._console.print(self.board.line(progress), soft_wrap=True, highlight=False)


def _follow(pipeline: Pipeline, replay: Replay, follower: Follower, speed: float | None, landings: Landings) -> None:
    ended = threading.Event()
    pace = Pace(speed, ended)
    failures: list[BaseException] = []

    def replaying() -> None:
        try:
            replay.run(lambda part: follower.room_for(part) and pace(part))
        except OSError as error:
            failures.append(error)
            pipeline.stop()

    # Spark starts here, before the clock of the demo does.
    pipeline.rejected()
    writer = threading.Thread(target=replaying, name="replay", daemon=True)
    try:
        with follower.following(pipeline, landings):
            writer.start()
            pipeline.run(outputs=[follower], options=STEPS)
    finally:
        ended.set()
        follower.stop()
        writer.join()
    if failures:
        raise DataError(Diagnostic("CANNOT_WRITE", f"the replay cannot write its files: {failures[0]}"))


def _finished(pipeline: Pipeline, follower: Follower, console: Console) -> Summary:
    progress = follower.progress()
    views = [view.name for view in pipeline.catalog.views.values() if view.is_output]
    verified = []
    for view in views:
        found = pipeline.verify(view)
        verified.append(found)
        console.print(_verdict(found), highlight=False)
    rejected = pipeline.rejected()
    for (table, message), rows in sorted(rejected.items()):
        console.print(f"{rows:,} rows for {table} went to error_view: {message}", highlight=False)
    for line in follower.board.late_lines(_LATE_LISTED):
        console.print(f"  {line}", highlight=False)
    changed = {view: rows for view, rows in follower.changed.items() if view in views}
    console.print(_state_line(follower.states), soft_wrap=True, highlight=False)
    console.print(totals(progress, changed), soft_wrap=True, highlight=False)
    return Summary(progress, changed, tuple(follower.states), rejected, tuple(verified))


def _gain(pipeline: Pipeline, places: Places, events: Timeline, console: Console) -> Gain | None:
    """Measure what working in the process gains, and say it; None where nothing works there."""
    if places.on_spark:
        return None
    console.print("The first events once more, as above and with all views on Spark …")
    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as name:
        found = measured(events, located_program(Path(name)), Path(name), pipeline.spark)
    console.print(found.line(), soft_wrap=True, highlight=False)
    return found


def _verdict(found: Verification) -> str:
    if found:
        return f"verified {found.view}: its {found.rows:,} rows are what a batch query answers"
    examples: list[Any] = list(found.examples)
    return f"WRONG {found.view}: {found.missing} rows are missing, {found.unexpected} too many, e.g. {examples}"


def _state_line(states: Sequence[StateSize]) -> str:
    sizes = "  ".join(f"{state.rows:,}" for state in states)
    return f"rows of state over time: {sizes} (at the end {states[-1].size / 1e6:,.0f} MB)" if states else ""


@contextmanager
def _folder(directory: Path | None) -> Iterator[Path]:
    if directory is None:
        with tempfile.TemporaryDirectory(prefix="penstock-demo-") as name:
            yield Path(name)
        return
    if (directory / "data").exists() and any((directory / "data").iterdir()):
        message = f"{directory / 'data'} already holds a replay"
        raise DataError(Diagnostic("NOT_EMPTY", message, hint="name another folder, or remove it"))
    directory.mkdir(parents=True, exist_ok=True)
    yield directory
