"""Collection at work: traces without what their operator may forget (circuit.forgetting)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from penstock.backends.api import LineText
from penstock.backends.native.comparing import sorting
from penstock.backends.native.proof import NotProvenError
from penstock.backends.native.scalars import proven_text
from penstock.backends.native.trace import Columns, Trace, weighing
from penstock.backends.thresholds import LEAST_FORGOTTEN_ROWS
from penstock.catalog.reserved import WEIGHT
from penstock.circuit.forgetting import Best, Expiry, Unsettled

_SORTED = re.compile(r"^(?P<value>.*) (?P<direction>ASC|DESC) NULLS (?P<nulls>FIRST|LAST)$", re.DOTALL)


class Collector:
    """The expiries of one operator, and how large its traces were when they were last gone through."""

    def __init__(self, expiries: Sequence[Expiry]) -> None:
        self.expiries = tuple(expiries)
        self.settle: Callable[[Trace, str], None] | None = None  # leaves what matches may still need
        self._collected: dict[int, int] = {}  # by trace: its rows when all that had expired was gone

    def check(self, position: int, columns: Columns) -> None:
        """Raise NotProvenError if an expression by which rows of a trace expire is not proven."""
        for item in self._of(position):
            if not any(isinstance(keep, Unsettled) for keep in item.keep):
                _below(item, columns, "NULL")
                for keep in _best(item):
                    _rank(keep, columns, append_only=False)

    def expired(
        self, position: int, columns: Columns, rows: int, lines: LineText | None, *, whole: bool = False
    ) -> list[str]:
        """The conditions of entries that can go now; they are looked for when the state has doubled, or is `whole`."""
        doubled = rows >= 2 * max(self._collected.get(position, 0), LEAST_FORGOTTEN_ROWS)
        if lines is None or not rows or not (whole or doubled):
            return []
        return [_below(item, columns, lines(item.waterline)) for item in self._of(position) if not item.keep]

    def collected(self, position: int, rows: int) -> None:
        """Note how many entries are left now that all that had expired is gone."""
        self._collected[position] = rows

    def collect(self, position: int, trace: Trace, lines: LineText | None, *, whole: bool = False) -> None:
        """Merge a trace where that is due, without what has expired if it is gone through for that."""
        doubled = trace.rows >= 2 * max(self._collected.get(position, 0), LEAST_FORGOTTEN_ROWS)
        mine = self._of(position) if lines is not None and (whole or doubled) else []
        if not (trace.is_due() or mine or (whole and trace.rows)):
            return
        trace.merge(self.expired(position, trace.columns, trace.rows, lines, whole=whole))
        for item in mine:
            if _best(item) and lines is not None:
                _keep(item, trace, lines(item.waterline))
            elif item.keep and lines is not None and self.settle is not None:
                self.settle(trace, lines(item.waterline))
        if mine:
            self.collected(position, trace.rows)

    def _of(self, position: int) -> list[Expiry]:
        return [item for item in self.expiries if item.trace == position]


def _below(item: Expiry, columns: Columns, line: str) -> str:
    below = f"({proven_text(item.text, columns).text}) < ({line})"
    return f"(({line}) IS NOT NULL AND coalesce({below}, true))" if item.nulls else below


def _best(item: Expiry) -> list[Best]:
    return [keep for keep in item.keep if isinstance(keep, Best)]


def _keep(item: Expiry, trace: Trace, line: str) -> None:
    """Of the rows below the line, leave those that later rows may still need."""
    below = f"coalesce({_below(item, trace.columns, line)}, false)"
    ranks = [_rank(keep, trace.columns, append_only=trace.append_only) for keep in _best(item)]
    values = {value: f"__value{place}" for place, value in enumerate(value for rank in ranks for value in rank.values)}
    chosen = " OR ".join(f"{rank.over(values)} <= {keep.count}" for rank, keep in zip(ranks, _best(item), strict=True))
    computed = [f"{value} AS {name}" for value, name in values.items()]
    marked = f"SELECT {', '.join(['*', f'{below} AS __below', *computed])} FROM {trace.table}"
    flagged = f"SELECT *, NOT __below OR {chosen} AS __stays FROM ({marked})"
    columns = weighing(trace.names)
    trace.rows = trace.store.rewritten(trace.table, f"SELECT {columns} FROM ({flagged}) WHERE __stays")


@dataclass(frozen=True, slots=True)
class _Rank:
    """A rank among the rows of a partition that are below the line; `order` has values with their directions.

    The values are columns of their own: a window may not order by what can raise.
    """

    ranking: str
    partition: tuple[str, ...]
    first: tuple[str, ...]
    order: tuple[tuple[str, str], ...]

    @property
    def values(self) -> tuple[str, ...]:
        """The expressions that it goes by."""
        return (*self.partition, *(value for value, _ in self.order))

    def over(self, names: Mapping[str, str]) -> str:
        """The window call over columns that hold the values."""
        partition = ", ".join([*(names[value] for value in self.partition), "__below"])
        order = ", ".join([*self.first, *(f"{names[value]} {direction}" for value, direction in self.order)])
        return f"{self.ranking}() OVER (PARTITION BY {partition} ORDER BY {order})"


def _rank(keep: Best, columns: Columns, *, append_only: bool) -> _Rank:
    partition = tuple(proven_text(text, columns).text for text in keep.partition)
    first = () if append_only else (f"{WEIGHT} > 0 DESC",)
    return _Rank(keep.ranking, partition, first, tuple(_sorted(text, columns) for text in keep.order))


def _sorted(text: str, columns: Columns) -> tuple[str, str]:
    found = _SORTED.match(text)
    if found is None:
        raise NotProvenError(what=f"the order by {text}")
    return sorting(proven_text(found["value"], columns)), f"{found['direction']} NULLS {found['nulls']}"
