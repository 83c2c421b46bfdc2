"""Aggregates as partial results that can be added up (circuit.partials), in DuckDB's types.

A sum of whole numbers lies in a HUGEINT, which no sum of BIGINTs leaves; only an answer can be too large.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace

from penstock.backends.native.comparing import require_compared
from penstock.backends.native.kinds import stored
from penstock.backends.native.operators.grouped import Partial
from penstock.backends.native.operators.text import filled, slot
from penstock.backends.native.proof import NotProvenError, Proven, quoted, standing_at
from penstock.backends.native.raised import Failure, said
from penstock.backends.native.scalars import proven
from penstock.backends.native.wide_sums import SUMMED, added, averaged, in_units, of_units, wide_parts
from penstock.catalog.reserved import WEIGHT
from penstock.catalog.types import FRACTIONAL, INTEGRAL, Type, is_decimal
from penstock.circuit.partials import EXACT_DIGITS, PRESENT, WIDE_LIMB_DIGITS, decimal_shape
from penstock.circuit.raised import OUT_OF_RANGE, OVERFLOW, SUM_TOO_LONG, SUM_TOO_WIDE
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
_LARGEST = 9223372036854775807
_TOTAL = "HUGEINT"
UNITS = slot(" units")


@dataclass(frozen=True, slots=True)
class Halved:
    """A sum that circuit.partials has in two halves `…h` and `…l`: units of the `limb`, and what is left.

    `units` is the sum as a HUGEINT, in which a partial stands as `slot(name)`, and `kind` the type of a half.
    `parts` are the partials here, of such units in the slot `UNITS`.
    """

    units: str
    limb: int
    kind: str
    parts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Decomposed:
    """The partials of one aggregate, and its answer, in which a partial stands as `slot(name)`."""

    partials: tuple[Partial, ...]
    answer: str
    halved: Halved | None = None


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The partials of a whole Aggregate, and its answers.

    `names` has for the name of each partial that of the one that is kept in its place: equal ones are kept once.
    `halved` has the sums in halves by the names that these have without their last letter.
    """

    partials: tuple[Partial, ...]
    answers: tuple[str, ...]
    names: Mapping[str, str]
    halved: Mapping[str, Halved]

    def outward(self, name: str) -> str:
        """A partial of `circuit.partials`, from those here."""
        whole = self.halved.get(name[:-1])
        if whole is None or name in self.names:
            kept = next(item for item in self.partials if item.name == self.names[name])
            return f"{quoted(kept.name)}::BIGINT" if kept.kind == _TOTAL else quoted(kept.name)
        units, limb = filled(whole.units), f"{whole.limb}::{_TOTAL}"
        low = f"((({units} % {limb}) + {limb}) % {limb})"
        return f"({low if name.endswith('l') else f'(({units} - {low}) // {limb})'})::{whole.kind}"

    def inward(self, known: Container[str]) -> Mapping[str, str]:
        """Each partial here, from the `known` ones of `circuit.partials`."""
        found = {item.name: quoted(item.name) for item in self.partials if item.name in known}
        for name, whole in self.halved.items():
            if f"{name}h" in known:
                high, low = (f"{quoted(name + half)}::{_TOTAL}" for half in "hl")
                units = f"({high} * {whole.limb} + {low})"
                parts = {item: text.replace(UNITS, units) for item, text in whole.parts.items()}
                found |= {item: text for item, text in parts.items() if self.names[item] == item}
        return found


def decomposed(node: Aggregate, types: Mapping[str, Type | None]) -> Decomposition:
    """The partials of a whole Aggregate, and its answers; NotProvenError for one that has none here."""
    partials = {(WEIGHT, "sum"): Partial(PRESENT, "BIGINT", WEIGHT)}
    answers, names, halved = [], {PRESENT: PRESENT}, {}
    for position, (_, call) in enumerate(node.aggregates):
        with standing_at(call.call.span):
            found = _decomposed(call, f"__p{position}", types)
            filtered = [_filtered(item, call, types) for item in found.partials]
        for partial in filtered:
            kept = partials.setdefault((partial.value, partial.aggregate), partial)
            if partial.checked:  # an average keeps the same total, whatever that is
                kept = partials[partial.value, partial.aggregate] = replace(kept, checked=partial.checked)
            names[partial.name] = kept.name
        if found.halved is not None:
            halved[f"__p{position}"] = replace(found.halved, units=renamed(found.halved.units, names))
        answers.append(renamed(found.answer, names))
    return Decomposition(tuple(partials.values()), tuple(answers), names, halved)


