"""What each operator may forget, by which of its columns and below which waterline; no JVM."""

import pytest

from penstock.bind.program import compile_program
from penstock.circuit.build import build_circuit
from penstock.circuit.operators import Keyed

TABLES = """
CREATE TABLE a (t BIGINT LATENESS 6, k INT, x INT);
CREATE TABLE b (t BIGINT LATENESS 6, k INT, y INT);
CREATE TABLE c (at TIMESTAMP, x INT);
CREATE TABLE plain (t BIGINT, k INT);
"""


def expiries(query):
    """`trace: text < waterline` of every operator of a view."""
    catalog = compile_program(f"{TABLES} CREATE VIEW v AS {query};").catalog
    circuit = build_circuit({"v": catalog.views["v"].plan}, catalog)
    return [
        f"{item.trace}: {item.text} < {item.waterline.shown}"
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
        ("SELECT a.x FROM a LEFT JOIN b ON a.k = b.k AND b.t <= a.t AND b.t >= a.t - 3", []),
        ("SELECT x, SUM(x) OVER (PARTITION BY t) AS s FROM a", ["0: `a.t` < `a.t`"]),
        ("SELECT x FROM a QUALIFY ROW_NUMBER() OVER (PARTITION BY t ORDER BY x) = 1", ["0: `a.t` < `a.t`"]),
        ("SELECT x, LAG(x) OVER (PARTITION BY k ORDER BY t) AS p FROM a", []),
    ],
)
def test_what_accepted_input_cannot_touch_goes(query, expected):
    assert expiries(query) == expected


def test_what_the_clock_has_left_behind_goes():
    (found,) = expiries("SELECT x FROM c WHERE at >= now() - INTERVAL 1 HOUR AND at <= now()")
    assert found.startswith("0: `at` < ")
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
