"""Types of functions of arrays, maps and structs, with the names that Spark gives the fields of a STRUCT."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sqlglot import exp

from penstock.catalog.types import INTEGRAL, TEMPORAL, Type, split_types, struct_fields, struct_type, type_arguments
from penstock.catalog.word_list import word_list
from penstock.errors import PenstockError
from penstock.sql.parse import parse_expression
from penstock.types.common import UNCERTAIN, common_type

Kind = Type | None
Kinds = Sequence[Kind]
# The type of a lambda's body, where its parameters have these types.
OfLambda = Callable[[exp.Expression, Kinds], Kind]

_PAIR = 2
# Functions with a lambda, and its place among their arguments; that of `aggregate` may have a second one behind it.
HIGHER_ORDER: dict[str, int] = {
    **dict.fromkeys(
        word_list("filter exists forall transform array_sort map_filter transform_keys transform_values"), 1
    ),
    **dict.fromkeys(word_list("aggregate reduce zip_with map_zip_with"), 2),
}
_OF_FIRST = frozenset(word_list("filter array_sort sort_array array_distinct shuffle slice array_compact map_filter"))
_OF_ALIKE = frozenset(word_list("array_union array_except array_intersect map_concat"))
_WITH_ELEMENT = {"array_append": 1, "array_prepend": 1, "array_insert": 2, "array_remove": 1}
_ELEMENTS = frozenset(word_list("element_at try_element_at get array_max array_min"))
_FIXED: dict[str, Type] = {
    **dict.fromkeys(["split", "regexp_extract_all", "json_object_keys"], "array<string>"),
    "sentences": "array<array<string>>",
    "str_to_map": "map<string,string>",
}
_SCHEMAS = frozenset(["from_json", "from_csv", "from_xml"])


def certain(kind: Kind) -> Kind:
    """The type if every part of it is certain."""
    return None if kind is None or UNCERTAIN in kind else kind


_OUT_OF_VARIANT = frozenset(["variant_get", "try_variant_get"])
_PLAIN = frozenset(["variant", "string", "int", "bigint", "double", "boolean", "date"])


def element_of(kind: Kind) -> Kind:
    """The type of `x[i]`."""
    head, parts = ("", []) if kind is None else type_arguments(kind)
    if head == "array":
        return _known(parts[0])
    return _known(parts[1]) if head == "map" and len(parts) == _PAIR else None


def key_of(kind: Kind) -> Kind:
    """The type of a MAP's keys."""
    return _pair(kind)[0]


def parameters(name: str, place: int, kinds: Kinds) -> Kinds:
    """The types of the parameters of a lambda that a function has at that place among its arguments."""
    first = kinds[0]
    if name in ("aggregate", "reduce"):
        return (kinds[1], element_of(first)) if place == _PAIR else (kinds[1],)
    if name == "array_sort":
        return (element_of(first), element_of(first))
    if name == "zip_with":
        return (element_of(first), element_of(kinds[1]))
    if name == "map_zip_with":
        return (*_pair(first), _pair(kinds[1])[1])
    if name in ("map_filter", "transform_keys", "transform_values"):
        return _pair(first)
    return (element_of(first), "int") if name in ("filter", "exists", "forall", "transform") else ()


def field_of(kind: Kind, name: str) -> Kind:
    """The type of `x.name`: a field of a STRUCT or of an array's structs, or a MAP's value."""
    if kind is None or kind.startswith("map<"):
        return element_of(kind)
    if kind.startswith("array<"):
        found = field_of(element_of(kind), name) if kind.startswith("array<struct<") else None
        return None if found is None else f"array<{found}>"
    if not kind.startswith("struct<"):
        return None
    return next((_known(of) for field, of in struct_fields(kind) if field.lower() == name.lower()), None)


def columns_of(kind: Kind) -> list[tuple[str, Kind]] | None:
    """Names and types of a STRUCT's fields; None for what is not known to be one."""
    if kind is None or not kind.startswith("struct<"):
        return None
    return [(name, certain(of)) for name, of in struct_fields(kind)]


def nested_type(name: str, arguments: Sequence[exp.Expression], kinds: Kinds, of_lambda: OfLambda) -> Kind:
    """The type of a call that takes or gives arrays, maps or structs."""
    if not arguments:
        return {"array": "array<void>", "map": "map<void,void>"}.get(name)
    made = _made(name, arguments, kinds)
    if made is not None:
        return made
    if name in _OF_FIRST or (name == "reverse" and kinds[0] is not None and kinds[0].startswith("array<")):
        return kinds[0]
    if name in _OF_ALIKE or (name == "concat" and kinds[0] is not None and kinds[0].startswith("array<")):
        return kinds[0] if len(set(kinds)) == 1 else None
    if name in _WITH_ELEMENT:
        place = _WITH_ELEMENT[name]
        return kinds[0] if place < len(kinds) and kinds[place] == element_of(kinds[0]) else None
    if name in _ELEMENTS:
        return element_of(kinds[0])
    if name == "flatten":
        inner = element_of(kinds[0])
        return inner if inner is not None and inner.startswith("array<") else None
    if name.startswith(("map", "transform_")):
        return _of_map(name, arguments, kinds, of_lambda)
    return _higher_order(name, arguments, kinds, of_lambda)


