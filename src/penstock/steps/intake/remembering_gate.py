"""dedup that remembers keys: of each key the first row that arrives, as long as the key is remembered.

    a row passes, and its key is remembered from then on, unless the key is remembered already
    a key is forgotten when it has been remembered for the time to live, or as the oldest of more than so many

Rows go in the order in which they arrived, each at the clock of the step that brought it, so that what passes does not
depend on how the rows are cut into changes. Rows that do not pass are no mistakes, and nobody is told of them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.analysis.declarations import late_view_columns
from penstock.backends.api import Delta
from penstock.backends.gates import Parted
from penstock.backends.rows import canonical_row, python_values
from penstock.catalog.model import Remembering, View
from penstock.plan.showing import OwnWaterline

Keys = OrderedDict[Any, int]


@dataclass
class Remembered:
    """The keys that committed steps have left, the oldest first, each with its time; `number` counts the steps."""

    keys: Keys = field(default_factory=OrderedDict)
    number: int = 0


@dataclass(frozen=True)
class Step:
    """The effect of a change: so many of the oldest keys are forgotten, and these are new."""

    forgotten: int = 0
    added: Keys = field(default_factory=OrderedDict)


class _Folding:
    """The keys while the rows of a change go by; those of the steps before stay as they are."""

    def __init__(self, keys: Keys, rule: Remembering) -> None:
        self._keys, self._rule = keys, rule
        self._oldest: Iterator[tuple[Any, int]] = iter(keys.items())
        self._next = next(self._oldest, None)
        self._gone: set[Any] = set()
        self.added: Keys = OrderedDict()

    def passes(self, key: Any, time: int) -> bool:
        """True for a row whose key is not remembered."""
        while self._rule.micros and (since := self._since()) is not None and time - since >= self._rule.micros:
            self._forget()
        if key in self.added or (key in self._keys and key not in self._gone):
            return False
        self.added[key] = time
        if len(self._keys) - len(self._gone) + len(self.added) > self._rule.keys:
            self._forget()
        return True

    def _since(self) -> int | None:
        """The time since which the oldest key is remembered."""
        if self._next is not None:
            return self._next[1]
        return next(iter(self.added.values()), None)

    def _forget(self) -> None:
        if self._next is None:
            self.added.popitem(last=False)
            return
        self._gone.add(self._next[0])
        self._next = next(self._oldest, None)

    @property
    def step(self) -> Step:
        """The effect of the rows so far."""
        return Step(len(self._gone), self.added)


@dataclass(frozen=True)
class RememberingGate:
    """The filter of dedup: `last` is what the step that it comes from has changed, which `memory` may lack."""

    rule: Remembering
    keys: tuple[int, ...]
    position: int
    arrived: int
    memory: Remembered = field(default_factory=Remembered, compare=False)
    last: Step = field(default_factory=Step)
    number: int = 0

    def parted(self, delta: Delta) -> Parted:
        """The first rows of keys that are not remembered."""
        self._settle()
        kept, step = self.folded(delta.lasting().arrow())
        after = RememberingGate(self.rule, self.keys, self.position, self.arrived, self.memory, step, self.number + 1)
        return Parted(delta.replaced(kept), None, after)

    def folded(self, rows: pa.Table) -> tuple[pa.Table, Step]:
        """The rows that pass after those before them, in their order, and what that does to the keys."""
        rows = rows.take(pc.sort_indices(rows.column(self.position)))
        keys = (canonical_row(row) for row in python_values(rows.select(list(self.keys))))
        times = pc.cast(rows.column(self.arrived), pa.int64()).to_pylist()
        folding = _Folding(self.memory.keys, self.rule)
        passed = [folding.passes(key, time) for key, time in zip(keys, times, strict=True)]
        return rows.filter(pa.array(passed, pa.bool_())), folding.step

    def _settle(self) -> None:
        """Have the memory know the step that this gate comes from, which is committed if another one is to follow."""
        if self.memory.number == self.number:
            return
        for _ in range(self.last.forgotten):
            self.memory.keys.popitem(last=False)
        self.memory.keys.update(self.last.added)
        self.memory.number = self.number

    def line(self, key: object) -> None:
        """Keys are remembered, and have no waterlines."""
        del key

    def seen(self, own: OwnWaterline) -> None:
        """There is no time for all rows."""
        del own

    def closed(self, own: OwnWaterline) -> RememberingGate:
        """The same filter: keys do not depend on windows."""
        del own
        return self


def passed_rows(view: View, rows: pa.Table) -> pa.Table:
    """The rows that pass of all that have come: what the gate of a view has let pass by then."""
    return remembering_gate(view).folded(rows)[0]


def remembering_gate(view: View) -> RememberingGate:
    """The filter of a view that remembers keys."""
    ((place, column),) = late_view_columns(view)
    assert column.lateness is not None  # noqa: S101 - it is chosen for that
    assert column.lateness.remembering is not None  # noqa: S101 - so is this
    rule, names = column.lateness.remembering, [item.name.lower() for item in view.columns]
    keys = tuple(names.index(name.lower()) for name in column.lateness.keys)
    return RememberingGate(rule, keys, place, names.index(rule.arrived.lower()))
