"""Small questions about parsed trees, and trees made from others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from sqlglot import exp

from penstock.catalog.functions import GENERATOR, built_in, is_aggregate
from penstock.sql.text import spark_sql

_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
_COMMUTATIVE = (
    exp.Add,
    exp.Mul,
    exp.And,
    exp.Or,
    exp.EQ,
    exp.NullSafeEQ,
    exp.BitwiseAnd,
    exp.BitwiseOr,
    exp.BitwiseXor,
)


def call_name(tree: exp.Expression) -> str | None:
    """The lower-case name of a function call, None for everything else."""
    return str(tree.this).lower() if isinstance(tree, exp.Anonymous) else None


def call(name: str, *arguments: exp.Expression) -> exp.Anonymous:
    """A function call."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def at(tree: exp.Expression, place: exp.Expression) -> exp.Expression:
    """The tree with the place in the program of another one."""
    starts = [node.meta for node in place.walk() if "start" in node.meta]
    if starts and "start" not in tree.meta:
        tree.meta["start"] = min(meta["start"] for meta in starts)
        tree.meta["end"] = max(meta["end"] for meta in starts)
    return tree


def placed_at(tree: exp.Expression, place: exp.Expression) -> exp.Expression:
    """A copy of a tree that is written elsewhere, such as a function's body, all of it at the place of another."""
    copy, mark = tree.copy(), at(exp.Null(), place).meta
    for node in copy.walk():
        if "start" in node.meta:
            node.meta.pop("start"), node.meta.pop("end", None)
            node.meta.update({key: mark[key] for key in ("start", "end") if key in mark})
    return copy


