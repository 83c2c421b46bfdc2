"""The connector delta: a table of Delta Lake, its content and then each version. Needs the extra `lake`.

    WITH ('connector' = 'delta', 'path' = 'lake/orders')

| module | what it holds |
| --- | --- |
| `declared` | what a table may say of it |
| `log` | the actions of one version, from the table's log |
| `reasons` | why a table cannot be reached |
| `table` | versions, contents and changes as `lake` wants them |
"""

from __future__ import annotations

from datetime import tzinfo
from typing import TYPE_CHECKING

from penstock.catalog.model import Table
from penstock.sources.delta import declared
from penstock.sources.delta.declared import PROPERTIES
from penstock.sources.lake.declared import STARTING_VERSION
from penstock.sources.properties import check_properties

if TYPE_CHECKING:
    from penstock.sources.lake.source import LakeSource
    from penstock.steps.intake.inputs import MakeReader

__all__ = ["PROPERTIES", "open_source"]


def open_source(table: Table, readers: MakeReader, zone: tzinfo) -> LakeSource:  # noqa: ARG001
    """The source that a table's properties describe; SqlError if they do not, DataError if there is no such table."""
    from penstock.sources.delta.table import delta_table  # noqa: PLC0415 - takes long to import, which `check` need not wait for
    from penstock.sources.lake.opening import lake_source  # noqa: PLC0415 - takes long to import, which `check` need not wait for

    check_properties(table, PROPERTIES)
    lake = delta_table(table, declared.PATH.value(table))
    return lake_source(table, lake, readers, STARTING_VERSION.value(table))
