"""Steps as spans of OpenTelemetry: one for each step, with one below it for each phase, made when the step is over."""

from __future__ import annotations

import os
import sys
import time
from importlib.metadata import entry_points

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter
from opentelemetry.trace import Tracer, get_tracer, set_span_in_context

from penstock.errors import Diagnostic, UnsupportedError, did_you_mean
from penstock.steps.events import Event, OutputsDone, StepDone

_GROUP = "opentelemetry_traces_exporter"
_NANOSECONDS = 1_000_000_000


class StepTraces:
    """Makes the spans of the events that it is told, with a tracer: without one, that of the process."""

    def __init__(self, tracer: Tracer | None = None) -> None:
        self._tracer = tracer or get_tracer("penstock")

    def __call__(self, event: Event) -> None:
        """Make the spans of a step, or of what outputs have been given."""
        match event:
            case StepDone():
                self._step(event)
            case OutputsDone():
                ended = time.time()
                facts = {"penstock.step": event.step, "penstock.waiting": event.waiting}
                span = self._tracer.start_span("outputs", start_time=_at(ended - event.seconds), attributes=facts)
                span.end(_at(ended))
            case _:
                pass

    def _step(self, event: StepDone) -> None:
        ended = time.time()
        began = min([ended - event.seconds, *(phase.began for phase in event.phases)])
        facts: dict[str, int | str] = {
            "penstock.step": event.step,
            "penstock.clock": event.clock.isoformat(" "),
            "penstock.rows.received": sum(event.received.values()),
            "penstock.rows.changed": sum(event.changed.values()),
            "penstock.rows.rejected": sum(event.rejected.values()),
        }
        span = self._tracer.start_span("step", start_time=_at(began), attributes=facts)
        within = set_span_in_context(span)
        for phase in event.phases:
            part = self._tracer.start_span(phase.name, within, start_time=_at(phase.began))
            part.end(_at(phase.began + phase.seconds))
        span.end(_at(ended))


class Exported:
    """Spans given to an exporter by its name, such as 'otlp' or 'console', until `close`."""

    def __init__(self, exporter: str) -> None:
        named = {} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": "penstock"}
        self._provider = TracerProvider(resource=Resource.create(named))
        self._provider.add_span_processor(BatchSpanProcessor(_exporter(exporter)))
        self.tell = StepTraces(self._provider.get_tracer("penstock"))

    def close(self) -> None:
        """Give away what has not been."""
        self._provider.shutdown()


def _exporter(name: str) -> SpanExporter:
    if name == "console":
        return ConsoleSpanExporter(out=sys.stderr)  # its own way is stdout, which has the results
    found = {entry.name: entry for entry in entry_points(group=_GROUP)}
    if name not in found:
        message = f"there is no exporter of traces called {name[:100]!r}: the installed ones are {', '.join(found)}"
        near = did_you_mean(name, list(found))
        hint = "pip install opentelemetry-exporter-otlp for 'otlp'"
        raise UnsupportedError(Diagnostic("UNKNOWN_EXPORTER", message, candidates=near, hint=hint))
    exporter: SpanExporter = found[name].load()()
    return exporter


def _at(seconds: float) -> int:
    return int(seconds * _NANOSECONDS)
