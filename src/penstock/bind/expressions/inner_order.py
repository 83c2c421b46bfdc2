"""ORDER BY and LIMIT between the brackets of a call, as PostgreSQL and standard SQL have them; Spark has neither.

    LISTAGG(s, ',' ORDER BY n)    is    LISTAGG(s, ',') WITHIN GROUP (ORDER BY n)

Every other call with them is refused, with what gives that answer in Spark.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.complaints import unsupported
from penstock.sql.text import spark_sql
from penstock.sql.trees import call_name

_LISTS = frozenset({"listagg", "string_agg"})
_COLLECTING = frozenset({"array_agg", "collect_list"})
_CHOOSING = {
    "first": "min_by",
    "first_value": "min_by",
    "any_value": "min_by",
    "last": "max_by",
    "last_value": "max_by",
}


def with_order_outside(node: exp.Anonymous) -> exp.Expression | None:
    """The call of a list with its ORDER BY behind it; None for a call without; UnsupportedError for any other with."""
    last = node.expressions[-1] if node.expressions else None
    clause = next((item for item in _last_parts(last) if isinstance(item, exp.Order | exp.Limit)), None)
    if clause is None:
        return None
    name = call_name(node) or ""
    if isinstance(last, exp.Order) and name in _LISTS and not isinstance(last.this, exp.Distinct):
        plain = exp.Anonymous(this=node.this, expressions=[*(item.copy() for item in node.expressions[:-1]), last.this])
        plain.meta.update(node.meta)
        order = exp.Order(expressions=[item.copy() for item in last.expressions])
        return exp.WithinGroup(this=plain, expression=order)
    word = "LIMIT" if isinstance(last, exp.Limit) else "ORDER BY"
    message = f"{word} between the brackets of {name}()"
    raise unsupported(code="UNSUPPORTED", message=message, place=clause, hint=_hint(name, last))


def _last_parts(tree: exp.Expression | None) -> list[exp.Expression]:
    inner = tree.expressions[-1] if isinstance(tree, exp.Distinct) and tree.expressions else None
    return [item for item in (tree, inner) if item is not None]


def _hint(name: str, last: exp.Expression | None) -> str:
    order = last if isinstance(last, exp.Order) else None
    if order is None or isinstance(order.this, exp.Distinct) or len(order.expressions) != 1:
        return "sort what the call gives: array_sort(…), slice(…) for its first elements"
    key, value = spark_sql(order.expressions[0].this), spark_sql(order.this)
    if name in _COLLECTING:
        struct = f"struct({key} AS k, {value} AS v)"
        reverse = bool(order.expressions[0].args.get("desc"))
        sort = f"sort_array({name}({struct}), {'false' if reverse else 'true'})"
        return f"transform({sort}, item -> item.v) has the values in that order"
    if name in _CHOOSING:
        return f"{_CHOOSING[name]}({value}, {key}) gives that value"
    return "leave it out where the order of the rows changes nothing"
