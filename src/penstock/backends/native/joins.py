"""Joins as DuckDB's SQL, over the queries of both sides."""

from __future__ import annotations

from penstock.backends.native.aggregates import Reader
from penstock.backends.native.comparing import key, sort_key
from penstock.backends.native.proof import NotProvenError, Proven, quoted
from penstock.plan.forms import Call, Form
from penstock.plan.nodes import AsofJoin, Join, JoinKey, JoinKind, Plan
from penstock.plan.scalar import Scalar


def join_query(plan: Join, left: str, right: str, scalar: Reader, carry: tuple[str, ...]) -> str:
    """The query of a join: its fields, then what is carried, in which rows must agree."""
    if plan.null_aware:
        return _not_in(plan, left, right, scalar, carry)
    conditions = [_equal(plan, pair, scalar) for pair in plan.keys] + _others(plan, scalar, carry)
    items = [quoted(item.name) for item in plan.fields]
    if plan.kind in (JoinKind.FULL, JoinKind.RIGHT):
        items += [f"coalesce(__left.{name}, __right.{name}) AS {name}" for name in map(quoted, carry)]
    else:
        items += [f"__left.{quoted(name)}" for name in carry]
    listed, on = ", ".join(items) or '1 AS "__none"', " AND ".join(conditions) or "true"
    return f"SELECT {listed} FROM ({left}) __left {plan.kind.value.upper()} JOIN ({right}) __right ON {on}"


def _equal(plan: Join, pair: JoinKey, scalar: Reader) -> str:
    compared = Call("<=>" if pair.null_safe else "=", (pair.left.form, pair.right.form))
    return f"({_of_both(plan, scalar, compared).text})"


def _others(plan: Join, scalar: Reader, carry: tuple[str, ...]) -> list[str]:
    found = [] if plan.residual is None else [f"({_of_both(plan, scalar, plan.residual.form).text})"]
    return found + [f"__left.{quoted(name)} = __right.{quoted(name)}" for name in carry]


def _of_both(plan: Join, scalar: Reader, form: Form) -> Proven:
    types = {item.name: item.type for item in (*plan.left.fields, *plan.right.fields)}
    return scalar(form, types)


def _not_in(plan: Join, left: str, right: str, scalar: Reader, carry: tuple[str, ...]) -> str:
    """NOT IN with SQL's NULLs: a match, or a comparison that is unknown, removes the row.

    Each of the three ways to be removed is a join of its own, so that none has to look at every pair.
    """
    compared, *correlated = plan.keys
    others = [_equal(plan, pair, scalar) for pair in correlated] + _others(plan, scalar, carry)
    value, among = _of_both(plan, scalar, compared.left.form).text, _of_both(plan, scalar, compared.right.form).text
    names = ", ".join([quoted(item.name) for item in plan.fields] + [f"__left.{quoted(name)}" for name in carry])
    matched = " AND ".join([_equal(plan, compared, scalar), *others])
    rows = f"SELECT {names} FROM ({left}) __left ANTI JOIN __right ON {matched}"
    unknown = f"(SELECT * FROM __right WHERE {among} IS NULL)"
    if others:
        on = " AND ".join(others)
        rows = f"SELECT {names} FROM ({rows}) __left ANTI JOIN {unknown} __right ON {on}"
        rows = f"SELECT {names} FROM ({rows}) __left ANTI JOIN __right ON {value} IS NULL AND {on}"
    else:
        some = "EXISTS (SELECT 1 FROM __right)"
        rows = f"SELECT {names} FROM ({rows}) __left WHERE NOT EXISTS {unknown} AND ({value} IS NOT NULL OR NOT {some})"
    return f"WITH __right AS MATERIALIZED ({right}) {rows}"


def asof_query(plan: AsofJoin, left: str, right: str, scalar: Reader, carry: tuple[str, ...]) -> str:
    """The query of an ASOF join: its fields, then what is carried, in which rows must agree.

    The rows of both sides stand in one order of time, as `backends/spark/asof` tells; each left row takes the last of
    the right ones.
    """
    pairs = [(pair.left, pair.right) for pair in plan.keys] + [(plan.match.left, plan.match.right)]
    lefts, rights = _sides(plan, scalar, pairs)
    keys = [f"__k{position}" for position in range(len(plan.keys))]
    columns, carried = [quoted(item.name) for item in plan.left.fields], [quoted(name) for name in carry]
    fields = [Proven(quoted(item.name), item.type or "") for item in plan.right.fields]
    parts = ", ".join(f"o{position} := {item.text}" for position, item in enumerate(fields))
    place = 0 if plan.match.strict else 1
    named = ", ".join(f"{text} AS {name}" for text, name in zip(lefts, [*keys, "__time"], strict=True))
    both = f"SELECT {', '.join([*columns, *carried])}, {named}, {place} AS __place, NULL AS __row, NULL AS __sort "
    both += f"FROM ({left})"
    nothing = [f"NULL AS {name}" for name in columns]
    named = ", ".join(f"{text} AS {name}" for text, name in zip(rights, [*keys, "__time"], strict=True))
    found = f"SELECT {', '.join([*nothing, *carried])}, {named}, {1 - place} AS __place, "
    found += f"struct_pack({parts}) AS __row, {sort_key(fields)} AS __sort FROM ({right})"
    matching = ["__time", *(name for name, pair in zip(keys, plan.keys, strict=True) if not pair.null_safe)]
    present = " AND ".join(f"{name} IS NOT NULL" for name in matching)
    both += f" UNION ALL SELECT * FROM ({found}) WHERE {present}"
    return _closest(plan, both, [*keys, *carried], columns, carried)


def _sides(plan: AsofJoin, scalar: Reader, pairs: list[tuple[Scalar, Scalar]]) -> tuple[list[str], list[str]]:
    """The compared values of each side, of one type, so that one column can hold both."""
    lefts = [_of_side(plan.left, scalar, left) for left, _ in pairs]
    rights = [_of_side(plan.right, scalar, right) for _, right in pairs]
    for one, other in zip(lefts, rights, strict=True):
        if one.type != other.type:
            raise NotProvenError(what=f"an ASOF join of {one.type} with {other.type}")
    return [*map(key, lefts)], [*map(key, rights)]


def _of_side(plan: Plan, scalar: Reader, value: Scalar) -> Proven:
    return scalar(value.form, {item.name: item.type for item in plan.fields})


def _closest(plan: AsofJoin, both: str, keys: list[str], columns: list[str], carried: list[str]) -> str:
    by = f"PARTITION BY {', '.join(keys)} " if keys else ""
    order = f"__time {'ASC' if plan.match.backwards else 'DESC'} NULLS LAST, __place, __sort DESC NULLS LAST"
    frame = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    last = f"last_value(__row IGNORE NULLS) OVER ({by}ORDER BY {order} {frame})"
    # A left row without a time stands behind all others and matches none.
    closest = f"CASE WHEN __time IS NOT NULL THEN {last} END AS __closest"
    found = [f"__closest.o{position} AS {quoted(item.name)}" for position, item in enumerate(plan.right.fields)]
    met = " AND __closest IS NOT NULL" if plan.kind == JoinKind.INNER else ""
    kept = f"__place = {0 if plan.match.strict else 1}{met}"
    return f"SELECT {', '.join([*columns, *found, *carried])} FROM (SELECT *, {closest} FROM ({both})) WHERE {kept}"


def join_condition(plan: Join, scalar: Reader) -> str:
    """The condition of a join over the columns of both sides, whose names do not clash."""
    return " AND ".join([_equal(plan, pair, scalar) for pair in plan.keys] + _others(plan, scalar, ())) or "true"
