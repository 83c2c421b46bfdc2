"""Differential: what MATCH_RECOGNIZE evaluates around values of other rows is what the engine computes of one row.

Each condition over x (of the row before) and y (of the present row) stands once in DEFINE, where the search evaluates
it, and once in a query over both values in one row.
"""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal

import pytest

import penstock
from penstock.errors import DataError

VALUES = {
    "INT": [None, 0, 1, -7, 2**31 - 1, -(2**31)],
    "BIGINT": [None, 0, 3, -(2**62), 2**62],
    "DOUBLE": [None, 0.0, -0.0, 1.5, -2.25, math.nan, math.inf, -math.inf],
    "FLOAT": [None, 0.0, 1.5, math.nan],
    "DECIMAL(8,2)": [None, Decimal("0.00"), Decimal("1.50"), Decimal("-3.25")],
    "STRING": [None, "", "a", "B", "é", "😀"],
    "BOOLEAN": [None, True, False],
    "DATE": [None, date(2024, 1, 1), date(1969, 12, 31)],
    "TIMESTAMP": [None, datetime(2024, 1, 1, 10), datetime(1969, 12, 31, 23, 59, 59, 1)],  # noqa: DTZ001
}
COMPARED = [
    "{x} = {y}",
    "{x} <=> {y}",
    "{x} <> {y}",
    "NOT {x} < {y}",
    "{x} <= {y} AND {x} IS NOT NULL",
    "{x} > {y} OR {y} IS NULL",
]
CHOSEN = [
    "{y} = COALESCE({x}, {y})",
    "GREATEST({x}, {y}) = {y}",
    "LEAST({x}, {y}) = {y}",
    "NULLIF({x}, {y}) IS NULL",
    "{x} IN ({y}, NULL) IS NULL",
    "{x} BETWEEN {y} AND {y}",
    "CASE WHEN {x} < {y} THEN {x} ELSE {y} END = {x}",
    "if({x} > {y}, {x}, {y}) = {x}",
    "{x} IS DISTINCT FROM {y}",
]
DECIMAL = "DECIMAL(8,2)"
MIXED = [("INT", "BIGINT"), ("INT", "DOUBLE"), ("DOUBLE", DECIMAL), (DECIMAL, "INT"), ("FLOAT", "DOUBLE")]
COMPUTED = {
    "INT": [
        "{x} / 2 > 1",
        "abs({x} % 5) = 2 AND {x} > -8",
        "{x} * 1.5 > 1",
        "- ({x} / 2) < 1.5e0",
        "CAST({x} AS BIGINT) + {y} > 7",
        "CAST({x} AS DOUBLE) = {y}",
    ],
    "DOUBLE": ["{x} + {y} > 1", "{x} - {y} = 0", "{x} * {y} <= 2", "abs({x}) > 1", "{x} % 2 = 0", "-{x} > {y}"],
    DECIMAL: ["{x} + {y} > 1", "{x} - {y} = 0.00", "{x} * {y} <= 2.5", "-{x} > {y}", "abs({x}) = 3.25"],
    "TIMESTAMP": ["{x} + INTERVAL '1' DAY > {y}", "{x} - INTERVAL '10' MINUTE < {y}"],
    "BOOLEAN": ["{x} AND {y}", "{x} OR NOT {y}", "({x} IS TRUE) = ({y} IS NOT FALSE)"],
}
CASES = [
    *((kind, kind, text) for kind in VALUES for text in COMPARED + CHOSEN),
    *((one, two, text) for one, two in MIXED for text in COMPARED),
    *((kind, kind, text) for kind, texts in COMPUTED.items() for text in texts),
]


def by_types():
    found = {}
    for one, two, text in CASES:
        found.setdefault((one, two), []).append(text)
    return found


@pytest.mark.parametrize(("one", "two"), by_types())
def test_conditions_mean_what_they_mean_in_a_query(one, two):
    texts = by_types()[one, two]
    pairs = [(x, y) for x in VALUES[one] for y in VALUES[two]]
    rows = [row for place, (x, y) in enumerate(pairs) for row in ((place, 0, x, None), (place, 1, None, y))]
    views = "".join(
        f"CREATE VIEW m{number} AS SELECT k FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY n PATTERN (A B)"
        f" DEFINE A AS n = 0, B AS {text.format(x='LAST(A.x)', y='y')}) AS m;"
        f"CREATE VIEW q{number} AS SELECT k FROM (SELECT k, max(a) AS x, max(b) AS y FROM u GROUP BY k)"
        f" WHERE {text.format(x='x', y='y')};"
        for number, text in enumerate(texts)
    )
    tables = f"CREATE TABLE t (k INT, n INT, x {one}, y {two}); CREATE TABLE u (k INT, a {one}, b {two});"
    with penstock.Pipeline(tables + views, engine="native") as pipeline:
        found = pipeline.step({"t": rows, "u": [(place, x, y) for place, (x, y) in enumerate(pairs)]})
    for number, text in enumerate(texts):
        assert sorted(found[f"m{number}"].rows) == sorted(found[f"q{number}"].rows), text


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        ("y + LAST(A.x) > 0", (2**31 - 1, 1), "int overflow"),
        ("y / LAST(A.x) > 0", (0, 1), "Division by zero"),
        ("y % LAST(A.x) > 0", (0, 1), "Remainder by zero"),
        ("abs(LAST(A.x)) > y", (-(2**31), 1), "int overflow"),
    ],
)
def test_what_a_query_raises_is_raised_with_its_place(text, values, message):
    program = (
        "CREATE TABLE t (n INT, x INT, y INT); CREATE VIEW v AS SELECT * FROM t MATCH_RECOGNIZE ("
        f"ORDER BY n MEASURES LAST(n) AS n PATTERN (A B) DEFINE B AS {text}) AS m;"
    )
    with penstock.Pipeline(program, engine="native") as pipeline:
        with pytest.raises(DataError) as caught:
            pipeline.step({"t": [(0, values[0], None), (1, None, values[1])]})
        assert message in str(caught.value)
        assert "view v" in str(caught.value)
        assert pipeline.steps == 0
