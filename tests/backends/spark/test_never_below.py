"""A waterline that was lowered for the clock on the wall, or for months, holds for every later time, as Spark counts."""

# ruff: noqa: E501 - several cases on one line

import datetime as dt

import pytest

from penstock.analysis.direction import Direction
from penstock.analysis.waterline import Reader
from penstock.catalog.zones import zone_named
from penstock.plan.writing import text_of
from planning import catalog, scalar

EXPRESSIONS = [
    "t + INTERVAL 1 DAY", "t - INTERVAL 7 DAYS", "t + INTERVAL '1 02' DAY TO HOUR", "t - INTERVAL 1 MONTH", "t + INTERVAL 11 MONTHS",
    "(t - INTERVAL 1 MONTH) + INTERVAL 5 HOURS", "dateadd(DAY, 30, t)", "timestampadd(MONTH, -1, t)", "CAST(t AS TIMESTAMP_NTZ)",
    "CAST(z AS TIMESTAMP)", "z - INTERVAL 1 MONTH", "z + INTERVAL 1 YEAR", "CAST(z + INTERVAL 1 DAY AS TIMESTAMP)",
    "CAST(t AS DATE)", "date_trunc('DAY', t)", "date_trunc('HOUR', t)", "CAST(CAST(t AS DATE) AS TIMESTAMP)",
    "date_trunc('MONTH', t) - INTERVAL 1 MONTH", "unix_seconds(t)", "to_date(t) - INTERVAL 1 MONTH",
]  # fmt: skip
TYPES = {"t": "timestamp", "z": "timestamp_ntz"}
READ_DATES = {
    "CAST(t AS DATE)", "date_trunc('DAY', t)", "date_trunc('HOUR', t)", "CAST(CAST(t AS DATE) AS TIMESTAMP)",
    "date_trunc('MONTH', t) - INTERVAL 1 MONTH", "to_date(t) - INTERVAL 1 MONTH",
}  # fmt: skip
RISING = dict.fromkeys(TYPES, Direction.INCREASING)
ZONES = ["UTC", "Europe/Zurich", "America/St_Johns", "Pacific/Apia"]


def moments(zone):
    """Times around every change of the zone's clock in a year, around those a day and a month on, and month ends."""
    year = {"America/St_Johns": 2009, "Pacific/Apia": 2011}.get(zone, 2024)
    first = dt.datetime(year, 1, 1, tzinfo=dt.UTC)
    hours = [first + dt.timedelta(hours=number) for number in range(24 * 366)]
    offsets = [item.astimezone(zone_named(zone)).utcoffset() for item in hours]
    changes = [hour for hour, one, other in zip(hours, offsets, offsets[1:], strict=False) if one != other]
    ends = [dt.datetime(year, month, 1, tzinfo=dt.UTC) for month in (2, 3, 4, 12)]
    months = [item + dt.timedelta(days=days) for item in changes for days in (-31, -1, 0, 1, 28, 30, 31)]
    steps = [dt.timedelta(minutes=20 * number) for number in range(-3 * 30, 3 * 30)]
    return sorted({item + step for item in (*ends, *months) for step in steps})


@pytest.mark.parametrize("zone", ZONES)
def test_no_later_value_is_below(spark, zone):
    reader = Reader(catalog().with_setting("time zone", f"'{zone}'"))
    lower = {text: reader.never_below(scalar(text).form, RISING, TYPES) for text in EXPRESSIONS}
    lines = {text: text_of(form) for text, form in lower.items() if form is not None}
    assert set(EXPRESSIONS) - set(lines) == (READ_DATES if zone == "America/St_Johns" else set())
    values = ", ".join(f"{text} AS v{place}, {line} AS l{place}" for place, (text, line) in enumerate(lines.items()))
    later = "OVER (ORDER BY s DESC ROWS UNBOUNDED PRECEDING)"  # no two are at one time
    below = ", ".join(
        f"min(v{place}) {later} < l{place} AS b{place}, min(v{place}) {later} < v{place} AS d{place}"
        for place in range(len(lines))
    )
    counts = ", ".join(
        f"count_if(b{place}) AS `{text}`, count_if(d{place}) AS `down {text}`" for place, text in enumerate(lines)
    )
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        rows = spark.createDataFrame([(str(item.replace(tzinfo=None)),) for item in moments(zone)], "s STRING")
        rows = rows.selectExpr("s", "CAST(concat(s, ' UTC') AS TIMESTAMP) AS t", "CAST(s AS TIMESTAMP_NTZ) AS z")
        found = spark.sql(
            f"SELECT {counts}, count(*) AS n FROM (SELECT {below} FROM (SELECT s, {values} FROM {{rows}}))", rows=rows
        ).first()
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    assert found["n"] > 500
    assert {text: found[text] for text in lines if found[text]} == {}
    if zone == "Europe/Zurich":
        lowered = {text for text in lines if lower[text] != scalar(text).form}
        down = {text for text in lines if found[f"down {text}"]}
        assert down == lowered - {"date_trunc('MONTH', t) - INTERVAL 1 MONTH"}
