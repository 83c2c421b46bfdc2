"""The connector datagen: rows by rule, at a rate, each made from the seed and its number alone.

    WITH ('connector' = 'datagen', 'rows-per-second' = '100', 'fields.id.kind' = 'sequence')

| module | what it holds |
| --- | --- |
| `declared` | what a table may say of it |
| `rules` | the rule of each column, from its type and the table's properties |
| `drawn` | numbers by chance from a seed, a column and a row's number |
| `making` | the values of columns, many rows at a time |
| `source` | the rows as a source: how many are due, and which ones |
"""

from __future__ import annotations

from datetime import tzinfo
from typing import TYPE_CHECKING

from penstock.catalog.model import Table
from penstock.sources.datagen.declared import PROPERTIES
from penstock.sources.datagen.rules import rules_of

if TYPE_CHECKING:
    from penstock.sources.datagen.source import Generated
    from penstock.steps.intake.inputs import MakeReader

__all__ = ["PROPERTIES", "check", "open_source"]


def check(table: Table) -> None:
    """Refuse rules that the table's columns cannot have; all in one error."""
    rules_of(table)


def open_source(table: Table, readers: MakeReader, zone: tzinfo) -> Generated:
    """The source that a table's properties describe; SqlError if they do not."""
    from penstock.sources.datagen.source import generated  # noqa: PLC0415 - takes long to import, which `check` need not wait for

    return generated(table, readers, zone)
