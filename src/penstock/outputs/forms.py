"""Changes in the forms in which tables become streams (D2).

    a total of key 1 goes from 5 to 7:
    changelog   -U (1, 5)   +U (1, 7)       +I and -D for keys that come and go
    retract     delete (1, 5)   insert (1, 7)
    upsert      upsert (1, 7)               a key that goes is a delete with its key alone
    append      insert (1, 7)               of what takes nothing back

What a step does to a key is net, and stands together: whoever applies line by line is right at the end of a step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

from penstock.analysis.keys import unique_keys
from penstock.backends.rows import canonical_row
from penstock.catalog.model import Catalog, View
from penstock.errors import Diagnostic, SqlError
from penstock.outputs.order import ordered_places
from penstock.rewrite import rewrite

Row = tuple[Any, ...]
Weighted = tuple[int, Row]


class Form(StrEnum):
    """The form of a change."""

    CHANGELOG = "changelog"
    RETRACT = "retract"
    UPSERT = "upsert"
    APPEND = "append"


def key_of(view: View, catalog: Catalog) -> tuple[int, ...] | None:
    """The places of the columns that tell all rows of a view apart, as few as are known; None if none are."""
    if view.plan is None:
        return None
    names: tuple[str, ...] = view.plan.names
    found = [tuple(sorted(names.index(name) for name in key)) for key in unique_keys(rewrite(view.plan), catalog)]
    return min(found, key=lambda places: (len(places), places), default=None)


def check_form(form: Form, view: View, catalog: Catalog) -> None:
    """SqlError for a form that a view cannot have."""
    if form is Form.UPSERT and key_of(view, catalog) is None:
        message = f"view {view.name} has no key, by which a row could take the place of another"
        hint = "GROUP BY or DISTINCT gives a view a key; the form retract needs none"
        raise SqlError(Diagnostic("VIEW_WITHOUT_KEY", message, view.span, hint=hint), view.source)


def formed(rows: Sequence[Weighted], form: Form, key: tuple[int, ...] | None) -> Iterator[tuple[str, Row]]:
    """Each thing that is done, with its row, one after the other; `key` are the places of the key, if there is one."""
    for done, place in formed_places(rows, form, key):
        row = rows[place][1]
        alone = form is Form.UPSERT and done == "delete"
        yield done, tuple(value if at in (key or ()) else None for at, value in enumerate(row)) if alone else row


def formed_places(rows: Sequence[Weighted], form: Form, key: tuple[int, ...] | None) -> Iterator[tuple[str, int]]:
    """The same with the place of each row among those of the change."""
    if form in (Form.RETRACT, Form.APPEND):
        for place in ordered_places(rows):
            weight = rows[place][0]
            yield from [("insert" if weight > 0 else "delete", place)] * abs(weight)
        return
    for taken, given in _by_key(rows, key):
        if form is Form.CHANGELOG:
            replaced = len(taken) == len(given) == 1 and key is not None
            yield from (("-U" if replaced else "-D", place) for place in taken)
            yield from (("+U" if replaced else "+I", place) for place in given)
        elif given:
            yield "upsert", given[-1]
        else:
            yield "delete", taken[-1]


def _by_key(rows: Sequence[Weighted], key: tuple[int, ...] | None) -> Iterator[tuple[list[int], list[int]]]:
    """The places of rows that are taken back and of those that come, key by key; all together where there is no key."""
    groups: dict[Any, tuple[list[int], list[int]]] = {}
    for place in ordered_places(rows):
        weight, row = rows[place]
        name = None if key is None else canonical_row(tuple(row[at] for at in key))
        taken, given = groups.setdefault(name, ([], []))
        (given if weight > 0 else taken).extend([place] * abs(weight))
    yield from groups.values()
