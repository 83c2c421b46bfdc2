"""What is kept, whether it stays bounded, and what would bound it."""

# ruff: noqa: E501 - one case on one line

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.analysis.changelog import append_only
from penstock.bind.program.compile import compile_program
from penstock.circuit.boundedness import state_of
from penstock.plan.nodes import Distinct, JoinKind, Recompute, Session, SortKey, TopK, Window
from penstock.rewrite import rewrite_views
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
     "declare LATENESS on a time column of raw, and use that column in GROUP BY. Such as in raw: at TIMESTAMP LATENESS INTERVAL 1 HOUR; in GROUP BY: FLOOR(at TO HOUR)"),
    ("one group", aggregate(S, "", n="count(1)"), "BOUNDED: there is one group", None),
    ("few groups", aggregate(S, "`s.ok`", n="count(1)"), "BOUNDED: the number of groups does not grow", None),
    ("a table", aggregate(P, "`p.name`", n="count(1)"), "CONTENT: rows leave it when they are deleted there", None),
    ("DISTINCT with a time", Distinct(project(S, at="`s.at`", who="`s.who`")), "BOUNDED: rows are dropped once at is below the waterline `clicks.at`", None),
    ("times locked together", NEAR, "BOUNDED: rows are dropped once s.at is below the waterline `views.at`, v.at is below the waterline `clicks.at` - INTERVAL '1' HOUR", None),
    ("times not locked", join(S, V, on="`s.who` = `v.who`"), "UNBOUNDED: it grows as long as rows come, no waterline passes them",
     "say how far apart the times may be: s.at BETWEEN v.at - INTERVAL … AND v.at + INTERVAL …"),
    ("locked on one side only", join(S, V, residual="`s.at` >= `v.at`"), "UNBOUNDED: one side grows as long as rows come; of the other, rows are dropped once s.at is below the waterline `views.at`",
     "say how far apart the times may be: s.at BETWEEN v.at - INTERVAL … AND v.at + INTERVAL …"),
    ("the best of all", TopK(S, (), (SortKey(scalar("`s.at`")),), 3), "BOUNDED: nothing is retracted, so a row that falls out never comes back", None),
    ("OVER the hours", Window(S, (scalar("`s.at`"),), (("n", scalar("count(1) OVER (PARTITION BY `s.at`)")),)),
     "BOUNDED: rows are dropped once s.at is below the waterline `clicks.at`", None),
    ("sessions", Session(S, (scalar("`s.who`"),), scalar("`s.at`"), scalar("INTERVAL 1 HOUR"), "from", "to"),
     "BOUNDED: rows are dropped once the end of the session is below the waterline `clicks.at`", None),
    ("sessions without a waterline", Session(N, (), scalar("`n.at`"), scalar("INTERVAL 1 HOUR"), "from", "to"),
     "UNBOUNDED: it grows as long as rows come, no waterline passes them",
     "declare LATENESS on a time column of raw, and use that column in SESSION"),
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
    inner = {(item.trace, item.shown.strip("`")): item.waterline.shown for item in state_of(NEAR, CATALOG)[0].collected}
    assert inner == {(0, "s.at"): "`views.at`", (1, "v.at"): "`clicks.at` - INTERVAL '1' HOUR"}
    left = {
        (item.trace, item.shown.strip("`")): item.waterline.shown
        for item in state_of(replace(NEAR, kind=JoinKind.LEFT), CATALOG)[0].collected
    }
    # Nothing is deleted from a stream, so the left row waits for the right side alone.
    assert left == {
        (0, "s.at"): "`views.at`",
        (1, "v.at"): "least(`clicks.at` - INTERVAL '1' HOUR, `views.at` - INTERVAL '1' HOUR)",
    }
    (full,) = state_of(replace(NEAR, kind=JoinKind.FULL), CATALOG)
    assert full.bounded
    # Each side waits until all that its row can have met is settled.
    assert {(item.trace, item.shown.strip("`")): item.waterline.shown for item in full.collected} == {
        (0, "s.at"): "least(`clicks.at` - INTERVAL '1' HOUR, `views.at`)",
        (1, "v.at"): "least(`clicks.at` - INTERVAL '1' HOUR, `views.at` - INTERVAL '1' HOUR)",
    }


