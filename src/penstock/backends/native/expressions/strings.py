"""Functions of texts, which are valid UTF-8 and whose letters are code points, and of bytes."""

from __future__ import annotations

from penstock.backends.native.expressions.casts import cast
from penstock.backends.native.expressions.once import in_order, once
from penstock.backends.native.expressions.site import Rule, Site, any_raises, constant_text, whole_constant
from penstock.backends.native.letters import CAPITAL, SMALL, locale_that_differs, pattern
from penstock.backends.native.proof import Proven
from penstock.backends.native.raised import text_literal
from penstock.backends.native.room import BYTES_OF_LETTER, with_room
from penstock.catalog.types import INTEGRAL, Type
from penstock.plan.forms import Call

_LONGEST = 10_000
_LINE, _ENDS = 76, "chr(13) || chr(10)"
_LONGEST_TEXT = (1 << 31) - 1
_CASES = {
    "lower": ("lower", SMALL),
    "lcase": ("lower", SMALL),
    "upper": ("upper", CAPITAL),
    "ucase": ("upper", CAPITAL),
}
_DIGESTS = {0: "sha256", 256: "sha256"}


def called(function: str, given: Type, *taken: Type) -> Rule:
    """A function that has the same meaning in DuckDB, over values of these types."""

    def rule(site: Site) -> Proven:
        values = of_types(site, *taken)
        return Proven(f"{function}({', '.join(item.text for item in values)})", given, values[0].raises)

    return rule


def of_types(site: Site, *taken: Type) -> tuple[Proven, ...]:
    """The arguments, which have these types; none behind the first can raise."""
    if site.types != taken:
        site.refuse()
    return site.calm().values


def counted(function: str, kind: Type) -> Rule:
    """A length, which DuckDB gives as a BIGINT."""

    def rule(site: Site) -> Proven:
        (value,) = of_types(site, kind)
        return Proven(f"CAST({function}({value.text}) AS INTEGER)", "int", value.raises, (0, _LONGEST_TEXT))

    return rule


def _length(site: Site) -> Proven:
    """Code points of a text, bytes of bytes."""
    function = {"string": "length", "binary": "octet_length"}.get(site.types[0])
    return site.refuse() if function is None else counted(function, site.types[0])(site)


def _octets(site: Site) -> Proven:
    function = {"string": "strlen", "binary": "octet_length"}.get(site.types[0])
    return site.refuse() if function is None else counted(function, site.types[0])(site)


def substring(site: Site) -> Proven:
    """From a place on, counted from 1, from the end where it is below zero, and from 1 where it is zero."""
    value, *numbers = site.calm().values
    if value.type != "string" or any(item.type not in INTEGRAL[:3] for item in numbers):
        site.refuse()
    literals = [whole_constant(form) for form in site.forms[1:]]
    if None not in literals:
        return Proven(from_constants(value, *[item or 0 for item in literals]), "string", value.raises)
    return Proven(once(site.values, from_any), "string", value.raises)


def from_constants(value: Proven, place: int, length: int | None = None) -> str:
    """A part of a text at a constant place."""
    if length is not None and length <= 0:
        return f"substring({value.text}, 1, 0)"
    if place >= 0:
        rest = "" if length is None else f", {length}"
        return f"substring({value.text}, {max(place, 1)}{rest})"
    return once([value], lambda text: from_any(text, str(place), *(() if length is None else (str(length),))))


def from_any(text: str, place: str, length: str = "2147483647") -> str:
    """Spark cuts what lies before the text off the length."""
    behind = f"CASE WHEN {place} < 0 THEN length({text}) + {place} ELSE 0 END"
    start = f"CASE WHEN {place} > 0 THEN CAST({place} AS BIGINT) - 1 ELSE {behind} END"
    end = f"({start}) + {length}"
    kept = f"substring({text}, greatest({start}, 0) + 1, greatest({end} - greatest({start}, 0), 0))"
    return f"CASE WHEN {text} IS NULL OR {place} IS NULL OR {length} IS NULL THEN NULL ELSE {kept} END"


