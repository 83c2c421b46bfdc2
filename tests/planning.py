"""Small plans and catalogs written by hand, for tests that need no binder."""

from __future__ import annotations

from sqlglot import exp

from penstock.catalog.model import Catalog, Column, Lateness, Table, View
from penstock.plan.nodes import Aggregate, AggregateCall, Field, Filter, Join, JoinKey, JoinKind, Plan, Project, Scan
from penstock.plan.scalar import Scalar, column, render_scalar
from penstock.sql.parse import parse_expression


def scalar(text: str, kind: str | None = None) -> Scalar:
    """An expression; every name in it is one quoted field name."""
    tree = parse_expression(text)
    for node in tree.find_all(exp.Column):
        node.this.set("quoted", True)  # noqa: FBT003 - sqlglot's way
    return Scalar(render_scalar(tree), tree, kind)


def scan(relation: str, /, **columns: str) -> Scan:
    """A relation with columns of these types; a `!` behind the type is NOT NULL."""
    fields = (Field(name, kind.rstrip("!"), not kind.endswith("!")) for name, kind in columns.items())
    return Scan(relation, tuple(fields))


def alias(plan: Plan, name: str) -> Project:
    """`plan AS name`: fields named `name.column`."""
    return Project(
        plan, tuple((f"{name}.{item.name}", column(item.name, item.type, item.nullable)) for item in plan.fields)
    )


def where(plan: Plan, condition: str) -> Filter:
    return Filter(plan, scalar(condition, "boolean"))


def project(plan: Plan, /, **items: str) -> Project:
    types = {item.name: item for item in plan.fields}
    found = []
    for name, text in items.items():
        parsed = scalar(text)
        known = types.get(parsed.column or "")
        found.append((name, column(known.name, known.type, known.nullable) if known else parsed))
    return Project(plan, tuple(found))


def join(
    left: Plan, right: Plan, kind: JoinKind = JoinKind.INNER, on: str | None = None, residual: str | None = None
) -> Join:
    """A join; `on` is `a = b, c = d`."""
    types = {item.name: item.type for item in (*left.fields, *right.fields)}
    keys = []
    for pair in (on or "").split(","):
        if pair:
            one, other = (scalar(side.strip()) for side in pair.split("="))
            keys.append(JoinKey(*(Scalar(item.text, item.tree, types.get(item.column or "")) for item in (one, other))))
    return Join(left, right, kind, tuple(keys), None if residual is None else scalar(residual, "boolean"))


def aggregate(plan: Plan, by: str, /, **calls: str) -> Aggregate:
    """GROUP BY; `by` is `name = expression, …` or just names."""
    groups = []
    types = {item.name: item.type for item in plan.fields}
    for item in filter(None, (part.strip() for part in by.split(";"))):
        name, _, text = item.partition(" = ")
        groups.append((name.strip("`"), scalar(text or name, types.get(name.strip("`")))))
    found = []
    for name, text in calls.items():
        call = scalar(text)
        found.append(
            (
                name,
                AggregateCall(
                    str(call.tree.this).lower(), tuple(scalar(a.sql("databricks")) for a in call.tree.expressions), call
                ),
            )
        )
    return Aggregate(plan, tuple(groups), tuple(found))


def table(title: str, /, *, key: tuple[str, ...] = (), stream: bool = False, **columns: str) -> Table:
    """A table; `timestamp late 1 HOUR` is a column with LATENESS, a `!` behind the type NOT NULL, as is the key."""
    found = []
    for column_name, text in columns.items():
        kind, _, late = text.partition(" late ")
        lateness = Lateness(f"INTERVAL {late}") if late else None
        nullable = not kind.endswith("!") and column_name not in key
        found.append(Column(column_name, kind.rstrip("!"), nullable, lateness=lateness))
    return Table(title, tuple(found), key, stream)


def catalog(*tables: Table) -> Catalog:
    made = Catalog()
    for item in tables:
        made = made.with_table(item)
    return made


def with_view(before: Catalog, name: str, plan: Plan) -> Catalog:
    columns = tuple(Column(item.name, item.type or "int") for item in plan.fields)
    return before.with_view(View(name, "", exp.Select(), columns, plan))


def read(relation: Table | View) -> Scan:
    return Scan(relation.name, tuple(Field(item.name, item.type, item.nullable) for item in relation.columns))
