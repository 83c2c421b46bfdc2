"""Random subqueries in expressions: IN, NOT IN, EXISTS, ANY and ALL, scalar ones; plain and correlated."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.testing.fuzz.dice import Dice
from penstock.testing.fuzz.expressions import Scope, comparable, expression, predicate
from penstock.testing.fuzz.tables import BIGINT, BOOLEAN, INT, Column, Relation


def subquery_condition(dice: Dice, relations: Sequence[Relation], scope: Scope) -> str:
    """A condition with a subquery, perhaps beside another condition."""
    makers = (_exists, _in, _exists, _in, _compared, _quantified)
    text = dice.pick(makers)(dice, relations, scope)
    if dice.often(0.25):
        text = f"{text} {dice.pick(('AND', 'AND', 'OR'))} {predicate(dice, scope, 1)}"
    return text


def subquery_value(dice: Dice, relations: Sequence[Relation], scope: Scope) -> tuple[str, str]:
    """A scalar subquery in the SELECT list, or what a condition with one says."""
    if not dice.shared and dice.often(0.4):  # IN has three values in DuckDB where Spark shows two
        dice.use("subquery condition as a value")
        return dice.pick((_in, _quantified, _exists))(dice, relations, scope), BOOLEAN
    return _scalar(dice, relations, scope), BIGINT


def membership(dice: Dice, relations: Sequence[Relation], scope: Scope) -> str:
    """EXISTS or IN, or its negation: what Spark takes in the condition of a join."""
    return dice.pick((_exists, _in))(dice, relations, scope)


def _inner(dice: Dice, relations: Sequence[Relation]) -> tuple[str, tuple[Column, ...]]:
    relation, alias = dice.pick(relations), dice.name("q")
    columns = tuple(Column(f"{alias}.{name}", name, kind) for name, kind in relation.columns)
    return f"{relation.name} AS {alias}", columns


def _correlated(dice: Dice, inner: Scope, outer: Scope) -> str:
    """An equality between the two queries, '' where no columns fit."""
    pairs = [
        (one.text, other.text) for one in comparable(inner) for other in comparable(outer) if one.type == other.type
    ]
    if not pairs:
        return ""
    dice.use("correlated subquery")
    one, other = dice.pick(pairs)
    return f"{one} = {other}"


def _where(dice: Dice, inner: Scope, outer: Scope, chance: float) -> str:
    parts = [_correlated(dice, inner, outer)] if dice.often(chance) else []
    if dice.often(0.3):
        parts.append(predicate(dice, inner, 1))
    found = " AND ".join(part for part in parts if part)
    return f" WHERE {found}" if found else ""


def _exists(dice: Dice, relations: Sequence[Relation], scope: Scope) -> str:
    source, inner = _inner(dice, relations)
    word = dice.pick(("EXISTS", "NOT EXISTS"))
    dice.use(word)
    return f"{word} (SELECT 1 FROM {source}{_where(dice, inner, scope, 0.8)})"


def _pair_in(dice: Dice, relations: Sequence[Relation], scope: Scope, word: str) -> str:
    """Two columns at once."""
    source, inner = _inner(dice, relations)
    kinds = [dice.pick([column.type for column in comparable(scope)] or [INT]) for _ in range(2)]
    one, two = (expression(dice, kind, scope, 0) for kind in kinds)
    first, second = (expression(dice, kind, inner, 0) for kind in kinds)
    dice.use("IN of pairs")
    return f"({one}, {two}) {word} (SELECT {first}, {second} FROM {source}{_where(dice, inner, scope, 0.3)})"


def _in(dice: Dice, relations: Sequence[Relation], scope: Scope) -> str:
    source, inner = _inner(dice, relations)
    word = dice.pick(("IN", "NOT IN"))
    dice.use(word)
    if dice.often(0.2):
        return _pair_in(dice, relations, scope, word)
    kind = dice.pick([column.type for column in comparable(scope)] or [INT])
    value = expression(dice, kind, inner, 0)
    return f"{expression(dice, kind, scope, 0)} {word} (SELECT {value} FROM {source}{_where(dice, inner, scope, 0.4)})"


def _quantified(dice: Dice, relations: Sequence[Relation], scope: Scope) -> str:
    """A comparison with ANY or ALL of a query."""
    source, inner = _inner(dice, relations)
    kind = dice.pick([column.type for column in comparable(scope)] or [INT])
    word = dice.pick(("ANY", "ALL"))
    dice.use(f"comparison with {word}")
    sign = dice.pick(("<", "<=", ">", ">=", "=", "<>"))
    value = expression(dice, kind, inner, 0)
    left = expression(dice, kind, scope, 0)
    return f"{left} {sign} {word} (SELECT {value} FROM {source}{_where(dice, inner, scope, 0.6)})"


def _compared(dice: Dice, relations: Sequence[Relation], scope: Scope) -> str:
    left = expression(dice, INT, scope, 0)
    return f"{left} {dice.pick(('<', '>=', '='))} {_scalar(dice, relations, scope)}"


def _scalar(dice: Dice, relations: Sequence[Relation], scope: Scope) -> str:
    source, inner = _inner(dice, relations)
    dice.use("scalar subquery")
    call = dice.pick(("count(*)", "max({})", "sum({})", "min({})", "coalesce(max({}), 0)", "count(*) + 1"))
    where = _where(dice, inner, scope, 0.6)
    return f"(SELECT CAST({call.format(expression(dice, INT, inner, 0))} AS BIGINT) FROM {source}{where})"