def core_of(tree: exp.Expression) -> exp.Expression:
    """The call inside FILTER, WITHIN GROUP and IGNORE NULLS."""
    while isinstance(tree, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        tree = tree.this
    return tree


def filter_of(tree: exp.Expression) -> exp.Expression | None:
    """The condition of a call's FILTER."""
    while isinstance(tree, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        if isinstance(tree, exp.Filter):
            found: exp.Expression = tree.expression.this
            return found
        tree = tree.this
    return None


def ignores_nulls(tree: exp.Expression) -> bool:
    """True if a call says IGNORE NULLS, or has TRUE as its second argument."""
    part = tree
    while isinstance(part, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        if isinstance(part, exp.IgnoreNulls):
            return True
        part = part.this
    arguments = core_of(tree).args.get("expressions") or []
    return len(arguments) > 1 and isinstance(arguments[1], exp.Boolean) and bool(arguments[1].this)


def is_aggregate_call(tree: exp.Expression) -> bool:
    """True if the node is a whole aggregate call, its FILTER and WITHIN GROUP included."""
    core = core_of(tree)
    name = call_name(core)
    return name is not None and is_aggregate(name)


def function_calls(tree: exp.Expression) -> Iterator[exp.Expression]:
    """All calls of functions, at any depth."""
    return (node for node in nodes(tree) if isinstance(node, exp.Func))


def aggregate_calls(tree: exp.Expression) -> Iterator[exp.Expression]:
    """The outermost aggregate calls that are no window functions; those inside a window call's arguments count."""
    if isinstance(tree, exp.Window):
        core = core_of(tree.this)
        parts = list(core.args.get("expressions") or []) if isinstance(core, exp.Anonymous) else [core]
        condition = filter_of(tree.this)
        parts += [condition] if condition is not None else []
        parts += [item for key, item in _children(tree) if key != "this"]
        for part in parts:
            yield from aggregate_calls(part)
        return
    if isinstance(tree, _QUERIES):
        return
    if is_aggregate_call(tree):
        yield tree
        return
    for _, item in _children(tree):
        yield from aggregate_calls(item)


def window_calls(tree: exp.Expression) -> Iterator[exp.Expression]:
    """The OVER calls in a tree, inner ones first."""
    for _, item in _children(tree):
        yield from window_calls(item)
    if isinstance(tree, exp.Window):
        yield tree


def _children(tree: exp.Expression) -> Iterator[tuple[str, exp.Expression]]:
    for key, value in tree.args.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, exp.Expression):
                yield key, item


def bare(tree: Any) -> exp.Expression:
    """The tree without parentheses around it."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    found: exp.Expression = tree
    return found


def nodes(tree: exp.Expression, *, down_to: Callable[[exp.Expression], bool] | None = None) -> Iterator[exp.Expression]:
    """The tree and all below it; nothing below those that `down_to` names."""
    yield from tree.walk(prune=down_to)  # type: ignore[misc, arg-type]


def conjuncts(tree: exp.Expression) -> Iterator[exp.Expression]:
    """The parts of an AND, left to right."""
    yield from operands(exp.And, tree)


def operands(kind: type[exp.Connector], tree: exp.Expression) -> Iterator[exp.Expression]:
    """The parts of an AND or OR, left to right, however they are in parentheses."""
    inner = bare(tree)
    if isinstance(inner, kind):
        yield from operands(kind, inner.this)
        yield from operands(kind, inner.expression)
    else:
        yield inner


def conjunction(parts: Iterable[exp.Expression]) -> exp.Expression | None:
    """The AND of the parts, None for no part."""
    result: exp.Expression | None = None
    for part in parts:
        safe = exp.Paren(this=part) if isinstance(part, exp.Or) else part
        result = safe if result is None else exp.And(this=result, expression=safe)
    return result


def grouped(tree: exp.Expression) -> exp.Expression:
    """The tree in parentheses where it needs them as a part of another."""
    simple = (exp.Column, exp.Literal, exp.Anonymous, exp.Paren, exp.Cast, exp.Case, exp.Dot, exp.Null, exp.Boolean)
    return tree if isinstance(tree, simple) else exp.Paren(this=tree)


def replaced(
    tree: exp.Expression,
    kinds: tuple[type[exp.Expression], ...],
    rewrite: Callable[[Any], exp.Expression | None],
) -> exp.Expression:
    """The tree with others in place of nodes of some kinds, inner ones first; None leaves one as it is."""
    for node in reversed(list(tree.find_all(*kinds))):
        found = rewrite(node)
        if found is None:
            continue
        found.meta.update(node.meta)
        if node is tree:
            tree = found
        else:
            node.replace(found)
    return tree


def replace_nodes(
    tree: exp.Expression, replacement: Callable[[exp.Expression], exp.Expression | None]
) -> exp.Expression:
    """A copy in which nodes are replaced, parents before children; None goes on into the children.

    A column has the place of what it replaces, so that an expression around it has one.
    """
    found = replacement(tree)
    if found is not None:
        return at(found.copy(), tree) if isinstance(found, exp.Column) else found
    copy = tree.copy() if not tree.args else _shallow(tree)
    for key, value in tree.args.items():
        if isinstance(value, list):
            items = [_replaced(item, tree, replacement) for item in value]
            copy.set(key, items)
        elif isinstance(value, exp.Expression):
            copy.set(key, _replaced(value, tree, replacement))
    return copy


def _replaced(
    item: object, parent: exp.Expression, replacement: Callable[[exp.Expression], exp.Expression | None]
) -> object:
    if not isinstance(item, exp.Expression):
        return item
    new = replace_nodes(item, replacement)
    loose = isinstance(parent, exp.Binary | exp.Unary | exp.Between | exp.In | exp.Bracket | exp.Dot)
    return grouped(new) if loose and type(new) is not type(item) and isinstance(item, exp.Column) else new


def _shallow(tree: exp.Expression) -> exp.Expression:
    copy = tree.__class__(**{key: value for key, value in tree.args.items() if not _holds_trees(value)})
    copy.meta.update(tree.meta)
    copy.type = tree.type
    return copy


def _holds_trees(value: object) -> bool:
    return isinstance(value, exp.Expression) or (
        isinstance(value, list) and any(isinstance(i, exp.Expression) for i in value)
    )


def same(tree: exp.Expression) -> str:
    """A text by which bound expressions are equal as Spark sees it: in any order of a sum, in any case of a field."""
    plain = tree.find(exp.Paren, exp.Dot, *_COMMUTATIVE) is None
    return spark_sql(tree if plain else _canonical(tree))


def _canonical(tree: exp.Expression) -> exp.Expression:
    if isinstance(tree, exp.Paren):
        return _canonical(tree.this)
    if isinstance(tree, _COMMUTATIVE):
        parts = sorted((_canonical(cast("exp.Expression", part)) for part in tree.flatten()), key=spark_sql)
        return exp.Anonymous(this=f"__{type(tree).__name__}", expressions=parts)
    if isinstance(tree, exp.Dot):
        field = tree.expression
        lower = (
            exp.Identifier(this=field.name.lower(), quoted=True) if isinstance(field, exp.Identifier) else field.copy()
        )
        return exp.Dot(this=_canonical(tree.this), expression=lower)
    copy = tree.copy() if not tree.args else _shallow(tree)
    for key, value in tree.args.items():
        if isinstance(value, list):
            copy.set(key, [_canonical(item) if isinstance(item, exp.Expression) else item for item in value])
        elif isinstance(value, exp.Expression):
            copy.set(key, _canonical(value))
    return copy


def cast_to(tree: exp.Expression, kind: str) -> exp.Cast:
    """The value cast to a type."""
    return exp.Cast(this=tree, to=data_type(kind))


def data_type(kind: str) -> exp.DataType:
    """A type's name as a tree."""
    return exp.DataType(this=exp.DType.USERDEFINED, kind=kind)


def is_generator(tree: exp.Expression) -> bool:
    """True if the tree is a call that gives several rows."""
    found = built_in(call_name(tree) or "")
    return found is not None and found.kind == GENERATOR


def directions(item: exp.Expression) -> tuple[bool, bool]:
    """The directions of an ORDER BY item: if it descends, and if its NULLs come first."""
    descending = bool(item.args.get("desc"))
    nulls_first = item.args.get("nulls_first")
    return descending, (not descending if nulls_first is None else bool(nulls_first))


def frame_of(node: exp.Window) -> str:
    """ROWS, RANGE, GROUPS, or nothing."""
    spec = node.args.get("spec")
    return "" if spec is None else str(spec.args.get("kind") or "").upper()
