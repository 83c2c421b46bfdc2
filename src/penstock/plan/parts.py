"""The expressions of a node, each in its place: what may be read and called there; what may not is refused.

A node is checked once, when it is made. A failure here is a mistake of ours, in the binder or in a rule of rewriting:
what users write is checked before, with their words.

No node reads columns of an enclosing query. While a subquery is bound those are marks in parsed trees (`bind.marks`) or
columns of a scanned leaf, the domain (`bind.domain`), in whose place the enclosing plan is put.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from penstock.errors import Diagnostic, InternalError, Span, did_you_mean
from penstock.plan.scalar import Scalar


class Calls(Enum):
    """The calls over several rows that may stand in an expression."""

    NONE = "neither aggregates nor window functions"
    AGGREGATES = "aggregates, but no window functions"
    WINDOWS = "window functions, but no aggregates outside of OVER"


@dataclass(frozen=True, slots=True)
class Part:
    """An expression of a node, with the name of its place there, and the fields and calls that it may have."""

    place: str
    scalar: Scalar
    fields: frozenset[str]
    calls: Calls = Calls.NONE


def named_parts(
    items: Iterable[tuple[str, Scalar]], fields: frozenset[str], calls: Calls = Calls.NONE
) -> tuple[Part, ...]:
    """The parts that output columns are computed by."""
    return tuple(Part(f"the column {name}", scalar, fields, calls) for name, scalar in items)


def parts_at(place: str, scalars: Iterable[Scalar], fields: frozenset[str]) -> tuple[Part, ...]:
    """The parts that stand in one place."""
    return tuple(Part(place, scalar, fields) for scalar in scalars)


def refuse_misplaced(node: str, parts: Iterable[Part]) -> None:
    """Raise InternalError for the first part that reads, or calls, what it cannot in its place."""
    for part in parts:
        scalar = part.scalar
        if scalar.qualified:
            raise _misplaced(node, part, f"reads {scalar.qualified} as a column of a table", _FIELDS_OF_STRUCTS)
        if not scalar.columns <= part.fields:
            raise _unknown_column(node, part)
        if scalar.aggregates and part.calls is not Calls.AGGREGATES:
            raise _misplaced(node, part, "calls an aggregate", _allowed(part))
        if scalar.windowed and part.calls is not Calls.WINDOWS:
            raise _misplaced(node, part, "calls a window function", _allowed(part))


_FIELDS_OF_STRUCTS = "a plan has no tables: `parse_scalar` reads the name behind a dot as a field of a struct"


def _allowed(part: Part) -> str:
    return f"{part.place} may call {part.calls.value}"


def _unknown_column(node: str, part: Part) -> InternalError:
    missing = sorted(part.scalar.columns - part.fields)
    known = sorted(part.fields)
    hint = f"it has {', '.join(known)}" if known else "it has no columns"
    what = f"reads {', '.join(missing)}, which the input does not have"
    return _misplaced(node, part, what, hint, did_you_mean(missing[0], known))


def _misplaced(node: str, part: Part, what: str, hint: str, candidates: tuple[str, ...] = ()) -> InternalError:
    return invalid(f"{node}: {part.place}, {part.scalar.text}, {what}", part.scalar.span, hint, candidates)


def invalid(
    message: str, span: Span | None = None, hint: str | None = None, near: tuple[str, ...] = ()
) -> InternalError:
    """The error that no plan can have such a node."""
    return InternalError(Diagnostic("INVALID_PLAN", message, span, near, hint))
