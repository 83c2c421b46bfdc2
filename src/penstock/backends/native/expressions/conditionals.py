"""AND, OR, NOT and the choice between values: what is not chosen is not computed, and raises nothing."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.backends.native.expressions.coercion import alike, as_type
from penstock.backends.native.expressions.comparisons import equal
from penstock.backends.native.expressions.once import in_turn, once
from penstock.backends.native.expressions.site import Rule, Site, any_raises, constant_text
from penstock.backends.native.proof import Proven
from penstock.backends.native.raised import Failure, text_literal
from penstock.plan.forms import Call, Form

_ABSORBING = {"and": "FALSE", "or": "TRUE"}


def connected(site: Site) -> Proven:
    """AND and OR: behind a FALSE, or a TRUE, nothing is computed."""
    values = [as_type(site, form, value, "boolean") for form, value in zip(site.forms, site.values, strict=True)]
    if any(kind not in ("boolean", "void") for kind in site.types):
        site.refuse()
    word = f" {site.name.upper()} "
    whole = "(" + word.join(value.text for value in values) + ")"
    if not any_raises(values[1:]):
        return Proven(whole, "boolean", values[0].raises)
    return Proven(in_turn(_ABSORBING[site.name], word, [value.text for value in values]), "boolean", raises=True)


def negated(site: Site) -> Proven:
    """NOT."""
    value = as_type(site, site.forms[0], site.values[0], "boolean")
    if site.types[0] not in ("boolean", "void"):
        site.refuse()
    return Proven(f"(NOT {value.text})", "boolean", value.raises)


def _asked(asked: str) -> Rule:
    """IS NULL and its like, which are never NULL."""

    def rule(site: Site) -> Proven:
        (value,) = site.values
        if asked not in ("IS NULL", "IS NOT NULL") and value.type != "boolean":
            site.refuse()
        return Proven(f"({value.text} {asked})", "boolean", value.raises)

    return rule


def chosen(site: Site, conditions: Sequence[Proven], forms: Sequence[Form], values: Sequence[Proven]) -> Proven:
    """The value behind the first condition that is TRUE; one more value is for none of them."""
    if any(condition.type not in ("boolean", "void") for condition in conditions):
        site.refuse("with a condition that is no BOOLEAN")
    found = alike(site, forms, values)
    raises = any_raises([*conditions, *found])
    branches = " ".join(
        f"WHEN {condition.text} THEN {value.text}" for condition, value in zip(conditions, found, strict=False)
    )
    return Proven(f"CASE {branches} ELSE {found[-1].text} END", found[0].type, raises)


def if_(site: Site) -> Proven:
    """IF(condition, value, other)."""
    condition, *values = site.values
    return chosen(site, [condition], site.forms[1:], values)


def nvl2(site: Site) -> Proven:
    """NVL2(value, if it is there, if it is not)."""
    value, *values = site.values
    there = Proven(f"({value.text} IS NOT NULL)", "boolean", value.raises)
    return chosen(site, [there], site.forms[1:], values)


def coalesced(site: Site) -> Proven:
    """The first value that is not NULL; those behind it are not computed."""
    found = alike(site, site.forms, site.values)
    raises = any_raises(found)
    if len(found) == 1:
        return found[0]
    if not raises:
        return Proven(f"coalesce({', '.join(item.text for item in found)})", found[0].type)
    return Proven(_first(found), found[0].type, raises)


def _first(values: Sequence[Proven]) -> str:
    value, *rest = values
    if not rest:
        return value.text
    return once([value], lambda known: f"CASE WHEN {known} IS NOT NULL THEN {known} ELSE {_first(rest)} END")


def nullif(site: Site) -> Proven:
    """NULL where both values are equal, else the first one."""
    first, second = site.values
    if first.type != "void" and site.forms[0] == site.forms[1]:  # no key of its set: NULL, or what it raises
        return Proven(
            once([first], lambda known: f"CASE WHEN {known} IS NULL THEN {known} END"), first.type, first.raises
        )
    if first.type == "void" or second.raises:
        site.refuse()
    raises = first.raises

    def body(known: str) -> str:
        nonlocal raises
        inner = Site(site.form, "=", site.forms, (Proven(known, first.type), second))
        same = equal(inner)
        raises = raises or same.raises
        return f"CASE WHEN {same.text} THEN NULL ELSE {known} END"

    return Proven(once([first], body), first.type, raises)


def raised(site: Site) -> Proven:
    """RAISE_ERROR of a sentence that is written: a value of no type."""
    sentence = constant_text(site.forms[0])
    if sentence is None:
        site.refuse("of a sentence that is computed")
    return Proven(Failure("USER_RAISED_EXCEPTION", "P0001", text_literal(sentence)).raising, "void", raises=True)


RULES: dict[tuple[str, int | None], Rule] = {
    ("and", None): connected,
    ("or", None): connected,
    ("not", 1): negated,
    ("is null", 1): _asked("IS NULL"),
    ("isnull", 1): _asked("IS NULL"),
    ("isnotnull", 1): _asked("IS NOT NULL"),
    ("is true", 1): _asked("IS NOT DISTINCT FROM TRUE"),
    ("is false", 1): _asked("IS NOT DISTINCT FROM FALSE"),
    ("if", 3): if_,
    ("nvl2", 3): nvl2,
    ("coalesce", None): coalesced,
    ("nvl", 2): coalesced,
    ("ifnull", 2): coalesced,
    ("nullif", 2): nullif,
    ("raise_error", 1): raised,
}


def flattened(form: Call) -> Call:
    """`(a AND b) AND c` as one AND of three."""
    if form.function not in _ABSORBING:
        return form
    parts: list[Form] = []
    for item in form.arguments:
        inner = flattened(item) if isinstance(item, Call) and item.function == form.function else None
        parts += [item] if inner is None else inner.arguments
    return Call(form.function, tuple(parts))
