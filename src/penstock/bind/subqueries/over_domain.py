"""Subqueries bound over their domain: the distinct values that they read of the query around them."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery
from penstock.bind.diagnose import NotIncremental
from penstock.bind.domain import Domain, NeedDomain
from penstock.bind.level import Context, Level, Subquery
from penstock.bind.scalars import scalar_of
from penstock.catalog.types import lacks_equality
from penstock.plan.nodes import Field


def over_its_domain(found: Subquery) -> Subquery:
    """The same subquery bound over its domain."""
    if found.domain is not None:
        return found
    return replace(subquery_over_domain(found.kind, found.tree, found.level, found.needles), compared=found.compared)


def subquery_over_domain(kind: str, query: exp.Expression, level: Level, needles: int) -> Subquery:
    """A subquery of that kind bound over its domain; the values it reads are its keys."""
    bound, domain, outers = bind_over_domain(query, level)
    keys = [(name, index, True) for index, name in enumerate(domain.leaf.names)]
    return Subquery(kind, query, level, needles, bound, outers, keys, [], domain)


def bind_over_domain(query: exp.Expression, level: Level) -> tuple[BoundQuery, Domain, list[exp.Expression]]:
    """A query bound over the enclosing level's values; they are found by binding until no new one is met."""
    outers: dict[str, exp.Expression] = {}
    number = next(level.context.numbers)
    while True:
        domain = _domain(number, outers, level)
        if any(lacks_equality(item.type) for item in domain.types):
            reason = "a subquery that reads a MAP or a VARIANT of the query around it"
            raise NotIncremental(reason, query)
        known = len(outers)
        context: Context = replace(level.context, enclosing=level, domain=domain, outers=outers)
        try:
            return context.bind_query(query), domain, list(outers.values())
        except NeedDomain as need:
            if not need.concerns(context.outers):
                raise
            if len(outers) == known:
                reason = "a subquery that reads the enclosing query in this place"
                raise NotIncremental(reason, query) from None


def _domain(number: int, outers: dict[str, exp.Expression], level: Level) -> Domain:
    names = {text: f"__d{number}.{index}" for index, text in enumerate(outers)}
    scalars = [scalar_of(tree, level.fields) for tree in outers.values()]
    fields = tuple(Field(name, item.type, item.nullable) for name, item in zip(names.values(), scalars, strict=True))
    return Domain(f"#domain{number}", MappingProxyType(names), fields)
