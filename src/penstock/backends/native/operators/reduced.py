"""GROUP BY with MIN or MAX beside sums and counts, over rows that may go again.

The least or greatest value of a group wants the rows themselves. What the group's rows have in common is first added up
for each value that may be one: of 3,000,000 rows with eleven discounts in eight groups that leaves 88. Where it leaves
so few, and a step touches most groups of many rows, these are kept, and a change is added to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.backends.api import LineText
from penstock.backends.native.kinds import stored
from penstock.backends.native.operators.answered import AnsweredOperator
from penstock.backends.native.operators.operator import columns_of, inputs_of
from penstock.backends.native.operators.partials import decomposed
from penstock.backends.native.operators.text import Template, cast, filled, place
from penstock.backends.native.proof import NotProvenError, Proven, quoted, standing_at
from penstock.backends.native.scalars import proven
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Columns, Rows, listed
from penstock.backends.portable import Portable
from penstock.backends.thresholds import KEPT_VALUES, LARGE_STATE_ROWS
from penstock.catalog.types import INTEGRAL, Type, is_decimal
from penstock.circuit.operators import Keyed
from penstock.circuit.partials import PRESENT
from penstock.plan.nodes import Aggregate, AggregateCall
from penstock.plan.scalar import Scalar

_EXTREMES = ("min", "max")
_ROWS, _VALUES = "rows", "values"
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
        self._kept: str | None = None  # the table of what is added up by value, once it is kept
        self._next: str | None = None
        self._ends = False  # there are too many values to go on so
        self._looked_at = 0  # so many rows there were when there were too many values to keep
        self._found = store.name()

    def now(self, rows: Rows | None, touched: str) -> str:
        if rows is not None:
            self.rows.append(rows)
        if self._kept is not None:
            if rows is not None:
                both = f"SELECT * FROM {self._kept} UNION ALL {self.reduced.by_value.over({_ROWS: rows.name})}"
                count = self.store.rewritten(self._kept, self.reduced.together(both))
                self._ends = count * KEPT_VALUES > 4 * self.rows.rows
            return self._answered(self._kept, touched)
        if self._is_worth_keeping(touched):
            count = self.store.made(self._found, self.reduced.by_value.over({_ROWS: self.rows.table}))
            if count * KEPT_VALUES <= self.rows.rows:
                self._next = self.store.table([*self.reduced.columns])
                self.store.changed(f"INSERT INTO {self._next} SELECT * FROM {self._found}")
            self._looked_at = self.rows.rows
            return self._answered(self._found, touched)
        return self.reduced.answers.over({_VALUES: f"({self.reduced.by_value.over({_ROWS: self._touched(touched)})})"})

    def _touched(self, touched: str) -> str:
        """The rows of the touched groups."""
        return self._among(0, self.rows, touched)

    def _answered(self, values: str, touched: str) -> str:
        """The answers of the touched groups, of what is added up by value."""
        if self.keys.any:
            alike = " AND ".join(
                f"__r.{name} IS NOT DISTINCT FROM __t.__touched{at}" for at, name in enumerate(self.reduced.keys)
            )
            values = (
                f"(SELECT __r.* FROM {values} __r SEMI JOIN {touched} __t ON {alike})"
                if touched
                else (f"(SELECT * FROM {values} WHERE false)")
            )
        return self.reduced.answers.over({_VALUES: values})

    def _is_worth_keeping(self, touched: str) -> bool:
        """True if a step goes through most rows of many, which nothing ever leaves by itself."""
        if self.operator.expiries or self.rows.rows < max(LARGE_STATE_ROWS, 2 * self._looked_at):
            return False
        if not self.keys.any:
            return True
        return bool(touched) and int(str(self.store.value(f"SELECT count(*) FROM {touched}"))) * 4 >= self.answers.rows

    def commit(self) -> None:
        super().commit()
        if self._next is not None:
            self._kept, self._next = self._next, None

    def collect(self, lines: LineText | None, *, whole: bool) -> None:
        super().collect(lines, whole=whole)
        if self._ends and self._kept is not None:
            self.store.drop(self._kept)
            self._kept, self._ends, self._looked_at = None, False, self.rows.rows

    def discard(self) -> None:
        super().discard()
        self._next, self._ends = None, False

    def hold(self, found: Portable) -> None:
        super().hold(found)
        self._looked_at = 0

    def drop(self) -> None:
        super().drop()
        for name in (self._found, *([] if self._kept is None else [self._kept])):
            self.store.drop(name)


@dataclass(frozen=True)
class Reduced:
    """The queries of such an aggregate: over weighted rows, and over what they add up to, value by value.

    There `keys` are the columns of its groups, `values` those of the values, `parts` what is added up, with its types.
    """

    by_value: Template
    answers: Template
    keys: tuple[str, ...]
    values: tuple[str, ...]
    parts: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, str], ...]

    def together(self, both: str) -> str:
        """The query that adds up again, value by value, of several such relations together."""
        sums = [f"sum({quoted(name)})::{kind} AS {quoted(name)}" for name, kind in self.parts]
        apart = [*self.keys, *self.values]
        by = f" GROUP BY {listed(apart)}" if apart else ""
        return f"SELECT {', '.join([*apart, *sums])} FROM ({both}){by} HAVING sum({PRESENT}) <> 0"


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
    of_values = f"SELECT {', '.join(apart)} FROM {place(_ROWS)} GROUP BY {listed([*keys, *values])}"

    together = [*keys, *(f"sum({quoted(part.name)})::{part.kind} AS {quoted(part.name)}" for part in parts)]
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
    names = (*keys, *values)
    sums_of = tuple((part.name, part.kind) for part in parts)
    return Reduced(
        Template(of_values),
        Template(f"SELECT {', '.join(cast(outputs))} FROM ({answered})"),
        tuple(keys),
        tuple(values),
        sums_of,
        (*zip(names, kinds, strict=True), *sums_of),
    )


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
