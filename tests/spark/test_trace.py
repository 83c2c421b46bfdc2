"""Traces whose newest rows are on the driver; no Spark is started."""

import pyarrow as pa
from pyspark.sql.types import StructType

from penstock.spark.change import Delta
from penstock.spark.trace import Trace
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
