"""A program of the search: all that it has to know, from the text that the function over partitions is given."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

Code = tuple[Any, ...]  # as `plan.matching` says
Instruction = tuple[Any, ...]
LONGS, DOUBLES, TEXTS = "longs", "doubles", "texts"


@dataclass(frozen=True)
class Program:
    """All that the search has to know; `picks` are the rows that columns are taken from.

    `written` has each condition as it is written in DEFINE, and under "" where to skip, for errors.
    """

    code: tuple[Instruction, ...]
    define: dict[str, Code]
    written: dict[str, str]
    subsets: dict[str, tuple[str, ...]]
    picks: tuple[Code, ...]
    longs: tuple[Code, ...]
    doubles: tuple[Code, ...]
    texts: tuple[Code, ...]
    time: int | None
    shows: str
    skip: tuple[str, str]
    within: int | None


@lru_cache(maxsize=256)
def program_of(text: str) -> Program:
    """The program that a text says."""
    found = json.loads(text)
    lists = ("code", "picks", LONGS, DOUBLES, TEXTS)
    parts = {name: _tuples(found[name]) for name in (*lists, "skip")}
    define = {name: _tuples(code) for name, code in found["define"].items()}
    subsets = {name: tuple(parts) for name, parts in found["subsets"].items()}
    return Program(**{**found, **parts, "define": define, "subsets": subsets})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
