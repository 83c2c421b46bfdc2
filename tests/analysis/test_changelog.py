"""Which operator takes rows back."""

# ruff: noqa: E501 - one case on one line

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.analysis.changelog import append_only, retracting
from penstock.plan.nodes import (
    Distinct,
    Fixpoint,
    JoinKind,
    Recompute,
    SetKind,
    SetOperation,
    SortKey,
    TopK,
    UnionAll,
    Window,
)
from planning import aggregate, alias, catalog, join, project, read, scalar, scan, table, where, with_view

CLICKS = table("clicks", stream=True, who="int", page="string", at="timestamp")
KEYED = table("keyed", stream=True, key=("who",), who="int")
PEOPLE = table("people", who="int", name="string")
NAMES = table("names", key=("who",), who="int", name="string")
CATALOG = catalog(CLICKS, KEYED, NAMES, PEOPLE)
S, P = alias(read(CLICKS), "s"), alias(read(PEOPLE), "p")
T = alias(read(CLICKS), "t")
BOTH = join(S, T, on="`s.who` = `t.who`")
REACHED = Fixpoint(
    (UnionAll((read(CLICKS), scan("r", who="int", page="string", at="timestamp")), read(CLICKS).fields),),
    ("r",),
    0,
    read(CLICKS).fields,
)

APPENDS = [
    ("a stream", S),
    ("a stream with a key, which replaces no row", read(KEYED)),
    ("WHERE", where(S, "`s.who` > 1")),
    ("SELECT", project(S, w="`s.who`")),
    ("UNION ALL", UnionAll((S, S), S.fields)),
    ("DISTINCT", Distinct(S)),
    ("inner join", BOTH),
    ("semi join", replace(BOTH, kind=JoinKind.SEMI)),
    ("INTERSECT", SetOperation(S, S, SetKind.INTERSECT, all=False, outputs=S.fields)),
    ("recursion", REACHED),
    ("groups alone", aggregate(S, "`s.who`")),
]  # fmt: skip

RETRACTS = [
    ("a table", P, "Scan: table people takes deletions; append_only would forbid them"),
    ("a table with a key", read(NAMES), "Scan: table names takes deletions; append_only would forbid them"),
    ("GROUP BY", aggregate(S, "`s.who`", n="count(1)"), "Aggregate: a new row of a group replaces the group's result"),
    ("left join", replace(BOTH, kind=JoinKind.LEFT), "Left join: a row given with NULLs is taken back when its match comes"),
    ("anti join", replace(BOTH, kind=JoinKind.ANTI), "Anti join: a row that finds its match is taken back"),
    ("join with a table", join(S, P), "Scan: table people takes deletions; append_only would forbid them"),
    ("EXCEPT", SetOperation(S, S, SetKind.EXCEPT, all=False, outputs=S.fields), "EXCEPT: a new row on the right takes a row away"),
    ("LIMIT", TopK(S, (), (SortKey(scalar("`s.at`")),), 3), "TopK: a better row pushes another one out"),
    ("OVER", Window(S, (), (("n", scalar("count(1) OVER ()")),)), "Window: a new row changes what is computed beside the others"),
    ("the clock", where(S, "`s.at` > now()"), "Filter: rows come and go as the clock moves"),
    ("recomputed", Recompute((S,), "x", S.fields, "PIVOT"), "Recompute: PIVOT: its answer is recomputed and compared"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "plan"), APPENDS, ids=[case[0] for case in APPENDS])
def test_append_only(what, plan):
    assert retracting(plan, CATALOG) is None


@pytest.mark.parametrize(("what", "plan", "expected"), RETRACTS, ids=[case[0] for case in RETRACTS])
def test_retracting(what, plan, expected):
    found = retracting(plan, CATALOG)
    assert f"{found.operator}: {found.reason}" == expected
    assert not append_only(plan, CATALOG)


def test_through_views():
    totals = with_view(CATALOG, "totals", aggregate(S, "`s.who`", n="count(1)"))
    found = retracting(read(totals.views["totals"]), totals)
    assert found.reason == "in view totals: a new row of a group replaces the group's result"
    pages = with_view(CATALOG, "pages", project(S, page="`s.page`"))
    assert append_only(read(pages.views["pages"]), pages)
