"""A step whose views raise for some rows goes without these rows; it stays one step.

The rows are looked for in the change of the step, at the operator that has failed: by one query where the expression
goes row by row, else by trying parts of the change on what leads to that operator. A row is at fault if it raises by
itself beside what was there before. Where none is, as in a sum that overflows, all rows of its key in this change go;
without a key, the fewest that raise together. Nothing else is set aside: who is found tries again beside the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from penstock.backends.rows import Key
from penstock.circuit.lineage import goes_row_by_row, tables_behind
from penstock.errors import UnsupportedError
from penstock.steps.apart import FailedStep, Unit
from penstock.steps.culprits import Culprit, culprits, failing_alone
from penstock.steps.failures import EvaluationError, translated
from penstock.steps.first_row import with_first_row
from penstock.steps.proposing import Proposal, StepInput, propose
from penstock.steps.rows.refused import Reason
from penstock.steps.state import State
from penstock.steps.tables import is_strict

Found = Culprit[Unit, EvaluationError]
_PARTS = 200  # parts that are tried before Spark is started for one query in their place
_TRIED_ALONE = 10  # rows found by a query that are tried to have the message of each; the others have one in common


class _TooManyError(Exception):
    """More parts of a change would have to be tried than is worth it."""


def _without_java(error: BaseException) -> bool:
    """True for the error that there is no Java, which only queries need."""
    return isinstance(error, UnsupportedError) and error.code == "JAVA_NOT_FOUND"


def propose_sparing(state: State, given: StepInput) -> Proposal:
    """The step without the rows for which a view raises; EvaluationError where leaving rows out does not help."""
    while True:
        try:
            return propose(state, given)
        except EvaluationError as error:
            if not given.spares:
                raise with_first_row(state, given, error) from error.__cause__
            reasons = _Search(state, given, error).reasons()
            given = replace(given, refused=given.refused.and_also(reasons))


@dataclass
class _Search:
    """The search for what one operator has raised for."""

    state: State
    given: StepInput
    error: EvaluationError
    _left: int | None = None  # parts that may be tried still

    def reasons(self) -> dict[tuple[str, Key], Reason]:
        """The reasons for the rows that are to be left out; raises the error of the step if there are none."""
        found = self._found()
        if not found:
            raise self.error
        return {
            self.step.identity(unit): Reason(item.error.view or self._view, item.error.diagnostics[0].message)
            for item in found
            for unit in item.items
        }

    @property
    def _view(self) -> str | None:
        """The view that reads the failing operator, the first of several."""
        place = self.step.place
        names = () if place is None else place.installed.circuit.readers.get(place.number, ())
        return next((self.state.catalog.views[name].name for name in names if name in self.state.catalog.views), None)

    @cached_property
    def step(self) -> FailedStep:
        """The step, taken apart."""
        return FailedStep(self.state, self.given, self.state.engine.failed).descended()

    @cached_property
    def _units(self) -> list[Unit]:
        """The units that may be left out."""
        return [unit for unit in self.step.rows if not is_strict(self.step.table(unit))]

    def _found(self) -> list[Found]:
        first = self.step.error_without(())
        if first is None or not self._units or self.step.error_without(self._units) is not None:
            return []
        self.error = first
        if self._independent and not self.state.engine.has_spark:
            with suppress(_TooManyError):
                return self._by_parts(first, most=_PARTS)
        return self._by_query(first) or self._by_parts(first)

    # One query

    def _by_query(self, error: EvaluationError) -> list[Found]:
        """The rows for which the expression that raised does so; none if a query does not tell them."""
        place = self.step.place
        if place is None or error.fragment is None:
            return []
        numbered, owners = self.step.numbered()
        engine = self.state.engine
        try:
            numbers = engine.raising_rows(place, numbered, error.stands_in, self.given.clock)
        except Exception as failure:
            found = translated(failure, self.state.catalog, place)
            if isinstance(found, EvaluationError) or _without_java(found):  # something else raises before
                return []
            raise found from failure
        finally:
            engine.release()
        units = list(dict.fromkeys(owners[number] for number in sorted(numbers)))
        return self._told(units, error) if set(units) <= set(self._units) else []

    def _told(self, units: Sequence[Unit], error: EvaluationError) -> list[Found]:
        """The rows with what each raises; none if one of those tried does not raise."""
        tried = [self._alone([unit]) for unit in units[:_TRIED_ALONE]]
        errors = [item for item in tried if item is not None]
        if len(errors) < len(tried):
            return []
        alike = {str(item.diagnostics[0].message) for item in errors}
        rest = errors[0] if len(alike) == 1 else error.in_general()
        errors += [rest] * (len(units) - len(errors))
        return [Culprit([unit], said) for unit, said in zip(units, errors, strict=True)]

    # Parts

    def _by_parts(self, error: EvaluationError, most: int | None = None) -> list[Found]:
        """The rows that are found by trying parts of the change; _TooManyError for more parts than the most."""
        self._left = most
        units, beside = self._suspects(error)
        found: list[Found] = []
        said: EvaluationError | None = error
        while said is not None:
            found += self._culprits(units, beside, said)
            out = {unit for item in found for unit in item.items}
            units = [unit for unit in units if unit not in out]
            said = self.step.error_without(out)
        return found if self._independent else self._without_innocents(found)

    @cached_property
    def _independent(self) -> bool:
        place = self.step.place
        return place is not None and goes_row_by_row(place.installed.circuit, place.number)

    def _suspects(self, error: EvaluationError) -> tuple[list[Unit], list[Unit]]:
        """The units of the tables that the expression reads, if it is up to them, and those of the others."""
        place = self.step.place
        read = None if place is None else tables_behind(place.installed.circuit, place.number, error.columns_in)
        suspects = [unit for unit in self._units if read is None or unit[0] in read]
        others = [unit for unit in self._units if unit not in set(suspects)]
        if others and self.step.error_without(suspects) is not None:
            return self._units, []
        return suspects, others

    def _culprits(self, units: Sequence[Unit], beside: Sequence[Unit], error: EvaluationError) -> list[Found]:
        keys = self._keys
        if keys is None:
            return culprits(units, lambda part: self._alone([*part, *beside]), error)
        groups: dict[frozenset[int], list[Unit]] = {}
        for unit in units:
            groups.setdefault(frozenset(keys.get(unit, ())), []).append(unit)

        def fails(part: Sequence[list[Unit]]) -> EvaluationError | None:
            return self._alone([*(unit for group in part for unit in group), *beside])

        found: list[Found] = []
        for item in culprits(list(groups.values()), fails, error):
            found += self._within([unit for group in item.items for unit in group], beside, item.error)
        return found

    def _within(self, units: Sequence[Unit], beside: Sequence[Unit], error: EvaluationError) -> list[Found]:
        """The units of one key that raise by themselves; all of them where the others raise together."""
        single = failing_alone(units, lambda part: self._alone([*part, *beside]), error)
        out = {unit for item in single for unit in item.items}
        rest = [unit for unit in units if unit not in out]
        said = self._alone([*rest, *beside]) if rest else None
        return single if said is None else [*single, Culprit(rest, said)]

    @cached_property
    def _keys(self) -> dict[Unit, set[int]] | None:
        """The keys under which the failing operator takes each unit."""
        place = self.step.place
        if place is None:
            return None
        engine = self.state.engine
        numbered, owners = self.step.numbered()
        try:
            found = engine.keys_met(place, numbered)
        except Exception as failure:
            error = translated(failure, self.state.catalog, place)
            if isinstance(error, EvaluationError) or _without_java(error):  # the key itself raises
                return None
            raise error from failure
        finally:
            engine.release()
        if found is None:
            return None
        keys: dict[Unit, set[int]] = {}
        for number, hashes in found.items():
            keys.setdefault(owners[number], set()).update(hashes)
        return keys

    def _alone(self, units: Sequence[Unit]) -> EvaluationError | None:
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise _TooManyError
        chosen = set(units)
        return self.step.error_without([unit for unit in self._units if unit not in chosen])

    # Innocents

    def _without_innocents(self, found: Sequence[Found]) -> list[Found]:
        """Without what raises no more, now that the rest is known: what another row of the change makes good."""
        left = list(found)
        for item in found:
            others = [unit for other in left if other is not item for unit in other.items]
            if len(item.items) == 1:
                if self.step.error_without(others) is None:
                    left.remove(item)
            elif self._keys is None:
                left[left.index(item)] = Culprit(self._needed(item, others), item.error)
        return left

    def _needed(self, item: Found, others: Sequence[Unit]) -> Sequence[Unit]:
        """Of rows that raise together those that raise with the rest as well; else those of the larger table; else all.

        A row of few, such as a rate, is met by many, such as orders: without it the others would be in no view.
        """
        for part in (self._raising_with_the_rest(item, others), *self._by_table(item)):
            if part and self.step.error_without([*others, *part]) is None:
                return part
        return item.items

    def _raising_with_the_rest(self, item: Found, others: Sequence[Unit]) -> list[Unit]:
        found = []
        for unit in item.items:
            absent = [*others, *(other for other in item.items if other != unit)]
            if self.step.error_without(absent) is not None:
                found.append(unit)
        return found

    def _by_table(self, item: Found) -> list[list[Unit]]:
        """The rows of each table, the largest change first; none where all are of one."""
        sizes = Counter(unit[0] for unit in self.step.rows)
        tables = sorted({unit[0] for unit in item.items}, key=lambda name: (-sizes[name], name))
        return [[unit for unit in item.items if unit[0] == name] for name in tables] if len(tables) > 1 else []
