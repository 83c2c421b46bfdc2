"""LIKE and regular expressions, of which only what Java and RE2 read alike.

A pattern is read letter by letter; what is not known here (look-around, back references, flags, classes by name,
`.`, `$`, possessive quantifiers, repeated groups) is refused.
"""

from __future__ import annotations

import re

from penstock.backends.native.expressions.site import Rule, Site, constant_text, whole_constant
from penstock.backends.native.expressions.strings import of_types
from penstock.backends.native.proof import Proven
from penstock.backends.native.raised import text_literal

_ESCAPE = "\\"
_PLAIN = r"[A-Za-z0-9 _/:;,=&%@#!~<>'\"-]"
_ESCAPED = r"\\[.\\+*?()\[\]{}|^$/-]|\\d|\\w"
_CLASS = r"\[\^?(?:[A-Za-z0-9 _/:;,=&%@#!~<>'\".+*?()|$]|\\[\\\]\[^-]|\\d|\\w|[A-Za-z0-9]-[A-Za-z0-9])+\]"
_ONE = rf"(?:{_PLAIN}|{_ESCAPED}|{_CLASS})(?:[*+?]\??)?"
_ATOM = re.compile(rf"{_ONE}|[\^|]|\((?:\?:)?|\)(?![*+?{{])")
_SPECIAL = re.compile(r"[\\.\[\]{}()*+?^$|]")


def readable(pattern: str) -> int | None:
    """The number of groups of a pattern that means the same in both; None for one that is not known to."""
    place = groups = depth = 0
    while place < len(pattern):
        found = _ATOM.match(pattern, place)
        if found is None:
            return None
        groups += found[0] == "("
        depth += found[0].startswith("(") - (found[0] == ")")
        if depth < 0:
            return None
        place = found.end()
    return groups if not depth and "&&" not in pattern and _is_one(pattern) else None


def _is_one(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _like(site: Site) -> Proven:
    """LIKE a constant pattern; an escape before any other letter is an error, and is left to Spark."""
    value, pattern = site.values[0], constant_text(site.forms[1])
    escape = constant_text(site.forms[2]) if len(site.forms) > 2 else _ESCAPE  # noqa: PLR2004 - LIKE … ESCAPE
    if value.type != "string" or pattern is None or escape is None or len(escape) != 1 or not escape.isascii():
        site.refuse()
    mark = re.escape(escape)
    if escape in "%_" or not re.fullmatch(rf"(?s)(?:[^{mark}]|{mark}[%_{mark}])*", pattern):
        site.refuse(f"with the pattern {pattern!r}")
    text = f"({value.text} LIKE {text_literal(pattern)} ESCAPE {text_literal(escape)})"
    return Proven(text, "boolean", value.raises)


def _matched(site: Site) -> Proven:
    """RLIKE a constant pattern, anywhere in the text."""
    value, pattern = site.values[0], constant_text(site.forms[1])
    if value.type != "string" or pattern is None or readable(pattern) is None:
        site.refuse(f"with the pattern {pattern!r}")
    return Proven(f"regexp_matches({value.text}, {text_literal(pattern)})", "boolean", value.raises)


def _extracted(site: Site) -> Proven:
    """A group of the first match of a constant pattern; an empty text where there is none."""
    value, pattern = site.values[0], constant_text(site.forms[1])
    group = whole_constant(site.forms[2]) if len(site.forms) > 2 else 1  # noqa: PLR2004 - the group is the third
    groups = None if pattern is None else readable(pattern)
    if value.type != "string" or pattern is None or groups is None or group is None or not 0 <= group <= min(groups, 9):
        site.refuse(f"with the pattern {pattern!r}")
    return Proven(f"regexp_extract({value.text}, {text_literal(pattern)}, {group})", "string", value.raises)


def _split(site: Site) -> Proven:
    """Split at a constant without signs of its own."""
    value, _ = of_types(site, "string", "string")
    delimiter = constant_text(site.forms[1])
    if not delimiter or _SPECIAL.search(delimiter):
        site.refuse(f"with the pattern {delimiter!r}")
    return Proven(f"string_split({value.text}, {text_literal(delimiter)})", "array<string>", value.raises)


RULES: dict[tuple[str, int | None], Rule] = {
    ("like", 2): _like,
    ("like", 3): _like,
    **{(name, 2): _matched for name in ("rlike", "regexp", "regexp_like")},
    ("regexp_extract", 2): _extracted,
    ("regexp_extract", 3): _extracted,
    ("split", 2): _split,
}
