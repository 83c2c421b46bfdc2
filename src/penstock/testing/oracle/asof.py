"""The oracle's reading of ASOF JOIN: number the left rows, join what matches, keep the closest of each."""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.parse import parse_expression, parse_query
from penstock.sql.text import spark_sql
from penstock.sql.trees import conjunction, conjuncts
from penstock.testing.oracle.time_windows import cannot_say
from penstock.testing.oracle.whole_rows import WHOLE_ROW

_TIMES = (exp.GTE, exp.GT, exp.LTE, exp.LT)


def is_asof(join: exp.Expression) -> bool:
    """True if a join is an ASOF join."""
    return str(join.args.get("method") or "").upper() == "ASOF"


def rewrite_asof(select: exp.Select) -> None:
    """Replace the ASOF join of two relations, in place; ties go to the least right row."""
    joins = select.args.get("joins") or []
    if not any(is_asof(join) for join in joins):
        return
    left, [join, *others] = select.args["from_"].this, joins
    if others or any(item.find(exp.Star) for item in select.expressions):
        cannot_say("ASOF JOIN beside other joins, or under a star")
    _with_match(join)
    match, right = join.args["match_condition"], join.this
    names = left.alias_or_name, right.alias_or_name
    _without_using(select, join, names)
    numbered = f"(SELECT *, row_number() OVER (ORDER BY {WHOLE_ROW}) AS __id FROM {_bare(left)}) AS {names[0]}"
    pairs = _closest(numbered, f"{_bare(right)} AS {names[1]}", names, join, match)
    side = "LEFT" if str(join.args.get("side") or "").upper() == "LEFT" else "INNER"
    source = f"{numbered} {side} JOIN {pairs} AS {names[1]} ON {names[0]}.__id = {names[1]}.__of"
    replacement = parse_query(f"SELECT 1 FROM {source}")
    select.set("from_", replacement.args["from_"])
    select.set("joins", replacement.args["joins"])


def _with_match(join: exp.Expression) -> None:
    """The comparison of times apart, which Timeplus has in ON."""
    if join.args.get("match_condition") is None:
        parts = list(conjuncts(join.args["on"]))
        match = next(part for part in parts if isinstance(part, _TIMES))
        join.set("match_condition", match)
        join.set("on", conjunction(part for part in parts if part is not match))


def _without_using(select: exp.Select, join: exp.Expression, names: tuple[str, str]) -> None:
    """USING as equalities; a shared column without its relation is the left one."""
    shared = {item.name.lower(): item.name for item in join.args.get("using") or []}
    if not shared:
        return
    one, other = names
    equalities = " AND ".join(f"`{one}`.`{name}` = `{other}`.`{name}`" for name in shared.values())
    join.set("on", parse_expression(equalities))
    for column in select.find_all(exp.Column):
        if not column.table and column.name.lower() in shared:
            column.set("table", exp.Identifier(this=one, quoted=True))


def _closest(left: str, right: str, names: tuple[str, str], join: exp.Expression, match: exp.Expression) -> str:
    """The right rows that are closest to a left row, beside its number."""
    flipped = match.this.table.lower() == names[1].lower()
    backwards = isinstance(match, exp.GTE | exp.GT) != flipped
    times = (match.this, match.expression) if flipped else (match.expression, match.this)
    # The right time, which is never NULL here, in the type in which the two are compared.
    time = f"coalesce({', '.join(map(spark_sql, times))})"
    order = f"{time} {'DESC' if backwards else 'ASC'}, struct({names[1]}.*) ASC NULLS FIRST"
    place = f"row_number() OVER (PARTITION BY {names[0]}.__id ORDER BY {order}) AS __n"
    condition = f"({spark_sql(join.args['on'])}) AND ({spark_sql(match)})" if join.args.get("on") else spark_sql(match)
    inner = f"SELECT {names[1]}.*, {names[0]}.__id AS __of, {place} FROM {left} JOIN {right} ON {condition}"
    return f"(SELECT * FROM ({inner}) WHERE __n = 1)"


def _bare(relation: exp.Expression) -> str:
    """The relation without its alias."""
    plain = relation.copy()
    plain.set("alias", None)
    return spark_sql(plain)
