"""ALTER TABLE … SET and RESET: how the source of a table is read."""

from __future__ import annotations

from dataclasses import replace

from penstock.bind.program.dml import table_of
from penstock.catalog.model import Catalog, Table
from penstock.catalog.properties import CONNECTOR, check_table, says_how
from penstock.errors import Span
from penstock.sql.complaints import wrong
from penstock.sql.statements import SetProperties


def declare_properties(catalog: Catalog, statement: SetProperties) -> Catalog:
    """The catalogue in which a table has other properties; SqlError for one that says what it is, or what is read."""
    table = table_of(statement.table, statement.table_span, catalog)
    named = [*((name, place.name) for name, place in statement.places.items()), *statement.removed]
    for name, place in named:
        _refuse_fixed(table, name, place)
    gone = {name for name, _ in statement.removed}
    values = {name: value for name, value in table.properties.items() if name not in gone} | dict(statement.values)
    places = {name: place for name, place in table.places.items() if name in values} | dict(statement.places)
    check_table(values, {name: place.name for name, place in places.items()})
    changed = replace(table, properties=values, places=places, text=f"{table.text};\n{statement.text}")
    return catalog.with_table(changed)


def _refuse_fixed(table: Table, name: str, place: Span) -> None:
    connector = table.properties.get(CONNECTOR, "").lower()
    check_table({**table.properties, name: table.properties.get(name, "")}, {name: place})
    if not connector or not says_how(name, connector):
        message = f"the property {name!r} of table {table.name} says what it is or what its source reads, which stays"
        hint = "what may change is how the source is read; for another source declare another table"
        raise wrong(code="PROPERTY_FIXED", message=message, place=place, hint=hint)
