"""Generators. Where they give a known number of rows for each row, these are numbered, and tell each value by it.

explode(array(a, b))            CASE __place WHEN 0 THEN a WHEN 1 THEN b END, with places 0 and 1
explode(sequence(x - 8, x, 2))  x - 8 + 2 * __place, with places 0 to 4: the windows of HOP
explode(xs)                     unnest(xs), also of a sequence of any length
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.backends.native.aggregates import Reader, Types, shown
from penstock.backends.native.proof import NotProvenError, Proven, quoted
from penstock.backends.native.raised import text_literal
from penstock.catalog.types import Type, split_types, struct_fields
from penstock.plan.forms import Call, Cast, Constant, Form, Lambda, Parameter, Reference, called, swapped
from penstock.plan.nodes import Generate

_PLACE, _FIRST, _ITEM = "__place", "__first", "__item"


@dataclass(frozen=True)
class Numbered:
    """The rows that a generator gives: how many, their columns, and what is computed first for each input row."""

    count: int
    columns: tuple[Proven, ...]
    first: Proven | None = None


def generate_query(plan: Generate, rows: str, scalar: Reader, carry: tuple[str, ...]) -> str:
    """The query of a generator over the query of its input: the fields, then what is carried."""
    types = {item.name: item.type for item in plan.input.fields}
    listed = _listed(plan.generator.form, types, scalar)
    if listed is not None:
        return _unnested(plan, rows, listed, carry)
    generator, changes = _peeled(plan.generator.form)
    found = _numbered(generator, plan, types, scalar)
    if plan.outer and (found.first is not None or changes):
        raise NotProvenError(what=f"{shown(plan.generator.form)} with OUTER")
    names = [quoted(item.name) for item in (*plan.input.fields,)] + [quoted(name) for name in carry]
    first = f"SELECT *, {found.first.text} AS {_FIRST} FROM ({rows})" if found.first is not None else rows
    items = [f"{column.text} AS {_ITEM}{place}" for place, column in enumerate(found.columns)]
    numbered = f"SELECT *, {', '.join(items)} FROM ({first}) CROSS JOIN range({found.count}) AS __places({_PLACE})"
    conditions = [] if found.first is None else [f"{_FIRST} IS NOT NULL"]
    columns = [Proven(f"{_ITEM}{place}", column.type) for place, column in enumerate(found.columns)]
    for kind, change in changes:
        changed = _applied(change, {**types, f"{_ITEM}0": found.columns[0].type}, scalar)
        if kind == "filter":
            conditions.append(changed.text)
        else:
            columns = [changed]
    answers = []
    for column, wanted in zip(columns, plan.outputs, strict=True):
        if column.type != wanted.type:
            raise NotProvenError(what=f"{shown(plan.generator.form)}, which is {column.type} here")
        answers.append(f"{column.text} AS {quoted(wanted.name)}")
    fields, carried = names[: len(names) - len(carry)], names[len(names) - len(carry) :]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {', '.join([*fields, *answers, *carried])} FROM ({numbered}){where}"


def _listed(form: Form, types: Types, scalar: Reader) -> Proven | None:
    """The ARRAY or MAP of a generator that gives its elements; None for one that is written out."""
    inside = called(form, "explode", "posexplode", "inline")
    if inside is None or len(inside) != 1:
        return None
    peeled, _ = _peeled(form) if called(form, "explode") else (form, [])
    innermost = called(peeled, "explode", "posexplode", "inline")
    if innermost is None or called(innermost[0], "array"):
        return None
    bounds = called(innermost[0], "sequence")
    if bounds is not None and _length(bounds) is not None and called(form, "explode"):
        return None
    return scalar(inside[0], types)


def _unnested(plan: Generate, rows: str, listed: Proven, carry: tuple[str, ...]) -> str:
    """The elements of a list; with OUTER a row of NULLs for a list of none."""
    form, kind = plan.generator.form, listed.type
    text = f"map_entries({_FIRST})" if kind.startswith("map<") else _FIRST
    items, places = text, f"range(len({text}))"
    if plan.outer:
        items, places = (f"CASE WHEN len({text}) > 0 THEN {item} ELSE [NULL] END" for item in (items, places))
    columns = _elements(form, kind)
    if called(form, "posexplode"):
        columns = [Proven(f"CAST({_PLACE} AS INTEGER)", "int"), *columns]
    answers = []
    for column, wanted in zip(columns, plan.outputs, strict=True):
        if column.type != wanted.type:
            raise NotProvenError(what=f"{shown(form)}, which is {column.type} here")
        answers.append(f"{column.text} AS {quoted(wanted.name)}")
    names, carried = [quoted(item.name) for item in plan.input.fields], [quoted(name) for name in carry]
    made = f"SELECT *, {listed.text} AS {_FIRST} FROM ({rows})"
    each = f"SELECT *, unnest({items}) AS {_ITEM}, unnest({places}) AS {_PLACE} FROM ({made})"
    return f"SELECT {', '.join([*names, *answers, *carried])} FROM ({each})"


def _elements(form: Form, kind: Type) -> list[Proven]:
    """The columns that an element is."""
    if kind.startswith("map<") and not called(form, "inline"):
        of_key, of_value = split_types(kind[4:-1])
        return [Proven(f"{_ITEM}.key", of_key), Proven(f"{_ITEM}.value", of_value)]
    if kind.startswith("array<struct<") and called(form, "inline"):
        return [Proven(f"struct_extract({_ITEM}, {text_literal(name)})", of) for name, of in struct_fields(kind[6:-1])]
    if not kind.startswith("array<") or called(form, "inline"):
        raise NotProvenError(what=f"{shown(form)} of {kind}")
    return [Proven(_ITEM, kind[6:-1])]


def _peeled(form: Form) -> tuple[Form, list[tuple[str, Lambda]]]:
    """A generator without the `filter` and `transform` around its array, and these from the inside out."""
    inside = called(form, "explode")
    changes: list[tuple[str, Lambda]] = []
    while inside is not None and isinstance(inside[0], Call) and inside[0].function in ("filter", "transform"):
        function, inside = inside[0].function, inside[0].arguments
        if not isinstance(inside[1], Lambda) or len(inside[1].parameters) != 1:
            raise NotProvenError(what=shown(form))
        changes.insert(0, (function, inside[1]))
    if [kind for kind, _ in changes] not in ([], ["filter"], ["transform"], ["filter", "transform"]):
        raise NotProvenError(what=shown(form))
    return form if inside is None else Call("explode", inside[:1]), changes


def _applied(change: Lambda, types: Types, scalar: Reader) -> Proven:
    """The body of a lambda over the item."""
    (name,) = change.parameters

    def item(form: Form) -> Form | None:
        same = isinstance(form, Parameter) and form.name.lower() == name.lower()
        return Reference(f"{_ITEM}0") if same else None

    return scalar(swapped(change.body, item), types)


def _numbered(form: Form, plan: Generate, types: Types, scalar: Reader) -> Numbered:
    kinds = [item.type for item in plan.outputs]
    listed = called(form, "explode", "posexplode", "inline")
    if listed is not None and isinstance(form, Call):
        elements = called(listed[0], "array")
        if elements is not None and form.function == "inline":
            return _constructed([_fields(item) for item in elements], kinds, types, scalar)
        if elements is not None:
            position = form.function == "posexplode"
            found = _constructed([(item,) for item in elements], kinds[position:], types, scalar)
            number = (Proven(f"CAST({_PLACE} AS INTEGER)", "int"),) if position else ()
            return Numbered(found.count, (*number, *found.columns))
        bounds = called(listed[0], "sequence")
        if bounds is not None and form.function == "explode":
            return _sequence(form, bounds, types, scalar)
    values = called(form, "stack")
    if values is not None and isinstance(values[0], Constant) and values[0].is_whole and int(values[0].value):
        width, rest = len(kinds), values[1:]
        if len(rest) == int(values[0].value) * width:
            rows = [rest[start : start + width] for start in range(0, len(rest), width)]
            return _constructed(rows, kinds, types, scalar)
    raise NotProvenError(what=shown(form))


def _fields(form: Form) -> tuple[Form, ...]:
    named = called(form, "named_struct")
    if named is None:
        raise NotProvenError(what=shown(form))
    return named[1::2]


def _constructed(rows: list[tuple[Form, ...]], kinds: list[Type | None], types: Types, scalar: Reader) -> Numbered:
    """Rows that are written out, of the types that the plan has for them."""
    if not rows or any(len(row) != len(kinds) for row in rows):
        raise NotProvenError(what="a generator of no rows")
    columns = []
    for kind, cells in zip(kinds, zip(*rows, strict=True), strict=True):
        texts = [_of_type(cell, kind, types, scalar) for cell in cells]
        cases = " ".join(f"WHEN {place} THEN {text}" for place, text in enumerate(texts))
        columns.append(Proven(f"CASE {_PLACE} {cases} END", kind or ""))
    return Numbered(len(rows), tuple(columns))


def _of_type(form: Form, kind: Type | None, types: Types, scalar: Reader) -> str:
    found = scalar(form, types)
    return found.text if found.type == kind or kind is None else scalar(Cast(form, kind), types).text


def _sequence(form: Form, bounds: tuple[Form, ...], types: Types, scalar: Reader) -> Numbered:
    """`sequence(a, b)` of numbers, and `sequence(x - n, x, step)`."""
    step, length = _step(bounds), _length(bounds)
    first = scalar(bounds[0], types)
    if length is None or not step or first.type not in _INTEGERS:
        raise NotProvenError(what=shown(form))
    text = f"CAST({_FIRST} + {step} * {_PLACE} AS {_INTEGERS[first.type]})"
    return Numbered(length // step + 1, (Proven(text, first.type),), first)


def _step(bounds: tuple[Form, ...]) -> int | None:
    return 1 if len(bounds) == 2 else _number(bounds[2])  # noqa: PLR2004 - without a step


def _length(bounds: tuple[Form, ...]) -> int | None:
    """The difference of the bounds, where it is the same for all rows; all others may have any length, or fail."""
    start, stop = bounds[:2]
    before = called(start, "-")
    length = _number(before[1]) if before is not None and len(before) == 2 and before[0] == stop else None  # noqa: PLR2004
    if length is None and _number(start) is not None and _number(stop) is not None:
        length = (_number(stop) or 0) - (_number(start) or 0)
    return length if length is not None and length >= 0 and (_step(bounds) or 0) > 0 else None


_INTEGERS: dict[Type, str] = {"int": "INTEGER", "bigint": "BIGINT"}


def _number(form: Form) -> int | None:
    inner = form.argument if isinstance(form, Cast) and form.type in _INTEGERS else form
    return int(inner.value) if isinstance(inner, Constant) and inner.is_whole else None
