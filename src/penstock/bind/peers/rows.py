"""Comparisons of rows, field by field: a NULL in a field leaves them open, where Spark's NULLs in fields are equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from penstock.catalog.types import Type, struct_fields
from penstock.sql.trees import bare, call_name, conjunction, grouped

Kind = Callable[[exp.Expression], Type | None]
Pair = tuple[exp.Expression, exp.Expression]
_MADE = "named_struct"


def compared_rows(node: exp.EQ | exp.NEQ, kind: Kind) -> exp.Expression | None:
    """ROW(1, NULL) = ROW(1, NULL) is NULL, and so is their <>."""
    found = _equal(node.this, node.expression, kind)
    if found is None:
        return None
    return exp.Paren(this=found) if isinstance(node, exp.EQ) else exp.Not(this=exp.Paren(this=found))


def row_in_list(node: exp.In, kind: Kind) -> exp.Expression | None:
    """ROW(1, NULL) IN (ROW(1, NULL)) is NULL."""
    if node.args.get("query") is not None or not node.expressions:
        return None
    found = [_equal(node.this, item, kind) for item in node.expressions]
    known = [exp.Paren(this=item) for item in found if item is not None]
    if len(known) < len(found):
        return None
    whole: exp.Expression = known[0]
    for item in known[1:]:
        whole = exp.Or(this=whole, expression=item)
    return exp.Paren(this=whole)


def missing_row(node: exp.Is, _kind: Kind) -> exp.Expression | None:
    """ROW(NULL, NULL) IS NULL is TRUE: that of a row that is made here asks for each of its fields."""
    if not isinstance(node.expression, exp.Null) or call_name(bare(node.this)) != _MADE:
        return None
    return exp.Paren(this=conjunction(_missing(node.this)) or exp.Boolean(this=True))


def _missing(value: exp.Expression) -> list[exp.Expression]:
    inner = bare(value)
    if call_name(inner) == _MADE:
        return [part for item in inner.expressions[1::2] for part in _missing(item)]
    return [exp.Is(this=grouped(inner.copy()), expression=exp.Null())]


def _equal(one: exp.Expression, other: exp.Expression, kind: Kind) -> exp.Expression | None:
    """The condition that two rows are equal; None for anything that is no row, or of another width."""
    fields, others = _fields(one, kind), _fields(other, kind)
    if fields is None or others is None or len(fields) != len(others):
        return None
    pairs = zip(fields, others, strict=True)
    return conjunction([part for left, right in pairs for part in _conditions(left, right, kind)])


def _conditions(one: exp.Expression, other: exp.Expression, kind: Kind) -> Iterator[exp.Expression]:
    inner = _equal(one, other, kind)
    yield exp.EQ(this=grouped(one.copy()), expression=grouped(other.copy())) if inner is None else inner


def _fields(value: exp.Expression, kind: Kind) -> list[exp.Expression] | None:
    """The fields of a row: those that it is made of, or is read for by name."""
    inner = bare(value)
    if isinstance(inner, exp.Tuple):
        return list(inner.expressions)
    if call_name(inner) == _MADE:
        return list(inner.expressions[1::2])
    found = kind(inner)
    if found is None or not found.startswith("struct<"):
        return None
    names = [name for name, _ in struct_fields(found)]
    return [exp.Dot(this=grouped(inner.copy()), expression=exp.to_identifier(name, quoted=True)) for name in names]
