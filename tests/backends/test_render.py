"""Plans as SQL, by the one renderer: no dialect is asked for what cannot be."""

from __future__ import annotations

import pytest
from tests.planning import scalar

from penstock.backends.native.dialect import NativeDialect
from penstock.backends.render import Renderer
from penstock.backends.spark.dialect import SparkDialect
from penstock.errors import InternalError
from penstock.plan.nodes import Field, Recompute, Values

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
