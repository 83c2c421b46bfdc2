"""A query that a MATERIALIZED view has answered already is answered from it (C7).

    v: SELECT k, hour, COUNT(*) AS n, SUM(x) AS s … WHERE x > 0 GROUP BY k, hour

    Aggregate by k: count(1), avg(x)                    Project k, count(1) = n, avg(x) = s / n
      Filter x > 0 AND hour >= '10:00'        →           Aggregate by k: n = sum(n), s = sum(s)
        Scan o                                              Filter hour >= '10:00'
                                                              Scan v

The view is over the same relations, joined by the same equalities, and all of its conditions are among the query's.
What the query asks beyond that, and its groups, can be said by what the view groups by. Then groups of the view are
added up; where both group alike there is nothing to add. What a coarser unit of time groups by is said by a finer
(`coarser_times`). Sums of FLOAT and DOUBLE, which depend on the order, are not added up, and aggregates over DISTINCT
values are never answered so. SELECT DISTINCT is a query that groups by all that it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from penstock.catalog.functions import built_in
from penstock.catalog.model import Catalog, View
from penstock.catalog.settings import ANSWER_FROM_VIEWS, TIME_ZONE, UTC
from penstock.catalog.types import FRACTIONAL, INTEGRAL, Type, is_collated, is_decimal
from penstock.plan.expressions import conjunction, conjuncts
from penstock.plan.forms import (
    Aggregated,
    Call,
    Cast,
    Constant,
    Form,
    Opaque,
    Reference,
    reads_clock,
    references,
    swapped,
)
from penstock.plan.nodes import (
    Aggregate,
    AggregateCall,
    Distinct,
    Field,
    Filter,
    Fixpoint,
    Join,
    JoinKey,
    JoinKind,
    Plan,
    Project,
    Recompute,
    Scan,
)
from penstock.plan.scalar import Scalar, column, scalar_of
from penstock.rewrite.coarser_times import CoarserTimes

_ADDED = frozenset(["sum", "count", "count_if"])  # a sum of its sums
_PICKED = frozenset(["min", "max"])  # the same of its own
_AVERAGES = frozenset(["avg", "mean"])
_SAME = frozenset(
    [*_ADDED, *_PICKED, *_AVERAGES, "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"]
)
_SYMMETRIC = frozenset(["=", "<=>"])
_OF_BASE = "\0"  # no column of a program begins so


@dataclass(frozen=True)
class FromViews:
    """A query as it is answered, and the views that it is answered from."""

    plan: Plan
    views: tuple[str, ...] = ()


def from_views(plan: Plan, catalog: Catalog) -> FromViews:
    """The query with each aggregate that a MATERIALIZED view contains read from there, if the settings let it."""
    off = catalog.settings.get(ANSWER_FROM_VIEWS, "on").strip().lower() == "off"
    return FromViews(plan) if off else _answered(plan, [*_summaries(catalog)])


def _answered(plan: Plan, summaries: list[_Summary]) -> FromViews:
    if isinstance(plan, Fixpoint | Recompute) or not summaries:
        return FromViews(plan)
    grouped = _grouped(plan)
    if grouped is not None:
        for summary in summaries:
            found = _from(grouped, summary)
            if found is not None:
                return FromViews(found, (summary.view.name,))
    below = [_answered(item, summaries) for item in plan.inputs]
    names = tuple(name for item in below for name in item.views)
    return FromViews(plan.with_inputs(*(item.plan for item in below)), names) if names else FromViews(plan)


def _grouped(plan: Plan) -> Aggregate | None:
    """An aggregate, or DISTINCT as one without calls; None for anything else."""
    if isinstance(plan, Distinct):
        groups = tuple((item.name, column(item.name, item.type, item.nullable)) for item in plan.fields)
        return Aggregate(plan.input, groups, ()) if groups else None
    return plan if isinstance(plan, Aggregate) else None


# What is read


@dataclass(frozen=True)
class _Rows:
    """Joined and filtered rows: of which relations, under which conditions, and each field by what these have.

    `types` are those of the relations' columns.
    """

    relations: frozenset[str]
    conditions: frozenset[Form]
    fields: Mapping[str, Form]
    types: Mapping[str, Type | None] = field(default_factory=dict)

    def of(self, form: Form) -> Form | None:
        """A form over the fields as one over the relations; None if it cannot be looked into."""
        if any(isinstance(item, Opaque) for item in form.walk()):
            return None
        return swapped(form, lambda item: self.fields[item.name] if isinstance(item, Reference) else None)


def _rows(plan: Plan) -> _Rows | None:
    """The rows below an aggregate; None for what is more than joins, conditions and expressions."""
    match plan:
        case Scan(tail=False):
            name = plan.relation.lower()
            named = {item.name: f"{_OF_BASE}{name}.{item.name}" for item in plan.fields}
            types = {named[item.name]: item.type for item in plan.fields}
            fields = {own: Reference(base) for own, base in named.items()}
            return _Rows(frozenset({name}), frozenset(), fields, types)
        case Project():
            below = _rows(plan.input)
            forms = {} if below is None else {name: below.of(scalar.form) for name, scalar in plan.items}
            known = {name: form for name, form in forms.items() if form is not None}
            return None if below is None or len(known) < len(forms) else replace(below, fields=known)
        case Filter():
            return _under(_rows(plan.input), [plan.condition])
        case Join(kind=JoinKind.INNER):
            return _under(_joined(_rows(plan.left), _rows(plan.right)), _given(plan.residual), plan.keys)
        case _:
            return None


def _given(condition: Scalar | None) -> list[Scalar]:
    return [] if condition is None else [condition]


def _joined(left: _Rows | None, right: _Rows | None) -> _Rows | None:
    # A relation that is joined with itself would have its columns twice.
    if left is None or right is None or left.relations & right.relations:
        return None
    return _Rows(
        left.relations | right.relations,
        left.conditions | right.conditions,
        {**left.fields, **right.fields},
        {**left.types, **right.types},
    )


def _under(rows: _Rows | None, conditions: Iterable[Scalar], keys: Iterable[JoinKey] = ()) -> _Rows | None:
    if rows is None:
        return None
    forms = [part.form for condition in conditions for part in conjuncts(condition)]
    forms += [Call("<=>" if key.null_safe else "=", (key.left.form, key.right.form)) for key in keys]
    found = [rows.of(form) for form in forms]
    known = frozenset(_sorted(form) for form in found if form is not None)
    return None if any(form is None for form in found) else replace(rows, conditions=rows.conditions | known)


def _sorted(form: Form) -> Form:
    """An equality with its sides in one order."""
    if isinstance(form, Call) and form.function in _SYMMETRIC:
        return replace(form, arguments=tuple(sorted(form.arguments, key=repr)))
    return form


# What a view has


@dataclass(frozen=True)
class _Summary:
    """A MATERIALIZED view of an aggregate: its groups and aggregates over the relations, and what it calls them."""

    view: View
    rows: _Rows
    groups: Mapping[Form, Field]
    calls: Mapping[Form, Field]
    all_groups: frozenset[Form]
    times: CoarserTimes

    @property
    def scan(self) -> Scan:
        """The rows of the view."""
        return Scan(self.view.name, tuple(Field(item.name, item.type, item.nullable) for item in self.view.columns))

    def said(self, form: Form | None) -> Form | None:
        """A form over the relations as one over the view's groups; None if they do not decide it."""
        if form is None or not references(form) or not _is_pure(form):
            return None  # not one value for all rows of a group
        found = swapped(form, self._said)
        return None if any(name.startswith(_OF_BASE) for name in references(found)) else found

    def _said(self, form: Form) -> Form | None:
        own = self.groups.get(form)
        return self.times.said(form) if own is None else Reference(own.name)


