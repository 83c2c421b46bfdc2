"""The queries of operators: a column is cast to its type where it is not known to have it."""

from __future__ import annotations

from tests.planning import alias, scalar, scan, where

from penstock.backends.native.operators.text import template
from penstock.plan.nodes import Field, Plan, Project, UnionAll
from penstock.plan.scalar import column

LEAF = scan("#0", a="int", b="string", d="decimal(9,2)")


def query(plan: Plan) -> str:
    outputs = tuple((item.name, item.type or "") for item in plan.fields)
    return template(plan, (0,), outputs, ("__weight",)).over({"#0": "d1"})


def test_columns_of_the_input_are_read_as_they_are() -> None:
    assert query(LEAF) == 'SELECT "a", "b", "d", "__weight" FROM d1'
    assert "CAST" not in query(alias(LEAF, "t"))
    assert "CAST" not in query(alias(alias(LEAF, "t"), "u"))


def test_what_is_computed_is_cast_to_its_type() -> None:
    upper = Project(LEAF, (("a", column("a", "int")), ("b", scalar("upper(b)", "string"))))
    assert query(upper).startswith('SELECT "a", CAST("b" AS VARCHAR) AS "b"')
    added = Project(where(upper, "a > 1"), (("a", scalar("a + 1", "int")),))
    assert query(added).startswith('SELECT CAST("a" AS INTEGER) AS "a"')
    assert query(alias(added, "t")).startswith('SELECT CAST("t.a" AS INTEGER) AS "t.a"')


def test_branches_of_a_union_are_cast_together() -> None:
    both = UnionAll((LEAF, LEAF), (Field("x", "int"), Field("y", "string"), Field("z", "decimal(9,2)")))
    assert query(both).startswith('SELECT CAST("x" AS INTEGER) AS "x", CAST("y" AS VARCHAR) AS "y"')
