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

    def stand(self, execution: Execution, text: str, name: str | None, at: int | None = None) -> StandingQuery:
        """Begin a query, at a step if one is given; SqlError for a text that is not one, or a name that is taken."""
        self.sweep()
        found = parse(text, execution.dialect)
        if len(found) == 1 and isinstance(found[0], statements.Insert) and not found[0].is_constant:
            return self.stand_statement(execution, found[0], text, name)
        if len(found) != 1 or not isinstance(found[0], statements.Query):
            message = f"expected one query, found {len(found)} statements" if len(found) != 1 else "expected a query"
            raise SqlError(Diagnostic("NOT_A_QUERY", message, hint="use execute() for statements"))
        chosen = self._chosen_name(execution, name)
        bound = execution.stand(found[0].tree, text, chosen, at)
        showing = bound.view.showing
        assert showing is not None  # noqa: S101 - the binder gives one
        query = StandingQuery(chosen, text, showing.shown_names, partial(self._left, execution))
        self._standing[chosen.lower()] = query, bound, execution
        if showing.limit == 0:
            query.end()
        return query

    def stand_statement(
        self, execution: Execution, statement: statements.Insert, text: str, name: str | None = None
    ) -> StandingQuery:
        """Begin an INSERT that writes until it is closed; there is nothing to read of it."""
        chosen = self._chosen_name(execution, name)
        bound = execution.stand_statement(statement, text, chosen)
        assert bound.view.writes is not None  # noqa: S101 - an INSERT does
        query = StandingQuery(chosen, statement.text, bound.view.writes.columns, partial(self._left, execution))
        self._standing[chosen.lower()] = query, bound, execution
        return query

    def _chosen_name(self, execution: Execution, name: str | None) -> str:
        whole = execution.stepper.catalog
        taken = {*whole.views, *whole.tables, *whole.writers}
        while name is None:
            self._number += 1
            name = None if f"q{self._number}" in taken else f"q{self._number}"
        if name.lower() in taken:
            raise SqlError(Diagnostic("NAME_TAKEN", f"{name} is there already", hint="choose another name"))
        return name

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
