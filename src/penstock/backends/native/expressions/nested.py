"""Parts of structs and arrays, and structs and arrays of values; those of MAPs by their keys (maps)."""

from __future__ import annotations

from collections.abc import Callable

from penstock.backends.native.expressions.arithmetic import overflowed
from penstock.backends.native.expressions.coercion import alike
from penstock.backends.native.expressions.kinds import RANGE, common, storage
from penstock.backends.native.expressions.maps import of_key, of_name
from penstock.backends.native.expressions.once import applied, in_order, once, ordered, reduced
from penstock.backends.native.expressions.site import Rule, Site, any_raises, constant_text, whole_constant, whole_value
from penstock.backends.native.proof import Proven, not_proven, quoted
from penstock.backends.native.raised import Failure, said, text_literal
from penstock.backends.native.room import BYTES_OF_ELEMENT, with_room
from penstock.catalog.sorting import is_sorted
from penstock.catalog.types import FRACTIONAL, INTEGRAL, TEMPORAL, is_decimal, struct_fields, struct_type
from penstock.plan.forms import Call, Constant, FieldOf, Form, Lambda, Named, Parameter, Reference
from penstock.plan.writing import text_of

_BOUNDS = "The index {index} is out of bounds. The array has {size} elements. Use"
_GET = "the SQL function `get()` to tolerate accessing element at invalid index and return NULL instead."
_TRY = "`try_element_at` to tolerate accessing element at invalid index and return NULL instead."
_ZERO = "The index 0 is invalid. An index shall be either < 0 or > 0 (the first element has index 1)."
_NEVER = "Illegal sequence boundaries: {first} to {last} by {step}"
_LONGEST = 2_147_483_632
_TOO_LONG = (
    f"Can't create array with {{count}} elements which exceeding the array size limit {_LONGEST},"
    " the value of parameter(s) `count` in the function `sequence` is invalid."
)
_WITH_STEP = 3
_SORTED = frozenset([*INTEGRAL, *FRACTIONAL, *TEMPORAL, "boolean", "string", "binary"])


def field(form: FieldOf, value: Proven) -> Proven:
    """A field of a STRUCT, NULL of one that is NULL; of a MAP with texts as keys the value of that one."""
    if value.type.startswith("map<string,"):
        return of_name(form.name, value)
    found = [of for name, of in struct_fields(value.type) if name.lower() == form.name.lower()]
    names = [name for name, _ in struct_fields(value.type) if name.lower() == form.name.lower()]
    if not value.type.startswith("struct<") or len(found) != 1:
        not_proven(f"the field {form.name} of {value.type}")
    return Proven(f"struct_extract({value.text}, {text_literal(names[0])})", found[0], value.raises)


def mapped(form: Form, values: Proven, body: Callable[[Proven], Proven]) -> Proven:
    """Transform and filter with a lambda of the element alone."""
    if not isinstance(form, Call) or not values.type.startswith("array<"):
        not_proven(f"a lambda over {values.type}")
    element = values.type[6:-1]
    made = body(Proven("NULL", element))
    if form.function == "filter" and made.type != "boolean":
        not_proven(f"filter by {made.type}")
    function = "list_transform" if form.function == "transform" else "list_filter"
    text = applied(function, values.text, lambda name: body(Proven(name, element)).text)
    given = f"array<{made.type}>" if form.function == "transform" else values.type
    storage(given)
    return Proven(text, given, values.raises or made.raises)


