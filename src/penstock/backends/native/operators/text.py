"""Queries that are written once; what they read has another name in each step."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass

from penstock.backends.native.dialect import NativeDialect
from penstock.backends.native.kinds import stored
from penstock.backends.native.proof import quoted
from penstock.backends.native.trace import Columns
from penstock.backends.render import Renderer
from penstock.catalog.reserved import WEIGHT
from penstock.catalog.types import Type
from penstock.plan.nodes import Filter, Join, Plan, Project, Scan, TopK

_SLOT = re.compile("\x01([^\x02]*)\x02")


@dataclass(frozen=True, slots=True)
class Template:
    """A query in which each relation stands as `place(name)`."""

    text: str

    def over(self, relations: Mapping[str, str]) -> str:
        """The query over relations, given as FROM takes them."""
        found = self.text
        for name, relation in relations.items():
            found = found.replace(place(name), relation)
        return found


def place(name: str) -> str:
    """The place that a relation takes later."""
    return f'"the rows of {name}"'


def template(plan: Plan, inputs: tuple[int, ...], outputs: Columns, carry: tuple[str, ...] = ()) -> Template:
    """The query for an operator's node over its inputs, each column of the type that it is known by."""
    relations = {f"#{number}": place(f"#{number}") for number in inputs}
    text = Renderer(NativeDialect(), relations, carry).sql(plan)
    read = _read(plan)
    if outputs and read.issuperset(outputs):
        return Template(text)
    return Template(f"SELECT {', '.join([*cast(outputs, read), *carry]) or '1 AS __none'} FROM ({text})")


def _read(plan: Plan) -> set[tuple[str, Type | None]]:
    """The columns, with their types, that a node hands on from its leaves: these need no cast, which costs time.

    Each relation that stands for a leaf has its columns in the types that `stored` gives.
    """
    if isinstance(plan, Scan):
        return {(item.name, item.type) for item in plan.fields}
    if isinstance(plan, Filter | TopK):
        return _read(plan.input)
    if isinstance(plan, Project):
        below = _read(plan.input)
        return {(name, scalar.type) for name, scalar in plan.items if (scalar.column, scalar.type) in below}
    return _read(plan.left) | _read(plan.right) if isinstance(plan, Join) else set()


def cast(columns: Columns, known: Container[object] = ()) -> list[str]:
    """Columns as a SELECT lists them, each of its type; those that are `known` to have it need no cast."""
    return [
        quoted(name) if (name, kind) in known else f"CAST({quoted(name)} AS {stored(kind)}) AS {quoted(name)}"
        for name, kind in columns
    ]


def nothing(columns: Columns) -> str:
    """A relation with those columns and a weight, without rows."""
    items = [f"CAST(NULL AS {stored(kind)}) AS {quoted(name)}" for name, kind in columns]
    return f"(SELECT {', '.join([*items, f'0::BIGINT AS {WEIGHT}'])} WHERE false)"


def slot(name: str) -> str:
    """The place of a column in an expression; no SQL has these characters."""
    return f"\x01{name}\x02"


def filled(expression: str, prefix: str = "") -> str:
    """An expression over the columns whose names begin with a prefix."""
    return _SLOT.sub(lambda found: quoted(prefix + found[1]), expression)
