"""The types of columns that Avro's fields become, in a table that lacks them (`'unknown_columns' = 'add'`).

    boolean                    BOOLEAN      date                       DATE
    int, long                  BIGINT       timestamp-…                TIMESTAMP
    float, double              DOUBLE       local-timestamp-…          TIMESTAMP_NTZ
    string, enum               STRING       decimal(p, s)              DECIMAL(p, s), if it has no more than 38 digits
    bytes, fixed               BINARY       null and a type            that type

Anything else is STRING: arrays, maps and records, as JSON, times of day, and values of several types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.steps.rows.new_columns import BIGINT, BOOLEAN, DOUBLE, STRING

_PLAIN = {
    "boolean": BOOLEAN, "int": BIGINT, "long": BIGINT, "float": DOUBLE, "double": DOUBLE, "bytes": "BINARY",
    "fixed": "BINARY",
}  # fmt: skip
_TIMES = {"timestamp": "TIMESTAMP", "local-timestamp": "TIMESTAMP_NTZ"}
_UNITS = ("millis", "micros", "nanos")
_DIGITS = 38


def kinds_of_fields(schema: Mapping[str, Any], within: str = "") -> dict[str, str]:
    """The type of each field of a record; of the record that its field `within` holds, if that is said."""
    named = _Named()
    named.know(schema, "")
    record, space = schema, _space_of(schema, "")
    if within:
        fields = {item["name"]: item["type"] for item in schema["fields"]}
        record, space = named.resolved(_only_branch(fields.get(within, "null")), space)
        if not isinstance(record, Mapping) or record.get("type") not in ("record", "error"):
            return {}
    return {item["name"]: named.kind(item["type"], space) for item in record["fields"]}


@dataclass
class _Named:
    """The types of a schema that have names, each with the namespace within it."""

    _known: dict[str, tuple[Mapping[str, Any], str]] = field(default_factory=dict)

    def know(self, schema: Any, space: str) -> None:
        """Take note of a schema's types with names, and of those within them."""
        if isinstance(schema, Mapping) and "name" in schema:
            space = _space_of(schema, space)
            self._known[_full_name(schema["name"], space)] = schema, space
        for below in _below(schema):
            self.know(below, space)

    def resolved(self, schema: Any, space: str) -> tuple[Any, str]:
        """A schema, where a name stands for it, with the namespace within it."""
        if isinstance(schema, str):
            found = self._known.get(_full_name(schema, space)) or self._known.get(schema)
            return found or (schema, space)
        if isinstance(schema, Mapping):
            inner = schema.get("type")
            if isinstance(inner, Mapping | list):
                return self.resolved(inner, space)
            return schema, _space_of(schema, space)
        return schema, space

    def kind(self, schema: Any, space: str) -> str:
        """The type of a column that has the values of a schema."""
        found, space = self.resolved(_only_branch(schema), space)
        if isinstance(found, list):
            only = _only_branch(found)
            return STRING if isinstance(only, list) else self.kind(only, space)
        if isinstance(found, str):
            return _PLAIN.get(found, STRING)
        below = str(found.get("type"))
        if below not in _PLAIN and below in self._known:
            return self.kind(below, space)
        return _of_logical(found, below) or _PLAIN.get(below, STRING)


def _of_logical(schema: Mapping[str, Any], below: str) -> str | None:
    """The type that a logical type says; None if there is none that changes a value."""
    kind = str(schema.get("logicalType"))
    name, _, unit = kind.rpartition("-")
    if kind == "decimal" and below in ("bytes", "fixed"):
        digits, scale = int(schema.get("precision", 0)), int(schema.get("scale", 0))
        return f"DECIMAL({digits}, {scale})" if 0 <= scale <= digits <= _DIGITS and digits else STRING
    if kind == "date" and below == "int":
        return "DATE"
    if unit in _UNITS and below == "long" and name in _TIMES:
        return _TIMES[name]
    return STRING if unit in _UNITS and name == "time" and below in ("int", "long") else None


def _only_branch(schema: Any) -> Any:
    """A union of NULL and one type is that type."""
    others = [branch for branch in schema if branch != "null"] if isinstance(schema, list) else []
    return others[0] if len(others) == 1 else schema


def _below(schema: Any) -> Iterator[Any]:
    if isinstance(schema, list):
        yield from schema
    elif isinstance(schema, Mapping):
        yield from (
            schema[name] for name in ("type", "items", "values") if not isinstance(schema.get(name), str | None)
        )
        yield from (item["type"] for item in schema.get("fields", ()))


def _space_of(schema: Mapping[str, Any], space: str) -> str:
    """The namespace within a type."""
    if "name" not in schema:
        return space
    return str(schema.get("namespace", schema["name"].rpartition(".")[0] or space))


def _full_name(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"
