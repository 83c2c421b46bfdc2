"""docs/performance-growth.md: what was measured of growth, with machine and commit, and a picture of each part."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path

from bench.nexmark.curves import Axis, curves
from bench.nexmark.growth import Stepped
from bench.nexmark.longrun import TENTHS, Grown
from bench.nexmark.queries import QUERIES
from bench.nexmark.report import table
from bench.report import PAGE, machine, milliseconds
from bench.standing import PRINTED
from bench.ways import ENGINES

Found = Grown | Stepped
_KINDS: Mapping[str, type[Found]] = {"long": Grown, "short": Stepped}
_QUARTER = 4
_SLACK_MIB = 64
_FLAT, _DOUBLE, _MILLION, _SMALL = 1.1, 2.0, 1_000_000, 10_000
# In the process the last tenth's steps take at most so many times the second's; a little more where state grows.
_LAST, _LAST_OF = 1.2, {"q4": 1.4, "q18": 1.5, "q20": 1.5}
_BARES: Mapping[str, float] = {"native": 1.0, "spark": 8.0}
_MEAN = 0.3  # of all queries in the process, their geometric mean
_BY_MEANING = ("q18", "q20")
_OF_FLINK = re.compile(rf"^\| {re.escape(PRINTED)} +\| (p50 .* ms, p99 .* ms)", re.MULTILINE)
_ABOUT = """# NEXMark: how the cost grows

Written by `make bench-growth`. Each figure is of the run on the machine that is named; runs renew only
what they measure: `ARGS='--long none --short all --sizes 10000 --engines native,spark'` is the bar for small steps.
"""
_LONG = """## Long runs

One pipeline over all events, in steps of {step:,}. *native*: its operators work in the process, and a step's files are
read as Arrow; *spark*: on Spark, from DataFrames. *keyed*: auctions have a `PRIMARY KEY`, so that what is kept for one
goes when it has ended ([why](adr/0010-keys-closed-by-what-they-determine.md)). The beginning of a long run is a shorter
one over the same stream: its speed over {short} M events stands beside that over all. Tenths are of the run: the median
step, as microseconds for an event, in the first, the second and the last, and what the last is of the second. Held is
the JVM's heap once collected (spark) or the resident memory of the process (native), after the second tenth and after
the last; so are the rows of state; the peak is the most at any time, with what had not been collected yet. *batch* is
one Spark batch over the same events, and the time of the whole run in units of it. Another pipeline takes twelve steps
before, to warm up. *memory* is the JVM's, of which Spark keeps rows in little more than half: the 5 GiB of `q20` on
Spark need more than 8g, or are read from the disk at each step, which then costs four times as much. In the process it
is `SET memory_limit`, half of what the state took without, where that is more than a step needs.

{table}

Bars: in the process the last tenth takes at most {last} × the second ({last_of}), and with half the memory the answer
is right; on Spark it takes at most {flat} ×. What is held is at most {flat} × and {slack} MiB above, for queries whose
state is bounded. `q18` and `q20` keep their keys by what they mean: rows of state are the live keys, once merged
({live}), and on Spark an event at the end of the whole run costs at most {double:.0f} × one at the end of its first
quarter: {double_found}.

![thousand events per second along the run]({picture})
"""
_SHORT = """## Steps of every size

The time from a step's Arrow tables on the driver to its change as Arrow: medians, and in units of `bare`, one grouped
query of Spark over ten rows of the driver, which takes turns with the steps. On Spark, rows of the driver cost more
than those of files, which executors read themselves. Bars: a step of {small:,} events takes in the process at most
{native:g} × bare for each query, and {mean:g} × in their geometric mean; on Spark at most {spark:g} ×.

{tables}

{flink}

