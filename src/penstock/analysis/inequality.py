"""What a condition says about how small a column can be.

l.at >= r.at - INTERVAL 1 HOUR       l.at is at least r.at - INTERVAL 1 HOUR
r.at <= l.at + INTERVAL 1 HOUR       the same, solved for l.at
date_trunc('HOUR', l.at) = r.hour    l.at is at least r.hour, since a time is not before its hour

A bound of another type than its column's is brought to that (`to_type_of`), where the two are ordered alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from penstock.analysis.local_time import earlier, kind_of
from penstock.catalog.types import FRACTIONAL, INTEGRAL, Type, is_decimal, is_numeric, is_temporal
from penstock.catalog.zones import NO_SHIFTS, Shifts
from penstock.plan.expressions import bare, conjuncts
from penstock.plan.scalar import Scalar

Types = Mapping[str, Type | None]
_NEVER_SKIPPED = ("timestamp", "date", *INTEGRAL, *FRACTIONAL)


@dataclass(frozen=True)
class LowerBound:
    """Where the condition is TRUE, the column is at least as large as `bound`."""

    column: str
    bound: exp.Expression


def lower_bounds(condition: Scalar, types: Types, shifts: Shifts = NO_SHIFTS) -> Iterator[LowerBound]:
    """Every lower bound of a column that a condition states; `types` are those of the columns."""
    for part in conjuncts(condition):
        for larger, smaller in _inequalities(bare(part.tree)):
            yield from _solved(bare(larger), bare(smaller), types, shifts)


def equality_bounds(left: Scalar, right: Scalar, types: Types, shifts: Shifts = NO_SHIFTS) -> Iterator[LowerBound]:
    """The lower bounds that an equality states: each side is at least the other."""
    yield from _solved(bare(left.tree), bare(right.tree), types, shifts)
    yield from _solved(bare(right.tree), bare(left.tree), types, shifts)


Conversion = Callable[[exp.Expression], exp.Expression]


def to_type_of(item: LowerBound, types: Types, shifts: Shifts) -> Conversion | None:
    """What brings the value of a bound to its column's type; None where what is larger in one is not in the other.

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
    if found == "date" and shifts.most and not isinstance(bare(item.bound), exp.Column):
        # The condition was solved for the column: its days are counted by the clock on the wall.
        return lambda tree: earlier(_cast_to(kind)(tree), 3 * shifts.most)
    if found:
        return _cast_to(kind) if found == "date" or (is_temporal(found) and not shifts.most) else None
    read = {types.get(node.name) for node in item.bound.find_all(exp.Column)}
    return _unchanged if not shifts.most or (kind == "timestamp" and read <= {"timestamp"}) else None


def _unchanged(tree: exp.Expression) -> exp.Expression:
    return tree


def _cast_to(kind: Type) -> Conversion:
    return lambda tree: exp.TryCast(this=tree.copy(), to=exp.DataType(this=exp.DType.USERDEFINED, kind=kind))


def _inequalities(tree: exp.Expression) -> Iterator[tuple[exp.Expression, exp.Expression]]:
    """Pairs (larger, smaller), not strictly."""
    match tree:
        case exp.GT() | exp.GTE():
            yield tree.this, tree.expression
        case exp.LT() | exp.LTE():
            yield tree.expression, tree.this
        case exp.EQ() | exp.NullSafeEQ():
            yield tree.this, tree.expression
            yield tree.expression, tree.this
        case exp.Between():
            yield tree.this, tree.args["low"]
            yield tree.args["high"], tree.this
        case _:
            return


def _solved(larger: exp.Expression, smaller: exp.Expression, types: Types, shifts: Shifts) -> Iterator[LowerBound]:
    """The inequality solved for the column on its larger side, taking away what stands around it."""
    if isinstance(larger, exp.Column):
        yield LowerBound(larger.name, smaller)
    elif isinstance(larger, exp.Add | exp.Sub) and _is_distance(larger.expression, larger.this, types):
        turned = exp.Sub if isinstance(larger, exp.Add) else exp.Add
        moved = turned(this=_operand(smaller), expression=_operand(larger.expression))
        yield from _solved(bare(larger.this), moved, types, shifts)
    elif (inner := _not_below(larger)) is not None:
        # Read in the session's zone, a time that the clock skips is a later one: its hour may be after it.
        timed = isinstance(larger, exp.Anonymous) or larger.args.get("to") is not None
        if not (timed and shifts.most and kind_of(inner, types) not in _NEVER_SKIPPED):
            yield from _solved(bare(inner), smaller, types, shifts)


def _operand(tree: exp.Expression) -> exp.Expression:
    copied = tree.copy()
    return exp.Paren(this=copied) if isinstance(copied, exp.Binary) else copied


def _is_distance(tree: exp.Expression, of: exp.Expression, types: Types) -> bool:
    """Whether adding and taking away the constant is exact: an interval, or a whole number to an exact one."""
    inner = bare(tree)
    if isinstance(inner, exp.Interval):
        return True
    column = bare(of)
    kind = types.get(column.name) if isinstance(column, exp.Column) else None
    exact = kind is not None and (kind in INTEGRAL or is_decimal(kind))
    return exact and isinstance(inner, exp.Literal) and inner.name.isdigit()


def _not_below(tree: exp.Expression) -> exp.Expression | None:
    """The argument of a function that never gives more than its argument."""
    if isinstance(tree, exp.Floor):
        return tree.this  # type: ignore[no-any-return]
    if isinstance(tree, exp.Anonymous) and str(tree.this).lower() == "date_trunc" and len(tree.expressions) == 2:  # noqa: PLR2004
        return tree.expressions[1]  # type: ignore[no-any-return]
    if isinstance(tree, exp.Anonymous) and str(tree.this).lower() == "floor" and len(tree.expressions) == 1:
        return tree.expressions[0]  # type: ignore[no-any-return]
    return None
