"""Steps into a VARIANT, `v['k']`, `v.k` and `v[1]`, as calls of Spark's variant_get, and casts of one and to one.

The types decide, so this is done with an expression when its names have their meaning.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from penstock.plan.nodes import Field
from penstock.sql.trees import call, call_name, replaced
from penstock.types.infer import infer

_VARIANT = "variant"
_PAIR = len(("v", "place"))
_NESTED = ("array<", "map<", "struct<")


def variants_read(tree: exp.Expression, fields: Mapping[str, Field]) -> exp.Expression:
    """The bound tree with the steps into VARIANTs as calls.

    A CAST of a VARIANT is NULL if that holds no such value, and collections are cast to one.
    """
    return replaced(tree, (exp.Bracket, exp.Dot, exp.Anonymous, exp.Cast), lambda node: _read(node, fields))


def _read(node: exp.Expression, fields: Mapping[str, Field]) -> exp.Expression | None:
    match node:
        case exp.Cast():
            return _cast(node, fields)
        case exp.Dot(expression=exp.Identifier() as field):
            return _step(node.this, _key(field.name), fields)
        case exp.Bracket(expressions=[exp.Literal(is_string=True) as key]):
            return _step(node.this, _key(key.name), fields)
        case exp.Anonymous(expressions=[whole, exp.Literal(is_string=False) as place]) if _is_element(node):
            path = f"$[{int(place.name) - 1}]" if place.name.isdigit() and int(place.name) > 0 else None
            return _step(whole, path, fields)
        case _:
            return None


def _is_element(node: exp.Anonymous) -> bool:
    return call_name(node) == "try_element_at" and len(node.expressions) == _PAIR


def _key(name: str) -> str | None:
    """The path to a field; None for a name that no path can say."""
    sign = next((sign for sign in ("'", '"') if sign not in name), None)
    return None if sign is None or not name or "?" in name or "\\" in name else f"$[{sign}{name}{sign}]"


def _step(whole: exp.Expression, path: str | None, fields: Mapping[str, Field]) -> exp.Expression | None:
    if path is None or infer(whole, fields)[0] != _VARIANT:
        return None
    return call("variant_get", whole, exp.Literal.string(path), exp.Literal.string(_VARIANT))


def _cast(node: exp.Cast, fields: Mapping[str, Field]) -> exp.Expression | None:
    kind = infer(node.this, fields)[0]
    if kind == _VARIANT and type(node) is exp.Cast:
        return exp.TryCast(this=node.this, to=node.args["to"])
    wanted = infer(node, fields)[0]
    if wanted == _VARIANT and kind is not None and kind.startswith(_NESTED):
        return call("to_variant_object", node.this)
    return None
