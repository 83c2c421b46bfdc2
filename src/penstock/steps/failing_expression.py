"""The expression that has raised, the view in whose text it stands, and its place there.

A backend names the expression, as it was given it, and the engine the operator that was at work. Views share operators
and parts of expressions, so an equal text elsewhere says nothing: the expression is looked for at that operator, then
at those below it, whose work an engine may have put off until then; and the view among those for which the
operator works. A query over views is searched in the same way: its own expressions first, then those of the views that
it reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace

from penstock.catalog.model import Catalog, View
from penstock.catalog.types import Type
from penstock.circuit.lineage import operator_of
from penstock.circuit.operators import Circuit, Source
from penstock.engine.installed import InstalledOperator
from penstock.errors import Span
from penstock.plan.nodes import Aggregate, Plan, Recompute, Window
from penstock.plan.opaque import filled
from penstock.plan.scalar import Scalar, render_scalar
from penstock.rewrite.raising import cannot_raise, types_of
from penstock.sql.text import span_of
from penstock.sql.trees import nodes

_NARROW = ("tinyint", "smallint", "int")  # no table has the rows whose sum is too long
Reading = Callable[[str], str]
At = InstalledOperator | View | Plan | None


@dataclass(frozen=True, slots=True)
class Origin:
    """The view, None for a query's own text; the expression as it stands there, and its place in that text."""

    view: View | None = None
    scalar: Scalar | None = None
    span: Span | None = None

    @property
    def known(self) -> bool:
        """True if there is anything to say."""
        return self.view is not None or self.scalar is not None


NOWHERE = Origin()


def origin_of(fragment: str | None, catalog: Catalog, at: At) -> Origin:
    """The origin of what has raised: at an operator, in a view, in a query, or in any view where that is not known."""
    origin = _origin_of(fragment, catalog, at)
    placeless = origin.view is not None and not origin.view.source  # a place without its text would be one in another
    return replace(origin, span=None) if placeless else origin


def _origin_of(fragment: str | None, catalog: Catalog, at: At) -> Origin:
    if isinstance(at, InstalledOperator):
        return _at_operator(fragment, catalog, at)
    if isinstance(at, View):
        return (None if fragment is None else _in_first(fragment, [at])) or Origin(at, None, at.span)
    if isinstance(at, Plan):
        return NOWHERE if fragment is None else _in_query(fragment, catalog, at)
    views = list(catalog.views.values())
    return NOWHERE if fragment is None else _in_first(fragment, views) or NOWHERE


def origin_of_sum(kind: Type, catalog: Catalog, at: At) -> Origin:
    """The origin of a sum of a type, if there is one alone that it can be: a backend tells no place of a sum."""
    plan = at.node if isinstance(at, InstalledOperator) else at.plan if isinstance(at, View) else at
    views = _served(catalog, at) if isinstance(at, InstalledOperator) else list(catalog.views.values())
    own = {call.text for node in _walked(plan) for call in _sums_of(node, kind)}
    sums = [(view, call) for view in views for node in _walked(view.plan) for call in _sums_of(node, kind)]
    here = [item for item in sums if item[1].text in own]
    if (len(own) == 1 and here) or len(sums) == 1:
        view, call = (here or sums)[0]
        return Origin(view, call, call.span)
    return NOWHERE


def _sums_of(node: Plan, kind: Type) -> list[Scalar]:
    """The sums of a node that may have no room in a type."""
    made = [call for _, call in node.aggregates] if isinstance(node, Aggregate) else []
    calls = [call.call for call in made if call.arguments[:1] and call.arguments[0].type not in _NARROW]
    calls += [call for _, call in node.calls] if isinstance(node, Window) else []
    return [call for call in calls if (call.type or kind).startswith(kind) and call.text.startswith("sum(")]


# At an operator


