"""Operations on whole numbers that give one: `7 / 2` is 3, CEIL of a DOUBLE is a DOUBLE."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from penstock.catalog.types import FRACTIONAL, INTEGRAL, Type, is_numeric
from penstock.sql.complaints import wrong
from penstock.sql.trees import call_name, cast_to, grouped
from penstock.types.common import as_decimal

Kind = Callable[[exp.Expression], Type | None]
_HINT = "CAST(x AS BIGINT) / y is a division of whole numbers, CAST(x AS DOUBLE) / y is none"


def divided(node: exp.Div, kind: Kind) -> exp.Expression | None:
    """A quotient of whole numbers is cut off towards zero, and has the wider type; INT's least number / -1 raises."""
    one, other = kind(node.this), kind(node.expression)
    if one in INTEGRAL and other in INTEGRAL:
        wider = max((one, other), key=lambda item: INTEGRAL.index(item or ""))
        whole = exp.IntDiv(this=grouped(node.this), expression=grouped(node.expression))
        return cast_to(whole, wider or "")
    if _can_be_whole(one) and _can_be_whole(other):
        message = "whether this is a division of whole numbers is not known, since a type is not"
        raise wrong(code="TYPE_UNKNOWN", message=message, place=node, hint=_HINT)
    return None


def _can_be_whole(kind: Type | None) -> bool:
    return kind is None or kind in INTEGRAL


def rounded(node: exp.Anonymous, kind: Kind) -> exp.Expression | None:
    """CEIL(x) and FLOOR(x) have the type of x: Spark's are a BIGINT."""
    if call_name(node) not in ("ceil", "ceiling", "floor") or len(node.expressions) != 1 or _is_cast(node):
        return None
    found = kind(node.expressions[0])
    return cast_to(node.copy(), found or "") if found in FRACTIONAL or found in INTEGRAL else None


def signed(node: exp.Anonymous, kind: Kind) -> exp.Expression | None:
    """SIGN(x) has the type of x: Spark's is a DOUBLE."""
    if call_name(node) not in ("sign", "signum") or len(node.expressions) != 1 or _is_cast(node):
        return None
    found = kind(node.expressions[0])
    if found is None or not is_numeric(found) or found == "double":
        return None
    digits = as_decimal(found) if found not in INTEGRAL and found not in FRACTIONAL else None
    return cast_to(node.copy(), f"decimal({max(digits[0] - digits[1], 1)},0)" if digits else found)


def _is_cast(node: exp.Expression) -> bool:
    """True where this has been done: an alias of the SELECT list is bound with what reads it."""
    return isinstance(node.parent, exp.Cast)
