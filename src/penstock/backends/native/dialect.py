"""DuckDB's SQL, in which an expression stands as far as it is proven to mean what it means on Spark.

Whatever is not proven raises `NotProvenError`.
"""

from __future__ import annotations

from typing import ClassVar

from penstock.backends.dialect import Beneath, Carry, Computed, Dialect
from penstock.backends.matching.query import match_query
from penstock.backends.native.aggregates import Calls, Types, aggregated
from penstock.backends.native.comparing import key, sorted_by
from penstock.backends.native.expressions.kinds import storage
from penstock.backends.native.generators import generate_query
from penstock.backends.native.not_in import not_in_query
from penstock.backends.native.proof import NotProvenError, Proven, quoted, standing_at
from penstock.backends.native.raised import text_literal
from penstock.backends.native.scalars import proven
from penstock.backends.native.windows import windowed, without_raising
from penstock.catalog.types import Type
from penstock.plan.forms import Call, Cast, Constant, FieldOf, Form, Opaque, Reference, called, swapped
from penstock.plan.nodes import (
    Aggregate,
    AsofJoin,
    Field,
    Fixpoint,
    Generate,
    Join,
    JoinKey,
    MatchRecognize,
    Plan,
    Recompute,
    Session,
    SortKey,
    Values,
    Window,
)
from penstock.plan.scalar import Scalar


class NativeDialect(Dialect):
    """DuckDB's SQL for what is proven."""

    one_sided: ClassVar[str] = ""
    nests_calls: ClassVar[bool] = False
    takes_first: ClassVar[bool] = True

    def quoted(self, name: str) -> str:
        return quoted(name)

    def value(self, scalar: Scalar, *below: Plan) -> str:
        return _proven(scalar, *below).text

    def residual(self, plan: Join, condition: Scalar) -> str:
        """DuckDB computes the sides of a comparison before it joins, for rows too that meet none: none may raise."""
        found = _proven(condition, plan.left, plan.right)
        if not found.raises or not plan.keys or plan.null_aware:
            return f"({found.text})"
        return f"CASE WHEN {self.equal(plan, plan.keys[0])} THEN {found.text} ELSE false END"

    def key(self, scalar: Scalar, below: Plan) -> str:
        return key(_proven(scalar, below))

    def partition_key(self, scalar: Scalar, below: Plan, beneath: Beneath) -> str:
        return key(without_raising(_proven(scalar, below), beneath))

    def column(self, field: Field) -> str:
        return _column(field).text

    def key_column(self, field: Field) -> str:
        return key(_column(field))

    def check_alike(self, have: Field, wanted: Field) -> None:
        _agree(have.name, wanted.type, have.type)

    def cells(self, plan: Values, row: tuple[Scalar, ...]) -> list[str]:
        """The values of a row, of the types that they have beside those of the other rows."""
        return [_cell(scalar, item.type) for scalar, item in zip(row, plan.outputs, strict=True)]

    def sorted_by(self, order: tuple[SortKey, ...], below: Plan, beneath: Beneath | None = None) -> list[str]:
        """The items that differ from row to row: DuckDB takes a number for the place of a column."""
        return [_sorted(item, below, beneath) for item in order if not item.value.is_constant]

    def sorted_row(self, fields: tuple[Field, ...]) -> list[str]:
        return [sorted_by(_column(item)) for item in fields]

    def aggregates(self, plan: Aggregate) -> Computed:
        calls, answers, types = Calls(), [], types_of(plan.input)
        for name, call in plan.aggregates:
            with standing_at(call.call.span):
                answer = aggregated(call.call.form, types, proven, calls)
                answers.append(_answer(name, call.call, answer))
        return Computed(answers, calls.items)

    def windows(self, plan: Window, carry: Carry) -> Computed:
        calls, answers, types = Calls(), [], types_of(plan.input)
        for name, call in plan.calls:
            with standing_at(call.span):
                answer = windowed(call.form, types, proven, carry, calls)
                answers.append(_answer(name, call, answer))
        return Computed(answers, calls.items, calls.beneath)

    def read_twice(self, query: str) -> tuple[str, str]:
        return f"WITH __source AS MATERIALIZED ({query}) ", "__source"

    def rank(self, number: str) -> str:
        return f"CAST({number} AS INTEGER)"

    def equal(self, plan: Join, pair: JoinKey) -> str:
        compared = Call("<=>" if pair.null_safe else "=", (pair.left.form, pair.right.form))
        return f"({proven(compared, types_of(plan.left, plan.right)).text})"

    def not_in(self, plan: Join, left: str, right: str, carry: Carry) -> str:
        return not_in_query(self, plan, left, right, carry)

    def asof_sides(self, plan: AsofJoin) -> tuple[list[str], list[str]]:
        pairs = [*((pair.left, pair.right) for pair in plan.keys), (plan.match.left, plan.match.right)]
        found = [(_proven(one, plan.left), _proven(other, plan.right)) for one, other in pairs]
        for one, other in found:
            if one.type != other.type:
                raise NotProvenError(what=f"an ASOF join of {one.type} with {other.type}")
        return [key(one) for one, _ in found], [key(other) for _, other in found]

    def packed(self, values: dict[str, str]) -> str:
        return f"struct_pack({', '.join(f'{name} := {value}' for name, value in values.items())})"

    def last_present(self, value: str, over: str) -> str:
        return f"last_value({value} IGNORE NULLS) OVER ({over})"

    def packed_order(self, parts: dict[str, Field]) -> list[str]:
        values = [Proven(part, _column(item).type) for part, item in parts.items()]
        return [sorted_by(value, descending=True, nulls_first=False) for value in values]

    def later(self, plan: Session, time: str) -> str:
        kind = _proven(plan.time, plan.input).type
        if kind != "timestamp":
            raise NotProvenError(what=f"a session by a {kind}")
        found = proven(Call("+", (Reference(time), plan.gap.form)), {**types_of(plan.input), time: kind})
        _agree(plan.end, kind, found.type)
        return found.text

    def matched(self, plan: MatchRecognize, rows: str, carry: Carry) -> str:
        return match_query(self, plan, rows, carry)

    def collected(self, value: str, order: str) -> str:
        return f"list({value} ORDER BY {order})"

    def element(self, values: str, place: str) -> str:
        return f"{values}[{place} + 1]"

    def rest(self, values: str, count: str) -> str:
        return f"{values}[{count} + 1:]"

    def unfolded(self, values: str) -> str:
        return f"unnest({values})"

    def literal(self, value: str) -> str:
        return text_literal(value)

    def generated(self, plan: Generate, rows: str, carry: Carry) -> str:
        return generate_query(plan, rows, proven, carry)

    def recomputed(self, plan: Recompute) -> str:
        del plan
        raise NotProvenError(what="a query that is recomputed")

    def fixpoint(self, plan: Fixpoint) -> str:
        del plan
        raise NotProvenError(what="a recursion")


