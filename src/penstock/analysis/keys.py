"""Sets of columns that tell all rows of a relation apart, NULL counted as a value.

A key of no columns says that there is at most one row. Keys are minimal among those found; a relation with any key
holds no row twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never, cast

from penstock.analysis.changelog import append_only
from penstock.analysis.local_time import counts_locally, has_months
from penstock.analysis.nulls import never_null
from penstock.analysis.views import column_read, of_view
from penstock.catalog.model import Catalog, Table, View
from penstock.catalog.types import FRACTIONAL, INTEGRAL, Type, is_collated, is_numeric, is_temporal
from penstock.catalog.zones import Shifts, session_shifts
from penstock.plan.expressions import conjuncts
from penstock.plan.forms import EQUATED, Call, Cast, Constant, Form, Over, Reference, Span
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
    JoinKey,
    JoinKind,
    MatchRecognize,
    Node,
    Plan,
    Project,
    Recompute,
    Scan,
    Session,
    SetKind,
    SetOperation,
    TopK,
    UnionAll,
    Values,
    Window,
)
from penstock.plan.scalar import Scalar

Key = frozenset[str]
Keys = frozenset[Key]

NO_KEY: Keys = frozenset()
ONE_ROW: Keys = frozenset({frozenset[str]()})

_MOST = 8  # keys of a wide join multiply; those beyond have never been of use


def unique_keys(plan: Plan, catalog: Catalog) -> Keys:
    """The unique keys of a relation, as sets of its field names; empty if none is known."""
    return _minimal(_keys(cast("Node", plan), catalog))


def multiplicity_one(plan: Plan, catalog: Catalog) -> bool:
    """True if no row of the relation can occur twice."""
    return bool(unique_keys(plan, catalog))


def _keys(node: Node, catalog: Catalog) -> Iterable[Key]:
    match node:
        case Scan():
            return _scan_keys(node, catalog)
        case Values():
            return ONE_ROW if len(node.rows) <= 1 else NO_KEY
        case Project():
            return _project_keys(node, unique_keys(node.input, catalog), session_shifts(catalog.settings))
        # A column that the condition fixes tells no two rows apart.
        case Filter():
            fixed = frozenset(_fixed_columns(node))
            return [key - fixed for key in unique_keys(node.input, catalog)]
        # Two branches may hold the same row, a generator may give the same value twice.
        case UnionAll() | Generate():
            return NO_KEY
        case Join():
            return _join_keys(node, unique_keys(node.left, catalog), unique_keys(node.right, catalog))
        # A left row finds one right row at most.
        case AsofJoin():
            return unique_keys(node.left, catalog)
        case Aggregate():
            return _aggregate_keys(node, unique_keys(node.input, catalog))
        case Distinct():
            return {*unique_keys(node.input, catalog), frozenset(node.names)}
        case SetOperation():
            return _set_keys(node, catalog)
        case TopK():
            return _top_keys(node, unique_keys(node.input, catalog))
        case Window():
            return _window_keys(node, unique_keys(node.input, catalog))
        case Session():
            return unique_keys(node.input, catalog)
        case Arriving():
            return unique_keys(node.input, catalog)
        # A row may be in several matches, with some of its columns alone; another step may bring an equal row.
        case MatchRecognize() | Recompute() | Arrived():
            return NO_KEY
        case Fixpoint():
            return [frozenset(node.names)] if node.distinct else NO_KEY
        case _:
            assert_never(node)


def _minimal(found: Iterable[Key]) -> Keys:
    kept: list[Key] = []
    for key in sorted(found, key=lambda key: (len(key), sorted(key))):
        if not any(smaller <= key for smaller in kept):
            kept.append(key)
    return frozenset(kept[:_MOST])


def _scan_keys(scan: Scan, catalog: Catalog) -> Iterable[Key]:
    relation = catalog.relation(scan.relation)
    if relation is None:
        return NO_KEY
    if isinstance(relation, Table):
        unique = relation.key and not _has_collated_key(relation)
        inner: Keys = frozenset({frozenset(relation.key)}) if unique else NO_KEY
        columns = tuple(item.name for item in relation.columns)
    else:
        inner = view_keys(relation, catalog)
        columns = tuple(item.name for item in relation.columns)
        columns = columns or (relation.plan.names if relation.plan is not None else ())
    read = {column_read(scan, name, columns): name for name in scan.names}
    names = {column.lower(): name for column, name in read.items() if column is not None}
    return [_named(key, names) for key in inner if all(item.lower() in names for item in key)]


def _has_collated_key(table: Table) -> bool:
    """True if a key's texts are told apart by their bytes, while everything that reads them goes by a collation."""
    return any(is_collated(item.type) for item in table.columns if item.name in table.key)


def view_keys(view: View, catalog: Catalog) -> Keys:
    """The unique keys of a view's rows.

    A deletion that LATENESS drops leaves the old row beside the one that was to replace it.
    """
    if view.lateness and (view.plan is None or not append_only(view.plan, catalog)):
        return NO_KEY
    return of_view(catalog, view, "keys", lambda plan: unique_keys(plan, catalog), NO_KEY)


def _named(key: Key, names: Mapping[str, str]) -> Key:
    return frozenset(names[item.lower()] for item in key)


def _project_keys(project: Project, inner: Keys, shifts: Shifts) -> Iterable[Key]:
    renamed: dict[str, str] = {}
    for name, scalar in project.items:
        column = _told_apart(scalar, project.input, shifts)
        if column is not None:
            renamed.setdefault(column, name)
    return [frozenset(renamed[item] for item in key) for key in inner if all(item in renamed for item in key)]


