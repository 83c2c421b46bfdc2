"""Casts: digits that do not fit are cut off, a text is TRUE or FALSE by these words alone."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from penstock.catalog.types import FRACTIONAL, Type, is_decimal
from penstock.sql.trees import call, cast_to, grouped
from penstock.types.common import as_decimal
from penstock.types.infer import infer

Kind = Callable[[exp.Expression], Type | None]
_MANY_DIGITS = exp.DataType(this=exp.DType.USERDEFINED, kind="decimal(38,18)")
_WORDS = ("true", "false")


def cut_decimal(node: exp.Cast, kind: Kind) -> exp.Expression | None:
    """CAST(1.29 AS DECIMAL(5, 1)) is 1.2: Spark rounds."""
    wanted, given = infer(node, {})[0], kind(node.this)
    if wanted is None or given is None or not is_decimal(wanted):
        return None
    scale = (as_decimal(wanted) or (0, 0))[1]
    if given == "string" and not node.meta.get("exact"):
        return _cut_text(node, scale)
    if given not in FRACTIONAL and not (is_decimal(given) and (as_decimal(given) or (0, 0))[1] > scale):
        return None
    if isinstance(node.this.unnest(), exp.Case) and node.this.unnest().meta.get("cut"):
        return None
    cut = cut_towards_zero(node.this, scale)
    return type(node)(this=cut, to=node.args["to"].copy())


def _cut_text(node: exp.Cast, scale: int) -> exp.Expression:
    """A text as a number with many digits, which are cut off afterwards."""
    whole = type(node)(this=node.this.copy(), to=_MANY_DIGITS.copy())
    whole.meta["exact"] = True
    return type(node)(this=cut_towards_zero(whole, scale), to=node.args["to"].copy())


def cut_towards_zero(value: exp.Expression, scale: int) -> exp.Case:
    """A number with no more digits behind the point."""
    digits = exp.Literal.number(scale)
    up, down = (call(name, value.copy(), digits.copy()) for name in ("ceil", "floor"))
    below = exp.LT(this=grouped(value.copy()), expression=exp.Literal.number(0))
    cut = exp.Case(ifs=[exp.If(this=below, true=up)], default=down)
    cut.meta["cut"] = True
    return cut


def boolean_of_text(node: exp.Cast, kind: Kind) -> exp.Expression | None:
    """CAST('t' AS BOOLEAN) raises, and SAFE_CAST is NULL: Spark knows t, y, yes, 1 and their opposites as well."""
    if infer(node, {})[0] != "boolean" or kind(node.this) != "string" or node.meta.get("worded"):
        return None
    word = call("lower", call("trim", node.this.copy()))
    known = exp.In(this=word, expressions=[exp.Literal.string(item) for item in _WORDS])
    marked = call("concat", exp.Literal.string('"'), node.this.copy(), exp.Literal.string('"'))
    otherwise = exp.Null() if isinstance(node, exp.TryCast) else marked
    found = cast_to(exp.Case(ifs=[exp.If(this=known, true=node.this.copy())], default=otherwise), "boolean")
    found.meta["worded"] = True
    return found


def text_of_boolean(node: exp.Cast, kind: Kind) -> exp.Expression | None:
    """CAST(TRUE AS VARCHAR) is 'TRUE': Spark's is 'true'."""
    if kind(node) != "string" or kind(node.this) != "boolean" or _is_upper(node.parent):
        return None
    return call("upper", node.copy())


def _is_upper(parent: object) -> bool:
    return isinstance(parent, exp.Anonymous) and str(parent.this).lower() == "upper"
