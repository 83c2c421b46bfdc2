"""Differential: the functions of the dialect timeplus, under retraction, against plain Python."""

import random
from collections import Counter
from datetime import datetime, timedelta
from statistics import median

import pytest

from penstock import Pipeline

_SIZE = 12
AGGREGATES = """
max_k(x, 2), min_k(x, 2), max_k(x, 2, t), min_k_if(x, 2, t, y > 0), top_k(t, 2), top_k_if(t, 1, false, y > 0),
unique(t), unique_exact(x, t), count_distinct(t), unique_if(t, y > 0), group_array_sorted(t), group_array_sorted(x, 2),
group_uniq_array(t), group_uniq_array_if(t, y > 0), p50(y), p90_if(y, y > 0), quantile(y, 0.25),
arg_max(t, struct(y, id)), arg_min_if(t, struct(y, id), y > 0), any(x), count(), count(x), count_if(y > 0),
count_if(x, y > 0), sum_if(x, y > 0), min_if(x, y > 0), max_if(x, y > 0), avg_if(y, y > 0)
"""
PROGRAM = f"""
CREATE STREAM s (id int, k string, x nullable(int), y float64, t string) PRIMARY KEY id SETTINGS mode = 'changelog_kv';
CREATE VIEW v (k, {", ".join(f"c{number}" for number in range(28))}) AS SELECT k, {AGGREGATES} FROM s GROUP BY k;
"""


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.extended)])
def test_aggregates(spark, seed):
    dice, rows = random.Random(seed), {}
    with Pipeline(PROGRAM, spark=spark, dialect="timeplus") as pipeline:
        for _ in range(2):
            change = []
            for _ in range(_SIZE):
                identity = dice.randrange(_SIZE)
                if identity in rows and dice.random() < 0.4:
                    change.append(("-", rows.pop(identity)))
                    continue
                x = dice.choice([None, -1, 0, 1, 2, 2])
                rows[identity] = (
                    identity,
                    dice.choice("ab"),
                    x,
                    dice.choice([-1.5, 0.0, 0.5, 2.0, 4.0]),
                    dice.choice("pqr"),
                )
                change.append(("+", rows[identity]))
            pipeline.step({"s": change})
            found = {row[0]: [_plain(value) for value in row[1:]] for row in pipeline.content("v").rows}
            groups = {key: [row for row in rows.values() if row[1] == key] for key in {row[1] for row in rows.values()}}
            assert found == {key: expected(group) for key, group in groups.items()}


def _plain(value):
    if isinstance(value, float):
        return round(value, 9)
    return (
        [tuple(item.values()) if isinstance(item, dict) else item for item in value]
        if isinstance(value, list)
        else value
    )


def expected(rows):
    """What the list of AGGREGATES is by definition."""
    above = [row for row in rows if row[3] > 0]
    return [
        sorted((x for _, _, x, _, _ in rows if x is not None), reverse=True)[:2],
        sorted(x for _, _, x, _, _ in rows if x is not None)[:2],
        sorted(((x, t) for _, _, x, _, t in rows if x is not None), reverse=True)[:2],
        sorted((x, t) for _, _, x, _, t in above if x is not None)[:2],
        most_frequent([row[4] for row in rows], 2),
        [value for value, _ in most_frequent([row[4] for row in above], 1)],
        len({row[4] for row in rows}),
        len({(row[2], row[4]) for row in rows if row[2] is not None}),
        len({row[4] for row in rows}),
        len({row[4] for row in above}),
        sorted(row[4] for row in rows),
        sorted(row[2] for row in rows if row[2] is not None)[:2],
        sorted({row[4] for row in rows}),
        sorted({row[4] for row in above}),
        median(row[3] for row in rows),
        quantile([row[3] for row in above], 0.9),
        quantile([row[3] for row in rows], 0.25),
        max(rows, key=lambda row: (row[3], row[0]))[4],
        min(above, key=lambda row: (row[3], row[0]))[4] if above else None,
        next((row[2] for row in sorted(rows, key=lambda row: row[0]) if row[2] is not None), None),
        len(rows),
        sum(row[2] is not None for row in rows),
        len(above),
        sum(row[2] is not None for row in above),
        *(f([row[2] for row in above if row[2] is not None]) for f in (total, least, greatest)),
        round(sum(row[3] for row in above) / len(above), 9) if above else None,
    ]