def _in_case(site: Site) -> Proven:
    """Lower and upper: letters that DuckDB knows otherwise are put in their place first, where there are any."""
    (value,) = of_types(site, "string")
    function, placed = _CASES[site.name]
    if isinstance(site.forms[0], Call) and site.forms[0].function in _CASES:
        site.refuse("over another one, which Spark leaves out")
    locale = locale_that_differs()
    if locale:
        site.refuse(f"in the locale {locale}")

    def body(text: str) -> str:
        plain = f"strlen({text}) = length({text}) OR NOT regexp_matches({text}, '{pattern(placed)}')"
        return f"CASE WHEN {plain} THEN {function}({text}) ELSE {function}({placed}({text})) END"

    return Proven(once([value], body), "string", value.raises)


def joined(site: Site) -> Proven:
    """`||` and concat: NULL where any part is; other values as their texts, and lists one behind the other."""
    if site.values and site.types[0].startswith("array<"):
        return _lists_joined(site)
    if not site.values or any(kind.startswith(("array<", "binary", "map<", "struct<")) for kind in site.types):
        site.refuse()
    values = [item if item.type == "string" else cast(item, "string", site.fragment) for item in site.values]
    if any_raises(values[1:]):
        site.refuse("with an argument that can raise")
    return Proven(f"({' || '.join(item.text for item in values)})", "string", values[0].raises)


def _lists_joined(site: Site) -> Proven:
    if len(set(site.types)) > 1:
        site.refuse()

    def behind(*lists: str) -> str:
        some = " OR ".join(f"{item} IS NULL" for item in lists)
        return f"CASE WHEN {some} THEN NULL ELSE list_concat({', '.join(lists)}) END"

    return Proven(in_order(site.values, behind), site.types[0], any_raises(site.values))


def _joined_with(site: Site) -> Proven:
    """concat_ws of texts: those that are NULL are left out."""
    if set(site.types) != {"string"} or any_raises(site.values):
        site.refuse()
    if len(site.values) == 1:
        return Proven(f"substring({site.values[0].text}, 1, 0)", "string")
    return Proven(f"concat_ws({', '.join(item.text for item in site.values)})", "string")


def trimmed(function: str, *, removed_first: bool = False) -> Rule:
    """Blanks, or all letters of a constant, off the ends."""

    def rule(site: Site) -> Proven:
        place = 1 if removed_first and len(site.values) > 1 else 0
        others = [form for number, form in enumerate(site.forms) if number != place]
        removed = constant_text(others[0]) if others else " "
        value = site.values[place]
        if value.type != "string" or not removed or not removed.isascii():
            site.refuse()
        return Proven(f"{function}({value.text}, {text_literal(removed)})", "string", value.raises)

    return rule


def _found(*, text: int, part: int) -> Rule:
    """The place of the first occurrence, counted from 1; 0 for none."""

    def rule(site: Site) -> Proven:
        values = of_types(site, "string", "string")
        place = f"strpos({values[text].text}, {values[part].text})"
        return Proven(f"CAST({place} AS INTEGER)", "int", values[0].raises)

    return rule


def _padded(function: str) -> Rule:
    """Padded with, or cut to, a constant length."""

    def rule(site: Site) -> Proven:
        value = site.values[0]
        length = whole_constant(site.forms[1])
        pad = constant_text(site.forms[2]) if len(site.forms) > 2 else " "  # noqa: PLR2004 - what pads is the third
        if value.type != "string" or length is None or length > _LONGEST or not pad:
            site.refuse()
        text = f"{function}({value.text}, {max(length, 0)}, {text_literal(pad)})"
        return Proven(text, "string", value.raises)

    return rule


def _repeated(site: Site) -> Proven:
    value, _ = of_types(site, "string", "int")
    times = whole_constant(site.forms[1])
    if times is None or times > _LONGEST:
        site.refuse()

    def repeated(text: str) -> str:
        return f"repeat({text}, {with_room(f'strlen({text}) * {max(times, 0) * BYTES_OF_LETTER}', str(max(times, 0)))})"

    return Proven(once([value], repeated), "string", value.raises)


def _reversed(site: Site) -> Proven:
    """By code points, where DuckDB keeps together what is shown as one letter."""
    (value,) = of_types(site, "string")
    letters = f"list_reverse(regexp_extract_all({value.text}, '(?s).'))"
    return Proven(f"array_to_string({letters}, '')", "string", value.raises)


