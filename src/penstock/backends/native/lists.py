"""Aggregates that the binder has written with sorted lists of rows, known again by their forms (bind.row_order).

transform(sort_array(collect_list(named_struct('o0', a, 'v', x))), e -> e.v)             the values, in order
sort_array(collect_set(x))                                                               each value once
get(array_sort(collect_list(named_struct('o0', a, 'r', …, 'v', x)), (l, r) -> …), 0).v   the first value
if(size(…) = 0, NULL, array_join(transform(array_sort(…, (l, r) -> …), e -> e.v), ','))  the values as one text
if(size(…) = 0, NULL, array_join(array_distinct(transform(sort_array(…), e -> e.v)), ','))   each where it comes first
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto

from penstock.plan.forms import (
    Aggregated,
    Call,
    Case,
    Constant,
    FieldOf,
    Form,
    Lambda,
    Named,
    Ordering,
    Parameter,
    called,
)

LISTS = frozenset(["collect_list", "array_agg", "collect_set"])
_VALUE, _ROW = "v", "r"


class Answer(Enum):
    """The part of the sorted rows that is the answer."""

    VALUES = auto()
    FIRST = auto()
    TEXT = auto()
    DIFFERENT = auto()


@dataclass(frozen=True, slots=True)
class SortedRows:
    """An aggregate over rows in an order: `core` has its condition, and says whether each value counts once."""

    core: Aggregated
    answer: Answer
    value: Form
    order: tuple[Ordering, ...]
    separator: Form | None = None


def sorted_rows(form: Form) -> SortedRows | None:
    """The aggregate that a form says; None for one that is written in another way."""
    return _each_once(form) or _values(form) or _first(form) or _text(form)


def listed(call: Call) -> Form:
    """The aggregate of one column as the binder writes it, of rows that have no other."""
    if call.function == "collect_set":
        return Call("sort_array", (call,))
    row = Call("named_struct", (Constant(_VALUE, "string"), *call.arguments))
    value = Lambda(("e",), FieldOf(Parameter("e"), _VALUE))
    return Call("transform", (Call("sort_array", (replace(call, arguments=(row,)),)), value))


def _each_once(form: Form) -> SortedRows | None:
    """`sort_array(collect_set(x))`, which has no NULL, so that array_sort has the same order."""
    collected = called(form, "sort_array", "array_sort")
    core = _core((collected or (form,))[0])
    if core is None or not core.distinct or not collected or len(collected) > 1 or len(core.call.arguments) != 1:
        return None
    (value,) = core.call.arguments
    return SortedRows(core, Answer.VALUES, value, (Ordering(value, False, True),))  # noqa: FBT003 - ascending, NULL first


def _values(form: Form) -> SortedRows | None:
    """The `v` of rows, sorted as they are or by a comparison."""
    rows = _taken(form)
    if rows is None:
        return None
    core = _core((called(rows, "sort_array") or (rows,))[0])
    if core is None:
        return _compared(rows)
    parts = _parts(core)
    if parts is None or core.distinct or not called(rows, "sort_array"):
        return None
    return SortedRows(core, Answer.VALUES, parts[_VALUE], tuple(map(_ascending, parts.values())))


def _taken(form: Form) -> Form | None:
    """The rows of `transform(rows, e -> e.v)`."""
    match form:
        case Call(
            "transform",
            (rows, Lambda((name,), FieldOf(argument=Parameter() as item, name="v"))),
        ) if item.name == name:
            return rows
    return None


def _first(form: Form) -> SortedRows | None:
    """`get(rows, 0).v`."""
    got = called(form.argument, "get") if isinstance(form, FieldOf) and form.name == _VALUE else None
    found = _compared(got[0]) if got is not None and got[1] == Constant("0", "int") else None
    return None if found is None or found.core.distinct else replace(found, answer=Answer.FIRST)


def _text(form: Form) -> SortedRows | None:
    """`array_join` of the values, NULL of none."""
    branches = called(form, "if") or ()
    joined = called(branches[2], "array_join") if len(branches) == 3 else None  # noqa: PLR2004 - a condition, two values
    different = None if joined is None else called(joined[0], "array_distinct")
    rows = None if joined is None else _taken(joined[0])
    found = _values(different[0]) if different else None if rows is None else _compared(rows)
    if joined is None or found is None:
        return None
    sizes = called(branches[0], "=") or ()
    empty = len(sizes) == 2 and sizes[1] == Constant("0", "int") and called(sizes[0], "size")  # noqa: PLR2004 - both sides
    if (
        not empty
        or _core(empty[0]) != found.core
        or not (isinstance(branches[1], Constant) and branches[1].type == "void")
    ):
        return None
    return replace(found, answer=Answer.DIFFERENT if different else Answer.TEXT, separator=joined[1])


def _core(form: Form) -> Aggregated | None:
    """The call that collects the rows, each once if it is said to be distinct."""
    found = form if isinstance(form, Aggregated) else Aggregated(form) if isinstance(form, Call) else None
    if found is None or found.call.function not in LISTS or found.within or found.nulls:
        return None
    return replace(found, distinct=found.distinct or found.call.function == "collect_set")


def _parts(core: Aggregated) -> Mapping[str, Form] | None:
    """The parts of a row by their names, of which one is the value."""
    parts = called(core.call.arguments[0], "named_struct") if len(core.call.arguments) == 1 else None
    if parts is None:
        return None
    names = [item.value if isinstance(item, Constant) and item.is_text else "" for item in parts[::2]]
    return dict(zip(names, parts[1::2], strict=True)) if _VALUE in names and "" not in names else None


def _compared(form: Form) -> SortedRows | None:
    """`array_sort(rows, (l, r) -> …)` with a comparison by `o0`, `o1`, …, then by the whole row."""
    match form:
        case Call("array_sort", (rows, Lambda(("l", "r"), comparison))):
            core = _core(rows)
        case _:
            return None
    parts = None if core is None else _parts(core)
    order = None if parts is None else _order(comparison, parts)
    if core is None or parts is None or order is None:
        return None
    return SortedRows(core, Answer.VALUES, parts[_VALUE], order)


def _order(comparison: Form, parts: Mapping[str, Form]) -> tuple[Ordering, ...] | None:
    """The order that a comparison says: by one part, and where that is equal by the others; the row at last."""
    if not isinstance(comparison, Case) or comparison.operand is not None:
        return None
    conditions = [branch.condition for branch in comparison.branches]
    answers = [*(_number(branch.value) for branch in comparison.branches), _number(comparison.otherwise)]
    if conditions == [Call("<", _sides(_ROW)), Call(">", _sides(_ROW))]:
        if answers not in ([-1, 1, 0], [1, -1, 0]):
            return None
        row = called(parts.get(_ROW, comparison), "struct") or ()
        descending = answers[0] == 1
        whole = tuple(item.value if isinstance(item, Named) else item for item in row)
        return tuple(Ordering(item, descending, not descending) for item in whole)
    name = next((name for name in parts if conditions[0] == Call("<=>", _sides(name))), None)
    if name is None or len(conditions) != 4:  # noqa: PLR2004 - equal, either of them NULL, less
        return None
    one, other = _sides(name)
    if conditions[1:] != [Call("is null", (one,)), Call("is null", (other,)), Call("<", (one, other))]:
        return None
    rest = _order(comparison.branches[0].value, parts)
    null, opposite, less, more = answers[1:]
    if rest is None or {null, opposite} != {-1, 1} or {less, more} != {-1, 1}:
        return None
    return (Ordering(parts[name], less == 1, null == -1), *rest)


def _sides(name: str) -> tuple[Form, Form]:
    return FieldOf(Parameter("l"), name), FieldOf(Parameter("r"), name)


def _number(form: Form | None) -> int | None:
    match form:
        case Call("-", (Constant() as inner,)) if inner.is_whole:
            return -int(inner.value)
        case Constant() if form.is_whole:
            return int(form.value)
    return None


def _ascending(form: Form) -> Ordering:
    return Ordering(form, descending=False, nulls_first=True)