![milliseconds of a step against its events]({picture})
"""
_FLINK = """Beside Flink's latency: Flink SQL has no steps. It hands each row on as it comes, and what stands beside a
step is how old a row is when its result is printed: {latency} for a keyed aggregate over 20 rows a second, without a
buffer timeout and with one task of each operator ([figure k](performance.md#k-queries-that-stand),
`bench/flink_latency.py`). {took}With mini-batches, which NEXMark tries as well (`bench/nexmark/systems/flink_job.py`),
Flink gathers rows for up to two seconds, and a result is as old as that."""
_NO_FLINK = "Flink's latency has not been measured here: figure k of `make bench` does it, after `make flink`. {took}"


def keep(page: Path, found: Found) -> None:
    """Add one result to `<name>.jsonl`."""
    kind = next(name for name, made in _KINDS.items() if isinstance(found, made))
    with page.with_suffix(".jsonl").open("a") as lines:
        lines.write(json.dumps({"machine": _where(), "kind": kind, "found": asdict(found)}) + "\n")


@cache
def _where() -> str:
    return machine()


def write(page: Path) -> None:
    """The page of all that is kept, the last result of each kind."""
    latest: dict[object, tuple[Found, str]] = {}
    for text in page.with_suffix(".jsonl").read_text().splitlines():
        said = json.loads(text)
        found = _KINDS[said["kind"]](**said["found"])
        latest[_which(found)] = found, said["machine"]
    parts = [_ABOUT, *(f"* {where}" for where in dict.fromkeys(where for _, where in latest.values())), ""]
    results = sorted((found for found, _ in latest.values()), key=lambda found: QUERIES.index(found.query))
    long = [found for found in results if isinstance(found, Grown)]
    short = sorted((found for found in results if isinstance(found, Stepped)), key=lambda found: found.size)
    parts += [*_long(page, long), *_short(page, short)]
    page.write_text("\n".join(parts).rstrip() + "\n")


def _which(found: Found) -> tuple[object, ...]:
    if isinstance(found, Grown):
        return found.query, found.keyed, found.engine, found.limit_mib is not None
    return found.query, found.size, found.engine


def line(found: Found) -> str:
    """One result as a line of progress."""
    if isinstance(found, Grown):
        speed = found.events / sum(found.seconds)
        return f"  {_called(found)}: {speed:,.0f} events/s, last tenth {_last(found):.2f} × the second"
    return f"  {found.query}, {found.engine}, {found.size:,} events: {found.p50_ms:,.0f} ms, {_bares(found):.1f} × bare"


def _called(found: Grown) -> str:
    limited = "" if found.limit_mib is None else ", limited"
    return f"{found.query}{' keyed' if found.keyed else ''}, {found.engine}{limited}"


def _last(found: Grown) -> float:
    return found.tenth(TENTHS) / found.tenth(2)


def _long(page: Path, found: Sequence[Grown]) -> list[str]:
    if not found:
        return []
    head = (
        "query",
        "M events",
        "memory",
        "k/s at first",
        "k/s",
        "1st µs",
        "2nd µs",
        "last µs",
        "last / 2nd",
        "held MiB",
        "peak MiB",
        "state rows",
    )
    rows: list[Sequence[str]] = [(*head, "batch s", "× batch", "bar")]
    rows += [_row(one) for one in found]
    picture = page.with_name(f"{page.stem}-long.svg")
    lines = {_called(one): list(_speeds(one)) for one in found}
    across, up = Axis("million events so far"), Axis("thousand events per second")
    picture.write_text(curves("Long runs", lines, across, up))
    by_meaning = [one for one in found if one.query in _BY_MEANING]
    live = ", ".join(f"{_called(one)}: {one.compacted:,} of {one.live:,}" for one in by_meaning)
    double = ", ".join(
        f"{_called(one)} {one.tenth(TENTHS) / _quarter(one):.2f} ×" for one in by_meaning if one.engine == "spark"
    )
    return [
        _LONG.format(
            step=found[0].step,
            table=table(rows),
            flat=_FLAT,
            last=_LAST,
            last_of=", ".join(f"{name} {most} ×" for name, most in _LAST_OF.items()),
            slack=_SLACK_MIB,
            short=f"{found[0].events / _QUARTER / _MILLION:g}",
            live=live or "not measured",
            double=_DOUBLE,
            double_found=double or "not measured",
            picture=picture.name,
        )
    ]


def _quarter(found: Grown) -> float:
    """Microseconds for an event at the end of the first quarter of the run."""
    return found.tenth(TENTHS, found.events // _QUARTER)


def _row(found: Grown) -> tuple[str, ...]:
    seconds = sum(found.seconds)
    first = found.seconds[: found.events // _QUARTER // found.step]
    return (
        _called(found),
        f"{found.events / _MILLION:g}",
        found.memory if found.engine == "spark" else "–" if found.limit_mib is None else f"{found.limit_mib:,} MiB",
        f"{len(first) * found.step / sum(first) / 1000:,.1f}",
        f"{found.events / seconds / 1000:,.1f}" if found.equal else "wrong answer",
        *(f"{found.tenth(number):.1f}" for number in (1, 2, TENTHS)),
        f"{_last(found):.2f}",
        f"{found.heap_mib[1]:,} → {found.heap_mib[-1]:,}",
        "–" if found.peak_mib is None else f"{found.peak_mib:,}",
        f"{found.state_rows[1]:,} → {found.state_rows[-1]:,}",
        f"{found.batch_seconds:.1f}",
        f"{seconds / found.batch_seconds:.1f}",
        _bar(found),
    )


def _bar(found: Grown) -> str:
    """Kept, or by what it is missed."""
    kept = {"answer": found.equal}
    if found.limit_mib is None:  # else most of it is waiting for the disk
        kept |= {"steps": _is_flat(found), "held": found.query in _BY_MEANING or _holds_no_more(found)}
    missed = [what for what, is_kept in kept.items() if not is_kept]
    return f"{' and '.join(missed)} missed" if missed else "kept"


def _is_flat(found: Grown) -> bool:
    """True if steps cost about the same at the end."""
    if found.engine == "native":
        return _last(found) <= _LAST_OF.get(found.query, _LAST)
    if found.query in _BY_MEANING:
        return found.tenth(TENTHS) <= _DOUBLE * _quarter(found)
    return _last(found) <= _FLAT


def _holds_no_more(found: Grown) -> bool:
    return found.heap_mib[-1] <= _FLAT * found.heap_mib[1] + _SLACK_MIB


def _speeds(found: Grown) -> Iterable[tuple[float, float]]:
    for number in range(1, TENTHS + 1):
        yield found.events * number / TENTHS / _MILLION, 1000 / found.tenth(number)


def _short(page: Path, found: Sequence[Stepped]) -> list[str]:
    if not found:
        return []
    engines = [engine for engine in ENGINES if any(one.engine == engine for one in found)]
    tables = "\n\n".join(_sizes(engine, [one for one in found if one.engine == engine]) for engine in engines)
    picture = page.with_name(f"{page.stem}-steps.svg")
    lines = {name: points for engine in engines for name, points in _curves(engine, found)}
    bare = _middle(one.bare_ms for one in found)
    lines["bare"] = [(size, bare) for size in (found[0].size, found[-1].size)]
    axes = Axis("events in a step", log=True), Axis("milliseconds, median", log=True)
    picture.write_text(curves("Steps of every size", lines, *axes))
    bars = {"small": _SMALL, "mean": _MEAN, **_BARES}
    return [_SHORT.format(**bars, tables=tables, flink=beside_flink(found, PAGE), picture=picture.name)]


def beside_flink(found: Sequence[Stepped], page: Path) -> str:
    """The steps in the process beside Flink's latency, which a page of figure k has."""
    measured = _OF_FLINK.search(page.read_text()) if page.exists() else None
    ours = [one for one in found if one.engine == "native"]
    least = min((one.size for one in ours), default=0)
    times = [one.p50_ms for one in ours if one.size == least]
    took = (
        f"The smallest steps above, of {least:,} events, take {milliseconds(min(times))} to {milliseconds(max(times))} "
        "in the process, and answer all of their rows at their end.\n"
        if times
        else ""
    )
    return (_NO_FLINK if measured is None else _FLINK).format(latency=measured and measured[1], took=took)


def _curves(engine: str, found: Sequence[Stepped]) -> Iterable[tuple[str, list[tuple[float, float]]]]:
    """The steps of those queries that were measured in more than one size."""
    for query in QUERIES:
        points: list[tuple[float, float]] = [
            (one.size, one.p50_ms) for one in found if (one.query, one.engine) == (query, engine)
        ]
        if len(points) > 1:
            yield f"{query}, {engine}", points


def _sizes(engine: str, found: Sequence[Stepped]) -> str:
    """The table of one engine."""
    sizes = sorted({one.size for one in found})
    queries = [name for name in QUERIES if any(one.query == name for one in found)]
    cells = {(one.query, one.size): f"{milliseconds(one.p50_ms)} = {_bares(one):.2g} ×" for one in found}
    rows = [(f"{engine}: events in a step", *(f"{size:,}" for size in sizes))]
    rows += [(name, *(cells.get((name, size), "–") for size in sizes)) for name in queries]
    rows.append(("bare", *(f"{_middle(one.bare_ms for one in found if one.size == size):,.0f} ms" for size in sizes)))
    judged = {one.query: _bares(one) for one in found if one.size == _SMALL}
    return f"{table(rows)}\n\n{_judgement(engine, judged)}" if judged else table(rows)


def _judgement(engine: str, judged: Mapping[str, float]) -> str:
    """The bars of small steps, kept or missed."""
    missed = [f"{query} {ratio:.1f} ×" for query, ratio in judged.items() if ratio > _BARES[engine]]
    said = f"{engine}: of {len(judged)} queries the bar is missed by {', '.join(missed) or 'none'}."
    if engine != "native":
        return said
    mean = statistics.geometric_mean(judged.values())
    return f"{said} Geometric mean {mean:.2g} × bare: {'kept' if mean <= _MEAN else 'missed'}."


def _bares(found: Stepped) -> float:
    return found.p50_ms / found.bare_ms


def _middle(values: Iterable[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]
