"""A waterline that follows from those of the sources.

A `Derived` is the least of its parts. A part is Spark SQL over columns named `table.column`, one for each source; it is
NULL as long as nothing has been seen that it needs, and so is the whole.

    LATENESS of orders.at an hour behind, orders ⋈ payments ON orders.at = payments.at:
    least(`orders.at`, `payments.at`)

The runtime evaluates the text over one row that holds each source's waterline as a value of the column's own type,
rounded up to it; a call of the clock in it is the clock of the step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product

from penstock.plan.forms import Call, Form, references
from penstock.plan.scalar import Scalar, column, scalar_of

_READABLE = 100  # characters
_MOST_PARTS = 16  # a waterline with more parts is given up: it would cost more to find than it saves


@dataclass(frozen=True, order=True)
class SourceColumn:
    """A column with LATENESS, of a table or of a view."""

    relation: str
    column: str

    @property
    def name(self) -> str:
        """The name of the source's waterline in an expression."""
        return f"{self.relation}.{self.column}"

    @property
    def key(self) -> str:
        """The name of the source's waterline among those that a row keeps of all tables: letters and digits alone."""
        return re.sub(r"[^0-9a-z]", lambda found: f"_{ord(found[0]):x}_", self.name.lower())


@dataclass(frozen=True)
class Derived:
    """The least of `parts`, expressions over the waterlines of `sources`."""

    parts: tuple[Scalar, ...]
    sources: frozenset[SourceColumn]

    @property
    def text(self) -> str:
        """One Spark SQL expression over the sources' names; NULL where any part is."""
        texts = [part.text for part in self.parts]
        if len(texts) == 1:
            return texts[0]
        missing = " OR ".join(f"({text}) IS NULL" for text in texts)
        return f"CASE WHEN {missing} THEN NULL ELSE least({', '.join(texts)}) END"

    @property
    def shown(self) -> str:
        """The same for people to read; what is too long to read names its sources alone."""
        texts = ", ".join(part.text for part in self.parts)
        if len(texts) > _READABLE:
            return f"a function of {', '.join(source.name for source in sorted(self.sources)) or 'the clock'}"
        return texts if len(self.parts) == 1 else f"least({texts})"

    @property
    def reads_clock(self) -> bool:
        """True if the waterline also moves with the clock."""
        return any(part.reads_clock for part in self.parts)


@dataclass(frozen=True)
class OfKeys(Derived):
    """One that each substream has for itself; `keys` are the columns of a trace that tell these apart."""

    keys: tuple[str, ...] = ()

    @property
    def source(self) -> SourceColumn:
        """The column that it comes from."""
        (found,) = self.sources
        return found

    @property
    def shown(self) -> str:
        return f"{super().shown} of its substream"


def of_source(source: SourceColumn) -> Derived:
    """The waterline of the source itself."""
    return Derived((column(source.name),), frozenset({source}))


def converted(derived: Derived, convert: Callable[[Form], Form]) -> Derived:
    """The same, each part brought to another type."""
    return Derived(tuple(scalar_of(convert(part.form)) for part in derived.parts), derived.sources)


def least(found: Iterable[Derived | None]) -> Derived | None:
    """Below each of them; None if one is missing, or there are none."""
    every = tuple(found)
    present = [item for item in every if item is not None]
    if not present or len(present) < len(every):
        return None
    return _made([part for item in present for part in item.parts], present)


def greatest(found: Iterable[Derived | None]) -> Derived | None:
    """The promise of all that are there together: max(min(a, b), c) = min(max(a, c), max(b, c))."""
    present = list(dict.fromkeys(item for item in found if item is not None))
    if len(present) <= 1:
        return present[0] if present else None
    parts = [_greatest_part(choice) for choice in product(*(item.parts for item in present))]
    return _made(parts, present) or present[0]


def _greatest_part(parts: tuple[Scalar, ...]) -> Scalar:
    different = list(dict.fromkeys(parts))
    if len(different) == 1:
        return different[0]
    return scalar_of(Call("greatest", tuple(part.form for part in different)))


def applied(form: Form, columns: dict[str, Derived]) -> Derived | None:
    """An increasing expression over the waterlines of its columns; None if that has too many parts."""
    names = sorted(references(form))
    alone = scalar_of(form)
    parts = []
    for choice in product(*(columns[name].parts for name in names)):
        given = dict(zip(names, choice, strict=True))
        parts.append(alone.over(given))
        if len(parts) > _MOST_PARTS:
            return None
    return _made(parts, [columns[name] for name in names])


def _made(parts: list[Scalar], of: Iterable[Derived]) -> Derived | None:
    different = sorted(dict.fromkeys(parts), key=lambda part: part.text)
    if len(different) > _MOST_PARTS:
        return None
    return Derived(tuple(different), frozenset(source for item in of for source in item.sources))