def test_rows_that_meet_what_never_changes_are_not_kept():
    program = "CREATE STREAM s (at TIMESTAMP LATENESS INTERVAL 1 HOUR, k INT); CREATE VIEW v AS SELECT s.at FROM"
    fixed = "(VALUES (1)) AS f (k)"
    for joined in (f"s JOIN {fixed} ON s.k = f.k", f"s LEFT JOIN {fixed} ON s.k = f.k", f"s, {fixed}",
                   f"{fixed} RIGHT JOIN s ON s.k = f.k", f"s LEFT ANTI JOIN {fixed} ON s.k = f.k"):  # fmt: skip
        found = compile_program(f"{program} {joined};").catalog
        (fact,) = state_of(found.views["v"].plan, found)
        assert (fact.bounded, fact.because) == (
            True,
            "rows are dropped once they have met the other side, which never changes",
        )
        assert append_only(found.views["v"].plan, found)
    for joined in (f"{fixed} LEFT JOIN s ON s.k = f.k", f"{fixed} FULL JOIN s ON s.k = f.k"):
        found = compile_program(f"{program} {joined};").catalog
        (fact,) = state_of(found.views["v"].plan, found)
        assert not fact.bounded
        assert (
            fact.fix
            == "have the outer join keep the rows that come, or use JOIN: those that never change wait for ever"
        )


def test_the_table_behind_a_view_is_named():
    found = with_view(CATALOG, "v", project(N, who="`n.who`"))
    fact = state_of(aggregate(read(found.views["v"]), "who", n="count(1)"), found)[0]
    assert fact.fix == "declare LATENESS on a time column of raw, and use that column in GROUP BY"


def test_global_extremes_keep_few_rows():
    program = "CREATE TABLE entries (at TIMESTAMP LATENESS INTERVAL 1 HOUR, x INT); CREATE VIEW v AS SELECT"
    one, many = (
        compile_program(f"{program} {items} FROM entries;").catalog
        for items in ("max(x) AS g", "max(x) AS g, count(*) AS n")
    )
    few, buckets = state_of(one.views["v"].plan, one)
    assert few.keeps == "one row for each bucket of values"
    assert (few.because, few.collected) == ("there are at most 1024 buckets", ())
    assert buckets.keeps == "all rows that it reads, by bucket of values"
    assert (
        buckets.because
        == "rows are dropped once entries.at is below the waterline `entries.at` (but for one of each bucket of values)"
    )
    assert few.bounded
    assert buckets.bounded
    # Of rows that are counted as well, none can be spared.
    few, buckets = state_of(many.views["v"].plan, many)
    assert (few.bounded, buckets.bounded, buckets.collected) == (True, False, ())


def test_rows_that_are_spared_grow_with_their_keys():
    program = "CREATE TABLE entries (at TIMESTAMP LATENESS INTERVAL 1 HOUR, k INT{}, x INT); CREATE VIEW v AS"
    query = "SELECT at, x FROM entries QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY x) <= 2"
    growing, constant = (
        compile_program(f"{program.format(kind)} {query};").catalog for kind in ("", " DOMAIN CONSTANT")
    )
    (fact,) = state_of(growing.views["v"].plan, growing)
    dropped = "rows are dropped once entries.at is below the waterline `entries.at` (but for 2 of each entries.k)"
    assert fact.because == f"{dropped}; it grows with the number of different entries.k"
    assert fact.fix == "declare DOMAIN CONSTANT at entries.k, if there are only so many values"
    (fact,) = state_of(constant.views["v"].plan, constant)
    assert (fact.because, fact.bounded) == (dropped, True)


QUOTED = """CREATE TABLE trades (sym STRING {few}, at TIMESTAMP {late}, px DOUBLE) WITH ('append_only' = 'true');
CREATE TABLE quotes (sym STRING {few}, at TIMESTAMP {late}, bid DOUBLE) WITH ('append_only' = 'true');
CREATE VIEW latest AS SELECT t.at, q.bid FROM trades t ASOF JOIN quotes q MATCH_CONDITION (t.at {word} q.at) ON t.sym = q.sym;"""