def _filtered(partial: Partial, call: AggregateCall, types: Mapping[str, Type | None]) -> Partial:
    if call.filter is None:
        return partial
    value = f"CASE WHEN {proven(call.filter.form, types).text} THEN {partial.value} END"
    return replace(partial, value=value, beside=tuple(_filtered(item, call, types) for item in partial.beside))


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
    if is_decimal(argument.type):
        return _decimal_sum(call, argument, name)
    seen, some = _seen(argument, name)
    total, halved = _total(argument, name), None
    answer = slot(name)
    if argument.type in INTEGRAL:
        total = replace(total, checked=_overflowing(call))
        answer = f"{answer}::BIGINT"
        halved = _halved_integers(argument, name)
    return Decomposed((seen, total), f"CASE WHEN {some} THEN {answer} END", halved)


def _halved_integers(argument: Proven, name: str) -> Halved | None:
    if argument.type != "bigint":
        return None
    return Halved(slot(name), 1 << 32, "BIGINT", {name: UNITS})


def _decimal_sum(call: AggregateCall, argument: Proven, name: str) -> Decomposed:
    precision, scale = decimal_shape(argument.type)
    if precision > SUMMED:
        return _wide_sum(call, argument, name)
    seen, some = _seen(argument, name)
    answer = f"CAST({slot(name)} AS DECIMAL({min(38, precision + 10)},{scale}))"
    halved = None
    if precision > EXACT_DIGITS:
        halved = _halved_decimals(in_units(slot(name)), {name: of_units(UNITS, scale)})
    return Decomposed((seen, _total(argument, name)), f"CASE WHEN {some} THEN {answer} END", halved)


def _halved_decimals(units: str, parts: Mapping[str, str]) -> Halved:
    return Halved(units, 10**WIDE_LIMB_DIGITS, "DECIMAL(38,0)", parts)


def _wide_sum(call: AggregateCall, argument: Proven, name: str) -> Decomposed:
    """A sum that may overflow: a change contributes it in three parts, of which a state is made if one can hold it."""
    seen, some = _seen(argument, name)
    _, scale = decimal_shape(argument.type)
    values = wide_parts(f"({argument.text})", scale)
    weights = (f"CAST({WEIGHT} AS DECIMAL(18,0))", WEIGHT, WEIGHT)
    near, high, low = (f"({value}) * {weight}" for value, weight in zip(values, weights, strict=True))
    beside = (Partial(f"{name}u", _TOTAL, high), Partial(f"{name}v", _TOTAL, low))
    raised = Failure(OVERFLOW, OUT_OF_RANGE, said(SUM_TOO_WIDE), call.call.text).raising
    state = added("{0}", ("{1}", f"c.{quoted(beside[0].name)}", f"c.{quoted(beside[1].name)}"), scale, _escaped(raised))
    total = Partial(name, f"DECIMAL(38,{scale})", near, beside=beside, whole=state)
    halved = _halved_decimals(in_units(slot(name)), {name: of_units(UNITS, scale)})
    return Decomposed((seen, total), f"CASE WHEN {some} THEN {slot(name)} END", halved)


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
    answer = f"CASE WHEN {some} THEN {slot(name)}::DOUBLE / {slot(seen.name)} END"
    return Decomposed((seen, _total(argument, name)), answer, _halved_integers(argument, name))


def renamed(expression: str, names: Mapping[str, str]) -> str:
    """An expression in which other partials stand in the places of those that they are equal to."""
    for name, kept in names.items():
        expression = expression.replace(slot(name), slot(kept))
    return expression
