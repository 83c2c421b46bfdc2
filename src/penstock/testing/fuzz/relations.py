"""Random FROM clauses: relations, derived tables, joins of every kind, LATERAL explode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from penstock.testing.fuzz.dice import Dice
from penstock.testing.fuzz.expressions import comparison, expression
from penstock.testing.fuzz.subqueries import membership
from penstock.testing.fuzz.tables import ARRAY, BIGINT, DATE, INT, SCALARS, TIMESTAMP, Column, Relation

Columns = tuple[tuple[str, str], ...]
Subquery = Callable[[int], tuple[str, Columns]]
_KINDS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "CROSS JOIN", ",")
_LEFT_ONLY = ("LEFT SEMI JOIN", "LEFT ANTI JOIN")


@dataclass(frozen=True)
class From:
    """The text behind FROM and the columns that it brings into scope."""

    text: str
    scope: tuple[Column, ...]


def random_from(dice: Dice, relations: Sequence[Relation], subquery: Subquery, depth: int) -> From:
    """One relation, two or three joined, perhaps exploded."""
    if not dice.shared and depth > 0 and dice.often(0.06):
        asof = _asof(dice, relations)
        if asof is not None:
            return asof
    found = _item(dice, relations, subquery, depth)
    for _ in range(dice.weighted(((5, 0), (5, 1), (1, 2))) if depth > 0 else 0):
        found = _joined(dice, found, _item(dice, relations, subquery, depth - 1), relations)
    if depth > 0 and dice.often(0.08):
        found = _lateral(dice, found, relations)
    if not dice.shared and dice.often(0.15):
        found = _exploded(dice, found)
    return found


def _lateral(dice: Dice, found: From, relations: Sequence[Relation]) -> From:
    """A subquery that reads the relations before it, once for each of their rows."""
    relation, inner, alias = dice.pick(relations), dice.name("q"), dice.name("l")
    columns = _columns(inner, relation.columns)
    pairs = [(one.text, other.text) for one in columns for other in found.scope if one.type == other.type in SCALARS]
    where = " WHERE {} = {}".format(*dice.pick(pairs)) if pairs else ""
    item = f"max({expression(dice, INT, columns, 0)})" if dice.often(0.4) else expression(dice, INT, columns, 1)
    word, tail = dice.pick(((", LATERAL", ""), (" LEFT JOIN LATERAL", " ON TRUE"), (" CROSS JOIN LATERAL", "")))
    if dice.often(0.4):
        word, tail = dice.pick((" JOIN LATERAL", " LEFT JOIN LATERAL")), _against(dice, f"{alias}.item", found)
    dice.use("LATERAL subquery")
    query = f"(SELECT {item} AS item FROM {relation.name} AS {inner}{where})"
    if dice.often(0.2):
        query = f"(SELECT item FROM {query} AS {dice.name('d')})"
    return From(f"{found.text}{word} {query} AS {alias}{tail}", (*found.scope, Column(f"{alias}.item", "item", INT)))


def _against(dice: Dice, item: str, found: From) -> str:
    """A condition of a join on an INT, with a column that stands before it."""
    numbers = [column.text for column in found.scope if column.type == INT] or ["1"]
    return f" ON {item} {dice.pick(('=', '>', '<=', '<>'))} {dice.pick(numbers)}"


def _asof(dice: Dice, relations: Sequence[Relation]) -> From | None:
    """Two relations, each row with the closest one of the other."""
    left, right = dice.pick(relations), dice.pick(relations)
    one, other = dice.name("r"), dice.name("r")
    lefts, rights = _columns(one, left.columns), _columns(other, right.columns)
    times = [(a.text, b.text) for a in lefts for b in rights if a.type == b.type in (INT, DATE, TIMESTAMP, BIGINT)]
    keys = [(a.text, b.text) for a in lefts for b in rights if a.type == b.type in SCALARS]
    if not times:
        return None
    dice.use("ASOF JOIN")
    first, second = dice.pick(times)
    text = f"{left.name} AS {one} {dice.pick(('', 'LEFT '))}ASOF JOIN {right.name} AS {other}"
    text += f" MATCH_CONDITION ({first} {dice.pick(('>=', '>', '<=', '<'))} {second})"
    if dice.often(0.8):
        one_key, other_key = dice.pick(keys)
        text += f" ON {one_key} {dice.pick(('=', '=', '<=>'))} {other_key}"
    return From(text, lefts + rights)


def _item(dice: Dice, relations: Sequence[Relation], subquery: Subquery, depth: int) -> From:
    alias = dice.name("r")
    if depth > 0 and dice.often(0.15):
        dice.use("derived table")
        text, columns = subquery(depth - 1)
        return From(f"({text}) AS {alias}", _columns(alias, columns))
    relation = dice.pick(relations)
    if dice.often(0.05):
        dice.use("VALUES")
        text = "(VALUES (1, 'a'), (2, CAST(NULL AS STRING)), (2, 'b'))"
        return From(f"{text} AS {alias}(k, s)", _columns(alias, (("k", INT), ("s", "string"))))
    return From(f"{relation.name} AS {alias}", _columns(alias, relation.columns))


def _columns(alias: str, columns: Columns) -> tuple[Column, ...]:
    return tuple(Column(f"{alias}.{name}", name, kind) for name, kind in columns)


def _joined(dice: Dice, left: From, right: From, relations: Sequence[Relation]) -> From:
    kind = dice.pick(_KINDS)
    dice.use(kind if kind != "," else "comma join")
    if kind in ("CROSS JOIN", ","):
        return From(f"{left.text}{'' if kind == ',' else ' '}{kind} {right.text}", left.scope + right.scope)
    shared = _shared(left, right)
    if shared and dice.often(0.25):
        return _using(dice, left, right, kind, shared)
    scope = left.scope if kind in _LEFT_ONLY else left.scope + right.scope
    condition = _condition(dice, left, right)
    if not dice.shared and dice.often(0.07):
        condition += f" AND {_asked(dice, relations, dice.pick((left, right)).scope)}"
    return From(f"{left.text} {kind} {right.text} ON {condition}", scope)


def _asked(dice: Dice, relations: Sequence[Relation], scope: tuple[Column, ...]) -> str:
    dice.use("subquery in ON")
    text = membership(dice, relations, scope)
    return f"({text} OR {comparison(dice, scope)})" if dice.often(0.2) else text


def _shared(left: From, right: From) -> list[str]:
    """Names that stand once on each side, with one type."""
    lefts, rights = ([column.name for column in side.scope] for side in (left, right))
    kinds = {column.name: column.type for column in left.scope}
    return [
        column.name
        for column in right.scope
        if lefts.count(column.name) == 1 == rights.count(column.name) and kinds[column.name] == column.type
    ]


def _using(dice: Dice, left: From, right: From, kind: str, shared: list[str]) -> From:
    lefts, rights = ({column.name for column in side.scope} for side in (left, right))
    natural = lefts & rights == set(shared) and dice.often(0.4)
    names = shared if natural else dice.some(shared, 1, 2)
    dice.use("NATURAL" if natural else "USING")
    text = (
        f"{left.text} NATURAL {kind} {right.text}"
        if natural
        else f"{left.text} {kind} {right.text} USING ({', '.join(names)})"
    )
    merged = [Column(column.name, column.name, column.type) for column in left.scope if column.name in names]
    rest = [column for column in left.scope if column.name not in names]
    if kind not in _LEFT_ONLY:
        rest += [column for column in right.scope if column.name not in names]
    return From(text, tuple(merged + rest))


def _condition(dice: Dice, left: From, right: From) -> str:
    """Mostly an equality of two columns, sometimes with more, sometimes without."""
    parts: list[str] = []
    pairs = [
        (one.text, other.text)
        for one in left.scope
        for other in right.scope
        if one.type == other.type or {one.type, other.type} <= {"int", "bigint", "double"}
    ]
    if pairs and not dice.often(0.12):
        one, other = dice.pick(pairs)
        parts.append(f"{one} {'<=>' if dice.often(0.1) else '='} {other}")
        if dice.often(0.08):
            dice.use("join key in every branch of OR")
            branches = [f"({parts[0]} AND {comparison(dice, left.scope + right.scope)})" for _ in range(2)]
            return f"({' OR '.join(branches)})"
    if dice.often(0.3) or not parts:
        both = left.scope + right.scope
        parts.append(_inequality(dice, left, right) if dice.often(0.5) else comparison(dice, both))
        dice.use("join residual")
    return " AND ".join(parts)


def _inequality(dice: Dice, left: From, right: From) -> str:
    one, other = expression(dice, INT, left.scope, 0), expression(dice, INT, right.scope, 0)
    return f"{one} {dice.pick(('<', '>=', '<>'))} {other}"


def _exploded(dice: Dice, found: From) -> From:
    alias = dice.name("e")
    array = expression(dice, ARRAY, found.scope, 1)
    form = dice.pick(("LATERAL VIEW", "LATERAL VIEW OUTER", "LATERAL", "posexplode"))
    if form == "LATERAL" and "map" in array:  # a join that reads a MAP to its left is not always Spark's to answer
        form = "LATERAL VIEW"
    dice.use(form)
    if form == "LATERAL":
        word = dice.pick((" JOIN", " LEFT JOIN"))
        tail = _against(dice, f"{alias}.item", found) if dice.often(0.4) else " ON TRUE" if word == " LEFT JOIN" else ""
        text = f"{found.text}{word} LATERAL explode({array}) AS {alias}(item){tail}"
        return From(text, (*found.scope, Column(f"{alias}.item", "item", INT)))
    if form == "posexplode":
        text = f"{found.text} LATERAL VIEW posexplode({array}) {alias} AS at, item"
        added = (Column(f"{alias}.at", "at", INT), Column(f"{alias}.item", "item", INT))
        return From(text, (*found.scope, *added))
    text = f"{found.text} {form} explode({array}) {alias} AS item"
    return From(text, (*found.scope, Column(f"{alias}.item", "item", INT)))
