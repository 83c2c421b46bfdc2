from __future__ import annotations

import json
import threading

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.demo.replay import Pace, Replay, slices


def test_slices_cover_everything_once(week):
    parts = list(slices(week, size=1_000))
    assert sum(part.flights.stop - part.flights.start for part in parts) == len(week.flights_at)
    assert sum(part.weather.stop - part.weather.start for part in parts) == len(week.weather_at)
    assert parts[-1].events == week.events
    assert [part.number for part in parts] == list(range(1, len(parts) + 1))


def test_the_weather_is_known_as_far_as_the_flights(week):
    for part in slices(week, size=1_000):
        known = week.weather_at[: part.weather.stop]
        assert known[-1] <= part.until or part.events == week.events


def test_files_hold_the_events_in_order(week, tmp_path):
    replay = Replay(week, tmp_path, size=4_000)
    replay.prepare()
    replay.run()
    files = sorted((tmp_path / "flights").iterdir())
    assert [file.name for file in files[:2]] == ["000001.parquet", "000002.parquet"]
    assert pa.concat_tables([pq.read_table(file) for file in files]) == week.flights
    assert sorted(files, key=lambda file: (file.stat().st_mtime_ns, file.name)) == files
    observations = [
        json.loads(line) for file in sorted((tmp_path / "weather").iterdir()) for line in file.read_text().splitlines()
    ]
    assert [pd.Timestamp(row["time"]) for row in observations] == list(week.weather["time"])
    assert len((tmp_path / "airlines" / "all.json").read_text().splitlines()) == 16


def test_a_stopped_replay_writes_nothing_more(week, tmp_path):
    stopped = threading.Event()
    replay = Replay(week, tmp_path, size=4_000)
    replay.prepare()
    pace = Pace(None, stopped)

    def two_and_stop(part):
        if part.number == 3:
            stopped.set()
        return pace(part)

    replay.run(two_and_stop)
    assert len(list((tmp_path / "flights").iterdir())) == 2


def test_pace_lets_time_pass(week):
    first, second, *_ = slices(week, size=1_000)
    seconds = (second.until - first.until) / 1e6
    pace = Pace(speed=seconds / 0.05)
    assert pace(first)
    import time

    started = time.monotonic()
    assert pace(second)
    assert time.monotonic() - started >= 0.04
