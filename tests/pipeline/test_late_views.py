"""A view that is made late evaluates the rows that are there, and none that has gone."""

import pytest

import penstock

TABLES = "CREATE TABLE t (x INT, y DOUBLE); CREATE TABLE k (x INT PRIMARY KEY); CREATE STREAM s (x INT);"
INVERSE = "CREATE MATERIALIZED VIEW v AS SELECT 1 / x AS a FROM {name};"


@pytest.fixture(params=["spark", "auto"])
def pipeline(interpreting, request):
    with penstock.Pipeline(TABLES, spark=interpreting, engine=request.param) as opened:
        yield opened


@pytest.mark.parametrize("name", ["t", "k"])
def test_a_row_that_has_gone_is_not_evaluated(pipeline, name):
    rest = [None] if name == "t" else []
    pipeline.step({name: [(0, *rest), (2, *rest)]})
    pipeline.step({name: [("-", (0, *rest))]})
    pipeline.execute(INVERSE.format(name=name))
    assert pipeline.step({})["v"].rows == [(1, (0.5,))]


@pytest.mark.parametrize("name", ["t", "k"])
def test_nor_is_one_that_goes_in_the_first_step(pipeline, name):
    rest = [None] if name == "t" else []
    pipeline.step({name: [(0, *rest), (4, *rest)]})
    pipeline.execute(INVERSE.format(name=name))
    assert pipeline.step({name: [("-", (0, *rest))]})["v"].rows == [(1, (0.25,))]


def test_rows_that_cancel_in_what_is_read_alone_are_none(pipeline):
    pipeline.step({"t": [(0, 1.5), (1, 2.5), (1, 2.5)]})
    pipeline.step({"t": [("-", (0, 1.5)), ("-", (1, 2.5))]})
    pipeline.execute(INVERSE.format(name="t"))
    assert pipeline.step({})["v"].rows == [(1, (1.0,))]


def test_a_row_that_is_there_is_evaluated(pipeline):
    pipeline.step({"s": [(0,), (2,)]})
    pipeline.execute(INVERSE.format(name="s"))
    with pytest.raises(penstock.DataError, match="Division by zero"):
        pipeline.step({})
