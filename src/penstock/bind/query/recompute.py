"""Queries that no plan node expresses, left to Spark to recompute: as text, over the relations that they read."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery
from penstock.bind.diagnose import NotIncremental
from penstock.bind.from_.relations import bind_from
from penstock.bind.level import Context, Level
from penstock.bind.query.ctes import bind_cte
from penstock.bind.query.recompute_text import make_deterministic
from penstock.bind.relation import scan
from penstock.bind.scalars import unique_names
from penstock.bind.select.column_names import name_of
from penstock.bind.select.stars import expand, is_star
from penstock.bind.windows.over import in_groups
from penstock.errors import PenstockError
from penstock.plan.nodes import Field, Plan, Project, Recompute
from penstock.plan.opaque import escaped
from penstock.plan.scalar import column
from penstock.sql.complaints import unsupported
from penstock.sql.nodes import TableFunction
from penstock.sql.text import spark_sql
from penstock.sql.trees import call_name, cast_to, grouped, nodes, replace_nodes

_FOREIGN: dict[type, str] = {
    exp.Join: "ASOF JOIN",
    exp.Star: "|> SET",
    exp.Qualify: "QUALIFY",
    exp.Any: "ANY of a query",
    exp.All: "ALL of a query",
    exp.Window: "a frame in GROUPS",
}
_UNSAID = "__"  # how the binder's own aliases begin, of relations that the query gives none
_MARK = re.compile(r"`?__relation_(\d+)`?")


def recomputed(tree: exp.Expression, context: Context, reason: NotIncremental) -> BoundQuery:
    """The query as one Recompute node; raises UnsupportedError for syntax that Spark 4.1 does not have."""
    _refuse_foreign(tree, reason)
    names = unique_names(output_names(tree, context))
    relations: dict[str, Plan] = {}
    copy = tree.copy()
    copy.set("with_", None)
    columns = partial(_columns, context, _own_names(copy))
    whole = make_deterministic(_inlined(copy, context), columns, partial(_joined_columns, context))
    text = escaped(spark_sql(_placed(whole, context, relations)))
    text = _MARK.sub(r"{\1}", text)
    outputs = tuple(Field(name) for name in names)
    node = Recompute(tuple(relations.values()), text, outputs, reason.reason, reason.span, reason.rewriting)
    return BoundQuery(node, tuple(names))


def _refuse_foreign(tree: exp.Expression, reason: NotIncremental) -> None:
    for node in nodes(tree):
        asof = isinstance(node, exp.Join) and node.args.get("method") == "ASOF"
        quantified = isinstance(node, exp.Any | exp.All) and node.find(exp.Query) is not None
        replacing = isinstance(node, exp.Star) and node.args.get("replace")
        if asof or quantified or replacing or in_groups(node) or isinstance(node, exp.Qualify | TableFunction):
            name = _FOREIGN.get(type(node)) or node.name
            message = f"{name} together with {reason.reason}"
            raise unsupported(
                code="NOT_TOGETHER", message=message, place=node, hint="put one of them into a view of its own"
            )


def _inlined(tree: exp.Expression, context: Context) -> exp.Expression:
    """The tree with the program's own functions replaced by their bodies."""

    def replacement(node: exp.Expression) -> exp.Expression | None:
        function = context.catalog.functions.get(call_name(node) or "")
        if function is None:
            return None
        pairs = zip(function.parameters, node.expressions, strict=False)
        values = {item.name.lower(): cast_to(_inlined(value, context), item.type) for item, value in pairs}
        body = replace_nodes(
            _inlined(function.body, context),
            lambda part: values.get(part.name.lower()) if isinstance(part, exp.Column) else None,
        )
        return grouped(body) if function.returns is None else cast_to(body, function.returns)

    return replace_nodes(tree, replacement)


def _placed(tree: exp.Expression, context: Context, relations: dict[str, Plan]) -> exp.Expression:
    """The tree with a numbered mark where a relation is named."""
    for node in list(tree.find_all(exp.Table)):
        name = str(node.name).lower()
        if isinstance(node.this, exp.Anonymous) or _is_own(node):
            continue
        found = _relation(name, context)
        if found is None:
            continue
        relations.setdefault(name, found)
        if node.args.get("alias") is None:
            node.set("alias", exp.TableAlias(this=exp.Identifier(this=node.name, quoted=True)))
        node.set("this", exp.Identifier(this=f"__relation_{list(relations).index(name)}", quoted=False))
    return tree


