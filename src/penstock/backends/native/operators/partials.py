"""Aggregates as partial results that can be added up (circuit.partials), in DuckDB's types.

A sum of whole numbers lies in a HUGEINT, which no sum of BIGINTs leaves; only an answer can be too large.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace

from penstock.backends.native.comparing import require_compared
from penstock.backends.native.kinds import stored
from penstock.backends.native.operators.grouped import Partial
from penstock.backends.native.proof import NotProvenError, Proven, quoted, standing_at
from penstock.backends.native.raised import Failure, said
from penstock.backends.native.scalars import proven
from penstock.backends.native.wide_sums import averaged
from penstock.catalog.reserved import WEIGHT
from penstock.catalog.types import FRACTIONAL, INTEGRAL, Type, is_decimal
from penstock.circuit.partials import PRESENT, decimal_shape
from penstock.circuit.raised import OUT_OF_RANGE, OVERFLOW, SUM_TOO_LONG
from penstock.plan.nodes import Aggregate, AggregateCall

_RUNNING = {
    "min": ("min", "least({0}, {1})"),
    "max": ("max", "greatest({0}, {1})"),
    "bool_and": ("bool_and", "{0} AND {1}"),
    "every": ("bool_and", "{0} AND {1}"),
    "bool_or": ("bool_or", "{0} OR {1}"),
    "some": ("bool_or", "{0} OR {1}"),
    "any": ("bool_or", "{0} OR {1}"),
    "bit_and": ("bit_and", "{0} & {1}"),
    "bit_or": ("bit_or", "{0} | {1}"),
}
_SLOT = re.compile("\x01([^\x02]*)\x02")
_LARGEST = 9223372036854775807
_TOTAL = "HUGEINT"
_LIMB = f"4294967296::{_TOTAL}"  # by which circuit.partials halves a sum of BIGINTs


@dataclass(frozen=True, slots=True)
class Decomposed:
    """The partials of one aggregate, and its answer, in which a partial stands as `slot(name)`."""

    partials: tuple[Partial, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The partials of a whole Aggregate, and its answers.

    `names` has for the name of each partial that of the one that is kept in its place: equal ones are kept once.
    """

    partials: tuple[Partial, ...]
    answers: tuple[str, ...]
    names: Mapping[str, str]

    def outward(self, name: str) -> str:
        """A partial of `circuit.partials`, from those here: of a sum of BIGINTs that has two halves."""
        if name in self.names:
            kept = next(item for item in self.partials if item.name == self.names[name])
            return f"{quoted(kept.name)}::BIGINT" if kept.kind == _TOTAL else quoted(kept.name)
        total = quoted(self.names[name[:-1]])
        low = f"((({total} % {_LIMB}) + {_LIMB}) % {_LIMB})"
        return f"({low if name.endswith('l') else f'(({total} - {low}) // {_LIMB})'})::BIGINT"

    def inward(self, name: str, known: Container[str]) -> str:
        """The partial here of that name, from the `known` ones of `circuit.partials`."""
        return quoted(name) if name in known else f"{quoted(name + 'h')}::{_TOTAL} * {_LIMB} + {quoted(name + 'l')}"


def decomposed(node: Aggregate, types: Mapping[str, Type | None]) -> Decomposition:
    """The partials of a whole Aggregate, and its answers; NotProvenError for one that has none here."""
    partials = {(WEIGHT, "sum"): Partial(PRESENT, "BIGINT", WEIGHT)}
    answers, names = [], {PRESENT: PRESENT}
    for position, (_, call) in enumerate(node.aggregates):
        with standing_at(call.call.span):
            found = _decomposed(call, f"__p{position}", types)
            filtered = [_filtered(item, call, types) for item in found.partials]
        answer = found.answer
        for partial in filtered:
            kept = partials.setdefault((partial.value, partial.aggregate), partial)
            if partial.checked:  # an average keeps the same total, whatever that is
                kept = partials[partial.value, partial.aggregate] = replace(kept, checked=partial.checked)
            answer = answer.replace(slot(partial.name), slot(kept.name))
            names[partial.name] = kept.name
        answers.append(answer)
    return Decomposition(tuple(partials.values()), tuple(answers), names)


def _filtered(partial: Partial, call: AggregateCall, types: Mapping[str, Type | None]) -> Partial:
    if call.filter is None:
        return partial
    value = f"CASE WHEN {proven(call.filter.form, types).text} THEN {partial.value} END"
    return replace(partial, value=value)


