"""WITH and WITH RECURSIVE: the context with what they declare.

The body of a recursive CTE reads the rows so far by a Scan of `name@recursive`.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery
from penstock.bind.from_.derived import bind_apart
from penstock.bind.level import Context
from penstock.bind.query.recursive_windows import refuse_windows
from penstock.catalog.model import Catalog
from penstock.catalog.reserved import HIDDEN
from penstock.errors import Diagnostic, SqlError
from penstock.plan.nodes import Field, Fixpoint, Plan, Project, Scan
from penstock.plan.scalar import column
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.text import span_of
from penstock.types.common import common_type

_ROUNDS = 1000


def with_ctes(tree: exp.Expression, context: Context) -> Context:
    """The context with what the tree's WITH declares."""
    clause = tree.args.get("with_")
    if clause is None:
        return context
    _refuse_twice(clause)
    if clause.args.get("recursive"):
        return bind_recursive_ctes(clause, context)
    for cte in clause.expressions:
        context = context.with_cte(cte.alias, bind_cte(cte, context))
    return context


def _refuse_twice(clause: exp.With) -> None:
    names: set[str] = set()
    for cte in clause.expressions:
        if cte.alias.lower() in names:
            message = f"WITH names {cte.alias!r} twice"
            raise wrong(code="ALREADY_EXISTS", message=message, place=cte.args["alias"])
        names.add(cte.alias.lower())


def bind_cte(cte: exp.CTE, context: Context) -> BoundQuery:
    """A CTE, read like a derived table wherever it is named."""
    bound = bind_apart(cte.this, context)
    alias = cte.args["alias"]
    names = tuple(part.name for part in alias.args.get("columns") or [])
    hidden = tuple(name for name in bound.names if name in HIDDEN)
    if names and len(names) != len(bound.names) - len(hidden):
        message = f"{cte.alias} has {len(bound.names) - len(hidden)} columns, but {len(names)} names are given"
        raise wrong(code="WRONG_NUMBER_OF_NAMES", message=message, place=alias)
    return replace(bound, names=(*names, *hidden) if names else bound.names, correlation=None)


def bind_recursive_ctes(clause: exp.With, context: Context) -> Context:
    """The context with the CTEs of WITH RECURSIVE."""
    for cte in clause.expressions:
        bound = _recursive(cte, context) if _reads_itself(cte) else bind_cte(cte, context)
        context = context.with_cte(cte.alias, bound)
    return context


def recursion_limit(catalog: Catalog) -> int:
    """After how many rounds a recursion is taken to be endless: SET recursion_limit, 1000 without."""
    text = catalog.settings.get("recursion_limit", str(_ROUNDS))
    if not text.isdigit() or not int(text):
        message = f"recursion_limit is a number of rounds, not {text[:40]!r}"
        raise SqlError(Diagnostic("BAD_SETTING", message, hint="SET recursion_limit = 1000"))
    return int(text)


def _reads_itself(cte: exp.CTE) -> bool:
    return any(table.name.lower() == cte.alias.lower() for table in cte.this.find_all(exp.Table))


def _recursive(cte: exp.CTE, context: Context) -> BoundQuery:
    union = cte.this.unnest() if isinstance(cte.this, exp.Subquery) else cte.this
    if not isinstance(union, exp.Union):
        hint = "write: base query UNION ALL recursive query"
        raise wrong(
            code="RECURSION_WITHOUT_UNION", message=f"{cte.alias!r} reads itself outside a UNION", place=cte, hint=hint
        )
    base = with_ctes(union, context.alone()).bind_query(union.this)
    names = tuple(part.name for part in cte.args["alias"].args.get("columns") or []) or base.names
    if len(names) != len(base.names):
        message = f"{cte.alias} has {len(base.names)} columns, but {len(names)} names are given"
        raise wrong(code="WRONG_NUMBER_OF_NAMES", message=message, place=cte)
    fields = tuple(Field(name, item.type) for name, item in zip(names, base.fields, strict=True))
    name = _free_name(cte.alias, context)
    body, outputs = _body(union, cte.alias, Scan(name, fields), context)
    if any(isinstance(node, Fixpoint) and name.lower() in node.scanned for node in body.walk()):
        message = f"a recursion within that of {cte.alias!r}, which it reads"
        hint = "put both into one recursion: DECLARE RECURSIVE VIEW for views that read each other"
        raise unsupported(code="RECURSION_INSIDE", message=message, place=cte, hint=hint)
    refuse_windows(body, {name.lower()})
    distinct = bool(union.args.get("distinct"))
    rounds = cte.args["alias"].args.get("rounds")
    bound = recursion_limit(context.catalog) if rounds is None else int(rounds.name)
    node = Fixpoint((body,), (name,), 0, outputs, bound, distinct=distinct, span=span_of(cte))
    return BoundQuery(node, names)


def _free_name(alias: str, context: Context) -> str:
    """The name of the rows so far; a recursion within another of its name has one more prime."""
    taken = {bound.plan.relation.lower() for bound in context.ctes.values() if isinstance(bound.plan, Scan)}
    while f"{alias}@recursive".lower() in taken:
        alias += "'"
    return f"{alias}@recursive"


def _body(union: exp.Union, alias: str, known: Scan, context: Context) -> tuple[Plan, tuple[Field, ...]]:
    names, fields = known.names, known.fields
    bound = context.alone().with_cte(alias, BoundQuery(known, names)).bind_query(union)
    kinds = [common_type([have.type, want.type]) for have, want in zip(bound.fields, fields, strict=True)]
    outputs = tuple(Field(item.name, kind) for item, kind in zip(fields, kinds, strict=True))
    items = zip(names, bound.fields, strict=True)
    return Project(
        bound.plan, tuple((name, column(item.name, item.type, item.nullable)) for name, item in items)
    ), outputs
