"""Lists of relations whose order in FROM would make a join without a key."""

from __future__ import annotations

from penstock.bind.program.compile import compile_program
from penstock.explain.plans import plan_text
from penstock.plan.nodes import Filter, Join, JoinKind
from penstock.rewrite import rewrite
from penstock.rewrite.order_joins import order_joins
from planning import alias, join, scan

A = alias(scan("a", k="int", x="int"), "a")
B = alias(scan("b", k="int", y="string"), "b")
C = alias(scan("c", k="int", l="int"), "c")


def keyless(plan):
    return sum(isinstance(node, Join) and not node.keys for node in plan.walk())


def test_a_relation_waits_until_a_key_ties_it():
    plan = join(join(A, B), C, JoinKind.INNER, "`a.x` = `c.k`, `b.k` = `c.l`")
    found = order_joins(plan)
    assert found.names == plan.names
    assert keyless(found) == 0
    assert plan_text(found).splitlines()[:3] == [
        "Project a.k, a.x, b.k, b.y, c.k, c.l",
        "  Join inner on c.l = b.k",
        "    Join inner on a.x = c.k",
    ]
    assert order_joins(found.input) is None


def test_what_no_key_ties_stays_where_it_is():
    assert order_joins(join(join(A, B), C, JoinKind.INNER, "`a.x` = `c.k`")) is None
    assert order_joins(join(join(A, B, JoinKind.LEFT), C, JoinKind.INNER, "`a.x` = `c.k`, `b.k` = `c.l`")) is None


def test_a_condition_that_can_raise_is_asked_last_and_a_key_that_can_is_not_moved():
    keys = "`a.x` = `c.k`, `b.k` = `c.l`"
    found = order_joins(
        join(join(A, B, JoinKind.INNER, None, "1 / `a.k` > `b.k`"), C, JoinKind.INNER, keys, "`a.k` < `c.l`")
    )
    assert isinstance(found.input, Filter)
    assert found.input.condition.text == "1 / `a.k` > `b.k`"
    assert keyless(found) == 0
    assert order_joins(join(join(A, B), C, JoinKind.INNER, "`a.x` = `c.k`, 1 / `b.k` = `c.l`")) is None
    assert order_joins(join(join(A, B), C, JoinKind.INNER, "`a.x` = `c.k`, `b.y` = `c.l`")) is None


def test_comma_joins_of_a_program_have_keys():
    program = """
    CREATE TABLE s (a INT, c INT, x INT); CREATE TABLE d (d INT, y INT); CREATE TABLE u (c INT, f INT, g INT);
    CREATE VIEW v AS SELECT x, one.y, two.y AS z FROM s, d AS one, d AS two, d AS three, u
      WHERE s.a = one.d AND s.c = u.c AND u.f = two.d AND u.g = three.d AND three.y > one.y;"""
    assert keyless(compile_program(program).catalog.views["v"].plan) == 4
    assert keyless(rewrite(compile_program(program).catalog.views["v"].plan)) == 0
