"""What each operator may forget, by which of its columns and below which waterline; no JVM."""

# ruff: noqa: E501 - one case on one line

import pytest

from penstock.bind.program.compile import compile_program
from penstock.circuit.build import build_circuit
from penstock.circuit.operators import Additive, Iterated, Keyed

TABLES = """
CREATE TABLE a (t BIGINT LATENESS 6, k INT, x INT);
CREATE TABLE b (t BIGINT LATENESS 6, k INT, y INT);
CREATE TABLE c (at TIMESTAMP, x INT);
CREATE TABLE plain (t BIGINT, k INT);
CREATE STREAM only (k INT, x INT);
CREATE TABLE texts (t BIGINT LATENESS 6, k INT, c STRING COLLATE UTF8_LCASE);
CREATE TABLE offers (id INT PRIMARY KEY, t BIGINT LATENESS 6, e BIGINT, k INT);
CREATE TABLE again (id INT, t BIGINT LATENESS 6, e BIGINT, k INT);
"""
OPEN = "FROM offers o JOIN a ON o.id = a.k AND a.t BETWEEN o.t AND o.e"


def expiries(query):
    """`trace: text < waterline` of every operator of a view."""
    catalog = compile_program(f"{TABLES} CREATE VIEW v AS {query};").catalog
    circuit = build_circuit({"v": catalog.views["v"].plan}, catalog)
    return [
        f"{item.trace}: {item.text} < {item.waterline.shown}" + "".join(f", spares {keep.count}" for keep in item.keep)
        for operator in circuit.operators
        for item in operator.expiries
    ]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT t, SUM(x) AS s FROM a GROUP BY t", ["0: `__g0` < `a.t`"]),
        ("SELECT k, t + 1 AS u, COUNT(*) AS n FROM a GROUP BY k, t + 1", ["0: `__g1` < `a.t` + 1"]),
        ("SELECT k, SUM(x) AS s FROM a GROUP BY k", []),
        ("SELECT SUM(x) AS s FROM a", []),
        ("SELECT DISTINCT k, t FROM a", ["0: `__g1` < `a.t`"]),
        ("SELECT t FROM a EXCEPT SELECT t FROM b", ["0: `__g0` < least(`a.t`, `b.t`)"]),
        ("SELECT t FROM a EXCEPT SELECT t FROM plain", []),
        ("SELECT a.x FROM a JOIN b ON a.t = b.t", ["0: `a.t` < `b.t`", "1: `b.t` < `a.t`"]),
        ("SELECT a.x FROM a JOIN plain ON a.t = plain.t", ["1: `plain.t` < `a.t`"]),
        # Rows of b stay: a later row of a may look back on any of them.
        ("SELECT a.x FROM a JOIN b ON a.k = b.k AND b.t <= a.t", ["0: `a.t` < `b.t`"]),
        (
            "SELECT a.x FROM a LEFT JOIN b ON a.t = b.t",
            ["0: `a.t` < least(`a.t`, `b.t`)", "1: `b.t` < least(`a.t`, `b.t`)"],
        ),
        # A row that the row of a has met may not go before that row does.
        (
            "SELECT a.x FROM a LEFT JOIN b ON a.k = b.k AND b.t <= a.t AND b.t >= a.t - 3",
            ["0: `a.t` < least(`a.t`, `b.t`)", "1: `b.t` < least(`a.t` - 3, `b.t`, `b.t` - 3)"],
        ),
        # In a FULL join a row goes when what it can have met is settled: neither met by a later row nor deleted.
        (
            "SELECT a.x FROM a FULL JOIN b ON a.k = b.k AND b.t <= a.t AND b.t >= a.t - 3",
            ["1: `b.t` < least(`a.t` - 3, `b.t`, `b.t` - 3)", "0: `a.t` < least(`a.t`, `a.t` - 3, `b.t`)"],
        ),
        ("SELECT a.x FROM a FULL JOIN b ON a.k = b.k AND b.t <= a.t", []),
        # What never changes needs no rows of the other side, but those that it can be met by.
        ("SELECT a.x FROM a JOIN (VALUES (1)) AS v (k) ON a.k = v.k", ["0: 0 < 1"]),
        ("SELECT o.x FROM only o LEFT JOIN (VALUES (1)) AS v (k) ON o.k = v.k", ["0: 0 < 1"]),
        ("SELECT o.x FROM (VALUES (1)) AS v (k) RIGHT JOIN only o ON o.k = v.k", ["1: 0 < 1"]),
        ("SELECT o.x FROM only o LEFT ANTI JOIN (VALUES (1)) AS v (k) ON o.k = v.k", ["0: 0 < 1"]),
        ("SELECT a.x FROM a LEFT JOIN (VALUES (1)) AS v (k) ON a.k = v.k", ["0: `a.t` < `a.t`"]),
        ("SELECT o.x FROM only o FULL JOIN (VALUES (1)) AS v (k) ON o.k = v.k", []),
        ("SELECT v.k FROM (VALUES (1)) AS v (k) LEFT JOIN only o ON o.k = v.k", []),
        ("SELECT o.x FROM only o JOIN (SELECT now() AS n) AS v ON o.k < unix_seconds(v.n)", []),
        ("SELECT x, SUM(x) OVER (PARTITION BY t) AS s FROM a", ["0: `a.t` < `a.t`"]),
        ("SELECT x FROM a QUALIFY ROW_NUMBER() OVER (PARTITION BY t ORDER BY x) = 1", ["0: `a.t` < `a.t`"]),
        ("SELECT x, LAG(x) OVER (PARTITION BY k ORDER BY t) AS p FROM a", []),
        ("SELECT x, LAG(x) OVER (PARTITION BY k ORDER BY t NULLS LAST) AS p FROM a", ["0: `a.t` < `a.t`, spares 1"]),
        ("SELECT x, SUM(x) OVER (ORDER BY t RANGE 3 PRECEDING) AS p FROM a", ["0: `a.t` < `a.t` - 3"]),
        # A row that LEAD looks ahead from is computed anew, whole, by what is before it.
        (
            "SELECT LEAD(x, 2) OVER (ORDER BY t NULLS LAST) AS p, SUM(x) OVER (ORDER BY t NULLS LAST ROWS 3 PRECEDING) AS q FROM a",
            ["0: `a.t` < `a.t`, spares 5"],
        ),
        (
            "SELECT LEAD(x) OVER (ORDER BY t NULLS LAST) AS p, SUM(x) OVER (ORDER BY t RANGE 3 PRECEDING) AS q FROM a",
            [],
        ),
        ("SELECT x, SUM(x) OVER (ORDER BY t) AS p FROM a", []),
        ("SELECT x FROM a QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY x) = 1", ["0: `a.t` < `a.t`, spares 1"]),
        ("SELECT t, x FROM a ORDER BY x LIMIT 2 OFFSET 1", ["0: `t` < `a.t`, spares 3"]),
        ("SELECT x FROM only QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY x) = 1", ["0: 0 < 1, spares 1"]),
        ("SELECT k, MAX(x) AS g FROM a GROUP BY k", ["0: `a.t` < `a.t`, spares 1"]),
        ("SELECT k, MAX(x) AS g, COUNT(*) AS n FROM a GROUP BY k", []),
        # Of texts that a collation holds equal the least by its bytes is shown, which the order of MAX does not tell.
        ("SELECT k, MAX(c) AS g FROM texts GROUP BY k", []),
        (
            "SELECT a.x, b.y FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.t >= b.t) ON a.k = b.k",
            ["0: `a.t` < least(`a.t`, `b.t`)", "1: `b.t` < least(`a.t`, `b.t`), spares 1"],
        ),
        # A left row waits for a right row that may come at any time.
        ("SELECT a.x, b.y FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.t <= b.t) ON a.k = b.k", []),
        (
            "SELECT a.x, b.y FROM a ASOF JOIN b MATCH_CONDITION (a.x < b.y) ON a.t = b.t",
            ["0: `a.t` < least(`a.t`, `b.t`)", "1: `b.t` < least(`a.t`, `b.t`)"],
        ),
    ],
)
def test_what_accepted_input_cannot_touch_goes(query, expected):
    assert expiries(query) == expected


