"""Changes in the forms in which tables become streams (D2).

    a total of key 1 goes from 5 to 7:
    changelog   -U (1, 5)   +U (1, 7)       +I and -D for keys that come and go
    retract     delete (1, 5)   insert (1, 7)
    upsert      upsert (1, 7)               a key that goes is a delete with its key alone

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
from penstock.outputs.order import ordered_change
from penstock.rewrite import rewrite

Row = tuple[Any, ...]
Weighted = tuple[int, Row]


class Form(StrEnum):
    """The form of a change."""

    CHANGELOG = "changelog"
    RETRACT = "retract"
    UPSERT = "upsert"


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
    if form is Form.RETRACT:
        for weight, row in ordered_change(rows):
            yield from [("insert" if weight > 0 else "delete", row)] * abs(weight)
        return
    for taken, given in _by_key(rows, key):
        if form is Form.CHANGELOG:
            replaced = len(taken) == len(given) == 1 and key is not None
            yield from (("-U" if replaced else "-D", row) for row in taken)
            yield from (("+U" if replaced else "+I", row) for row in given)
        elif given:
            yield "upsert", given[-1]
        else:
            yield "delete", tuple(value if at in (key or ()) else None for at, value in enumerate(taken[-1]))


def _by_key(rows: Sequence[Weighted], key: tuple[int, ...] | None) -> Iterator[tuple[list[Row], list[Row]]]:
    """The rows that are taken back and those that come, key by key; all together where there is no key."""
    groups: dict[Any, tuple[list[Row], list[Row]]] = {}
    for weight, row in ordered_change(rows):
        name = None if key is None else canonical_row(tuple(row[at] for at in key))
        taken, given = groups.setdefault(name, ([], []))
        (given if weight > 0 else taken).extend([row] * abs(weight))
    yield from groups.values()