def _summaries(catalog: Catalog) -> Iterator[_Summary]:
    zone = catalog.settings.get(TIME_ZONE, UTC)
    for view in catalog.views.values():
        kept = view.kind == "materialized" and not (view.recursive or view.lateness or view.is_hidden or view.emits)
        found = _summary(view, zone) if kept and view.plan is not None else None
        if found is not None:
            yield found


def _summary(view: View, zone: str) -> _Summary | None:
    shown = {name: name for name in view.plan.names}
    plan = view.plan
    while isinstance(plan, Project):
        of = dict(plan.items)
        shown = {name: inner for name, item in shown.items() if (inner := of[item].column) is not None}
        plan = plan.input
    grouped = _grouped(plan)
    rows = None if grouped is None else _rows(grouped.input)
    if rows is None or grouped is None:
        return None
    columns = {item.name: Field(item.name, item.type, item.nullable) for item in view.columns}
    names = {inner: columns[name] for name, inner in shown.items() if name in columns}
    groups = {rows.of(scalar.form): (name, scalar) for name, scalar in grouped.groups}
    calls = {rows.of(call.call.form): (name, call) for name, call in grouped.aggregates}
    forms = [*groups, *calls, *rows.conditions]
    if any(form is None or reads_clock(form) for form in forms):
        return None
    told = {
        form: names[name]
        for form, (name, _) in groups.items()
        if form is not None and name in names and _tells(names[name])
    }
    columns_of = {form: Reference(item.name) for form, item in told.items()}
    return _Summary(
        view,
        rows,
        told,
        {
            form: names[name]
            for form, (name, call) in calls.items()
            if form is not None and name in names and _is_plain(call)
        },
        frozenset(form for form in groups if form is not None),
        CoarserTimes(columns_of, rows.types, zone),
    )


def _tells(item: Field) -> bool:
    """True if all rows of a group have the very value that the view has of it: what is equal can differ."""
    return item.type is not None and not is_collated(item.type) and not any(kind in item.type for kind in FRACTIONAL)


def _is_pure(form: Form) -> bool:
    """True if equal arguments give equal values, as far as functions of Spark's are called."""
    found = [built_in(item.function) for item in form.walk() if isinstance(item, Call)]
    return all(item is None or item.deterministic for item in found)


def _is_plain(call: AggregateCall) -> bool:
    return call.function in _SAME and not call.distinct and call.call.type is not None


# The answer


