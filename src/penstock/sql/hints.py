"""Hints, `/*+ … */`: those that say how an engine runs a query change no answer, and a warning names each of them.

They may stand where Spark has them, behind SELECT, and where Flink has them, behind a table. A hint that would change
what is read is refused, and so is one that nobody has.
"""

from __future__ import annotations

import re

from penstock.catalog.word_list import word_list
from penstock.errors import Diagnostic, PenstockError, Span, SqlError, UnsupportedError, did_you_mean

# Of Spark, of Flink and of Feldera.
_HINTS = frozenset(
    word_list(
        """
        BROADCAST BROADCASTJOIN MAPJOIN MERGE MERGEJOIN SHUFFLE_MERGE SHUFFLE_HASH SHUFFLE_REPLICATE_NL
        COALESCE REPARTITION REPARTITION_BY_RANGE REBALANCE SKEW RANGE_JOIN
        NEST_LOOP MULTI_JOIN LOOKUP STATE_TTL SHARD BALANCE
        """
    )
)
_WHY = {
    "STATE_TTL": "state is forgotten behind LATENESS, where no answer can need it any more",
    "LOOKUP": "a look-up reads what is there in its step",
}
_HINT = re.compile(r"\s*(?P<name>\w+)\s*(?P<arguments>\((?:[^()']|'[^']*')*\))?\s*(?P<comma>,?)")
_OPTIONS = "CREATE TABLE … WITH ('key' = 'value') says how a table is read; a table with other options is another one"


def read_hint(text: str, start: int, end: int) -> list[Diagnostic]:
    """The warnings for the hints in the comment `/*+ … */` from `start` to `end`; raises for one that is not read."""
    place, stop = start + len("/*+"), end - len("*/")
    warnings: list[Diagnostic] = []
    while text[place:stop].strip():
        found = _HINT.match(text, place, stop)
        if found is None or (found["comma"] and not text[found.end() : stop].strip()):
            raise _broken(Span(start, end))
        span = Span(found.start("name"), found.end("arguments") if found["arguments"] else found.end("name"))
        warnings.append(_warning(found["name"], span))
        place = found.end()
    return warnings


def _broken(span: Span) -> SqlError:
    message, hint = "this hint cannot be read", "a hint is a name, and arguments in parentheses: /*+ BROADCAST(t) */"
    return SqlError(Diagnostic("SYNTAX_ERROR", message, span, hint=hint))


def _warning(name: str, span: Span) -> Diagnostic:
    upper = name.upper()
    if upper == "OPTIONS":
        raise UnsupportedError(Diagnostic("UNSUPPORTED", "the hint OPTIONS is not supported", span, hint=_OPTIONS))
    if upper not in _HINTS:
        raise _unknown(name, span)
    why = _WHY.get(upper, "it says how an engine runs a query, which changes no answer")
    return Diagnostic("NO_MEANING", f"the hint {upper} has no meaning here", span, hint=why, severity="warning")


def _unknown(name: str, span: Span) -> PenstockError:
    candidates = did_you_mean(name.upper(), sorted(_HINTS))
    hint = "leave the hint out, or write a plain comment: /* … */"
    return SqlError(Diagnostic("UNKNOWN_HINT", f"there is no hint {name[:60]}", span, candidates, hint))
