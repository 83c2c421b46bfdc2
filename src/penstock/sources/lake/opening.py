"""The source of a lake's table, from the properties that all of them have."""

from __future__ import annotations

from typing import Literal

from penstock.catalog.model import Table
from penstock.sources.formats import declared
from penstock.sources.lake.api import LakeTable
from penstock.sources.lake.declared import UNKNOWN_COLUMNS
from penstock.sources.lake.position import LakePosition
from penstock.sources.lake.source import LakeSource
from penstock.steps.intake.inputs import MakeReader
from penstock.steps.rows.values import Leniency


def lake_source(table: Table, lake: LakeTable, readers: MakeReader, starting_version: str) -> LakeSource:
    """The rows of a table from its content on, or from a version's change."""
    new: Literal["", "values"] = "values" if UNKNOWN_COLUMNS.value(table) == "add" else ""
    reader = readers(table, Leniency(text=True, epoch=declared.EPOCH.value(table), ignore_unknown=True, new=new))
    at = LakePosition(int(starting_version) - 1) if starting_version else None
    return LakeSource(table, lake, reader, at, at)
