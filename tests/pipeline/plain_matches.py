"""MATCH_RECOGNIZE read off the standard: all ways through a pattern, in the order of preference, until one fits.

Shares nothing with the engine: patterns are tuples, conditions and measures are functions over a `Match`.

    ("A", "+")  ("A", "*?")  ("A", (2, 3))  ("seq", …)  ("or", …)  ("permute", …)  ("not shown", part)  "^"  "$"
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import permutations

COUNTS = {"*": (0, None), "+": (1, None), "?": (0, 1)}


@dataclass(frozen=True)
class Match:
    """Rows of a partition from `start` on, with the variable of each; `at` is the present row."""

    rows: list
    start: int
    labels: tuple = ()
    at: int = 0
    number: int = 1

    def places(self, variables, *, final=False):
        """The rows of variables (a text of letters; none stand for all), up to the present one."""
        found = [self.start + place for place, name in enumerate(self.labels) if not variables or name in variables]
        return found if final else [place for place in found if place <= self.at]

    def last(self, variables, column, offset=0, *, final=False, shift=0):
        places = self.places(variables, final=final)
        return self._value(places[-1 - offset] + shift if len(places) > offset else None, column)

    def first(self, variables, column, offset=0, *, final=False):
        places = self.places(variables, final=final)
        return self._value(places[offset] if len(places) > offset else None, column)

    def _value(self, place, column):
        return self.rows[place][column] if place is not None and 0 <= place < len(self.rows) else None

    def near(self, distance, column):
        return self._value(self.at + distance, column)

    def values(self, variables, column, *, final=False):
        found = (self.rows[place][column] for place in self.places(variables, final=final))
        return [value for value in found if value is not None]

    def sum(self, variables, column, *, final=False):
        found = self.values(variables, column, final=final)
        return sum(found) if found else None

    def label(self):
        place = self.at - self.start
        return self.labels[place] if 0 <= place < len(self.labels) else None


@dataclass(frozen=True)
class Spec:
    """A MATCH_RECOGNIZE over rows (k, at, x, id)."""

    sql: str
    pattern: object
    define: dict
    measures: tuple
    shows: str = "one"
    skip: object = "past"
    within: int | None = None
    hidden: set = field(default_factory=set, compare=False)


def ways(part, spec, match, hiding):
    """All matches that go on from one, with the rows that are not shown, in the order of preference."""
    place = match.start + len(match.labels)
    if part in ("^", "$"):
        if (part == "^" and place == 0) or (part == "$" and place == len(match.rows)):
            yield match, hiding
    elif isinstance(part, str):
        yield from row(part, spec, match, hiding)
    elif part[0] == "seq":
        yield from sequence(part[1:], spec, match, hiding)
    elif part[0] == "or":
        for item in part[1:]:
            yield from ways(item, spec, match, hiding)
    elif part[0] == "permute":
        for order in permutations(part[1:]):
            yield from sequence(order, spec, match, hiding)
    elif part[0] == "not shown":
        for found, hidden in ways(part[1], spec, match, hiding):
            yield found, hidden | set(range(place, found.start + len(found.labels)))
    else:
        counts = part[1].rstrip("?") or "?" if isinstance(part[1], str) else part[1]
        lazy = (isinstance(part[1], str) and len(part[1]) > 1) or part[2:] == ("?",)
        least, most = COUNTS[counts] if isinstance(counts, str) else counts
        yield from repeated((part[0], least, most, lazy), spec, match, hiding)


def row(name, spec, match, hiding):
    place = match.start + len(match.labels)
    if place >= len(match.rows):
        return
    if spec.within is not None and match.rows[place]["at"] - match.rows[match.start]["at"] >= spec.within:
        return
    longer = replace(match, labels=(*match.labels, name), at=place)
    if name not in spec.define or spec.define[name](longer) is True:
        yield longer, hiding


def sequence(parts, spec, match, hiding):
    if not parts:
        yield match, hiding
        return
    for found, hidden in ways(parts[0], spec, match, hiding):
        yield from sequence(parts[1:], spec, found, hidden)


def repeated(times, spec, match, hiding):
    part, least, most, lazy = times
    if least == 0 and lazy:
        yield match, hiding
    if most is None or most > 0:
        for found, hidden in ways(part, spec, match, hiding):
            if len(found.labels) == len(match.labels) and least == 0:
                if most is None:
                    yield found, hidden
                continue
            rest = None if most is None else most - 1
            yield from repeated((part, max(least - 1, 0), rest, lazy), spec, found, hidden)
    if least == 0 and not lazy:
        yield match, hiding


def matches(spec, rows):
    """What is shown of the matches among the rows of a partition, which are in order."""
    shown, place, number, taken = [], 0, 0, set()
    while place < len(rows):
        empty = Match(rows, place, at=place, number=number + 1)
        found, hidden = next(ways(spec.pattern, spec, empty, frozenset()), (None, None))
        if found is None:
            place += 1
            continue
        number += 1
        end = place + len(found.labels)
        taken |= set(range(place, end)) or {place}
        shown += shown_of(spec, found, hidden)
        place = after(spec, found, end)
    if spec.shows == "unmatched":
        nothing = (None,) * len(spec.measures)
        shown += [(rows[item], nothing) for item in range(len(rows)) if item not in taken]
    return shown


def shown_of(spec, found, hidden):
    places = range(found.start, found.start + len(found.labels))
    if spec.shows == "one":
        places = [max(found.start, places.stop - 1)]
    elif not found.labels:
        places = [] if spec.shows == "omit empty" else [found.start]
    else:
        places = [place for place in places if place not in hidden]
    seen = [replace(found, at=place) for place in places]
    return [(found.rows[match.at], tuple(measure(match) for measure in spec.measures)) for match in seen]


def after(spec, found, end):
    if spec.skip == "next" or not found.labels:
        return found.start + 1
    if spec.skip == "past":
        return end
    kind, variables = spec.skip
    places = found.places(variables, final=True)
    return places[0] if kind == "first" else places[-1]
