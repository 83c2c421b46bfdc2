"""Windows by the clock of a time zone go up with time, also where that clock is put back; no JVM."""

from datetime import UTC, datetime, timedelta

import pytest

from penstock.analysis.waterline import waterlines
from penstock.bind.program.compile import compile_program
from penstock.catalog.zones import clocks_change, origin_offset, repeats_within_hours, zone_named

TABLE = "CREATE TABLE t (at TIMESTAMP LATENESS INTERVAL 1 HOUR, x INT);"


def known(query, before=""):
    catalog = compile_program(f"{before} {TABLE} CREATE VIEW v AS {query};").catalog
    return set(waterlines(catalog.views["v"].plan, catalog))


@pytest.mark.parametrize(
    "arguments",
    [
        "INTERVAL 1 DAY, 'Europe/Rome'",
        "INTERVAL 2 HOURS, 'America/New_York'",
        "INTERVAL 15 MINUTES, 'Europe/Rome'",
        "INTERVAL 90 MINUTES, 'Europe/Rome'",
        "INTERVAL 1 DAY, INTERVAL 6 HOURS, 'Asia/Kolkata'",
        "INTERVAL 1 DAY, INTERVAL -6 HOURS",
    ],
)
def test_windows_keep_the_waterline(arguments):
    found = known(f"SELECT window_start, window_end FROM tumble(t, at, {arguments})")
    assert found == {"window_start", "window_end"}


def test_in_a_pipeline_whose_clock_changes():
    query = "SELECT window_start, window_end FROM tumble(t, at, INTERVAL 1 DAY)"
    assert known(query, "SET TIME ZONE 'Europe/Rome';") == {"window_start", "window_end"}


def test_what_a_clock_shows_does_not_go_up_with_time():
    assert known("SELECT from_utc_timestamp(at, 'Europe/Rome') AS c FROM t") == set()


def test_sessions_end_behind_the_waterline():
    query = "SELECT window_start, window_end FROM SESSION(TABLE t, DESCRIPTOR(at), INTERVAL 1 HOUR)"
    assert known(query) == {"window_end"}


def test_zones():
    assert zone_named("Mars/Olympus") is None
    assert zone_named("+25:00") is None
    assert not clocks_change("Asia/Kolkata")
    assert not clocks_change("-03:30")
    assert clocks_change("Europe/Rome")
    assert origin_offset("Asia/Kolkata") == 19_800_000_000
    assert repeats_within_hours("Europe/Rome")
    assert repeats_within_hours("Australia/Lord_Howe")
    # Two hours come twice there, and one minute past midnight is where the other clock was put back.
    assert not repeats_within_hours("Antarctica/Troll")
    assert not repeats_within_hours("America/St_Johns")


@pytest.mark.parametrize("name", ["Europe/Rome", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"])
def test_hours_and_days_by_the_clock_begin_in_the_order_of_time(name):
    """The rule of bind/from_/grids.py, in Python: what it gives never goes down."""
    zone = zone_named(name)
    day, hour, half = timedelta(days=1), timedelta(hours=1), timedelta(minutes=30)
    before = {}
    for quarter in range(4 * 24 * 366):
        moment = datetime(2024, 1, 1, tzinfo=UTC) + quarter * timedelta(minutes=15)
        shown = moment.astimezone(zone).replace(tzinfo=None)
        since = shown - datetime(1970, 1, 1)  # noqa: DTZ001 - what a clock shows
        for step in (day, 2 * hour, hour, half):
            start = moment - since % step
            if step > hour:
                start = (shown - since % step).replace(tzinfo=zone).astimezone(UTC)
            assert before.get(step, start) <= start <= moment
            before[step] = start
