"""Values within values: what is done with each part of a type, in Spark SQL and in Python.

A VARIANT and an interval of months have no Arrow type, wherever in a type they stand: `array<struct<a:int,v:variant>>`
travels as `array<struct<a:int,v:string>>`, and each side changes the parts that need it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.catalog.types import Type, struct_fields, type_arguments
from penstock.plan.scalar import quoted

Leaf = Callable[[str, Type], str]


def changed_parts(text: str, kind: Type, leaf: Leaf, depth: int = 0) -> str:
    """Spark SQL for the value of `text` with each part of a simple type replaced by what `leaf` makes of it.

    `leaf` gives its own text back for what stays; a value of which nothing changes is its own text.
    """
    if "<" not in kind:
        return leaf(text, kind)
    head, items = type_arguments(kind)
    if head == "struct":
        parts = [(name, f"{text}.{quoted(name)}", item) for name, item in struct_fields(kind)]
        changed = [(name, part, changed_parts(part, item, leaf, depth)) for name, part, item in parts]
        if all(new == part for _, part, new in changed):
            return text
        fields = ", ".join(f"'{_escaped(name)}', {new}" for name, _, new in changed)
        return f"if({text} IS NULL, NULL, named_struct({fields}))"
    name = f"__part{depth}"
    if head == "array":
        inner = changed_parts(name, items[0], leaf, depth + 1)
        return text if inner == name else f"transform({text}, {name} -> {inner})"
    key, value = (changed_parts(f"{name}.{part}", of, leaf, depth + 1) for part, of in zip(_ENTRY, items, strict=True))
    if (key, value) == (f"{name}.key", f"{name}.value"):
        return text
    return f"map_from_entries(transform(map_entries({text}), {name} -> struct({key}, {value})))"


_ENTRY = ("key", "value")


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace("'", "\\'")


def part_changer(kind: Type, of: Type, change: Callable[[Any], Any]) -> Callable[[Any], Any] | None:
    """A function that changes each part of the type `of` in a Python value of `kind`; None if it has no such part.

    A MAP may be a dict or a list of its entries, a STRUCT is a dict.
    """
    if kind.lower() == of:
        return lambda value: None if value is None else change(value)
    head, items = type_arguments(kind)
    if head == "struct":
        return _of_struct({name: part_changer(item, of, change) for name, item in struct_fields(kind)})
    inner = [part_changer(item, of, change) for item in items]
    if all(item is None for item in inner):
        return None
    return _of_array(inner[0]) if head == "array" else _of_map(*inner)


_Changer = Callable[[Any], Any] | None


def _applied(changer: _Changer, value: Any) -> Any:
    return value if changer is None else changer(value)


def _of_array(item: _Changer) -> Callable[[Any], Any]:
    return lambda value: None if value is None else [_applied(item, each) for each in value]


def _of_struct(fields: Mapping[str, _Changer]) -> _Changer:
    if all(field is None for field in fields.values()):
        return None
    return lambda value: None if value is None else {name: _applied(fields.get(name), of) for name, of in value.items()}


def _of_map(key: _Changer, item: _Changer) -> Callable[[Any], Any]:
    def changed(value: Any) -> Any:
        if value is None:
            return None
        entries = value.items() if isinstance(value, Mapping) else value
        pairs = [(_applied(key, name), _applied(item, each)) for name, each in entries]
        return dict(pairs) if isinstance(value, Mapping) else pairs

    return changed
