"""Comparisons: values of one type are in the same order in both engines, NaN last, and -0.0 is 0.0."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from penstock.backends.native.expressions.casts import cast
from penstock.backends.native.expressions.coercion import alike, as_type, coerced_beside
from penstock.backends.native.expressions.digits import digits_of, together
from penstock.backends.native.expressions.once import in_order, in_turn, once
from penstock.backends.native.expressions.site import Rule, Site, any_raises
from penstock.backends.native.proof import Proven
from penstock.catalog.types import FRACTIONAL, is_decimal
from penstock.plan.writing import text_of

_SIGNS = {"=": "=", "<>": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_NULL_SAFE = {"<=>": "IS NOT DISTINCT FROM", "is distinct from": "IS DISTINCT FROM"}


def comparable(site: Site) -> list[Proven]:
    """Both sides in one type; exact numbers in digits that take all values of both."""
    values = [coerced_beside(site, place, site.values[1 - place].type) for place in (0, 1)]
    one, two = (digits_of(value.type) for value in values)
    if is_decimal(values[0].type) and is_decimal(values[1].type) and one is not None and two is not None:
        both = together(one, two)
        if not both.fits:
            site.refuse("which have too many digits together")
        return [value if value.type == both.type else cast(value, both.type, site.fragment) for value in values]
    found = alike(site, site.forms, values)
    if "<" in found[0].type:
        site.refuse("of nested values")
    return found


def equal(site: Site) -> Proven:
    """`=`."""
    return _compared(site, "=")


def _compared(site: Site, sign: str) -> Proven:
    """Behind a side that is NULL nothing is computed."""
    values = comparable(site)
    text = in_order(values, lambda left, right: f"({left} {sign} {right})")
    return Proven(text, "boolean", any_raises(values))


def compared(site: Site) -> Proven:
    """`=`, `<>`, `<`, `<=`, `>`, `>=`."""
    return _compared(site, _SIGNS[site.name])


def null_safe(site: Site) -> Proven:
    """`<=>` and IS DISTINCT FROM, which always compute both sides."""
    left, right = comparable(site)
    return Proven(f"({left.text} {_NULL_SAFE[site.name]} {right.text})", "boolean", any_raises([left, right]))


def among(site: Site) -> Proven:
    """IN a list of values, none of which can raise."""
    if any_raises(site.values[1:]):
        site.refuse("with an item that can raise")
    if any("<" in kind for kind in site.types):
        site.refuse("of nested values")
    value, *items = alike(site, site.forms, site.values)
    if any_raises(items):
        site.refuse("with an item that can raise")
    if value.raises and not site.values[0].raises:  # Spark's place begins at IN, or at NOT IN
        site.refuse("with a text that may be none of its type")
    return Proven(f"({value.text} IN ({', '.join(item.text for item in items)}))", "boolean", value.raises)


def between(site: Site) -> Proven:
    """`x >= low AND x <= high`, each compared in its own types."""
    value = site.values[0]
    raises = value.raises

    def both(known: str) -> str:
        nonlocal raises
        ends = [_end(site, known, place, sign) for place, sign in ((1, ">="), (2, "<="))]
        raises = raises or any_raises(ends)
        texts = [end.text for end in ends]
        return in_turn("FALSE", " AND ", texts) if ends[1].raises else f"({' AND '.join(texts)})"

    return Proven(once([value], both), "boolean", raises)


def _end(site: Site, known: str, place: int, sign: str) -> Proven:
    forms, values = (site.forms[0], site.forms[place]), (site.values[0], site.values[place])
    low, high = (text_of(item) for item in site.forms[1:])
    inner = Site(site.form, sign, forms, (Proven(known, values[0].type), values[1]), f"BETWEEN {low} AND {high}")
    return _compared(inner, sign)


def _extreme(sign: str) -> Rule:
    """GREATEST and LEAST: of the values that are there; of equal ones the first."""

    def rule(site: Site) -> Proven:
        if "void" in site.types or any("<" in kind for kind in site.types):
            site.refuse()
        values = alike(site, site.forms, site.values)
        kind = values[0].type
        raises = any_raises(values)
        if kind not in FRACTIONAL:
            name = "greatest" if sign == ">" else "least"
            return Proven(f"{name}({', '.join(item.text for item in values)})", kind, raises)
        return Proven(once(values, lambda *texts: _folded(texts, sign)), kind, raises)

    return rule


def _folded(texts: Sequence[str], sign: str) -> str:
    """By comparisons one after the other, because DuckDB may answer 0.0 for -0.0."""

    def more(found: str, text: str) -> str:
        return once(
            [found],
            lambda before: f"CASE WHEN {before} IS NULL OR {text} {sign} {before} THEN {text} ELSE {before} END",
        )

    return reduce(more, texts)


def is_nan(site: Site) -> Proven:
    """ISNAN, which is FALSE for NULL."""
    value = as_type(site, site.forms[0], site.values[0], "double") if site.types[0] != "float" else site.values[0]
    if site.types[0] not in FRACTIONAL:
        site.refuse()
    return Proven(f"coalesce(isnan({value.text}), FALSE)", "boolean", value.raises)


RULES: dict[tuple[str, int | None], Rule] = {
    **{(name, 2): compared for name in _SIGNS},
    **{(name, 2): null_safe for name in _NULL_SAFE},
    ("in", None): among,
    ("between", 3): between,
    ("greatest", None): _extreme(">"),
    ("least", None): _extreme("<"),
    ("isnan", 1): is_nan,
}
