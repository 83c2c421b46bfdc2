"""All that happened, as changes to the tables of `flights.sql`, in the order in which it happened.

A flight is announced six hours ahead (`+`), leaves and lands (`~`, an update of the columns that are now known), or is
called off (`-`). An observation of the weather comes at its time. `times` says how the moments are derived.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from penstock.catalog.reserved import OPERATION
from penstock.demo.dataset import Dataset
from penstock.demo.times import actual_times

ANNOUNCED_AHEAD = pd.Timedelta(hours=6)

KEY = ["carrier", "flight", "origin", "scheduled"]

_TIME = pa.timestamp("us", tz="UTC")
FLIGHT_EVENTS = pa.schema(
    [
        (OPERATION, pa.string()),
        ("carrier", pa.string()),
        ("flight", pa.int32()),
        ("origin", pa.string()),
        ("scheduled", _TIME),
        ("dest", pa.string()),
        ("tailnum", pa.string()),
        ("distance", pa.int32()),
        ("departed", _TIME),
        ("dep_delay", pa.int32()),
        ("landed", _TIME),
        ("arr_delay", pa.int32()),
    ]
)

# Of two events at one moment the one that can only come first does.
_ANNOUNCED, _DEPARTED, _LANDED, _CANCELLED = range(4)

Moments = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Timeline:
    """The events in order; `flights_at` and `weather_at` are their moments, in microseconds since 1970."""

    flights: pa.Table
    flights_at: Moments
    weather: pd.DataFrame
    weather_at: Moments
    airlines: pd.DataFrame
    planes: pd.DataFrame

    @property
    def events(self) -> int:
        """The number of rows that all files will hold."""
        return len(self.flights_at) + len(self.weather_at) + len(self.airlines) + len(self.planes)


def timeline(data: Dataset, days: int | None = None) -> Timeline:
    """The events of the flights scheduled in the first `days` days of 2013 (New York's), or in all of it."""
    flights, weather = _first_days(data, days)
    events = _flight_events(flights, actual_times(flights, data.airports))
    at = _microseconds(events.pop("at"))
    weather_at = _microseconds(weather["time"])
    order = np.argsort(weather_at, kind="stable")
    return Timeline(
        flights=pa.Table.from_pandas(events, schema=FLIGHT_EVENTS, preserve_index=False),
        flights_at=at,
        weather=weather.iloc[order].reset_index(drop=True),
        weather_at=weather_at[order],
        airlines=data.airlines,
        planes=data.planes,
    )


def _first_days(data: Dataset, days: int | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    flights = data.flights
    observed = pd.to_datetime(data.weather["time_hour"], utc=True)
    weather = data.weather.drop(columns="time_hour").assign(time=observed)
    if days is None:
        return flights, weather
    day = pd.to_datetime(flights[["year", "month", "day"]]) - pd.Timestamp(2013, 1, 1)
    kept = flights[day < pd.Timedelta(days=days)]
    # The weather goes on for as long as the last day's flights are scheduled.
    until = pd.Timestamp(2013, 1, 1, 5, tz="UTC") + pd.Timedelta(days=days)
    return kept, weather[weather["time"] < until]


def _flight_events(flights: pd.DataFrame, times: pd.DataFrame) -> pd.DataFrame:
    key = flights[["carrier", "flight", "origin"]].assign(scheduled=times["scheduled"])
    announced = key.assign(
        __op="+",
        at=times["scheduled"] - ANNOUNCED_AHEAD,
        kind=_ANNOUNCED,
        dest=flights["dest"],
        tailnum=flights["tailnum"],
        distance=flights["distance"],
    )
    departed = key.assign(
        __op="~", at=times["departed"], kind=_DEPARTED, departed=times["departed"], dep_delay=flights["dep_delay"]
    )
    landed = key.assign(
        __op="~", at=times["landed"], kind=_LANDED, landed=times["landed"], arr_delay=flights["arr_delay"]
    )
    cancelled = key.assign(__op="-", at=times["scheduled"], kind=_CANCELLED)
    left = times["departed"].notna()
    events = pd.concat([announced, departed[left], landed[left], cancelled[~left]], ignore_index=True)
    # The sort is stable, so equal events stay in the order of the data set.
    ordered = events.iloc[np.lexsort((events["kind"], _microseconds(events["at"])))].reset_index(drop=True)
    whole = ["flight", "distance", "dep_delay", "arr_delay"]
    return ordered.drop(columns="kind").astype(dict.fromkeys(whole, "Int32"))


def _microseconds(moments: pd.Series) -> Moments:
    found: Moments = moments.dt.tz_localize(None).to_numpy().astype("datetime64[us]").astype(np.int64)
    return found
