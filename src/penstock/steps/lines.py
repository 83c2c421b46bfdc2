"""The waterlines of all sources at one moment: of tables, as their readers get them, and of views with LATENESS."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from penstock.analysis.derived import Derived, OfKeys, SourceColumn
from penstock.backends.api import KeyedLines
from penstock.backends.lines import alone, keyed_line_text, line_text
from penstock.backends.native.lines import LinesOverTimes, over_times
from penstock.backends.native.proof import Proven
from penstock.backends.waterlines import typed_literal
from penstock.catalog.types import Type
from penstock.engine.engine import Engine
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
    _over_times: LinesOverTimes = field(default_factory=LinesOverTimes)

    def values(self, wanted: Sequence[Derived], lines: Lines) -> list[Any]:
        """The (comparable) value of each, None where it is not known yet."""
        here = self._computed_here(wanted, lines)
        texts = [None if derived in here or alone(derived) else lines.text(derived) for derived in wanted]
        unknown = [text for text in dict.fromkeys(texts) if text is not None and text not in self._known]
        found = dict(self._known)
        if unknown:
            row = self.engine.constants(unknown)
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
        found: dict[Derived, Proven] = {}
        for derived in dict.fromkeys(wanted) if store is not None else ():
            item = self._over_times.of(derived, [given[source][1] for source in sorted(derived.sources)])
            if item is not None:
                found[derived] = item
        keys = {derived: tuple(given[source][0] for source in sorted(derived.sources)) for derived in found}
        if store is not None and any(self._computed.get(derived, _NOTHING)[0] != key for derived, key in keys.items()):
            times = ((source.name, at) for source, (at, kind) in given.items() if kind == "timestamp")
            values = map(comparable_value, over_times(store, list(found.values()), times))
            self._computed = {derived: (keys[derived], value) for derived, value in zip(found, values, strict=True)}
        return {derived: self._computed[derived][1] for derived in found}


_NOTHING = (None, None)
