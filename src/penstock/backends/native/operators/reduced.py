"""GROUP BY with MIN or MAX beside sums and counts, over rows that may go again.

The least or greatest value of a group wants the rows themselves. What the group's rows have in common is first added up
for each value that may be one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from penstock.backends.api import LineText
from penstock.backends.native.kinds import stored
from penstock.backends.native.operators.answered import AnsweredOperator
from penstock.backends.native.operators.by_value import ROWS, ByValue, Sums
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
_VALUES = "values"
# Types of which equal values are the same, and in an order that DuckDB shares.
_PLAIN = (*INTEGRAL, "string", "date", "timestamp", "timestamp_ntz", "boolean")
_EXACT = ("BIGINT", "HUGEINT")  # kinds of sums


class ReducedOperator(AnsweredOperator):
    """The answers of touched groups are made of what their rows add up to, value by value.

    That of all rows is kept where it is little, and a step touches most groups of many rows.
    """

    def __init__(self, store: Store, operator: Keyed, answer_keys: tuple[Scalar, ...]) -> None:
        node = operator.node
        if not isinstance(node, Aggregate):
            raise NotProvenError(what="anything but an aggregate")
        self.reduced = _reduced(node, dict(inputs_of(operator)[0]), columns_of(node.fields))
        super().__init__(store, operator, operator.keys[0], answer_keys, append_only=operator.append_only[0])
        self.by_value = ByValue(store, self.reduced.sums)

    def now(self, rows: Rows | None, touched: str) -> str:
        if rows is not None:
            self.rows.append(rows)
        if self.by_value.is_kept or self._goes_through_most(touched):
            values = self._having(self.reduced.groups, self.by_value.after(rows, self.rows), touched)
        else:
            values = f"({self.reduced.sums.of(self._among(0, self.rows, touched))})"
        return self.reduced.answers.over({_VALUES: values})

    def _goes_through_most(self, touched: str) -> bool:
        """True if a step goes through most rows of many, which nothing ever leaves by itself."""
        if self.operator.expiries or not self.by_value.is_due(self.rows):
            return False
        if not self.keys.any:
            return True
        return bool(touched) and int(str(self.store.value(f"SELECT count(*) FROM {touched}"))) * 4 >= self.answers.rows

    def commit(self) -> None:
        super().commit()
        self.by_value.commit()

    def discard(self) -> None:
        super().discard()
        self.by_value.discard()

    def collect(self, lines: LineText | None, *, whole: bool) -> None:
        super().collect(lines, whole=whole)
        self.by_value.collect(self.rows)

    def drop(self) -> None:
        super().drop()
        self.by_value.drop()

    def state(self) -> Iterator[tuple[int, int]]:
        yield from super().state()
        yield from self.by_value.state()


@dataclass(frozen=True)
class Reduced:
    """Such an aggregate: what its rows add up to, the query for answers over that, and the columns of its groups."""

    sums: Sums
    answers: Template
    groups: tuple[str, ...]


def is_reducible(node: Aggregate) -> bool:
    """True if the work is less by this: there is a MIN or MAX, and all else can be added up."""
    return any(call.function in _EXTREMES for _, call in node.aggregates) and not any(
        call.distinct for _, call in node.aggregates
    )


def _reduced(node: Aggregate, types: Mapping[str, Type | None], outputs: Columns) -> Reduced:
    """The queries over rows, whatever of them cancels; NotProvenError where a part does not add up exactly."""
    grouping = [proven(scalar.form, types) for _, scalar in node.groups]
    groups = [_plain(item) for item in grouping]
    chosen = {name: call for name, call in node.aggregates if call.function in _EXTREMES}
    others = tuple((name, call) for name, call in node.aggregates if name not in chosen)
    values = {f"__x{at}": _value(call, types) for at, call in enumerate(chosen.values())}
    kinds = [stored(item.type) for item in grouping]
    kinds += [stored(proven(call.arguments[0].form, types).type) for call in chosen.values()]
    sums = decomposed(replace(node, aggregates=others), types)
    parts = [part for item in sums.partials for part in (item, *item.beside)]
    if any(part.aggregate != "sum" or not _adds_up(part.kind) for part in parts):
        raise NotProvenError(what="an aggregate whose parts do not add up exactly")
    keys = [f"__g{at}" for at in range(len(groups))]

    apart = [f"{text} AS {name}" for name, text in [*zip(keys, groups, strict=True), *values.items()]]
    apart += [f"sum({part.value})::{part.kind} AS {quoted(part.name)}" for part in parts]
    of_values = f"SELECT {', '.join(apart)} FROM {place(ROWS)} GROUP BY {listed([*keys, *values])}"

    sums_of = Sums(
        Template(of_values),
        tuple(zip((*keys, *values), kinds, strict=True)),
        tuple((part.name, part.kind) for part in parts),
    )

    together = [*keys, *sums_of.totals]
    together += [
        f"{call.function}({value}) FILTER (WHERE {PRESENT} > 0) AS {value}"
        for value, call in zip(values, chosen.values(), strict=True)
    ]
    by = f" GROUP BY {listed(keys)} HAVING sum({PRESENT}) > 0" if keys else ""
    of_groups = f"SELECT {', '.join(together)} FROM {place(_VALUES)}{by}"

    states = [*keys, *values]
    for item in sums.partials:
        state = item.whole.format(f"CAST(NULL AS {item.kind})", f"c.{quoted(item.name)}") or f"c.{quoted(item.name)}"
        states.append(f"{item.checked.format(f'({state})') or state} AS {quoted(item.name)}")
    answers = dict(zip((name for name, _ in others), map(filled, sums.answers), strict=True))
    answers |= dict(zip(chosen, values, strict=True))
    row = [*keys, *(answers[name] for name, _ in node.aggregates)]
    named = [f"{text} AS {quoted(name)}" for text, (name, _) in zip(row, outputs, strict=True)]
    answered = f"SELECT {', '.join(named)} FROM (SELECT {', '.join(states)} FROM ({of_groups}) c)"
    return Reduced(sums_of, Template(f"SELECT {', '.join(cast(outputs))} FROM ({answered})"), tuple(keys))


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
