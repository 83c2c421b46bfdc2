"""The columns of a relation that other columns determine: rows that agree in these agree in those, at any moment.

    auctions (id PRIMARY KEY, seller, expires), joined with bids:      a.id determines a.seller and a.expires

It follows from the primary keys of tables and from what an operator makes a key (GROUP BY, the best one of each),
through equalities. NULL counts as a value, as it does for GROUP BY. Only types of which equal values are the same value
take part: of texts that a collation holds equal, one group has several.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never, cast

from penstock.analysis.keys import compared_column
from penstock.analysis.views import column_read, of_view
from penstock.catalog.model import Catalog, Table
from penstock.catalog.types import INTEGRAL, Type, is_decimal, is_temporal
from penstock.plan.expressions import pairs_of, plan_reads_clock
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
    JoinKind,
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

Columns = frozenset[str]

NOTHING: Columns = frozenset()


def determined(plan: Plan, by: Iterable[str | None], catalog: Catalog) -> Columns:
    """The columns that those named in `by` determine, without these themselves; None stands for no column."""
    given = frozenset(name for name in by if name is not None)
    return _determined(cast("Node", plan), given, catalog) - given


def _determined(node: Node, by: Columns, catalog: Catalog) -> Columns:
    """The columns `by`, but for those whose equal values may differ, and what they determine."""
    by = frozenset(item.name for item in node.fields if item.name in by and _exact(item.type))
    if not by or plan_reads_clock(node):
        return by
    match node:
        case Scan():
            return by | _of_scan(node, by, catalog)
        case Project():
            below = _of_input(node.input, (dict(node.items).get(name) for name in by), catalog)
            return by | {name for name, scalar in node.items if scalar.columns <= below}
        case Filter() | Distinct() | Session() | Generate():
            return by | _within(node.inputs[0], by, catalog)
        case Join():
            return by | _of_join(node, by, catalog)
        case AsofJoin():
            return by | _of_join(pairs_of(node), by, catalog)
        case Aggregate():
            return by | _of_groups(node, by, catalog)
        case TopK():
            first = node.limit == 1 and node.ties is None
            partition = _plain(node.partition, node.input) if first else None
            found = _within(node.input, by, catalog)
            return by | (frozenset(node.names) if partition is not None and partition <= found else found)
        case Window():
            return by | _within(node.input, by, catalog)
        case Arriving():
            return by | _within(node.input, by, catalog)
        # Rows of several steps, of several branches, or of unknown origin, share no key.
        case Values() | UnionAll() | SetOperation() | MatchRecognize() | Recompute() | Fixpoint() | Arrived():
            return by
        case _:
            assert_never(node)


def _within(plan: Plan, by: Columns, catalog: Catalog) -> Columns:
    """The columns of an input that are determined by those of the given columns that it has."""
    return _determined(cast("Node", plan), by & frozenset(plan.names), catalog)


def _of_input(plan: Plan, scalars: Iterable[Scalar | None], catalog: Catalog) -> Columns:
    """The columns of an input that are determined by the columns among expressions that read it."""
    names = frozenset(scalar.column for scalar in scalars if scalar is not None and scalar.column is not None)
    return _determined(cast("Node", plan), names, catalog)


def _of_scan(scan: Scan, by: Columns, catalog: Catalog) -> Columns:
    relation = catalog.relation(scan.relation)
    if relation is None:
        return NOTHING
    if isinstance(relation, Table):
        columns = tuple(item.name for item in relation.columns)
        read = _columns_read(scan, columns)
        key = {name.lower() for name in relation.key}
        whole = key and key <= {read[name] for name in by if name in read}
        return frozenset(read) if whole else NOTHING
    # A row that LATENESS of a view keeps from going stays beside the one that has replaced it.
    if relation.lateness or relation.plan is None:
        return NOTHING
    columns = tuple(item.name for item in relation.columns) or relation.plan.names
    read = _columns_read(scan, columns)
    wanted = {read[name] for name in by if name in read}
    inner = frozenset(name for name in relation.plan.names if name.lower() in wanted)
    question = f"determined by {sorted(inner)}"
    found = of_view(catalog, relation, question, lambda plan: determined(plan, inner, catalog) | inner, NOTHING)
    lower = {name.lower() for name in found}
    return frozenset(name for name, column in read.items() if column in lower)


def _columns_read(scan: Scan, columns: tuple[str, ...]) -> Mapping[str, str]:
    """The relation's column, in lower case, that each field of the scan is."""
    found = {name: column_read(scan, name, columns) for name in scan.names}
    return {name: column.lower() for name, column in found.items() if column is not None}


def _of_join(join: Join, by: Columns, catalog: Catalog) -> Columns:
    """Each side for itself; an inner join carries values over by its equalities.

    Nothing is said of a side that an outer join fills with NULLs: the filled row may share its key with a row.
    """
    sides = {
        JoinKind.INNER: (join.left, join.right),
        JoinKind.LEFT: (join.left,),
        JoinKind.RIGHT: (join.right,),
        JoinKind.FULL: (),
        JoinKind.SEMI: (join.left,),
        JoinKind.ANTI: (join.left,),
    }[join.kind]
    found = by
    while True:
        wider = found.union(*(_within(side, found, catalog) for side in sides))
        if join.kind == JoinKind.INNER:
            wider |= frozenset(_carried_over(join, wider))
        if wider == found:
            return found & frozenset(join.names)
        found = wider


def _carried_over(join: Join, found: Columns) -> Iterable[str]:
    for key in join.keys:
        one, other = _compared(key.left, join.left), _compared(key.right, join.right)
        if one is None or other is None:
            continue
        kinds = join.left.field(one).type, join.right.field(other).type
        if _exact(kinds[0]) and (kinds[0] == kinds[1] or (kinds[0] in INTEGRAL and kinds[1] in INTEGRAL)):
            yield from (there for here, there in ((one, other), (other, one)) if here in found)


def _compared(scalar: Scalar, side: Plan) -> str | None:
    """The column that an equality compares, in its own type or in a wider one."""
    name = compared_column(scalar, side)
    kind = None if name is None else side.field(name).type
    cut = scalar.type in INTEGRAL and kind in INTEGRAL and INTEGRAL.index(scalar.type) < INTEGRAL.index(kind)
    return None if cut else name


def _of_groups(aggregate: Aggregate, by: Columns, catalog: Catalog) -> Columns:
    """A group has one row; a group's columns may determine each other."""
    groups = dict(aggregate.groups)
    inner = _of_input(aggregate.input, (groups[name] for name in by if name in groups), catalog)
    found = {name for name, scalar in aggregate.groups if name in by or scalar.columns <= inner}
    one = len(found) == len(groups) and all(_exact(scalar.type) for scalar in groups.values())
    return frozenset(aggregate.names) if one else frozenset(found)


def _plain(scalars: tuple[Scalar, ...], below: Plan) -> Columns | None:
    """The columns that the expressions are, None if one is more than a column or its equal values may differ."""
    names = [scalar.column for scalar in scalars]
    if any(name is None or not _exact(below.field(name).type) for name in names):
        return None
    return frozenset(name for name in names if name is not None)


_SAME = frozenset({"string", "boolean", "binary", *INTEGRAL})


def _exact(kind: Type | None) -> bool:
    """True if values of the type that are equal are the same."""
    return kind is not None and (kind in _SAME or is_decimal(kind) or is_temporal(kind))