def total(values):
    return sum(values) if values else None


def least(values):
    return min(values, default=None)


def greatest(values):
    return max(values, default=None)


def most_frequent(values, count):
    return sorted(Counter(values).items(), key=lambda item: (-item[1], item[0]))[:count]


def quantile(values, level):
    """The value at a place between the sorted ones, by their distances."""
    if not values:
        return None
    ordered, place = sorted(values), level * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return round(ordered[low] + (ordered[high] - ordered[low]) * (place - low), 9)


UNITS = {"ms": 0.001, "second": 1, "s": 1, "minute": 60, "mi": 60, "hour": 3600, "day": 86400, "week": 604800}


def test_differences_of_times(spark):
    """So many units begin behind the one and up to the other: weeks on Mondays."""
    dice = random.Random(3)
    start = datetime.fromisoformat("2025-01-06")
    times = [start + timedelta(milliseconds=dice.randrange(-(10**10), 10**10)) for _ in range(40)]
    lists = ", ".join(f"date_diff('{unit}', a, b)" for unit in UNITS)
    months = "date_diff('month', a, b), date_diff(quarter, a, b), date_diff('yy', a, b)"
    with Pipeline("CREATE STREAM s (a datetime64(3), b datetime64(3))", dialect="timeplus", spark=spark) as pipeline:
        pipeline.step({"s": list(zip(times[::2], times[1::2], strict=True))})
        for one, other, *found in pipeline.query(f"SELECT a, b, {lists}, {months} FROM table(s)").rows:
            lengths = [timedelta(seconds=length) for length in UNITS.values()]
            whole = [(other - start) // length - (one - start) // length for length in lengths]
            by_month = [12 * time.year + time.month - 1 for time in (one, other)]
            calendar = [by_month[1] // length - by_month[0] // length for length in (1, 3, 12)]
            assert found == [*whole, *calendar]


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        ("to_int32('7') + to_int8(1.9)", 8),
        ("to_int64_or_zero('x')", 0),
        ("to_int64_or_null('x')", None),
        ("to_string(to_float64('1.5'))", "1.5"),
        ("to_string(to_decimal64('1.23456', 3))", "1.235"),
        ("to_start_of_hour(to_datetime('2025-01-01 10:59:59')) == '2025-01-01 10:00:00'", True),
        ("array_map(x -> x + to_int('1'), [1, 2])", [2, 3]),
        ("array_filter(x -> x > 1, [1, 2])", [2]),
        ("array_string_concat(['a', 'b'], '-')", "a-b"),
        ("has([1, 2], 2) and not has([1], 2)", True),
        ("index_of(['a', 'b'], 'b')", 2),
        ("multi_if(1 > 2, 'a', 2 > 1, 'b', 'c')", "b"),
        ("int_div(7, 2) + 7 % 2", 4),
        ("starts_with('abc', 'ab') and ends_with('abc', 'bc')", True),
        ("if_null(null_if(1, 1), 5)", 5),
        ("date_diff_within(2m, to_datetime('2025-01-01 10:02:00'), to_datetime('2025-01-01 10:00:00'))", True),
        ("date_diff_within(2m, to_datetime('2025-01-01 10:00:00'), to_datetime('2025-01-01 10:02:01'))", False),
        ("lag_behind(10ms)", True),
    ],
)
def test_functions(spark, written, answer):
    with Pipeline("CREATE STREAM s (a int)", spark=spark, dialect="timeplus") as pipeline:
        assert pipeline.query(f"SELECT {written}").rows == [(answer,)]
