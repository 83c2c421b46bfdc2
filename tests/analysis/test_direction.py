"""Which expressions follow their column up or down."""

# ruff: noqa: E501 - several cases on one line

from __future__ import annotations

import pytest

from penstock.analysis.direction import Direction, direction
from penstock.catalog.zones import Shifts
from planning import scalar

SHIFTS = Shifts(1)
COLUMNS = {"t": Direction.INCREASING, "n": Direction.STRICTLY_INCREASING}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("t", "increasing"),
        ("n", "strictly_increasing"),
        ("x", "none"),
        ("floor(t TO HOUR)", "increasing"),
        ("ceil(t TO HOUR)", "increasing"),
        ("date_trunc('DAY', t)", "increasing"),
        ("timestampadd(HOUR, 1, t)", "increasing"),
        ("t + INTERVAL 1 HOUR", "increasing"),
        ("INTERVAL 1 HOUR + t", "increasing"),
        ("CAST(t AS DATE)", "increasing"),
        ("CAST(t AS STRING)", "none"),
        ("extract(YEAR FROM t)", "increasing"),
        ("extract(MONTH FROM t)", "none"),
        ("extract(YEAR FROM t) - 3", "increasing"),
        ("3 + extract(YEAR FROM t)", "increasing"),
        ("3000 - extract(YEAR FROM t)", "decreasing"),
        ("extract(YEAR FROM t) / -5", "decreasing"),
        ("extract(YEAR FROM t) / 5", "increasing"),
        ("5 / extract(YEAR FROM t)", "none"),
        ("extract(YEAR FROM t) / NULL", "constant"),
        ("NULL / extract(YEAR FROM t)", "constant"),
        ("extract(YEAR FROM t) / CAST(NULL AS INT)", "constant"),
        ("1 - 2", "constant"),
        ("-n", "strictly_decreasing"),
        ("n * 2", "strictly_increasing"),
        ("-2 * n", "strictly_decreasing"),
        ("n * 0", "constant"),
        ("n * x", "none"),
        ("n + t", "strictly_increasing"),
        ("n - t", "none"),
        ("n - (-t)", "strictly_increasing"),
        ("mod(n, 5)", "none"),
        ("n % 5", "none"),
        ("month(t)", "none"),
        ("datediff(t, DATE '2020-01-01')", "increasing"),
        ("datediff(DATE '2020-01-01', t)", "decreasing"),
        ("datediff(t, t)", "none"),
        ("timestampdiff(HOUR, TIMESTAMP '2020-01-01 00:00:00', t)", "increasing"),
        ("greatest(n, 5)", "increasing"),
        ("CASE WHEN n > 1 THEN n END", "none"),
        ("n - pmod(n, 10)", "increasing"),
        ("n - pmod(n - (n - pmod(n, 60)), 10)", "increasing"),
        ("n - pmod(t, 10)", "none"),
        ("n - pmod(n, -10)", "none"),
        ("timestamp_micros(unix_micros(t) - pmod(unix_micros(t), 10L))", "increasing"),
        ("now()", "increasing"),
        ("(t - TIMESTAMP '1970-01-01 00:00:00') + INTERVAL 1 HOUR", "increasing"),
    ],
)
def test_direction(text, expected):
    assert direction(scalar(text).form, COLUMNS) == expected


def test_local_time_goes_back_where_clocks_are_put_back():
    tree = scalar("CAST(t AS TIMESTAMP_NTZ)").form
    assert direction(tree, COLUMNS).up
    assert direction(tree, COLUMNS, shifts=SHIFTS) is Direction.NONE


TYPES = {"t": "timestamp", "z": "timestamp_ntz", "d": "date", "n": "bigint"}
RISING = dict.fromkeys(TYPES, Direction.INCREASING)


