"""An Avro schema as a reader of values.

The bytes are read by fastavro without logical types, so that a strange date costs its own row and not those behind it;
what the logical types mean is put on by `logical`. A union of NULL and one type is that type; of several types the
value is what it is. Two that look the same below, such as an INT and a date, cannot be told apart, and are refused.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.sources.formats.avro.logical import Convert, logical
from penstock.sources.formats.legacy_calendar import LegacyCalendar
from penstock.sources.packages import package

_LOGICAL = ("logicalType", "precision", "scale")
# How a union's value looks in Python, by the branch that it is of.
_LOOKS = {
    "boolean": bool, "int": int, "long": int, "float": float, "double": float, "string": str, "enum": str,
    "bytes": bytes, "fixed": bytes, "array": list, "map": dict, "record": dict, "error": dict,
}  # fmt: skip


class BadSchemaError(ValueError):
    """A schema that is none, or that cannot be read; the message says why."""


class BadRecordError(ValueError):
    """Bytes that are no value of their schema; the message says why."""


@dataclass(frozen=True)
class AvroSchema:
    """A record's schema: the names of its fields, and the values of bytes."""

    fields: tuple[str, ...]
    declared: Mapping[str, Any]
    _parsed: Any
    _convert: Convert | None
    _read: Callable[..., Any]

    def record(self, stream: io.BytesIO) -> dict[str, Any]:
        """The next record; BadRecordError if it is none."""
        try:
            # A text that is not UTF-8 is one that no column takes, so that only its row is lost.
            found = self._read(stream, self._parsed, None, handle_unicode_errors="surrogateescape")
        except Exception as error:
            message = f"not of its schema: {str(error) or type(error).__name__}"
            raise BadRecordError(message) from error
        record: dict[str, Any] = found if self._convert is None else self._convert(found)
        return record


def avro_schema(text: str | bytes, calendar: LegacyCalendar | None = None) -> AvroSchema:
    """The schema that a JSON text declares; BadSchemaError if it is none of records.

    `calendar` is that of its dates and points in time, if it is not today's.
    """
    fastavro = package("fastavro", "the format avro", "formats")
    try:
        declared = json.loads(text)
    except ValueError as error:
        message = f"its schema is not JSON: {error}"
        raise BadSchemaError(message) from None
    if not isinstance(declared, Mapping) or declared.get("type") not in ("record", "error"):
        kind = declared.get("type") if isinstance(declared, Mapping) else declared
        message = f"its schema is no record, but {str(kind)[:60]}"
        raise BadSchemaError(message)
    try:
        parsed = fastavro.parse_schema(_bare(declared))
        convert = _Meaning(calendar).of(declared, "")
    except BadSchemaError:
        raise
    except Exception as error:  # what a foreign text can do to a parser
        message = f"its schema cannot be used: {str(error) or type(error).__name__}"
        raise BadSchemaError(message) from error
    names = tuple(item["name"] for item in declared["fields"])
    return AvroSchema(names, declared, parsed, convert, fastavro.schemaless_reader)


def _bare(schema: Any) -> Any:
    """The schema without logical types."""
    if isinstance(schema, list):
        return [_bare(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept = {name: value for name, value in schema.items() if name not in (*_LOGICAL, "default")}
    for name in ("type", "items", "values"):
        if name in kept:
            kept[name] = _bare(kept[name])
    if "fields" in kept:
        kept["fields"] = [_bare(item) for item in kept["fields"]]
    return kept


@dataclass
class _Meaning:
    """Makes the conversions of schemas; `_known` are those of types with names, which may contain themselves."""

    calendar: LegacyCalendar | None = None
    _known: dict[str, Convert | None] = field(default_factory=dict)
    _kinds: dict[str, str] = field(default_factory=dict)

    def of(self, schema: Any, space: str) -> Convert | None:
        """The conversion of values of a schema; None if they stay as they are."""
        if isinstance(schema, list):
            return self._union(schema, space)
        if isinstance(schema, str):
            return self._referred(schema, space)
        kind = schema["type"]
        if isinstance(kind, list | Mapping):
            return self.of(kind, space)
        found = logical(schema, self.calendar)
        if "name" in schema:
            space = schema.get("namespace", schema["name"].rpartition(".")[0] or space)
            self._known[_full_name(schema["name"], space)] = found
            self._kinds[_full_name(schema["name"], space)] = kind
        if found is not None:
            return found
        match kind:
            case "array":
                return _each(self.of(schema["items"], space))
            case "map":
                return _each_value(self.of(schema["values"], space))
            case "record" | "error":
                return self._record(schema, space)
            case _:
                return self._referred(kind, space)

    def _referred(self, name: str, space: str) -> Convert | None:
        """The conversion of a type by its name."""
        return self._known.get(_full_name(name, space), self._known.get(name))

    def _record(self, schema: Mapping[str, Any], space: str) -> Convert | None:
        full = _full_name(schema["name"], space)
        found: dict[str, Convert] = {}

        def convert(value: dict[str, Any]) -> dict[str, Any]:
            for name, change in found.items():
                if value[name] is not None:
                    value[name] = change(value[name])
            return value

        self._known[full] = convert  # a record may hold itself
        for item in schema["fields"]:
            change = self.of(item["type"], space)
            if change is not None:
                found[item["name"]] = change
        if not found:
            self._known[full] = None
        return self._known[full]

    def _union(self, branches: list[Any], space: str) -> Convert | None:
        """One branch beside NULL is that; of several the looks of a value say which it is."""
        others = [branch for branch in branches if branch != "null"]
        if len(others) == 1:
            return self.of(others[0], space)
        meanings = [self.of(branch, space) for branch in others]
        changes = [(self._looks(branch, space), change) for branch, change in zip(others, meanings, strict=True)]
        chosen = {looks: change for looks, change in changes if change is not None}
        for looks in chosen:
            if [other for other, _ in changes].count(looks) > 1:
                message = f"its schema has a union of types that look the same, {json.dumps(others)[:200]}"
                raise BadSchemaError(message)
        return (lambda value: chosen.get(type(value), _same)(value)) if chosen else None

    def _looks(self, branch: Any, space: str) -> type:
        """The Python type of a branch's plain values."""
        kind = branch if isinstance(branch, str) else branch["type"]
        return _LOOKS[kind if kind in _LOOKS else self._kinds[_full_name(kind, space)]]


def _full_name(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"


def _same(value: Any) -> Any:
    return value


def _each(change: Convert | None) -> Convert | None:
    if change is None:
        return None
    return lambda values: [None if value is None else change(value) for value in values]


def _each_value(change: Convert | None) -> Convert | None:
    if change is None:
        return None
    return lambda values: {name: None if value is None else change(value) for name, value in values.items()}