def _is_own(table: exp.Table) -> bool:
    """True for the name of a CTE around the place; one sees those before it, and itself if it is recursive."""
    name, within = table.name.lower(), set[int]()
    node: exp.Expr | None = table
    while node is not None:
        within.add(id(node))
        clause = node.args.get("with_")
        for item in [] if clause is None else clause.expressions:
            inside = id(item) in within
            if item.alias.lower() == name and (not inside or item.parent.args.get("recursive")):
                return True
            if inside:
                break
        node = node.parent
    return False


def _own_names(tree: exp.Expression) -> set[str]:
    return {cte.alias.lower() for cte in tree.find_all(exp.CTE)}


def _columns(context: Context, own: set[str], name: str) -> tuple[Field, ...] | None:
    """The columns of a relation, None for a name of the query's own."""
    found = None if name.lower() in own else _relation(name.lower(), context)
    return None if found is None else found.fields


def _joined_columns(context: Context, select: exp.Select) -> list[tuple[str, Field]] | None:
    """The columns of all that FROM joins, each beside its relation, '' where none is said; None if they have no names.

    They have none where FROM is recomputed or Spark's alone, reads an enclosing query or a recursive CTE, or says one
    of them twice.
    """
    try:
        whole = _with_own_ctes(select, context.alone())
        if whole is None:
            return None
        level = Level(whole)
        bind_from(_unconditioned(select), level)
    except (NotIncremental, PenstockError):
        return None
    relations = level.scope.relations
    owners = {item.field: relation.alias for relation in relations for item in relation.columns if item.field}
    found: list[tuple[str, Field]] = []
    for item in level.scope.columns:
        owner, scalar = owners.get(item.field, ""), level.scalar(item.tree)
        found.append(("" if owner.startswith(_UNSAID) else owner, Field(item.name, scalar.type, scalar.nullable)))
    times = Counter(field.name.lower() for _, field in found)
    once = {(alias.lower(), field.name.lower()) for alias, field in found if alias or times[field.name.lower()] == 1}
    return found if len(once) == len(found) else None


def _unconditioned(select: exp.Select) -> exp.Select:
    """A copy whose joins have no ON, which says nothing of columns and may be what cannot be bound."""
    copy = select.copy()
    for join in copy.find_all(exp.Join):
        if join.args.get("method") != "ASOF":
            join.set("on", None)
    return copy


def _with_own_ctes(select: exp.Select, context: Context) -> Context | None:
    """The context with every CTE of the recomputed query that a place in it can name; None if one is recursive."""
    around: list[exp.Expr] = [select]
    while (node := around[-1].parent) is not None:
        around.append(node)
    for clause in [node.args["with_"] for node in reversed(around) if node.args.get("with_") is not None]:
        if clause.args.get("recursive"):
            return None
        for cte in clause.expressions:
            if any(cte is node for node in around):
                break
            context = context.with_cte(cte.alias, bind_cte(cte, context))
    return context


def _relation(name: str, context: Context) -> Plan | None:
    cte = context.ctes.get(name)
    if cte is not None:
        items = zip(unique_names(list(cte.names)), cte.fields, strict=True)
        return Project(cte.plan, tuple((new, column(item.name, item.type, item.nullable)) for new, item in items))
    found = context.catalog.relation(name)
    return None if found is None else scan(found)


def output_names(tree: exp.Expression, context: Context) -> list[str]:
    """The names of a query's columns."""
    match tree:
        case exp.SetOperation() | exp.Subquery():
            return output_names(tree.this, context)
        case exp.Values():
            return [f"col{index + 1}" for index in range(len(tree.expressions[0].expressions))]
        case exp.Select():
            return _selected_names(tree, context)
        case _:
            raise unsupported(code="QUERY", message=f"{type(tree).__name__.upper()} as a query", place=tree)


def _selected_names(select: exp.Select, context: Context) -> list[str]:
    if not any(is_star(item) for item in select.expressions):
        return [name_of(item) for item in select.expressions]
    level = Level(context.alone())
    try:
        bind_from(_unconditioned(select), level)
    except NotIncremental as error:
        message = f"`*` over what is recomputed ({error.reason})"
        raise unsupported(code="STAR_OVER_RECOMPUTED", message=message, place=select, hint="name the columns") from None
    names: list[str] = []
    for item in select.expressions:
        names += [name for name, _ in expand(item, level)] if is_star(item) else [name_of(item)]
    return names
