"""Results that are refined: a window has a first, a complete and a last one, by how far time is from its end.

time < end + first      nothing is shown
… < end + complete      early: each change, or what has changed at each multiple of the rate
… < end + last          complete; then what late rows change
from there              final: it never changes again
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType

import pyarrow as pa

from penstock.backends.weighted import Pile, Rows, added_up, negated, parted
from penstock.emit.counting import Tally
from penstock.emit.triggers import Fired, Given
from penstock.plan.emission import Refine
from penstock.plan.showing import STATE

HIDDEN, EARLY, COMPLETE, FINAL = range(4)
_STATES = {EARLY: "early", COMPLETE: "complete", FINAL: "final"}
Stage = tuple[int, int]  # and of early ones the number of the update


@dataclass(frozen=True, slots=True)
class Refined:
    """A window at each stage; `stages` has those that have been shown and are not final.

    `shown` are the rows of these with their states, where rows say which they are. Early ones may be updated by the
    `tally` of their rows.
    """

    rule: Refine
    tally: Tally | None = None
    waiting: Pile = field(default_factory=Pile)
    stages: Mapping[datetime | None, Stage] = field(default_factory=lambda: MappingProxyType({}))
    shown: Rows | None = None

    @property
    def holds(self) -> bool:
        """True if rows wait, or are not final."""
        return not self.waiting.is_empty or (self.rule.stated and bool(self.stages))

    def left(self) -> Rows | None:
        """The rows that wait."""
        return self.waiting.rows()

    def fired(self, given: Given) -> Fired:
        """The rows of the windows that have reached a stage, or are updated in theirs."""
        rows = self.waiting.grown(given.change).rows()
        ends = [] if rows is None else given.ends(rows)
        reached = {end: self._stage(end, given) for end in {*ends, *self.stages}}
        tally = None if self.tally is None else self.tally.grown(given.change)
        counted = [False] * len(ends) if tally is None else tally.reached(rows)
        early = [enough and reached[end][0] == EARLY for enough, end in zip(counted, ends, strict=True)]
        due = {end: stage for end, stage in reached.items() if self._is_due(end, stage)}
        now, left = parted(rows, pa.array([e in due or ok for e, ok in zip(ends, early, strict=True)], pa.bool_()))
        due |= {end: reached[end] for end, enough in zip(ends, early, strict=True) if enough}
        if tally is not None:
            now, tally = tally.without_number(now), tally.of(left)
        stages = {end: stage for end, stage in {**self.stages, **due}.items() if stage[0] != FINAL}
        then = replace(self, waiting=Pile(left), stages=MappingProxyType(stages), tally=tally)
        return then.stated(now, due, given) if self.rule.stated else Fired(now, then)

    def _stage(self, end: datetime | None, given: Given) -> Stage:
        rule, time = self.rule, given.time
        if given.all_closed:
            return FINAL, 0
        if end is None or time is None or time - end < rule.first:
            return HIDDEN, 0
        if time - end < rule.complete:
            return EARLY, 0 if rule.rate is None else (time - end - rule.first) // rule.rate
        return (COMPLETE if rule.updates and time - end < rule.last else FINAL), 0

    def _is_due(self, end: datetime | None, stage: Stage) -> bool:
        before = self.stages.get(end, (HIDDEN, 0))
        each = stage[0] == COMPLETE or (stage[0] == EARLY and self.rule.rate is None and self.tally is None)
        return stage > before or (each and stage[0] > HIDDEN)

    # Rows that say which they are

    def stated(self, rows: Rows | None, due: Mapping[datetime | None, Stage], given: Given) -> Fired:
        """The rows of windows with their state; one whose state has changed is another row."""
        before, others = self._shown_of(due, given)
        content = added_up(None if before is None else _without_state(before), rows)
        after = None if content is None else _with_state(content, [due[end] for end in given.ends(content)])
        changed = added_up(None if before is None else negated(before), after)
        kept, _ = (None, None) if after is None else self._parted(after, self.stages, given)
        return Fired(changed, replace(self, shown=added_up(others, kept)))

    def _shown_of(self, ends: Iterable[datetime | None], given: Given) -> tuple[Rows | None, Rows | None]:
        return (None, None) if self.shown is None else self._parted(self.shown, ends, given)

    @staticmethod
    def _parted(rows: Rows, ends: Iterable[datetime | None], given: Given) -> tuple[Rows | None, Rows | None]:
        wanted = set(ends)
        return parted(rows, pa.array([end in wanted for end in given.ends(rows)], pa.bool_()))


def _with_state(rows: Rows, stages: list[Stage]) -> Rows:
    states = pa.chunked_array([pa.array([_STATES[stage] for stage, _ in stages], pa.string())])
    return rows.add_column(rows.num_columns - 1, STATE, states)


def _without_state(rows: Rows) -> Rows:
    return rows.remove_column(rows.num_columns - 2)
