"""The rows of a DataFrame as a stream of Arrow: some partitions at a time, in their order.

`toArrow()` has all partitions in flight at once. Here each job takes a window of them, as many as there are cores or
more, and the next one begins when Python has taken the rows, so that the JVM holds no more than a window. Where PySpark
lacks what this needs, the stream is the answer of `toArrow()`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.backends.spark.void_columns import arrow_schema, fetched_arrow
from penstock.backends.thresholds import LEAST_WINDOW_BYTES, MOST_WINDOW_BYTES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# The rows of a query with this node are told to whoever observes it when the whole query has run, as one action.
_OBSERVED = "CollectMetrics"


def streamed(frame: DataFrame) -> Iterator[pa.Table]:
    """The rows in pieces, in the order and the types of `toArrow()`; at least one piece, perhaps without rows.

    Each partition is evaluated once. An error of the query is raised where the rows of its partition would have come.
    """
    partitions = _partitions(frame)
    if partitions is None:
        yield fetched_arrow(frame)
        return
    schema, found = arrow_schema(frame.schema), False
    for message in _messages(frame, partitions):
        yield pa.Table.from_batches([pa.ipc.read_record_batch(pa.py_buffer(message), schema)])
        found = True
    if not found:
        yield schema.empty_table()


def _partitions(frame: DataFrame) -> Any:
    """The partitions of messages, a record batch each, that the JVM makes of the rows; None where it does not."""
    from py4j.protocol import Py4JError, Py4JJavaError  # noqa: PLC0415 - `check` goes without PySpark

    plan = frame._jdf.queryExecution().analyzed().toString()  # noqa: SLF001
    if _OBSERVED in plan:
        return None
    with _settings_of(frame):
        try:
            return frame._jdf.toArrowBatchRdd().toJavaRDD()  # noqa: SLF001
        except Py4JJavaError:  # the query's own
            raise
        except (Py4JError, TypeError):
            return None


def _messages(frame: DataFrame, partitions: Any) -> Iterator[bytes]:
    """The messages of the partitions in their order, those of a window by one job."""
    cores = max(1, frame.sparkSession.sparkContext.defaultParallelism)
    size, begun, count = cores, 0, partitions.getNumPartitions()
    while begun < count:
        window = range(begun, min(begun + size, count))
        taken = 0
        for message in _of_window(frame, partitions, window):
            taken += len(message)
            yield message
        begun += size
        size = _next_size(size, taken, cores)


def _next_size(size: int, taken: int, cores: int) -> int:
    """The partitions of the next window, behind one of so many bytes."""
    if taken < LEAST_WINDOW_BYTES:
        return 2 * size
    return max(cores, size // 2) if taken > MOST_WINDOW_BYTES else size


def _of_window(frame: DataFrame, partitions: Any, window: range) -> Iterator[bytes]:
    from pyspark.serializers import NoOpSerializer  # noqa: PLC0415 - `check` goes without PySpark
    from pyspark.util import _load_from_socket  # noqa: PLC0415

    context: Any = frame.sparkSession.sparkContext
    with _settings_of(frame):
        answer = context._jvm.PythonRDD.runJob(context._jsc.sc(), partitions, list(window))  # noqa: SLF001
    yield from _load_from_socket(answer, NoOpSerializer())
    answer[2].getResult()  # a JVM that is gone has ended the stream, too, and not told that


@contextmanager
def _settings_of(frame: DataFrame) -> Iterator[None]:
    """Have the jobs of this thread know the settings of the session, as those of an action do."""
    context: Any = frame.sparkSession.sparkContext._jsc.sc()  # noqa: SLF001
    before = context.getLocalProperties()
    context.setLocalProperties(_with_settings(frame, before))
    try:
        yield
    finally:
        context.setLocalProperties(before)


def _with_settings(frame: DataFrame, before: Any) -> Any:
    found = before.clone()
    settings: Any = frame.sparkSession.conf.getAll
    for name, value in settings.items():
        if name.startswith("spark."):
            found.setProperty(name, value)
    return found
