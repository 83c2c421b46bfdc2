"""Results as text: thousand events a second for each query and system, what ours are in units of the others'."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.net import NOT_MEASURABLE
from bench.nexmark.measure import Measured
from bench.nexmark.published import FELDERA, FELDERA_SAYS
from bench.nexmark.queries import QUERIES
from bench.nexmark.task import OURS, SYSTEMS

Found = Mapping[tuple[str, str], Measured]
_LABELS = {"penstock-spark": "penstock on Spark"}
_FELDERA = "Feldera ¹"
_MANY = 10  # a figure of that size needs no digits after the point
_FEW = 0.1  # and one below that size more than two
FOOTNOTE = f"¹ {FELDERA_SAYS}.\n"


@dataclass(frozen=True)
class Bar:
    """What the ratios of ours to a system should be at least in steps of a size: their geometric mean, or the least."""

    ours: str
    step: int
    system: str
    bound: float
    least: bool = False


_NATIVE, _ON_SPARK = OURS
_BARS = (
    Bar(_NATIVE, 250_000, "flink", 4.0),
    Bar(_NATIVE, 250_000, "flink", 1.3, least=True),
    Bar(_NATIVE, 250_000, "batch", 2.0),
    Bar(_NATIVE, 250_000, _FELDERA, 4.0),
    Bar(_ON_SPARK, 250_000, "flink", 2.0),
    Bar(_ON_SPARK, 250_000, "flink", 1.0, least=True),
    Bar(_ON_SPARK, 250_000, "batch", 1 / 3),
    Bar(_ON_SPARK, 1_000_000, "batch", 1 / 2),
    Bar(_ON_SPARK, 1_000_000, _FELDERA, 1.0),
)


def label(system: str) -> str:
    """A system's name as people read it."""
    return _LABELS.get(system, system)


def measured_of_ours(found: Found) -> list[str]:
    """Those of our systems of which there are results."""
    return [system for system in OURS if any(name == system for _, name in found)]


def by_query(results: Iterable[Measured]) -> Found:
    """Results by query and system."""
    return {(found.query, found.system): found for found in results}


def rate(found: Measured | None) -> float | None:
    """Events a second of a right answer; None without one."""
    shown = None if found is None else found.as_object()
    return None if shown is None else shown["events_per_s"]


def ratios(found: Found, system: str, ours: str = OURS[0]) -> dict[str, float]:
    """How many times as fast one of ours is as another system, by query."""
    return {
        query: speed / theirs
        for query in QUERIES
        if (speed := rate(found.get((query, ours)))) and (theirs := _other(found, query, system))
    }


def _other(found: Found, query: str, system: str) -> float | None:
    return FELDERA.get(query, 0) * 1000 if system == _FELDERA else rate(found.get((query, system)))


