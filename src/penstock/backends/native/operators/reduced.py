"""GROUP BY with MIN or MAX beside sums and counts, over rows that may go again.

The least or greatest value of a group wants the rows themselves. What the group's rows have in common is first added up
for each value that may be one: of 3,000,000 rows with eleven discounts in eight groups that leaves 88.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.backends.native.operators.answered import AnsweredOperator
from penstock.backends.native.operators.operator import columns_of, inputs_of
from penstock.backends.native.operators.partials import decomposed
from penstock.backends.native.operators.text import Template, cast, filled, place
from penstock.backends.native.proof import NotProvenError, Proven, quoted, standing_at
from penstock.backends.native.scalars import proven
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Columns, Rows, listed
from penstock.catalog.types import INTEGRAL, Type, is_decimal
from penstock.circuit.operators import Keyed
from penstock.circuit.partials import PRESENT
from penstock.plan.nodes import Aggregate, AggregateCall
from penstock.plan.scalar import Scalar

_EXTREMES = ("min", "max")
_ROWS = "rows"
# Types of which equal values are the same, and in an order that DuckDB shares.
_PLAIN = (*INTEGRAL, "string", "date", "timestamp", "timestamp_ntz", "boolean")
_EXACT = ("BIGINT", "HUGEINT")


class ReducedOperator(AnsweredOperator):
    """The answers of touched groups are made of what their rows add up to, value by value."""

    def __init__(self, store: Store, operator: Keyed, answer_keys: tuple[Scalar, ...]) -> None:
        node = operator.node
        if not isinstance(node, Aggregate):
            raise NotProvenError(what="anything but an aggregate")
        self.reduced = _reduced(node, dict(inputs_of(operator)[0]), columns_of(node.fields))
        super().__init__(store, operator, operator.keys[0], answer_keys, append_only=operator.append_only[0])

    def now(self, rows: Rows | None, touched: str) -> str:
        if rows is not None:
            self.rows.append(rows)
        return self.reduced.over({_ROWS: self._among(0, self.rows, touched)})


def is_reducible(node: Aggregate) -> bool:
    """True if the work is less by this: there is a MIN or MAX, and all else can be added up."""
    return any(call.function in _EXTREMES for _, call in node.aggregates) and not any(
        call.distinct for _, call in node.aggregates
    )


def _reduced(node: Aggregate, types: Mapping[str, Type | None], outputs: Columns) -> Template:
    """The query over weighted rows, whatever of them cancels; NotProvenError where a part does not add up exactly."""
    groups = [_plain(proven(scalar.form, types)) for _, scalar in node.groups]
    chosen = {name: call for name, call in node.aggregates if call.function in _EXTREMES}
    others = tuple((name, call) for name, call in node.aggregates if name not in chosen)
    values = {f"__x{at}": _value(call, types) for at, call in enumerate(chosen.values())}
    sums = decomposed(replace(node, aggregates=others), types)
    parts = [part for item in sums.partials for part in (item, *item.beside)]
    if any(part.aggregate != "sum" or not _adds_up(part.kind) for part in parts):
        raise NotProvenError(what="an aggregate whose parts do not add up exactly")
    keys = [f"__g{at}" for at in range(len(groups))]

    apart = [f"{text} AS {name}" for name, text in [*zip(keys, groups, strict=True), *values.items()]]
    apart += [f"sum({part.value})::{part.kind} AS {quoted(part.name)}" for part in parts]
    of_values = f"SELECT {', '.join(apart)} FROM {place(_ROWS)} GROUP BY {listed([*keys, *values])}"

    together = [*keys, *(f"sum({quoted(part.name)})::{part.kind} AS {quoted(part.name)}" for part in parts)]
    together += [
        f"{call.function}({value}) FILTER (WHERE {PRESENT} > 0) AS {value}"
        for value, call in zip(values, chosen.values(), strict=True)
    ]
    by = f" GROUP BY {listed(keys)} HAVING sum({PRESENT}) > 0" if keys else ""
    of_groups = f"SELECT {', '.join(together)} FROM ({of_values}){by}"

    states = [*keys, *values]
    for item in sums.partials:
        state = item.whole.format(f"CAST(NULL AS {item.kind})", f"c.{quoted(item.name)}") or f"c.{quoted(item.name)}"
        states.append(f"{item.checked.format(f'({state})') or state} AS {quoted(item.name)}")
    answers = dict(zip((name for name, _ in others), map(filled, sums.answers), strict=True))
    answers |= dict(zip(chosen, values, strict=True))
    row = [*keys, *(answers[name] for name, _ in node.aggregates)]
    named = [f"{text} AS {quoted(name)}" for text, (name, _) in zip(row, outputs, strict=True)]
    answered = f"SELECT {', '.join(named)} FROM (SELECT {', '.join(states)} FROM ({of_groups}) c)"
    return Template(f"SELECT {', '.join(cast(outputs))} FROM ({answered})")


def _value(call: AggregateCall, types: Mapping[str, Type | None]) -> str:
    """The value of which the least or greatest is wanted."""
    with standing_at(call.call.span):
        text = _plain(proven(call.arguments[0].form, types))
        if call.filter is None:
            return text
        condition = proven(call.filter.form, types)
        if condition.raises:
            raise NotProvenError(what="a condition that may raise")
        return f"CASE WHEN {condition.text} THEN {text} END"


def _plain(value: Proven) -> str:
    """A value that may be asked of rows that have gone, too."""
    if value.raises or not (value.type in _PLAIN or is_decimal(value.type)):
        raise NotProvenError(what=f"a value of {value.type} that may raise, or has several forms")
    return f"({value.text})"


def _adds_up(kind: str) -> bool:
    return kind in _EXACT or kind.startswith("DECIMAL")
