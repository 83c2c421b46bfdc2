"""The tables that standing statements write into, each behind those that its writers read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.analysis.written import taken_back
from penstock.catalog.model import Catalog, Table, View
from penstock.catalog.reserved import VERSIONS


@dataclass(frozen=True, slots=True)
class Target:
    """A table, and the views whose rows are written into it, in the order of their statements.

    `takes_back` is true if one of them may take back what it has written.
    """

    table: Table
    writers: tuple[View, ...]
    takes_back: bool

    @property
    def tables(self) -> tuple[str, ...]:
        """The lower-case names of the table and, if it has any, of its versions."""
        versions = self.table.versions
        return (self.table.name.lower(), *(() if versions is None else (versions.name.lower(),)))

    @property
    def names(self) -> tuple[str, ...]:
        """The lower-case names of the writers."""
        return tuple(view.name.lower() for view in self.writers)


def targets_of(catalog: Catalog) -> tuple[Target, ...]:
    """The tables that are written, each behind all that it is written from; there are no circles."""
    writers: dict[str, list[View]] = {}
    for view in catalog.views.values():
        if view.writes is not None:
            writers.setdefault(view.writes.target.lower(), []).append(view)
    found: dict[str, Target] = {}

    def visit(name: str) -> None:
        if name in writers and name not in found:
            for view in writers[name]:
                for table in _tables(catalog, view):
                    visit(table)
            owners = {view.owner for view in writers[name]}
            statements = [item for key, item in catalog.writers.items() if key in owners]
            takes_back = any(taken_back(item, catalog) is not None for item in statements)
            found[name] = Target(catalog.tables[name], tuple(writers[name]), takes_back)

    for name in writers:
        visit(name)
    return tuple(found.values())


def _tables(catalog: Catalog, view: View) -> Iterator[str]:
    """The tables that a view reads, through other views too."""
    waiting, seen = [*view.plan.scanned], set[str]()
    while waiting:
        name = waiting.pop().removeprefix(VERSIONS)
        if name in seen:
            continue
        seen.add(name)
        inner = catalog.views.get(name)
        if inner is None:
            yield name
        elif inner.plan is not None:
            waiting += inner.plan.scanned
