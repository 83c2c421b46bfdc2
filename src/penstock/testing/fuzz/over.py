"""Random OVER clauses: ranking, offsets, aggregates; frames in ROWS, RANGE and GROUPS."""

from __future__ import annotations

import re
from collections.abc import Iterable

from penstock.testing.fuzz.aggregates import KEYED, LINEAR, SHARED, aggregate
from penstock.testing.fuzz.dice import Dice
from penstock.testing.fuzz.expressions import Scope, expression, filled
from penstock.testing.fuzz.tables import BIGINT, DATE, DOUBLE, INT, SCALARS, STRING, TIMESTAMP, Column

_RANKING = (
    ("row_number()", INT),
    ("rank()", INT),
    ("dense_rank()", INT),
    ("ntile(2)", INT),
    ("percent_rank()", DOUBLE),
    ("cume_dist()", DOUBLE),
)
_OFFSET = (
    ("lag({int})", INT),
    ("lead({string})", STRING),
    ("lag({int}, 2, -1)", INT),
    ("lead({bigint}, 1, 0L)", BIGINT),
    ("lag({int}) IGNORE NULLS", INT),
)
_VALUE = (
    ("first_value({int})", INT),
    ("last_value({int})", INT),
    ("nth_value({string}, 2)", STRING),
    ("last_value({string}) IGNORE NULLS", STRING),
)
_NOT_IN_WINDOWS = (
    "listagg",
    "percentile_cont",
    "percentile_disc",
    "median",
    "mode",
    "sort_array",
    "size",
    "max(struct",
    "max({struct",
    "hll_",
)
_EXACT = (INT, BIGINT, STRING, DATE, TIMESTAMP)
_BY_ROWS = re.compile(r"^(row_number|ntile|lag|lead)\(| ROWS BETWEEN ")
_EDGES = ("UNBOUNDED PRECEDING", "2 PRECEDING", "1 PRECEDING", "CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING")


def window_calls(dice: Dice, scope: Scope) -> list[tuple[str, str]]:
    """One or two window functions with their OVER clauses, and the types of their answers.

    Only one of them tells equal rows apart: how two of them pair up among equal rows, nothing decides.
    """
    calls = [_window_call(dice, scope)]
    if dice.often(0.5):
        other = _window_call(dice, scope)
        calls += [] if tells_rows_apart(calls) and tells_rows_apart([other]) else [other]
    return calls


def tells_rows_apart(items: Iterable[tuple[str, str]]) -> bool:
    """True if the answers of equal rows may differ."""
    return any(_BY_ROWS.search(text) is not None for text, _ in items)


def over_groups(dice: Dice, keys: list[tuple[str, str]], scope: Scope) -> tuple[str, str]:
    """A window function above GROUP BY: its arguments and its order are keys and aggregates."""
    dice.use("OVER groups")
    values = [item for item in (aggregate(dice, scope, plain=True) for _ in range(2)) if item[1] in _EXACT]
    values += [item for item in keys if item[1] in _EXACT] or [("count(*)", BIGINT)]
    value, kind = dice.pick(values)
    calls = [("rank()", INT), ("dense_rank()", INT)]
    if not dice.shared:
        calls += [("row_number()", INT), (f"lag({value})", kind), (f"last_value({value})", kind)]
        calls += [(f"max({value})", kind), (f"count({value})", BIGINT)]
    call, kind = dice.pick(calls)
    partition = dice.some([text for text, kind in keys if kind in SCALARS], 0, 1)
    parts = [f"PARTITION BY {partition[0]}"] if partition else []
    parts.append(f"ORDER BY {sort_key(dice, dice.pick(values)[0])}")
    if call.startswith(("max(", "count(", "last_value(")) and dice.often(0.5):
        parts.append("ROWS BETWEEN 1 PRECEDING AND CURRENT ROW")
    return f"{call} OVER ({' '.join(parts)})", kind