def folded(
    form: Form,
    values: Proven,
    initial: Proven,
    merged: Callable[[Proven, Proven], Proven],
    ended: Callable[[Proven], Proven],
) -> Proven:
    """Aggregate with a lambda of what there is and the next element, and one of what there is at the end."""
    if not values.type.startswith("array<"):
        not_proven(f"a lambda over {values.type}")
    element = values.type[6:-1]
    made = merged(Proven("NULL", initial.type), Proven("NULL", element))
    if made.type != initial.type:
        not_proven(f"{text_of(form)}, which makes a {made.type} of a {initial.type}")
    start = f"CAST({initial.text} AS {storage(initial.type)})"

    def body(known: str, item: str) -> str:
        found = merged(Proven(known, initial.type), Proven(item, element)).text
        return f"CAST({found} AS {storage(initial.type)})"

    given = once([values], lambda items: f"CASE WHEN {items} IS NOT NULL THEN {reduced(items, start, body)} END")
    end = ended(Proven("NULL", initial.type))
    text = once(
        [given], lambda known: f"CASE WHEN {known} IS NOT NULL THEN {ended(Proven(known, initial.type)).text} END"
    )
    storage(end.type)
    return Proven(text, end.type, values.raises or initial.raises or made.raises or end.raises)


def element_type(site: Site) -> str:
    """The type of the elements of the first argument."""
    kind = site.types[0]
    if not kind.startswith("array<"):
        site.refuse()
    return kind[6:-1]


def _element(site: Site) -> Proven:
    """`x[i]`, counted from 0; another place raises. Of a MAP the value of a key, NULL where it is not there."""
    if site.types[0].startswith("map<"):
        return of_key(site)
    kind = element_type(site)
    if site.types[1] not in INTEGRAL[:3]:
        site.refuse()

    def body(array: str, index: str) -> str:
        failure = _out_of_bounds(site, "INVALID_ARRAY_INDEX", f"{_BOUNDS} {_GET}", index, array)
        inside = f"{index} < 0 OR {index} >= len({array})"
        return f"CASE WHEN {inside} THEN {failure.raising} ELSE list_extract({array}, CAST({index} AS BIGINT) + 1) END"

    return Proven(in_order(site.values, body), kind, raises=True)


def _element_at(site: Site) -> Proven:
    """element_at, counted from 1, and from the end below zero. Of a MAP the value of a key."""
    if site.types[0].startswith("map<"):
        return of_key(site)
    kind = _counted_type(site)
    zero = Failure("INVALID_INDEX_OF_ZERO", "22003", said(_ZERO), site.fragment)

    def body(array: str, index: str) -> str:
        sentence = f"{_BOUNDS} {_TRY}"
        failure = _out_of_bounds(site, "INVALID_ARRAY_INDEX_IN_ELEMENT_AT", sentence, index, array)
        outside = f"len({array}) < abs(CAST({index} AS BIGINT)) THEN {failure.raising}"
        none = f"{index} = 0 AND {array} IS NOT NULL THEN {zero.raising}"
        return f"CASE WHEN {outside} WHEN {none} ELSE {_counted(array, index)} END"

    return Proven(in_order(site.values, body), kind, raises=True)


def _try_element_at(site: Site) -> Proven:
    """The same, NULL where there is no such place; place 0 is an error, with which Spark names no expression."""
    if site.types[0].startswith("map<"):
        return of_key(site)
    kind = _counted_type(site)
    place = whole_constant(site.forms[1])
    zero = Failure("INVALID_INDEX_OF_ZERO", "22003", said(_ZERO))

    def body(array: str, index: str) -> str:
        found = _counted(array, index)
        return found if place else f"CASE WHEN {index} = 0 AND {array} IS NOT NULL THEN {zero.raising} ELSE {found} END"

    return Proven(in_order(site.values, body), kind, any_raises(site.values) or not place)


def _counted_type(site: Site) -> str:
    """The type of the elements of an ARRAY in which a place is counted from 1."""
    if site.types[1] not in INTEGRAL[:3]:
        site.refuse()
    return element_type(site)


def _counted(array: str, index: str) -> str:
    return f"list_extract({array}, CAST({index} AS BIGINT))"


def _out_of_bounds(site: Site, code: str, sentence: str, index: str, array: str) -> Failure:
    return Failure(code, "22003", said(sentence, index=index, size=f"len({array})"), site.fragment)


