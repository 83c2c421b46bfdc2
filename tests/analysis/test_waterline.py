"""Waterlines through operators: kept, lowered, raised, lost."""

# ruff: noqa: E501, FBT003 - one case on one line

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.analysis.waterline import waterlines
from penstock.catalog.model import Lateness
from penstock.plan.nodes import (
    Distinct,
    Field,
    Generate,
    JoinKind,
    Recompute,
    SetKind,
    SetOperation,
    SortKey,
    TopK,
    UnionAll,
    Values,
    Window,
)
from planning import aggregate, alias, catalog, join, project, read, scalar, table, where, with_view

A_OF_WALL = table("c", at="timestamp_ntz late 1 HOUR", day="date late 1 DAY")
A = table("a", at="timestamp! late 1 HOUR", n="int late 10", x="int")
B = table("b", at="timestamp late 1 HOUR", y="int", start="timestamp")
S = table("since", begun="timestamp! late 1 HOUR", until="timestamp", said="string", ended="date")
CATALOG = catalog(A, B, A_OF_WALL, S)
L, R = alias(read(A), "l"), alias(read(B), "r")
T = read(A)
BY_TIME = join(L, R, on="`l.at` = `r.at`")
NEAR = join(L, R, on="`l.x` = `r.y`", residual="`l.at` BETWEEN `r.at` - INTERVAL 1 HOUR AND `r.at` + INTERVAL 5 MINUTE")
SINCE = alias(read(S), "s")
OPEN = join(SINCE, R, residual="`r.at` BETWEEN `s.begun` AND `s.until`")
AS_TEXT = join(SINCE, R, residual="`s.said` >= `r.at` AND `r.at` >= `s.begun`")
NEVER = Values(((scalar("1"),),), (Field("one", "int"),))
CLOCK = project(NEVER, t="now() - INTERVAL 10 DAYS")


BERLIN = CATALOG.with_setting("time zone", "'Europe/Berlin'")


def texts(plan, catalog):
    """Each column's waterline as it is shown."""
    return {name: derived.shown for name, derived in waterlines(plan, catalog).items()}


def over(text, partition=()):
    return Window(T, tuple(scalar(item) for item in partition), (("w", scalar(text)),))


def ahead(*texts):
    return Window(T, (), tuple((f"w{place}", scalar(text)) for place, text in enumerate(texts)))


def explode(text):
    return Generate(T, scalar(text), (Field("e"),))