CLOSING = [
    ("GROUP BY", f"SELECT o.id, sum(a.x) AS s {OPEN} GROUP BY o.id", ["0: `__g1` < least(`a.t`, `offers.t`)"]),
    ("... and more", f"SELECT o.k, count(*) AS n {OPEN} GROUP BY o.id, o.k", ["0: `__g2` < least(`a.t`, `offers.t`)"]),
    ("... by the other side's name of it", f"SELECT a.k, count(*) AS n {OPEN} GROUP BY a.k", ["0: `__g1` < least(`a.t`, `offers.t`)"]),
    ("... by no key", f"SELECT o.k, count(*) AS n {OPEN} GROUP BY o.k", []),
    ("... all rows kept", f"SELECT o.id, array_agg(a.x) AS l {OPEN} GROUP BY o.id", ["0: `o.e` < least(`a.t`, `offers.t`)"]),
    ("DISTINCT", f"SELECT DISTINCT o.id {OPEN}", ["0: `__g1` < least(`a.t`, `offers.t`)"]),
    ("Top-K", f"SELECT o.id, a.x {OPEN} QUALIFY row_number() OVER (PARTITION BY o.id ORDER BY a.x) = 1",
     ["0: `o.e` < least(`a.t`, `offers.t`)"]),
    ("windows", f"SELECT o.id, sum(a.x) OVER (PARTITION BY o.id) AS s {OPEN}", ["0: `o.e` < least(`a.t`, `offers.t`)"]),
    ("groups of groups", f"SELECT id, max(n) AS m FROM (SELECT o.id, a.x, count(*) AS n {OPEN} GROUP BY o.id, a.x) GROUP BY id",
     ["0: `__g2` < least(`a.t`, `offers.t`)", "0: `o.e` < least(`a.t`, `offers.t`)"]),
    ("without a key", f"SELECT o.id, sum(a.x) AS s {OPEN.replace('offers', 'again')} GROUP BY o.id", []),
    ("an offer that begins after its bids", "SELECT o.id, sum(a.x) AS s FROM offers o JOIN a ON o.id = a.k AND a.t <= o.e GROUP BY o.id", []),
]  # fmt: skip


