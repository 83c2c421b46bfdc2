"""The values of a Parquet file as Spark means them: microseconds, and days of the calendar of today."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.backends.leaves import in_micros, leaf_types
from penstock.sources.formats.legacy_calendar import FileCalendars, calendars_of


def as_spark_means(rows: pa.Table, file: pq.ParquetFile) -> pa.Table:
    """Rows of the file, in its own columns or some of them."""
    rows = in_micros(rows)
    calendars = calendars_of(_metadata(file))
    if calendars == FileCalendars():
        return rows
    int96 = _int96(file)
    for at, name in enumerate(rows.column_names):
        rows = rows.set_column(at, name, calendars.meant(rows.column(at), int96[name]))
    return rows


def _metadata(file: pq.ParquetFile) -> dict[str, str]:
    given = file.metadata.metadata or {}
    return {key.decode("utf-8", "replace"): value.decode("utf-8", "replace") for key, value in given.items()}


def _int96(file: pq.ParquetFile) -> dict[str, tuple[bool, ...]]:
    """For each column whether its leaves are INT96, in which Spark wrote times before 3.0."""
    leaves = iter(_physical_types(file))
    return {
        item.name: tuple(kind == "INT96" for kind in islice(leaves, sum(1 for _ in leaf_types(item.type))))
        for item in file.schema_arrow
    }


def _physical_types(file: pq.ParquetFile) -> Sequence[str]:
    return [file.schema.column(at).physical_type for at in range(len(file.schema))]
