"""Queries that no plan node expresses, left to Spark to recompute: as text, over the relations that they read."""

from __future__ import annotations

import re
from functools import partial

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery
from penstock.bind.diagnose import NotIncremental
from penstock.bind.level import Context
from penstock.bind.query.recompute_columns import joined_columns, output_names
from penstock.bind.query.recompute_text import make_deterministic
from penstock.bind.relation import text_rows
from penstock.bind.scalars import unique_names
from penstock.bind.windows.tied_rows import in_groups
from penstock.plan.nodes import Field, Plan, Project, Recompute
from penstock.plan.opaque import escaped
from penstock.plan.scalar import column
from penstock.sql.complaints import unsupported
from penstock.sql.nodes import RowMatches, TableFunction
from penstock.sql.text import spark_sql
from penstock.sql.trees import call_name, cast_to, grouped, nodes, replace_nodes

_FOREIGN: dict[type, str] = {
    exp.Join: "ASOF JOIN",
    exp.Star: "|> SET",
    exp.Qualify: "QUALIFY",
    exp.Any: "ANY of a query",
    exp.All: "ALL of a query",
    exp.Window: "a frame in GROUPS",
    RowMatches: "MATCH_RECOGNIZE",
}
_MARK = re.compile(r"`?__relation_(\d+)`?")


def recomputed(tree: exp.Expression, context: Context, reason: NotIncremental) -> BoundQuery:
    """The query as one Recompute node; raises UnsupportedError for syntax that Spark 4.1 does not have."""
    _refuse_foreign(tree, reason)
    names = unique_names(output_names(tree, context))
    relations: dict[str, Plan] = {}
    copy = tree.copy()
    copy.set("with_", None)
    columns = partial(_columns, context, _own_names(copy))
    whole = make_deterministic(_inlined(copy, context), columns, partial(joined_columns, context))
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
        if (
            asof
            or quantified
            or replacing
            or in_groups(node)
            or isinstance(node, exp.Qualify | TableFunction | RowMatches)
        ):
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
        found = relation_of(name, context)
        if found is None:
            continue
        if node.args.get("version") is not None:
            message = "FOR SYSTEM_TIME AS OF in a query that is recomputed as a text"
            hint = "put the part of the query that reads versions into a view of its own"
            raise unsupported(code="NOT_TOGETHER", message=message, place=node, hint=hint)
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
    found = None if name.lower() in own else relation_of(name.lower(), context)
    return None if found is None else found.fields


def relation_of(name: str, context: Context) -> Plan | None:
    """The rows of a CTE, or of a relation of the catalogue, by its lower-case name; None for an unknown one."""
    cte = context.ctes.get(name)
    if cte is not None:
        items = zip(unique_names(list(cte.names)), cte.fields, strict=True)
        return Project(cte.plan, tuple((new, column(item.name, item.type, item.nullable)) for new, item in items))
    found = context.catalog.relation(name)
    return None if found is None else text_rows(found)
