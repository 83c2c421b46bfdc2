"""Functions that cut texts into pieces, put others in their place, or make them of numbers."""

from __future__ import annotations

from penstock.backends.native.expressions.once import once
from penstock.backends.native.expressions.site import Rule, Site, constant_text, whole_constant
from penstock.backends.native.expressions.strings import from_any, from_constants, of_types
from penstock.backends.native.proof import Proven
from penstock.backends.native.raised import text_literal
from penstock.backends.native.room import BYTES_OF_LETTER, with_room
from penstock.catalog.types import INTEGRAL

_LAST_BYTE = 255


def _length(site: Site) -> Proven:
    """The second argument, a number of letters."""
    _, length = site.calm().values
    if site.types[0] != "string" or length.type not in INTEGRAL[:3]:
        site.refuse()
    return length


def _left(site: Site) -> Proven:
    value, length = site.values[0], _length(site)
    literal = whole_constant(site.forms[1])
    if literal is None:
        return Proven(once([value, length], lambda text, count: from_any(text, "1", count)), "string", value.raises)
    return Proven(f"substring({value.text}, 1, {max(literal, 0)})", "string", value.raises)


def _right(site: Site) -> Proven:
    value, length = site.values[0], _length(site)
    literal = whole_constant(site.forms[1])
    if literal is None:
        return Proven(once([value, length], _from_the_end), "string", value.raises)
    text = f"substring({value.text}, 1, 0)" if literal <= 0 else from_constants(value, -literal)
    return Proven(text, "string", value.raises)


def _from_the_end(text: str, count: str) -> str:
    return f"CASE WHEN {count} <= 0 THEN substring({text}, 1, 0) ELSE {from_any(text, f'(-{count})')} END"


def _replaced(site: Site) -> Proven:
    """Every occurrence of a text; of an empty one there is none."""
    if set(site.types) != {"string"}:
        site.refuse()
    value, searched, *others = site.calm().values
    if not others:
        return Proven(f"replace({value.text}, {searched.text}, '')", "string", value.raises)

    def body(text: str, part: str, other: str) -> str:
        most = f"strlen({text}) * CAST(strlen({other}) AS BIGINT) // greatest(strlen({part}), 1) * {BYTES_OF_LETTER}"
        return f"replace({text}, {part}, {with_room(most, other)})"

    return Proven(once([value, searched, *others], body), "string", value.raises)


def _translated(site: Site) -> Proven:
    """Letters for letters, of constants: the first of several places of a letter counts."""
    value, *_ = of_types(site, "string", "string", "string")
    searched, others = constant_text(site.forms[1]), constant_text(site.forms[2])
    if searched is None or others is None:
        site.refuse("with a text that is no constant")
    kept = list(dict.fromkeys(searched))
    into = "".join(others[searched.index(letter)] for letter in kept if searched.index(letter) < len(others))
    into_some = [letter for letter in kept if searched.index(letter) < len(others)]
    into_none = [letter for letter in kept if searched.index(letter) >= len(others)]
    letters = text_literal("".join(into_some + into_none))
    return Proven(f"translate({value.text}, {letters}, {text_literal(into)})", "string", value.raises)


def _until(site: Site) -> Proven:
    """substring_index: all before the so-manieth delimiter, or behind it from the end.

    Spark also finds delimiters that share letters: one that can do so is refused.
    """
    value, *_ = of_types(site, "string", "string", "int")
    delimiter, count = constant_text(site.forms[1]), whole_constant(site.forms[2])
    if not delimiter or count is None or any(delimiter[:n] == delimiter[-n:] for n in range(1, len(delimiter))):
        site.refuse("with such a delimiter")
    mark = text_literal(delimiter)
    if not count:
        return Proven(f"substring({value.text}, 1, 0)", "string", value.raises)
    part = f"[:{count}]" if count > 0 else f"[{count}:]"

    def body(text: str) -> str:
        return f"CASE WHEN {text} = '' THEN '' ELSE array_to_string(string_split({text}, {mark}){part}, {mark}) END"

    return Proven(once([value], body), "string", value.raises)


def _overlaid(site: Site) -> Proven:
    """A text in the place of some letters, at constant places."""
    value, new, *_ = site.calm().values
    place, *lengths = (whole_constant(form) for form in site.forms[2:])
    if value.type != "string" or new.type != "string" or place is None or place < 1 or None in lengths:
        site.refuse()
    length = lengths[0] if lengths and lengths[0] is not None and lengths[0] >= 0 else None

    def body(text: str, other: str) -> str:
        behind = f"{place} + length({other})" if length is None else str(place + length)
        return f"(substring({text}, 1, {place - 1}) || {other} || substring({text}, {behind}))"

    return Proven(once([value, new], body), "string", value.raises)


def _letter(site: Site) -> Proven:
    """chr: the letter of the last byte of a number, none below zero."""
    (value,) = site.values
    if value.type not in INTEGRAL:
        site.refuse()
    text = once(
        [value],
        lambda number: (
            f"CASE WHEN {number} < 0 THEN '' WHEN {number} IS NOT NULL"
            f" THEN chr(CAST(CAST({number} AS BIGINT) & {_LAST_BYTE} AS INTEGER)) END"
        ),
    )
    return Proven(text, "string", value.raises)


def _bytes(site: Site) -> Proven:
    """unhex: NULL for anything but hexadecimal digits, of which the first may be half a byte."""
    (value,) = of_types(site, "string")

    def body(text: str) -> str:
        whole = f"CASE WHEN length({text}) % 2 = 1 THEN '0' ELSE '' END || {text}"
        return f"CASE WHEN regexp_full_match({text}, '[0-9a-fA-F]*') THEN unhex({whole}) END"

    return Proven(once([value], body), "binary", value.raises)


def _bits(site: Site) -> Proven:
    (value,) = site.values
    function = {"string": "strlen", "binary": "octet_length"}.get(value.type)
    if function is None:
        site.refuse()
    return Proven(f"CAST({function}({value.text}) * 8 AS INTEGER)", "int", value.raises)


def _found_behind(site: Site) -> Proven:
    """Locate from a constant place on: an empty text is found at once."""
    part, value, _ = of_types(site, "string", "string", "int")
    place = whole_constant(site.forms[2])
    if place is None:
        site.refuse("from a place that is no constant")
    if place < 1:
        text = once([part, value], lambda one, two: f"CASE WHEN {one} IS NULL OR {two} IS NULL THEN NULL ELSE 0 END")
        return Proven(f"CAST({text} AS INTEGER)", "int", part.raises)

    def body(one: str, two: str) -> str:
        found = f"strpos(substring({two}, {place}), {one})"
        behind = f"CASE WHEN {found} > 0 THEN {found} + {place - 1} ELSE {found} END"
        return f"CAST(CASE WHEN {one} = '' AND {two} IS NOT NULL THEN 1 ELSE {behind} END AS INTEGER)"

    return Proven(once([part, value], body), "int", part.raises)


RULES: dict[tuple[str, int | None], Rule] = {
    ("left", 2): _left,
    ("right", 2): _right,
    ("replace", 2): _replaced,
    ("replace", 3): _replaced,
    ("translate", 3): _translated,
    ("substring_index", 3): _until,
    ("overlay", 3): _overlaid,
    ("overlay", 4): _overlaid,
    ("chr", 1): _letter,
    ("char", 1): _letter,
    ("unhex", 1): _bytes,
    ("bit_length", 1): _bits,
    ("locate", 3): _found_behind,
}