def _at_operator(fragment: str | None, catalog: Catalog, at: InstalledOperator) -> Origin:
    circuit = at.installed.circuit
    served = _served(catalog, at)
    if fragment is None:
        return _of_operator(at, served)
    for read in (_close, bare):
        for number in _downward(circuit, at.number):
            scalar = _having(fragment, scalars_below(operator_of(circuit, number).node), read)
            if scalar is not None:
                views = _served(catalog, InstalledOperator(at.installed, number))
                return _owned(scalar, fragment, views) or Origin(_first(views), scalar, None)
    return _in_first(fragment, served) or _of_operator(at, served)


def _downward(circuit: Circuit, number: int) -> Iterator[int]:
    """An operator and those below it, the nearest first."""
    waiting, seen = [number], set[int]()
    while waiting:
        nearest = waiting.pop(0)
        if nearest not in seen:
            seen.add(nearest)
            operator = operator_of(circuit, nearest)
            if not isinstance(operator, Source):
                yield nearest
            waiting += operator.inputs


def _served(catalog: Catalog, at: InstalledOperator) -> list[View]:
    """The views for which an operator works, and those that they read; each behind those that it reads itself."""
    found: dict[str, View] = {}

    def add(name: str) -> None:
        view = catalog.views.get(name)
        if view is not None and name not in found and name not in waiting:
            waiting.add(name)
            for below in sorted(view.plan.scanned) if view.plan is not None else ():
                add(below)
            found[name] = view

    waiting: set[str] = set()
    for name in at.installed.circuit.readers.get(at.number, ()):
        add(name)
    return list(found.values())


def _first(views: Iterable[View]) -> View | None:
    return next(iter(views), None)


def _owned(scalar: Scalar, fragment: str, views: Collection[View]) -> Origin | None:
    """The view whose text has the operator's expression: by its part's place there, by its own, or by its text."""
    for place in _places(scalar, fragment):
        for view in views:
            whole = _whole(place, view.source or "")
            if bare((view.source or "")[whole.start : whole.end]) == bare(fragment):
                around = [item for item in _scalars_of(view) if _encloses(item.span, place)]
                if around:
                    return Origin(view, min(around, key=_length), whole)
    for view in views if scalar.span is not None else ():
        for item in _scalars_of(view):
            if item.span == scalar.span:
                return Origin(view, item, _narrowed(scalar, fragment))
    return _in_first(fragment, views)


def _places(scalar: Scalar, fragment: str) -> Iterator[Span]:
    """The places of the parts of an expression that the fragment is; rewriting may have brought them from elsewhere."""
    for node in nodes(scalar.tree):
        place = span_of(node) if bare(render_scalar(node)) == bare(fragment) else None
        if place is not None:
            yield place


def _whole(place: Span, source: str) -> Span:
    """The place with the brackets that close behind it, which leave no trace in a tree."""
    end = place.end
    while source[place.start : end].count("[") > source[place.start : end].count("]") and source[end : end + 1] == "]":
        end += 1
    return Span(place.start, end)


def _encloses(span: Span | None, place: Span) -> bool:
    return span is not None and span.start <= place.start and place.end <= span.end


def _length(scalar: Scalar) -> int:
    return 0 if scalar.span is None else scalar.span.end - scalar.span.start


def _of_operator(at: InstalledOperator, views: Collection[View]) -> Origin:
    """The first expression of an operator that can raise, where nothing tells which of them has."""
    own = set(at.installed.circuit.readers.get(at.number, ()))
    readers = [view for view in views if view.name.lower() in own]
    node = at.node
    inputs = {name: kind for item in node.inputs for name, kind in types_of(item).items()}
    raising = [item for item in scalars(node) if not cannot_raise(item, inputs)]
    for scalar in [item for item in (*raising, *scalars(node)) if item.span is not None]:
        for view in views:
            if any(item.span == scalar.span for item in _scalars_of(view)):
                return Origin(view, None, scalar.span)
    reader = _first(readers)
    return NOWHERE if reader is None else Origin(reader, None, reader.span)


