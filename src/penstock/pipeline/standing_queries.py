"""The standing queries of a pipeline: they come by `stand`, are told what they show, and go when they have ended."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from penstock.bind.emission.standing import StandingQuery as Bound
from penstock.errors import Diagnostic, PenstockError, SqlError
from penstock.pipeline.execution import Execution
from penstock.pipeline.one_query import not_a_query
from penstock.pipeline.session_queries import SessionQueries
from penstock.pipeline.standing import StandingQuery, emission_of
from penstock.sql import statements
from penstock.steps.change import Change
from penstock.steps.manifest import Declaration

_QUERY, _GONE = "query ", "KILL QUERY"


def _by(name: str) -> str:
    return f"{_QUERY}{name}"


class StandingQueries:
    """The standing queries by name; `lock` is held while the pipeline changes."""

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self._standing: dict[str, tuple[StandingQuery, Bound, Execution]] = {}
        self._number = 0
        self._restored: dict[str, tuple[str, Bound]] = {}  # lasting ones that nobody has asked for again
        self._lasting: set[str] = set()
        self.of_session = SessionQueries()

    @property
    def queries(self) -> list[StandingQuery]:
        """Those that stand, in the order in which they began."""
        return [query for query, _, _ in self._standing.values() if not query.has_ended]

    def stand(
        self, execution: Execution, text: str, name: str | None, at: int | None = None, *, lasting: bool = False
    ) -> StandingQuery:
        """Begin a query, at a step if one is given; SqlError for a text that is not one, or a name that is taken."""
        self.sweep()
        again = self._again(execution, text) if lasting else None
        if again is not None:
            return again
        number = self._number
        try:
            query = self._begun(execution, text, name, at)
        except PenstockError:
            self._number = number  # q1 is the first that stands, not the first that was tried
            raise
        if lasting:
            self._lasting.add(query.name.lower())
            execution.declared([Declaration(text, _by(query.name), execution.clock())])
        self._note()
        return query

    def _begun(self, execution: Execution, text: str, name: str | None, at: int | None) -> StandingQuery:
        found = execution.parsed(text)
        if len(found) == 1 and isinstance(found[0], statements.Insert) and not found[0].is_constant:
            return self._statement(execution, found[0], text, name)
        if len(found) != 1 or not isinstance(found[0], statements.Query):
            raise not_a_query(found)
        chosen = self._chosen_name(execution, name)
        bound = execution.stand(found[0].tree, text, chosen, at)
        showing = bound.view.showing
        assert showing is not None  # noqa: S101 - the binder gives one
        query = StandingQuery(chosen, text, showing.shown_names, partial(self._left, execution))
        self._standing[chosen.lower()] = query, bound, execution
        if showing.limit == 0:
            query.end()
        return query

    def restore(self, execution: Execution, item: Declaration) -> None:
        """Have a lasting query stand as it did; or have it go, where it went."""
        name = item.by.removeprefix(_QUERY)
        if item.text.startswith(_GONE):
            execution.fall(self._restored.pop(name.lower())[1])
            return
        (statement,) = execution.parsed(item.text)
        if isinstance(statement, statements.Insert):
            bound = execution.stand_statement(statement, item.text, name)
        else:
            assert isinstance(statement, statements.Query)  # noqa: S101 - `stand` has looked
            bound = execution.stand(statement.tree, item.text, name)
        self._restored[name.lower()] = item.text, bound

    def remembered(self) -> dict[str, Any]:
        """The queries that go on, and those that end with this process: for a snapshot."""
        going = {
            name: (query.text, bound) for name, (query, bound, _) in self._standing.items() if name in self._lasting
        }
        ending = [bound for name, (_, bound, _) in self._standing.items() if name not in self._lasting]
        return {"going": {**self._restored, **going}, "ending": ending}

    def take_over(self, execution: Execution, found: Mapping[str, Any]) -> None:
        """Have those go on that a snapshot has."""
        self._restored = dict(found["going"])
        for bound in found["ending"]:
            execution.fall(bound)

    def _again(self, execution: Execution, text: str) -> StandingQuery | None:
        """The lasting query of that text that stands since before the pipeline was opened."""
        name = next((name for name, (known, _) in self._restored.items() if known.strip() == text.strip()), None)
        if name is None:
            return None
        _, bound = self._restored.pop(name)
        columns = bound.view.writes.columns if bound.view.showing is None else bound.view.showing.shown_names  # type: ignore[union-attr]
        shown = str(bound.view.owner) if bound.view.writes is not None else bound.view.name
        query = StandingQuery(shown, text, columns, partial(self._left, execution))
        self._standing[name] = query, bound, execution
        self._lasting.add(name)
        if execution.stepper.has_finished(bound.view.name):
            query.end()
        return query

    def leave_others(self, execution: Execution) -> None:
        """Have those that nobody has asked for again go: the program does not have them any more."""
        for name, (_, bound) in list(self._restored.items()):
            del self._restored[name]
            self._fall(execution, name, bound)

    def _fall(self, execution: Execution, name: str, bound: Bound) -> None:
        execution.fall(bound)
        execution.declared([Declaration(f"{_GONE} {name}", _by(name), execution.clock())])

    def stand_statement(
        self, execution: Execution, statement: statements.Insert, text: str, name: str | None = None
    ) -> StandingQuery:
        """Begin an INSERT that writes until it is closed; there is nothing to read of it."""
        query = self._statement(execution, statement, text, name)
        self._note()
        return query

    def _statement(
        self, execution: Execution, statement: statements.Insert, text: str, name: str | None
    ) -> StandingQuery:
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
        ended = [(name, entry) for name, entry in self._standing.items() if entry[0].has_ended]
        for name, (_, bound, execution) in ended:
            del self._standing[name]
            if name in self._lasting:
                self._lasting.remove(name)
                self._fall(execution, name, bound)
            else:
                execution.fall(bound)
        if ended:
            self._note()

    def _note(self) -> None:
        """Have the directory name those that end with the session."""
        going = {query.name: query.text for query in self.queries if query.name.lower() not in self._lasting}
        self.of_session.note(going)

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
        self._note()
        for query in self.queries:
            query.end()
        self._standing.clear()
