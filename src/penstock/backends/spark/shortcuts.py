"""Three things that PySpark does for each small relation of a step, done with fewer calls to the JVM.

A temporary view made through the public API is a command: it is planned, executed and told to all listeners, which
takes longer than planning a small query. Rows from Arrow are looked at by settings that are asked for one by one. A
query whose rows were found while it was planned is run as a job all the same. Where an internal name that this needs is
missing, the public API does the same more slowly.
"""

from __future__ import annotations

import os
import uuid
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.backends.spark.void_columns import arrow_schema, fetched_arrow, has_void

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_LOCAL_BYTES = 4 << 20  # more than this Spark gives to the executors, batch by batch
_ALL_ROWS, _ALL_BYTES = 1 << 40, 1 << 40  # one batch


class Shortcuts:
    """Names and local rows for one session."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._plain: dict[str, bool] = {}

    @cached_property
    def _catalog(self) -> Any:
        return self.spark._jsparkSession.sessionState().catalog()  # noqa: SLF001

    @cached_property
    def _arrow(self) -> Any:
        jvm: Any = self.spark._jvm  # noqa: SLF001
        return jvm.PythonSQLUtils

    @cached_property
    def _template(self) -> tuple[Any, Any, Any] | None:
        """The parts of a temporary view beside its plan, taken from one that was made publicly."""
        from py4j.protocol import Py4JError  # noqa: PLC0415 - `check` goes without PySpark

        name = f"penstock_{uuid.uuid4().hex}"
        self.spark.createDataFrame([], "one int").createOrReplaceTempView(name)
        try:
            described = self._catalog.getRawTempView(name).get().tableMeta()
            jvm: Any = self.spark._jvm  # noqa: SLF001
            view = jvm.org.apache.spark.sql.catalyst.catalog.TemporaryViewRelation
            view(described, jvm.scala.Some(None))  # TypeError where there is no such class
        except (Py4JError, TypeError):
            return None
        finally:
            self.spark.catalog.dropTempView(name)
        return described, view, jvm.scala.Some

    def name(self, frame: DataFrame, name: str) -> None:
        """Make a relation known as a temporary view."""
        if self._template is None:
            frame.createOrReplaceTempView(name)
            return
        described, view, some = self._template
        plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
        self._catalog.createTempView(name, view(described, some(plan)), True)  # noqa: FBT003

    def drop(self, name: str) -> None:
        """Forget a temporary view."""
        if self._template is None:
            self.spark.catalog.dropTempView(name)
        else:
            self._catalog.dropTempView(name)

    def local(self, table: pa.Table, schema: StructType) -> DataFrame:
        """The rows of an Arrow table; given in one piece, since Spark stops reading at an empty batch."""
        table = table.combine_chunks()
        context: Any = self.spark.sparkContext
        # `nbytes` reads the offsets of an empty array within arrays, which need not be there: pyarrow 26 crashes.
        large = table.get_total_buffer_size() > _LOCAL_BYTES
        if large or context._encryption_enabled or not self._is_plain(table, schema):  # noqa: SLF001
            return self.spark.createDataFrame(table, schema=schema)
        from pyspark.sql.classic.dataframe import DataFrame  # noqa: PLC0415 - `check` goes without PySpark

        path = f"{context._temp_dir}/{uuid.uuid4().hex}"  # noqa: SLF001
        try:
            _written(table, path)
            batches = self._arrow.readArrowStreamFromFile(path)
        finally:
            os.unlink(path)  # noqa: PTH108
        made = self._arrow.toDataFrame(batches, schema.json(), self.spark._jsparkSession)  # noqa: SLF001
        frame = DataFrame(made, self.spark)
        frame._schema = schema  # noqa: SLF001 - as PySpark does, instead of asking again
        return frame

    @cached_property
    def _converters(self) -> Any:
        """The JVM's writer of rows of the driver as Arrow; None where there is no such thing."""
        from py4j.protocol import Py4JError  # noqa: PLC0415 - `check` goes without PySpark

        jvm: Any = self.spark._jvm  # noqa: SLF001
        try:
            module = getattr(jvm.org.apache.spark.sql.execution.arrow, "ArrowConverters$")
            return getattr(module, "MODULE$").toBatchWithSchemaIterator and getattr(module, "MODULE$")
        except (Py4JError, TypeError):
            return None

    def collected(self, frame: DataFrame) -> pa.Table:
        """The rows of a query in Arrow; without a job where they are known once it is planned."""
        plan = frame._jdf.queryExecution().executedPlan()  # noqa: SLF001
        if self._converters is None or plan.nodeName() != "LocalTableScan" or has_void(frame.schema):
            return fetched_arrow(frame)
        zone = self.spark.conf.get("spark.sql.session.timeZone")
        # The plan knows of NULLs what holds for these rows alone. No name twice in a struct, as for toArrow(); texts of
        # at most 2 GiB.
        settings = (plan.schema().asNullable(), _ALL_ROWS, _ALL_BYTES, zone, True, False)
        batches = self._converters.toBatchWithSchemaIterator(plan.rows().iterator(), *settings)
        if not batches.hasNext():
            return arrow_schema(frame.schema.toNullable()).empty_table()
        found = pa.ipc.open_stream(batches.next()).read_all()
        batches.hasNext()  # at the end, it gives its memory back
        return found

    def _is_plain(self, table: pa.Table, schema: StructType) -> bool:
        """True if the Arrow types are those of the schema already, so that nothing has to be cast."""
        shape = f"{table.schema.to_string(show_schema_metadata=False)} {schema.simpleString()}"
        if shape not in self._plain:
            wanted = arrow_schema(schema)
            self._plain[shape] = wanted.types == table.schema.types and wanted.names == table.schema.names
        return self._plain[shape]


def _written(table: pa.Table, path: str) -> None:
    with pa.OSFile(path, "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
