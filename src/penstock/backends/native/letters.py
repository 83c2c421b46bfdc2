"""Letters in the other case where DuckDB makes others of them than Spark: ß is SS in capitals, and Σ is ς at an end.

`letters.txt` has them, as `scripts/letters.py` found them by asking both. The functions below put what Spark makes of
such letters in their place, and leave all others to DuckDB. What Java's locale changes is left to Spark.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

SMALL, CAPITAL = "penstock_small", "penstock_capital"
SIGMA, _SIGMA_INSIDE, _SIGMA_AT_END = "\u03a3", "\u03c3", "\u03c2"
# Languages in which ICU writes letters in another case than in all others: dotted i, accents of Greek, and so on.
_OTHERWISE = ("az", "el", "hy", "lt", "tr")
_SAID_BY = ("LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LANG")


def locale_that_differs() -> str:
    """The locale of this machine, if letters are written otherwise in it; nothing if they are as everywhere."""
    return next((value for name in _SAID_BY if (value := os.environ.get(name, "")).lower().startswith(_OTHERWISE)), "")


@cache
def letters(function: str) -> Mapping[int, str]:
    """Code point → what Spark makes of it, where DuckDB differs; Σ is not among them."""
    case = function.removeprefix("penstock_")
    return {found[0]: "".join(map(chr, found[1:])) for kind, found in _listed() if kind == case}


@cache
def pattern(function: str) -> str:
    """A class of RE2 for these letters, and for Σ where they are made small."""
    codes = sorted({*letters(function), *([ord(SIGMA)] if function == SMALL else [])})
    return "[" + "".join(rf"\x{{{code:X}}}" for code in codes) + "]"


def small_in_arrow(texts: pa.ChunkedArray) -> pa.Array:
    """Texts with those letters made small."""
    return _each(texts, _small)


def capital_in_arrow(texts: pa.ChunkedArray) -> pa.Array:
    """Texts with those letters as capitals."""
    return _each(texts, lambda text: text.translate(letters(CAPITAL)))


def _each(texts: pa.ChunkedArray, work: Callable[[str], str]) -> pa.Array:
    import pyarrow as pa  # noqa: PLC0415 - 100 ms that `check` need not wait

    return pa.array([None if text is None else work(text) for text in texts.to_pylist()], pa.string())


def _small(text: str) -> str:
    """Every Σ is seen among the letters of the text as it was."""
    found = re.sub(SIGMA, lambda match: _SIGMA_AT_END if _ends_word(match) else _SIGMA_INSIDE, text)
    return found.translate(letters(SMALL))


def _ends_word(match: re.Match[str]) -> bool:
    text = match.string
    return _is_cased(reversed(text[: match.start()])) and not _is_cased(text[match.end() :])


def _is_cased(text: Iterable[str]) -> bool:
    """True if the first letter that is not passed over is a cased one."""
    first = next((ord(letter) for letter in text if not _within(ord(letter), "passed_over")), None)
    return first is not None and _within(first, "cased")


def _within(code: int, kind: str) -> bool:
    begins, ends = _ranges(kind)
    place = bisect_right(begins, code) - 1
    return place >= 0 and code <= ends[place]


@cache
def _ranges(kind: str) -> tuple[list[int], list[int]]:
    found = [codes for name, codes in _listed() if name == kind]
    return [begin for begin, _ in found], [end for _, end in found]


@cache
def _listed() -> list[tuple[str, list[int]]]:
    text = files("penstock.backends.native").joinpath("letters.txt").read_text(encoding="ascii")
    parts = [line.split() for line in text.splitlines()]
    return [(kind, [int(code, 16) for code in codes]) for kind, *codes in parts]
