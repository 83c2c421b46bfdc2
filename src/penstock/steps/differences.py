"""The difference between the answers of two queries of one name: what is shown when one takes the other's place.

A view's circuit begins with its whole answer. Where `State.earlier` has the answer of the query before it, taken back,
the two are added up: rows that are in both are shown to nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from penstock.backends.api import Delta
from penstock.backends.native.proof import NotProvenError
from penstock.catalog.model import View
from penstock.catalog.reserved import WEIGHT
from penstock.engine.beginning import added_up_here
from penstock.engine.engine import Engine
from penstock.steps.state import State
from penstock.steps.views import Shown


def taken_back(engine: Engine, view: View, rows: pa.Table) -> Delta:
    """A view's answer as a change that takes all of it back."""
    named = rows.rename_columns([column.name for column in view.columns])
    weights = pa.array([-1] * rows.num_rows, pa.int64())
    return engine.change(named.append_column(WEIGHT, weights))


def less_earlier(state: State, shown: Shown) -> Shown:
    """A step's changes as they are shown, those of views in another's place less that one's answer.

    What steps that were made again showed otherwise is shown with them.
    """
    if not (state.earlier or state.differing.rows):
        return shown
    changes = dict(shown.changes)
    for name, earlier in (*state.earlier.items(), *state.differing.of(state)):
        found = _sum(state.engine, state.catalog.views[name], earlier, changes.pop(name, None))
        if not found.is_empty():
            changes[name] = found
    return replace(shown, changes=changes)


def _sum(engine: Engine, view: View, earlier: Delta, change: Delta | None) -> Delta:
    if change is None or change.is_empty():
        return earlier
    try:
        return _here(engine, view, earlier, change)
    except NotProvenError:
        return change.added_up_with(earlier, columns=[column.name for column in view.columns])


def _here(engine: Engine, view: View, earlier: Delta, change: Delta) -> Delta:
    columns = tuple((column.name, column.type) for column in view.columns)
    fetched: list[Callable[[], pa.Table]] = [change.arrow, earlier.arrow]
    rows = added_up_here(engine.store, columns, (fetch() for fetch in fetched))
    return engine.change(rows, change.schema)
