from __future__ import annotations

import numpy as np
import pandas as pd

from penstock.demo.timeline import ANNOUNCED_AHEAD, KEY, timeline


def test_facts_of_the_year(year):
    kinds = year.flights["__op"].to_pandas().value_counts().to_dict()
    assert kinds == {"+": 336_776, "~": 2 * 328_521, "-": 8_255}
    assert len(year.weather) == 26_115
    assert (len(year.airlines), len(year.planes)) == (16, 3_322)
    assert year.events == 1_031_526


def test_events_are_in_the_order_of_time(year):
    assert (np.diff(year.flights_at) >= 0).all()
    assert (np.diff(year.weather_at) >= 0).all()


def test_the_key_is_one(year):
    announced = year.flights.to_pandas().query("__op == '+'")
    assert not announced.duplicated(KEY).any()


def test_each_flight_is_announced_then_leaves_and_lands_or_is_cancelled(week):
    events = week.flights.to_pandas()
    events["what"] = np.select(
        [events["__op"] == "+", events["__op"] == "-", events["departed"].notna()], ["a", "c", "d"], "l"
    )
    lives = events.groupby(KEY)["what"].agg("".join).value_counts()
    assert set(lives.index) == {"adl", "ac"}
    assert lives.sum() == 6_099


def test_an_event_comes_when_it_happens(week):
    events = week.flights.to_pandas()
    at = pd.to_datetime(week.flights_at, unit="us", utc=True).to_series(index=events.index)
    announced = events["__op"] == "+"
    assert (at[announced] == events.loc[announced, "scheduled"] - ANNOUNCED_AHEAD).all()
    for column in ("departed", "landed"):
        happened = events[column].notna()
        assert (at[happened] == events.loc[happened, column]).all()


def test_the_first_days_are_the_beginning_of_the_year(dataset, week):
    day = timeline(dataset, days=1)
    assert day.flights["__op"].to_pandas().value_counts()["+"] == 842
    assert len(day.weather) < 3 * 25
    assert day.events < week.events
