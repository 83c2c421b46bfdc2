"""Times in a format, as `date_format` writes them: numbers of fixed width and what stands between them."""

from __future__ import annotations

import re

from penstock.backends.native.expressions.once import once
from penstock.backends.native.expressions.texts import text_of_time
from penstock.backends.native.proof import Proven
from penstock.backends.native.raised import text_literal

_TOKEN = re.compile(r"([A-Za-z])\1*|'(?:[^']|'')*'|[^A-Za-z'\[\]{}#]+")
_DAY = "%Y-%m-%d"
_SIGNS = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}


def formatted(pattern: str, value: Proven) -> Proven | None:
    """A TIMESTAMP in the format; None for a format that is not proven."""
    tokens = _tokens(pattern)
    if tokens is None:
        return None
    quick = "".join(_SIGNS.get(token, "") if known else token.replace("%", "%%") for token, known in tokens)

    def body(text: str) -> str:
        usual = f"strftime({text}, {text_literal(quick)})"
        if quick == _DAY:
            usual = f"CAST(CAST({text} AS DATE) AS VARCHAR)"  # the same in half the time
        far = text_of_time(text, tokens)
        return f"CASE WHEN year({text}) BETWEEN 1000 AND 9999 THEN {usual} WHEN {text} IS NOT NULL THEN {far} END"

    return Proven(once([value], body), "string", value.raises)


def _tokens(pattern: str) -> list[tuple[str, bool]] | None:
    """The parts of a format, each with whether it is a part of the time."""
    found, place = [], 0
    while place < len(pattern):
        token = _TOKEN.match(pattern, place)
        if token is None or (token[1] and token[0] not in _SIGNS):
            return None
        text = token[0]
        quoted = text.startswith("'")
        found.append((text[1:-1].replace("''", "'") or "'" if quoted else text, bool(token[1])))
        place = token.end()
    return found or None
