"""Changes as Arrow: each different row once, or as they were made; and views that only name columns anew."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock


@penstock.LaterSession
def no_spark():
    pytest.fail("Spark was asked for")


PROGRAM = """
CREATE TABLE t (k INT, s STRING, at TIMESTAMP);
CREATE VIEW named AS SELECT s AS text, k AS one, k AS two, at FROM t;
CREATE VIEW again AS SELECT two AS k, text FROM named;
CREATE VIEW chosen AS SELECT text FROM named WHERE one > 1;
CREATE VIEW counted AS SELECT k, COUNT(*) AS n FROM again GROUP BY k;
CREATE VIEW met AS SELECT a.text, b.k FROM named a JOIN again b ON a.one = b.k;
"""
ROW = st.tuples(st.one_of(st.none(), st.integers(0, 3)), st.sampled_from(["a", "b", "", None]))
OPERATION = st.tuples(st.booleans(), ROW)
AT = "2024-01-01 00:00:00"


def total(table):
    """The weight of each row, without rows that cancel."""
    found = Counter()
    for row in table.to_pylist():
        weight = row.pop("__weight")
        found[tuple(row.items())] += weight
    return {row: weight for row, weight in found.items() if weight}


@given(st.lists(st.lists(OPERATION, max_size=6), min_size=1, max_size=4))
def test_oracle_both_forms_say_the_same_and_views_are_what_their_queries_answer(steps):
    present = []
    with penstock.Pipeline(PROGRAM, spark=no_spark, engine="native") as pipeline:
        for step in steps:
            given_rows = []
            for goes, (k, s) in step:
                row = (k, s, AT)
                if goes and row in present:
                    present.remove(row)
                    given_rows.append(("-", row))
                elif not goes:
                    present.append(row)
                    given_rows.append(row)
            changes = pipeline.step({"t": given_rows})
            for name in ("named", "again", "chosen", "counted", "met"):
                change = changes[name]
                whole = change.arrow()
                assert total(whole) == total(change.arrow(consolidated=False))
                assert len(total(whole)) == whole.num_rows == len(change.rows)
        assert Counter(pipeline.content("named").rows) == Counter(
            (s, k, k, at) for k, s, at in pipeline.query("SELECT k, s, at FROM t").rows
        )
        assert Counter(pipeline.content("again").rows) == Counter((k, s) for k, s, _ in present)
        pairs = Counter((one[1], other[0]) for one in present for other in present if one[0] == other[0] is not None)
        assert Counter(pipeline.content("met").rows) == pairs


def test_equal_rows_stand_apart_where_that_is_wanted():
    with penstock.Pipeline(PROGRAM, spark=no_spark, engine="native") as pipeline:
        change = pipeline.step(
            {"t": pa.table({"k": [1, 1], "s": ["a", "a"], "at": pa.array([None, None], pa.timestamp("us"))})}
        )
        assert change["named"].arrow(consolidated=False).num_rows == 2
        assert change["named"].arrow().to_pylist() == [{"text": "a", "one": 1, "two": 1, "at": None, "__weight": 2}]
        assert pipeline.step({})["named"].arrow(consolidated=False).num_columns == 0
