"""The lower bounds of columns that a condition gives.

l.at >= r.at - INTERVAL 1 HOUR       l.at is at least r.at - INTERVAL 1 HOUR
r.at <= l.at + INTERVAL 1 HOUR       the same, solved for l.at
date_trunc('HOUR', l.at) = r.hour    l.at is at least r.hour, since a time is not before its hour

A bound of another type than its column's is brought to that (`to_type_of`), where the two are ordered alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from penstock.analysis.local_time import earlier, kind_of
from penstock.analysis.row_waterlines import keeps_waterlines
from penstock.catalog.types import FRACTIONAL, INTEGRAL, Type, is_decimal, is_numeric, is_temporal
from penstock.catalog.zones import NO_SHIFTS, Shifts
from penstock.plan.expressions import conjuncts
from penstock.plan.forms import Call, Cast, Constant, Form, Reference, Span, called, references
from penstock.plan.scalar import Scalar

Types = Mapping[str, Type | None]
_NEVER_SKIPPED = ("timestamp", "date", *INTEGRAL, *FRACTIONAL)


@dataclass(frozen=True)
class LowerBound:
    """Where the condition is TRUE, the column is at least as large as `bound`, or if `strict` larger."""

    column: str
    bound: Form
    strict: bool = False


def lower_bounds(condition: Scalar, types: Types, shifts: Shifts = NO_SHIFTS) -> Iterator[LowerBound]:
    """Every lower bound of a column that a condition states; `types` are those of the columns."""
    for part in conjuncts(condition):
        form = _once_known(part.form)
        strict = called(form, ">", "<") is not None
        for larger, smaller in _inequalities(form):
            yield from (replace(item, strict=strict) for item in _solved(larger, smaller, types, shifts))


def equality_bounds(left: Scalar, right: Scalar, types: Types, shifts: Shifts = NO_SHIFTS) -> Iterator[LowerBound]:
    """The lower bounds that an equality states: each side is at least the other."""
    yield from _solved(left.form, right.form, types, shifts)
    yield from _solved(right.form, left.form, types, shifts)


Conversion = Callable[[Form], Form]


def to_type_of(item: LowerBound, types: Types, shifts: Shifts) -> Conversion | None:
    """The conversion of a bound's value to its column's type; None where what is larger in one is not in the other.

    What is rounded to the nearest value of a number's type, or to the day of a time, has the same values below it or
    fewer. The clock of a zone that `shifts` reads times without a zone in another order.
    """
    kind, found = types.get(item.column) or "", kind_of(item.bound, types)
    if (kind and kind == found) or {kind, found} <= set(INTEGRAL):
        return _unchanged
    if is_temporal(kind):
        return _to_time(item, types, shifts)
    if is_numeric(kind) and is_numeric(found):
        # Spark compares a whole number or a DECIMAL with a DOUBLE as DOUBLE, which rounds it.
        return _unchanged if found in FRACTIONAL else _cast_to(kind)
    numeric = is_numeric(kind) and not found
    return _unchanged if numeric or (not kind and not shifts.most) else None


def _to_time(item: LowerBound, types: Types, shifts: Shifts) -> Conversion | None:
    kind, found = types[item.column] or "", kind_of(item.bound, types)
    if kind == "date":
        return None if shifts.dates or (found and not is_temporal(found)) else _cast_to(kind)
    if found == "date" and shifts.most and not isinstance(item.bound, Reference):
        # The condition was solved for the column: its days are counted by the clock on the wall.
        return lambda form: earlier(_cast_to(kind)(form), 3 * shifts.most)
    if found:
        return _cast_to(kind) if found == "date" or (is_temporal(found) and not shifts.most) else None
    read = {types.get(name) for name in references(item.bound)}
    return _unchanged if not shifts.most or (kind == "timestamp" and read <= {"timestamp"}) else None


def _unchanged(form: Form) -> Form:
    return form


def _cast_to(kind: Type) -> Conversion:
    return lambda form: Cast(form, kind, safe=True)


def _once_known(form: Form) -> Form:
    """`coalesce(c >= w, TRUE)` as `c >= w`, for a w that rows keep: when one row has it, all later ones do."""
    match form:
        case Call("coalesce", (Call(_, (_, line)) as compared, Constant("true"))) if keeps_waterlines(line):
            return compared
        case _:
            return form


def _inequalities(form: Form) -> Iterator[tuple[Form, Form]]:
    """Pairs (larger, smaller), not strictly."""
    match form:
        case Call(">" | ">=", (one, other)):
            yield one, other
        case Call("<" | "<=", (one, other)):
            yield other, one
        case Call("=" | "<=>", (one, other)):
            yield one, other
            yield other, one
        case Call("between", (value, low, high)):
            yield value, low
            yield high, value
        case _:
            return


def _solved(larger: Form, smaller: Form, types: Types, shifts: Shifts) -> Iterator[LowerBound]:
    """The inequality solved for the column on its larger side, taking away what stands around it."""
    match larger:
        case Reference(name):
            yield LowerBound(name, smaller)
        case Call("+" | "-" as sign, (inner, distance)) if _is_distance(distance, inner, types):
            moved = Call("-" if sign == "+" else "+", (smaller, distance))
            yield from _solved(inner, moved, types, shifts)
        case Call() if (rounded := _not_below(larger)) is not None:
            # Read in the session's zone, a time that the clock skips is a later one: its hour may be after it.
            if not (shifts.most and kind_of(rounded, types) not in _NEVER_SKIPPED):
                yield from _solved(rounded, smaller, types, shifts)
        case _:
            return


def _is_distance(form: Form, of: Form, types: Types) -> bool:
    """True if adding and taking away the constant is exact: an interval, or a whole number to an exact one."""
    if isinstance(form, Span):
        return True
    kind = types.get(of.name) if isinstance(of, Reference) else None
    exact = kind is not None and (kind in INTEGRAL or is_decimal(kind))
    return exact and isinstance(form, Constant) and form.value.isdigit()


def _not_below(form: Call) -> Form | None:
    """The argument of a function that never gives more than its argument."""
    match form:
        case Call("floor to", (value, _)) | Call("date_trunc", (_, value)) | Call("floor", (value,)):
            return value
        case _:
            return None
