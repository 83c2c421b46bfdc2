"""All matches in the rows of a partition, from the first row on, and what is shown of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Never

from penstock.backends.matching.program import Program
from penstock.backends.matching.search import Found, Search, searching
from penstock.backends.matching.values import ALL, MatchError, row_of, value_of
from penstock.circuit.raised import Raised

Answer = tuple[list[int | None], list[Any], list[Any], list[Any]]
_NEVER = 1 << 62  # the reach of what a row at any time can change


@dataclass(frozen=True, slots=True)
class Stop:
    """A place at which the search has begun, and how far in time it looks from there on at least."""

    place: int
    reach: int


def answers(program: Program, rows: Sequence[Sequence[Any]]) -> list[Answer]:
    """The rows that are shown: for each the places of rows, and the values, that its columns are."""
    return list(_Partition(program, rows).shown())


def settled(program: Program, rows: Sequence[Sequence[Any]], line: int) -> int:
    """The number of first rows at which no search begins that a row from `line` on can change.

    Each row ends with its weight. Of equal rows, which are one with its weight, all go or none.
    """
    weights = [row[-1] for row in rows]
    if any(weight < 0 for weight in weights):
        return 0  # what takes the row away is not there
    firsts = [0, *accumulate(weights)]
    found = _Partition(program, [row for row in rows for _ in range(row[-1])])
    for _ in found.shown():
        pass
    places = {stop.place for stop in found.stops} | {firsts[-1]}
    unsettled = next((stop.place for stop in found.stops if stop.reach >= line), firsts[-1])
    return max(number for number, first in enumerate(firsts) if first <= unsettled and first in places)


class _Partition:
    def __init__(self, program: Program, rows: Sequence[Sequence[Any]]) -> None:
        self.program, self.rows = program, rows
        self.search: Search = searching(program, rows)
        self.labels = self.search.labels
        self.reach = -_NEVER
        self.stops: list[Stop] = []
        self._covered = 0  # the rows before it are in a match, or known to be in none
        self._picks = [row_of(code) for code in program.picks]
        self._values = [[value_of(code) for code in codes] for codes in (program.longs, program.doubles, program.texts)]

    def shown(self) -> Iterator[Answer]:
        place = number = 0
        matched: set[int] = set()
        while place < len(self.rows):
            self.labels.number = number + 1
            found = self.search.attempt(place)
            self.reach = max(self.reach, self._looked(place))
            self.labels.reach = None if self.reach >= _NEVER else self.reach
            self.stops.append(Stop(place, self.reach))
            behind = place + 1
            if found is not None:
                number += 1
                yield from self._match(found)
                matched |= {*range(found.start, found.end)} or {found.start}
                behind = self._next(found)
            if self.program.shows == "unmatched":
                yield from (self._unmatched(item) for item in range(place, behind) if item not in matched)
            place = behind

    def _looked(self, start: int) -> int:
        """The latest time of a row by which the last attempt could have found something else."""
        time, search = self.program.time, self.search
        if time is None or search.at_edge:
            return _NEVER
        if search.at_end:
            return _NEVER if self.program.within is None else int(self.rows[start][time]) + self.program.within - 1
        return int(self.rows[search.furthest][time])

    def _match(self, found: Found) -> Iterator[Answer]:
        if self.program.shows == "one":
            self.labels.place = max(found.end - 1, found.start)
            yield self._answer()
        elif found.end > found.start:
            for place in range(found.start, found.end):
                if place not in found.hidden:
                    self.labels.place = place
                    yield self._answer()
        elif self.program.shows != "omit empty":
            self.labels.place = found.start
            yield self._answer()

    def _answer(self) -> Answer:
        longs, doubles, texts = ([value(self.labels) for value in values] for values in self._values)
        return [row(self.labels) for row in self._picks], longs, doubles, [_text(value) for value in texts]

    def _unmatched(self, place: int) -> Answer:
        picks = [place if code[0] == "own" else None for code in self.program.picks]
        longs = [self.labels.reach if code[0] == "reach" else None for code in self.program.longs]
        return picks, longs, [None] * len(self.program.doubles), [None] * len(self.program.texts)

    def _next(self, found: Found) -> int:
        kind, variable = self.program.skip
        if kind == "next" or found.end == found.start:
            return found.start + 1
        if kind == "past":
            return found.end
        return self._at_variable(found, kind, variable)

    def _at_variable(self, found: Found, kind: str, variable: str) -> int:
        places = self.labels.places.get(variable or ALL, [])
        if not places:
            self._refuse(f"AFTER MATCH SKIP TO {variable}, of which the match has no row")
        target = places[0] if kind == "first" else places[-1]
        if target == found.start:
            self._refuse(
                f"AFTER MATCH SKIP TO {variable}, which is the first row of the match and would be found for ever"
            )
        return target

    def _refuse(self, message: str) -> Never:
        fragment = self.program.written.get("", "")
        raise MatchError(Raised("MATCH_SKIP", "22000", message, fragment))


def _text(value: Any) -> str | None:
    return None if value is None else format(value, "f") if not isinstance(value, str) else value
