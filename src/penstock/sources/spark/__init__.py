"""The connector spark: whatever Spark reads by a format's name, followed as a stream or read once.

    WITH ('connector' = 'spark', 'format' = 'rate', 'option.rowsPerSecond' = '5', 'checkpoint' = 'state/rate')
    USING rate OPTIONS (rowsPerSecond 5, checkpointLocation 'state/rate')

| module | what it holds |
| --- | --- |
| `declared` | what a table may say of it |
| `source` | the rows of a table: batch by batch, taken back, gone on behind |
"""

from __future__ import annotations

from datetime import tzinfo
from typing import TYPE_CHECKING

from penstock.catalog.model import Table
from penstock.sources.spark.declared import PROPERTIES

if TYPE_CHECKING:
    from penstock.sources.spark.source import SparkSource
    from penstock.steps.intake.inputs import MakeReader

__all__ = ["PROPERTIES", "open_source"]


def open_source(table: Table, readers: MakeReader, zone: tzinfo) -> SparkSource:  # noqa: ARG001
    """The source; Spark is started, and asked, when it is first read."""
    from penstock.sources.spark.source import opened  # noqa: PLC0415 - it takes long to import

    return opened(table, readers)