def types_of(*plans: Plan) -> Types:
    """The types of the fields of nodes by their names."""
    return {item.name: item.type for plan in plans for item in plan.fields}


def without_structs(form: Form) -> Form:
    """The form with the field itself where it is taken out of a STRUCT that is made beside it, as of a session."""

    def field_of(item: Form) -> Form | None:
        parts = called(item.argument, "named_struct") if isinstance(item, FieldOf) else None
        if parts is None or not isinstance(item, FieldOf):
            return None
        named = zip(parts[::2], parts[1::2], strict=True)
        return next((value for name, value in named if isinstance(name, Constant) and name.value == item.name), None)

    return form if any(isinstance(item, Opaque) for item in form.walk()) else swapped(form, field_of)


def _proven(scalar: Scalar, *below: Plan) -> Proven:
    """An expression over the fields of nodes, whose type is the one that the plan has for it."""
    with standing_at(scalar.span):
        found = proven(without_structs(scalar.form), types_of(*below))
        _agree(scalar.text, scalar.type, found.type)
    return found


def _answer(name: str, call: Scalar, answer: Proven) -> str:
    _agree(call.text, call.type, answer.type)
    return f"{answer.text} AS {quoted(name)}"


def _cell(scalar: Scalar, kind: Type | None) -> str:
    cell = proven(scalar.form, {})
    return cell.text if kind in (None, cell.type) else proven(Cast(scalar.form, kind), {}).text


def _sorted(item: SortKey, below: Plan, beneath: Beneath | None) -> str:
    value = _proven(item.value, below)
    value = value if beneath is None else without_raising(value, beneath)
    return sorted_by(value, descending=item.descending, nulls_first=item.nulls_first)


def _column(item: Field) -> Proven:
    if item.type is None:
        raise NotProvenError(what=f"the column {item.name}, whose type is not known")
    storage(item.type)
    return Proven(quoted(item.name), item.type)


def _agree(what: str, planned: Type | None, found: Type | None) -> None:
    """Refuse an expression whose type is another one in the plan."""
    if planned not in (found, None):
        raise NotProvenError(what=f"{what}, which is {found} here and {planned} in the plan")