CASES = [
    ("a table", T, {"at": "a.at", "n": "a.n"}),
    ("expressions that go up", project(T, h="date_trunc('HOUR', at)", m="month(at)", s="at + INTERVAL 1 HOUR", d="100 - n"),
     {"h": "date_trunc('HOUR', a.at)", "s": "a.at + INTERVAL '1' HOUR"}),
    ("two columns in one expression", project(T, z="n + year(at)"), {"z": "a.n + year(a.at)"}),
    ("a chosen one of two", project(T, z="least(n, year(at))"), {"z": "least(a.n, year(a.at))"}),
    ("one of two without a waterline", project(T, z="greatest(n, x)"), {}),
    ("a condition lends its waterline", where(R, "`r.start` >= `r.at` - INTERVAL 1 DAY"),
     {"r.at": "b.at", "r.start": "b.at - INTERVAL '1' DAY"}),
    ("both promises together", where(T, "n >= year(at)"), {"at": "a.at", "n": "greatest(a.n, year(a.at))"}),
    ("a constant is no progress", where(T, "x > 5"), {"at": "a.at", "n": "a.n"}),
    ("UNION ALL", UnionAll((project(T, t="at"), project(R, t="`r.at`")), (Field("t"),)), {"t": "least(a.at, b.at)"}),
    ("UNION ALL with constants", UnionAll((project(T, t="at"), project(NEVER, t="TIMESTAMP '2024-01-01'")), (Field("t"),)), {"t": "a.at"}),
    ("UNION ALL with a column that has none", UnionAll((project(T, t="n"), project(T, t="x")), (Field("t"),)), {}),
    ("EXCEPT", SetOperation(project(T, t="at"), project(R, t="`r.at`"), SetKind.EXCEPT, False, (Field("t"),)), {"t": "least(a.at, b.at)"}),
    ("explode of a sequence", explode("explode(transform(filter(sequence(n - 5, n, 5L), x -> x > 2), x -> x * 2))"), {"at": "a.at", "n": "a.n", "e": "(a.n - 5) * 2"}),
    ("explode of a falling function", explode("explode(transform(sequence(n - 5, n, 5), x -> -x))"), {"at": "a.at", "n": "a.n"}),
    ("explode downwards", explode("explode(sequence(n, n - 5, -5))"), {"at": "a.at", "n": "a.n"}),
    ("explode of a function of two", explode("explode(transform(sequence(n - 5, n, 5), x -> x - n))"), {"at": "a.at", "n": "a.n"}),
    ("DISTINCT", Distinct(T), {"at": "a.at", "n": "a.n"}),
    ("GROUP BY", aggregate(T, "h = date_trunc('HOUR', at); x", m="max(n)"), {"h": "date_trunc('HOUR', a.at)"}),
    ("join on time", BY_TIME, {"l.at": "least(a.at, b.at)", "r.at": "least(a.at, b.at)"}),
    ("outer join on time", replace(BY_TIME, kind=JoinKind.FULL), {"l.at": "least(a.at, b.at)", "r.at": "least(a.at, b.at)"}),
    ("join within an hour", NEAR, {"l.at": "least(a.at, b.at - INTERVAL '1' HOUR)", "r.at": "least(a.at - INTERVAL '5' MINUTE, b.at)"}),
    ("join without a bound on time", join(L, R, on="`l.x` = `r.y`"), {}),
    ("anti join", replace(BY_TIME, kind=JoinKind.ANTI), {"l.at": "least(a.at, b.at)"}),
    ("NOT IN", replace(BY_TIME, kind=JoinKind.ANTI, null_aware=True), {}),
    ("join by the hour", join(L, R, residual="`r.at` <= `l.at` + INTERVAL 1 HOUR AND date_trunc('HOUR', `r.at`) = `l.at`"),
     {"l.at": "least(a.at, greatest(b.at - INTERVAL '1' HOUR, date_trunc('HOUR', b.at)))", "r.at": "least(a.at, b.at)"}),
    ("a condition followed in two steps", OPEN, {"s.until": "least(b.at, since.begun)", "r.at": "least(b.at, since.begun)"}),
    ("... with two steps beyond", join(SINCE, R, residual="`r.at` >= `s.begun` AND `s.until` > `r.at` + INTERVAL 1 HOUR"),
     {"s.until": "least(b.at + INTERVAL '1' HOUR, since.begun + INTERVAL '1' HOUR)", "r.at": "least(b.at, since.begun)"}),
    ("... by a side that need not meet it", replace(OPEN, kind=JoinKind.LEFT), {"r.at": "least(b.at, since.begun)"}),
    ("... by the other side", replace(OPEN, kind=JoinKind.RIGHT), {"s.until": "least(b.at, since.begun)", "r.at": "least(b.at, since.begun)"}),
    ("... by both", replace(OPEN, kind=JoinKind.FULL), {"r.at": "least(b.at, since.begun)"}),
    ("... by rows that have a partner", replace(OPEN, kind=JoinKind.SEMI), {"s.until": "least(b.at, since.begun)"}),
    ("... by rows that have none", replace(OPEN, kind=JoinKind.ANTI), {}),
    ("... without the first step", join(SINCE, R, residual="`r.at` <= `s.until`"), {}),
    ("... through texts, which have another order", AS_TEXT, {"r.at": "least(b.at, since.begun)"}),
    ("join with constants", join(L, NEVER), {"l.at": "a.at", "l.n": "a.n"}),
    ("join with the clock", join(T, CLOCK, residual="at <= t"), {}),
    ("UNION ALL with the clock", UnionAll((project(T, t="at"), CLOCK), (Field("t"),)), {}),
    ("INTERSECT with the clock", SetOperation(project(T, t="at"), CLOCK, SetKind.INTERSECT, True, (Field("t"),)), {}),
    ("LAG", over("lag(x) OVER (ORDER BY at)"), {"at": "a.at"}),
    ("LEAD", over("lead(x) OVER (ORDER BY at)"), {}),
    ("LAG that looks ahead", over("lag(x, -1) OVER (ORDER BY at)"), {}),
    ("LAG over a column with NULLs", over("lag(x) OVER (ORDER BY n)"), {}),
    ("... with NULLs behind", over("lag(x) OVER (ORDER BY n NULLS LAST)"), {"n": "a.n"}),
    ("LAG backwards", over("lag(x) OVER (ORDER BY at DESC)"), {}),
    ("a frame that ends here", over("sum(x) OVER (ORDER BY at ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)"), {"at": "a.at"}),
    ("a frame that looks ahead", over("sum(x) OVER (ORDER BY at ROWS BETWEEN 3 PRECEDING AND 1 FOLLOWING)"), {}),
    ("the last time ahead", over("lead(at, 2) OVER (ORDER BY at)"), {"w": "a.at"}),
    ("... of fewer rows", ahead("lead(at) OVER (ORDER BY at, x)", "lead(x, 2) OVER (ORDER BY at, x)"), {}),
    ("... in another order", ahead("lead(at) OVER (ORDER BY at, x)", "lead(x) OVER (ORDER BY at, n)"), {}),
    ("... with a default", over("lead(at, 1, at) OVER (ORDER BY at)"), {}),
    ("... with NULLs that come first", over("lead(n) OVER (ORDER BY n)"), {}),
    ("... beside what looks on without end", ahead("lead(at) OVER (ORDER BY at)", "ntile(2) OVER (ORDER BY at)"), {}),
    ("... beside what looks back", ahead("lead(at) OVER (ORDER BY at)", "rank() OVER (ORDER BY at, x)"), {"w0": "a.at"}),
    ("the whole partition", over("sum(x) OVER (PARTITION BY n)", ("n",)), {"n": "a.n"}),
    ("the latest of each", TopK(T, (scalar("n"),), (SortKey(scalar("at"), descending=True),), 1), {"n": "a.n"}),
    ("the earliest of all", TopK(T, (), (SortKey(scalar("at")),), 3), {"at": "a.at"}),
    ("recomputed", Recompute((T,), "x", T.fields, "PIVOT"), {}),
    ("a temporal filter keeps it", where(T, "at >= now() - INTERVAL 7 DAYS"),
     {"at": "greatest(a.at, now() - INTERVAL '7' DAY)", "n": "a.n"}),
    ("rows that the clock reaches later", where(T, "at <= now()"), {"at": "least(a.at, now())"}),
    ("a projection of the clock", project(T, at="at", t="now()"), {}),
]  # fmt: skip


