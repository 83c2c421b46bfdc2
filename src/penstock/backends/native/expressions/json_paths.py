"""`get_json_object` of a constant path of names and places, which a function of ours follows (`native.json_texts`)."""

from __future__ import annotations

from penstock.backends.native.expressions.site import Rule, Site, constant_text
from penstock.backends.native.expressions.strings import of_types
from penstock.backends.native.json_texts import JSON, steps
from penstock.backends.native.proof import Proven
from penstock.backends.native.raised import text_literal


def _at_a_path(site: Site) -> Proven:
    value, _ = of_types(site, "string", "string")
    path = constant_text(site.forms[1])
    if path is None or steps(path) is None:
        site.refuse("with another path than one of names and places")
    return Proven(f"{JSON}({text_literal(path)}, {value.text})", "string", value.raises)


RULES: dict[tuple[str, int | None], Rule] = {("get_json_object", 2): _at_a_path}
