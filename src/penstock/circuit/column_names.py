"""Columns that the binder has named, in the words of the program.

A rewriting gives its columns names such as `__c0.b`, which nobody has written. What people read says what such a
column is made from instead: a column of a table, or a function of some.
"""

from __future__ import annotations

import re

from penstock.plan.nodes import Aggregate, Plan, Project, Scan
from penstock.plan.scalar import Scalar

_INTERNAL = re.compile(r"(?<![\w.])`?(__\w+(?:\.\w+)?)`?")


def with_written_names(text: str, plan: Plan) -> str:
    """A sentence about an operator, its columns named as the program does where that can be told."""
    said = _INTERNAL.sub(lambda found: _said(found[1], plan) or found[0], text)
    return re.sub(r"\b(a function of [^,]+) is below the waterline \1", r"\1 is below its waterline", said)


def _said(name: str, plan: Plan) -> str | None:
    """The origin of a column of the plan, or of a relation below it, in words; None if only the name is known."""
    for node in plan.walk():
        for output, scalar in _defined(node):
            if isinstance(node, Aggregate) and scalar.column == name and not output.startswith("__"):
                return output
            if output == name:
                return _made_from(scalar, node)
    return None


def _defined(node: Plan) -> tuple[tuple[str, Scalar], ...]:
    if isinstance(node, Project):
        return node.items
    return node.groups if isinstance(node, Aggregate) else ()


def _made_from(scalar: Scalar, node: Plan) -> str | None:
    below = node.inputs[0]
    sources = [_named(name, below) for name in sorted(scalar.columns)]
    if scalar.column is not None or None in sources or not sources:
        return sources[0] if scalar.column is not None else None
    return f"a function of {', '.join(dict.fromkeys(filter(None, sources)))}"


def _named(name: str, below: Plan) -> str | None:
    """The name of a field for people: with its relation, unless it says that already."""
    if name.startswith("__"):
        return _said(name, below)
    while not isinstance(below, Scan) and len(below.inputs) == 1 and name in below.inputs[0].names:
        below = below.inputs[0]
    return f"{below.relation}.{name}" if isinstance(below, Scan) and "." not in name else name
