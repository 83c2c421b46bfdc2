"""docs/performance-nexmark.md: the tables of one run with machine and commit, and a plot of the ratios beside it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from bench.nexmark import report
from bench.nexmark.measure import Measured
from bench.nexmark.queries import QUERIES
from bench.nexmark.task import SYSTEMS
from bench.nexmark.worker import as_line, from_line
from bench.report import machine

if TYPE_CHECKING:
    from bench.nexmark.run import Wanted

_ABOUT = """# NEXMark

Written by `make bench-nexmark`. All systems read the same events with two cores, one system at a time, and send
their answers to a sink that counts rows and adds hashes up. A time is shown only where they are
what Spark's batch gives.

* **penstock**: one step after the other, each step's change of the view read whole; before it,
  another pipeline takes the same steps (at most eight) to warm up.
* **flink**: Flink SQL, parallelism 2, object reuse, the quicker of mini-batch on and off, without the time that the
  same job takes over no events.
* **streaming**: Structured Streaming, written by hand where Spark can express the query, warmed up likewise.
* **batch**: Spark over all events at once, the quickest of three runs: the limit. **duckdb**: the same, for scale.

q12 goes by the time of the event on every system: its standard form, by the time of processing, answers differently
in every run. q6 orders winning bids of one moment by auction. q9, q18 and q19 leave ties open: other systems are held
to the columns that all right answers share, Penstock to all of them. q13's side input is loaded before the events.
"""
_WIDTH, _ROW, _LEFT, _TOP = 760, 22, 60, 50
_COLORS = {"flink": "#c2410c", "streaming": "#7c3aed", "batch": "#0f766e", "duckdb": "#a16207"}


def keep(path: Path, wanted: Wanted, measured: Measured) -> None:
    """Add one result to `<name>.jsonl`, so that a run of some queries or systems renews only their figures."""
    line = {"setting": _setting(wanted), "machine": _where(), "measured": json.loads(as_line(measured))}
    with path.with_suffix(".jsonl").open("a") as lines:
        lines.write(json.dumps(line) + "\n")


def write(path: Path, wanted: Wanted) -> None:
    """The page of what is kept of this setting, and `<name>.svg` if there is anything to compare."""
    setting = _setting(wanted)
    results, machines = _latest(path.with_suffix(".jsonl"), setting)
    parts = [_ABOUT, f"{setting}.", "", *(f"* {machine}" for machine in machines), ""]
    drawn = plot(report.by_query(results))
    if drawn is not None:
        path.with_suffix(".svg").write_text(drawn)
        parts += [f"![events per second of Penstock in units of the others]({path.with_suffix('.svg').name})", ""]
    path.write_text("\n".join([*parts, report.text(results)]))


@cache
def _where() -> str:
    """The machine, with its load when this run began."""
    return machine()


def _setting(wanted: Wanted) -> str:
    """What has to be alike for results to stand in one table."""
    stream = wanted.stream
    run = f"{stream.events:,} events in steps of {wanted.step:,}, {stream.rate:,.0f} events in a second of event time"
    run += f", {stream.disorder:g} s out of order" if stream.disorder else ", in order"
    return f"{run}; {wanted.memory} of memory, seed {stream.seed}"


def _latest(path: Path, setting: str) -> tuple[list[Measured], list[str]]:
    """The last result of each query on each system in this setting, and where they come from."""
    found: dict[tuple[str, str], tuple[Measured, str]] = {}
    for line in path.read_text().splitlines():
        said = json.loads(line)
        if said["setting"] == setting:
            one = from_line(json.dumps(said["measured"]))
            found[one.query, one.system] = one, said["machine"]
    ordered = [found[key] for key in sorted(found, key=_order)]
    return [one for one, _ in ordered], list(dict.fromkeys(where for _, where in ordered))


def _order(key: tuple[str, str]) -> tuple[int, int]:
    query, system = key
    return QUERIES.index(query), SYSTEMS.index(system)


def plot(found: report.Found) -> str | None:
    """The ratios as an SVG with one row for each query, on a logarithmic scale."""
    columns = {system: report.ratios(found, system) for system in _COLORS}
    columns = {system: ratios for system, ratios in columns.items() if ratios}
    if not columns:
        return None
    queries = [query for query in QUERIES if any(query in ratios for ratios in columns.values())]
    values = [value for ratios in columns.values() for value in ratios.values()]
    low, high = (math.floor(math.log10(min([*values, 0.1]))), math.ceil(math.log10(max([*values, 10]))))
    height = _TOP + _ROW * len(queries) + 30
    parts = [*_frame(height, len(queries), low, high), *_legend(columns)]
    for row, query in enumerate(queries):
        middle = _TOP + _ROW * row + _ROW / 2
        parts.append(f'<text x="{_LEFT - 10}" y="{middle + 4:.0f}" text-anchor="end">{query}</text>')
        for system, ratios in columns.items():
            if query in ratios:
                at = _place(ratios[query], low, high)
                title = f"<title>{query}: {ratios[query]:.2f} × {system}</title>"
                parts.append(f'<circle cx="{at:.1f}" cy="{middle:.1f}" r="5" fill="{_COLORS[system]}">{title}</circle>')
    return "\n".join([*parts, "</svg>", ""])


def _place(value: float, low: int, high: int) -> float:
    return _LEFT + (_WIDTH - _LEFT - 20) * (math.log10(value) - low) / (high - low)


def _frame(height: int, rows: int, low: int, high: int) -> list[str]:
    style = 'font-family="sans-serif" font-size="12"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" {style}>',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
    ]
    bottom = _TOP + _ROW * rows
    for power in range(low, high + 1):
        at = _place(10.0**power, low, high)
        color = "#111111" if power == 0 else "#cccccc"
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP}" y2="{bottom}" stroke="{color}"/>')
        parts.append(f'<text x="{at:.1f}" y="{bottom + 18}" text-anchor="middle">{10.0**power:g} ×</text>')
    return parts


def _legend(columns: Mapping[str, object]) -> list[str]:
    parts = ['<text x="10" y="18" font-weight="bold">Events per second: Penstock in units of …</text>']
    for place, system in enumerate(columns):
        left = _LEFT + 110 * place
        parts.append(f'<circle cx="{left}" cy="34" r="5" fill="{_COLORS[system]}"/>')
        parts.append(f'<text x="{left + 10}" y="38">{system}</text>')
    return parts