def _get(site: Site) -> Proven:
    """get, counted from 0; NULL at another place."""
    kind = element_type(site)
    if site.types[1] not in INTEGRAL[:3]:
        site.refuse()

    def body(array: str, index: str) -> str:
        return f"CASE WHEN {index} >= 0 THEN list_extract({array}, CAST({index} AS BIGINT) + 1) END"

    return Proven(in_order(site.values, body), kind, any_raises(site.values))


def _size(site: Site) -> Proven:
    (value,) = site.values
    if value.type.startswith("map<") and site.name != "array_size":
        return Proven(f"CAST(cardinality({value.text}) AS INTEGER)", "int", value.raises)
    element_type(site)
    return Proven(f"CAST(len({value.text}) AS INTEGER)", "int", value.raises)


def _sorted_entries(site: Site) -> Proven:
    """`array_sort(map_entries(m))`: by the keys, no two of which are equal. In other arrays NULLs are last."""
    (value,) = site.values
    if not _begins_with_keys(site.forms[0]):
        return _in_order(site, "ASC NULLS LAST")
    kind_of_key = struct_fields(value.type[6:-1])[0][1]
    if "<" in kind_of_key or not is_sorted(value.type):
        site.refuse()
    return Proven(f"list_sort({value.text})", value.type, value.raises)


def _begins_with_keys(form: Form) -> bool:
    """True for the entries of a MAP, or structs of which each has the key of another one at its beginning."""
    match form:
        case Call("map_entries"):
            return True
        case Call("transform", (Call("map_entries"), Lambda((name,), Call("struct", (first, *_))))):
            key = first.value if isinstance(first, Named) else first
            return key == FieldOf(Parameter(name), "key")
    return False


def _sorted(site: Site) -> Proven:
    """sort_array, upwards with NULLs first, or downwards with NULLs last."""
    if len(site.forms) > 1 and not (isinstance(site.forms[1], Constant) and site.types[1] == "boolean"):
        site.refuse("in an order that is no constant")
    down = len(site.forms) > 1 and site.forms[1] == Constant("false", "boolean")
    return _in_order(site, "DESC NULLS LAST" if down else "ASC NULLS FIRST")


def _in_order(site: Site, direction: str) -> Proven:
    """The elements sorted; both zeros are equal, and equal ones stay in their order."""
    array, kind = site.values[0], element_type(site)
    if kind not in _SORTED and not is_decimal(kind):
        site.refuse()
    if kind not in FRACTIONAL:
        way, nulls = direction.split(" ", 1)
        return Proven(f"list_sort({array.text}, '{way}', '{nulls}')", array.type, array.raises)

    def sort_key(item: str) -> str:
        return f"create_sort_key(CASE WHEN {item} = 0 THEN abs({item}) ELSE {item} END, '{direction}')"

    def in_turn(items: str) -> str:
        return f"CASE WHEN {items} IS NOT NULL THEN {ordered(items, sort_key)} END"

    return Proven(once([array], in_turn), array.type, array.raises)


def _contains(site: Site) -> Proven:
    """NULL where the value is not found, and an element is NULL."""
    kind = element_type(site)
    array, value = site.calm().values
    if kind in FRACTIONAL or "<" in kind or common([kind, value.type]) != kind or value.type == "void":
        site.refuse()
    searched = alike(site, site.forms[1:], [value])[0]

    def body(items: str) -> str:
        found = f"list_contains({items}, CAST({searched.text} AS {storage(kind)}))"
        absent = f"CASE WHEN len({items}) > list_count({items}) OR {items} IS NULL THEN NULL ELSE FALSE END"
        return f"CASE WHEN {searched.text} IS NULL THEN NULL WHEN {found} THEN TRUE ELSE {absent} END"

    return Proven(once([array], body), "boolean", array.raises)


