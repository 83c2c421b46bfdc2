"""The waterlines of all sources at one moment: of tables, as their readers get them, and of views with LATENESS."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from penstock.analysis.derived import Derived, OfKeys, SourceColumn
from penstock.backends.api import KeyedLines
from penstock.backends.lines import alone, keyed_line_text, line_text
from penstock.backends.native.proof import NotProvenError, Proven, quoted
from penstock.backends.native.scalars import proven
from penstock.backends.native.store import Store
from penstock.backends.waterlines import typed_literal
from penstock.catalog.types import Type
from penstock.engine.constants import constant_row
from penstock.engine.engine import Engine
from penstock.plan.scalar import parsed
from penstock.steps.intake.holding import Holding
from penstock.steps.intake.lateness import TableLateness, comparable_value


@dataclass(frozen=True)
class Lines:
    """The lateness of each relation by lower-case name, with what WATERMARK holds back."""

    relations: Mapping[str, tuple[TableLateness, Holding]]
    clock: datetime | None = None
    substreams: Mapping[str, KeyedLines] = field(default_factory=dict)

    def of(self, source: SourceColumn) -> tuple[Any, Type]:
        """The waterline of a source (None: nothing seen yet), and the type of its column."""
        lateness, holding = self.relations[source.relation.lower()]
        for item in lateness.columns:
            if item.column.name.lower() == source.column.lower():
                return holding.line(item.column.name, lateness.waterline(item).at), item.column.type
        return None, "timestamp"

    def literal(self, source: SourceColumn) -> str:
        """The same as Spark SQL of the column's type."""
        return typed_literal(*self.of(source))

    def of_keys(self, source: SourceColumn) -> KeyedLines:
        """The waterlines that substreams have of a column."""
        return self.substreams[source.relation.lower()]

    def text(self, derived: Derived) -> str:
        """A derived waterline as Spark SQL."""
        if isinstance(derived, OfKeys):
            return keyed_line_text(derived, self.of_keys(derived.source), self.clock)
        return line_text(derived, self.literal, self.clock)


@dataclass(frozen=True)
class LinesNow:
    """The waterlines as they stand whenever somebody asks."""

    now: Callable[[], Lines]

    def __call__(self, derived: Derived) -> str:
        """A waterline as Spark SQL."""
        return self.now().text(derived)

    def of_keys(self, source: SourceColumn) -> KeyedLines:
        """The waterlines that substreams have of a column."""
        return self.now().of_keys(source)


@dataclass
class LineReader:
    """Evaluates derived waterlines: those that are computed, and once for each value."""

    engine: Engine
    _known: dict[str, Any] = field(default_factory=dict)
    _computed: dict[Derived, tuple[tuple[Any, ...] | None, Any]] = field(default_factory=dict)
    _compiled: dict[tuple[str, tuple[Type, ...]], Proven | None] = field(default_factory=dict)

    def values(self, wanted: Sequence[Derived], lines: Lines) -> list[Any]:
        """The (comparable) value of each, None where it is not known yet."""
        here = self._computed_here(wanted, lines)
        texts = [None if derived in here or alone(derived) else lines.text(derived) for derived in wanted]
        unknown = [text for text in dict.fromkeys(texts) if text is not None and text not in self._known]
        found = dict(self._known)
        if unknown:
            row = constant_row(self.engine.workspace, self.engine.store, unknown)
            found |= {text: comparable_value(value) for text, value in zip(unknown, row, strict=True)}
        self._known = {text: found[text] for text in texts if text is not None}
        sources = [alone(derived) for derived in wanted]
        return [
            here[derived] if derived in here else lines.of(source)[0] if source is not None else found[str(text)]
            for derived, source, text in zip(wanted, sources, texts, strict=True)
        ]

    def _computed_here(self, wanted: Sequence[Derived], lines: Lines) -> dict[Derived, Any]:
        """The values of those that follow from times alone and are proven: translated once, whatever the times are."""
        store = self.engine.store
        given = {source: lines.of(source) for derived in wanted for source in derived.sources}
        asked = {derived: self._over_times(derived, given) for derived in dict.fromkeys(wanted)} if store else {}
        found = {derived: item for derived, item in asked.items() if item is not None}
        keys = {derived: tuple(given[source][0] for source in sorted(derived.sources)) for derived in found}
        if store is not None and any(self._computed.get(derived, _NOTHING)[0] != key for derived, key in keys.items()):
            times = ((source.name, at) for source, (at, kind) in given.items() if kind == "timestamp")
            values = _evaluated(store, list(found.values()), times)
            self._computed = {derived: (keys[derived], value) for derived, value in zip(found, values, strict=True)}
        return {derived: self._computed[derived][1] for derived in found}

    def _over_times(self, derived: Derived, given: Mapping[SourceColumn, tuple[Any, Type]]) -> Proven | None:
        """A waterline as an expression over those of its sources; None where some are no times, or it is not proven."""
        sources = sorted(derived.sources)
        kinds = tuple(given[source][1] for source in sources)
        if alone(derived) is not None or derived.reads_clock or not sources or {*kinds} - {"timestamp"}:
            return None
        key = derived.text, kinds
        if key not in self._compiled:
            try:
                types = {source.name: kind for source, kind in zip(sources, kinds, strict=True)}
                self._compiled[key] = proven(parsed(derived.text), types)
            except NotProvenError:
                self._compiled[key] = None
        return self._compiled[key]


_NOTHING = (None, None)


def _evaluated(store: Store, wanted: Sequence[Proven], times: Iterable[tuple[str, datetime | None]]) -> list[Any]:
    """The (comparable) values of expressions over times by their names."""
    items = ", ".join(f"{item.text} AS v{place}" for place, item in enumerate(wanted))
    given = dict(times)
    named = ", ".join(f"CAST(${place} AS TIMESTAMP) AS {quoted(name)}" for place, name in enumerate(given, 1))
    (row,) = store.prepared(f"SELECT {items} FROM (SELECT {named})", list(map(_time, given.values())))
    return [comparable_value(value) for value in row]


def _time(at: datetime | None) -> str:
    """A time as DuckDB has it, which is in UTC."""
    return "CAST(NULL AS TIMESTAMP)" if at is None else f"TIMESTAMP '{at}'"
