"""The hints of `SET unbounded_state = 'reject'`, pasted: what they say makes the query bounded."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest

import penstock

PROGRAM = """SET unbounded_state = 'reject';
CREATE STREAM s (k INT, at TIMESTAMP, x INT);
CREATE STREAM r (k INT, y INT, since TIMESTAMP);
"""
QUERIES = {
    "an aggregate": "SELECT k, COUNT(*) AS n FROM s GROUP BY k",
    "a window without a waterline": "SELECT FLOOR(at TO HOUR) AS h, COUNT(*) AS n FROM s GROUP BY FLOOR(at TO HOUR)",
    "DISTINCT": "SELECT DISTINCT k FROM s",
    "OVER": "SELECT k, COUNT(*) OVER (PARTITION BY k ORDER BY at) AS n FROM s",
    "a rank": "SELECT k, x, ROW_NUMBER() OVER (PARTITION BY k ORDER BY x) AS n FROM s",
    "a join": "SELECT s.k, r.y FROM s JOIN r ON s.k = r.k",
    "a join under other names": "SELECT a.k, b.y FROM s AS a JOIN r AS b ON a.k = b.k",
    "an outer join": "SELECT s.k, r.y FROM s LEFT JOIN r ON s.k = r.k",
}


def hint_of(text):
    with pytest.raises(penstock.PenstockError) as refused, penstock.Pipeline(text, engine="native") as pipeline:
        pipeline.step()
    (found,) = refused.value.diagnostics
    assert found.code == "UNBOUNDED_STATE"
    return found.hint


def pasted(program, query, hint):
    """The program and the query with what the hint says, where it says it."""
    for place, written in re.findall(r"in ([^:;]+): ([^;]+)", hint.partition("Such as ")[2]):
        if place == "the condition":
            query = f"{query} {written}"
        elif place in ("GROUP BY", "PARTITION BY"):
            query = query.replace(f"{place} ", f"{place} {written}, ", 1)
        elif place == "SELECT":
            query = query.replace("DISTINCT ", f"DISTINCT {written}, ", 1)
        else:
            column = " ".join(written.split()[:2])
            before, stream, behind = program.partition(f"CREATE STREAM {place} ")
            program = before + stream + behind.replace(column, written, 1)
    return program, query


@pytest.mark.parametrize("name", QUERIES)
def test_what_the_hint_says_bounds_the_state(name):
    query = QUERIES[name]
    hint = hint_of(f"{PROGRAM}CREATE VIEW v AS {query};")
    program, query = pasted(PROGRAM, query, hint)
    with penstock.Pipeline(f"{program}CREATE VIEW v AS {query};", engine="native") as pipeline:
        kept = []
        for day in range(6):
            at = datetime(2024, 1, 1) + timedelta(days=day)  # noqa: DTZ001 - UTC, as all clocks
            rows = [(key, at + timedelta(minutes=key), key) for key in range(20)]
            pipeline.step({"s": rows, "r": [(key, key, time) for key, time, _ in rows]})
            pipeline.compact()
            kept.append(sum(item.rows for item in pipeline.state()))
        assert max(kept[1:]) <= kept[0] * 2
        assert {item.growth for item in pipeline.state()} == {"bounded"}
