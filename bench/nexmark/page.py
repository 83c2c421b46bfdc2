"""docs/performance-nexmark.md: for each setting tables with machine and commit, and a plot of the ratios beside it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench.nexmark import report
from bench.nexmark.measure import Measured, where
from bench.nexmark.queries import QUERIES
from bench.nexmark.task import SYSTEMS
from bench.nexmark.worker import as_line, from_line

if TYPE_CHECKING:
    from bench.nexmark.run import Wanted

_ABOUT = """# NEXMark

Written by `make bench-nexmark`; `ARGS='--step 1000000 --events 5000000'` adds a section, and a run of some queries or
systems renews only their figures. All systems read the same events with two cores, one system at a time, and send
their answers to a sink that counts rows and adds hashes up. A time is shown only where the answer is what Spark's batch
gives.

* **penstock**: its operators work in the process (`SET engine = 'native'`). One step after the other: of the step's
  files the columns that the query names are read as Arrow, as the readers of other systems find them by themselves, and
  the change of the view is read whole as Arrow, equal rows apart, and hashed by DuckDB; what Spark's sink makes of it
  is found afterwards. The quicker of two runs, after another pipeline has taken the same steps (at most eight) to warm
  up, and behind a step without events, as Flink's start does not count. Tables are `append_only` and keep no history;
  there is no directory. Its memory is that of the process.
* **penstock on Spark**: the same with `SET engine = 'spark'`: files are read as DataFrames, and changes stay there.
* **flink**: Flink SQL 2.3, parallelism 2, object reuse, state on the heap (its default), no checkpoints; the quicker of
  mini-batch on and off that gives the right answer, of each the quicker of two runs after one to warm up, without the
  time of the same job over no events. Where that leaves less than the runs differ by (q2, q3, q8 of some million
  events), it is *not measurable*, and enters no mean. Its source reads whole files in no order, so it has the events in
  two files for each table, in order.
* **streaming**: Structured Streaming, written by hand where Spark can express the query, warmed up as Penstock is. It
  writes a checkpoint for each batch, without which it does not run.
* **batch**: Spark over all events at once, the quickest of three runs: the limit. **duckdb**: the same, for scale.

Where the queries are not quite those of the suite, they are alike on every system. q12 goes by the time of the event:
by the time of processing it answers differently in every run. q13 joins a table that is loaded before the events, and
keeps the bids. q10 gives the rows and writes no files. q5 and q8 also give the start of the window. q6 orders winning
bids of one moment by auction. q9, q18 and q19 leave ties open: other systems are held to the columns that all right
answers share, Penstock to all of them. Averages are compared as whole numbers, since Flink's are.

On Spark, most of a step's time is what it costs apart from its rows. It is a chain of Spark jobs, each planned anew and
waited for: q0, which keeps nothing, needs 60 ms to plan a step of 250,000 events, 250 to read, check and keep
its rows, and 150 to hand them out ([0011](adr/0011-a-step-like-the-last-one-compiles-nothing.md)); one batch does this
once for all events, and Flink compiles a job once and then only runs it. In the process a statement costs about a
millisecond ([0019](adr/0019-state-in-the-process.md)).
"""
_WIDTH, _ROW, _LEFT, _TOP = 760, 22, 60, 50
_COLORS = {
    "penstock-spark": "#1d4ed8",
    "flink": "#c2410c",
    "streaming": "#7c3aed",
    "batch": "#0f766e",
    "duckdb": "#a16207",
}


def keep(path: Path, wanted: Wanted, measured: Measured) -> None:
    """Add one result to `<name>.jsonl`, so that a run of some queries or systems renews only their figures."""
    line = {
        "setting": _setting(wanted),
        "step": wanted.step,
        "machine": measured.machine or where(),
        "measured": json.loads(as_line(measured)),
    }
    with path.with_suffix(".jsonl").open("a") as lines:
        lines.write(json.dumps(line) + "\n")


def write(path: Path) -> None:
    """The page of all that is kept, and a picture for each setting in which there is anything to compare."""
    sections = _latest(path.with_suffix(".jsonl"))
    parts = [_ABOUT]
    for section in sections:
        picture = _picture(path, section, sections)
        drawn = plot(report.by_query(section.results))
        if drawn is not None:
            picture.write_text(drawn)
        parts.append(_section(section, picture.name if drawn is not None else None))
    path.write_text("\n".join([*parts, report.FOOTNOTE]))


def _picture(path: Path, section: _Section, sections: Sequence[_Section]) -> Path:
    """Where a section's picture is: named by its step, and numbered where several settings have steps of that size."""
    alike = [other.setting for other in sections if other.step == section.step]
    number = alike.index(section.setting)
    return path.with_name(f"{path.stem}-{section.step}{f'-{number + 1}' if number else ''}.svg")


