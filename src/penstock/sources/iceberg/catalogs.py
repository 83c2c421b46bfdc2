"""The Iceberg table that properties name: one of a catalog, or one that lies in a folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from penstock.errors import DataError, Diagnostic, Span
from penstock.sources.packages import package

_WHAT = "the connector iceberg"
_PREFIX = "catalog."
_METADATA = re.compile(r"v?(\d+).*\.metadata\.json(?:\.gz)?")


def loader(properties: Mapping[str, str], where: str, span: Span | None) -> Callable[[], Any]:
    """A function that gives the table as it is now; DataError, which says `where`, if there is none."""
    if "path" in properties:
        found = package("pyiceberg.table", _WHAT, "lake").StaticTable
        path = properties["path"]
        return lambda: found.from_metadata(_newest(path, where, span))
    catalog = catalog_of(properties, where, span)
    name = properties["table"]
    exceptions = package("pyiceberg.exceptions", _WHAT, "lake")

    def load() -> Any:
        try:
            return catalog.load_table(name)
        except (exceptions.NoSuchTableError, exceptions.NoSuchNamespaceError):
            message = f"{where}: the catalog has no table {name[:200]}"
            raise DataError(Diagnostic("UNKNOWN_TABLE", message, span)) from None

    return load


def catalog_of(properties: Mapping[str, str], where: str, span: Span | None) -> Any:
    """The catalog that properties name; DataError if it cannot be opened."""
    given = {name.removeprefix(_PREFIX): value for name, value in properties.items() if name.startswith(_PREFIX)}
    catalogs = package("pyiceberg.catalog", _WHAT, "lake")
    name = properties.get("catalog", "default")
    try:
        return catalogs.load_catalog(name, **given)
    except Exception as error:  # noqa: BLE001 - each kind of catalog has errors of its own, which may tell passwords
        message = f"{where}: the catalog {name[:100]!r} cannot be opened: {type(error).__name__}"
        hint = "'catalog.type' and 'catalog.uri' say which it is, or pyiceberg's configuration does"
        raise DataError(Diagnostic("LAKE_CANNOT_READ", message, span, hint=hint)) from None


def _newest(path: str, where: str, span: Span | None) -> str:
    """The newest metadata file of a folder; a file is itself."""
    if "://" in path.removeprefix("file://") or Path(path.removeprefix("file://")).is_file():
        return path
    files = (Path(path.removeprefix("file://")) / "metadata").glob("*.metadata.json*")
    numbered = [(int(found[1]), file.name, file) for file in files if (found := _METADATA.fullmatch(file.name))]
    if not numbered:
        message = f"{where}: there is no Iceberg table at {path}"
        raise DataError(Diagnostic("NO_SUCH_FOLDER", message, span, hint="correct 'path', or create the table"))
    return str(max(numbered)[2])
