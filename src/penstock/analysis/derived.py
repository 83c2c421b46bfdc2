"""How a waterline follows from those of the sources.

A `Derived` is the least of its parts. A part is Spark SQL over columns named `table.column`, one for each source; it is
NULL as long as nothing has been seen that it needs, and so is the whole.

    LATENESS of orders.at an hour behind, orders ⋈ payments ON orders.at = payments.at:
    least(`orders.at`, `payments.at`)

The runtime evaluates the text over one row that holds each source's waterline as a value of the column's own type,
rounded up to it; a call of the clock in it is the clock of the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product

from sqlglot import exp

from penstock.plan.expressions import reads_clock
from penstock.plan.scalar import Scalar, column, render_scalar

_READABLE = 100  # characters
_MOST_PARTS = 16  # a waterline with more parts is given up: it would cost more to find than it saves


@dataclass(frozen=True, order=True)
class Source:
    """A column with LATENESS, of a table or of a view."""

    relation: str
    column: str

    @property
    def name(self) -> str:
        """How an expression names the source's waterline."""
        return f"{self.relation}.{self.column}"


@dataclass(frozen=True)
class Derived:
    """The least of `parts`, expressions over the waterlines of `sources`."""

    parts: tuple[Scalar, ...]
    sources: frozenset[Source]

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
        """Whether the waterline also moves with the clock."""
        return any(reads_clock(part) for part in self.parts)


def of_source(source: Source) -> Derived:
    """The waterline of the source itself."""
    return Derived((column(source.name),), frozenset({source}))


def converted(derived: Derived, convert: Callable[[exp.Expression], exp.Expression]) -> Derived:
    """The same, each part brought to another type."""
    trees = [convert(part.tree) for part in derived.parts]
    return Derived(tuple(Scalar(render_scalar(tree), tree) for tree in trees), derived.sources)


def least(found: Iterable[Derived | None]) -> Derived | None:
    """Below each of them; None if one is missing, or there are none."""
    every = tuple(found)
    present = [item for item in every if item is not None]
    if not present or len(present) < len(every):
        return None
    return _made([part for item in present for part in item.parts], present)


def greatest(found: Iterable[Derived | None]) -> Derived | None:
    """What all that are there promise together: max(min(a, b), c) = min(max(a, c), max(b, c))."""
    present = list(dict.fromkeys(item for item in found if item is not None))
    if len(present) <= 1:
        return present[0] if present else None
    parts = [_greatest_part(choice) for choice in product(*(item.parts for item in present))]
    return _made(parts, present) or present[0]


def _greatest_part(parts: tuple[Scalar, ...]) -> Scalar:
    different = list(dict.fromkeys(parts))
    if len(different) == 1:
        return different[0]
    tree = exp.Anonymous(this="greatest", expressions=[part.tree.copy() for part in different])
    return Scalar(render_scalar(tree), tree)


def applied(tree: exp.Expression, columns: dict[str, Derived]) -> Derived | None:
    """An increasing expression over the waterlines of its columns; None if that has too many parts."""
    names = list(dict.fromkeys(node.name for node in tree.find_all(exp.Column)))
    alone = Scalar(render_scalar(tree), tree.copy())
    parts = []
    for choice in product(*(columns[name].parts for name in names)):
        given = dict(zip(names, choice, strict=True))
        parts.append(alone.replaced(_lookup(given)) if given else alone)
        if len(parts) > _MOST_PARTS:
            return None
    return _made(parts, [columns[name] for name in names])


def _lookup(given: dict[str, Scalar]) -> Callable[[str], exp.Expression]:
    return lambda name: given[name].tree


def _made(parts: list[Scalar], of: Iterable[Derived]) -> Derived | None:
    different = sorted(dict.fromkeys(parts), key=lambda part: part.text)
    if len(different) > _MOST_PARTS:
        return None
    return Derived(tuple(different), frozenset(source for item in of for source in item.sources))
