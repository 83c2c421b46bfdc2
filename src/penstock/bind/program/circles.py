"""Circles of standing statements: a table that is written with what is read from it."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.catalog.model import Catalog
from penstock.catalog.reserved import VERSIONS
from penstock.errors import Span
from penstock.sql.complaints import wrong


def refuse_circles(catalog: Catalog, place: Span | None) -> None:
    """SqlError for a table that a standing statement writes with what comes of its own rows, with the whole chain."""
    for writer in catalog.writers.values():
        chain = _chain(catalog, writer.writing.target, writer.reads)
        if chain is not None:
            names = " → ".join((*(catalog.relation(name).name for name in chain), writer.name, chain[0]))  # type: ignore[union-attr]
            message = f"what is written into {writer.writing.target} would be read from it again: {names}"
            hint = "a recursion is a view: DECLARE RECURSIVE VIEW, or WITH RECURSIVE"
            raise wrong(code="STANDING_CYCLE", message=message, place=place, hint=hint)


def _chain(catalog: Catalog, target: str, read: frozenset[str]) -> tuple[str, ...] | None:
    """The relations on the way from a table to what is read, the table first; None if there is no way."""
    waiting: list[tuple[str, ...]] = [(name,) for name in sorted(read)]
    seen: set[str] = set()
    while waiting:
        chain = waiting.pop(0)
        if chain[0] == target.lower():
            return chain
        if chain[0] not in seen:
            seen.add(chain[0])
            waiting += [(name, *chain) for name in sorted(set(_behind(catalog, chain[0])))]
    return None


def _behind(catalog: Catalog, name: str) -> Iterator[str]:
    """The relations that a view reads, or that what is written into a table is read from."""
    view = catalog.views.get(name)
    if view is not None and view.plan is not None:
        yield from (item.removeprefix(VERSIONS) for item in view.plan.scanned)
    for writer in catalog.writers_into(name):
        yield from writer.reads
