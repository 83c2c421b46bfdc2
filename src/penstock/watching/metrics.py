"""The figures of a pipeline, named and typed as Prometheus has it.

Counters and histograms grow with each event. What stands at one moment is collected from a snapshot that an event has
left: whoever asks waits for no step, and sees no half of one. How far outputs are is asked at that moment: a receiver
that hangs leaves no event.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from penstock.steps.events import Event, OutputFailed, OutputsDone, RunProgress, SourceLag, StepDone
from penstock.steps.facts import StateSize, WaterlineFact
from penstock.steps.phases import seconds_by_phase
from penstock.steps.rows.rejected import LATE, LATE_VERSION
from penstock.watching.watched import OutputProgress, Watched

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_STATES = ("running", "stopped", "failed")


@dataclass(frozen=True)
class Snapshot:
    """The figures that stand after the last event; times in seconds since 1970."""

    step: int = 0
    clock: datetime | None = None
    at: float | None = None
    state: tuple[StateSize, ...] = ()
    spilled: int = 0
    rejected: Mapping[tuple[str, str], int] = field(default_factory=dict)
    waterlines: Sequence[WaterlineFact] = ()
    lags: tuple[SourceLag, ...] = ()


class Metrics(Collector):
    """The figures of one pipeline, whose events it is told; `registry` has them."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._now = Snapshot()
        self.registry = registry = CollectorRegistry()
        self._steps = Counter("penstock_steps", "Steps that have happened.", registry=registry)
        self._seconds = Histogram(
            "penstock_step_duration_seconds", "Time of a step.", registry=registry, buckets=_BUCKETS
        )
        self._phases = Histogram(
            "penstock_step_phase_duration_seconds", "Time of a step's phases.", ["phase"],
            registry=registry, buckets=_BUCKETS,
        )  # fmt: skip
        self._received = Counter("penstock_input_rows", "Rows received.", ["table"], registry=registry)
        self._bytes = Counter(
            "penstock_input_bytes", "Bytes of the tables' changes in memory.", ["table"], registry=registry
        )
        self._changed = Counter("penstock_view_rows", "Changed rows shown.", ["view"], registry=registry)
        self._failures = Counter(
            "penstock_output_failures", "Steps that an output has not taken at once.", ["output"], registry=registry
        )
        for collector in (self, ProcessCollector(registry=None), PlatformCollector(registry=None)):
            registry.register(collector)

    def __call__(self, event: Event) -> None:
        """Count what an event says."""
        match event:
            case StepDone():
                self._stepped(event)
            case RunProgress():
                self._now = replace(self._now, lags=event.lags)
            case OutputsDone():
                self._phases.labels("output").observe(event.seconds)
            case OutputFailed():
                self._failures.labels(event.output).inc()
            case _:
                pass

    def _stepped(self, event: StepDone) -> None:
        self._steps.inc()
        self._seconds.observe(event.seconds)
        for name, seconds in seconds_by_phase(event.phases).items():
            self._phases.labels(name).observe(seconds)
        for counter, found in (
            (self._received, event.received),
            (self._bytes, event.accepted_bytes),
            (self._changed, event.changed),
        ):
            for label, number in found.items():
                counter.labels(label).inc(number)
        self._now = replace(
            self._now,
            step=event.step,
            clock=event.clock,
            at=time.time(),
            state=event.state,
            spilled=0 if event.spilled is None else event.spilled.bytes,
            rejected=dict(self._watched.rejected()),
            waterlines=tuple(self._watched.waterline_facts()),
        )

    def collect(self) -> Iterator[Metric]:
        """The figures that stand now."""
        now = self._now
        yield self._state()
        yield from _moments(now)
        yield from _rejected(now.rejected)
        yield from _waterlines(now)
        yield from _kept(now)
        yield from _lags(now.lags)
        yield from _outputs(self._watched.output_progress(), time.time())

    def _state(self) -> Metric:
        state = self._watched.status.state
        rows = [((name,), float(name == state)) for name in _STATES]
        return _labelled("pipeline_state", "1 for the state that the pipeline is in.", ("state",), rows)


def _moments(now: Snapshot) -> Iterator[Metric]:
    yield _gauge("step", "The number of the last step.", now.step)
    if now.at is not None:
        yield _gauge("last_step_timestamp_seconds", "When the last step happened.", now.at)
    if now.clock is not None:
        yield _gauge("clock_timestamp_seconds", "The clock of the last step.", _seconds(now.clock))


