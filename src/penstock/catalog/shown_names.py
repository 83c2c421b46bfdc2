"""Columns that Penstock has named, under names that say what they are: `__a0` is shown as `aggregate1`.

The plan, the circuit and the trace name the results of aggregates, the keys of subqueries and the like, which nobody
has written. A name that the program has itself stays as it is, and none is shown that the program has. A relation
without a name is said to be what it is, as in `o.id = (subquery).id`; the second of a kind is `(subquery 2)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from penstock.catalog.model import Catalog, View
from penstock.catalog.reserved import COMPUTED

_INTERNAL = re.compile(r"(?<!\w)(h?)__([a-z]\w*)(?=(\.)?)")
_PARTS = re.compile(r"([a-z_]+?)_?(\d+)?(?:_(\d+))?")
_WORDS = re.compile(r"\w+")
# What the short names stand for; the others are words already.
_KINDS = {
    "a": "aggregate",
    "b": "part",
    "d": "distinct",
    "g": "group",
    "gid": "grouping_id",
    "h": "hop",
    "k": "key",
    "o": "ordering",
    "p": "partial",
    "r": "carried",
    "s": "grouped",
    "v": "value",
    "w": "window",
    "x": "element",
}
_RELATIONS = {"c": "clock", "d": "outer", "s": "subquery"}


class ShownNames:
    """The names that a reader sees, over a catalog and the text of a query beside it."""

    def __init__(self, catalog: Catalog, query: str | None = None) -> None:
        self._catalog = catalog
        self._query = query or ""

    def text(self, text: str) -> str:
        """The text with such names in place of internal ones."""
        return _INTERNAL.sub(self._shown, text) if "__" in text else text

    def values(self, found: Any) -> Any:
        """JSON-ready values, with their texts so."""
        if isinstance(found, str):
            return self.text(found)
        if isinstance(found, dict):
            return {self.text(key): self.values(value) for key, value in found.items()}
        return [self.values(value) for value in found] if isinstance(found, list) else found

    def _shown(self, found: re.Match[str]) -> str:
        if found[0].startswith(COMPUTED):
            return found[0].removeprefix(COMPUTED)  # the program's own name
        if found[0] in self._written:
            return found[0]
        relation = None if found[3] is None else _relation(found[2], "found" if found[1] else "")
        if relation is not None:
            return relation
        name = f"{'found_' if found[1] else ''}{_said(found[2])}"
        while name in self._written:
            name += "_"
        return name

    @cached_property
    def _written(self) -> frozenset[str]:
        """Every word of the program."""
        # A view has the text of the whole program beside it: most of them have the same.
        texts = {self._query, *(part for item in self._catalog.relations() for part in _texts(item))}
        return frozenset(word for text in texts for word in _WORDS.findall(text))


def _texts(relation: Any) -> Iterable[str]:
    yield relation.source or relation.text if isinstance(relation, View) else relation.text
    yield from (column.told for column in relation.columns)


def _relation(name: str, before: str) -> str | None:
    """The kind of a relation, in brackets, as no name is; None for a column that is followed by a field."""
    parts = _PARTS.fullmatch(name)
    kind = None if parts is None else _RELATIONS.get(parts[1])
    if parts is None or kind is None:
        return None
    others = [str(int(number) + 1) for number in parts.groups()[1:] if number is not None and int(number)]
    return f"({' '.join((*before.split(), kind, *others))})"


def _said(name: str) -> str:
    """A name without its marks; numbers count from 1."""
    parts = _PARTS.fullmatch(name)
    if parts is None:
        return name.strip("_")
    word = _KINDS.get(parts[1], parts[1])
    return word + "_".join(str(int(number) + 1) for number in parts.groups()[1:] if number is not None)
