"""ASOF JOIN: each left row with the one right row that matches and lies closest.

    L ASOF JOIN R MATCH_CONDITION (L.t >= R.t) ON L.k = R.k

is bound as a join of L with the best right row for each distinct (k, t) of L, which is a Top-K of one over
a join on the keys and the match condition. Among right rows equally close, the least row wins.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.diagnose import unsupported, wrong
from penstock.bind.expressions import bind
from penstock.bind.joins import aligned, join_on
from penstock.bind.level import Level, fields_of, scalar_of
from penstock.bind.scope import Scope
from penstock.bind.trees import OUTER, SUBQUERY, bare, conjuncts, has_mark
from penstock.plan.nodes import INNER, LEFT, Distinct, Join, JoinKey, Plan, Project, SortKey, TopK
from penstock.plan.scalar import Scalar, column, column_tree

_FLIPPED: dict[type, type] = {exp.GTE: exp.LTE, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.LT: exp.GT}


def bind_asof(left: Plan, right: Plan, scopes: tuple[Scope, Scope], join: exp.Join, level: Level) -> tuple[Plan, Scope]:
    """The plan of an ASOF join, which keeps unmatched left rows if it is a LEFT one."""
    scope = scopes[0].beside(scopes[1])
    level.scope = scope
    level.see(right)
    match = _match(join, left, right, level)
    keys = _keys(join, left, right, level)
    kind = LEFT if str(join.args.get("side") or "").upper() == "LEFT" else INNER
    prefix = f"__asof{next(level.context.numbers)}."
    sought = tuple((f"{prefix}{index}", scalar) for index, scalar in enumerate([*(key.left for key in keys), match[0]]))
    domain = Distinct(Project(left, sought))
    names = [name for name, _ in sought]
    inner_keys = tuple(JoinKey(column(name, key.left.type), key.right) for name, key in zip(names, keys, strict=False))
    condition = match[1](this=column_tree(names[-1]), expression=match[2].tree)
    candidates = Join(domain, right, INNER, inner_keys, scalar_of(condition, fields_of(domain) | fields_of(right)))
    closest = SortKey(match[2], descending=match[1] in (exp.GTE, exp.GT), nulls_first=False)
    best = TopK(candidates, tuple(column(name, domain.field(name).type) for name in names), (closest,), 1)
    pairs = tuple(JoinKey(scalar, column(name, scalar.type), null_safe=False) for name, scalar in sought)
    joined = Join(left, best, kind, pairs)
    hidden = set(names)
    return Project(
        joined,
        tuple(
            (item.name, column(item.name, item.type, item.nullable))
            for item in joined.fields
            if item.name not in hidden
        ),
    ), scope


def _match(join: exp.Join, left: Plan, right: Plan, level: Level) -> tuple[Scalar, type, Scalar]:
    """Left value, comparison, right value."""
    condition = join.args.get("match_condition")
    if condition is None:
        raise wrong(
            code="ASOF_WITHOUT_MATCH", message="ASOF JOIN needs MATCH_CONDITION (left time >= right time)", place=join
        )
    tree = bind(bare(condition), level)
    kind: type = type(tree)
    if kind not in _FLIPPED or has_mark(tree, SUBQUERY) or has_mark(tree, OUTER):
        raise wrong(
            code="ASOF_MATCH",
            message="MATCH_CONDITION compares a left with a right value by >=, >, <= or <",
            place=condition,
        )
    one, two = tree.this, tree.expression
    if _reads(one) <= set(right.names) and _reads(two) <= set(left.names):
        one, two, kind = two, one, _FLIPPED[kind]
    if not (_reads(one) <= set(left.names) and _reads(two) <= set(right.names)):
        raise wrong(code="ASOF_MATCH", message="MATCH_CONDITION needs one side from each relation", place=condition)
    return scalar_of(one, fields_of(left)), kind, scalar_of(two, fields_of(right))


def _reads(tree: exp.Expression) -> set[str]:
    return {node.name for node in tree.find_all(exp.Column)}


def _keys(join: exp.Join, left: Plan, right: Plan, level: Level) -> tuple[JoinKey, ...]:
    if join.args.get("using"):
        one, two = fields_of(left), fields_of(right)
        found = []
        for part in join.args["using"]:
            first = next(item for name, item in one.items() if name.rpartition(".")[2].lower() == part.name.lower())
            second = next(item for name, item in two.items() if name.rpartition(".")[2].lower() == part.name.lower())
            found.append(aligned(column(first.name, first.type), column(second.name, second.type)))
        return tuple(found)
    condition = join.args.get("on")
    if condition is None:
        return ()
    joined = join_on(left, right, INNER, list(conjuncts(bind(condition, level))))
    if joined.residual is not None:
        hint = "put other conditions into WHERE"
        raise unsupported(
            code="ASOF_CONDITION", message="ON of an ASOF JOIN with more than equalities", place=condition, hint=hint
        )
    return joined.keys
