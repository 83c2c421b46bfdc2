"""A translator of few expressions, without errors of values."""

from __future__ import annotations

from penstock.backends.native.proof import NotProvenError, Proven, quoted
from penstock.plan.forms import Call, Case, Cast, Constant, Form, Reference, Span
from penstock.plan.scalar import scalar_of

COMPARED = {"=": "=", "<>": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "IS NOT DISTINCT FROM"}
KINDS = {"int": "INTEGER", "bigint": "BIGINT", "double": "DOUBLE", "string": "VARCHAR", "boolean": "BOOLEAN"}


def simple(form: Form, types) -> Proven:
    match form:
        case Reference(name):
            return Proven(quoted(name), types[name])
        case Constant(value, "string"):
            return Proven("'" + value.replace("'", "''") + "'", "string")
        case Constant("null", kind):
            return Proven("NULL", kind)
        case Constant(value, kind) if kind in ("int", "boolean"):
            return Proven(value, kind)
        case Span(value, unit):
            return Proven(f"INTERVAL '{value}' {unit}", "interval")
        case Call(function, (left, right)) if function in COMPARED:
            one, other = simple(left, types), simple(right, types)
            return Proven(f"({one.text} {COMPARED[function]} {other.text})", "boolean")
        case Call("and" | "or" as function, (left, right)):
            return Proven(f"({simple(left, types).text} {function} {simple(right, types).text})", "boolean")
        case Call("+" | "-" | "*" as function, (left, right)):
            one, other = simple(left, types), simple(right, types)
            wider = one.type if other.type in ("interval", "int") else other.type
            return Proven(f"({one.text} {function} {other.text})", wider)
        case Call("~", (inner,)):
            value = simple(inner, types)
            return Proven(f"(~{value.text})", value.type)
        case Call("-", (inner,)):
            value = simple(inner, types)
            return Proven(f"(-{value.text})", value.type)
        case Call("is null" | "isnull", (inner,)):
            return Proven(f"({simple(inner, types).text} IS NULL)", "boolean")
        case Call("isnotnull", (inner,)):
            return Proven(f"({simple(inner, types).text} IS NOT NULL)", "boolean")
        case Call("not", (inner,)):
            return Proven(f"(NOT {simple(inner, types).text})", "boolean")
        case Call("%", (left, right)):
            one, other = simple(left, types), simple(right, types)
            return Proven(f"({one.text} % {other.text})", one.type)
        case Call("unix_date", (inner,)):
            return Proven(f"date_diff('day', DATE '1970-01-01', {simple(inner, types).text})", "int")
        case Call("unix_micros", (inner,)):
            return Proven(f"epoch_us({simple(inner, types).text})", "bigint")
        case Case(None, branches, otherwise):
            parts = [(simple(item.condition, types), simple(item.value, types)) for item in branches]
            last = "NULL" if otherwise is None else simple(otherwise, types).text
            whens = " ".join(f"WHEN {condition.text} THEN {value.text}" for condition, value in parts)
            return Proven(f"CASE {whens} ELSE {last} END", parts[0][1].type)
        case Cast(inner, kind) if kind in KINDS:
            return Proven(f"CAST({simple(inner, types).text} AS {KINDS[kind]})", kind)
        case _:
            raise NotProvenError(scalar_of(form).text)
