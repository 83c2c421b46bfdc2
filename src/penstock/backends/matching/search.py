"""The search for one match, from one row on: of all ways through the pattern the first that fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.backends.matching.program import Instruction, Program
from penstock.backends.matching.values import ALL, Labels, MatchError, Value, value_of

_LOOKS_AROUND = frozenset({"at", "count", "sum", "average", "whole average", "classifier", "match number"})


@dataclass(frozen=True, slots=True)
class Found:
    """A match by the variables of its rows, and which of them are not shown."""

    start: int
    classes: tuple[str, ...]
    hidden: frozenset[int]

    @property
    def end(self) -> int:
        """The place behind its last row."""
        return self.start + len(self.classes)


@dataclass
class Search:
    """A search over the rows of a partition.

    `first` is the column that says if a row can be the first of a match; None where no column says so alone.
    `furthest` is the last row that the present attempt has looked at; `at_end` says that it has found no more rows
    that it could take where it looked for one, and `at_edge` that it has asked whether there are more.
    """

    program: Program
    rows: Sequence[Sequence[Any]]
    labels: Labels
    conditions: Mapping[str, Value]
    remembers: bool
    first: int | None = None
    furthest: int = -1
    at_end: bool = False
    at_edge: bool = False
    _tried: set[tuple[int, int]] = field(default_factory=set)

    def attempt(self, start: int) -> Found | None:
        """The match that begins at a row; None if none does."""
        self.at_end = self.at_edge = False
        self.furthest = start
        if self.first is not None and self.rows[start][self.first] is not True:
            return None  # most rows are those at which nothing begins
        self.labels.begin(start)
        self._tried = set()
        hidden = _Way(0, start).followed(self)
        return None if hidden is None else Found(start, tuple(self.labels.classes), hidden)

    def fits(self, variable: str, place: int) -> bool:
        """True if a row can be one of a variable; it is taken then."""
        if place >= len(self.rows) or self._too_late(place):
            self.at_end = True  # of all rows, or of those that WITHIN allows: a later one changes nothing then
            return False
        self.furthest = max(self.furthest, place)
        self.labels.push(variable)
        self.labels.place = place
        condition = self.conditions.get(variable)
        try:
            if condition is None or condition(self.labels) is True:
                return True
        except MatchError as error:
            raise error.within(self.program.written.get(variable, "")) from None
        self.labels.pop(place - self.labels.start)
        return False

    def _too_late(self, place: int) -> bool:
        within, time = self.program.within, self.program.time
        if within is None or time is None:
            return False
        return bool(self.rows[place][time] - self.rows[self.labels.start][time] >= within)

    def is_edge(self, place: int) -> bool:
        """True if no row lies behind a place."""
        self.at_edge = self.at_edge or place >= len(self.rows)
        self.furthest = max(self.furthest, min(place, len(self.rows) - 1))
        return place >= len(self.rows)

    def is_vain(self, at: int, place: int) -> bool:
        """True if the search has been here before, and what comes next does not depend on how it came here."""
        if not self.remembers:
            return False
        if (at, place) in self._tried:
            return True
        self._tried.add((at, place))
        return False


@dataclass(frozen=True, slots=True)
class _Choice:
    """A way that has not been tried: where it goes on, and how much there was."""

    at: int
    place: int
    hidden: frozenset[int]
    hiding: int | None
    loops: dict[int, int]


class _Way:
    """A way through the instructions of a pattern."""

    def __init__(self, at: int, place: int) -> None:
        self.at, self.place = at, place
        self.hidden: frozenset[int] = frozenset()
        self.hiding: int | None = None  # where rows began to be hidden
        self.loops: dict[int, int] = {}  # where the present round of each loop began
        self.choices: list[_Choice] = []

    def followed(self, search: Search) -> frozenset[int] | None:
        """The hidden rows of the first way that fits; None if none does."""
        code = search.program.code
        while code[self.at][0] != "found":
            instruction = code[self.at]
            known = instruction[0] == "either" and search.is_vain(self.at, self.place)
            if known or not self._went(instruction, search):
                if not self.choices:
                    return None
                self._back(search.labels)
        return self.hidden

    def _back(self, labels: Labels) -> None:
        choice = self.choices.pop()
        self.at, self.place = choice.at, choice.place
        self.hidden, self.hiding, self.loops = choice.hidden, choice.hiding, choice.loops
        labels.pop(self.place - labels.start)

    def _went(self, instruction: Instruction, search: Search) -> bool:
        match instruction:
            case ("row", variable):
                if not search.fits(variable, self.place):
                    return False
                self.place += 1
            case ("either", one, two):
                self.choices.append(_Choice(two, self.place, self.hidden, self.hiding, self.loops))
                self.at = one
                return True
            case ("go", at):
                self.at = at
                return True
            case ("begin",):
                if self.place:
                    return False
            case ("end",):
                if not search.is_edge(self.place):
                    return False
            case ("hide",):
                self.hiding = self.place if self.hiding is None else self.hiding
            case ("show",):
                self.hidden |= frozenset(range(self.hiding or 0, self.place))
                self.hiding = None
            case ("enter", loop):
                self.loops = {**self.loops, loop: self.place}
            case ("again", loop, at) if self.place > self.loops[loop]:
                self.at = at
                return True
        self.at += 1
        return True


def searching(program: Program, rows: Sequence[Sequence[Any]]) -> Search:
    """A search over the rows of a partition."""
    names = [instruction[1] for instruction in program.code if instruction[0] == "row"]
    groups = {
        name: (ALL, name, *(subset for subset, parts in program.subsets.items() if name in parts)) for name in names
    }
    conditions = {name: value_of(code) for name, code in program.define.items()}
    loops = any(instruction[0] == "enter" for instruction in program.code)
    remembers = not loops and not any(map(_looks_around, program.define.values()))
    return Search(program, rows, Labels(rows, groups), conditions, remembers, _first(program))


def _first(program: Program) -> int | None:
    """The column that is the condition of the one variable that a match begins with."""
    instruction = program.code[0]
    condition = program.define.get(instruction[1]) if instruction[0] == "row" else None
    return condition[1] if condition is not None and condition[0] == "column" else None


def _looks_around(code: Any) -> bool:
    """True if a condition depends on other rows of the match than the present one."""
    if not isinstance(code, tuple):
        return False
    return (bool(code) and code[0] in _LOOKS_AROUND) or any(map(_looks_around, code))
