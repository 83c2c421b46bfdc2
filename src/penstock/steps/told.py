"""The rows that views have shown and that cannot be made again to the last bit: they are kept in the log.

A sum in floating point depends on the order of adding, which another engine, another release or a merge of the state
may change. So the log has what such a view showed in a step (`told_of`). Where the step is made again, what differs is
kept (`Differing`), and the next step that happens shows it: whoever adds up all changes has the view's content.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.analysis.changelog import retracting
from penstock.analysis.inexact import is_inexact
from penstock.analysis.views import of_view
from penstock.backends.api import Delta
from penstock.backends.cancelling import may_be_null, without_cancelled
from penstock.backends.columns import fitted
from penstock.catalog.model import Catalog, View
from penstock.catalog.reserved import WEIGHT
from penstock.emit.plain import PLAIN
from penstock.emit.policies import emission_of

if TYPE_CHECKING:
    from penstock.steps.state import State


def told_views(catalog: Catalog) -> Iterator[View]:
    """The views of which the log has what they showed; what is never taken back need not be what it was."""
    for view in catalog.views.values():
        inexact = view.is_output and is_inexact(view, catalog) and _takes_back(view, catalog)
        if inexact and emission_of(view, catalog) is PLAIN:
            yield view


def _takes_back(view: View, catalog: Catalog) -> bool:
    return of_view(catalog, view, "takes back", lambda plan: retracting(plan, catalog) is not None, unknown=False)


def told_of(catalog: Catalog, changes: Mapping[str, Delta]) -> dict[str, Delta] | None:
    """The changes that such views show in a step, by their lower-case names; None if there are none of them."""
    names = [view.name.lower() for view in told_views(catalog)]
    return {name: changes[name] for name in names if name in changes} if names else None


def as_told(state: State, changes: Mapping[str, Delta], told: Mapping[str, pa.Table] | None) -> Mapping[str, Delta]:
    """The changes of a step that has been made again, those that it has `told` as they were."""
    if told is None:
        return changes
    again = {view.name.lower() for view in told_views(state.catalog)}
    kept = {name: change for name, change in changes.items() if name not in again}
    return kept | {name: state.engine.change(rows) for name, rows in told.items() if name in again}


@dataclass
class Differing:
    """The rows in which views show other digits in steps that are made again, by lower-case names.

    A view is `replaced` in the step that is made next: that one says what it showed less what the one before had.
    """

    rows: dict[str, pa.Table] = field(default_factory=dict)
    replaced: set[str] = field(default_factory=set)

    def replace(self, name: str) -> None:
        """A step that is made again begins with another view of that name."""
        self.rows.pop(name, None)
        self.replaced.add(name)

    def compare(self, state: State, changes: Mapping[str, Delta], told: Mapping[str, pa.Table] | None) -> None:
        """A step has been made again, with these changes where it had `told` those; None if the log does not say."""
        for view in told_views(state.catalog) if told is not None else ():
            name = view.name.lower()
            if name not in self.replaced:
                self._add(name, changes.get(name), (told or {}).get(name))
        self.replaced.clear()

    def _add(self, name: str, change: Delta | None, told: pa.Table | None) -> None:
        parts = [] if change is None or change.is_empty() else [change.arrow()]
        parts += [] if told is None else [_negated(told)]
        if not parts:
            return
        parts += [self.rows[name]] if name in self.rows else []
        plain = [may_be_null(part) for part in parts]
        left = without_cancelled(
            pa.concat_tables([fitted(part, plain[0].schema) for part in plain])
        )  # None: nested types
        if left is not None and left.num_rows:
            self.rows[name] = left
        else:
            self.rows.pop(name, None)

    def of(self, state: State) -> Iterator[tuple[str, Delta]]:
        """The changes that views of the catalog have still to show."""
        for name, rows in self.rows.items():
            view = state.catalog.views.get(name)
            if view is not None and [*(column.name for column in view.columns), WEIGHT] == rows.column_names:
                yield name, state.engine.change(rows)


def _negated(rows: pa.Table) -> pa.Table:
    import pyarrow.compute as pc  # noqa: PLC0415 - 30 ms that `check` need not wait

    place = rows.column_names.index(WEIGHT)
    return rows.set_column(place, WEIGHT, pc.negate(rows[WEIGHT]))