@pytest.mark.parametrize(
    ("few", "late", "word", "bounded", "fix"),
    [
        ("DOMAIN CONSTANT", "LATENESS INTERVAL 1 HOUR", ">=", True, None),
        (
            "",
            "LATENESS INTERVAL 1 HOUR",
            ">=",
            False,
            "declare DOMAIN CONSTANT at q.sym, if there are only so many values",
        ),
        (
            "",
            "LATENESS INTERVAL 1 HOUR",
            "<",
            False,
            "nothing says when the next right row comes: match by >= or >, or put an equality of two times into ON",
        ),
        (
            "",
            "",
            ">",
            False,
            "declare LATENESS on a time column of trades, quotes, and use that column in MATCH_CONDITION",
        ),
    ],
)
def test_what_would_bound_an_asof_join(few, late, word, bounded, fix):
    found = rewrite_views(compile_program(QUOTED.format(few=few, late=late, word=word)).catalog)
    (fact,) = state_of(found.views["latest"].plan, found)
    assert (fact.operator, fact.bounded, fact.fix) == ("ASOF join", bounded, fix)
    line = "the waterline least(`quotes.at`, `trades.at`)"
    dropped = f"rows are dropped once t.at is below {line}, q.at is below {line} (but for one of each q.sym)"
    assert fact.because.startswith(dropped if late and word == ">=" else "it grows as long as rows come")
    assert "__" not in f"{fact.because}{fact.fix}"


def test_columns_that_nobody_wrote_are_said_in_words():
    program = """CREATE TABLE trades (at TIMESTAMP LATENESS INTERVAL 1 HOUR, px DOUBLE);
CREATE VIEW prices AS SELECT window_start, count(DISTINCT px) AS n
FROM TABLE(TUMBLE(TABLE trades, DESCRIPTOR(at), INTERVAL 5 MINUTES)) GROUP BY window_start;"""
    found = rewrite_views(compile_program(program).catalog)
    facts = {name: state_of(view.plan, found) for name, view in found.views.items()}
    assert not [fact.because for facts in facts.values() for fact in facts if "__" in f"{fact.because}{fact.fix}"]
    assert [fact.because.partition(" once ")[2] for fact in facts["prices"]] == [
        "trades.window_start is below the waterline a function of trades.at",
        "a function of trades.at is below its waterline",
    ]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT message, COUNT(*) FROM error_view GROUP BY message",
        "SELECT ROW_NUMBER() OVER (PARTITION BY message ORDER BY metadata) AS n FROM error_view",
        "SELECT DISTINCT metadata FROM error_view",
        "SELECT people.name, e.message FROM people JOIN error_view e ON e.table_or_view_name = people.name",
        "SELECT a.message, b.metadata FROM error_view a JOIN error_view b ON a.message = b.message",
        "SELECT name, COUNT(*) FROM people JOIN error_view e ON e.table_or_view_name = people.name GROUP BY name",
    ],
)
def test_nobody_is_told_to_declare_something_of_a_system_relation(query):
    program = "CREATE TABLE people (who INT, name STRING);"
    found = compile_program(f"{program} CREATE VIEW v AS {query};").catalog
    fixes = [fact.fix for fact in state_of(found.views["v"].plan, found) if not fact.bounded]
    assert fixes
    assert set(fixes) == {"error_view takes no LATENESS: a query instead of the view keeps nothing"}


def test_beside_a_system_relation_the_others_are_named():
    declared = "CREATE TABLE t (k STRING, at TIMESTAMP LATENESS INTERVAL 1 HOUR) WITH ('append_only' = 'true');"
    query = "SELECT k, COUNT(*) FROM t JOIN error_view e ON e.message = k GROUP BY k"
    found = compile_program(f"{declared} CREATE VIEW v AS {query};").catalog
    aggregate_fact, _ = state_of(found.views["v"].plan, found)
    assert aggregate_fact.fix == "use a column with LATENESS in GROUP BY: t.at"
