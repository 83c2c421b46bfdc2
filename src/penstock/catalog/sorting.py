"""The order of all values: what Spark cannot sort is sorted in another form.

Ties go by the whole row (SEMANTICS 0), which may hold a MAP or a VARIANT. Spark has no order for these. A MAP goes by
its sorted entries, and among MAPs that have the same ones by these as they lie; a VARIANT by its text and then its
type, an INTERVAL of the calendar by its text, an ARRAY or STRUCT by those of its parts. Texts that a collation holds
equal go by their bytes.
"""

from __future__ import annotations

import re

from penstock.catalog.types import Type, struct_fields, struct_type, type_arguments

VARIABLE = "__s"  # how the variables of lambdas begin
_UNSORTED = re.compile(
    r"map<|\bvariant\b|\bcollate\b|\binterval\b(?! (day|hour|minute|second|year|month)\b)", re.IGNORECASE
)


def is_sorted(kind: Type | None) -> bool:
    """True if Spark sorts values of the type, all that differ; one that is not known is taken to be sorted."""
    return kind is None or _UNSORTED.search(kind) is None


def sortable(text: str, kind: Type | None) -> str:
    """Spark SQL for a form of the value `text` that can be sorted; the text itself where Spark sorts it as it is."""
    return _form(text, kind, 0)


def _form(text: str, kind: Type | None, depth: int) -> str:
    if kind is None or is_sorted(kind):
        return text
    variable = f"{VARIABLE}{depth}"
    if kind.startswith("map<"):
        entries = f"map_entries({text})"
        key, value = type_arguments(kind)[1]
        if not (is_sorted(key) and is_sorted(value)):
            pair = f"struct({_form(f'{variable}.key', key, depth + 1)}, {_form(f'{variable}.value', value, depth + 1)})"
            entries = f"transform({entries}, {variable} -> {pair})"
        return f"struct(array_sort({entries}), {entries})"
    if kind.startswith("array<"):
        return f"transform({text}, {variable} -> {_form(variable, kind[6:-1], depth + 1)})"
    if kind.startswith("struct<"):
        fields = struct_fields(kind)
        if len({name.lower() for name, _ in fields}) < len(fields):
            numbered = [(f"_{place}", of) for place, (_, of) in enumerate(fields)]
            return _form(f"cast({text} AS {struct_type(numbered)})", struct_type(numbered), depth)
        parts = (_form(f"{text}.{_quoted(name)}", of, depth) for name, of in fields)
        return f"if({text} IS NULL, NULL, struct({', '.join(parts)}))"
    if kind.startswith("string"):
        return f"struct({text}, cast({text} AS BINARY))"
    if kind == "variant":
        return f"struct(cast({text} AS STRING), schema_of_variant({text}))"
    return f"cast({text} AS STRING)"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
