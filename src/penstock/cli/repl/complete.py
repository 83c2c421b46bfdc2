"""Completion from the catalog: what may stand next is guessed from the word before."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from penstock.catalog.functions import built_in_functions
from penstock.catalog.model import Catalog
from penstock.cli.repl.commands import COMMANDS
from penstock.sql.keywords import CLAUSES

_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*$")
_QUALIFIED = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)\.([A-Za-z_0-9]*)$")
_BEFORE_RELATION = frozenset({"from", "join", "into", "update", "table", "view", "describe", "desc", "explain"})


class CatalogCompleter(Completer):
    """Relations behind FROM and its like, columns behind `relation.`, else columns, relations, functions, words."""

    def __init__(self, catalog: Callable[[], Catalog]) -> None:
        self._catalog = catalog

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        del complete_event
        text = document.text_before_cursor
        if text.lstrip().startswith("."):
            yield from _matching(text.lstrip(), [(name, "command") for name in COMMANDS])
            return
        if qualified := _QUALIFIED.search(text):
            yield from _matching(qualified[2], self._columns_of(qualified[1], document.text))
            return
        word = found[0] if (found := _WORD.search(text)) else ""
        before = text[: len(text) - len(word)].split()
        if before and before[-1].lower().strip("(") in _BEFORE_RELATION:
            yield from _matching(word, self._relations())
        elif word:
            yield from _matching(word, self._everything())

    def _columns_of(self, name: str, text: str) -> Iterator[tuple[str, str]]:
        """The columns of a relation, or of the relation that the name is an alias of in this statement."""
        catalog = self._catalog()
        relation = catalog.relation(name)
        if relation is None:
            alias = re.search(rf"([A-Za-z_][A-Za-z_0-9]*)\s+(?:AS\s+)?{re.escape(name)}\b", text, re.IGNORECASE)
            relation = catalog.relation(alias[1]) if alias else None
        for column in relation.columns if relation is not None else ():
            if not column.hidden:
                yield column.name, column.type or "column"

    def _relations(self) -> Iterator[tuple[str, str]]:
        catalog = self._catalog()
        yield from ((table.name, "table") for table in catalog.tables.values())
        yield from ((view.name, "view") for view in catalog.named_views())

    def _everything(self) -> Iterator[tuple[str, str]]:
        for relation in self._catalog().relations():
            shown = (column.name for column in relation.columns if not column.hidden)
            yield from ((name, f"column of {relation.name}") for name in shown)
        yield from self._relations()
        yield from ((function.name, "function") for function in self._catalog().functions.values())
        yield from ((word, "") for word in CLAUSES)
        yield from ((name, "function") for name in built_in_functions())


def _matching(prefix: str, candidates: Iterable[tuple[str, str]]) -> Iterator[Completion]:
    seen: set[str] = set()
    for name, meaning in candidates:
        if name.lower().startswith(prefix.lower()) and name.lower() not in seen:
            seen.add(name.lower())
            text = name.lower() if name.isupper() and prefix.islower() else name
            yield Completion(text, start_position=-len(prefix), display_meta=meaning)
