"""IN and EXISTS go below a join where that is the same, and less work; and nowhere else."""

from __future__ import annotations

import pytest

from penstock.bind.program.compile import compile_program
from penstock.plan.nodes import Join, JoinKind
from penstock.rewrite import rewrite_views

TABLES = """
CREATE TABLE l (k INT, a INT, s STRING);
CREATE TABLE r (k INT, b INT);
CREATE TABLE s (c INT, d INT, n STRING);
CREATE TABLE late (k INT, at TIMESTAMP LATENESS INTERVAL 1 MINUTE);
CREATE VIEW v AS
"""


def above(query):
    """The subqueries that are asked above a join."""
    (view,) = rewrite_views(compile_program(f"{TABLES}{query};").catalog).views.values()
    asked = (
        node for node in view.plan.walk() if isinstance(node, Join) and node.kind in (JoinKind.SEMI, JoinKind.ANTI)
    )
    return [node.kind.value for node in asked if any(isinstance(item, Join) for item in node.left.walk())]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT l.a FROM l JOIN r ON l.k = r.k WHERE l.a IN (SELECT c FROM s)",
        "SELECT l.a FROM l JOIN r ON l.k = r.k WHERE r.b NOT IN (SELECT c FROM s)",
        "SELECT l.a FROM l JOIN r ON l.k = r.k WHERE EXISTS (SELECT 1 FROM s WHERE s.c = l.k AND s.d <> l.a)",
        "SELECT l.a FROM l LEFT JOIN r ON l.k = r.k WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.c = l.k)",
        "SELECT l.a FROM l RIGHT JOIN r ON l.k = r.k WHERE r.b IN (SELECT c FROM s)",
        "SELECT l.a FROM l CROSS JOIN r WHERE l.a IN (SELECT c FROM s)",
        "SELECT x.a FROM l x JOIN r ON x.k = r.k JOIN l y ON y.k = r.b WHERE y.a IN (SELECT c FROM s)",
    ],
)
def test_it_goes_to_the_side_that_it_asks_about(query):
    assert above(query) == []


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        # Both sides decide.
        ("SELECT l.a FROM l JOIN r ON l.k = r.k WHERE EXISTS (SELECT 1 FROM s WHERE s.c = l.a AND s.d = r.b)", "semi"),
        ("SELECT l.a FROM l JOIN r ON l.k = r.k WHERE l.a + r.b IN (SELECT c FROM s)", "semi"),
        # A row without a match has NULLs there.
        ("SELECT l.a FROM l LEFT JOIN r ON l.k = r.k WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.c = r.b)", "anti"),
        ("SELECT l.a FROM l FULL JOIN r ON l.k = r.k WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.c = l.a)", "anti"),
        # It can raise for a row that the join leaves out.
        ("SELECT l.a FROM l JOIN r ON l.k = r.k WHERE 10 DIV l.a IN (SELECT c FROM s)", "semi"),
        ("SELECT l.a FROM l JOIN r ON l.k = r.k WHERE CAST(l.s AS INT) IN (SELECT c FROM s)", "semi"),
        # The join forgets rows by their time.
        ("SELECT l.a FROM l JOIN late ON l.k = late.k WHERE l.a IN (SELECT c FROM s)", "semi"),
    ],
)
def test_it_stays(query, kind):
    assert above(query) == [kind]