def _part(site: Site) -> Proven:
    """The part at a constant place between constant delimiters."""
    value, _, _ = of_types(site, "string", "string", "int")
    delimiter, place = constant_text(site.forms[1]), whole_constant(site.forms[2])
    if not delimiter or not place:
        site.refuse()
    return Proven(f"split_part({value.text}, {text_literal(delimiter)}, {place})", "string", value.raises)


def _digest(site: Site) -> Proven:
    """sha2 with 256 bits, which 0 says as well."""
    bits = whole_constant(site.forms[1])
    function = None if bits is None else _DIGESTS.get(bits)
    value = site.values[0]
    if function is None or value.type not in ("string", "binary"):
        site.refuse()
    return Proven(f"{function}({value.text})", "string", value.raises)


def _of_either(function: str) -> Rule:
    """Of the bytes of a text, or of bytes."""

    def rule(site: Site) -> Proven:
        (value,) = site.values
        if value.type not in ("string", "binary"):
            site.refuse()
        return Proven(f"{function}({value.text})", "string", value.raises)

    return rule


def _lines(site: Site) -> Proven:
    """base64, in lines of 76 letters; nothing stands behind the last one."""
    (value,) = site.values
    if value.type not in ("string", "binary"):
        site.refuse()
    written = f"base64({value.text if value.type == 'binary' else f'encode({value.text})'})"

    def body(letters: str) -> str:
        lines = f"rtrim(regexp_replace({letters}, '(.{{{_LINE}}})', '\\1' || {_ENDS}, 'g'), {_ENDS})"
        return f"CASE WHEN strlen({letters}) <= {_LINE} THEN {letters} ELSE {lines} END"

    return Proven(once([written], body), "string", value.raises)


def _hexadecimal(site: Site) -> Proven:
    (value,) = site.values
    if value.type in INTEGRAL:
        number = f"CAST(CAST({value.text} AS BIGINT) AS HUGEINT)"
        whole = f"CASE WHEN {number} < 0 THEN {number} + {1 << 64} ELSE {number} END"
        return Proven(f"hex(CAST({whole} AS UBIGINT))", "string", value.raises)
    return _of_either("hex")(site)


RULES: dict[tuple[str, int | None], Rule] = {
    **{(name, 1): _length for name in ("length", "len", "char_length", "character_length")},
    ("octet_length", 1): _octets,
    **{(name, count): substring for name in ("substring", "substr") for count in (2, 3)},
    **{(name, 1): _in_case for name in _CASES},
    ("||", 2): joined,
    ("concat", None): joined,
    ("concat_ws", None): _joined_with,
    **{(name, count): trimmed("trim") for name, count in (("trim", 1), ("btrim", 1), ("btrim", 2), ("trim both", 1))},
    ("trim both", 2): trimmed("trim"),
    ("trim leading", 1): trimmed("ltrim"),
    ("trim leading", 2): trimmed("ltrim"),
    ("trim trailing", 1): trimmed("rtrim"),
    ("trim trailing", 2): trimmed("rtrim"),
    ("ltrim", 1): trimmed("ltrim"),
    ("ltrim", 2): trimmed("ltrim", removed_first=True),
    ("rtrim", 1): trimmed("rtrim"),
    ("rtrim", 2): trimmed("rtrim", removed_first=True),
    ("startswith", 2): called("starts_with", "boolean", "string", "string"),
    ("endswith", 2): called("ends_with", "boolean", "string", "string"),
    ("contains", 2): called("contains", "boolean", "string", "string"),
    ("instr", 2): _found(text=0, part=1),
    **{(name, 2): _found(text=1, part=0) for name in ("locate", "position")},
    **{("lpad", count): _padded("lpad") for count in (2, 3)},
    **{("rpad", count): _padded("rpad") for count in (2, 3)},
    ("repeat", 2): _repeated,
    ("reverse", 1): _reversed,
    ("split_part", 3): _part,
    ("ascii", 1): called("ascii", "int", "string"),
    ("md5", 1): _of_either("md5"),
    ("sha", 1): _of_either("sha1"),
    ("sha1", 1): _of_either("sha1"),
    ("sha2", 2): _digest,
    ("hex", 1): _hexadecimal,
    ("base64", 1): _lines,
}
