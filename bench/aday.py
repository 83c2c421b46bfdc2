"""o: a day of event time at speed: whether steps, memory, state or the directory grow with the day."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import penstock
from bench.manysteps import resident_mib
from bench.measure import Effort
from bench.report import Bar, Figure, Line, milliseconds

PROGRAM = """
SET log_retention = 'recovery';
SET error_history = '1000';
CREATE STREAM visits (at TIMESTAMP LATENESS INTERVAL 2 MINUTES, who BIGINT, page BIGINT, spent BIGINT)
  WITH ('history' = 'none');
CREATE STREAM sales (at TIMESTAMP LATENESS INTERVAL 2 MINUTES, who BIGINT, amount BIGINT) WITH ('history' = 'none');
CREATE TABLE people (id BIGINT PRIMARY KEY, area INT, since TIMESTAMP LATENESS INTERVAL 2 MINUTES)
  WITH ('history' = 'none');
CREATE VIEW pages AS SELECT STREAM TUMBLE_END(at, INTERVAL '5' MINUTE) AS until, page, COUNT(*) AS n, SUM(spent) AS s
  FROM visits GROUP BY TUMBLE(at, INTERVAL '5' MINUTE), page;
CREATE VIEW sittings AS SELECT STREAM SESSION_START(at, INTERVAL '2' MINUTE) AS since, who, COUNT(*) AS n
  FROM visits GROUP BY SESSION(at, INTERVAL '2' MINUTE), who;
CREATE VIEW bought AS SELECT STREAM v.at, v.who, v.page, s.amount
  FROM visits AS v JOIN sales AS s ON v.who = s.who AND s.at BETWEEN v.at AND v.at + INTERVAL '5' MINUTE;
CREATE VIEW areas AS SELECT STREAM v.at, v.page, p.area
  FROM visits AS v JOIN people FOR SYSTEM_TIME AS OF v.at AS p ON v.who = p.id;
CREATE MATERIALIZED VIEW known AS SELECT area, COUNT(*) AS n FROM people GROUP BY area;
"""
_PEOPLE, _PAGES, _AREAS, _MOVING = 5_000, 200, 50, 20
_VISITS, _SALES = 2_000, 200
_MINUTES = 24 * 60
_BEGIN = np.datetime64("2024-01-01T00:00:00", "us")
_FLAT = 1.2
_PARTS = ("hours 1 to 6", "7 to 12", "13 to 18", "19 to 24")
_NOTE = (
    f"A step brings a minute: {_VISITS:,} visits and {_SALES} sales, in order, of {_PEOPLE:,} people, {_MOVING} "
    "of whom move to another area. Windows, sessions, a join of streams by time, a join with the version of a table "
    "that was valid then, and a count; a pipeline in the process with a directory and `log_retention = 'recovery'`, "
    "no table with a history. "
    "Of six hours each: the median of the steps, and what is there at most when an hour ends. Bars: hours 19 to 24 "
    "beside 7 to 12."
)


@dataclass(frozen=True)
class _Hour:
    """The median of an hour's steps in milliseconds, and what is there at its end."""

    step: float
    memory: float
    state: float
    files: float
    held: float


def figure(*, effort: Effort) -> Figure:
    """A day, or with `quick` the first minutes of one, as if each were an hour."""
    minutes = 48 if effort.quick else _MINUTES
    hours = _hours(minutes, minutes // 24)
    lines = [
        _line("a step", [item.step for item in hours], milliseconds, statistics.median),
        _line("memory of the process, MiB", [item.memory for item in hours], _whole, max),
        _line("rows of state", [item.state for item in hours], _whole, max),
        _line("files in the directory", [item.files for item in hours], _whole, max),
        _line("the directory, MiB", [item.held for item in hours], _tenths, max),
    ]
    return Figure("o", "A day of event time at speed", lines, heads=_PARTS, notes=(_NOTE,))


def _hours(minutes: int, hour: int) -> list[_Hour]:
    chance, found, took = np.random.default_rng(3), [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        penstock.Pipeline(PROGRAM, engine="native", directory=folder, retain="materialized") as pipeline,
    ):
        everybody = np.arange(_PEOPLE)
        pipeline.step({"people": _people(everybody, everybody % _AREAS, _BEGIN)})
        for minute in range(minutes):
            given = _minute(minute, chance)
            began = time.perf_counter()
            pipeline.step(given)
            took.append((time.perf_counter() - began) * 1000)
            if (minute + 1) % hour == 0:
                found.append(_ended(pipeline, Path(folder), took[-hour:]))
    return found


def _minute(minute: int, chance: np.random.Generator) -> dict[str, pa.Table]:
    moved = chance.choice(_PEOPLE, _MOVING, replace=False)
    areas = chance.integers(0, _AREAS, _MOVING)
    return {
        "visits": _rows(minute, _VISITS, chance, page=_PAGES, spent=1_000),
        "sales": _rows(minute, _SALES, chance, amount=100),
        "people": _people(moved, areas, _BEGIN + np.timedelta64(minute, "m")),
    }


def _people(who: np.ndarray[Any, Any], areas: np.ndarray[Any, Any], since: np.datetime64) -> pa.Table:
    at = pa.array(np.full(len(who), since), pa.timestamp("us"))
    return pa.table({"id": who, "area": pa.array(areas, pa.int32()), "since": at})


def _rows(minute: int, count: int, chance: np.random.Generator, **columns: int) -> pa.Table:
    seconds = np.sort(chance.integers(0, 60_000_000, count)).astype("timedelta64[us]")
    at = pa.array(_BEGIN + np.timedelta64(minute, "m") + seconds, pa.timestamp("us"))
    numbers = {name: chance.integers(0, most, count) for name, most in {"who": _PEOPLE, **columns}.items()}
    return pa.table({"at": at, **numbers})


def _ended(pipeline: penstock.Pipeline, folder: Path, steps: Sequence[float]) -> _Hour:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return _Hour(
        statistics.median(steps),
        resident_mib(),
        sum(item.rows for item in pipeline.state()),
        len(files),
        sum(path.stat().st_size for path in files) / (1 << 20),
    )


def _line(
    what: str, hours: Sequence[float], text: Callable[[float], str], of: Callable[[Sequence[float]], float]
) -> Line:
    size = len(hours) // len(_PARTS)
    parts = [of(hours[at * size : (at + 1) * size]) for at in range(len(_PARTS))]
    ratio = parts[-1] / parts[1]
    return Line(what, tuple(map(text, parts)), (Bar(f"≤ {_FLAT} × ({ratio:.2f})", ratio <= _FLAT),))


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _tenths(value: float) -> str:
    return f"{value:,.1f}"
