"""Derived waterlines over times, computed by DuckDB: translated once, whatever the times are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from penstock.analysis.derived import Derived
from penstock.backends.lines import alone
from penstock.backends.native.proof import NotProvenError, Proven, quoted
from penstock.backends.native.scalars import proven
from penstock.backends.native.store import Store
from penstock.catalog.types import Type
from penstock.plan.scalar import parsed


@dataclass
class LinesOverTimes:
    """Those that have been translated."""

    _compiled: dict[tuple[str, tuple[Type, ...]], Proven | None] = field(default_factory=dict)

    def of(self, derived: Derived, kinds: Sequence[Type]) -> Proven | None:
        """A waterline as an expression over those of its sources, in their order, which have some types.

        None where it is that of a source, some are no times, it reads the clock, or it is not proven.
        """
        sources = sorted(derived.sources)
        if alone(derived) is not None or derived.reads_clock or not sources or {*kinds} - {"timestamp"}:
            return None
        key = derived.text, tuple(kinds)
        if key not in self._compiled:
            try:
                types = {source.name: kind for source, kind in zip(sources, kinds, strict=True)}
                self._compiled[key] = proven(parsed(derived.text), types)
            except NotProvenError:
                self._compiled[key] = None
        return self._compiled[key]


def over_times(store: Store, wanted: Sequence[Proven], times: Iterable[tuple[str, datetime | None]]) -> Sequence[Any]:
    """The values of expressions over times by their names."""
    items = ", ".join(f"{item.text} AS v{place}" for place, item in enumerate(wanted))
    given = dict(times)
    named = ", ".join(f"CAST(${place} AS TIMESTAMP) AS {quoted(name)}" for place, name in enumerate(given, 1))
    (row,) = store.prepared(f"SELECT {items} FROM (SELECT {named})", list(map(_time, given.values())))
    return row


def _time(at: datetime | None) -> str:
    """A time as DuckDB has it, which is in UTC."""
    return "CAST(NULL AS TIMESTAMP)" if at is None else f"TIMESTAMP '{at}'"
