"""What standing statements write is in their tables in the same step, whatever comes, goes, or is put in beside it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import hypothesis.strategies as st
from hypothesis import given
from tests.tiers import examples

from penstock import Pipeline
from penstock.steps.change import Change

PROGRAM = """
CREATE TABLE s (k INT, v INT);
CREATE TABLE r (k INT PRIMARY KEY, v INT);
CREATE TABLE bag (k INT, v INT);
CREATE TABLE best (k INT PRIMARY KEY, n BIGINT, top INT);
CREATE VIEW total AS SELECT COUNT(*) AS c, SUM(n) AS n FROM best;
CREATE VIEW beside AS SELECT b.k, b.v, t.n FROM bag b JOIN best t ON b.k = t.k;
CREATE MATERIALIZED VIEW chained INTO best AS
    SELECT k, COUNT(*) AS n, MAX(v) AS top FROM bag WHERE k IS NOT NULL GROUP BY k;
CREATE MATERIALIZED VIEW plain INTO bag AS SELECT k, v FROM s WHERE v > 1;
CREATE MATERIALIZED VIEW negative INTO bag AS SELECT k, -v AS v FROM r;
"""
KEYS = st.one_of(st.none(), st.integers(0, 3))
ROWS = st.tuples(KEYS, st.integers(0, 4))


@st.composite
def steps(draw: st.DrawFn) -> list[dict[str, list[Any]]]:
    """Steps that delete only what is there; some are empty."""
    content: dict[str, Counter[Any]] = {"s": Counter(), "bag": Counter()}
    found = []
    for _ in range(draw(st.integers(1, 6))):
        step: dict[str, list[Any]] = {}
        for name, rows in content.items():
            for row in draw(st.lists(ROWS, max_size=3)):
                step.setdefault(name, []).append(("+", row))
                rows[row] += 1
            for row in draw(st.lists(st.sampled_from(sorted(rows.elements(), key=repr) or [None]), max_size=2)):
                if row is not None and rows[row]:
                    step.setdefault(name, []).append(("-", row))
                    rows[row] -= 1
        for key, value in draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=2)):
            step.setdefault("r", []).append(("+", (key, value)) if value else ("-", (key,)))
        found.append(step)
    return found


class Oracle:
    """The same, recomputed from all that has come."""

    def __init__(self) -> None:
        self.bags: dict[str, Counter[Any]] = {"s": Counter(), "bag": Counter()}
        self.r: dict[int, int] = {}

    def step(self, given: dict[str, list[Any]]) -> None:
        for name, operations in given.items():
            for operation, row in operations:
                if name != "r":
                    self.bags[name][row] += 1 if operation == "+" else -1
                elif operation == "+":
                    self.r[row[0]] = row[1]
                else:
                    self.r.pop(row[0], None)

    @property
    def bag(self) -> Counter[Any]:
        found = Counter(self.bags["bag"])
        for (key, value), count in self.bags["s"].items():
            found[key, value] += count if value > 1 else 0
        for key, value in self.r.items():
            found[key, -value] += 1
        return +found

    @property
    def best(self) -> Counter[Any]:
        groups: dict[int, list[int]] = {}
        for key, value in self.bag.elements():
            groups.setdefault(key, []).append(value)
        return Counter((key, len(rows), max(rows)) for key, rows in groups.items() if key is not None)

    @property
    def beside(self) -> Counter[Any]:
        numbers = {key: n for key, n, _ in self.best}
        return Counter((key, value, numbers[key]) for key, value in self.bag.elements() if key is not None)


class Accumulated:
    """The views as their changes add up."""

    def __init__(self) -> None:
        self.views: dict[str, Counter[Any]] = {}

    def add(self, changes: dict[str, Change]) -> None:
        for name, change in changes.items():
            for weight, row in change.rows:
                self.views.setdefault(name, Counter())[row] += weight

    def view(self, name: str) -> Counter[Any]:
        return Counter({row: count for row, count in self.views.get(name, Counter()).items() if count})


def content(p: Pipeline, name: str) -> Counter[Any]:
    return Counter(p.content(name).rows)


@given(steps())
@examples(5, 20)
def test_oracle_tables_and_the_views_over_them(found: list[dict[str, list[Any]]]) -> None:
    with Pipeline(PROGRAM, engine="native") as p:
        oracle, shown = Oracle(), Accumulated()
        for step in found:
            shown.add(p.step(step))
            oracle.step(step)
            assert content(p, "bag") == oracle.bag
            assert content(p, "best") == oracle.best
            assert shown.view("beside") == oracle.beside
            assert shown.view("total") == Counter(
                [(len(oracle.best), sum(n for _, n, _ in oracle.best) if oracle.best else None)]
            )
            assert "error_view" not in {name for name, change in p.step({}).items() if change.rows}
