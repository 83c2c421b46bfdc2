r"""The meaning of a backslash in the texts of a dialect, and in its patterns of LIKE.

| dialect | in a text | in LIKE without ESCAPE |
| --- | --- | --- |
| Spark | `\d` is d, `\n` a line end | an escape before `%`, `_` and itself, an error elsewhere |
| Timeplus | a known escape, else a character: `\d` is itself | an escape before `%`, `_` and itself |
| standard SQL | a character | a character |

A text whose value is known is written for Spark by its value; in Spark's own dialect it keeps its spelling.
"""

from __future__ import annotations

import re

from sqlglot import exp

from penstock.sql.dialects.rewriting import call
from penstock.sql.rules import Backslash

_KNOWN = {"a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_PLAIN = frozenset("\\`\"'/")
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|(.))|''", re.DOTALL)
_NOT_ESCAPING = re.compile(r"\\(?![%_\\])|\\\\", re.DOTALL)


def keep_escapes(literal: exp.Literal, source: str, backslash: Backslash) -> None:
    """Leave a text with its spelling in the program, or its value where that is not Spark's."""
    start, end = literal.meta.get("start"), literal.meta.get("end")
    if start is None or end is None or backslash == "character":
        return
    written = source[start : end + 1]
    if "\\" not in written or written[:1] not in {"'", '"'} or written[0] != written[-1]:
        return
    if backslash == "escape":
        literal.meta["raw"] = written
    else:
        literal.set("this", _ESCAPE.sub(_unescaped, written[1:-1]))


def _unescaped(found: re.Match[str]) -> str:
    code, sign = found.groups()
    if code:
        return chr(int(code, 16))
    if sign is None:
        return "'"
    if sign in _KNOWN:
        return _KNOWN[sign]
    return sign if sign in _PLAIN else f"\\{sign}"


def with_plain_backslashes(node: exp.Binary, backslash: Backslash) -> None:
    """Write the patterns of a LIKE so that Spark takes each backslash for what it is in the dialect."""
    around = node.parent if not isinstance(node.parent, exp.Not) else node.parent.parent
    if isinstance(around, exp.Escape) and around.this in (node, node.parent):
        return
    pattern: exp.Expression = node.expression
    several = pattern.this.unnest() if isinstance(pattern, exp.Any | exp.All) else None
    for item in several.expressions if isinstance(several, exp.Tuple) else [pattern]:
        if isinstance(item, exp.Literal):
            item.set("this", _doubled(item.name, backslash))
        elif not isinstance(item, exp.Any | exp.All | exp.Null):
            item.replace(_doubled_later(item, backslash))


def _doubled(pattern: str, backslash: Backslash) -> str:
    if backslash == "character":
        return pattern.replace("\\", "\\\\")
    return _NOT_ESCAPING.sub(r"\\\\", pattern)


def _doubled_later(pattern: exp.Expression, backslash: Backslash) -> exp.Expression:
    """The same for a pattern that each row has."""
    text = exp.Literal.string
    if backslash == "character":
        return call("replace", pattern.copy(), text("\\"), text("\\\\"))
    return call("regexp_replace", pattern.copy(), text(_NOT_ESCAPING.pattern), text("\\\\\\\\"))