def _told_apart(scalar: Scalar, below: Plan, shifts: Shifts) -> str | None:
    """The column whose different values the expression keeps different: itself, or moved by a fixed distance.

    A day after two times on the clock of a zone that skips an hour can be one time.
    """
    match scalar.form:
        case Call("+" | "-", (Reference(name), Span() as distance)) as moved:
            types = {item.name: item.type for item in below.fields}
            skipped = shifts.most >= 24 or (shifts.most > 0 and counts_locally(moved, types))  # noqa: PLR2004 - hours
            return name if is_temporal(types[name] or "") and not has_months(distance, types) and not skipped else None
        case Call("+" | "-", (Reference(name), Constant() as distance)):
            return name if distance.is_whole and below.field(name).type in INTEGRAL else None
        case Call("+" | "-", (_, _)):
            return None
        case _:
            return scalar.column


def _fixed_columns(node: Filter) -> Iterable[str]:
    types = {item.name: item.type for item in node.input.fields}
    for part in conjuncts(node.condition):
        match part.form:
            case Call(function, (left, right)) if function in EQUATED:
                for one, other in ((left, right), (right, left)):
                    if isinstance(one, Reference) and _is_fixed(one, other, types):
                        yield one.name
            case Call("is null", (Reference(name),)):
                yield name
            case _:
                pass


def _is_fixed(one: Reference, other: Form, types: Mapping[str, Type | None]) -> bool:
    """True if only one value of the column equals the literal ('5' and '05' both equal the number 5)."""
    if not isinstance(other, Constant):
        return False
    kind = types.get(one.name)
    if other.is_text:
        return kind is not None and not is_collated(kind)
    # A number with an exponent is a DOUBLE, to which several whole numbers are equal.
    exact = other.is_number and (kind in FRACTIONAL or "e" not in other.value.lower())
    return kind is not None and is_numeric(kind) and exact


def _join_keys(join: Join, left: Keys, right: Keys) -> Iterable[Key]:
    if join.kind in (JoinKind.SEMI, JoinKind.ANTI):
        return left
    found = [
        one | other for one in left for other in right if join.kind != JoinKind.FULL or _never_both(join, one, other)
    ]
    # At most one match on the other side: this side's keys tell the joined rows apart.
    exact = [key for key in join.keys if _same_equality(key)]
    if join.kind != JoinKind.FULL:
        if join.kind != JoinKind.RIGHT and _matches_one(right, join.right, (key.right for key in exact)):
            found += left
        if join.kind != JoinKind.LEFT and _matches_one(left, join.left, (key.left for key in exact)):
            found += right
    return found


def _never_both(join: Join, left: Key, right: Key) -> bool:
    """True unless each side of a FULL join may have a row without partner whose key is NULL, as the other side's is."""
    return any(never_null(join.left, name) for name in left) or any(never_null(join.right, name) for name in right)


def _same_equality(key: JoinKey) -> bool:
    """True if two values of a side that equal one of the other are equal: not so where Spark has to cast."""
    left, right = key.left.type, key.right.type
    return left is not None and (left == right or (left in INTEGRAL and right in INTEGRAL))


def _matches_one(keys: Keys, side: Plan, compared: Iterable[Scalar]) -> bool:
    columns = {name for name in (compared_column(scalar, side) for scalar in compared) if name is not None}
    return any(key <= columns for key in keys)


def compared_column(scalar: Scalar, side: Plan) -> str | None:
    """The column that a key compares: itself, or cast from one whole number to another, which tells all apart."""
    match scalar.form:
        case Reference(name):
            return name
        case Cast(Reference(name)):
            widened = scalar.type in INTEGRAL and side.field(name).type in INTEGRAL
            return name if widened else None
        case _:
            return None


def _aggregate_keys(aggregate: Aggregate, inner: Keys) -> Iterable[Key]:
    groups = {scalar.column: name for name, scalar in aggregate.groups if scalar.column is not None}
    finer = [frozenset(groups[item] for item in key) for key in inner if all(item in groups for item in key)]
    return [*finer, frozenset(name for name, _ in aggregate.groups)]


def _set_keys(operation: SetOperation, catalog: Catalog) -> Iterable[Key]:
    left = unique_keys(operation.left, catalog)
    by_place = dict(zip(operation.left.names, operation.names, strict=True))
    found = [frozenset(by_place[item] for item in key) for key in left]
    if operation.kind == SetKind.INTERSECT:
        by_place = dict(zip(operation.right.names, operation.names, strict=True))
        found += [frozenset(by_place[item] for item in key) for key in unique_keys(operation.right, catalog)]
    return found if operation.all else [*found, frozenset(operation.names)]


def _top_keys(top: TopK, inner: Keys) -> Iterable[Key]:
    partition = _plain(top.partition)
    if partition is None or top.ties is not None:
        return inner
    if top.limit == 1:
        return [*inner, partition]
    return inner if top.number is None else [*inner, partition | {top.number}]


def _window_keys(window: Window, inner: Keys) -> Iterable[Key]:
    partition = _plain(window.partition)
    if partition is None:
        return inner
    return [*inner, *(partition | {name} for name, call in window.calls if _is_row_number(call))]


def _is_row_number(call: Scalar) -> bool:
    form = call.form
    return isinstance(form, Over) and isinstance(form.function, Call) and form.function.function == "row_number"


def _plain(scalars: tuple[Scalar, ...]) -> Key | None:
    """The columns that the expressions are; None if one of them is more than a column."""
    names = [scalar.column for scalar in scalars]
    return None if None in names else frozenset(name for name in names if name is not None)
