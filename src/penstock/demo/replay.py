"""Write the events of a timeline into a folder, file after file, as a source that goes on would.

    DIRECTORY/airlines/all.json, DIRECTORY/planes/all.json      before everything else
    DIRECTORY/weather/000017.json                               one observation a line
    DIRECTORY/flights/000017.parquet                            with `__op`: '+', '-' or '~'

A file gets its name only when it is whole. The weather up to some moment is there before the flights up to that moment.

`python -m penstock.demo.replay DIRECTORY --speed 86400` fills a folder for a `penstock run` in another terminal.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.demo.dataset import load
from penstock.demo.timeline import Timeline, timeline

EVENTS_PER_FILE = 5_000


@dataclass(frozen=True)
class Slice:
    """The events between two moments: the rows of one file of flights and of one file of weather.

    `until` is the last moment, in microseconds since 1970; `events` counts all rows up to it, earlier slices included.
    """

    number: int
    flights: slice
    weather: slice
    until: int
    events: int

    @property
    def moment(self) -> datetime:
        """The moment up to which this slice tells what happened."""
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=self.until)


def slices(events: Timeline, size: int = EVENTS_PER_FILE) -> Iterator[Slice]:
    """Cut the timeline after every `size` events of flights."""
    total, seen = len(events.flights_at), 0
    before = len(events.airlines) + len(events.planes)
    for number, start in enumerate(range(0, total, size), start=1):
        end = min(start + size, total)
        until = int(events.flights_at[end - 1])
        last = end == total
        known = len(events.weather_at) if last else int(np.searchsorted(events.weather_at, until, side="right"))
        yield Slice(number, slice(start, end), slice(seen, known), until, before + end + known)
        seen = known


class Replay:
    """Writes the slices one by one; `wait(slice)` may hold each back and says whether to go on."""

    def __init__(self, events: Timeline, directory: Path, size: int = EVENTS_PER_FILE) -> None:
        self.events = events
        self.directory = directory
        self.slices = tuple(slices(events, size))

    def prepare(self) -> None:
        """Make the folders, and write the tables that do not change."""
        for name in ("flights", "weather", "airlines", "planes"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        self._write_json("airlines", "all", self.events.airlines)
        self._write_json("planes", "all", self.events.planes)

    def run(self, wait: Callable[[Slice], bool] = lambda _: True) -> None:
        """Write all slices, or those before `wait` answers False."""
        for part in self.slices:
            if not wait(part):
                return
            self.write(part)

    def write(self, part: Slice) -> None:
        """Write the files of one slice."""
        if part.weather.start < part.weather.stop:
            self._write_json("weather", f"{part.number:06}", self.events.weather.iloc[part.weather])
        rows = self.events.flights.slice(part.flights.start, part.flights.stop - part.flights.start)
        self._write_parquet("flights", f"{part.number:06}", rows)

    def _write_json(self, table: str, name: str, rows: pd.DataFrame) -> None:
        unfinished = self.directory / table / f".{name}.unfinished"
        rows.to_json(unfinished, orient="records", lines=True, date_format="iso")
        unfinished.replace(self.directory / table / f"{name}.json")

    def _write_parquet(self, table: str, name: str, rows: pa.Table) -> None:
        unfinished = self.directory / table / f".{name}.unfinished"
        pq.write_table(rows, unfinished, compression="snappy")
        unfinished.replace(self.directory / table / f"{name}.parquet")


class Pace:
    """Lets `speed` seconds of 2013 pass in one second; without a speed nothing is held back."""

    def __init__(self, speed: float | None, stopped: threading.Event | None = None) -> None:
        self._speed = speed
        self._stopped = stopped or threading.Event()
        self._first: tuple[float, int] | None = None

    def __call__(self, part: Slice) -> bool:
        """Sleep until the slice is due; False once the replay has been stopped."""
        if self._speed is None:
            return not self._stopped.is_set()
        started, first = self._first = self._first or (time.monotonic(), part.until)
        due = started + (part.until - first) / 1e6 / self._speed
        return not self._stopped.wait(max(0.0, due - time.monotonic()))


def main(arguments: list[str] | None = None) -> int:
    """Fill a folder at some speed and say how far it is."""
    parser = argparse.ArgumentParser(prog="python -m penstock.demo.replay", description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path, help="gets a folder for each table")
    parser.add_argument("--days", type=int, help="only the first N days of 2013")
    parser.add_argument("--speed", type=float, help="seconds of 2013 in one second (default: as fast as it goes)")
    chosen = parser.parse_args(arguments)
    pace = Pace(chosen.speed)
    replay = Replay(timeline(load(), chosen.days), chosen.directory)
    replay.prepare()

    def wait(part: Slice) -> bool:
        go_on = pace(part)
        sys.stderr.write(f"{part.moment:%Y-%m-%d %H:%M}  {part.events:>9,} events{os.linesep}")
        return go_on

    replay.run(wait)
    return 0


if __name__ == "__main__":
    sys.exit(main())
