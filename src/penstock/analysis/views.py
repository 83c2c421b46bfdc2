"""A fact about a view is found once for each catalog, however many views read it.

A catalog never changes, so what was found for one of its views holds as long as the catalog lives.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

from penstock.catalog.model import Catalog, Table, View
from penstock.plan.nodes import Plan, Scan

Fact = TypeVar("Fact")
Unknown = TypeVar("Unknown")

# By the catalog's identity: a catalog compares by content, which would cost more than the facts do.
_FOUND: dict[int, dict[tuple[str, str], Any]] = {}


def of_view(
    catalog: Catalog, view: View, question: str, answer: Callable[[Plan], Fact], unknown: Unknown
) -> Fact | Unknown:
    """The fact that `answer` finds for the view's plan, remembered under `question`.

    `unknown` is given for a view without a plan, and for one that is read while its own answer is being found.
    """
    if view.plan is None:
        return unknown
    found = _facts(catalog)
    for below in _unanswered(catalog, view, question):
        _find(found, (question, below.name.lower()), partial(answer, below.plan), unknown)
    known: Fact | Unknown = found[question, view.name.lower()]
    return known


def of_last(catalog: Catalog, plan: Plan, question: str, answer: Callable[[Plan], Fact]) -> Fact:
    """The fact of a plan that need not be a view's, remembered until the question is asked of another one."""
    found, place = _facts(catalog), (question, "")  # which is no name of a view
    if place not in found or found[place][0] is not plan:
        found[place] = plan, answer(plan)
    known: Fact = found[place][1]
    return known


def _find(found: dict[tuple[str, str], Any], place: tuple[str, str], answer: Callable[[], Any], unknown: Any) -> None:
    if place in found:
        return
    found[place] = unknown
    try:
        found[place] = answer()
    except BaseException:
        del found[place]
        raise


def _unanswered(catalog: Catalog, view: View, question: str) -> list[View]:
    """The view and those below it that lack an answer, readers last, so that no chain is too long."""
    found = _facts(catalog)
    ordered: dict[str, View] = {}
    seen: set[str] = set()
    waiting: list[tuple[View, bool]] = [(view, False)]
    while waiting:
        item, followed = waiting.pop()
        name = item.name.lower()
        if followed:
            ordered[name] = item
        elif name not in seen and (question, name) not in found:
            seen.add(name)
            waiting.append((item, True))
            waiting += [(catalog.views[read], False) for read in sorted(item.plan.scanned) if _has_plan(catalog, read)]
    return list(ordered.values())


def _has_plan(catalog: Catalog, name: str) -> bool:
    found = catalog.views.get(name)
    return found is not None and found.plan is not None


def _facts(catalog: Catalog) -> dict[tuple[str, str], Any]:
    number = id(catalog)
    if number not in _FOUND:
        _FOUND[number] = {}
        weakref.finalize(catalog, _FOUND.pop, number, None)
    return _FOUND[number]


def tables_read(plan: Plan, catalog: Catalog) -> Iterator[Table]:
    """The tables that a plan reads, through views too."""
    return (item for item in _relations_read(plan, catalog) if isinstance(item, Table))


def views_read(plan: Plan, catalog: Catalog) -> Iterator[View]:
    """The views that a plan reads, through others too."""
    return (item for item in _relations_read(plan, catalog) if isinstance(item, View))


def _relations_read(plan: Plan, catalog: Catalog) -> Iterator[Table | View]:
    seen: set[str] = set()
    waiting = sorted(plan.scanned)
    while waiting:
        name = waiting.pop()
        relation = None if name in seen else catalog.relation(name)
        seen.add(name)
        if relation is not None:
            yield relation
        if isinstance(relation, View) and relation.plan is not None:
            waiting += sorted(relation.plan.scanned)


def column_read(scan: Scan, name: str, columns: tuple[str, ...]) -> str | None:
    """The one of the relation's columns that a field of the scan is: by name, with or without the alias before it."""
    lower = name.lower()
    known = {column.lower(): column for column in columns}
    if lower in known:
        return known[lower]
    if len(scan.outputs) == len(columns):
        place = [item.name.lower() for item in scan.outputs].index(lower)
        candidate = columns[place]
        return candidate if lower.endswith("." + candidate.lower()) else None
    return next((known[column] for column in known if lower.endswith("." + column)), None)