@pytest.mark.parametrize(("what", "plan", "expected"), CASES, ids=[case[0] for case in CASES])
def test_waterlines(what, plan, expected):
    found = waterlines(plan, CATALOG)
    assert {name: derived.shown.replace("`", "") for name, derived in found.items()} == expected


def test_time_that_passes_takes_rows_away_below_the_waterline():
    found = waterlines(where(T, "at >= now() - INTERVAL 7 DAYS"), CATALOG, passing_time=True)
    assert {name: derived.shown for name, derived in found.items()} == {"at": "now() - INTERVAL '7' DAY"}


def test_the_least_is_unknown_until_all_is_known():
    assert waterlines(BY_TIME, CATALOG)["l.at"].text == (
        "CASE WHEN (`a.at`) IS NULL OR (`b.at`) IS NULL THEN NULL ELSE least(`a.at`, `b.at`) END"
    )


def test_the_sources_are_named():
    assert {source.name for source in waterlines(BY_TIME, CATALOG)["l.at"].sources} == {"a.at", "b.at"}


def test_lateness_of_a_view_is_the_larger_promise():
    found = with_view(CATALOG, "v", project(T, h="date_trunc('HOUR', at)", x="x"))
    view = replace(found.views["v"], lateness={"H": Lateness("INTERVAL 1 HOUR"), "x": Lateness("5")})
    found = found.with_view(view)
    shown = {name: derived.shown for name, derived in waterlines(read(view), found).items()}
    assert shown == {"h": "greatest(date_trunc('HOUR', `a.at`), `v.H`)", "x": "`v.x`"}


def test_rows_held_back_are_seen_later_than_they_are_judged():
    held = [replace(item, watermark="INTERVAL 1 HOUR") if item.name == "at" else item for item in A.columns]
    assert list(waterlines(T, catalog(replace(A, columns=tuple(held))))) == ["at"]


def test_local_time_of_the_own_type():
    plan = project(T, t="CAST(at AS TIMESTAMP)")
    assert list(waterlines(plan, CATALOG.with_setting("time zone", "'Europe/Berlin'"))) == ["t"]


def test_local_time():
    plan = project(T, t="CAST(at AS TIMESTAMP_NTZ)")
    assert texts(plan, CATALOG) == {"t": "CAST(`a.at` AS timestamp_ntz)"}
    assert texts(plan, BERLIN) == {"t": "CAST(`a.at` AS timestamp_ntz) - INTERVAL '3' HOUR"}