def _section(section: _Section, picture: str | None) -> str:
    parts = [f"## {section.setting}", "", *(f"* {machine}" for machine in section.machines), ""]
    if picture is not None:
        parts += [f"![events per second of Penstock in units of the others]({picture})", ""]
    return "\n".join([*parts, report.text(section.results, section.step)])


def _setting(wanted: Wanted) -> str:
    """What has to be alike for results to stand in one table."""
    stream = wanted.stream
    run = f"{stream.events:,} events in steps of {wanted.step:,}, {stream.rate:,.0f} events in a second of event time"
    run += f", {stream.disorder:g} s out of order" if stream.disorder else ", in order"
    return f"{run}; {wanted.memory} of memory, seed {stream.seed}"


class _Section(NamedTuple):
    """All results in one setting, and the machines and commits that they come from."""

    setting: str
    step: int
    results: Sequence[Measured]
    machines: Sequence[str]


def _latest(path: Path) -> list[_Section]:
    """The last result of each query on each system, by setting, the smallest steps first."""
    found: dict[tuple[int, str], dict[tuple[str, str], tuple[Measured, str]]] = {}
    for line in path.read_text().splitlines():
        said = json.loads(line)
        one = from_line(json.dumps(said["measured"]))
        found.setdefault((said["step"], said["setting"]), {})[one.query, one.system] = one, said["machine"]
    sections = []
    for (step, setting), latest in sorted(found.items()):
        ordered = [latest[key] for key in sorted(latest, key=_order)]
        machines = list(dict.fromkeys(where for _, where in ordered))
        sections.append(_Section(setting, step, [one for one, _ in ordered], machines))
    return sections


def _order(key: tuple[str, str]) -> tuple[int, int]:
    query, system = key
    return QUERIES.index(query), SYSTEMS.index(system)


def plot(found: report.Found) -> str | None:
    """The ratios as an SVG with one row for each query, on a logarithmic scale."""
    ours = report.measured_of_ours(found)
    columns = {system: report.ratios(found, system, ours[0]) for system in _COLORS if ours and system != ours[0]}
    columns = {system: ratios for system, ratios in columns.items() if ratios}
    if not columns:
        return None
    queries = [query for query in QUERIES if any(query in ratios for ratios in columns.values())]
    values = [value for ratios in columns.values() for value in ratios.values()]
    low, high = (math.floor(math.log10(min([*values, 0.1]))), math.ceil(math.log10(max([*values, 10]))))
    height = _TOP + _ROW * len(queries) + 30
    parts = [*_frame(height, len(queries), low, high), *_legend(columns, ours[0])]
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


def _legend(columns: Mapping[str, object], ours: str) -> list[str]:
    said = f"Events per second: {report.label(ours)} in units of …"
    parts = [f'<text x="10" y="18" font-weight="bold">{said}</text>']
    for place, system in enumerate(columns):
        left = _LEFT + 140 * place
        parts.append(f'<circle cx="{left}" cy="34" r="5" fill="{_COLORS[system]}"/>')
        parts.append(f'<text x="{left + 10}" y="38">{report.label(system)}</text>')
    return parts
