"""Groups of texts that a collation holds equal: which of them the answer shows.

Under UTF8_LCASE 'a' and 'A' are one group. Spark shows the one that it meets first; a maintained view shows the least
in binary order, so that what one step shows a later one can take back. MIN and MAX choose among equals likewise.

    Aggregate [k], count(*)   →   Project [collate(__r0, 'UTF8_LCASE') AS k, __a0]
                                    Aggregate [k], count(*), min(collate(k, 'UTF8_BINARY')) AS __r0
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from penstock.catalog.model import Catalog
from penstock.catalog.types import Type
from penstock.plan.nodes import Aggregate, AggregateCall, Distinct, Plan, Project
from penstock.plan.parsing import parse_scalar
from penstock.plan.scalar import Scalar, column, quoted

TypeOf = Callable[[Plan, Scalar], Type | None]
_COLLATED = re.compile(r"(?i)^string collate (\w+)$")


def uses_collations(catalog: Catalog) -> bool:
    """True if any text of the program can have a collation of its own."""
    columns = (column for table in catalog.tables.values() for column in table.columns)
    views = (view.text for view in catalog.views.values())
    functions = (str(function.returns) + function.body.sql() for function in catalog.functions.values())
    texts = (*(column.type or "" for column in columns), *views, *functions)
    return any("collat" in text.lower() for text in texts)


def as_groups(plan: Distinct) -> Aggregate:
    """DISTINCT as GROUP BY all columns."""
    groups = tuple((item.name, column(item.name, item.type, item.nullable)) for item in plan.fields)
    return Aggregate(plan.input, groups, ())


def with_least_texts(plan: Aggregate, type_of: TypeOf) -> Project | Aggregate | None:
    """The aggregation with the least text of each group shown; None where no text has a collation."""
    kinds = {name: type_of(plan.input, scalar) for name, scalar in plan.groups}
    collations = {name: match[1] for name, kind in kinds.items() if (match := _COLLATED.match(kind or ""))}
    aggregates = tuple((name, _settled(call, plan.input, type_of)) for name, call in plan.aggregates)
    if not collations:
        return None if aggregates == plan.aggregates else replace(plan, aggregates=aggregates)
    places = {name: f"__r{place}" for place, name in enumerate(collations)}
    scalars = dict(plan.groups)
    least = tuple((place, _least(scalars[name])) for name, place in places.items())
    grouped = replace(plan, aggregates=(*aggregates, *least))
    items = []
    for item in plan.fields:
        if item.name in collations:
            text = f"collate({quoted(places[item.name])}, '{collations[item.name]}')"
            items.append((item.name, _scalar(text, kinds[item.name])))
        else:
            items.append((item.name, column(item.name, item.type, item.nullable)))
    return Project(grouped, tuple(items))


def _least(scalar: Scalar) -> AggregateCall:
    binary = _scalar(f"collate({scalar.text}, 'UTF8_BINARY')", "string")
    return AggregateCall("min", (binary,), _scalar(f"min({binary.text})", "string"))


def _settled(call: AggregateCall, relation: Plan, type_of: TypeOf) -> AggregateCall:
    """MIN or MAX of collated texts, binary order deciding between equals."""
    if call.function not in ("min", "max") or call.filter is not None:
        return call
    (value,) = call.arguments
    kind = type_of(relation, value)
    if not _COLLATED.match(kind or ""):
        return call
    both = f"struct({value.text}, collate({value.text}, 'UTF8_BINARY'))"
    order = _scalar(f"if(({value.text}) IS NULL, NULL, {both})", None)
    name = f"{call.function}_by"
    return AggregateCall(name, (value, order), _scalar(f"{name}({value.text}, {order.text})", kind))


def _scalar(text: str, kind: Type | None) -> Scalar:
    return Scalar(text, parse_scalar(text), kind)
