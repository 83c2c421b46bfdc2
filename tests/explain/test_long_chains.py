"""Views over views: what they cost to check and explain grows with their number, and no chain is too long."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from penstock.bind.program.compile import compile_program
from penstock.errors import PenstockError
from penstock.explain import explain
from penstock.pipeline.supported import check_supported
from penstock.plan.nodes import Plan

TABLE = "CREATE TABLE t (id INT PRIMARY KEY, k INT, x BIGINT, ts TIMESTAMP LATENESS INTERVAL 1 HOUR);\n"
LINKS = (
    "SELECT id, k, x + 1 AS x, ts FROM {last} WHERE x > 3",
    "SELECT max(id) AS id, k, sum(x) AS x, ts FROM {last} GROUP BY k, ts",
    "SELECT a.id, a.k, b.x, a.ts FROM {last} a JOIN t b ON a.id = b.id AND a.ts = b.ts",
    "SELECT DISTINCT id, k, x, ts FROM {last} WHERE k IN (SELECT k FROM t WHERE x > 3)",
    "SELECT id, k, x, ts FROM {last} UNION ALL SELECT id, k, x, ts FROM {before}",
    "SELECT id, k, x, ts FROM {last} QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) <= 3",
)

UNBOUNDED = "CREATE VIEW unbounded AS SELECT x, count(*) AS n FROM v9 GROUP BY x;"


def chain(length: int, links: tuple[str, ...]) -> str:
    views = ["CREATE VIEW v0 AS SELECT id, k, x, ts FROM t;"]
    for number in range(1, length):
        query = links[number % len(links)].format(last=f"v{number - 1}", before=f"v{max(number - 3, 0)}")
        views.append(f"CREATE VIEW v{number} AS {query};")
    return TABLE + "\n".join(views)


@pytest.fixture
def looks(monkeypatch):
    """How often the inputs of a plan's node are looked at: what checks and explanations do most."""
    counted = Counter()
    plain = Plan.inputs.func
    monkeypatch.setattr(Plan, "inputs", property(lambda plan: counted.update(["look"]) or plain(plan)))
    return counted


def looked(counted, work):
    counted.clear()
    work()
    return counted["look"]


def checked(program):
    check_supported(compile_program(program).catalog)


def checked_for_bounds(program):
    with pytest.raises(PenstockError):
        checked("SET unbounded_state = 'reject';" + program + UNBOUNDED)


def explained(program):
    return explain(compile_program(program))


@pytest.mark.parametrize("links", [LINKS, pytest.param(LINKS[:1], marks=pytest.mark.extended)], ids=["mixed", "linear"])
@pytest.mark.parametrize("work", [checked_for_bounds, explained])
def test_twice_the_views_are_twice_the_work(looks, work, links):
    programs = (chain(length, links) for length in (60, 120))
    once, twice = (looked(looks, partial(work, program)) for program in programs)
    assert twice < 2.2 * once


@pytest.mark.parametrize("views", [400, pytest.param(1000, marks=pytest.mark.extended)])
def test_a_thousand_views_are_not_too_deep(views):
    program = chain(views, LINKS[:1]) + f"CREATE VIEW n AS SELECT k, count(*) AS n FROM v{views - 1} GROUP BY k;"
    assert f"v{views - 1}" in explained(program)
    with pytest.raises(PenstockError) as error:
        checked("SET unbounded_state = 'reject';" + program)
    (found,) = error.value.diagnostics
    assert "t.ts" in found.hint