def _from(plan: Aggregate, summary: _Summary) -> Plan | None:
    """The aggregate over the view; None if the view does not contain it."""
    rows = _rows(plan.input)
    if rows is None or rows.relations != summary.rows.relations or not rows.conditions >= summary.rows.conditions:
        return None
    extra = [summary.said(form) for form in rows.conditions - summary.rows.conditions]
    own = {name: rows.of(scalar.form) for name, scalar in plan.groups}
    groups = {name: summary.said(form) for name, form in own.items()}
    if any(form is None for form in (*extra, *groups.values())):
        return None
    condition = conjunction(scalar_of(form, "boolean") for form in extra if form is not None)
    base: Plan = summary.scan if condition is None else Filter(summary.scan, condition)
    made = {name: scalar_of(form, *_kind(plan, name)) for name, form in groups.items() if form is not None}
    calls = [(name, call, rows.of(call.call.form)) for name, call in plan.aggregates]
    if any(not _is_plain(call) or form is None for _, call, form in calls):
        return None
    wanted = {name: (call, form) for name, call, form in calls if form is not None}
    if frozenset(form for form in own.values() if form is not None) == summary.all_groups:
        return _alike(base, made, wanted, summary)
    return _added_up(base, made, wanted, summary, is_whole=not plan.groups)


def _kind(plan: Aggregate, name: str) -> tuple[Type | None, bool]:
    found = dict(plan.groups)[name]
    return found.type, found.nullable


_Wanted = Mapping[str, tuple[AggregateCall, Form]]


def _alike(base: Plan, groups: Mapping[str, Scalar], wanted: _Wanted, summary: _Summary) -> Plan | None:
    """A row of the view is a row of the answer."""
    if any(form not in summary.calls for _, form in wanted.values()):
        return None
    found = {name: (call, summary.calls[form]) for name, (call, form) in wanted.items()}
    if any(call.call.type != item.type for call, item in found.values()):
        return None
    items = [(name, column(item.name, item.type, call.call.nullable)) for name, (call, item) in found.items()]
    return Project(base, (*groups.items(), *items))


def _added_up(
    base: Plan, groups: Mapping[str, Scalar], wanted: _Wanted, summary: _Summary, *, is_whole: bool
) -> Plan | None:
    """Rows of the view, a group at a time, make a row of the answer."""
    parts: dict[str, AggregateCall] = {}
    items: list[tuple[str, Scalar]] = []
    for name, (call, form) in wanted.items():
        found = _rolled(call, form, partial(_part, summary, parts), is_whole=is_whole)
        if found is None:
            return None
        items.append((name, scalar_of(found, call.call.type, call.call.nullable)))
    rows = Aggregate(base, tuple(groups.items()), tuple(parts.items()))
    keys = [(name, column(name, scalar.type, scalar.nullable)) for name, scalar in groups.items()]
    return Project(rows, (*keys, *items))


def _rolled(call: AggregateCall, form: Form, part: _Part, *, is_whole: bool) -> Form | None:
    """The value of a call of the answer, of sums and others over the view; None if the view lacks what it needs."""
    kind = call.call.type or ""
    if call.function in _PICKED:
        return None if is_collated(kind) else part(form, call.function)
    if call.function in _ADDED:
        total = None if kind in FRACTIONAL else part(form, "sum")
        if total is None or call.function == "sum":
            return None if total is None else Cast(total, kind)
        return Call("coalesce", (total, Cast(Constant("0", "int"), "bigint"))) if is_whole else total
    argument = call.arguments[0].type if call.function in _AVERAGES else None
    if argument is None or not (argument in INTEGRAL or is_decimal(argument)):
        return None
    total, count = part(_named(form, "sum"), "sum"), part(_named(form, "count"), "sum")
    if total is None or count is None:
        return None
    some = Call("nullif", (count, Cast(Constant("0", "int"), "bigint")))
    over: Type = "double" if argument in INTEGRAL else "decimal(20,0)"
    return Cast(Call("/", (Cast(total, over) if over == "double" else total, Cast(some, over))), kind)


_Part = partial[Form | None]


def _part(summary: _Summary, parts: dict[str, AggregateCall], form: Form, function: str) -> Form | None:
    """A column for an aggregate over a column of the view; None if the view has none for the form."""
    found = summary.calls.get(form)
    if found is None or found.type is None:
        return None
    name = f"__{function}_{found.name}"
    value = column(found.name, found.type, found.nullable)
    kind = found.type if function in _PICKED else _sum_of(found.type)
    parts[name] = AggregateCall(function, (value,), scalar_of(Call(function, (value.form,)), kind))
    return Reference(name)


def _named(form: Form, function: str) -> Form:
    """The same aggregate of another function."""
    if isinstance(form, Aggregated):
        return replace(form, call=replace(form.call, function=function))
    return replace(form, function=function) if isinstance(form, Call) else form


def _sum_of(kind: Type) -> Type:
    """The type of a sum of values of a type."""
    if not is_decimal(kind):
        return "bigint" if kind in INTEGRAL else kind
    precision, scale = (int(item) for item in kind.removeprefix("decimal(").removesuffix(")").split(","))
    return f"decimal({min(38, precision + 10)},{scale})"
