"""Everything that EXPLAIN knows about one view, as a value that both renderers read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from penstock.analysis.changelog import Retraction, retracting
from penstock.analysis.keys import Keys, unique_keys, view_keys
from penstock.analysis.kinds import KindOfChange, kinds_of_change
from penstock.analysis.sorting import Order, Sorting, sorting_of
from penstock.analysis.waterline import Waterlines, has_waterline, waterlines
from penstock.bind.emission.falling import FALLING
from penstock.bind.emission.standing import StandingQuery, bind_standing
from penstock.catalog.model import INTO, PASSED, Catalog, Table, View, Writer
from penstock.circuit.boundedness import StateFact, state_facts
from penstock.circuit.operators import Circuit
from penstock.circuit.places import Placed, Placing
from penstock.errors import Diagnostic, Span, SqlError, did_you_mean
from penstock.explain.emission import EmissionFact, emission_fact
from penstock.explain.verdict import Verdict, circuit_of, plans_of, verdict
from penstock.plan.nodes import Field, Plan, Scan
from penstock.rewrite import Fired, rewrite, rewrite_views
from penstock.rewrite.from_views import FromViews, from_views


@dataclass(frozen=True)
class Report:
    """One view, one query (`kind` 'query') or one standing statement ('statement'), at every stage."""

    name: str
    kind: str
    span: Span | None
    plan: Plan
    rewritten: Plan
    fired: tuple[Fired, ...]
    verdict: Verdict
    retraction: Retraction | None
    keys: Keys
    state: tuple[StateFact, ...]
    waterlines: Waterlines
    emission: EmissionFact | None = None
    placed: Placed | None = None  # where operators work, if that was asked
    kinds: tuple[KindOfChange, ...] = ()
    # The order of its own rows, then of each relation that it reads; found when somebody wants to see it.
    relations: Callable[[], Iterable[Sorting]] = tuple
    answered: FromViews | None = None  # of a query that is asked: over which MATERIALIZED views, if over some

    @property
    def changes(self) -> str:
        """'append-only' or 'retract'."""
        return "append-only" if self.retraction is None else "retract"


def reports(catalog: Catalog, view: str | None = None, placing: Placing | None = None) -> Iterator[Report]:
    """A report on the view or standing statement of that name, or on all; SqlError if there is none.

    With `placing`, which the engine has (penstock.engine.foreseeing), it says where operators work.
    """
    statements = {name: _of_writer(writer) for name, writer in catalog.writers.items()}
    for item in statements.values():
        catalog = catalog.with_view(item)
    chosen = [item for item in catalog.views.values() if item.kind not in (INTO, PASSED)]
    if view is not None:
        chosen = [statements.get(view.lower()) or _view(catalog, view)]
    traces: dict[str, list[Fired]] = {item.name.lower(): [] for item in chosen}
    rewritten = rewrite_views(catalog, traces)
    circuit = _circuit(rewritten, {}, placing)
    for item in chosen:
        if item.plan is not None:
            name = item.name.lower()
            plans = _Plans(item.plan, rewritten.views[name].plan or item.plan, traces[name])
            found = _report(item.name, item.kind, item.span, plans, rewritten, circuit)
            yield replace(found, emission=_of_output(item, catalog)) if item.emits else found


def _of_writer(writer: Writer) -> View:
    """A standing statement as a view of what it writes."""
    name = f"{writer.name} (into {writer.writing.target})"
    return View(name, "", None, (), writer.plan, STATEMENT, span=writer.span)


def query_report(plan: Plan, catalog: Catalog, span: Span | None = None, placing: Placing | None = None) -> Report:
    """A report on a query as if it were a view."""
    rewritten = rewrite_views(catalog)
    fired: list[Fired] = []
    plans = _Plans(plan, rewrite(plan, fired), fired)
    circuit = _circuit(rewritten, {_QUERY: plans.rewritten}, placing)
    found, answered = _report(_QUERY, "query", span, plans, rewritten, circuit), from_views(plan, catalog)
    return replace(found, answered=answered) if answered.views else found


def standing_report(found: StandingQuery, catalog: Catalog, placing: Placing | None = None) -> Report:
    """A report on a query that stands: that of its rows, and its policy."""
    for view in found.views[:-1]:
        catalog = catalog.with_view(view)
    assert found.view.plan is not None  # noqa: S101 - the binder has made it
    report = query_report(found.view.plan, catalog, placing=placing)
    relations = partial(_in_order, report.relations, found.view)
    return replace(report, emission=emission_fact(found.view, catalog), answered=None, relations=relations)


def _in_order(relations: Callable[[], Iterable[Sorting]], view: View) -> Iterator[Sorting]:
    """The orders of the relations, of which the first is the query's own: its ORDER BY has its rows sorted."""
    first, *others = relations()
    showing = view.showing
    if showing is not None and showing.streamed and showing.order and view.plan is not None:
        name = view.plan.names[showing.order[0].place]
        carried = next((item for item in first.orders if item.column == name and name.startswith(FALLING)), None)
        orders = (replace(item, there=item.there or _is_by(item, name, carried)) for item in first.orders)
        first = replace(first, orders=tuple(orders))
    yield from (first, *others)


