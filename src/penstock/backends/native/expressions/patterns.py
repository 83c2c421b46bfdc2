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
_GROUP = re.compile(r"\$(\d)(?!\d)")
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


def _found(site: Site) -> Proven:
    """regexp_substr: the first match, NULL where there is none or it is empty."""
    value, pattern = of_types(site, "string", "string")[0], constant_text(site.forms[1])
    if pattern is None or readable(pattern) is None:
        site.refuse(f"with the pattern {pattern!r}")
    return Proven(f"nullif(regexp_extract({value.text}, {text_literal(pattern)}, 0), '')", "string", value.raises)


def _consuming(pattern: str | None) -> int | None:
    """The groups of a pattern no match of which is empty: behind one, Java and RE2 go on at different places."""
    groups = None if pattern is None else readable(pattern)
    return None if groups is None or pattern is None or re.search(pattern, "") else groups


def _counted(site: Site) -> Proven:
    """regexp_count."""
    value, pattern = of_types(site, "string", "string")[0], constant_text(site.forms[1])
    if pattern is None or _consuming(pattern) is None:
        site.refuse(f"with the pattern {pattern!r}")
    found = f"regexp_extract_all({value.text}, {text_literal(pattern)})"
    return Proven(f"CAST(length({found}) AS INTEGER)", "int", value.raises)


def _replaced(site: Site) -> Proven:
    """regexp_replace with a constant, in which `$1` is a group."""
    value, _, _ = of_types(site, "string", "string", "string")
    pattern, other = constant_text(site.forms[1]), constant_text(site.forms[2])
    groups = _consuming(pattern)
    if pattern is None or other is None or groups is None:
        site.refuse(f"with the pattern {pattern!r}")
    pieces = _GROUP.split(other)
    plain, named = pieces[::2], [int(item) for item in pieces[1::2]]
    if any("$" in item or "\\" in item for item in plain) or any(item > groups for item in named):
        site.refuse(f"with {other!r}")
    text = plain[0] + "".join(f"\\{group}{rest}" for group, rest in zip(named, plain[1:], strict=True))
    made = f"regexp_replace({value.text}, {text_literal(pattern)}, {text_literal(text)}, 'g')"
    return Proven(made, "string", value.raises)


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
    ("regexp_substr", 2): _found,
    ("regexp_count", 2): _counted,
    ("regexp_replace", 3): _replaced,
    ("split", 2): _split,
}