@pytest.mark.parametrize(("what", "query", "expected"), CLOSING, ids=[case[0] for case in CLOSING])
def test_a_key_is_closed_by_what_it_determines(what, query, expected):
    found = expiries(query)
    joins = len([item for item in found if item.startswith(("0: `o.e` < `a.t`", "1: `a.t` <"))])
    assert found[joins:] == expected


def test_the_answer_of_a_closed_group_is_what_was_asked_for():
    catalog = compile_program(f"{TABLES} CREATE VIEW v AS SELECT o.id, count(*) AS e {OPEN} GROUP BY o.id;").catalog
    circuit = build_circuit({"v": catalog.views["v"].plan}, catalog)
    shown = next(item for item in circuit.operators if item.number == circuit.outputs["v"])
    assert shown.plan.names == ("id", "e")
    (grouped,) = (item for item in circuit.operators if isinstance(item, Additive))
    assert [name for name, _ in grouped.plan.groups] == ["o.id", "o.e"]


def test_what_the_clock_has_left_behind_goes():
    (found,) = expiries("SELECT x FROM c WHERE at >= now() - INTERVAL 1 HOUR AND at <= now()")
    assert found.startswith("0: `c.at` < ")
    assert "now()" in found
    assert expiries("SELECT x FROM c WHERE at <= now()") == []
    assert expiries("SELECT x, now() AS n FROM c") == []


def test_windows_over_windows_share_the_key_of_the_lowest():
    inner = "SELECT k, at, LAG(at) OVER (PARTITION BY k ORDER BY at) AS p FROM a"
    query = f"SELECT k, SUM(1) OVER (PARTITION BY k, p) AS n FROM ({inner})"
    catalog = compile_program(f"CREATE TABLE a (at TIMESTAMP, k INT); CREATE VIEW v AS {query};").catalog
    circuit = build_circuit({"v": catalog.views["v"].plan}, catalog)
    (keyed,) = (item for item in circuit.operators if isinstance(item, Keyed))
    assert [[scalar.text for scalar in keys] for keys in keyed.keys] == [["`a.k`"]]


def test_equal_texts_of_a_collation_stay_together():
    query = "SELECT t, c FROM texts ORDER BY c LIMIT 2"
    catalog = compile_program(f"{TABLES} CREATE VIEW v AS {query};").catalog
    circuit = build_circuit({"v": catalog.views["v"].plan}, catalog)
    ((keep,),) = (item.keep for operator in circuit.operators for item in operator.expiries)
    assert (keep.ranking, keep.count) == ("rank", 2)


def test_sessions_that_have_ended_below_the_waterline_go():
    program = (
        "CREATE TABLE s (at TIMESTAMP LATENESS INTERVAL 1 HOUR, k INT); CREATE VIEW v AS SELECT k, window_end FROM"
    )
    catalog = compile_program(
        f"{program} TABLE(SESSION(TABLE s PARTITION BY k, DESCRIPTOR(at), INTERVAL 1 HOUR));"
    ).catalog
    circuit = build_circuit({"v": catalog.views["v"].plan}, catalog)
    found = [(item.text, item.waterline.shown) for operator in circuit.operators for item in operator.expiries]
    assert found == [("`__session_end`", "`s.at`")]


def test_the_rounds_of_a_recursion_forget_nothing():
    """A new row of round 0 may go on from rows of any age, whatever is known about the tables."""
    query = """
    WITH RECURSIVE r (t, k, u) AS (
      SELECT t, k, t FROM a
      UNION SELECT r.t, d.k, d.t FROM r JOIN (SELECT DISTINCT t, k FROM b) d ON r.u = d.t AND r.k = d.k WHERE d.t > 3
    ) SELECT t, k FROM r"""
    catalog = compile_program(f"{TABLES} CREATE VIEW v AS {query};").catalog
    circuit = build_circuit({"v": catalog.views["v"].plan}, catalog)
    (recursion,) = (item for item in circuit.operators if isinstance(item, Iterated))
    inner = (*recursion.rounds.circuit.operators, *recursion.rounds.firsts)
    assert len(inner) > 4
    assert [item.expiries for item in (recursion, *inner)] == [()] * (len(inner) + 1)
    # What the rounds read from outside may forget, since that changes no row.
    assert [item.shown for operator in circuit.operators for item in operator.expiries] == ["`t`"]
