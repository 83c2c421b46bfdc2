"""Conditions whose branches have parts in common."""

from __future__ import annotations

import pytest

from penstock.bind.program.compile import compile_program
from penstock.explain.plans import plan_text
from penstock.plan.nodes import Join, JoinKind
from penstock.rewrite import rewrite
from penstock.rewrite.factor_disjunction import factor_disjunction
from planning import alias, join, scan, where

L = alias(scan("l", k="int", a="int", s="string"), "l")
R = alias(scan("r", k="int", b="int"), "r")


def joins_of(program):
    return [node for node in rewrite(compile_program(program).catalog.views["v"].plan).walk() if isinstance(node, Join)]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("(`l.k` = `r.k` AND `l.a` > 1) OR (`l.k` = `r.k` AND `r.b` > 2)", "l.k = r.k AND (l.a > 1 OR r.b > 2)"),
        ("(`l.a` > 1 AND `l.k` = `r.k`) OR (`r.b` > 2 AND `r.k` = `l.k`)", "l.k = r.k AND (l.a > 1 OR r.b > 2)"),
        ("`l.a` = 1 AND (`l.k` < 2 AND `r.b` = 3 OR `l.k` < 2 AND `r.b` = 4)",
         "l.a = 1 AND l.k < 2 AND (r.b = 3 OR r.b = 4)"),
        ("`l.a` > 1 OR (`l.a` > 1 AND `r.b` > 2)", "l.a > 1"),
        ("`l.k` = 1 AND `l.a` = 2 AND `r.b` = 3 OR (`l.a` = 2 AND `l.k` = 1) AND `r.b` = 4 OR `l.k` = 1 AND `l.a` = 2",
         "l.k = 1 AND l.a = 2"),
        ("`l.k` = 1 AND `l.a` = 2 AND `r.b` = 3 OR (`l.a` = 2 AND `l.k` = 1) AND `r.b` = 4 OR 5 = `r.b` AND `l.k` = 1",
         "l.k = 1 AND ((l.a = 2 AND r.b = 3) OR (l.a = 2 AND r.b = 4) OR 5 = r.b)"),
        ("(`l.k` = 1 AND (`l.a` = 2 OR `r.b` = 3)) OR (`l.k` = 1 AND `r.b` = 4)",
         "l.k = 1 AND ((l.a = 2 OR r.b = 3) OR r.b = 4)"),
    ],
)  # fmt: skip
def test_the_common_parts_of_an_or_stand_beside_it(condition, found):
    plan = factor_disjunction(where(join(L, R), condition))
    assert plan_text(plan).splitlines()[0] == f"Filter {found}"
    assert factor_disjunction(plan) is None
    condition = factor_disjunction(join(L, R, JoinKind.LEFT, None, condition))
    assert plan_text(condition).splitlines()[0].endswith(found)


@pytest.mark.parametrize(
    "condition",
    [
        "`l.k` = 1 OR `l.a` = 2",
        "(`l.k` = 1 AND `l.a` = 2) OR (`l.k` <=> 1 AND `l.a` = 3)",
        "(`l.k` < `r.k` AND `l.a` = 2) OR (`r.k` < `l.k` AND `l.a` = 3)",
        "(`r.b` > 0 AND 1 / `r.b` > 2) OR (`r.b` < 0 AND 1 / `r.b` > 2)",
        "(`l.a` = 1 AND `l.s` = `r.k`) OR (`l.a` = 2 AND `l.s` = `r.k`)",
    ],
)
def test_branches_without_a_common_part_and_parts_that_can_raise_stay(condition):
    assert factor_disjunction(where(join(L, R), condition)) is None


@pytest.mark.parametrize("kind", ["", "LEFT", "FULL", "LEFT SEMI", "LEFT ANTI"])
def test_a_key_in_every_branch_is_the_key_of_the_join(kind):
    program = f"""
    CREATE TABLE l (k INT, a INT); CREATE TABLE r (k INT, b INT);
    CREATE VIEW v AS SELECT l.k FROM l {kind} JOIN r ON l.k = r.k AND a > 1 OR l.k = r.k AND b > 2;"""
    (found,) = joins_of(program)
    assert [(key.left.text, key.right.text) for key in found.keys] == [("`l.k`", "`r.k`")]
    assert found.residual.text == "`l.a` > 1 OR `r.b` > 2"


def test_a_correlated_subquery_finds_its_key_in_every_branch():
    program = """
    CREATE TABLE l (k INT, a INT); CREATE TABLE r (k INT, b INT);
    CREATE VIEW v AS SELECT k FROM l
      WHERE (SELECT count(*) FROM r WHERE (r.k = l.k AND b = 1) OR (r.k = l.k AND b = 2)) > 0;"""
    assert all(node.keys for node in joins_of(program))
