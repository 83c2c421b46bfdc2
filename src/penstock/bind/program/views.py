"""CREATE VIEW: the bound view, what it reads, and what replacing it does to its readers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery
from penstock.bind.emission.standing import any_waterline, bind_standing, shown_by
from penstock.bind.program.dml import table_of
from penstock.bind.program.queries import bind_named
from penstock.bind.taking_in import taking_in_view
from penstock.catalog.model import INTO, PASSED, Catalog, Column, View
from penstock.catalog.reserved import COMPUTED, RESERVED, VERSIONS, WATERLINE
from penstock.errors import Span
from penstock.plan.nodes import Arrived, Fixpoint, Plan, Project
from penstock.plan.refinement import is_refined
from penstock.plan.scalar import column
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.parse import parse_query
from penstock.sql.points import refuse_point
from penstock.sql.statements import CreateView

_BEGINNINGS = {
    COMPUTED: "tables keep by it the value of a computed column",
    WATERLINE: "rows keep by it how far time had got when they came",
}


def views_of(catalog: Catalog, statement: CreateView) -> tuple[View, ...]:
    """The view that a statement creates, behind the rows that dedup lets pass in it.

    Raises SqlError for equal column names or a view that reads itself.
    """
    if statement.into is not None:
        return (_view_into(catalog, statement),)
    _refuse_self(catalog, statement)
    taking_in = taking_in_view(statement.name, catalog)
    bound = bind_named(_without_emit(catalog, statement), catalog, taking_in=taking_in)
    names = statement.column_names or bound.names
    if len(names) != len(bound.names):
        message = f"the query has {len(bound.names)} columns, but {len(names)} names are given"
        raise wrong(code="WRONG_NUMBER_OF_NAMES", message=message, place=statement.name_span, sqlstate="21S01")
    _refuse_equal(names, statement)
    refuse_reserved([(name, statement.name_span) for name in names])
    plan = bound.plan if bound.plan.names == tuple(names) else renamed(bound, tuple(names))
    declared = catalog.views.get(statement.name.lower())
    columns = _columns(plan)
    if declared is not None and declared.recursive:
        columns = _as_declared(declared, columns, statement)
    view = View(
        statement.name,
        statement.query_text,
        statement.query,
        columns,
        plan,
        _kind(statement, plan),
        statement.properties,
        recursive=declared is not None and declared.recursive,
        span=statement.name_span,
        declaration=statement.text,
        places=statement.places,
        warnings=bound.warnings,
        meanings=bound.meanings,
    )
    return (*(replace(item, span=statement.name_span) for item in taking_in.views), view)


def _kind(statement: CreateView, plan: Plan) -> str:
    """The kind of a view; what rows have found when they came cannot be computed again, and is kept."""
    if not any(isinstance(node, Arrived) for node in plan.walk()):
        return statement.kind
    if statement.kind == "local":
        message = f"a look-up FOR SYSTEM_TIME AS OF the time of arrival in the LOCAL view {statement.name}"
        hint = "leave LOCAL out: what has been found is kept as the view's content"
        raise unsupported(code="TABLE_VERSION", message=message, place=statement.name_span, hint=hint)
    return "materialized"


def _view_into(catalog: Catalog, statement: CreateView) -> View:
    """The view of a statement that writes INTO a table: all that is in the table."""
    assert statement.into is not None  # noqa: S101 - the caller asked
    assert statement.into_span is not None  # noqa: S101 - read with the name
    if "emit_final" in statement.properties:
        message, hint = "emit_final on a view INTO a table", "write EMIT AFTER WATERMARK behind the query"
        raise wrong(code="EMIT_FORM", message=message, place=statement.name_span, hint=hint)
    table = table_of(statement.into, statement.into_span, catalog)
    text = f"SELECT * FROM `{table.name}`"
    query = parse_query(text)
    plan = bind_named(query, catalog).plan
    return View(
        statement.name,
        text,
        query,
        _columns(plan),
        plan,
        INTO,
        statement.properties,
        span=statement.name_span,
        declaration=statement.text,
        places=statement.places,
    )


def _without_emit(catalog: Catalog, statement: CreateView) -> exp.Expression:
    """The query; its EMIT is checked and says when the view is shown, and its readers are not delayed."""
    refuse_point(statement.query)
    emits = bool(statement.query.meta.get("emit"))
    if not emits and not is_refined(statement.properties):
        return statement.query
    if statement.kind == "local":
        message, hint = f"EMIT on the LOCAL view {statement.name}, which is no output", "leave LOCAL out, or EMIT"
        raise wrong(code="EMIT_FINAL_LOCAL", message=message, place=statement.name_span, hint=hint)
    bind_standing(
        statement.query,
        catalog,
        "",
        shown_by(statement.name),
        any_waterline,
        properties=statement.properties,
        places={name: place.value for name, place in statement.places.items()},
    )
    query = statement.query.copy()
    query.meta.pop("emit", None)
    return query


def _columns(plan: Plan) -> tuple[Column, ...]:
    return tuple(Column(item.name, item.type, item.nullable) for item in plan.fields)  # type: ignore[arg-type]


def _as_declared(declared: View, columns: tuple[Column, ...], statement: CreateView) -> tuple[Column, ...]:
    if [item.name.lower() for item in declared.columns] != [item.name.lower() for item in columns]:
        wanted = ", ".join(item.name for item in declared.columns)
        message = f"{statement.name} was declared with the columns {wanted}"
        raise wrong(code="NOT_AS_DECLARED", message=message, place=statement.name_span)
    return declared.columns


def _refuse_self(catalog: Catalog, statement: CreateView) -> None:
    if catalog.relation(statement.name) is not None:
        return
    own = {cte.alias.lower() for cte in statement.query.find_all(exp.CTE)}
    for table in statement.query.find_all(exp.Table):
        if table.name.lower() == statement.name.lower() and table.name.lower() not in own:
            hint = f"DECLARE RECURSIVE VIEW {statement.name} (…) before it makes it recursive"
            raise wrong(code="VIEW_CYCLE", message=f"the view {statement.name!r} reads itself", place=table, hint=hint)


def _refuse_equal(names: tuple[str, ...], statement: CreateView) -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            message = f"the view would have two columns named {name!r}"
            hint = f"give one of them another name: … AS {name}_2"
            raise wrong(
                code="DUPLICATE_COLUMN",
                message=message,
                place=_place(statement.query, name) or statement.name_span,
                hint=hint,
                sqlstate="42711",
            )
        seen.add(name.lower())


def refuse_reserved(columns: Iterable[tuple[str, Span | None]]) -> None:
    """Raise SqlError for a column, given with its place, whose name stands for something beside the row."""
    for name, place in columns:
        lower = name.lower()
        reason = next((why for start, why in _BEGINNINGS.items() if lower.startswith(start)), RESERVED.get(lower))
        if reason is not None:
            message = f"a column cannot be named {name}: {reason}"
            raise wrong(code="RESERVED_NAME", message=message, place=place, hint="give it a name without __")


def _place(query: exp.Expression, name: str) -> exp.Expression | None:
    items = query.expressions if isinstance(query, exp.Select) else []
    found = [item for item in items if item.alias_or_name.lower() == name.lower()]
    return found[-1] if len(found) > 1 else None


def reached(catalog: Catalog, name: str) -> set[str]:
    """All relations that a view reads, directly or through views."""
    found: set[str] = set()
    waiting = [name.lower()]
    while waiting:
        view = catalog.views.get(waiting.pop())
        for item in () if view is None or view.plan is None else view.plan.scanned:
            if item not in found:
                found.add(item)
                waiting.append(item)
    return found


def in_order(catalog: Catalog) -> Catalog:
    """The catalogue with each view behind those that it reads, where one that was declared or replaced is not.

    Views that read each other keep their order.
    """
    found: dict[str, View] = {}
    opened: set[str] = set()
    waiting = list(catalog.views)[::-1]
    while waiting:
        name = waiting[-1]
        before = [] if name in opened else _views_read(catalog, name)
        opened.add(name)
        before = [item for item in before if item not in opened]
        waiting += before
        if not before:
            found.setdefault(waiting.pop(), catalog.views[name])
    return replace(catalog, views=MappingProxyType(found))


def _views_read(catalog: Catalog, name: str) -> list[str]:
    """The views that a view reads, but for those that read it as well."""
    plan = catalog.views[name].plan
    if plan is None:
        return []
    together = {item.lower() for item in plan.views} if isinstance(plan, Fixpoint) else set()
    return sorted((plan.scanned & catalog.views.keys()) - together)


def dependants(catalog: Catalog, name: str) -> list[str]:
    """The views that read a relation directly, or what passes in it, in the order of declaration."""
    lower = name.lower()
    own = {lower, VERSIONS + lower, *(view.name.lower() for view in catalog.passed_in(name))}
    readers = (view for view in catalog.views.values() if view.plan is not None and own & view.plan.scanned)
    found = (catalog.views.get(str(view.owner), view) if view.kind == PASSED else view for view in readers)
    return list(dict.fromkeys(view.name for view in found if view.name.lower() != lower))


def replaced_view(catalog: Catalog, old: View, new: View, span: Span) -> Catalog:
    """The catalogue with a view replaced; its readers must still fit, and none may be read by it."""
    _refuse_passed(catalog, old, span)
    found = catalog.with_view(replace(new, lateness=old.lateness))
    if new.recursive:
        return found
    if new.name.lower() in reached(found, new.name):
        cycle = [item for item in reached(found, new.name) if new.name.lower() in reached(found, item)]
        names = ", ".join(sorted(found.views[item].name for item in cycle if item in found.views))
        message = f"the view {new.name!r} would read itself through {names}"
        raise wrong(
            code="VIEW_CYCLE", message=message, place=span, hint="DECLARE RECURSIVE VIEW makes recursion explicit"
        )
    readers = dependants(catalog, old.name)
    same = [(item.name.lower(), item.type) for item in old.columns] == [
        (item.name.lower(), item.type) for item in new.columns
    ]
    if readers and not same:
        message = f"{old.name!r} is read by {', '.join(readers)}, which need its columns as they are"
        raise wrong(
            code="HAS_DEPENDANTS", message=message, place=span, hint=f"DROP VIEW {readers[-1]} first", sqlstate="2BP01"
        )
    return found


def _refuse_passed(catalog: Catalog, old: View, span: Span) -> None:
    """Raise SqlError if others read what passes in a view that is to be replaced: they are bound to those rows."""
    passed = {view.name.lower() for view in catalog.passed_in(old.name)}
    for view in catalog.views.values():
        if (
            view.plan is not None
            and passed & view.plan.scanned
            and old.name.lower() not in (view.name.lower(), view.owner)
        ):
            message = f"cannot replace {old.name!r}: {view.name} reads the rows that dedup lets pass in it"
            raise wrong(
                code="HAS_DEPENDANTS",
                message=message,
                place=span,
                hint=f"DROP VIEW {view.name} first",
                sqlstate="2BP01",
            )


def renamed(bound: BoundQuery, names: tuple[str, ...]) -> Plan:
    """The query's columns under other names."""
    items = zip(names, bound.fields, strict=True)
    return Project(bound.plan, tuple((name, column(item.name, item.type, item.nullable)) for name, item in items))
