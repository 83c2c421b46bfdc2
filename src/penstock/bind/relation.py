"""A relation of FROM: a plan whose fields are named `alias.column`, and the scope that finds them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery
from penstock.bind.level import Level
from penstock.bind.scalars import scalar_of, unique_names
from penstock.bind.scope import Relation, Scope, relation_in_scope
from penstock.catalog.model import EVENT_TIME, ComputedColumn, Table, View
from penstock.catalog.reserved import HIDDEN, is_hidden
from penstock.catalog.types import plain_type
from penstock.errors import Span
from penstock.plan.nodes import Field, Plan, Project, Scan, Values
from penstock.plan.parsing import parse_scalar
from penstock.plan.scalar import Scalar, column
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.text import span_of

TAIL = "tail"  # in the meta of a table of FROM: its rows from now on
SINCE = "since"  # beside it: the step after which they begin
ONE_ROW = Values(((),), ())


def scan(found: Table | View, place: exp.Expression | None = None) -> Scan:
    """The rows of a declared relation, under its own column names."""
    fields = tuple(Field(item.name, item.type and plain_type(item.type), item.nullable) for item in found.columns)
    timeless = isinstance(found, Table) and not _has_time(found)
    if place is None:
        return Scan(found.name, fields, timeless=timeless)
    tail, since = bool(place.meta.get(TAIL)), place.meta.get(SINCE)
    return Scan(found.name, fields, span_of(place), tail, since, timeless=timeless)


def _has_time(table: Table) -> bool:
    """True if a column of the table has a bound by which rows are late."""
    bounds = [item.lateness or item.watermark for item in table.columns] + [item.lateness for item in table.computed]
    return table.event_time is not None or any(bound is not None for bound in bounds)


def rows_of(
    found: Table | View, place: exp.Expression | None = None, *, hidden: bool = False, kept: bool = False
) -> BoundQuery:
    """The rows of a declared relation as a query reads them: a stream's end with its `_tp_time`.

    The `hidden` columns of their arrival may be beside them, and the waterlines that are `kept` with them.
    """
    plan = scan(found, place)
    if not isinstance(found, Table):
        return BoundQuery(plan, plan.names)
    if found.event_time is None and found.shown == found.columns and not found.computed:
        return BoundQuery(plan, tuple(item.label for item in found.columns))
    fields = dict(zip(plan.names, plan.fields, strict=True))
    told = [item for item in found.columns if (kept and item.keeps_waterlines) or (hidden and item.name in HIDDEN)]
    listed = [item for item in found.columns if not item.hidden or item in told]
    named = [(item.name, item.name) for item in listed]
    named += [] if found.event_time is None else [(EVENT_TIME, found.event_time)]
    items = [(name, column(of, fields[of].type, fields[of].nullable)) for name, of in named]
    names = [item.label for item in listed] + [name for name, _ in named[len(listed) :]]
    for item in reversed(found.computed):
        items.insert(item.place, (item.name, computed_of(item, fields)))
        names.insert(item.place, item.name)
    return BoundQuery(Project(plan, tuple(items)), tuple(names))


def computed_of(item: ComputedColumn, fields: Mapping[str, Field]) -> Scalar:
    """The value of a computed column over the columns of its row; it has no place in a query."""
    if item.kept is not None:
        return column(item.kept, fields[item.kept].type, fields[item.kept].nullable)
    return replace(scalar_of(parse_scalar(item.text), fields), span=None)


def text_rows(found: Table | View, place: exp.Expression | Span | None = None) -> Plan:
    """The rows for a query that Spark reads as text, whose names of columns have no case."""
    alike = [item for item in found.columns if item.written is not None]
    if alike:
        message = (
            f"the column {alike[0].label} of {found.name}, beside one that differs by case only, in a query that is"
        )
        hint = "give it another name in a view of its own"
        raise unsupported(code="NOT_TOGETHER", message=f"{message} recomputed as a text", place=place, hint=hint)
    return rows_of(found).plan


def aliased(bound: BoundQuery, tree: exp.Expression, level: Level, default: str) -> Relation:
    """A bound relation under the alias that the tree gives it, or under a default."""
    alias = str(tree.alias) or default
    names = list(bound.names)
    given = tree.args.get("alias")
    columns = [part.name for part in (given.args.get("columns") or [])] if given is not None else []
    hidden = [name for name in names if is_hidden(name)]
    if columns:
        if len(columns) != len(names) - len(hidden):
            message = f"{alias} has {len(names) - len(hidden)} columns, but {len(columns)} names are given"
            raise wrong(code="WRONG_NUMBER_OF_NAMES", message=message, place=tree)
        names = columns + hidden
    prefix = free_prefix(alias, level.fields)
    fields = [f"{prefix}.{name}" for name in unique_names(names)]
    items = tuple(
        (new, column(item.name, item.type, item.nullable)) for new, item in zip(fields, bound.fields, strict=True)
    )
    plan = Project(bound.plan, items)
    return plan, Scope((relation_in_scope(alias, tuple(names), plan.fields, exact=level.context.exact),))


def free_prefix(alias: str, names: Iterable[str]) -> str:
    """The alias, with a number behind it if fields of these names have it already."""
    taken = {name.rpartition(".")[0].lower() for name in names}
    candidate, number = alias, 1
    while candidate.lower() in taken:
        number += 1
        candidate = f"{alias}#{number}"
    return candidate