def _is_by(order: Order, name: str, carried: Order | None) -> bool:
    """True for the order by a column, or by one that falls, of which the negative is carried to go by."""
    return order.column == name if carried is None else order.falls and order.line.sources == carried.line.sources


def _of_output(view: View, catalog: Catalog) -> EmissionFact | None:
    """The policy of a view with EMIT."""
    source = view.source or ""
    found = bind_standing(
        view.query, catalog.read_as(view), source, view.name, has_waterline, properties=view.properties
    )
    for item in found.views[:-1]:
        catalog = catalog.with_view(item)
    return emission_fact(found.view, catalog)


def _circuit(catalog: Catalog, more: Mapping[str, Plan], placing: Placing | None) -> Circuit | Placed:
    return circuit_of(catalog, more) if placing is None else placing({**plans_of(catalog), **more}, catalog)


_QUERY, STATEMENT = "(query)", "statement"


def _view(catalog: Catalog, name: str) -> View:
    found = catalog.views.get(name.lower())
    if found is not None:
        return found
    names = tuple(item.name for item in catalog.named_views())
    if catalog.relation(name) is not None:
        raise SqlError(
            Diagnostic("NOT_A_VIEW", f"{name} is a table; there is nothing to explain", candidates=names[:3])
        )
    raise SqlError(Diagnostic("UNKNOWN_VIEW", f"there is no view {name}", candidates=did_you_mean(name, names)))


class _Plans(NamedTuple):
    """A plan as it was bound, as it is maintained, and the rules that made one of the other."""

    bound: Plan
    rewritten: Plan
    fired: list[Fired]


def _report(  # noqa: PLR0917 - what the caller has of a view or query, and what both are looked up in
    name: str, kind: str, span: Span | None, plans: _Plans, catalog: Catalog, made: Circuit | Placed
) -> Report:
    rewritten = plans.rewritten
    placed = made if isinstance(made, Placed) else None
    circuit = made.circuit if isinstance(made, Placed) else made
    found, view = verdict(name.lower(), rewritten, circuit), catalog.views.get(name.lower())
    return Report(
        name=name,
        kind=kind,
        span=span,
        plan=plans.bound,
        rewritten=rewritten,
        fired=tuple(plans.fired),
        verdict=found,
        retraction=retracting(rewritten, catalog),
        keys=view_keys(view, catalog) if view is not None and view.lateness else unique_keys(rewritten, catalog),
        state=state_facts(found.operators, catalog),
        waterlines=waterlines(rewritten, catalog),
        placed=placed,
        kinds=tuple(kinds_of_change(rewritten, catalog)),
        relations=partial(_relations, name, rewritten, span, catalog),
    )


def _relations(name: str, plan: Plan, span: Span | None, catalog: Catalog) -> Iterator[Sorting]:
    """The order of the rows of a plan, and of the relations that it reads, of hidden ones those that they read too."""
    view = catalog.views.get(name.lower())
    yield sorting_of(plan, catalog, span=span) if view is None else sorting_of(_scan_of(view), catalog, view.name)
    seen: dict[str, Table | View] = {}
    waiting = _read(plan, catalog)
    while waiting:
        relation = waiting.pop(0)
        if relation.name not in seen:
            seen[relation.name] = relation
            yield sorting_of(_scan_of(relation), catalog, relation.name)
            if isinstance(relation, View) and not relation.is_named and relation.plan is not None:
                waiting += _read(relation.plan, catalog)


def _read(plan: Plan, catalog: Catalog) -> list[Table | View]:
    found = (catalog.relation(node.relation) for node in plan.walk() if isinstance(node, Scan))
    return [item for item in found if item is not None]


def _scan_of(relation: Table | View) -> Scan:
    return Scan(relation.name, tuple(Field(item.name, item.type, item.nullable) for item in relation.columns))
