"""Generators: LATERAL VIEW, UNNEST, `explode` in FROM and in the SELECT list, and lateral subqueries."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.bind.diagnose import NotIncremental
from penstock.bind.from_.generator_columns import generated_columns
from penstock.bind.level import Level
from penstock.bind.relation import free_prefix
from penstock.bind.scalars import fields_of, scalar_of
from penstock.bind.scope import RelationInScope, Scope, relation_in_scope
from penstock.catalog.functions import TABLE, built_in
from penstock.plan.nodes import Field, Generate, Plan, Project
from penstock.plan.scalar import column, column_tree
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.trees import call, call_name, is_generator
from penstock.types.infer import infer
from penstock.types.nested import columns_of, element_of


def is_lateral(tree: exp.Expression) -> bool:
    """True if a joined item reads the relations before it."""
    table = isinstance(tree, exp.Table) and isinstance(tree.this, exp.Anonymous) and is_generator(tree.this)
    return table or isinstance(tree, exp.Lateral | exp.Unnest)


def bind_lateral_view(plan: Plan, lateral: exp.Lateral, level: Level) -> Plan:
    """LATERAL VIEW [OUTER] f(…) alias AS names: the rows of f beside each row."""
    level.remember_fields(plan)
    alias = lateral.args.get("alias")
    names = [part.name for part in (alias.args.get("columns") or [])] if alias is not None else []
    name = str(lateral.alias) or "__view"
    plan, relation = _generated(plan, lateral.this, (name, names), level, outer=bool(lateral.args.get("outer")))
    level.scope = level.scope.beside(Scope((relation,)))
    return plan


def generated(left: Plan, tree: exp.Expression, level: Level, *, outer: bool) -> tuple[Plan, RelationInScope]:
    """The rows of a function or of UNNEST beside each row; with `outer` a row without any stays."""
    alias = tree.args.get("alias")
    names = [part.name for part in (alias.args.get("columns") or [])] if alias is not None else []
    name = str(tree.alias)
    if not isinstance(tree, exp.Unnest):
        return _generated(left, tree.this, (name or call_name(tree.this) or "", names), level, outer=outer)
    offset = tree.args.get("offset") or None
    if (rows := _fields_of_rows(tree, names, level)) is not None:
        return _spread(left, tree, (name or "__unnest", rows), level, outer=outer)
    value_names = names[: len(tree.expressions)] if offset is not None and len(names) > len(tree.expressions) else names
    position = None if offset is None else (offset.name if isinstance(offset, exp.Identifier) else "ordinality")
    if offset is not None and len(names) > len(tree.expressions):
        position = names[-1]
    if not value_names and name and len(tree.expressions) == 1:
        value_names = [name]
    return _unnested(left, tree, (name or "__unnest", value_names, position), level, outer=outer)


def _fields_of_rows(tree: exp.Unnest, names: list[str], level: Level) -> list[str] | None:
    """The names of the columns of an array of rows, where the dialect has one for each field; None for any other value.

    A single name for several fields is one of the whole row.
    """
    if not level.context.rules.spreads_rows or len(tree.expressions) != 1:
        return None
    kind = level.shape(level.bind(tree.expressions[0].copy()))
    found = columns_of(element_of(kind)) if kind is not None and kind.startswith("array<") else None
    if found is None or (len(names) == 1 and len(found) > 1):
        return None
    numbered = bool(tree.args.get("offset"))
    return (
        names if len(names) > len(found) or (names and not numbered) else [*names, *(n for n, _ in found[len(names) :])]
    )


def _spread(
    left: Plan, tree: exp.Unnest, named: tuple[str, list[str]], level: Level, *, outer: bool
) -> tuple[Plan, RelationInScope]:
    """UNNEST of an array of rows: a column for each field, and WITH ORDINALITY the number of the row."""
    alias, names = named
    offset = tree.args.get("offset")
    if not offset:
        return _generated(left, call("inline", tree.expressions[0]), named, level, outer=outer)
    kind = level.shape(level.bind(tree.expressions[0].copy()))
    fields = columns_of(element_of(kind)) or []
    position = offset.name if isinstance(offset, exp.Identifier) else "ordinality"
    position = names.pop() if len(names) > len(fields) else position
    plan, relation = _generated(left, call("posexplode", tree.expressions[0]), (alias, []), level, outer=outer)
    place, row = (item.field for item in relation.columns)
    known = fields_of(plan)
    items = [(item.name, column(item.name, item.type, item.nullable)) for item in plan.fields[:-2]]
    for name, (field, _) in zip(names, fields, strict=True):
        part = exp.Dot(this=column_tree(row), expression=exp.to_identifier(field, quoted=True))
        items.append((f"{alias}.{name}", scalar_of(part, known)))
    counted = exp.Add(this=column_tree(place), expression=exp.Literal.number(1))
    items.append((f"{alias}.{position}", scalar_of(counted, known)))
    plan = Project(plan, tuple(items))
    shown = plan.fields[-1 - len(fields) :]
    return plan, relation_in_scope(alias, (*names, position), shown, exact=level.context.exact)


def _is_map(value: exp.Expression, level: Level) -> bool:
    """True for a map, whose rows are its keys and values."""
    kind, _ = infer(level.bind(value.copy()), level.fields)
    return kind is not None and kind.startswith("map<")


def _unnested(
    left: Plan, tree: exp.Unnest, named: tuple[str, list[str], str | None], level: Level, *, outer: bool
) -> tuple[Plan, RelationInScope]:
    alias, names, position = named
    arrays = tree.expressions
    several = len(arrays) > 1 or (len(names) > 1 and not _is_map(arrays[0], level))
    value = arrays[0] if len(arrays) == 1 else call("arrays_zip", *arrays)
    if position is None:
        return _generated(left, call("inline" if several else "explode", value), (alias, names), level, outer=outer)
    if several:
        raise unsupported(
            code="UNNEST", message="WITH ORDINALITY of several columns", place=tree, hint="use LATERAL VIEW posexplode"
        )
    plan, relation = _generated(
        left, call("posexplode", value), (alias, [f"{position}#0", names[0] if names else "col"]), level, outer=outer
    )
    zero = relation.columns[0].field
    fields = fields_of(plan)
    counted = exp.Add(this=column_tree(zero), expression=exp.Literal.number(1))
    items = [(item.name, column(item.name, item.type, item.nullable)) for item in plan.fields if item.name != zero]
    items.append((f"{alias}.{position}", scalar_of(counted, fields)))
    plan = Project(plan, tuple(items))
    shown = plan.fields[-2:]
    return plan, relation_in_scope(alias, (relation.columns[1].name, position), shown, exact=level.context.exact)


def _generated(
    plan: Plan, generator: exp.Expression, named: tuple[str, list[str]], level: Level, *, outer: bool
) -> tuple[Plan, RelationInScope]:
    found = built_in(call_name(generator) or "")
    if found is not None and found.kind == TABLE:
        reason = f"the table function {found.name}"
        raise NotIncremental(reason, generator)
    if not is_generator(generator):
        message = f"{call_name(generator) or 'this'} gives no rows; explode, inline, stack and the like do"
        raise wrong(code="NOT_A_GENERATOR", message=message, place=generator)
    alias, names = named
    tree = placed(level.bind(generator))
    columns = generated_columns(tree, names, level)
    if not {node.name for node in tree.find_all(exp.Column)} <= set(plan.names):
        reason = "a generator in parentheses that reads the query around it"
        raise NotIncremental(reason, generator)
    prefix = free_prefix(alias, plan.names)
    fields = tuple(Field(f"{prefix}.{name}", kind) for name, kind in columns)
    node = Generate(plan, level.scalar(tree), fields, outer)
    level.remember_fields(node)
    return node, relation_in_scope(alias, tuple(name for name, _ in columns), fields, exact=level.context.exact)


def placed(tree: exp.Expression) -> exp.Expression:
    """The call with a named argument in its place: LATERAL VIEW, which Spark gets, takes no names."""
    arguments = tree.expressions
    if any(isinstance(item, exp.Kwarg) for item in arguments) and len(arguments) == 1:
        tree.set("expressions", [arguments[0].expression])
    return tree


def select_generator(tree: exp.Expression, names: list[str], level: Level) -> list[tuple[str, exp.Expression]]:
    """`explode(…)` in the SELECT list: its columns; the level remembers to add the Generate node.

    It stands above GROUP BY, as its call may have aggregates; but below where GROUP BY names one of its columns.
    """
    if level.selected:
        raise unsupported(
            code="SEVERAL_GENERATORS", message="two generators in one SELECT list", place=tree, hint="use LATERAL VIEW"
        )
    tree = placed(tree)
    columns = generated_columns(tree, names, level)
    fields = tuple(Field(f"__x{index}", kind) for index, (_, kind) in enumerate(columns))
    level.selected.append((tree, fields))
    level.fields.update({item.name: item for item in fields})
    return [(name, column_tree(item.name)) for (name, _), item in zip(columns, fields, strict=True)]


def with_generators(plan: Plan, generators: Sequence[tuple[exp.Expression, tuple[Field, ...]]], level: Level) -> Plan:
    """The plan with the rows of generators beside its own."""
    for tree, fields in generators:
        plan = Generate(plan, scalar_of(tree, fields_of(plan)), fields)
        level.remember_fields(plan)
    return plan
