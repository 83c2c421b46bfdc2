"""The standing queries of a pipeline: they come by `stand`, are told what they show, and go when they have ended."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial

from penstock.bind.emission.standing import StandingQuery as Bound
from penstock.errors import Diagnostic, PenstockError, SqlError
from penstock.pipeline.execution import Execution
from penstock.pipeline.standing import StandingQuery, emission_of
from penstock.sql import statements
from penstock.sql.parse import parse
from penstock.steps.change import Change


class StandingQueries:
    """The standing queries by name; `lock` is held while the pipeline changes."""

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self._standing: dict[str, tuple[StandingQuery, Bound, Execution]] = {}
        self._number = 0

    @property
    def queries(self) -> list[StandingQuery]:
        """Those that stand, in the order in which they began."""
        return [query for query, _, _ in self._standing.values() if not query.has_ended]

    def stand(self, execution: Execution, text: str, name: str | None) -> StandingQuery:
        """Begin a query; SqlError for a text that is not one query, or a name that is taken."""
        self.sweep()
        found = parse(text, execution.dialect)
        if len(found) != 1 or not isinstance(found[0], statements.Query):
            message = f"expected one query, found {len(found)} statements" if len(found) != 1 else "expected a query"
            raise SqlError(Diagnostic("NOT_A_QUERY", message, hint="use execute() for statements"))
        chosen = name or self._free_name(execution)
        if chosen.lower() in execution.stepper.catalog.views or chosen.lower() in execution.catalog.tables:
            raise SqlError(Diagnostic("NAME_TAKEN", f"{chosen} is there already", hint="choose another name"))
        bound = execution.stand(found[0].tree, text, chosen)
        showing = bound.view.showing
        assert showing is not None  # noqa: S101 - the binder gives one
        query = StandingQuery(chosen, text, showing.shown_names, partial(self._left, execution))
        self._standing[chosen.lower()] = query, bound, execution
        return query

    def _free_name(self, execution: Execution) -> str:
        while True:
            self._number += 1
            if f"q{self._number}" not in {*execution.stepper.catalog.views, *execution.catalog.tables}:
                return f"q{self._number}"

    def shown(self, emissions: Mapping[str, Change], finished: Sequence[str]) -> None:
        """Hand over what a step shows; those that have shown all that they may end."""
        for name, change in emissions.items():
            entry = self._standing.get(name.lower())
            if entry is not None:
                entry[0].offer(emission_of(entry[0].name, entry[0].columns, change))
        for name in finished:
            entry = self._standing.get(name)
            if entry is not None and not entry[0].has_ended:
                entry[0].end()

    def sweep(self) -> None:
        """Maintain those no more that have ended."""
        for name, (query, bound, execution) in list(self._standing.items()):
            if query.has_ended:
                del self._standing[name]
                execution.fall(bound)

    def _left(self, execution: Execution, query: StandingQuery) -> None:
        """A reader has left; its query goes with the next call, since a step may be under way."""
        del execution
        query.end()

    def fail(self, error: PenstockError) -> None:
        """Tell all readers that what brought the rows has ended with an error."""
        for query in self.queries:
            query.fail(error)

    def end(self) -> None:
        """Nothing more will come: the pipeline is closed."""
        for query in self.queries:
            query.end()
        self._standing.clear()
