"""The connector iceberg: a table of Apache Iceberg, its content and then each snapshot. Needs the extra `lake`.

    WITH ('connector' = 'iceberg', 'catalog.type' = 'sql', 'catalog.uri' = 'sqlite:///lake.db', 'table' = 'shop.orders')

| module | what it holds |
| --- | --- |
| `declared` | what a table may say of it |
| `catalogs` | the table that a catalog has, or that lies in a folder |
| `field_ids` | the fields that columns are read by, by their ids |
| `table` | snapshots, contents and changes as `lake` wants them |
"""

from __future__ import annotations

from datetime import tzinfo
from typing import TYPE_CHECKING

from penstock.catalog.model import Table
from penstock.sources.iceberg.declared import PROPERTIES, check
from penstock.sources.properties import check_properties

if TYPE_CHECKING:
    from penstock.sources.lake.source import LakeSource
    from penstock.steps.intake.inputs import MakeReader

__all__ = ["PROPERTIES", "check", "open_source"]


def open_source(table: Table, readers: MakeReader, zone: tzinfo) -> LakeSource:  # noqa: ARG001
    """The source that a table's properties describe; SqlError if they do not, DataError if there is no such table."""
    from penstock.sources.iceberg.table import iceberg_table  # noqa: PLC0415 - takes long to import, which `check` need not wait for
    from penstock.sources.lake.opening import lake_source  # noqa: PLC0415 - takes long to import, which `check` need not wait for

    check_properties(table, PROPERTIES)
    return lake_source(table, iceberg_table(table), readers, "")
