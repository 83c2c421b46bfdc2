"""UNPIVOT: each row once for every listed column (or group of columns), with its name and its value."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.bind.from_.generator_columns import generated_columns
from penstock.bind.level import Level
from penstock.bind.scalars import fields_of, scalar_of
from penstock.bind.scope import Visible
from penstock.plan.nodes import Field, Filter, Generate, Plan, Project
from penstock.plan.scalar import column_tree
from penstock.sql.complaints import wrong
from penstock.sql.trees import call

_VALUE = "__unpivoted"


def unpivoted(plan: Plan, pivot: exp.Pivot, level: Level) -> tuple[Plan, list[Visible], list[str]]:
    """The relation with its columns turned into rows: the columns that stay, and the names of the new ones.

    Rows whose values are all NULL are left out, unless INCLUDE NULLS says otherwise.
    """
    listed = pivot.args["fields"][0]
    values = parts_of(pivot.expressions[0])
    names = [listed.this.name, *(item.name for item in values)]
    capital = "capital_labels" in level.context.rules.meanings
    if capital:
        level.context.meanings.add("capital_labels")
    rows = [_row(item, len(values), pivot, capital=capital) for item in listed.expressions]
    kept = unread(level, [column for _, columns in rows for column in columns])
    bound = [[level.bind(column.copy()) for column in columns] for _, columns in rows]
    structs = [_struct(name, columns) for (name, _), columns in zip(rows, bound, strict=True)]
    node = _generated(plan, call("inline", call("array", *structs)), names, level)
    if not pivot.args.get("include_nulls"):
        node = _without_nulls(node, [f"{_VALUE}.{name}" for name in names[1:]])
    fields = fields_of(node)
    items = [(f"{place}.{item.name}", scalar_of(item.tree, fields)) for place, item in enumerate(kept)]
    items += [
        (f"{len(kept) + place}.{name}", scalar_of(column_tree(f"{_VALUE}.{name}"), fields))
        for place, name in enumerate(names)
    ]
    return Project(node, tuple(items)), kept, names


def unread(level: Level, expressions: Sequence[exp.Expression]) -> list[Visible]:
    """The columns of `*` that none of these expressions reads."""
    nodes = (node for tree in expressions for node in tree.walk(prune=lambda node: isinstance(node, exp.Query)))
    columns = (node for node in nodes if isinstance(node, exp.Column))
    used = {part.name for column in columns for part in level.bind(column.copy()).find_all(exp.Column)}
    return [
        item for item in level.scope.star() or () if not {part.name for part in item.tree.find_all(exp.Column)} & used
    ]


def _struct(name: str, columns: list[exp.Expression]) -> exp.Expression:
    """One row; all of them have the same field names, as an array asks."""
    parts: list[exp.Expression] = [exp.Literal.string(name), *columns]
    named = (item for place, part in enumerate(parts) for item in (exp.Literal.string(f"c{place}"), part))
    return call("named_struct", *named)


def _generated(plan: Plan, generator: exp.Expression, names: list[str], level: Level) -> Plan:
    columns = generated_columns(generator, names, level)
    fields = tuple(Field(f"{_VALUE}.{name}", kind) for name, kind in columns)
    return Generate(plan, level.scalar(generator), fields)


def _without_nulls(node: Plan, names: list[str]) -> Plan:
    some: exp.Expression | None = None
    for name in names:
        there = exp.Not(this=exp.Is(this=column_tree(name), expression=exp.Null()))
        some = there if some is None else exp.Or(this=some, expression=there)
    return node if some is None else Filter(node, scalar_of(some, fields_of(node)))


def parts_of(tree: exp.Expression) -> list[exp.Expression]:
    """The columns or values in parentheses, or the only one."""
    return list(tree.expressions) if isinstance(tree, exp.Tuple) else [tree]


def _row(item: exp.Expression, width: int, pivot: exp.Pivot, *, capital: bool) -> tuple[str, list[exp.Expression]]:
    """Name and columns of one row that each input row becomes; a name without quotes may be in `capital` letters."""
    named = isinstance(item, exp.PivotAlias | exp.Alias)
    columns = parts_of(item.this if named else item)
    if len(columns) != width:
        message = f"UNPIVOT names {width} value columns, and lists {len(columns)} together"
        raise wrong(code="WRONG_NUMBER_OF_VALUES", message=message, place=pivot)
    if named:
        return str(item.alias), columns
    names = (column.name.upper() if capital and not column.this.quoted else column.name for column in columns)
    return "_".join(names), columns