def _window_call(dice: Dice, scope: Scope) -> tuple[str, str]:
    family = dice.pick(("aggregate", "ranking") if dice.shared else ("aggregate", "ranking", "offset", "value"))
    dice.use(f"OVER {family}")
    partition = dice.some([column.text for column in scope if column.type in SCALARS], 0 if dice.often(0.15) else 1, 2)
    if family == "ranking":
        call, kind = dice.pick(_RANKING[1:3] if dice.shared else _RANKING)
        return f"{call} OVER ({_spec(dice, scope, partition, ordered=True)})", kind
    if family == "offset":
        shape, kind = dice.pick(_OFFSET)
        return f"{filled(dice, shape, scope, 0)} OVER ({_spec(dice, scope, partition, ordered=True)})", kind
    if family == "value":
        shape, kind = dice.pick(_VALUE)
        return (
            f"{filled(dice, shape, scope, 0)} OVER ({_spec(dice, scope, partition, ordered=True, framed=True)})",
            kind,
        )
    return _aggregate(dice, scope, partition)


def _aggregate(dice: Dice, scope: Scope, partition: list[str]) -> tuple[str, str]:
    usable = [item for item in LINEAR + KEYED if not item[0].startswith(_NOT_IN_WINDOWS)]
    if dice.shared:
        usable = list(SHARED)
    shape, kind, _ = dice.pick(usable)
    ordered = dice.often(0.6)
    spec = _spec(dice, scope, partition, ordered=ordered, framed=ordered)
    return f"{filled(dice, shape, scope, 0)} OVER ({spec})", kind


def _spec(dice: Dice, scope: Scope, partition: list[str], *, ordered: bool, framed: bool = False) -> str:
    parts = [f"PARTITION BY {', '.join(partition)}"] if partition else []
    if not ordered:
        return " ".join(parts)
    keys = [column for column in scope if column.type in SCALARS]
    chosen = dice.some(keys, 1, 2) if keys else [Column("1", "1", INT)]
    parts.append("ORDER BY " + ", ".join(sort_key(dice, column.text) for column in chosen))
    if framed and dice.often(0.6):
        parts.append(_frame(dice, chosen))
    return " ".join(parts)


def _frame(dice: Dice, keys: list[Column]) -> str:
    low = dice.number(0, 4)
    high = dice.number(max(low, 1), 5)
    start, end = _EDGES[low], _EDGES[high]
    unit = "GROUPS" if dice.shared else dice.pick(_units(keys))
    dice.use(f"{unit} frame")
    if unit == "RANGE" and keys[0].type in (DATE, TIMESTAMP):
        length = "DAY" if keys[0].type == DATE else "HOUR"
        start, end = (
            edge.replace("2 ", f"INTERVAL 2 {length} ").replace("1 ", f"INTERVAL 1 {length} ") for edge in (start, end)
        )
    return f"{unit} BETWEEN {start} AND {end}"


def _units(keys: list[Column]) -> tuple[str, ...]:
    by_range = len(keys) == 1 and keys[0].type in (INT, BIGINT, DATE, TIMESTAMP)
    return ("ROWS", "GROUPS", "RANGE") if by_range else ("ROWS", "GROUPS")


def sort_key(dice: Dice, text: str) -> str:
    """An item of an ORDER BY."""
    direction = dice.pick(("", " DESC", " ASC"))
    explicit = dice.shared or dice.often(0.2)
    return text + direction + (dice.pick((" NULLS FIRST", " NULLS LAST")) if explicit else "")


def numbering(dice: Dice, scope: Scope, *, by_rank: bool = False) -> str:
    """A ranking call, for Top-K by QUALIFY; `by_rank` if it must not tell equal rows apart."""
    columns = [column.text for column in scope if column.type in SCALARS]
    partition = dice.some(columns, 1, 1)
    call = dice.pick(
        ("rank()", "dense_rank()") if dice.shared or by_rank else ("row_number()", "rank()", "dense_rank()")
    )
    key = sort_key(dice, expression(dice, dice.pick((INT, STRING)), scope, 1))
    prefix = f"PARTITION BY {partition[0]} " if partition else ""
    return f"{call} OVER ({prefix}ORDER BY {key})"
