"""ASOF JOIN as SQL: one pass over the rows of a key, where a join would make all their pairs.

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

from penstock.backends.dialect import Carry, Dialect
from penstock.plan.nodes import AsofJoin, JoinKind

_TIME, _PLACE, _ROW, _CLOSEST = "__time", "__place", "__row", "__closest"
_SO_FAR = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"


def asof_query(dialect: Dialect, plan: AsofJoin, left: str, right: str, carry: Carry) -> str:
    """The query over the queries of both sides: the node's fields, then what is carried, in which rows must agree."""
    lefts, carried = [dialect.quoted(item.name) for item in plan.left.fields], [*map(dialect.quoted, carry)]
    parts = {f"o{position}": item for position, item in enumerate(plan.right.fields)}
    closest = f"{_closest(dialect, plan, carried)} AS {_CLOSEST}"
    both = _both(dialect, plan, (left, right), lefts, carried)
    found = [f"{_CLOSEST}.{part} AS {dialect.quoted(item.name)}" for part, item in parts.items()]
    kept = f"{_PLACE} = {_place(plan)}" + (f" AND {_CLOSEST} IS NOT NULL" if plan.kind == JoinKind.INNER else "")
    return f"SELECT {', '.join([*lefts, *found, *carried])} FROM (SELECT *, {closest} FROM ({both})) WHERE {kept}"


def _place(plan: AsofJoin) -> int:
    """The place of the left rows at one time."""
    return 0 if plan.match.strict else 1


def _keys(plan: AsofJoin) -> list[str]:
    return [f"__k{position}" for position in range(len(plan.keys))]


def _both(dialect: Dialect, plan: AsofJoin, sides: tuple[str, str], lefts: list[str], carried: list[str]) -> str:
    """The rows of both sides, each with what rows go by; right ones without a key or a time match nothing."""
    names, place, (left, right) = [*_keys(plan), _TIME], _place(plan), sides
    row = dialect.packed({f"o{position}": dialect.quoted(item.name) for position, item in enumerate(plan.right.fields)})

    def side(columns: list[str], values: list[str], at: int, found: str) -> str:
        """The columns that both sides have in the union: the left ones, what is carried, and what rows go by."""
        named = [*zip(columns, lefts, strict=True), *((name, name) for name in carried)]
        named += [*zip(values, names, strict=True), (str(at), _PLACE), (found, _ROW)]
        return ", ".join(name if name == text else f"{text} AS {name}" for text, name in named)

    left_values, right_values = dialect.asof_sides(plan)
    matching = [_TIME, *(name for name, key in zip(_keys(plan), plan.keys, strict=True) if not key.null_safe)]
    present = " AND ".join(f"{name} IS NOT NULL" for name in matching)
    rights = f"SELECT {side(['NULL'] * len(lefts), right_values, 1 - place, row)} FROM ({right})"
    return (
        f"SELECT {side(lefts, left_values, place, 'NULL')} FROM ({left}) "
        f"UNION ALL SELECT * FROM ({rights}) WHERE {present}"
    )


def _closest(dialect: Dialect, plan: AsofJoin, carried: list[str]) -> str:
    """The right row that is closest; a left row without a time stands behind all others and matches none."""
    partition = ", ".join([*_keys(plan), *carried])
    by = f"PARTITION BY {partition} " if partition else ""
    parts = {f"{_ROW}.o{position}": item for position, item in enumerate(plan.right.fields)}
    # By time towards the left row, then by place; rows equally close from the greatest down to the least.
    towards = f"{_TIME} {'ASC' if plan.match.backwards else 'DESC'} NULLS LAST"
    order = ", ".join([towards, _PLACE, *dialect.packed_order(parts)])
    return f"if({_TIME} IS NULL, NULL, {dialect.last_present(_ROW, f'{by}ORDER BY {order} {_SO_FAR}')})"
