"""Numbers in Timeplus: as texts without a point that says nothing, and halves rounded to the even neighbour."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from penstock.catalog.types import FRACTIONAL, Type, is_decimal
from penstock.sql.parse import parse_expression
from penstock.sql.trees import call, call_name
from penstock.types.common import as_decimal
from penstock.types.infer import infer

Kind = Callable[[exp.Expression], Type | None]
_WITHOUT_ZEROS = "TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM CAST(CAST(CAST(x AS STRING) AS {kind}) AS STRING)))"
_AS_TEXT = (
    "CASE WHEN isnan(x) THEN 'nan' WHEN abs(x) = CAST('Infinity' AS DOUBLE) THEN if(x > 0, 'inf', '-inf') "
    "WHEN CAST(x AS STRING) NOT LIKE '%E%' THEN regexp_replace(CAST(x AS STRING), '[.]0$', '') "
    f"WHEN abs(x) >= 1 AND abs(x) < 1e21 THEN {_WITHOUT_ZEROS.format(kind='DECIMAL(38,16)')} "
    f"WHEN abs(x) < 1 AND abs(x) >= 1e-6 THEN {_WITHOUT_ZEROS.format(kind='DECIMAL(38,24)')} "
    "ELSE lower(replace(CAST(x AS STRING), '.0E', 'E')) END"
)


def text_of_number(node: exp.Cast, kind: Kind) -> exp.Expression | None:
    """to_string(2.0) is '2', of 1e10 '10000000000', of 2.50 '2.5'."""
    given = kind(node.this)
    if given is None or infer(node, {})[0] != "string" or node.meta.get("bare"):
        return None
    if given in FRACTIONAL:
        return _over(_AS_TEXT, node.this)
    if is_decimal(given) and (as_decimal(given) or (0, 0))[1]:
        return _over("TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM CAST(x AS STRING)))", node.this)
    return None


def even_half(node: exp.Anonymous, kind: Kind) -> exp.Expression | None:
    """round(2.5) of a float is 2: Spark's is 3."""
    if call_name(node) != "round" or not node.expressions or kind(node.expressions[0]) not in FRACTIONAL:
        return None
    return call("bround", *(item.copy() for item in node.expressions))


def _over(text: str, value: exp.Expression) -> exp.Expression:
    tree: exp.Expression = parse_expression(text)
    for cast in tree.find_all(exp.Cast):
        cast.meta["bare"] = True  # these are Spark's
    places = [item for item in tree.find_all(exp.Column) if item.name == "x"]
    for place in places:
        place.replace(exp.Paren(this=value.copy()))
    return exp.Paren(this=tree)
