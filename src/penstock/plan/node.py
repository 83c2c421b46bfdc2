"""The base of all plan nodes: each knows its inputs, output columns and expressions, and refuses to be invalid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from dataclasses import fields as dataclass_fields
from functools import cached_property
from typing import Any

from penstock.catalog.types import Type
from penstock.errors import InternalError
from penstock.plan.parts import Part, invalid, refuse_misplaced
from penstock.plan.scalar import Scalar, column


@dataclass(frozen=True, slots=True)
class Field:
    """One output column; `type` is None until Spark has been asked."""

    name: str
    type: Type | None = field(default=None, compare=False)
    nullable: bool = field(default=True, compare=False)


@dataclass(frozen=True)
class Plan:
    """A relation; subclasses say what they emit for their inputs."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """The output columns."""
        raise NotImplementedError

    @property
    def parts(self) -> tuple[Part, ...]:
        """The expressions of the node itself, each with what may stand in it; an opaque node has none."""
        raise NotImplementedError

    @cached_property
    def inputs(self) -> tuple[Plan, ...]:
        """The nodes that this one reads, left to right."""
        found: list[Plan] = []
        for name in dataclass_fields(self):
            value = getattr(self, name.name)
            if isinstance(value, Plan):
                found.append(value)
            elif isinstance(value, tuple) and value and all(isinstance(item, Plan) for item in value):
                found.extend(value)
        return tuple(found)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the output columns."""
        return tuple(item.name for item in self.fields)

    @cached_property
    def known(self) -> frozenset[str]:
        """The names of the output columns, which expressions over them may read."""
        return frozenset(self.names)

    def field(self, name: str) -> Field:
        """The output column of that exact name."""
        return next(item for item in self.fields if item.name == name)

    def columns(self) -> tuple[Scalar, ...]:
        """A reference to every output column."""
        return tuple(column(item.name, item.type, item.nullable) for item in self.fields)

    def with_inputs(self, *inputs: Plan) -> Plan:
        """The same node over other inputs."""
        remaining = iter(inputs)
        changes: dict[str, Any] = {}
        for name in dataclass_fields(self):
            value = getattr(self, name.name)
            if isinstance(value, Plan):
                changes[name.name] = next(remaining)
            elif isinstance(value, tuple) and value and all(isinstance(item, Plan) for item in value):
                changes[name.name] = tuple(next(remaining) for _ in value)
        return replace(self, **changes) if changes else self

    def walk(self) -> Iterator[Plan]:
        """The node and all below it, parents first."""
        yield self
        for item in self.inputs:
            yield from item.walk()

    @cached_property
    def scanned(self) -> frozenset[str]:
        """The lower-case names of the relations that the node and all below it read."""
        return frozenset().union(*(item.named_relations for item in self.walk()))

    @property
    def named_relations(self) -> frozenset[str]:
        """The lower-case names of the relations that the node itself reads."""
        return frozenset()

    def __post_init__(self) -> None:
        """Refuse two output columns of one name, and expressions that cannot stand where they do."""
        if len({name.lower() for name in self.known}) < len(self.fields):
            raise _twins(self)
        refuse_misplaced(type(self).__name__, self.parts)


def _twins(plan: Plan) -> InternalError:
    names = [name.lower() for name in plan.names]
    twin = next(name for place, name in enumerate(plan.names) if name.lower() in names[:place])
    return invalid(f"{type(plan).__name__} has two fields named {twin}", hint=f"its fields: {', '.join(plan.names)}")
