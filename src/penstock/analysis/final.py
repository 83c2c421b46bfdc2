"""`emit_final`: by which column rows become final, and if none can be inferred, who lost the waterline (B10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never, cast

from penstock.analysis.derived import Derived
from penstock.analysis.waterline import Reader, Waterlines
from penstock.catalog.model import Catalog, Table, View
from penstock.errors import Diagnostic, Span, SqlError, did_you_mean
from penstock.plan.expressions import place_of
from penstock.plan.nodes import (
    Aggregate,
    Arrived,
    Arriving,
    AsofJoin,
    Distinct,
    Field,
    Filter,
    Fixpoint,
    Generate,
    Join,
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
from penstock.plan.scalar import Scalar

PROPERTY = "emit_final"


@dataclass(frozen=True)
class Final:
    """The column whose waterline makes a view's rows final, its place in the row, and that waterline."""

    column: str
    place: int
    waterline: Derived


def final_of(view: View, catalog: Catalog) -> Final | None:
    """By what the rows of a view become final; None without `emit_final`.

    Raises SqlError for a column that is not there, a LOCAL view, and a waterline that cannot be inferred.
    """
    asked = view.properties.get(PROPERTY)
    if asked is None or view.plan is None:
        return None
    if view.kind == "local":
        message = f"emit_final on the LOCAL view {view.name}, which is no output"
        raise SqlError(Diagnostic("EMIT_FINAL_LOCAL", message, view.span, hint="leave LOCAL out, or emit_final"))
    place = _place(view, asked.strip())
    name = view.plan.names[place]
    reader = Reader(catalog)
    found = reader.of(_scan_of(view)).get(view.columns[place].name)
    if found is None:
        lost, span = lost_by(view.plan, name, catalog, reader)
        message = f"no waterline can be inferred for {view.name}.{view.columns[place].name}: {lost}"
        hint = "emit_final needs a column that follows a column with LATENESS upwards"
        raise SqlError(Diagnostic("NO_WATERLINE", message, span or view.span, hint=hint))
    return Final(view.columns[place].name, place, found)


def _scan_of(view: View) -> Scan:
    return Scan(view.name, tuple(Field(item.name, item.type, item.nullable) for item in view.columns))


def _place(view: View, asked: str) -> int:
    names = [column.name for column in view.columns]
    for place, name in enumerate(names):
        if name.lower() == asked.lower():
            return place
    if asked.isdigit():
        if int(asked) < len(names):
            return int(asked)
        message = f"emit_final = {asked}: view {view.name} has the columns 0 to {len(names) - 1}"
        raise SqlError(Diagnostic("UNKNOWN_COLUMN", message, view.span))
    message = f"emit_final = '{asked[:100]}': view {view.name} has no such column"
    raise SqlError(Diagnostic("UNKNOWN_COLUMN", message, view.span, did_you_mean(asked, names)))


def lost_by(plan: Plan, name: str, catalog: Catalog, reader: Reader) -> tuple[str, Span | None]:
    """The operator that has no waterline for a column although its input has one, in words, and where it stands."""
    if isinstance(plan, Scan):
        return _lost_by_relation(plan, name, catalog, reader)
    below = [(item, reader.of(item), _read(plan, item, name)) for item in plan.inputs]
    losing = [(item, missing[0]) for item, known, names in below if (missing := _missing(names, known))]
    pointwise = isinstance(plan, UnionAll | SetOperation)
    kept = any(names and not _missing(names, known) for _, known, names in below)
    if losing and (pointwise or not kept):
        return lost_by(*losing[0], catalog, reader)
    return _described(plan, name), place_of(plan)


def _missing(names: tuple[str, ...], known: Waterlines) -> list[str]:
    return [name for name in names if name not in known]


def _read(plan: Plan, item: Plan, name: str) -> tuple[str, ...]:
    """The fields of an input that a field of the plan is made from."""
    computed = _expression(plan, name)
    if computed is not None:
        return tuple(sorted(computed.columns & set(item.names)))
    if isinstance(plan, UnionAll | SetOperation):
        return (item.names[plan.names.index(name)],)
    return (name,) if name in item.names else ()


def _expression(plan: Plan, name: str) -> Scalar | None:
    if isinstance(plan, Project):
        return dict(plan.items)[name]
    if isinstance(plan, Aggregate):
        return dict(plan.groups).get(name)
    return None


def _described(plan: Plan, name: str) -> str:
    computed = _expression(plan, name)
    if computed is not None and not computed.columns:
        return f"{computed.text} is a constant"
    if computed is not None:
        return f"{computed.text} is not known to go up with what it is computed from"
    if isinstance(plan, Aggregate):
        call = dict(plan.aggregates)[name].call.text
        return f"the aggregate {call} can still change for every group"
    if isinstance(plan, Recompute):
        return f"the query is recomputed ({plan.reason}), and any of its rows may change"
    return f"{title_of(plan)} can still change rows with an old {name}"


def title_of(plan: Plan) -> str:
    """An operator in the words of SQL."""
    node = cast("Node", plan)
    match node:
        case Join():
            return f"the {node.kind.value} join"
        case AsofJoin():
            return "the ASOF join"
        case TopK():
            return "ORDER BY … LIMIT"
        case Window():
            return "OVER"
        case MatchRecognize():
            return "MATCH_RECOGNIZE"
        case Scan() | Values() | Project() | Filter() | UnionAll() | Generate() | Aggregate() | Distinct():
            return type(node).__name__.upper()
        case SetOperation() | Session() | Recompute() | Fixpoint() | Arriving() | Arrived():
            return type(node).__name__.upper()
        case _:
            assert_never(node)


def _lost_by_relation(scan: Scan, name: str, catalog: Catalog, reader: Reader) -> tuple[str, Span | None]:
    relation = catalog.relation(scan.relation)
    if isinstance(relation, View) and relation.plan is not None:
        inner = next((item for item in relation.plan.names if item.lower() == name.lower()), None)
        if inner is not None:
            return lost_by(relation.plan, inner, catalog, reader)
    column = relation.column(name) if isinstance(relation, Table) else None
    if isinstance(relation, Table) and column is not None and column.lateness is not None:
        return f"WATERMARK holds rows of {relation.name} back by another column than {name}", column.span
    return f"{scan.relation}.{name} has no LATENESS, so any of its rows may still change", scan.span
