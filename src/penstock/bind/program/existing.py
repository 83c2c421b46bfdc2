"""Names that are taken, and relations that others read."""

from __future__ import annotations

from penstock.bind.program.views import dependants
from penstock.catalog.model import SYSTEM_TABLES, Catalog, Table
from penstock.catalog.reserved import VERSIONS
from penstock.errors import Span, SqlError
from penstock.sql.complaints import wrong


def refuse_existing(catalog: Catalog, name: str, span: Span | None, *, or_replace: bool) -> None:
    """Raise SqlError if a table or a view has the name already."""
    if name.lower().startswith(VERSIONS):
        message = f"a relation cannot be named {name}: the versions of a table's rows are"
        raise wrong(code="RESERVED_NAME", message=message, place=span, hint="give it a name without __")
    found = catalog.relation(name)
    if found is not None and (not or_replace or name.lower() in SYSTEM_TABLES):
        if name.lower() in SYSTEM_TABLES:
            raise _reserved(found.name, span)
        what = "table" if isinstance(found, Table) else "view"
        hint = f"CREATE OR REPLACE replaces it, DROP {what.upper()} {found.name} removes it"
        raise wrong(
            code="ALREADY_EXISTS",
            message=f"there is a {what} {found.name!r} already",
            place=span,
            hint=hint,
            sqlstate="42P07",
        )


def _reserved(name: str, span: Span | None) -> SqlError:
    message = f"{name!r} is a system relation, which is always there"
    return wrong(code="ALREADY_EXISTS", message=message, place=span, hint="choose another name", sqlstate="42P07")


def refuse_dependants(catalog: Catalog, name: str, span: Span | None, action: str) -> None:
    """Raise SqlError if views or standing statements read the relation, or write into it."""
    _refuse_writers(catalog, name, span, action)
    readers = dependants(catalog, name)
    if readers:
        message = f"cannot {action} {name!r}: it is read by {', '.join(readers)}"
        raise wrong(
            code="HAS_DEPENDANTS", message=message, place=span, hint=f"DROP VIEW {readers[-1]} first", sqlstate="2BP01"
        )


def _refuse_writers(catalog: Catalog, name: str, span: Span | None, action: str) -> None:
    """Raise SqlError if a standing statement of something else reads the relation or writes into it."""
    for writer in catalog.writers.values():
        writes = writer.writing.target.lower() == name.lower()
        if writer.owner != name.lower() and (writes or name.lower() in writer.reads):
            message = f"cannot {action} {name!r}: {writer.name} {'writes into' if writes else 'reads'} it"
            end = f"DROP VIEW {writer.name}" if writer.owner else f"KILL QUERY {writer.name}"
            hint = f"{end} first" if writer.owner or writer.session else "leave its INSERT out of the program"
            raise wrong(code="HAS_DEPENDANTS", message=message, place=span, hint=hint, sqlstate="2BP01")