def _named_struct(site: Site) -> Proven:
    names = [constant_text(form) for form in site.forms[::2]]
    if not names or None in names or len(site.forms) % 2:
        site.refuse()
    return _packed(site, [name or "" for name in names], list(site.values[1::2]))


def _struct(site: Site) -> Proven:
    """Struct of columns and values, the latter with the names that Spark gives them."""
    return _packed(site, [_name(form, place) for place, form in enumerate(site.forms, 1)], list(site.values))


def _name(form: Form, place: int) -> str:
    return form.name if isinstance(form, Reference | Named | FieldOf) else f"col{place}"


def _packed(site: Site, names: list[str], values: list[Proven]) -> Proven:
    if not values or any(item.type == "void" for item in values):
        site.refuse()
    kind = struct_type(zip(names, (item.type for item in values), strict=True))
    storage(kind)
    parts = ", ".join(f"{quoted(name)} := {item.text}" for name, item in zip(names, values, strict=True))
    return Proven(f"struct_pack({parts})", kind, any_raises(values))


def _array(site: Site) -> Proven:
    values = alike(site, site.forms, site.values)
    if not values or values[0].type == "void":
        site.refuse()
    text = f"list_value({', '.join(item.text for item in values)})"
    return Proven(text, f"array<{values[0].type}>", any_raises(values))


def _sequence(site: Site) -> Proven:
    """Whole numbers from one to another, a constant apart: as the windows of HOP are counted."""
    values = alike(site, site.forms, site.values)
    kind = values[0].type
    step = 1 if len(values) < _WITH_STEP else whole_value(site.forms[2])
    if kind not in ("int", "bigint") or not step:
        site.refuse()
    least, most = RANGE["bigint"]

    def listed(first: str, last: str) -> str:
        by = str(step) if len(values) == _WITH_STEP else f"CASE WHEN {first} > {last} THEN -1 ELSE 1 END"
        apart = f"(CAST({last} AS HUGEINT) - CAST({first} AS HUGEINT))"
        count = f"({apart} // {step})"
        beyond = overflowed("long overflow. Use 'try_subtract' to tolerate overflow and return NULL instead.", site)
        never = Failure("_LEGACY_ERROR_TEMP_3243", "", said(_NEVER, first=first, last=last, step=str(step)))
        many = Failure("COLLECTION_SIZE_LIMIT_EXCEEDED.PARAMETER", "54000", said(_TOO_LONG, count=f"abs({count}) + 1"))
        outside = f"{first} {'>' if step > 0 else '<'} {last}" if len(values) == _WITH_STEP else "FALSE"
        until = with_room(f"CAST(abs({count}) AS BIGINT) * {BYTES_OF_ELEMENT}", f"CAST({last} AS BIGINT)")
        numbers = f"generate_series(CAST({first} AS BIGINT), {until}, CAST({by} AS BIGINT))"
        return (
            f"CASE WHEN {first} IS NULL OR {last} IS NULL THEN NULL WHEN {outside} THEN {never.raising}"
            f" WHEN {apart} NOT BETWEEN {least} AND {most} THEN {beyond.raising}"
            f" WHEN abs({count}) >= {_LONGEST} THEN {many.raising} ELSE CAST({numbers} AS {storage(kind)}[]) END"
        )

    return Proven(in_order(values[:2], listed), f"array<{kind}>", raises=True)


RULES: dict[tuple[str, int | None], Rule] = {
    ("[]", 2): _element,
    ("element_at", 2): _element_at,
    ("try_element_at", 2): _try_element_at,
    ("get", 2): _get,
    **{(name, 1): _size for name in ("size", "cardinality", "array_size")},
    ("array_contains", 2): _contains,
    ("array_sort", 1): _sorted_entries,
    **{("sort_array", count): _sorted for count in (1, 2)},
    ("named_struct", None): _named_struct,
    ("struct", None): _struct,
    ("array", None): _array,
    ("sequence", 2): _sequence,
    ("sequence", 3): _sequence,
}