def mean(values: Iterable[float]) -> float | None:
    """The geometric mean."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else None


def text(results: Sequence[Measured], step: int) -> str:
    """The tables in Markdown, the bars for steps of this size, and what each system cannot run."""
    found = by_query(results)
    queries = [query for query in QUERIES if any(name == query for name, _ in found)]
    systems = [system for system in SYSTEMS if any(name == system for _, name in found)]
    parts = [_rates(found, queries, systems)]
    ours = measured_of_ours(found)
    parts += [_ratio_table(found, queries, systems, one) for one in ours]
    parts += [_bars(found, step), *(_steps(found, queries, one) for one in ours)]
    parts.append(_refusals(results))
    return "\n\n".join(part for part in parts if part) + "\n"


def _rates(found: Found, queries: Sequence[str], systems: Sequence[str]) -> str:
    rows = [("thousand events/s", *map(label, systems), _FELDERA)]
    for query in queries:
        cells = [_cell(found.get((query, system))) for system in systems]
        rows.append((query, *cells, f"{FELDERA[query]:,}" if query in FELDERA else "–"))
    return table(rows)


def _cell(found: Measured | None) -> str:
    if found is None or found.refused is not None:
        return "–"
    if found.equal is not True:
        return "wrong" if found.equal is False else "not compared"
    if not found.is_measurable:
        return NOT_MEASURABLE
    speed = rate(found)
    return "–" if speed is None else _figure(speed / 1000, 1)


def _ratio_table(found: Found, queries: Sequence[str], systems: Sequence[str], ours: str) -> str:
    others = [*(system for system in systems if system not in OURS[: OURS.index(ours) + 1]), _FELDERA]
    columns = {system: ratios(found, system, ours) for system in others}
    rows = [(f"{label(ours)} is", *(f"× {label(system)}" for system in others))]
    rows += [(query, *(_ratio(columns[system].get(query)) for system in others)) for query in queries]
    rows.append(("geometric mean", *(_ratio(mean(columns[system].values())) for system in others)))
    rows.append(("of queries", *(str(len(columns[system])) for system in others)))
    return table(rows)


def _bars(found: Found, step: int) -> str:
    """What was to be reached, and whether it was."""
    rows = [("bar", "found", "")]
    for bar in _BARS:
        values = ratios(found, bar.system, bar.ours)
        value = None if bar.step != step or not values else min(values.values()) if bar.least else mean(values.values())
        if value is not None:
            what = f"each query at least {bar.bound:.2g}" if bar.least else f"geometric mean at least {bar.bound:.2g}"
            which = f" ({min(values, key=lambda name: values[name])})" if bar.least else ""
            kept = "kept" if value >= bar.bound else "missed"
            rows.append((f"{label(bar.ours)}: {what} × {bar.system}", f"{_ratio(value)} ×{which}", kept))
    return table(rows) if len(rows) > 1 else ""


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:#.2g}" if value < _FEW else _figure(value, 2)


def _figure(value: float, digits: int) -> str:
    return f"{value:,.{digits if value < _MANY else 0}f}"


def _steps(found: Found, queries: Sequence[str], ours: str) -> str:
    peaks = [system for system in SYSTEMS if system not in OURS and any(name == system for _, name in found)]
    heads = (label(ours), "steps", "p50 ms", "p99 ms", "state rows", "peak MiB", *(f"of {name}" for name in peaks))
    rows: list[Sequence[str]] = [heads]
    for query in queries:
        one = found.get((query, ours))
        if one is not None and one.refused is None:
            said = one.as_object()
            cells = [said["steps"], said["p50_ms"], said["p99_ms"], said["state_rows"], said["peak_mib"]]
            cells += [None if (other := found.get((query, name))) is None else other.peak_mib for name in peaks]
            rows.append((query, *("–" if cell is None else f"{cell:,.0f}" for cell in cells)))
    return table(rows)


def _refusals(results: Sequence[Measured]) -> str:
    """What systems cannot run, and notes: each once, with all its queries."""
    said: dict[str, list[str]] = {}
    for found in results:
        if found.refused:
            said.setdefault(f"* {label(found.system)} cannot run {{}}: {found.refused}", []).append(found.query)
    for found in results:
        if found.note:
            said.setdefault(f"* {label(found.system)}, {{}}: {found.note}", []).append(found.query)
    return "\n".join(line.replace("{}", ", ".join(queries), 1) for line, queries in said.items())


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a table in Markdown, the first one its head."""
    widths = [max(3, *(len(row[at]) for row in rows)) for at in range(len(rows[0]))]
    shown = [
        "| " + " | ".join(_aligned(cell, width, at) for at, (cell, width) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]
    marks = ["-" * width if at == 0 else "-" * (width - 1) + ":" for at, width in enumerate(widths)]
    shown.insert(1, "| " + " | ".join(marks))
    return "\n".join(f"{line} |" for line in shown)


def _aligned(cell: str, width: int, place: int) -> str:
    return cell.ljust(width) if place == 0 else cell.rjust(width)
