"""MAPs: the value of a key, their parts, and MAPs that are made of values, of lists, of other MAPs.

A MAP that is made has no key that is NULL, and none twice: the first one in it that is raises what Spark raises, with
the key as Spark's own memory holds it (a DATE as its days, a TIMESTAMP as its microseconds).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.backends.native.expressions.coercion import alike
from penstock.backends.native.expressions.kinds import storage
from penstock.backends.native.expressions.once import applied, in_order, once
from penstock.backends.native.expressions.site import Rule, Site, any_raises, constant_text, whole_constant
from penstock.backends.native.proof import Proven, not_proven
from penstock.backends.native.raised import Failure, said, text_literal
from penstock.catalog.types import FRACTIONAL, INTEGRAL, Type, split_types, struct_fields, struct_type
from penstock.plan.forms import Form
from penstock.plan.writing import text_of

_PAIR = 2
_TWICE = "Duplicate map key {key} was found, please check the input data."
_NO_KEY = "Cannot use null as map key."
_APART = "The key array and value array of MapData must have the same length."
# A key as the sentence has it.
_SHOWN: dict[Type, str] = {
    **dict.fromkeys((*INTEGRAL, "string"), "{key}"),
    "boolean": "CAST({key} AS VARCHAR)",
    "date": "date_diff('day', DATE '1970-01-01', {key})",
    **dict.fromkeys(("timestamp", "timestamp_ntz"), "epoch_us({key})"),
}


def entry_types(kind: Type) -> tuple[Type, Type] | None:
    """The types of the keys and the values of a MAP."""
    parts = split_types(kind[4:-1]) if kind.startswith("map<") else []
    return (parts[0], parts[1]) if len(parts) == _PAIR else None


def _entry_types(site: Site) -> tuple[Type, Type]:
    """Those of the first argument."""
    return entry_types(site.types[0]) or site.refuse()


# What is in a MAP


def _key_within(site: Site) -> Proven:
    """A key that is looked for, of the type that the keys of a MAP have; no key is NULL."""
    of_key, _ = _entry_types(site)
    _, wanted = site.calm().values
    wider = of_key in INTEGRAL and wanted.type in INTEGRAL and INTEGRAL.index(wanted.type) <= INTEGRAL.index(of_key)
    if of_key in FRACTIONAL or "<" in of_key or not (wider or wanted.type == of_key):
        site.refuse()
    return Proven(f"CAST({wanted.text} AS {storage(of_key)})", of_key)


def of_key(site: Site) -> Proven:
    """The value of a key, NULL where it is not there."""
    wanted, (_, of_value) = _key_within(site), _entry_types(site)
    return Proven(f"map_extract_value({site.values[0].text}, {wanted.text})", of_value, site.values[0].raises)


def of_name(name: str, value: Proven) -> Proven:
    """`m.name`: the value of the key that is that text."""
    _, of_value = split_types(value.type[4:-1])
    return Proven(f"map_extract_value({value.text}, {text_literal(name)})", of_value, value.raises)


def _contains_key(site: Site) -> Proven:
    wanted = _key_within(site)
    return Proven(f"map_contains({site.values[0].text}, {wanted.text})", "boolean", site.values[0].raises)


def _keys(site: Site) -> Proven:
    key, _ = _entry_types(site)
    return Proven(f"map_keys({site.values[0].text})", f"array<{key}>", site.values[0].raises)


def _values(site: Site) -> Proven:
    _, value = _entry_types(site)
    return Proven(f"map_values({site.values[0].text})", f"array<{value}>", site.values[0].raises)


def _entries(site: Site) -> Proven:
    kind = struct_type(zip(("key", "value"), _entry_types(site), strict=True))
    return Proven(f"map_entries({site.values[0].text})", f"array<{kind}>", site.values[0].raises)


# MAPs that are made


def _made(keys: str, of_key: Type, made: str) -> str:
    """SQL of a MAP, or of the error of the first key that is NULL or has been there before; `keys` are not NULL."""
    sentence = said(_TWICE, key=_SHOWN[of_key].format(key=f"{keys}[__place]"))
    sentence = f"split_part({sentence}, chr(10), 1)" if of_key == "string" else sentence  # the first line is shown
    twice = Failure("DUPLICATED_MAP_KEY", "23505", sentence)
    none = Failure("NULL_MAP_KEY", "2200E", text_literal(_NO_KEY))

    def is_wrong(place: str) -> str:
        return f"{keys}[{place}] IS NULL OR list_position({keys}, {keys}[{place}]) < {place}"

    first = f"{applied('list_filter', f'range(1, len({keys}) + 1)', is_wrong)}[1]"

    def raising(place: str) -> str:
        repeated = twice.raising.replace("__place", place)
        return f"CASE WHEN {keys}[{place}] IS NULL THEN {none.raising} ELSE {repeated} END"

    return f"CASE WHEN len({keys}) > len(list_distinct({keys})) THEN {once([first], raising)} ELSE {made} END"


def _require_keys(site: Site, kind: Type) -> None:
    if kind not in _SHOWN:
        site.refuse(f"with keys of type {kind}")


def _map(site: Site) -> Proven:
    """MAP of keys and values in turn."""
    keys, values = (alike(site, site.forms[at::2], site.values[at::2]) for at in (0, 1))
    if not keys or len(keys) != len(values) or "void" in (keys[0].type, values[0].type):
        site.refuse()
    _require_keys(site, keys[0].type)
    kind = f"map<{keys[0].type},{values[0].type}>"
    listed = f"list_value({', '.join(value.text for value in values)})"
    given = f"list_value({', '.join(key.text for key in keys)})"
    if _are_apart(site.forms[::2]):
        return Proven(f"map({given}, {listed})", kind, any_raises([*keys, *values]))
    if any_raises([*keys, *values]):
        site.refuse("with an argument that can raise")
    return Proven(once([given], lambda known: _made(known, keys[0].type, f"map({known}, {listed})")), kind, raises=True)


def _are_apart(keys: Sequence[Form]) -> bool:
    """True if all keys are written, all as texts or all as numbers, and no two of them are one."""
    texts, numbers = ({known(key) for key in keys} - {None} for known in (constant_text, whole_constant))
    return len(keys) in (len(texts), len(numbers))


def _from_arrays(site: Site) -> Proven:
    """The keys of one list with the values of another one."""
    kinds = [kind[6:-1] for kind in site.types if kind.startswith("array<")]
    if len(kinds) != _PAIR:
        site.refuse()
    _require_keys(site, kinds[0])

    def body(keys: str, values: str) -> str:
        apart = Failure("_LEGACY_ERROR_TEMP_2128", "", text_literal(_APART)).raising
        made = _made(keys, kinds[0], f"map({keys}, {values})")
        return (
            f"CASE WHEN {keys} IS NULL OR {values} IS NULL THEN NULL WHEN len({keys}) <> len({values}) THEN {apart}"
            f" ELSE {made} END"
        )

    return Proven(in_order(site.values, body), f"map<{kinds[0]},{kinds[1]}>", raises=True)


def _from_entries(site: Site) -> Proven:
    """The first fields of a list of STRUCTs with their second ones; NULL where one of these is NULL."""
    (value,) = site.values
    fields = struct_fields(value.type[6:-1]) if value.type.startswith("array<struct<") else []
    if len(fields) != _PAIR:
        site.refuse()
    (key, of_key), (_, of_value) = fields
    _require_keys(site, of_key)

    def body(entries: str) -> str:
        keys = applied("list_transform", entries, lambda entry: f"struct_extract({entry}, {text_literal(key)})")
        made = once([keys], lambda known: _made(known, of_key, f"map_from_entries({entries})"))
        return f"CASE WHEN {entries} IS NULL OR len({entries}) > list_count({entries}) THEN NULL ELSE {made} END"

    return Proven(once([value], body), f"map<{of_key},{of_value}>", raises=True)


def _concatenated(site: Site) -> Proven:
    """The entries of one MAP behind those of another; NULL where one of these is NULL."""
    if not site.forms:
        site.refuse()
    kinds = set(site.calm().types)
    of_key, _ = _entry_types(site)
    if len(kinds) > 1:
        site.refuse()
    _require_keys(site, of_key)

    def body(*maps: str) -> str:
        missing = " OR ".join(f"{each} IS NULL" for each in maps)
        keys = f"list_concat({', '.join(f'map_keys({each})' for each in maps)})"
        entries = f"list_concat({', '.join(f'map_entries({each})' for each in maps)})"
        made = once([keys], lambda known: _made(known, of_key, f"map_from_entries({entries})"))
        return f"CASE WHEN {missing} THEN NULL ELSE {made} END"

    return Proven(once(site.values, body), site.types[0], raises=True)


# Lambdas


def changed(form: Form, function: str, value: Proven, body: Callable[[Proven, Proven], Proven]) -> Proven:
    """`map_filter`, `transform_keys` and `transform_values`, with a lambda of a key and its value."""
    kinds = entry_types(value.type)
    if kinds is None:
        not_proven(f"a lambda over {value.type}")
    of_key, of_value = kinds

    def of_entry(entry: str) -> str:
        return body(Proven(f"{entry}.key", of_key), Proven(f"{entry}.value", of_value)).text

    made = body(Proven("NULL", of_key), Proven("NULL", of_value))
    raises = value.raises or made.raises
    if function == "map_filter":
        if made.type != "boolean":
            not_proven(f"map_filter by {made.type}")
        kept = applied("list_filter", f"map_entries({value.text})", of_entry)
        return Proven(f"map_from_entries({kept})", value.type, raises)
    if made.type == "void":
        not_proven(text_of(form))
    if function == "transform_values":

        def with_values(known: str) -> str:
            return f"map(map_keys({known}), {applied('list_transform', f'map_entries({known})', of_entry)})"

        return Proven(once([value], with_values), f"map<{of_key},{made.type}>", raises)
    if made.type not in _SHOWN:
        not_proven(f"keys of type {made.type} in {text_of(form)}")

    def with_keys(known: str) -> str:
        keys = applied("list_transform", f"map_entries({known})", of_entry)
        found = once([keys], lambda new: _made(new, made.type, f"map({new}, map_values({known}))"))
        return f"CASE WHEN {known} IS NOT NULL THEN {found} END"

    return Proven(once([value], with_keys), f"map<{made.type},{of_value}>", raises=True)


RULES: dict[tuple[str, int | None], Rule] = {
    ("map_contains_key", 2): _contains_key,
    ("map_keys", 1): _keys,
    ("map_values", 1): _values,
    ("map_entries", 1): _entries,
    ("map", None): _map,
    ("map_from_arrays", 2): _from_arrays,
    ("map_from_entries", 1): _from_entries,
    ("map_concat", None): _concatenated,
}