def _rejected(rejected: Mapping[tuple[str, str], int]) -> Iterator[Metric]:
    late = CounterMetricFamily("penstock_late_rows", "Rows that were late.", labels=["relation"])
    others = CounterMetricFamily(
        "penstock_rejected_rows", "Rows in error_view, late ones included.", labels=["relation", "reason"]
    )
    tardy: dict[str, int] = defaultdict(int)
    for (relation, reason), number in rejected.items():
        others.add_metric([relation, reason], number)
        tardy[relation] += number if reason in (LATE, LATE_VERSION) else 0
    for relation, number in tardy.items():
        late.add_metric([relation], number)
    yield from (late, others)


def _waterlines(now: Snapshot) -> Iterator[Metric]:
    labels = ("relation", "column")
    facts = [(fact, (fact.relation, fact.column)) for fact in now.waterlines if fact.waterline is not None]
    times = [(key, _seconds(fact.waterline)) for fact, key in facts if isinstance(fact.waterline, date)]
    numbers = [(key, float(fact.waterline)) for fact, key in facts if isinstance(fact.waterline, int | float | Decimal)]
    yield _labelled("waterline_timestamp_seconds", "Waterlines that are times.", labels, times)
    yield _labelled("waterline_value", "Waterlines that are numbers.", labels, numbers)
    if now.clock is not None:
        behind = [(key, _seconds(now.clock) - at) for key, at in times]
        yield _labelled("waterline_delay_seconds", "The clock of the last step less the waterline.", labels, behind)
    held = {(fact.relation,): float(fact.held) for fact in now.waterlines}
    yield _labelled("held_rows", "Rows that WATERMARK holds back.", ("relation",), list(held.items()))


def _kept(now: Snapshot) -> Iterator[Metric]:
    rows: dict[tuple[str, ...], float] = defaultdict(float)
    sizes: dict[tuple[str, ...], float] = defaultdict(float)
    for item in now.state:
        key = (item.operator, ", ".join(item.views))
        rows[key] += item.rows
        sizes[key] += item.bytes
    labels = ("operator", "views")
    yield _labelled("state_rows", "Rows that operators keep.", labels, list(rows.items()))
    yield _labelled("state_bytes", "Bytes that operators keep.", labels, list(sizes.items()))
    yield _gauge("state_spilled_bytes", "Bytes of state in files, for want of memory.", now.spilled)


def _lags(lags: tuple[SourceLag, ...]) -> Iterator[Metric]:
    labels = ("table", "source")
    keyed = [((item.table, item.source), item) for item in lags]
    rows = [(key, float(item.bytes)) for key, item in keyed if item.bytes is not None]
    files = [(key, float(item.files)) for key, item in keyed]
    yield _labelled("source_lag_bytes", "Bytes that wait in a source.", labels, rows)
    yield _labelled("source_lag_files", "Files, or partitions, of which some waits in a source.", labels, files)
    waiting = [(key, float(item.rows)) for key, item in keyed if item.rows is not None]
    yield _labelled("source_lag_rows", "Rows, or offsets, that wait in a source.", labels, waiting)
    ages = [(key, item.seconds) for key, item in keyed if item.seconds is not None]
    yield _labelled("source_lag_seconds", "Age of what was read last of a source while more waits.", labels, ages)
    rates = [(key, item.rows_per_second) for key, item in keyed]
    yield _labelled("source_rows_per_second", "Rows that come from a source.", labels, rates)
    idle = [(key, item.idle_seconds) for key, item in keyed]
    yield _labelled("source_idle_seconds", "How long nothing has come from a source.", labels, idle)


def _outputs(outputs: Sequence[OutputProgress], at: float) -> Iterator[Metric]:
    taken = CounterMetricFamily("penstock_output_rows", "Rows that an output has taken.", labels=["output"])
    for item in outputs:
        taken.add_metric([item.output], item.rows)
    yield taken
    waiting = [((item.output,), float(item.waiting)) for item in outputs]
    yield _labelled("output_waiting_steps", "Steps that an output has not taken.", ("output",), waiting)
    delays = [((item.output,), 0.0 if item.since is None else max(0.0, at - item.since)) for item in outputs]
    about = "How long the oldest step that an output has not taken has waited."
    yield _labelled("output_delay_seconds", about, ("output",), delays)


def _gauge(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(f"penstock_{name}", about, value=value)


def _labelled(name: str, about: str, labels: Sequence[str], rows: Sequence[tuple[tuple[str, ...], float]]) -> Metric:
    family = GaugeMetricFamily(f"penstock_{name}", about, labels=list(labels))
    for key, value in rows:
        family.add_metric(list(key), value)
    return family


def _seconds(at: Any) -> float:
    """A naive UTC time, or a date, in seconds since 1970."""
    whole = at if isinstance(at, datetime) else datetime(at.year, at.month, at.day)  # noqa: DTZ001 - UTC, as all times
    return whole.replace(tzinfo=whole.tzinfo or UTC).timestamp()
