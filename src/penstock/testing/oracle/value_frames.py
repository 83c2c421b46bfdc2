"""The oracle's reading of `first_value` and its kin over frames that take equal rows together.

A frame in RANGE, or a window without ORDER BY, leaves the order of equal rows open. Here the rows of the frame are
collected, sorted by the ORDER BY and then by the whole row, and the answer is read off the sorted list.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.parse import parse_expression
from penstock.sql.text import spark_sql
from penstock.testing.oracle.whole_rows import WHOLE_ROW

_ANSWERS = {
    "first": "get({rows}, 0).v",
    "first_value": "get({rows}, 0).v",
    "any_value": "get({rows}, 0).v",
    "last": "try_element_at({rows}, -1).v",
    "last_value": "try_element_at({rows}, -1).v",
    "nth_value": "get({rows}, {place} - 1).v",
    "collect_list": "transform({rows}, e -> e.v)",
    "array_agg": "transform({rows}, e -> e.v)",
}
_BEST = ("max_by", "min_by")


def settle_frame(window: exp.Window) -> exp.Expression | None:
    """The call in other words, None where the order of equal rows does not matter or its frame is in ROWS."""
    core = window.this
    while isinstance(core, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        core = core.this
    name = str(core.this).lower() if isinstance(core, exp.Anonymous) else ""
    if name in _BEST:
        return _best(window, core, name)
    if name not in _ANSWERS or _by_rows(window):
        return None
    return parse_expression(_ANSWERS[name].format(rows=_rows(window, core, name), place=_place(core)))


def _by_rows(window: exp.Window) -> bool:
    spec = window.args.get("spec")
    return spec is not None and str(spec.args.get("kind") or "").upper() == "ROWS"


def _place(core: exp.Expression) -> str:
    return spark_sql(core.expressions[1]) if len(core.expressions) > 1 else ""


def _over(window: exp.Window, call: str) -> str:
    """Another call with this one's OVER."""
    copy = window.copy()
    copy.set("this", parse_expression(call))
    return spark_sql(copy)


def _rows(window: exp.Window, core: exp.Expression, name: str) -> str:
    keys = _keys(window)
    value = spark_sql(core.expressions[0])
    parts = ", ".join(f"'k{number}', {spark_sql(key.this)}" for number, key in enumerate(keys))
    head = f"{parts}, " if parts else ""
    collected = _over(window, f"collect_list(named_struct({head}'r', {WHOLE_ROW}, 'v', {value}))")
    ordered = f"array_sort({collected}, (l, r) -> {comparison(keys)})"
    return f"filter({ordered}, e -> e.v IS NOT NULL)" if _present_only(window, core, name) else ordered


def _present_only(window: exp.Window, core: exp.Expression, name: str) -> bool:
    if name in ("collect_list", "array_agg") or window.this.find(exp.IgnoreNulls) is not None:
        return True
    return name != "nth_value" and len(core.expressions) > 1 and core.expressions[1] == exp.true()


def _keys(window: exp.Window) -> list[exp.Expression]:
    order = window.args.get("order")
    return [] if order is None else list(order.expressions)


def comparison(keys: list[exp.Expression]) -> str:
    """-1, 0 or 1 for two collected rows `l` and `r`."""
    text = "CASE WHEN l.r < r.r THEN -1 WHEN l.r > r.r THEN 1 ELSE 0 END"
    for number, key in reversed(list(enumerate(keys))):
        one, other = f"l.k{number}", f"r.k{number}"
        before = 1 if key.args.get("desc") else -1
        null = -1 if key.args.get("nulls_first") else 1
        text = (
            f"CASE WHEN {one} <=> {other} THEN {text} WHEN {one} IS NULL THEN {null} WHEN {other} IS NULL THEN {-null} "
            f"WHEN {one} < {other} THEN {before} ELSE {-before} END"
        )
    return text


def _best(window: exp.Window, core: exp.Expression, name: str) -> exp.Expression:
    """Among rows with the same ordering value `max_by` and `min_by` take the last row."""
    value, by = (spark_sql(item) for item in core.expressions[:2])
    collected = _over(window, f"collect_list(named_struct('o', {by}, 'r', {WHOLE_ROW}, 'v', {value}))")
    ties = comparison([])
    ordered = f"CASE WHEN l.o <=> r.o THEN {ties} WHEN l.o IS NULL THEN -1 WHEN r.o IS NULL THEN 1 "
    ordered += "WHEN l.o < r.o THEN -1 ELSE 1 END"
    rows = f"filter(array_sort({collected}, (l, r) -> {ordered}), e -> e.o IS NOT NULL)"
    if name == "min_by":
        rows = f"filter({rows}, e -> e.o = get({rows}, 0).o)"
    return parse_expression(f"try_element_at({rows}, -1).v")
