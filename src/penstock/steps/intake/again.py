"""The effect of a step on a table, made again from what the log has of it: nothing is judged a second time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from penstock.backends.columns import python_rows
from penstock.backends.rows import Key, Row, canonical_row
from penstock.backends.thresholds import MANY_ROWS
from penstock.steps.intake.fold import Intake
from penstock.steps.intake.holding import Holding
from penstock.steps.intake.keystore import KeyStore
from penstock.steps.intake.lateness import TableLateness
from penstock.steps.intake.memory import TableMemory


@dataclass(frozen=True)
class Effect:
    """The effect of a step on one table, as the log has it.

    `arrived` has the accepted rows of a table that holds rows back, `holding` the largest values that it has seen; with
    `emptied` it has released all of them.
    """

    change: pa.Table
    lateness: TableLateness
    received: int
    arrived: pa.Table | None = None
    holding: Holding = field(default_factory=Holding)
    emptied: bool = False


def intake_again(memory: TableMemory, effect: Effect) -> Intake:
    """The intake of a step that has happened before."""
    if memory.store is not None:
        return _keyed(memory, memory.store, effect)
    return _plain(memory, effect)


def _keyed(memory: TableMemory, store: KeyStore, effect: Effect) -> Intake:
    change = effect.change
    made = partial(Intake, memory.table, change, effect.lateness, effect.received)
    if store.process is None or change.num_rows < MANY_ROWS:
        return made(lambda: store.apply(_by_key(store, change)))
    store.flush()
    return made(store.commit, propose=lambda: store.propose(change))


def _by_key(store: KeyStore, change: pa.Table) -> dict[Key, tuple[Row | None, Row | None]]:
    """For each key of a change the row before it and after it."""
    found: dict[Key, tuple[Row | None, Row | None]] = {}
    for *row, weight in python_rows(change):
        key = store.key(row)
        before, after = found.get(key, (None, None))
        found[key] = (tuple(row), after) if weight < 0 else (before, tuple(row))
    return found


def _plain(memory: TableMemory, effect: Effect) -> Intake:
    holding, given_up = effect.holding, list[Row]()
    accepted = effect.change
    if holding.columns:
        accepted = effect.change.slice(0, 0) if effect.arrived is None else effect.arrived
        released, holding = holding.after({}, accepted)
        if effect.emptied:
            released = released if holding.waiting is None else pa.concat_tables([released, holding.waiting])
            holding = holding.emptied()
        elif released.num_rows != effect.change.num_rows:
            given_up = list(_missing(released, effect.change))
    live = memory.counts

    def apply() -> None:
        if live is not None:
            live.commit(accepted)
            live.apply((row[:-1], -row[-1]) for row in given_up)

    propose: Callable[[], None] = (lambda: None) if live is None else partial(live.propose, accepted)
    return Intake(
        memory.table, effect.change, effect.lateness, effect.received, apply, holding, propose, effect.arrived
    )


def _missing(rows: pa.Table, among: pa.Table) -> Iterator[Row]:
    """The rows that are not among others, as often as they are not."""
    there = Counter(map(canonical_row, python_rows(among)))
    for row in python_rows(rows):
        key = canonical_row(row)
        there[key] -= 1
        if there[key] < 0:
            yield row
