"""n: from topic to topic: events counted in windows, beside Flink SQL and Structured Streaming; and how late it is."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.measure import Effort
from bench.nexmark.task import UnavailableError
from bench.report import Bar, Figure, Line, milliseconds
from bench.topics import events, jobs
from bench.topics.broker import Broker, running

_ROOT = Path(__file__).parents[2]
_AT_REST = {"delay": 4_000, "window": 10, "rows": 250_000}
_ALIVE = {"delay": 100, "window": 1}
_OF_FLINK, _OF_LOOSE, _LATEST = 1.5, 1.2, 1_000
_STARTING, _SETTLING = 30, 3  # seconds until a system is warm, and until its last results are there
_NOTE = (
    "Events are JSON in two partitions, their windows of ten seconds of event time close after four more, and results "
    "are JSON in a topic. All systems have two cores, beside the broker; what each writes is compared with what is "
    "right. The time of a run over 1,000 events is subtracted from that over all, the quicker of two after one to warm "
    "up. Penstock has a directory; a step of 250,000 events is one transaction. Flink makes a checkpoint every ten "
    "seconds and commits with it. Structured Streaming writes at least once."
)
_LATENESS = (
    "How late a result is: from the moment at which its window of one second may close (100 ms after its end, by the "
    "events' own time) until a reader of what is committed has it. Events come at half of what Penstock takes at most, "
    "or of what the system itself takes where that is less; the first {starting} of {seconds} seconds do not count. "
    "Their writer and the broker have the same two cores."
)


@dataclass(frozen=True)
class _Found:
    """What is known of one system, or why nothing is."""

    rate: float | None = None
    late: tuple[float, float] | None = None
    load: int = 0
    refused: str = ""


def figure(*, effort: Effort) -> Figure:
    """Each system over events at rest, and over those of the moment."""
    size, seconds = (20_000, 12) if effort.quick else (2_000_000, 60)
    systems = jobs.SYSTEMS[:2] if effort.quick else jobs.SYSTEMS
    with running() as broker:
        rates = _rates(broker, systems, size)
        most = rates["penstock"].rate or 0.0
        found = {
            system: _alive(broker, system, one, min(most, one.rate) / 2, seconds) if one.rate else one
            for system, one in rates.items()
        }
    lines = [
        Line("events a second, from topic to topic", tuple(map(_rate, found.values())), _bars(found)),
        Line("a result is late by, p50", tuple(_late(one, 0) for one in found.values())),
        Line("a result is late by, p99", tuple(_late(one, 1) for one in found.values()), _late_bars(found)),
        Line("at events a second", tuple(f"{one.load:,}" if one.late else "–" for one in found.values())),
    ]
    refused = [f"{system}: {one.refused}." for system, one in found.items() if one.refused]
    notes = (_NOTE, _LATENESS.format(starting=_starting(seconds), seconds=seconds), *refused)
    return Figure("n", f"Topics: {size:,} events counted in windows", lines, heads=systems, notes=notes)


def _rates(broker: Broker, systems: tuple[str, ...], size: int) -> dict[str, _Found]:
    whole, few = events.at_rest(size), events.at_rest(1_000)
    full, small = broker.topic("events"), broker.topic("few")
    broker.fill(full, whole.values)
    broker.fill(small, few.values)
    found = {system: _tried(broker, system, {"full": full, "small": small}, whole) for system in systems}
    broker.forget(full, small)
    return found


def _tried(broker: Broker, system: str, topics: Mapping[str, str], whole: events.AtRest) -> _Found:
    runs = [(kind, broker.topic("results")) for kind in ("full", "small", "full", "small", "full")]
    order = {**_AT_REST, "servers": broker.address}
    try:
        _said(f"{system}: events at rest")
        took = jobs.seconds(system, [{"topic": topics[kind], "out": out} for kind, out in runs], order)
        if not all(whole.is_right(broker.held(out)) for kind, out in runs if kind == "full"):
            return _Found(refused="what it has written is not right")
    except UnavailableError as error:
        return _Found(refused=str(error))
    finally:
        broker.forget(*(out for _, out in runs))
    least = {kind: min(s for s, run in zip(took[1:], runs[1:], strict=True) if run[0] == kind) for kind in topics}
    return _Found(rate=len(whole.values) / max(least["full"] - least["small"], 0.001))


def _alive(broker: Broker, system: str, found: _Found, load: float, seconds: int) -> _Found:
    """The same system over events of the moment."""
    topic, out = broker.topic("live"), broker.topic("closed")
    _said(f"{system}: {load:,.0f} events a second")
    try:
        with jobs.at_work(system, topic, out, {**_ALIVE, "servers": broker.address}):
            late = _read(broker, topic, out, int(load), seconds)
    except UnavailableError as error:
        return _Found(found.rate, refused=str(error))
    finally:
        broker.forget(topic, out)
    if not late:
        return _Found(found.rate, refused="of the events of the moment it has written no result")
    return _Found(found.rate, (statistics.median(late), float(np.percentile(late, 99))), int(load))


def _read(broker: Broker, topic: str, out: str, load: int, seconds: int) -> list[float]:
    """How late each result is, in milliseconds, of the windows that end once the system is warm."""
    command = [sys.executable, "-m", "bench.topics.events", broker.address, topic, str(load), str(seconds)]
    reader = broker.reader(out)
    late: list[float] = []
    with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True) as writer:  # noqa: S603 - our own
        began = time.time()
        while time.time() < began + seconds + _SETTLING:
            for message in reader.consume(1_000, 0.02):
                if not message.error():
                    due = events.due(message.value(), _ALIVE["delay"])
                    late += [(time.time() - due) * 1000] if due > began + _starting(seconds) else []
        behind = float(writer.communicate()[0])
    reader.close()
    if behind > 1:
        message = f"{load:,} events a second cannot be written beside it: their writer was {behind:.1f} s late"
        raise UnavailableError(message)
    return late


def _starting(seconds: int) -> int:
    return min(_STARTING, seconds // 2)


def _rate(one: _Found) -> str:
    return f"{one.rate:,.0f}" if one.rate else "–"


def _late(one: _Found, at: int) -> str:
    return milliseconds(one.late[at]) if one.late else "–"


def _bars(found: Mapping[str, _Found]) -> tuple[Bar, ...]:
    ours, flink, loose = (
        found[name].rate if name in found else None for name in ("penstock", "flink", "penstock, at least once")
    )
    bars: list[Bar] = []
    if ours and flink:
        bars.append(Bar(f"≥ {_OF_FLINK} × flink ({ours / flink:.2f})", ours >= _OF_FLINK * flink))
    if ours and loose:
        cost = loose / ours
        bars.append(Bar(f"exactly once costs ≤ {_OF_LOOSE} × at least once ({cost:.2f})", cost <= _OF_LOOSE))
    return tuple(bars)


def _late_bars(found: Mapping[str, _Found]) -> tuple[Bar, ...]:
    late = found["penstock"].late
    return (Bar(f"penstock < {_LATEST:,} ms", late[1] < _LATEST),) if late else ()


def _said(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