@pytest.mark.parametrize(
    "text",
    [
        "t + INTERVAL 1 DAY", "t - INTERVAL 1 DAY", "INTERVAL 1 DAY + t", "t + INTERVAL 24 HOURS", "t + INTERVAL 86400 SECONDS",
        "t - INTERVAL '-1 02' DAY TO HOUR", "t + INTERVAL 1 WEEK", "localtimestamp()", "unix_micros(z)", "greatest(t, z)", "unix_seconds(dateadd(HOUR, 1, z))", "ceil(t TO DAY)",
        "timestampdiff(MINUTE, TIMESTAMP_NTZ '2024-01-01 00:00:00', z)", "date_add(HOUR, 1, t) + INTERVAL 1 DAY", "date_trunc('MINUTE', z)", "timestamp_ntz(t)",
        "t + (INTERVAL 23 HOURS + INTERVAL 2 HOURS)", "t + make_dt_interval(1)", "t - TIMESTAMP '2024-01-01 00:00:00'",
        "(t + INTERVAL 1 DAY) - INTERVAL 1 HOUR", "t + (z - TIMESTAMP_NTZ '2024-01-01 00:00:00')",
        "dateadd(DAY, 1, t)", "timestampdiff(HOUR, TIMESTAMP '2024-01-01 00:00:00', t)",
    ],
)  # fmt: skip
def test_days_are_counted_by_the_clock_on_the_wall(text):
    tree = scalar(text).form
    assert direction(tree, RISING, types=TYPES).up
    assert direction(tree, RISING, types=TYPES, shifts=SHIFTS) is Direction.NONE


@pytest.mark.parametrize(
    "text",
    [
        "t + INTERVAL 1 HOUR", "t - INTERVAL 5 MINUTES", "t + INTERVAL 1 HOUR 30 MINUTES", "t + INTERVAL '23:59' HOUR TO MINUTE",
        "t - INTERVAL '-23:59' HOUR TO MINUTE", "t + INTERVAL 23 HOURS + INTERVAL 23 HOURS", "dateadd(HOUR, 30, t)",
        "z + INTERVAL 1 DAY", "CAST(d AS TIMESTAMP)", "now() - INTERVAL 5 HOURS", "date_trunc('DAY', t)", "z + INTERVAL '1 02' DAY TO HOUR", "dateadd(DAY, 1, z)",
        "z - TIMESTAMP_NTZ '2024-01-01 00:00:00'", "d + INTERVAL 1 DAY", "d + INTERVAL 25 HOURS", "d - INTERVAL 1 MONTH", "d + 1",
        "CAST(t AS DATE) + INTERVAL 1 DAY", "dateadd(DAY, 1, d)", "datediff(d, DATE '2024-01-01')", "n + 5", "n + year(t)", "unix_seconds(t) - 5",
    ],
)  # fmt: skip
def test_what_goes_up_although_clocks_are_put_back(text):
    assert direction(scalar(text).form, RISING, types=TYPES, shifts=SHIFTS).up


@pytest.mark.parametrize(
    "text",
    [
        "t + INTERVAL 1 MONTH", "z - INTERVAL 1 MONTH", "t + INTERVAL '1-0' YEAR TO MONTH", "t - INTERVAL '1 month 2 days'",
        "t + make_ym_interval(1)", "t + try_make_interval(0, 1)", "t + CAST('1 month' AS INTERVAL)", "dateadd(MONTH, 1, d)", "t + CAST(n AS INTERVAL MONTH)", "timestampadd(MONTH, 1, t)", "dateadd(YEAR, 1, z)",
        "now() - INTERVAL 1 MONTH", "current_time()",
    ],
)  # fmt: skip
def test_months_end_before_their_days_do(text):
    assert direction(scalar(text).form, RISING, types=TYPES) is Direction.NONE


@pytest.mark.parametrize(
    "text",
    [
        "CAST(t AS DATE)", "year(t)", "date_trunc('HOUR', t)", "floor(t TO HOUR)", "datediff(t, DATE '2024-01-01')",
        "extract(YEAR FROM t)", "current_date()", "to_date(now())", "unix_date(to_date(t))",
    ],
)  # fmt: skip
def test_a_date_comes_again_where_clocks_are_put_back_over_midnight(text):
    tree = scalar(text).form
    assert direction(tree, RISING, types=TYPES, shifts=SHIFTS).up
    assert direction(tree, RISING, types=TYPES, shifts=Shifts(1, dates=True)) is Direction.NONE
