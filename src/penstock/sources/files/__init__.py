"""The connector files: a growing folder of JSON, CSV or Parquet files as the source of a table (A1).

    WITH ('connector' = 'files', 'path' = 'in/orders', 'format' = 'json')

| module | what it holds |
| --- | --- |
| `declared` | what a table may say of its files |
| `listing` | which files that means |
| `identity` | what recognises a file |
| `file` | one file as a stream |
| `renaming` | the new names of files: logs that are rotated, or copied and emptied |
| `unpacked` | a compressed one |
| `partitions` | columns that folders name |
| `folder` | all of them: which is new, renamed, replaced, shorter, gone, complete |
"""

from __future__ import annotations

from datetime import tzinfo
from typing import TYPE_CHECKING

from penstock.catalog.model import Table
from penstock.catalog.properties import partition_names
from penstock.sources.files import declared
from penstock.sources.files.declared import PROPERTIES
from penstock.sources.formats.declared import FORMAT
from penstock.sources.properties import check_properties, duration

if TYPE_CHECKING:
    from penstock.sources.formats.api import Format
    from penstock.sources.reading import RecordSource
    from penstock.steps.intake.inputs import MakeReader

__all__ = ["PROPERTIES", "check", "open_source"]


def check(table: Table) -> None:
    """UnsupportedError for a path that is in no folder of this machine."""
    declared.refuse_store(table, f"table {table.name}")


def open_source(table: Table, readers: MakeReader, zone: tzinfo) -> RecordSource:  # noqa: ARG001
    """The source that a table's properties describe; SqlError if they do not, DataError if there is no such folder."""
    from penstock.sources.files.folder import Folder  # noqa: PLC0415 - takes long to import, which `check` need not wait for
    from penstock.sources.files.listing import check_there, listing_of_table  # noqa: PLC0415 - takes long to import, which `check` need not wait for
    from penstock.sources.reading import RecordSource  # noqa: PLC0415 - takes long to import, which `check` need not wait for

    check_properties(table, PROPERTIES)
    style = FORMAT.value(table)
    listing = listing_of_table(table)
    check_there(table, listing)
    folder = Folder(
        table.name,
        listing,
        whole=style == "parquet",
        fail_on_replaced=declared.ON_REPLACED.value(table) == "fail",
        complete_after=duration(declared.COMPLETE_AFTER.value(table)),
    )
    return RecordSource(table, folder, _format(style, table, readers))


def _format(style: str, table: Table, readers: MakeReader) -> Format:
    """The format of the files, or that and what their folders say."""
    from penstock.sources.files.partitions import Partitioned, divided  # noqa: PLC0415 - as above
    from penstock.sources.formats.choice import format_of  # noqa: PLC0415 - as above
    from penstock.steps.rows.values import Leniency  # noqa: PLC0415 - as above

    names = partition_names(table.properties)
    if not names:
        return format_of(style, table, readers)
    within, outside = divided(table, names)
    return Partitioned(table, format_of(style, within, readers), readers(outside, Leniency(text=True)))