def test_times_with_and_without_a_zone():
    """A time that the clock skips is read as a later one: the two orders differ."""
    walls = alias(read(A_OF_WALL), "w")
    for condition in ("`l.at` >= `w.at`", "`w.at` >= `l.at` - INTERVAL 1 HOUR", "`l.at` = `w.at`"):
        assert list(waterlines(join(L, walls, residual=condition), CATALOG)) != []
        assert list(waterlines(join(L, walls, residual=condition), BERLIN)) == []
    both = UnionAll((project(T, t="at"), project(read(A_OF_WALL), t="at")), (Field("t", "timestamp"),))
    assert texts(both, BERLIN) == {}


def test_an_hour_of_a_time_without_a_zone_may_be_after_it():
    walls, others = alias(read(A_OF_WALL), "w"), alias(read(A_OF_WALL), "o")
    hourly = join(walls, others, residual="date_trunc('HOUR', `w.at`) >= `o.at`")
    assert set(texts(hourly, CATALOG)) == {"w.at"}
    assert texts(hourly, BERLIN) == {}


def test_a_bound_of_days_is_solved_by_the_clock_on_the_wall():
    """In some zones an hour before midnight is skipped: a day after 23:30 is 00:30 of the day after that."""
    days = join(L, alias(read(A_OF_WALL), "w"), residual="`l.at` + INTERVAL 1 DAY >= `w.day`")
    line = "TRY_CAST(`c.day` - INTERVAL '1' DAY AS timestamp)"
    assert texts(days, CATALOG)["l.at"] == f"least({line}, `a.at`)"
    assert texts(days, BERLIN)["l.at"] == f"least({line} - INTERVAL '3' HOUR, `a.at`)"


def test_a_whole_number_is_compared_with_a_double_as_one():
    doubles = alias(read(table("q", x="double late 1")), "q")
    near = join(L, doubles, residual="`l.n` >= `q.x`")
    found = waterlines(near, catalog(A, table("q", x="double late 1")))
    assert found["l.n"].shown == "least(`a.n`, `q.x`)"


def test_a_bound_is_brought_to_the_type_of_its_column():
    near = join(L, alias(read(A_OF_WALL), "w"), residual="`w.day` >= `l.at` AND `l.n` >= 2.5")
    assert texts(near, CATALOG) == {"w.day": "least(TRY_CAST(`a.at` AS date), `c.day`)"}


NEW_YORK = CATALOG.with_setting("time zone", "'America/New_York'")
DAYS = project(T, hours="at + INTERVAL 23 HOURS", days="at + INTERVAL 1 DAY", months="at - INTERVAL 1 MONTH")


@pytest.mark.parametrize("zone", ["UTC", "Etc/UTC", "+05:30"])
def test_days_in_a_zone_without_shifts(zone):
    assert texts(DAYS, CATALOG.with_setting("time zone", f"'{zone}'")) == {
        "hours": "`a.at` + INTERVAL '23' HOUR",
        "days": "`a.at` + INTERVAL '1' DAY",
        "months": "`a.at` - INTERVAL '1' MONTH - INTERVAL '1' DAY",
    }


def test_days_are_counted_in_local_time():
    assert texts(DAYS, NEW_YORK) == {
        "hours": "`a.at` + INTERVAL '23' HOUR",
        "days": "`a.at` + INTERVAL '1' DAY - INTERVAL '3' HOUR",
        "months": "`a.at` - INTERVAL '1' MONTH - INTERVAL '5' DAY",
    }
    twice = project(T, days="at + INTERVAL 1 DAY - INTERVAL 1 DAY")
    assert texts(twice, NEW_YORK) == {}
    assert list(waterlines(join(L, R, residual="`l.at` + INTERVAL 5 HOURS >= `r.at`"), NEW_YORK)) == ["l.at"]


def test_days_without_a_zone():
    plan = project(
        read(A_OF_WALL), a="at + INTERVAL 1 DAY", d="day - INTERVAL 1 MONTH", later="day + INTERVAL 25 HOURS"
    )
    assert list(waterlines(plan, NEW_YORK)) == ["a", "d", "later"]
    one, other = alias(read(A_OF_WALL), "l"), alias(read(A_OF_WALL), "r")
    near = join(one, other, residual="`l.at` + INTERVAL 1 DAY >= `r.at` AND `r.day` >= `l.day` - INTERVAL 3 DAYS")
    assert set(waterlines(near, NEW_YORK)) == {"l.at", "r.day"}


def test_a_filter_on_the_clock_in_a_zone_that_shifts():
    assert list(waterlines(where(T, "at >= now() - INTERVAL 7 DAYS"), NEW_YORK, passing_time=True)) == ["at"]
