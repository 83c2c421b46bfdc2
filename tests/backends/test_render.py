"""Plans as SQL, by the one renderer: no dialect is asked for what cannot be."""

from __future__ import annotations

import pytest
from tests.planning import scalar

from penstock.backends.native.dialect import NativeDialect
from penstock.backends.render import Renderer
from penstock.backends.spark.dialect import SparkDialect
from penstock.errors import InternalError
from penstock.plan.nodes import Field, Filter, Project, Recompute, Scan, UnionAll, Values
from penstock.plan.scalar import column

ROWS = Values(((scalar("1", "int"),),), (Field("a", "int", nullable=False),))
DIALECTS = (SparkDialect(), NativeDialect())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_constant_rows_carry_nothing(dialect):
    assert "VALUES" in Renderer(dialect, {}).sql(ROWS)
    with pytest.raises(InternalError, match="constant rows stand where rows carry"):
        Renderer(dialect, {}, ("__version",)).sql(ROWS)


def test_a_query_that_is_recomputed_carries_nothing():
    plan = Recompute((), "SELECT 1 AS a", ROWS.outputs, "no input")
    assert "SELECT 1 AS a" in Renderer(SparkDialect(), {}).sql(plan)
    with pytest.raises(InternalError, match="has no rows to carry"):
        Renderer(SparkDialect(), {}, ("__version",)).sql(plan)


LEAF = Scan("t", (Field("a", "int"), Field("b", "string")))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_changes_nothing_is_not_written(dialect):
    """A statement of a small step takes as long as its text: it is parsed and bound anew each time."""
    render = Renderer(dialect, {"t": "rows"}, ("__weight",))
    a, b, weight = map(dialect.quoted, ("a", "b", "__weight"))
    chosen = Filter(LEAF, scalar("a > 1", "boolean"))
    condition = dialect.value(chosen.condition, LEAF)
    assert render.sql(chosen) == f"SELECT {a}, {b}, {weight} FROM rows WHERE {condition}"
    named = Project(chosen, (("b", column("b", "string")), ("c", column("a", "int"))))
    assert render.sql(named) == f"SELECT {b}, {a} AS {dialect.quoted('c')}, {weight} FROM rows WHERE {condition}"
    assert render.sql(Filter(chosen, scalar("a < 9", "boolean"))).count("WHERE") == 2
    first, second = render.sql(UnionAll((LEAF, LEAF), LEAF.outputs)).split(" UNION ALL ")
    assert first == second == f"({render.sql(LEAF)})"
