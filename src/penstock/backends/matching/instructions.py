"""A pattern as instructions for a search that goes back: the first way is tried before the second.

A+? B      0 row A    1 either 2, 0    2 row B    3 found

("row", variable)     the present row has to fit the variable; go to the next row
("either", one, two)  go on at `one`; if that leads to nothing, at `two`
("go", place)         go on there
("begin",) ("end",)   no row lies before this place, or behind it
("hide",) ("show",)   the rows between are not shown
("enter", loop)       a round of a loop begins here
("again", loop, place)  another round, if this one has taken a row
("found",)            all of it fits
"""

from __future__ import annotations

from itertools import permutations
from typing import Any, assert_never, cast

from penstock.backends.matching.program import Instruction
from penstock.errors import Diagnostic, SqlError
from penstock.sql.rowpattern import (
    Alternation,
    Anchor,
    Excluded,
    Part,
    Permutation,
    Repeated,
    Sequence,
    Variable,
)

_MOST = 100_000


def instructions(pattern: Part) -> tuple[Instruction, ...]:
    """The instructions for a pattern; SqlError if they are too many."""
    made = _Made()
    made.add(pattern)
    made.emit("found")
    return tuple(made.code)


def may_be_empty(part: Part) -> bool:
    """True if a part matches no row at all."""
    match part:
        case Variable():
            return False
        case Sequence() | Permutation():
            return all(map(may_be_empty, part.parts))
        case Alternation():
            return any(map(may_be_empty, part.parts))
        case Repeated():
            return not part.least or may_be_empty(part.part)
        case Excluded():
            return may_be_empty(part.part)
        case _:
            return True


class _Made:
    def __init__(self) -> None:
        self.code: list[Instruction] = []
        self._loops = 0

    def emit(self, *instruction: Any) -> int:
        if len(self.code) >= _MOST:
            message = f"the pattern stands for more than {_MOST} instructions"
            raise SqlError(Diagnostic("MATCH_PATTERN", message, hint="count in a condition of DEFINE"))
        self.code.append(instruction)
        return len(self.code) - 1

    def add(self, pattern: Part) -> None:
        part = cast("Variable | Sequence | Alternation | Permutation | Repeated | Excluded | Anchor", pattern)
        match part:
            case Variable():
                self.emit("row", part.name)
            case Sequence():
                for item in part.parts:
                    self.add(item)
            case Alternation():
                self._choice(part.parts)
            case Permutation():
                self._choice(tuple(Sequence(order) for order in permutations(part.parts)))
            case Repeated():
                self._repeated(part)
            case Excluded():
                self.emit("hide")
                self.add(part.part)
                self.emit("show")
            case Anchor():
                self.emit("begin" if part.sign == "^" else "end")
            case _:
                assert_never(part)

    def _choice(self, parts: tuple[Part, ...]) -> None:
        leaving = []
        for item in parts[:-1]:
            fork = self.emit("either")
            self.add(item)
            leaving.append(self.emit("go"))
            self.code[fork] = ("either", fork + 1, len(self.code))
        self.add(parts[-1])
        for place in leaving:
            self.code[place] = ("go", len(self.code))

    def _repeated(self, part: Repeated) -> None:
        for _ in range(part.least):
            self.add(part.part)
        if part.most is None:
            self._loop(part)
            return
        forks = []
        for _ in range(part.most - part.least):
            forks.append(self.emit("either"))
            self.add(part.part)
        for fork in forks:
            self.code[fork] = self._either(fork, part)

    def _either(self, fork: int, part: Repeated) -> Instruction:
        """At a fork: once more, or behind it."""
        ways = (fork + 1, len(self.code))
        return ("either", *(reversed(ways) if part.reluctant else ways))

    def _loop(self, part: Repeated) -> None:
        """A round that has taken no row is the last: it would be made for ever."""
        loop, self._loops = self._loops, self._loops + 1
        fork = self.emit("either")
        checked = may_be_empty(part.part)
        if checked:
            self.emit("enter", loop)
        self.add(part.part)
        self.emit(*(("again", loop, fork) if checked else ("go", fork)))
        self.code[fork] = self._either(fork, part)