def _decomposed(call: AggregateCall, name: str, types: Mapping[str, Type | None]) -> Decomposed:
    if call.function == "count":
        return _count(call, name, types)
    argument = proven(call.arguments[0].form, types)
    value = f"({argument.text})"
    if call.function == "count_if":
        counted = Partial(name, "BIGINT", f"CASE WHEN {value} THEN {WEIGHT} ELSE 0 END")
        return Decomposed((counted,), f"coalesce({slot(name)}, 0)")
    if call.function == "sum":
        return _sum(call, argument, name)
    if call.function in ("avg", "mean"):
        return _average(argument, name)
    if call.function in _RUNNING:
        require_compared(argument.type)
        aggregate, merged = _RUNNING[call.function]
        return Decomposed((Partial(name, stored(argument.type), value, aggregate, merged),), slot(name))
    raise NotProvenError(what=f"{call.function} as a partial result")


def _count(call: AggregateCall, name: str, types: Mapping[str, Type | None]) -> Decomposed:
    tested = [proven(item.form, types).text for item in call.arguments if item.text not in ("*", "1")]
    tests = " AND ".join(f"({text}) IS NOT NULL" for text in tested)
    value = f"CASE WHEN {tests} THEN {WEIGHT} ELSE 0 END" if tests else WEIGHT
    return Decomposed((Partial(name, "BIGINT", value),), f"coalesce({slot(name)}, 0)")


def _seen(argument: Proven, name: str) -> tuple[Partial, str]:
    """The count of values that are not NULL, and the condition that there are some."""
    value = f"CASE WHEN ({argument.text}) IS NULL THEN 0 ELSE {WEIGHT} END"
    return Partial(f"{name}n", "BIGINT", value), f"coalesce({slot(f'{name}n')}, 0) <> 0"


def _total(argument: Proven, name: str) -> Partial:
    """The sum of the values."""
    value = f"({argument.text})"
    if argument.type in INTEGRAL:
        return Partial(name, _TOTAL, f"{value}::HUGEINT * {WEIGHT}")
    if is_decimal(argument.type):
        _, scale = decimal_shape(argument.type)
        return Partial(name, f"DECIMAL(38,{scale})", f"{value} * CAST({WEIGHT} AS DECIMAL(18,0))")
    if argument.type in FRACTIONAL:
        return Partial(name, "DOUBLE", f"{value}::DOUBLE * {WEIGHT}")
    raise NotProvenError(what=f"sum of {argument.type}")


def _sum(call: AggregateCall, argument: Proven, name: str) -> Decomposed:
    seen, some = _seen(argument, name)
    total = _total(argument, name)
    answer = slot(name)
    if argument.type in INTEGRAL:
        total = replace(total, checked=_overflowing(call))
        answer = f"{answer}::BIGINT"
    if is_decimal(argument.type):
        precision, scale = decimal_shape(argument.type)
        answer = f"CAST({answer} AS DECIMAL({min(38, precision + 10)},{scale}))"
    return Decomposed((seen, total), f"CASE WHEN {some} THEN {answer} END")


def _overflowing(call: AggregateCall) -> str:
    """A total that has to be a BIGINT, where it is made: an answer that is read later raises in another operator."""
    raised = Failure(OVERFLOW, OUT_OF_RANGE, said(SUM_TOO_LONG), call.call.text).raising
    return f"CASE WHEN {{0}} NOT BETWEEN -{_LARGEST} - 1 AND {_LARGEST} THEN {_escaped(raised)} ELSE {{0}} END"


def _escaped(text: str) -> str:
    """A text that stands in a template as it is."""
    return text.replace("{", "{{").replace("}", "}}")


def _average(argument: Proven, name: str) -> Decomposed:
    seen, some = _seen(argument, name)
    if is_decimal(argument.type):
        precision, scale = decimal_shape(argument.type)
        answer = averaged(slot(name), f"CAST({slot(seen.name)} AS HUGEINT)", precision, scale)
        return Decomposed((seen, _total(argument, name)), f"CASE WHEN {some} THEN {answer} END")
    return Decomposed(
        (seen, _total(argument, name)), f"CASE WHEN {some} THEN {slot(name)}::DOUBLE / {slot(seen.name)} END"
    )


def slot(name: str) -> str:
    """The place of a partial in an answer; no SQL has these characters."""
    return f"\x01{name}\x02"


def filled(answer: str, prefix: str) -> str:
    """An answer over the partials whose names begin with a prefix."""
    return _SLOT.sub(lambda found: quoted(prefix + found[1]), answer)
