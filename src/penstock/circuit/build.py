"""From the plans of views to one circuit.

Equal sub-plans become one operator, whichever views they stand in. A chain of linear nodes becomes one `Linear`
operator, unless a part of it has other readers too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import assert_never, cast

from penstock.analysis.changelog import append_only
from penstock.analysis.keys import multiplicity_one
from penstock.analysis.waterline import Reader
from penstock.catalog.model import ERROR_VIEW, NOTHING, Catalog, View
from penstock.catalog.types import Type, is_collated
from penstock.circuit import operators
from penstock.circuit.buckets import in_buckets
from penstock.circuit.closing import Closing
from penstock.circuit.collated import as_groups, uses_collations, with_least_texts
from penstock.circuit.error_view import reads_error_view
from penstock.circuit.operators import (
    Additive,
    Bilinear,
    Circuit,
    Cleaned,
    Clocked,
    Constant,
    Counted,
    Iterated,
    Keyed,
    Knowledge,
    Linear,
    Operator,
    Ranked,
    Recomputed,
    Report,
    Rounds,
    Sessions,
    Source,
    leaf,
)
from penstock.circuit.partials import partials_of
from penstock.circuit.reading import of_view, scan_of
from penstock.circuit.rounds import Unliftable, first_round, independent, lifted_bodies
from penstock.circuit.window_chains import Chain, Link, below_numbers, lowest_window
from penstock.plan.expressions import plan_reads_clock
from penstock.plan.nodes import (
    Aggregate,
    Arrived,
    Arriving,
    AsofJoin,
    Distinct,
    Filter,
    Fixpoint,
    Generate,
    Join,
    JoinKind,
    MatchRecognize,
    Node,
    Plan,
    Project,
    Recompute,
    Scan,
    Session,
    SetOperation,
    TopK,
    UnionAll,
    Values,
    Window,
)
from penstock.plan.scalar import Scalar, column
from penstock.sql.nesting import room_for_nesting

LINEAR = (Project, Filter, UnionAll, Generate)
_COLLATED_SET = "which of several texts that a collation holds equal is in the set depends on the order of the rows"


class Typing:
    """Types for the builder: here by the binder's own inference; the engine asks Spark."""

    def type_of(self, relation: Plan, scalar: Scalar) -> Type | None:
        """The type of an expression over the fields of `relation`, or None."""
        del relation
        return scalar.type

    def split(self, plan: Plan) -> Plan:
        """A plan as its operators are to be cut; its answer is the same."""
        return plan


def build_circuit(
    views: Mapping[str, Plan],
    catalog: Catalog,
    typing: Typing | None = None,
    given: Collection[str] = (),
    *,
    bucketed: bool = True,
    reports: Mapping[str, Sequence[Plan]] = NOTHING,
) -> Circuit:
    """The circuit that maintains `views` (lower-case name → plan); views that they read are built in as well.

    `given` names the views that another circuit maintains: they are sources here. `bucketed` keeps what an aggregate
    without groups reads in buckets, where going through all rows is dear. `reports` are plans of rows that a view, by
    its name, does not take.
    """
    builder = _Builder(catalog, typing or Typing(), frozenset(given), bucketed)
    with room_for_nesting():  # views over views without end are one deep plan
        wanted = {name: builder.behind(name, plan) for name, plan in views.items()}
        late = [(name, plan) for name, plans in reports.items() for plan in plans]
        for plan in (*wanted.values(), *(plan for _, plan in late)):
            builder.count(plan)
        outputs = {name: builder.operator(plan) for name, plan in wanted.items()}
        reporting = tuple(Report(name, builder.operator(plan)) for name, plan in late)
    return Circuit(tuple(builder.operators), outputs, reporting)


