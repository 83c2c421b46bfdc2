"""The rows of a table that a query needs, as far as its conditions say how small a column of them can be.

    SELECT COUNT(*) FROM s WHERE at > now() - INTERVAL 1 HOUR AND who = 3        s: at above now() - INTERVAL 1 HOUR
    SELECT SUM(x) OVER (ORDER BY at) FROM s WHERE at > …                         s: at above …, since WHERE comes first
    SELECT * FROM (SELECT SUM(x) OVER (ORDER BY at) …, at FROM s) WHERE at > …   s: all, since the sums read all

Conditions are moved down to the table as the rewriting rules move them, which is what proves that no other row of it
has a part in the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from penstock.analysis.inequality import LowerBound, lower_bounds, to_type_of
from penstock.catalog.model import Catalog, Table, View
from penstock.catalog.types import Type, is_temporal
from penstock.catalog.zones import Shifts, session_shifts
from penstock.plan.expressions import conjuncts
from penstock.plan.forms import Call, Cast, Constant, Form, Reference, references
from penstock.plan.nodes import Filter, Plan, Project, Scan
from penstock.plan.scalar import Scalar, column, scalar_of


@dataclass(frozen=True, slots=True)
class Above:
    """Values of a column that are at least that of `bound`, an expression of constants and the clock in its type.

    If `strict` they are larger.
    """

    column: str
    bound: Scalar
    strict: bool


@dataclass(frozen=True, slots=True)
class Needed:
    """The rows of a table that one place of a query reads: those for which all of `above` hold."""

    table: str
    above: tuple[Above, ...] = ()


def with_views_inside(plan: Plan, catalog: Catalog, opened: Callable[[View], bool]) -> Plan:
    """The plan with the queries of views, for which `opened` holds, in the place of the views."""
    inputs = [with_views_inside(item, catalog, opened) for item in plan.inputs]
    view = catalog.views.get(plan.relation.lower()) if isinstance(plan, Scan) else None
    if isinstance(plan, Scan) and view is not None and view.plan is not None and opened(view):
        return _in_place(plan, view, with_views_inside(view.plan, catalog, opened))
    return plan.with_inputs(*inputs)


def _in_place(scan: Scan, view: View, query: Plan) -> Plan:
    """A view's query under the names by which a plan reads the view."""
    places = {item.name.lower(): place for place, item in enumerate(view.columns)}
    fields = [(item, query.fields[places[item.name.lower()]]) for item in scan.fields]
    return Project(query, tuple((item.name, column(found.name, item.type)) for item, found in fields))


def needed(plan: Plan, catalog: Catalog) -> list[Needed]:
    """The rows that each place of a rewritten plan reads of a table."""
    return [*_below(plan, catalog, ())]


def _below(plan: Plan, catalog: Catalog, conditions: tuple[Scalar, ...]) -> Iterator[Needed]:
    match plan:
        case Filter():
            yield from _below(plan.input, catalog, (*conditions, plan.condition))
        case Project():  # the rules have put it there for fewer columns
            given = dict(plan.items)
            yield from _below(plan.input, catalog, tuple(item.over(given) for item in conditions))
        case Scan():
            table = catalog.table(plan.relation)
            if table is not None:
                yield Needed(table.name.lower(), tuple(_above(conditions, table, session_shifts(catalog.settings))))
        case _:
            for item in plan.inputs:
                yield from _below(item, catalog, ())


def _above(conditions: Iterable[Scalar], table: Table, shifts: Shifts) -> Iterator[Above]:
    types = {item.name: item.type for item in table.columns}
    for part in (part for condition in conditions for part in conjuncts(condition)):
        if shifts.most and not _compares_alone(part.form):
            continue  # days and months are counted by the clock on the wall, which may be put back
        for item in lower_bounds(part, types, shifts):
            kind = types.get(item.column)
            if kind is not None and not references(item.bound):
                yield from _in_type(item, kind, shifts)


def _compares_alone(form: Form) -> bool:
    """True for a comparison in which a column stands alone on its side."""
    return isinstance(form, Call) and all(
        isinstance(item, Reference) or not references(item) for item in form.arguments
    )


def _in_type(item: LowerBound, kind: Type, shifts: Shifts) -> Iterator[Above]:
    """The bound in the type of its column; nothing where values are not in one order in both."""
    if is_temporal(kind) and isinstance(item.bound, Constant) and item.bound.is_text:
        yield Above(item.column, scalar_of(Cast(item.bound, kind)), item.strict)
        return
    convert = to_type_of(item, {item.column: kind}, shifts)
    if convert is not None:
        bound = convert(item.bound)
        exact = is_temporal(kind) or bound is item.bound  # a number that is rounded may be the larger one
        yield Above(item.column, scalar_of(Cast(bound, kind)), item.strict and exact)
