"""The fields of an Iceberg table that columns are read by: their ids, which stay when names change.

A column is the field that had its name when it was first read, whatever that is called later. If that field is dropped
and another one gets the name, both are it: rows of files that have the one, or the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class FieldIds:
    """For each column that is read the ids of its fields, the newest last."""

    columns: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, facts: Mapping[str, Iterable[int]]) -> FieldIds:
        """As a manifest has it."""
        return cls({name: list(ids) for name, ids in facts.items()})

    def to_json(self) -> dict[str, list[int]]:
        """For a manifest."""
        return {name: list(ids) for name, ids in self.columns.items()}

    def named(self, schema: Any) -> list[str]:
        """The columns of a schema by the names under which they are read."""
        bound = {number: name for name, ids in self.columns.items() for number in ids}
        present = {item.field_id for item in schema.fields}
        names = []
        for item in schema.fields:
            name = bound.get(item.field_id)
            if name is None:
                name = self._new(item, present)
            if name not in names:
                names.append(name)
        return [*names, *(name for name in self.columns if name not in names)]  # rows that go have dropped ones too

    def _new(self, item: Any, present: set[int]) -> str:
        """The name of a field that was not read yet: another's name is its own only if that one is gone."""
        known = next((name for name in self.columns if name.lower() == item.name.lower()), None)
        if known is None:
            self.columns[item.name] = [item.field_id]
            return str(item.name)
        if present.isdisjoint(self.columns[known]):
            self.columns[known].append(item.field_id)
            return known
        other = f"{item.name} (field {item.field_id})"
        self.columns[other] = [item.field_id]
        return other

    def bound(self, names: Iterable[str], table: Any) -> dict[str, list[Any]]:
        """The fields of columns, each as the newest schema that has it says."""
        newest = {item.field_id: item for schema in _schemas(table) for item in schema.fields}
        return {name: [newest[number] for number in self.columns[name] if number in newest] for name in names}


def _schemas(table: Any) -> list[Any]:
    """All schemas of a table, the present one last."""
    before = [schema for _, schema in sorted(table.schemas().items())]
    return [*before, table.schema()]
