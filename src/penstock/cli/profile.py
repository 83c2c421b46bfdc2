"""The cost of each operator: a table on stderr at the end of a run, and JSON lines step by step."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from penstock.catalog.shown_names import ShownNames
from penstock.circuit.measured import Measured, Profile
from penstock.cli.reporting import note
from penstock.cli.results import Table, write_table
from penstock.explain.analyzed import operator_json, work_json
from penstock.explain.text import chain_text
from penstock.outputs.lines import json_line
from penstock.steps.events import Event, StepDone

if TYPE_CHECKING:
    from penstock.pipeline.pipeline import Pipeline

_COLUMNS = (
    "ms", "%", "last ms", "merge ms", "jobs", "steps", "rows in", "rows out",
    "state rows", "state bytes", "rows read", "layers read", "where", "for", "operator",
)  # fmt: skip


class Measurements:
    """Tells of a run's measurements: the table if `table`, lines into the file `path`; `then` gets the events too."""

    def __init__(self, path: str | None, then: Callable[[Event], None], *, table: bool) -> None:
        self._path = None if path is None else Path(path)
        self._then = then
        self._table = table
        self._lines: TextIO | None = None

    @property
    def wanted(self) -> bool:
        """True if anybody asks for them."""
        return self._table or self._path is not None

    def __call__(self, event: Event) -> None:
        """Write the measurements of a step."""
        self._then(event)
        if self._lines is not None and isinstance(event, StepDone):
            self._lines.writelines(step_line(event, item) + "\n" for item in event.measured)
            self._lines.flush()

    @contextmanager
    def shown_of(self, pipeline: Pipeline) -> Iterator[None]:
        """Show the measurements of what runs inside, however it ends."""
        with nullcontext() if self._path is None else self._path.open("w", encoding="utf-8") as self._lines:
            try:
                yield
            finally:
                if self._table:
                    write_profile(pipeline.profile(), sys.stderr, ShownNames(pipeline.catalog))


def step_line(event: StepDone, found: Measured) -> str:
    """The work of one operator in one step, and the merging of its state before it, as a line of JSON."""
    work = {} if found.last is None else work_json(found.last)
    merged = {"merging_seconds": round(found.merged.seconds, 6), "merging_jobs": found.merged.jobs}
    step = {"step": event.step, "step_seconds": round(event.seconds, 6)}
    return json_line(step | operator_json(found) | work | merged)


def write_profile(profile: Profile, stream: TextIO, names: ShownNames) -> None:
    """The operators of all views, the dearest first."""
    if not profile.steps:
        note("profile: no step was measured")
        return
    steps = f"{profile.steps:,} step{'' if profile.steps == 1 else 's'} in {profile.seconds:,.3f} s"
    parts = f"operators {profile.operator_seconds:,.3f} s, merging state {profile.merging_seconds:,.3f} s"
    note(f"profile: {steps}; {parts}, the rest is checking rows, the log, and what is kept of views")
    several = len(profile.circuits) > 1
    found = [
        (item, f"#{at}.{number}" if several else f"#{number}")
        for at, circuit in enumerate(profile.circuits, 1)
        for number, item in circuit.operators.items()
    ]
    dearest = sorted(found, key=lambda entry: -entry[0].total.seconds)
    rows = [_row(item, profile, name, names) for item, name in dearest]
    write_table(Table(_COLUMNS, rows), "text", stream)


def _row(found: Measured, profile: Profile, name: str, names: ShownNames) -> tuple[int | str, ...]:
    total, last = found.total, found.last
    share = round(100 * total.seconds / profile.seconds) if profile.seconds else 0
    times = (total.seconds, 0.0 if last is None else last.seconds, found.merging.seconds)
    whole, newest, merging = (round(seconds * 1000) for seconds in times)
    return (
        whole, share, newest, merging, total.jobs + found.merging.jobs, found.steps, total.rows_in, total.rows_out,
        found.state_rows, found.state_bytes, total.scanned_rows, total.scanned_layers, found.place.where,
        ", ".join(found.views),
        names.text(f"{name} {type(found.operator).__name__}: {chain_text(found.operator)}"),
    )  # fmt: skip
