"""Unique keys: what is found, what should be, and what cannot be."""

# ruff: noqa: E501, E741, FBT003 - one case on one line

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.analysis.keys import multiplicity_one, unique_keys
from penstock.plan.nodes import (
    Distinct,
    Field,
    Generate,
    JoinKind,
    SetKind,
    SetOperation,
    SortKey,
    TopK,
    UnionAll,
    Values,
    Window,
)
from planning import aggregate, alias, catalog, join, project, read, scalar, table, where, with_view

ORDERS = table("orders", key=("id",), id="int", customer="int", amount="int", code="string", tags="array<int>")
CUSTOMERS = table("customers", key=("id",), id="int", name="string")
LOG = table("log", who="int", what="string")
CATALOG = catalog(ORDERS, CUSTOMERS, LOG)
O, C, G = alias(read(ORDERS), "o"), alias(read(CUSTOMERS), "c"), read(LOG)
BY_CUSTOMER = join(O, C, on="`o.customer` = `c.id`")
TEXT_KEY = replace(BY_CUSTOMER.keys[0], left=scalar("`o.code`", "string"))

SUPPORTED = [
    ("the key of a table", read(ORDERS), "id"),
    ("under the alias's names", O, "o.id"),
    ("a projection that keeps it", project(O, a="`o.id`", b="`o.amount`"), "a"),
    ("a projection that loses it", project(O, b="`o.amount`"), None),
    ("moved by a fixed distance", project(O, a="`o.id` + 1"), "a"),
    ("half of it", project(O, a="`o.id` / 2"), None),
    ("a condition that fixes it", where(O, "`o.id` = 5"), ""),
    ("a condition that fixes a part", where(aggregate(G, "who; what"), "who = 5"), "what"),
    ("a text equal to a number is not fixed", where(aggregate(G, "what"), "what = 5"), "what"),
    ("rows without a key", G, None),
    ("GROUP BY", aggregate(G, "who", n="count(1)"), "who"),
    ("GROUP BY what has a key", aggregate(O, "`o.id`; `o.amount`", n="count(1)"), "o.id"),
    ("one group", aggregate(G, "", n="count(1)"), ""),
    ("DISTINCT", Distinct(G), "what, who"),
    ("many to one", BY_CUSTOMER, "o.id"),
    ("many to one, all of the many", replace(BY_CUSTOMER, kind=JoinKind.LEFT), "o.id"),
    ("many to one, all of the one", replace(BY_CUSTOMER, kind=JoinKind.RIGHT), "c.id, o.id"),
    ("many to one, all of both", replace(BY_CUSTOMER, kind=JoinKind.FULL), "c.id, o.id"),
    ("semi join", replace(BY_CUSTOMER, kind=JoinKind.SEMI), "o.id"),
    ("cross join", join(O, C), "c.id, o.id"),
    ("what Spark casts to compare", replace(BY_CUSTOMER, keys=(TEXT_KEY,)), "c.id, o.id"),
    ("the first of each", TopK(G, (scalar("who"),), (SortKey(scalar("what")),), 1), "who"),
    ("numbered rows", TopK(G, (scalar("who"),), (), 3, number="rn"), "rn, who"),
    ("ROW_NUMBER", Window(G, (scalar("who"),), (("rn", scalar("row_number() OVER (PARTITION BY who ORDER BY what)")),)), "rn, who"),
    ("RANK", Window(G, (scalar("who"),), (("r", scalar("rank() OVER (PARTITION BY who ORDER BY what)")),)), None),
    ("EXCEPT ALL", SetOperation(O, O, SetKind.EXCEPT, True, O.fields), "o.id"),
    ("INTERSECT", SetOperation(G, G, SetKind.INTERSECT, False, G.fields), "what, who"),
    ("one row", Values(((scalar("1"),),), (Field("a", "int"),)), ""),
    ("two rows", Values(((scalar("1"),), (scalar("1"),)), (Field("a", "int"),)), None),
    ("UNION ALL of one relation", UnionAll((O, O), O.fields), None),
]  # fmt: skip

# Keys that are there, and that should be found one day.
INCOMPLETE = [
    ("posexplode: the key and the position", Generate(O, scalar("posexplode(`o.tags`)"), (Field("pos"), Field("col"))), "o.id, pos"),
    ("branches told apart by a constant", UnionAll((project(O, k="'a'", id="`o.id`"), project(O, k="'b'", id="`o.id`")), (Field("k"), Field("id"))), "id, k"),
    ("a structure of the key", project(O, a="named_struct('k', `o.id`)"), "a"),
]  # fmt: skip


def shown(keys):
    return "; ".join(sorted(", ".join(sorted(key)) for key in keys)) if keys else None


@pytest.mark.parametrize(("what", "plan", "expected"), SUPPORTED, ids=[case[0] for case in SUPPORTED])
def test_supported(what, plan, expected):
    assert shown(unique_keys(plan, CATALOG)) == expected
    assert multiplicity_one(plan, CATALOG) is (expected is not None)


@pytest.mark.parametrize(("what", "plan", "expected"), INCOMPLETE, ids=[case[0] for case in INCOMPLETE])
@pytest.mark.xfail(reason="not found yet", strict=True)
def test_incomplete(what, plan, expected):
    assert shown(unique_keys(plan, CATALOG)) == expected


def test_through_views():
    with_totals = with_view(CATALOG, "totals", aggregate(G, "who", n="count(1)"))
    assert shown(unique_keys(alias(read(with_totals.views["totals"]), "t"), with_totals)) == "t.who"


def test_a_diamond_of_views_is_asked_once():
    found = with_view(CATALOG, "v0", aggregate(G, "who", n="count(1)"))
    for number in range(40):
        last = read(found.views[f"v{number}"])
        both = join(alias(last, "a"), alias(last, "b"), on="`a.who` = `b.who`")
        found = with_view(found, f"v{number + 1}", project(both, who="`a.who`", n="`b.n`"))
    assert shown(unique_keys(read(found.views["v40"]), found)) == "who"


MOMENTS = table("moments", key=("t",), t="timestamp", x="int")
WALLS = table("walls", key=("z",), z="timestamp_ntz", x="int")
TEXTS = table("texts", key=("s",), s="string", x="int")
ZURICH = "'Europe/Zurich'"


@pytest.mark.parametrize(
    ("of", "text", "zone", "kept"),
    [
        (MOMENTS, "t + INTERVAL 1 DAY", "'UTC'", True),
        (MOMENTS, "t + INTERVAL 1 DAY", ZURICH, False),  # 02:30 and 03:30 before the clock skips an hour
        (MOMENTS, "t - INTERVAL 23 HOURS", ZURICH, True),
        (MOMENTS, "t + INTERVAL '1' MONTH", "'UTC'", False),
        (MOMENTS, "t + INTERVAL '1-0' YEAR TO MONTH", "'UTC'", False),
        (WALLS, "z + INTERVAL 1 DAY", ZURICH, True),
        (TEXTS, "s + INTERVAL 1 DAY", "'UTC'", False),  # two texts of one day
    ],
)
def test_times_moved_by_a_distance(of, text, zone, kept):
    found = unique_keys(project(read(of), a=text), catalog(of).with_setting("time zone", zone))
    assert bool(found) is kept
