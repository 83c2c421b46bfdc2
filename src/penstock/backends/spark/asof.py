"""ASOF JOIN as Spark SQL, which has none: one pass over the rows of a key, where a join would make all their pairs.

    L ASOF JOIN R MATCH_CONDITION (L.t >= R.t) ON L.k = R.k

    k  t   place              closest: the last right row so far
    a  10  0      R row 1     row 1
    a  12  1      L row       row 1
    a  15  0      R row 2     row 2
    a  15  1      L row       row 2

The rows of both sides stand in one order of time. At one time the right rows come first, or last where equal times do
not match (`>`), and of these the least row last. To find the closest row after a left one, time runs backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from penstock.catalog.sorting import sortable
from penstock.plan.nodes import AsofJoin, Field, JoinKind, Match
from penstock.plan.scalar import Scalar, quoted

_TIME, _PLACE, _ROW, _CLOSEST = "__time", "__place", "__row", "__closest"
_SO_FAR = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"


def asof_query(plan: AsofJoin, left: str, right: str, scalar: Callable[[Scalar], str], carry: tuple[str, ...]) -> str:
    """The query over the queries of both sides: the node's fields, then what is carried, in which rows must agree."""
    keys = [f"__k{position}" for position in range(len(plan.keys))]
    lefts, carried = [quoted(item.name) for item in plan.left.fields], [quoted(name) for name in carry]
    parts = {f"o{position}": item for position, item in enumerate(plan.right.fields)}
    row = ", ".join(f"'{part}', {quoted(item.name)}" for part, item in parts.items())

    def side(columns: Iterable[str], values: Iterable[Scalar], place: int, found: str) -> str:
        """The columns that both sides have in the union: the left ones, what is carried, and what rows go by."""
        named = [*zip(columns, lefts, strict=True), *((name, name) for name in carried)]
        named += [*zip(map(scalar, values), [*keys, _TIME], strict=True), (str(place), _PLACE), (found, _ROW)]
        return ", ".join(name if name == text else f"{text} AS {name}" for text, name in named)

    place = 0 if plan.match.strict else 1
    left_side = side(lefts, [*(key.left for key in plan.keys), plan.match.left], place, "NULL")
    right_values = [*(key.right for key in plan.keys), plan.match.right]
    right_side = side(["NULL"] * len(lefts), right_values, 1 - place, f"named_struct({row})")
    matching = [_TIME, *(name for name, key in zip(keys, plan.keys, strict=True) if not key.null_safe)]
    present = " AND ".join(f"{name} IS NOT NULL" for name in matching)
    rights = f"SELECT * FROM (SELECT {right_side} FROM ({right})) WHERE {present}"
    both = f"SELECT {left_side} FROM ({left}) UNION ALL {rights}"
    partition = ", ".join([*keys, *carried])
    by = f"PARTITION BY {partition} " if partition else ""
    last = f"last_value({_ROW}) IGNORE NULLS OVER ({by}ORDER BY {_order(plan.match, parts)} {_SO_FAR})"
    # A left row without a time stands behind all others and matches none.
    closest = f"if({_TIME} IS NULL, NULL, {last}) AS {_CLOSEST}"
    found = [f"{_CLOSEST}.{part} AS {quoted(item.name)}" for part, item in parts.items()]
    kept = f"{_PLACE} = {place}" + (f" AND {_CLOSEST} IS NOT NULL" if plan.kind == JoinKind.INNER else "")
    return f"SELECT {', '.join([*lefts, *found, *carried])} FROM (SELECT *, {closest} FROM ({both})) WHERE {kept}"


def _order(match: Match, parts: Mapping[str, Field]) -> str:
    """By time towards the left row, then by place; rows equally close from the greatest down to the least."""
    ties = [f"{sortable(f'{_ROW}.{part}', item.type)} DESC NULLS LAST" for part, item in parts.items()]
    return ", ".join([f"{_TIME} {'ASC' if match.backwards else 'DESC'} NULLS LAST", _PLACE, *ties])
