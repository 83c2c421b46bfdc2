"""The ways of watching a run: progress for people or lines of JSON, figures over HTTP, spans for OpenTelemetry."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from penstock.cli.progress import Progress
from penstock.cli.reporting import BUG, WRONG, note, told_by
from penstock.errors import InternalError, PenstockError
from penstock.steps.events import Event
from penstock.watching.extras import check_extra
from penstock.watching.logs import EventLog

if TYPE_CHECKING:
    from penstock.pipeline.pipeline import Pipeline
    from penstock.watching.traces import Exported


@dataclass
class Watch:
    """The listeners of a run, and the way in which something is said to the person."""

    teller: Progress | EventLog
    traces: Exported | None

    @property
    def say(self) -> Callable[[str], None]:
        """Says a line to the person."""
        return self.teller.say

    def tell(self, event: Event) -> None:
        """Pass an event on."""
        self.teller(event)
        if self.traces is not None:
            self.traces.tell(event)

    def begin(self, pipeline: Pipeline, port: int | None, host: str) -> None:
        """Watch this pipeline, and serve its figures where that is asked for."""
        if isinstance(self.teller, EventLog):
            self.teller.watched = pipeline
        if port is not None:
            endpoint = pipeline.serve_metrics(port, host)
            note(f"metrics: http://{endpoint.host}:{endpoint.port}/metrics")


@contextmanager
def watching(log_format: str, exporter: str | None, *, quiet: bool) -> Iterator[Watch]:
    """Watch what runs inside; in JSON all that stderr is told is lines of it, the error that ends it among them."""
    traces = None if exporter is None else _exported(exporter)
    try:
        if log_format == "text":
            yield Watch(Progress(quiet=quiet), traces)
        else:
            log = EventLog(lambda text: click.echo(text, err=True))
            with told_by(log.say), _failure_in(log):
                yield Watch(log, traces)
    finally:
        if traces is not None:
            traces.close()


@contextmanager
def _failure_in(log: EventLog) -> Iterator[None]:
    """Have the log say what ends the run, with the exit code that it means."""
    try:
        yield
    except PenstockError as error:
        log.failed(error)
        sys.exit(BUG if isinstance(error, InternalError) else WRONG)


def _exported(exporter: str) -> Exported:
    check_extra("opentelemetry.sdk", "tracing", "tracing")
    from penstock.watching.traces import Exported  # noqa: PLC0415 - the package may be missing

    return Exported(exporter)
