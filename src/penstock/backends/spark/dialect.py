"""Spark's SQL, in which expressions stand as the plan has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from penstock.backends.dialect import Beneath, Carry, Computed, Dialect
from penstock.backends.joins import joined
from penstock.backends.matching.query import match_query
from penstock.catalog.functions import IN_FROM_ONLY
from penstock.catalog.sorting import sortable
from penstock.errors import Diagnostic, InternalError
from penstock.plan.forms import Call
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
from penstock.plan.rewording import partitioned_further
from penstock.plan.scalar import Scalar, quoted


def _as_it_stands(scalar: Scalar) -> str:
    return scalar.text


def _known() -> None:
    """All functions are known."""


def _nowhere(plan: Fixpoint) -> str:
    del plan
    raise InternalError(Diagnostic("FIXPOINT_INSIDE", "a fixpoint stands where none can be evaluated"))


@dataclass(frozen=True)
class SparkDialect(Dialect):
    """Spark SQL.

    `scalar` may replace what an expression says (the clock), `text` what a query says that is recomputed; `recursion`
    gives the relation that holds the rows of a Fixpoint; `functions` makes Penstock's own functions known.
    """

    scalar: Callable[[Scalar], str] = _as_it_stands
    recursion: Callable[[Fixpoint], str] = _nowhere
    text: Callable[[str], str] = str
    functions: Callable[[], None] = _known

    one_sided: ClassVar[str] = "LEFT "
    nests_calls: ClassVar[bool] = True
    takes_first: ClassVar[bool] = False

    def quoted(self, name: str) -> str:
        return quoted(name)

    def value(self, scalar: Scalar, *below: Plan) -> str:
        del below
        return self.scalar(scalar)

    def key(self, scalar: Scalar, below: Plan) -> str:
        return self.value(scalar, below)

    def partition_key(self, scalar: Scalar, below: Plan, beneath: Beneath) -> str:
        del beneath
        return self.value(scalar, below)

    def column(self, field: Field) -> str:
        return quoted(field.name)

    def key_column(self, field: Field) -> str:
        return quoted(field.name)

    def check_alike(self, have: Field, wanted: Field) -> None:
        """Spark gives the columns of a union one type."""

    def cells(self, plan: Values, row: tuple[Scalar, ...]) -> list[str]:
        del plan
        return [*map(self.scalar, row)]

    def sorted_by(self, order: tuple[SortKey, ...], below: Plan, beneath: Beneath | None = None) -> list[str]:
        del beneath
        return [f"{self.value(key.value, below)} {_direction(key)}" for key in order]

    def sorted_row(self, fields: tuple[Field, ...]) -> list[str]:
        return [f"{sortable(quoted(item.name), item.type)} ASC NULLS FIRST" for item in fields]

    def aggregates(self, plan: Aggregate) -> Computed:
        return Computed([f"{self.scalar(call.call)} AS {quoted(name)}" for name, call in plan.aggregates], [])

    def windows(self, plan: Window, carry: Carry) -> Computed:
        calls = {name: partitioned_further(call, carry) if carry else call for name, call in plan.calls}
        return Computed([f"{self.scalar(call)} AS {quoted(name)}" for name, call in calls.items()], [])

    def read_twice(self, query: str) -> tuple[str, str]:
        return "", f"({query})"

    def rank(self, number: str) -> str:
        return number

    def equal(self, plan: Join, pair: JoinKey) -> str:
        del plan
        return f"({self.scalar(pair.left)}) {'<=>' if pair.null_safe else '='} ({self.scalar(pair.right)})"

    def not_in(self, plan: Join, left: str, right: str, carry: Carry) -> str:
        compared, *correlated = plan.keys
        unknown = f"coalesce(({self.scalar(compared.left)}) = ({self.scalar(compared.right)}), true)"
        return joined(self, plan, (left, right), [unknown, *(self.equal(plan, pair) for pair in correlated)], carry)

    def asof_sides(self, plan: AsofJoin) -> tuple[list[str], list[str]]:
        left = [*(pair.left for pair in plan.keys), plan.match.left]
        right = [*(pair.right for pair in plan.keys), plan.match.right]
        return [*map(self.scalar, left)], [*map(self.scalar, right)]

    def packed(self, values: dict[str, str]) -> str:
        parts = ", ".join(f"'{name}', {value}" for name, value in values.items())
        return f"named_struct({parts})"

    def last_present(self, value: str, over: str) -> str:
        return f"last_value({value}) IGNORE NULLS OVER ({over})"

    def packed_order(self, parts: dict[str, Field]) -> list[str]:
        return [f"{sortable(part, item.type)} DESC NULLS LAST" for part, item in parts.items()]

    def later(self, plan: Session, time: str) -> str:
        return f"{time} + {self.scalar(plan.gap)}"

    def matched(self, plan: MatchRecognize, rows: str, carry: Carry) -> str:
        self.functions()
        return match_query(self, plan, rows, carry)

    def collected(self, value: str, order: str) -> str:
        pairs = f"collect_list(named_struct('n', {order}, 'v', {value}))"
        return f"transform(array_sort({pairs}, (a, b) -> a.n - b.n), x -> x.v)"

    def element(self, values: str, place: str) -> str:
        return f"get({values}, {place})"

    def rest(self, values: str, count: str) -> str:
        return f"slice({values}, {count} + 1, size({values}))"

    def unfolded(self, values: str) -> str:
        return f"explode({values})"

    def literal(self, value: str) -> str:
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def generated(self, plan: Generate, rows: str, carry: Carry) -> str:
        # Spark gives a column of LATERAL VIEW another name than the written one if that has a dot.
        columns = [f"__generated_{position}" for position in range(len(plan.outputs))]
        items = [quoted(field.name) for field in plan.input.fields]
        items += [f"{have} AS {quoted(field.name)}" for have, field in zip(columns, plan.outputs, strict=True)]
        listed = ", ".join([*items, *map(quoted, carry)]) or "1 AS `__none`"
        return f"SELECT {listed} FROM ({rows}) {self._lateral(plan, ', '.join(columns))}"

    def _lateral(self, plan: Generate, columns: str) -> str:
        call = self.scalar(plan.generator)
        if isinstance(plan.generator.form, Call) and plan.generator.form.function in IN_FROM_ONLY:
            return f"{'LEFT JOIN' if plan.outer else 'JOIN'} LATERAL {call} AS __generated({columns}) ON true"
        return f"LATERAL VIEW {'OUTER ' if plan.outer else ''}{call} __generated AS {columns}"

    def recomputed(self, plan: Recompute) -> str:
        return self.text(plan.text)

    def fixpoint(self, plan: Fixpoint) -> str:
        return self.recursion(plan)


def _direction(key: SortKey) -> str:
    return f"{'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"
