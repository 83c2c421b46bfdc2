"""What is kept, whether it stays bounded, and what would bound it."""

# ruff: noqa: E501 - one case on one line

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.analysis.boundedness import state_of
from penstock.plan.nodes import Distinct, Recompute, SortKey, TopK, Window
from planning import aggregate, alias, catalog, join, project, read, scalar, table, where, with_view

STREAM = table("clicks", stream=True, who="int", at="timestamp! late 1 HOUR", page="string", ok="boolean")
VIEWS = table("views", stream=True, who="int", at="timestamp! late 5 MINUTE")
RAW = table("raw", stream=True, who="int", at="timestamp")
PEOPLE = table("people", who="int", name="string")
CATALOG = catalog(STREAM, VIEWS, RAW, PEOPLE)
S, V, P, N = alias(read(STREAM), "s"), alias(read(VIEWS), "v"), alias(read(PEOPLE), "p"), alias(read(RAW), "n")
NEAR = join(S, V, on="`s.who` = `v.who`", residual="`s.at` BETWEEN `v.at` AND `v.at` + INTERVAL 1 HOUR")

CASES = [
    ("a window of time", aggregate(S, "h = date_trunc('HOUR', `s.at`)", n="count(1)"),
     "BOUNDED: rows are dropped once date_trunc('HOUR', `s.at`) is below the waterline date_trunc('HOUR', `clicks.at`)", None),
    ("GROUP BY of a stream", aggregate(S, "`s.who`", n="count(1)"),
     "UNBOUNDED: it grows as long as rows come, no waterline passes them",
     "use a column with a waterline in GROUP BY: s.at"),
    ("GROUP BY of a stream without LATENESS", aggregate(N, "`n.who`", n="count(1)"),
     "UNBOUNDED: it grows as long as rows come, no waterline passes them",
     "declare LATENESS on a time column of raw, and use that column in GROUP BY"),
    ("one group", aggregate(S, "", n="count(1)"), "BOUNDED: there is one group", None),
    ("few groups", aggregate(S, "`s.ok`", n="count(1)"), "BOUNDED: the number of groups does not grow", None),
    ("a table", aggregate(P, "`p.name`", n="count(1)"), "CONTENT: rows leave it when they are deleted there", None),
    ("DISTINCT with a time", Distinct(project(S, at="`s.at`", who="`s.who`")), "BOUNDED: rows are dropped once at is below the waterline `clicks.at`", None),
    ("times locked together", NEAR, "BOUNDED: rows are dropped once s.at is below the waterline `views.at`, v.at is below the waterline `clicks.at` - INTERVAL '1' HOUR", None),
    ("times not locked", join(S, V, on="`s.who` = `v.who`"), "UNBOUNDED: it grows as long as rows come, no waterline passes them",
     "say how far apart the times may be: s.at BETWEEN v.at - INTERVAL … AND v.at + INTERVAL …"),
    ("locked on one side only", join(S, V, residual="`s.at` >= `v.at`"), "UNBOUNDED: it grows as long as rows come, no waterline passes them",
     "say how far apart the times may be: s.at BETWEEN v.at - INTERVAL … AND v.at + INTERVAL …"),
    ("the best of all", TopK(S, (), (SortKey(scalar("`s.at`")),), 3), "BOUNDED: nothing is retracted, so a row that falls out never comes back", None),
    ("OVER the hours", Window(S, (scalar("`s.at`"),), (("n", scalar("count(1) OVER (PARTITION BY `s.at`)")),)),
     "BOUNDED: rows are dropped once s.at is below the waterline `clicks.at`", None),
    ("the last hour", where(S, "`s.at` >= now() - INTERVAL 1 HOUR"), "BOUNDED: rows are dropped once the clock has passed them", None),
    ("recomputed", Recompute((P,), "x", P.fields, "PIVOT", rewriting="CASE"), "CONTENT: rows leave it when they are deleted there", "CASE"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "plan", "expected", "fix"), CASES, ids=[case[0] for case in CASES])
def test_state(what, plan, expected, fix):
    fact = state_of(plan, CATALOG)[0]
    assert f"{fact.growth.name}: {fact.because}" == expected
    assert fact.fix == fix
    assert fact.bounded is expected.startswith("BOUNDED")


def test_linear_operators_keep_nothing():
    assert state_of(where(project(S, who="`s.who`"), "who > 1"), CATALOG) == ()


def test_an_outer_join_waits_for_both_sides():
    inner = {(item.side, item.column): item.waterline.shown for item in state_of(NEAR, CATALOG)[0].collected}
    assert inner == {(0, "s.at"): "`views.at`", (1, "v.at"): "`clicks.at` - INTERVAL '1' HOUR"}
    full = state_of(replace(NEAR, kind="full"), CATALOG)[0].collected
    assert {item.waterline.shown for item in full} == {
        "least(`clicks.at`, `views.at`)",
        "least(`clicks.at` - INTERVAL '1' HOUR, `views.at`)",
    }


def test_the_table_behind_a_view_is_named():
    found = with_view(CATALOG, "v", project(N, who="`n.who`"))
    fact = state_of(aggregate(read(found.views["v"]), "who", n="count(1)"), found)[0]
    assert fact.fix == "declare LATENESS on a time column of raw, and use that column in GROUP BY"