def _made(name: str, arguments: Sequence[exp.Expression], kinds: Kinds) -> Kind:
    """The kind of a value that is put together from others."""
    if name in _FIXED:
        return _FIXED[name]
    if name in _OUT_OF_VARIANT and len(arguments) > _PAIR and isinstance(arguments[2], exp.Literal):
        wanted = arguments[2].name.lower()
        return wanted if wanted in _PLAIN else None
    if name == "array":
        return _array(common_type(list(kinds)))
    if name == "map":
        return _map(common_type(list(kinds[::2])), common_type(list(kinds[1::2])))
    if name == "named_struct" and len(arguments) % _PAIR == 0:
        named = all(isinstance(item, exp.Literal) for item in arguments[::2])
        return _struct((item.name for item in arguments[::2]), kinds[1::2]) if named else None
    if name == "arrays_zip":
        return _array(_struct(map(str, range(len(kinds))), [element_of(kind) for kind in kinds]))
    if name == "array_repeat":
        return _array(kinds[0])
    if name == "sequence" and len(kinds) > 1 and kinds[0] == kinds[1] and kinds[0] in (*INTEGRAL, *TEMPORAL):
        return _array(kinds[0])
    if name in _SCHEMAS and len(arguments) > 1:
        return _written(arguments[1])
    return None


def _of_map(name: str, arguments: Sequence[exp.Expression], kinds: Kinds, of_lambda: OfLambda) -> Kind:
    key, value = _pair(kinds[0])
    match name:
        case "map_keys":
            return None if key is None else _array(key)
        case "map_values":
            return None if value is None else _array(value)
        case "map_entries":
            return _array(_struct(("key", "value"), (key, value)))
        case "map_from_arrays" if len(kinds) == _PAIR:
            return _map(element_of(kinds[0]), element_of(kinds[1]))
        case "map_from_entries":
            entry = columns_of(element_of(kinds[0]))
            return _map(*(of for _, of in entry)) if entry is not None and len(entry) == _PAIR else None
        case "transform_keys" if len(arguments) == _PAIR:
            return _map(of_lambda(arguments[1], (key, value)), value)
        case "transform_values" if len(arguments) == _PAIR:
            return _map(key, of_lambda(arguments[1], (key, value)))
        case "map_zip_with" if len(arguments) > _PAIR:
            return _map(key, of_lambda(arguments[2], (key, value, _pair(kinds[1])[1])))
    return None


def _higher_order(name: str, arguments: Sequence[exp.Expression], kinds: Kinds, of_lambda: OfLambda) -> Kind:
    if name == "transform" and len(arguments) == _PAIR:
        return _array(of_lambda(arguments[1], (element_of(kinds[0]), "int")))
    if name == "zip_with" and len(arguments) > _PAIR:
        return _array(of_lambda(arguments[2], (element_of(kinds[0]), element_of(kinds[1]))))
    if name in ("aggregate", "reduce") and len(arguments) > _PAIR:
        return kinds[1] if len(arguments) == _PAIR + 1 else of_lambda(arguments[3], kinds[1:2])
    return None


def _written(schema: exp.Expression) -> Kind:
    """The type that a text names: a type, or columns as in CREATE TABLE."""
    if not (isinstance(schema, exp.Literal) and schema.is_string):
        return None
    for text in (schema.name, f"STRUCT<{schema.name}>"):
        try:
            found = parse_expression(f"CAST(NULL AS {text})")
        except PenstockError:
            continue  # Spark reads it in the same order; what it cannot read either it refuses itself
        kind = found.args["to"].args.get("kind") if isinstance(found, exp.Cast) else None
        return None if kind is None else str(kind)
    return None


def _known(kind: Type) -> Kind:
    return None if kind == UNCERTAIN else kind


def _pair(kind: Kind) -> tuple[Kind, Kind]:
    parts = split_types(kind[4:-1]) if kind is not None and kind.startswith("map<") else []
    return (_known(parts[0]), _known(parts[1])) if len(parts) == _PAIR else (None, None)


def _array(element: Kind) -> Type:
    return f"array<{element or UNCERTAIN}>"


def _map(key: Kind, value: Kind) -> Type:
    return f"map<{key or UNCERTAIN},{value or UNCERTAIN}>"


def _struct(names: Iterable[str], kinds: Kinds) -> Type:
    return struct_type((name, kind or UNCERTAIN) for name, kind in zip(names, kinds, strict=True))
