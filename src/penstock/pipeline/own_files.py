"""Refuses a table that would read what its own pipeline keeps in its directory: each step would bring the next one."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.catalog.model import Catalog, Table
from penstock.catalog.properties import CONNECTOR
from penstock.errors import DataError, Diagnostic
from penstock.pipeline.supported import is_source
from penstock.sources.api import sources_of
from penstock.sources.files.listing import listing_of_table

_FOLDERS = ("log", "state", "outbox", "sources", "spilled")
_FILES = (  # one of each kind that a directory has
    "id",
    "lock",
    "program.json",
    "outputs.json",
    "openings.json",
    "queries.json",
    "log/declarations.json",
    "log/positions.json",
    "log/cut.json",
    "log/steps/000000000001.json",
    "log/data/table/000000000001.parquet",
    "log/data/table/000000000001.arrow",
    "outbox/view/000000000001.parquet",
    "state/000000000001/header.json",
    "state/000000000001/rows.duckdb",
    "state/000000000001/memory.bin",
)


def check_apart(catalog: Catalog, directory: Path | None) -> None:
    """DataError if a table reads files of the pipeline's directory; without one nothing lies in the way."""
    if directory is None:
        return
    for table in catalog.tables.values():
        if is_source(table, catalog):
            for item in sources_of(table):
                if item.properties[CONNECTOR].lower() == "files":
                    _check(item, directory)


def _check(table: Table, directory: Path) -> None:
    listing, place = listing_of_table(table), Path(os.path.realpath(directory))
    is_inside = any(listing.base.is_relative_to(place / name) for name in _FOLDERS)
    if is_inside or any(listing.would_read(place / name) for name in _FILES):
        message = f"table {table.name} would read what the pipeline itself keeps in {directory}: {listing.path} has it"
        hint = "give the pipeline a directory outside of what the table reads; or have 'pattern' leave its files out"
        raise DataError(Diagnostic("DIRECTORY_READ_BACK", message, table.span, hint=hint))
