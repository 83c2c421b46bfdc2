"""The rules over a third backend, of dictionaries: what an operator does in a step depends on no engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.backends.rules.grouped import AdditiveRule, CountedRule
from penstock.backends.rules.join import LEFT, RIGHT, JoinRule
from penstock.backends.rules.keyed import KeyedRule
from penstock.backends.rules.linear import ClockedRule, ConstantRule, LinearRule
from penstock.backends.rules.recomputed import RecomputedRule
from penstock.backends.rules.rule import Rule
from penstock.backends.rules.sessions import SessionsRule
from penstock.plan.nodes import Aggregate, Plan, Scan

Row = tuple[int, ...]
Rows = Counter[Row]
GAP = 2


def less(one: Rows, other: Rows) -> Rows | None:
    """The rows of one without those of the other; None if none is left."""
    found = Counter({row: one[row] - other[row] for row in one.keys() | other.keys()})
    return Counter({row: weight for row, weight in found.items() if weight}) or None


def plus(*parts: Rows | None) -> Rows:
    found: Rows = Counter()
    for part in parts:
        for row, weight in (part or {}).items():
            found[row] += weight
    return Counter({row: weight for row, weight in found.items() if weight})


class Dictionaries(Rule[Rows]):
    """What every operator has in common: a dictionary for each input, and what a step has proposed for it."""

    clock = 0

    def __init__(self, inputs: int) -> None:
        self.kept: list[Rows] = [Counter() for _ in range(inputs)]
        self.proposed: list[Rows] | None = None

    @property
    def now(self) -> list[Rows]:
        return self.kept if self.proposed is None else self.proposed

    def met(self, place: int, change: Rows | None) -> Rows | None:
        del place
        return change or None

    def has_rows(self, change: Rows | None) -> bool:
        return bool(change)

    def remember(self, place: int, change: Rows) -> None:
        self.proposed = list(self.now)
        self.proposed[place] = plus(self.proposed[place], change)

    def remembers(self, place: int) -> bool:
        return bool(self.now[place])

    def commit(self) -> None:
        self.kept, self.proposed = self.now, None

    def discard(self) -> None:
        self.proposed = None

    def merge(self, lines: object = None) -> None: ...

    def compact(self, lines: object = None) -> None: ...

    def state(self) -> Iterator[tuple[int, int]]:
        return iter((len(rows), 0) for rows in self.kept)


def joined(left: Rows, right: Rows) -> Rows:
    return plus(
        *(
            Counter({(*one, *other[1:]): weight * times})
            for one, weight in left.items()
            for other, times in right.items()
            if one[0] == other[0]
        )
    )


class Join(JoinRule[Rows], Dictionaries):
    def matches(self, left: Rows | None, right: Rows | None) -> Rows | None:
        return plus(joined(left or Counter(), self.now[RIGHT]), joined(self.kept[LEFT], right or Counter())) or None


def greatest(rows: Rows) -> Rows:
    """The greatest value of each key."""
    return Counter({(key, max(value for at, value in rows if at == key)): 1 for key, _ in rows})


class Greatest(KeyedRule[Rows], Dictionaries):
    node: Plan = Scan("t", ())

    def difference(self, changes: Sequence[Rows | None], *, first: bool) -> Rows | None:
        keys = {row[0] for row in changes[0] or ()}
        old = Counter({row: weight for row, weight in self.kept[0].items() if row[0] in keys})
        return less(greatest(plus(old, changes[0])), Counter() if first else greatest(old))


class Counted(AdditiveRule[Rows], Dictionaries):
    """The number of all rows."""

    node = Aggregate(Scan("t", ()), (), ())

    def added(self, change: Rows | None, *, first: bool) -> Rows | None:
        before = self.kept[0].total()
        if change is not None:
            self.remember(0, change)
        return less(Counter({(self.now[0].total(),): 1}), Counter() if first else Counter({(before,): 1}))


def once(rows: Rows) -> Rows:
    return Counter(dict.fromkeys(rows, 1))


class Distinct(CountedRule[Rows], Dictionaries):
    def counted(self, sides: Sequence[Rows | None]) -> Rows | None:
        self.remember_all(sides)
        return less(once(self.now[0]), once(self.kept[0]))


class Recent(ClockedRule[Rows], Dictionaries):
    """The rows whose value is not above the clock."""

    at = 0

    def clock_has_moved(self) -> bool:
        return self.clock != self.at

    def remembers_any(self) -> bool:
        return bool(self.now[0])

    def seen(self, rows: Rows | None, clock: int) -> Rows:
        return Counter({row: weight for row, weight in (rows or {}).items() if row[1] <= clock})

    def unmoved(self, changes: Sequence[Rows | None]) -> Rows | None:
        return self.seen(changes[0], self.clock) or None

    def moved(self, changes: Sequence[Rows | None]) -> Rows | None:
        kept = self.kept[0]
        return less(plus(self.seen(changes[0], self.clock), self.seen(kept, self.clock)), self.seen(kept, self.at))

    def commit(self) -> None:
        super().commit()
        self.at = self.clock


class Average(RecomputedRule[Rows], Dictionaries):
    """The sum of all values, beside the clock."""

    reads_clock = True
    at = -1

    def __init__(self, inputs: int) -> None:
        super().__init__(inputs)
        self.answer: Rows = Counter()
        self.next: Rows | None = None

    def clock_has_moved(self) -> bool:
        return self.clock != self.at

    def answered(self) -> Rows | None:
        self.next = summed(self.now[0], self.clock)
        return less(self.next, self.answer)

    def commit(self) -> None:
        super().commit()
        if self.next is not None:
            self.answer, self.next = self.next, None
        self.at = self.clock

    def discard(self) -> None:
        super().discard()
        self.next = None


def summed(rows: Rows, clock: int) -> Rows:
    return Counter({(sum(row[1] * weight for row, weight in rows.items()), clock): 1})


def in_sessions(rows: Rows) -> Rows:
    """Each row with the start of its session, for gaps of GAP."""
    found: Rows = Counter()
    starts: dict[int, tuple[int, int]] = {}
    for key, time in sorted(rows):
        start, last = starts.get(key, (time, time))
        start = start if time < last + GAP else time
        starts[key] = (start, time)
        found[(key, time, start)] = rows[(key, time)]
    return found


class Sessions(SessionsRule[Rows], Dictionaries):
    def moved(self, change: Rows) -> Rows | None:
        keys = {row[0] for row in change}
        before = Counter({row: weight for row, weight in self.kept[0].items() if row[0] in keys})
        rows: Rows = Counter({row[:2]: weight for row, weight in before.items()})
        return less(in_sessions(plus(rows, change)), before)


class Doubled(LinearRule[Rows], Dictionaries):
    def applied(self, changes: Sequence[Rows | None]) -> Rows:
        return doubled(changes[0] or Counter())


def doubled(rows: Rows) -> Rows:
    return Counter({(key, 2 * value): weight for (key, value), weight in rows.items()})


class Constant(ConstantRule[Rows], Dictionaries):
    def rows(self) -> Rows | None:
        return Counter({(1, 1): 1})


# Of each operator: how many inputs it has, and its answer over whole inputs.
Answer = Callable[[Sequence[Rows], int], Rows]
OPERATORS: dict[type[Dictionaries], tuple[int, Answer]] = {
    Join: (2, lambda inputs, _: joined(inputs[0], inputs[1])),
    Greatest: (1, lambda inputs, _: greatest(inputs[0])),
    Counted: (1, lambda inputs, _: Counter({(inputs[0].total(),): 1})),
    Distinct: (1, lambda inputs, _: once(inputs[0])),
    Recent: (1, lambda inputs, clock: Counter({row: n for row, n in inputs[0].items() if row[1] <= clock})),
    Average: (1, lambda inputs, clock: summed(inputs[0], clock)),
    Sessions: (1, lambda inputs, _: in_sessions(inputs[0])),
    Doubled: (1, lambda inputs, _: doubled(inputs[0])),
    Constant: (0, lambda _, __: Counter({(1, 1): 1})),
}

# A step: rows that come or go on either side (what is not there cannot go), how far time goes, and whether it fails.
SIDE = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6), st.sampled_from((1, 1, -1))), max_size=4)
STEPS = st.lists(st.tuples(SIDE, SIDE, st.integers(0, 2), st.booleans()), min_size=1, max_size=8)


def change_of(wanted: Sequence[tuple[int, int, int]], rows: Rows) -> Rows:
    found: Rows = Counter()
    for key, value, weight in wanted:
        if weight > 0 or rows[(key, value)] + found[(key, value)] > 0:
            found[(key, value)] += weight
    return plus(found)


@pytest.mark.parametrize("kind", OPERATORS)
@given(steps=STEPS)
def test_oracle_changes_add_up_to_the_answer_over_whole_inputs(kind, steps):
    count, answer = OPERATORS[kind]
    operator = kind(count)
    inputs: list[Rows] = [Counter() for _ in range(count)]
    shown: Rows = Counter()
    first = True
    for *sides, passed, fails in steps:
        changes = [change_of(side, rows) for side, rows in zip(sides, inputs, strict=False)]
        operator.clock += passed
        if not (first or operator.wants_step() or any(changes)):
            continue
        found = operator.step([change or None for change in changes], first=first)
        if fails:
            operator.discard()
            operator.clock -= passed
            continue
        operator.commit()
        first = False
        inputs = [plus(rows, change) for rows, change in zip(inputs, changes, strict=True)]
        shown = plus(shown, found)
        assert shown == answer(inputs, operator.clock)
