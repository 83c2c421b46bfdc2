"""The declaration of a table of Apache Iceberg."""

from __future__ import annotations

from penstock.catalog.model import Table
from penstock.errors import Diagnostic, SqlError
from penstock.sources.formats.declared import EPOCH, ON_ERROR
from penstock.sources.lake.declared import UNKNOWN_COLUMNS
from penstock.sources.properties import ON_REPLACED, Property

TABLE = Property("table", "The table's name in its catalog.", takes="a name with its namespace, as in 'shop.orders'")
CATALOG = Property(
    "catalog",
    "The catalog, as pyiceberg's configuration calls it (`.pyiceberg.yaml`, or variables `PYICEBERG_CATALOG__…`).",
    "default",
    takes="a name",
)
CATALOG_PROPERTIES = Property(
    "catalog.*", "What pyiceberg's catalog takes, as in `'catalog.type' = 'rest', 'catalog.uri' = …`.", takes="text"
)
PATH = Property(
    "path", "Instead of a catalog: the folder of the table, or a metadata file in it.", takes="a folder or file"
)

PROPERTIES = (TABLE, CATALOG, CATALOG_PROPERTIES, PATH, ON_REPLACED, ON_ERROR, UNKNOWN_COLUMNS, EPOCH)


def check(table: Table) -> None:
    """Refuse a table of which nothing says where it is, or two things do."""
    if ("table" in table.properties) != ("path" in table.properties):
        return
    message = f"table {table.name}: the connector iceberg needs 'table', or 'path' in its place"
    raise SqlError(Diagnostic("MISSING_PROPERTY", message, table.span, hint="'table' = 'shop.orders'"))
