"""Traces whose newest rows are on the driver."""

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

import penstock
from penstock.spark.change import Delta
from penstock.spark.operators.grouped import GroupedRunner
from penstock.spark.trace import Layer, Trace
from penstock.spark.workspace import Workspace


def change(workspace: Workspace, values: list[int | None], *, nullable: bool) -> Delta:
    table = pa.table({"x": values}, pa.schema([pa.field("x", pa.int32(), nullable=nullable)]))
    return Delta.of_arrow(workspace, table, StructType([]))


def test_changes_join_whichever_columns_spark_thinks_cannot_be_null():
    workspace = Workspace(None)
    trace = Trace(workspace, StructType([]))
    for values, nullable in (([1], False), ([None], True), ([2], False), ([None, 3], True)):
        trace = trace.appended(change(workspace, values, nullable=nullable))
    assert trace.memory["x"].to_pylist() == [1, None, 2, None, 3]


def test_groups_that_change_again_and_again_stay_on_the_driver(spark):
    """Forty groups in sixty steps are 600 entries; added up they fit, so no step needs a job of Spark to meet them."""
    text = """CREATE TABLE t (k INT, x BIGINT); CREATE TABLE u (k INT, x BIGINT);
    CREATE VIEW few AS SELECT k, sum(x) AS s, count(*) AS n FROM t GROUP BY k;
    CREATE VIEW many AS SELECT x, count(*) AS n FROM u GROUP BY x;"""
    with penstock.Pipeline(text, spark=spark) as pipeline:
        engine = pipeline._opened().stepper.engine
        engine.workspace.memory_rows = 40
        for step in range(60):
            rows = [{"k": (step * 7 + row) % 40, "x": step * 10 + row} for row in range(10)]
            pipeline.step({"t": rows, "u": rows})
        runners = [item for installed in engine.installed for item in installed.runners.values()]
        grouped = [item for item in runners if isinstance(item, GroupedRunner)]
        many, few = (item.traces[0] for item in sorted(grouped, key=lambda item: len(item.partials)))
        assert (few.is_local, many.is_local) == (True, False)
        assert 40 <= few.rows <= 120
        assert all(pipeline.verify(name) for name in ("few", "many"))


@pytest.mark.parametrize(
    ("sizes", "left"),
    [
        ([1000, 100, 10, 1], [1000, 100, 10, 1]),
        ([1, 1, 1, 1, 1], [5]),
        ([1000, 1, 1, 1, 1], [1000, 4]),
        ([1000, 100, 10, 3, 1], [1000, 100, 10, 4]),
        ([16, 8, 4, 2, 1], [31]),
    ],
)
def test_only_too_many_layers_are_merged_and_all_that_are_near_in_one_go(monkeypatch, sizes, left):
    merges = []

    def merge(trace, layers):
        merges.append(layers)
        return Layer(trace.workspace, None, sum(layer.rows for layer in layers))

    monkeypatch.setattr(Trace, "_merge", merge)
    workspace = Workspace(None)
    trace = Trace(workspace, StructType([]), layers=tuple(Layer(workspace, None, size) for size in sizes))
    assert [layer.rows for layer in trace.merged().layers] == left
    assert len(merges) == (sizes != left)