@dataclass
class _Builder:
    catalog: Catalog
    typing: Typing
    given: frozenset[str] = frozenset()
    bucketed: bool = True
    operators: list[Operator] = field(default_factory=list)
    numbers: dict[Plan, int] = field(default_factory=dict)
    readers: Counter[Plan] = field(default_factory=Counter)
    settled: set[Plan] = field(default_factory=set)  # aggregations whose collated texts are chosen
    closings: dict[Plan, Plan] = field(default_factory=dict)

    def count(self, plan: Plan) -> None:
        """Count how often each sub-plan is read, to know which are shared."""
        plan = self._resolved(plan)
        self.readers[plan] += 1
        if self.readers[plan] == 1:
            for item in _read(plan):
                self.count(item)
            cleaned = self._cleaned_view(plan)
            if cleaned is not None and cleaned.name.lower() not in self.given:
                self.count(cleaned.plan)

    def behind(self, name: str, plan: Plan) -> Plan:
        """The plan that a view shows: its own, or with LATENESS what is behind the filter."""
        view = self.catalog.views.get(name)
        return scan_of(view) if view is not None and view.lateness and view.plan is plan else plan

    def _cleaned_view(self, plan: Plan) -> View | None:
        """The view with LATENESS that a plan scans."""
        view = self.catalog.views.get(plan.relation.lower()) if isinstance(plan, Scan) else None
        return view if view is not None and view.lateness and view.plan is not None else None

    def operator(self, plan: Plan) -> int:
        """The number of the operator for a plan, made where there is none yet."""
        plan = self._resolved(plan)
        if plan not in self.numbers:
            made = self._make(plan)
            made = replace(made, plan=plan, expiries=made.forgets(plan, self._knowledge))
            self.operators.append(made)
            self.numbers[plan] = made.number
        return self.numbers[plan]

    @cached_property
    def _knowledge(self) -> Knowledge:
        return Knowledge(self.reader, self.catalog, self._windows_below)

    def _windows_below(self, plan: Window) -> tuple[tuple[Link, ...], Window]:
        found = self._chain(plan)
        return ((plan,), plan) if found is None else (found.chain, found.window)

    def _alone(self, plan: Plan) -> bool:
        return self.readers[self._resolved(plan)] <= 1

    @cached_property
    def reader(self) -> Reader:
        """The finder of waterlines; rows that come and go as the clock moves count here."""
        return Reader(self.catalog, passing_time=True)

    def _chain(self, plan: Window) -> Chain | None:
        found = lowest_window(plan, self._alone)
        return None if found is None or any(plan_reads_clock(item) for item in found.chain) else found

    def _resolved(self, plan: Plan) -> Plan:
        """A view's plan where the view is read, its keys such that a waterline closes them."""
        if plan not in self.closings:
            closed = self.closing.closed(of_view(plan, self.catalog, self.given))
            self.closings[plan] = self.typing.split(closed)
        return self.closings[plan]

    @cached_property
    def closing(self) -> Closing:
        """The finder of the column by which keys are closed."""
        return Closing(self.catalog, self.reader)

    def _next(self) -> int:
        return len(self.operators)

    def _make(self, plan: Plan) -> Operator:
        node = cast("Node", plan)
        match node:
            case Scan():
                return self._scan(node)
            case Values():
                return Constant(self._next(), node, ())
            case Project() | Filter() | UnionAll() | Generate():
                return self._linear(node)
            case Join():
                return self._join(node)
            case AsofJoin():
                return self._keyed(node, _join_keys(node))
            case Aggregate():
                return self._aggregate(node)
            case Distinct() | SetOperation():
                return self._counted(node)
            case Window():
                return self._windows(node)
            case Session():
                return self._session(node)
            case MatchRecognize():
                return self._matches(node)
            case TopK():
                return self._top(node)
            case Recompute():
                return self._handed_over(node)
            case Fixpoint():
                return self._iterated(node)
            case Arriving() | Arrived():
                return self._arrival(node)
            case _:
                assert_never(node)

    def _arrival(self, plan: Arriving | Arrived) -> Operator:
        node, inputs = self._over_inputs(plan)
        made = operators.Arriving if isinstance(plan, Arriving) else operators.Arrived
        return made(self._next(), node, inputs)

    def _session(self, plan: Session) -> Operator:
        if plan_reads_clock(plan):
            return self._recomputed(plan)
        node, inputs = self._over_inputs(plan)
        return Sessions(self._next(), node, inputs)

    def _top(self, plan: TopK) -> Operator:
        plain = not plan.partition and plan.ties is None and plan.number is None and plan.limit is not None
        if not plain or plan_reads_clock(plan):
            return self._keyed(plan, (plan.partition,))
        node, inputs = self._over_inputs(plan)
        return Ranked(self._next(), node, inputs, append_only=append_only(plan.input, self.catalog))

    def _handed_over(self, plan: Recompute) -> Operator:
        if plan.relations or not plan.outputs or plan_reads_clock(plan):
            return self._recomputed(plan)
        return Constant(self._next(), plan, ())

    def _scan(self, plan: Scan) -> Operator:
        name = plan.relation.lower()
        view = self._cleaned_view(plan)
        if view is not None and name not in self.given:
            number = self.operator(view.plan)
            return Cleaned(self._next(), leaf(number, view.plan.fields), (number,), view=name)
        late = self._reported() if name == ERROR_VIEW.name else ()
        return Source(self._next(), plan, late, relation=name)

    def _reported(self) -> tuple[int, ...]:
        """The operators whose late rows `error_view` shows: those of views that do not read it themselves."""
        found = [self._cleaned_view(plan) for plan in self.readers]
        views = [view for view in found if view is not None and view.name.lower() not in self.given]
        return tuple(self.operator(scan_of(view)) for view in views if not reads_error_view(view.plan, self.catalog))

    def _over_inputs(self, plan: Plan) -> tuple[Plan, tuple[int, ...]]:
        inputs = tuple(self.operator(item) for item in plan.inputs)
        leaves = [leaf(number, item.fields) for number, item in zip(inputs, plan.inputs, strict=True)]
        return plan.with_inputs(*leaves), inputs

    def _linear(self, plan: Plan) -> Operator:
        if plan_reads_clock(plan):
            node, inputs = self._over_inputs(plan)
            return Clocked(self._next(), node, inputs)
        found: list[int] = []
        node = self._inlined(plan, found, root=True)
        return Linear(self._next(), node, tuple(dict.fromkeys(found)))

    def _inlined(self, plan: Plan, inputs: list[int], *, root: bool = False) -> Plan:
        """A chain of linear nodes down to operators that are not, or that others read too, or that read the clock."""
        plan = self._resolved(plan)
        if isinstance(plan, LINEAR) and (root or (self.readers[plan] <= 1 and not plan_reads_clock(plan))):
            return plan.with_inputs(*(self._inlined(item, inputs) for item in plan.inputs))
        number = self.operator(plan)
        inputs.append(number)
        return leaf(number, plan.fields)

    def _join(self, plan: Join) -> Operator:
        clock = plan_reads_clock(plan)
        if plan.kind == JoinKind.INNER and not clock:
            node, inputs = self._over_inputs(plan)
            return Bilinear(self._next(), node, inputs, append_only=self._append_only(plan))
        if not plan.keys or plan.null_aware or clock:
            return self._recomputed(plan)
        return self._keyed(plan, _join_keys(plan))

    def _counted(self, plan: Distinct | SetOperation) -> Operator:
        if self.collations and any(is_collated(self._type(plan, column(item.name, item.type))) for item in plan.fields):
            return self._aggregate(as_groups(plan)) if isinstance(plan, Distinct) else self._recomputed(plan)
        node, inputs = self._over_inputs(plan)
        return Counted(self._next(), node, inputs)

    @cached_property
    def collations(self) -> bool:
        """True if the program has texts that are compared by other rules than their bytes."""
        return uses_collations(self.catalog)

    def _aggregate(self, plan: Aggregate) -> Operator:
        if plan_reads_clock(plan):
            return self._recomputed(plan)
        settled = with_least_texts(plan, self._type) if self.collations and plan not in self.settled else None
        if isinstance(settled, Project):
            self.settled.add(settled.input)
            return self._linear(settled)
        if settled is not None:
            plan = settled
        only = append_only(plan.input, self.catalog)
        partials = partials_of(plan, lambda scalar: self._type(plan.input, scalar), append_only=only)
        if partials is not None:
            node, inputs = self._over_inputs(plan)
            return Additive(self._next(), node, inputs, partials=partials, append_only=only)
        bucketed = in_buckets(plan, lambda scalar: self._type(plan.input, scalar)) if self.bucketed else None
        if bucketed is not None:
            return self._keyed(bucketed, ((),), few=True)
        return self._keyed(plan, (tuple(scalar for _, scalar in plan.groups),))

    def _type(self, relation: Plan, scalar: Scalar) -> Type | None:
        return scalar.type if scalar.type is not None else self.typing.type_of(relation, scalar)

    def _append_only(self, plan: Plan) -> tuple[bool, ...]:
        return tuple(append_only(item, self.catalog) for item in plan.inputs)

    def _keyed(self, plan: Plan, keys: tuple[tuple[Scalar, ...], ...], *, few: bool = False) -> Operator:
        if plan_reads_clock(plan):
            return self._recomputed(plan)
        only = self._append_only(plan)
        single = tuple(multiplicity_one(item, self.catalog) for item in plan.inputs)
        node, inputs = self._over_inputs(plan)
        return Keyed(self._next(), node, inputs, keys=keys, append_only=only, single=single, few=few)

    def _windows(self, plan: Window) -> Operator:
        """Windows over windows of the same key, or of a finer one, are one operator of that key."""
        found = self._chain(plan)
        if found is None:
            return self._keyed(plan, (plan.partition,))
        below = found.window.input
        number = self.operator(below)
        node: Plan = leaf(number, below.fields)
        for item in reversed(found.chain):
            node = item.with_inputs(node)
        only, single = append_only(below, self.catalog), multiplicity_one(below, self.catalog)
        keys = (found.window.partition,)
        return Keyed(self._next(), node, (number,), keys=keys, append_only=(only,), single=(single,))

    def _matches(self, plan: MatchRecognize) -> Operator:
        """Matches are found among the rows below the window that numbers them, which are all that is kept."""
        chain = [plan, *below_numbers(plan)]
        if any(map(plan_reads_clock, chain)):
            return self._recomputed(plan)
        numbers = chain[-1]
        assert isinstance(numbers, Window)  # noqa: S101 - as the binder makes it
        below = numbers.input
        number = self.operator(below)
        node: Plan = leaf(number, below.fields)
        for item in reversed(chain):
            node = item.with_inputs(node)
        only, single = append_only(below, self.catalog), multiplicity_one(below, self.catalog)
        keys = (numbers.partition,)
        return Keyed(self._next(), node, (number,), keys=keys, append_only=(only,), single=(single,))

    def _recomputed(self, plan: Plan) -> Operator:
        node, inputs = self._over_inputs(plan)
        return Recomputed(self._next(), node, inputs, uses_clock=plan_reads_clock(plan))

    def _iterated(self, plan: Fixpoint) -> Operator:
        views = frozenset(name.lower() for name in plan.views)
        outside = {item: self.operator(item) for body in plan.bodies for item in independent(body, views)}

        def swapped(node: Plan) -> Plan:
            if node in outside:
                return leaf(outside[node], node.fields)
            return node.with_inputs(*(swapped(item) for item in node.inputs))

        node = replace(plan, bodies=tuple(swapped(body) for body in plan.bodies))
        made = Iterated(self._next(), node, tuple(dict.fromkeys(outside.values())))
        try:
            return replace(made, rounds=self._rounds(node))
        except Unliftable as found:
            clock = any(plan_reads_clock(item) for body in node.bodies for item in body.walk())
            return replace(made, reason=found.reason, place=found.span, uses_clock=clock)

    def _rounds(self, node: Fixpoint) -> Rounds:
        if node.distinct and self.collations and any(_may_be_collated(body) for body in node.bodies):
            raise Unliftable(_COLLATED_SET, node)
        bodies = zip(node.views, lifted_bodies(node), strict=True)
        # Nothing is known here about tables, so no operator of the rounds forgets anything.
        circuit = build_circuit({name.lower(): body for name, body in bodies}, Catalog(), self.typing)
        return Rounds(circuit, tuple(first_round(body.names) for body in node.bodies) if node.distinct else ())


def _join_keys(plan: Join | AsofJoin) -> tuple[tuple[Scalar, ...], ...]:
    """The keys by which the rows of both sides are kept."""
    return tuple(key.left for key in plan.keys), tuple(key.right for key in plan.keys)


def _may_be_collated(plan: Plan) -> bool:
    return any(item.type is None or is_collated(item.type) for item in plan.fields)


def _read(plan: Plan) -> Iterator[Plan]:
    """The plans whose operators the operator of a plan reads."""
    if not isinstance(plan, Fixpoint):
        yield from plan.inputs
        return
    views = frozenset(name.lower() for name in plan.views)
    for body in plan.bodies:
        yield from independent(body, views)
