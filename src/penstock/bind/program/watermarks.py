"""Tables of dialect flink, whose rows keep how far time had got when they came.

WATERMARK FOR c drops no row there: windows and other readers judge a row by the waterlines before the step in which it
came (`analysis.row_waterlines`). Each row keeps them in hidden columns: that of each of its own columns, and those of
all tables as one text.

A table with such a watermark is append-only, unless its rows are the changes of another one.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.catalog.model import Catalog, Column, Table
from penstock.catalog.properties import CONNECTOR, FORMAT
from penstock.catalog.reserved import WATERLINE, WATERLINES

_CHANGELOGS = ("postgres", "delta", "iceberg", "upsert-kafka")
_CHANGELOG_FORMATS = ("debezium", "canal", "maxwell", "ogg", "upsert")


def with_waterlines(table: Table, catalog: Catalog) -> Table:
    """The table with the hidden columns by which its readers judge rows, where it is one of dialect flink."""
    if catalog.settings.get("dialect") != "flink" or table.key:
        return table
    judged = [item for item in table.columns if item.lateness is not None and not item.lateness.drops]
    if judged and not _is_changelog(table):
        table = replace(table, stream=table.stream or table.properties.get("append_only") is None)
    if not table.append_only:
        return table
    own = tuple(_keeping(item) for item in judged)
    return replace(table, columns=(*table.columns, *own, Column(WATERLINES, "string", optional=True, hidden=True)))


def _keeping(item: Column) -> Column:
    """The column that keeps the waterline of a column."""
    return Column(WATERLINE + item.name, item.type, optional=True, hidden=True)


def _is_changelog(table: Table) -> bool:
    """True if the source of a table takes rows back."""
    properties = table.properties
    style = properties.get("value.format", properties.get(FORMAT, "")).lower()
    return properties.get(CONNECTOR, "").lower() in _CHANGELOGS or style.startswith(_CHANGELOG_FORMATS)
