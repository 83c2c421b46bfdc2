"""The columns of a query that is recomputed, and of what stands in its FROM."""

from __future__ import annotations

from collections import Counter

from sqlglot import exp

from penstock.bind.diagnose import NotIncremental
from penstock.bind.from_.relations import bind_from
from penstock.bind.level import Context, Level
from penstock.bind.query.ctes import bind_cte
from penstock.bind.select.column_names import name_of
from penstock.bind.select.stars import expand, is_star
from penstock.errors import PenstockError
from penstock.plan.nodes import Field
from penstock.sql.complaints import unsupported

_UNSAID = "__"  # how the binder's own aliases begin, of relations that the query gives none


def joined_columns(context: Context, select: exp.Select) -> list[tuple[str, Field]] | None:
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
    for item in level.scope.star() or ():
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