# In texts


def _in_query(fragment: str, catalog: Catalog, plan: Plan) -> Origin:
    """In a query's own expressions, else in those of the views that it reads."""
    for read in (_close, bare):
        scalar = _having(fragment, scalars_below(plan), read)
        if scalar is not None:
            return Origin(None, scalar, _narrowed(scalar, fragment))
    views: dict[str, View] = {}
    waiting = sorted(plan.scanned)
    while waiting:
        view = catalog.views.get(waiting.pop(0))
        if view is not None and view.plan is not None and view.name.lower() not in views:
            views[view.name.lower()] = view
            waiting += sorted(view.plan.scanned)
    return _in_first(fragment, views.values()) or NOWHERE


def _in_first(fragment: str, views: Collection[View]) -> Origin | None:
    """The first view whose plan has the expression: under the very names, if there is one, else under any."""
    for read in (_close, bare):
        unplaced: Origin | None = None
        for view in views:
            found = _in_view(fragment, view, read)
            if found is not None and found.span is not None:
                return found
            unplaced = unplaced or found
        if unplaced is not None:
            return unplaced
    return None


def _in_view(fragment: str, view: View, read: Reading) -> Origin | None:
    scalar = _having(fragment, [item for item in _scalars_of(view) if item.span is not None], read)
    scalar = scalar or _having(fragment, _scalars_of(view), read)
    if scalar is not None:
        return Origin(view, scalar, _narrowed(scalar, fragment))
    wanted = read(fragment)
    texts = (
        filled(node.text, [""] * len(node.relations)) for node in _walked(view.plan) if isinstance(node, Recompute)
    )
    return Origin(view) if any(wanted in read(text) for text in texts) else None


def _having(fragment: str, among: Iterable[Scalar], read: Reading) -> Scalar | None:
    """The first expression of which the fragment is a part; one that is only in its text where none is."""
    wanted, containing = read(fragment), None
    for scalar in among:
        if wanted in read(scalar.text):
            if any(read(text) == wanted for text in _parts(scalar)):
                return scalar
            containing = containing or scalar
    return containing


def _parts(scalar: Scalar) -> Iterator[str]:
    yield scalar.text
    for node in nodes(scalar.tree):
        yield render_scalar(node)


def _narrowed(scalar: Scalar, fragment: str) -> Span | None:
    """The place of the fragment within its expression, as far as it is known."""
    if scalar.span is None:
        return None
    for read in (_close, bare):
        for node in nodes(scalar.tree):
            place = span_of(node) if read(render_scalar(node)) == read(fragment) else None
            if place is not None and _encloses(scalar.span, place):
                return place
    return scalar.span


def bare(text: str) -> str:
    """An expression without what rewriting changes in it: qualified names, quotes, parentheses, spaces."""
    return _close(re.sub(r"`(?:[^`]*\.)?([^`]*)`", r"\1", text))


def _close(text: str) -> str:
    """An expression without parentheses and spaces."""
    return re.sub(r"[\s()]", "", text).lower()


# Expressions of plans


def _walked(plan: Plan | None) -> Iterator[Plan]:
    return iter(()) if plan is None else iter(plan.walk())


def _scalars_of(view: View) -> Iterator[Scalar]:
    return iter(()) if view.plan is None else scalars_below(view.plan)


def scalars_below(plan: Plan) -> Iterator[Scalar]:
    """The expressions of a plan and of its inputs."""
    for node in plan.walk():
        yield from scalars(node)


def scalars(value: object) -> Iterator[Scalar]:
    """The expressions of a plan node, without those of its inputs."""
    if isinstance(value, Scalar):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            if not isinstance(item, Plan):
                yield from scalars(item)
    elif is_dataclass(value):
        for item in fields(value):
            part = getattr(value, item.name)
            if not isinstance(part, Plan):
                yield from scalars(part)
