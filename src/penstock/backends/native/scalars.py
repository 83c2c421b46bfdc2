"""Scalar expressions of plans in DuckDB's SQL, where they are proven to mean there what they mean on Spark.

    proven(`price` * 2 > 10, {"price": "int"})
    CASE WHEN … THEN error('{"penstock": "ARITHMETIC_OVERFLOW", …}') … END > 10

Every value has Spark's type, in the ANSI mode and with the session's zone UTC, and is held as `kinds.storage` says. An
expression raises what Spark raises, and where Spark does not it does not. All that has no rule in the tables of
`expressions/` is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from penstock.backends.native.expressions import (
    arithmetic,
    bitwise,
    clock,
    comparisons,
    conditionals,
    json_paths,
    maps,
    months,
    nested,
    patterns,
    pieces,
    rounding,
    strings,
    times,
)
from penstock.backends.native.expressions.casts import cast
from penstock.backends.native.expressions.kinds import storage
from penstock.backends.native.expressions.literals import constant, negative, read, written
from penstock.backends.native.expressions.site import Rule, Site, constant_text
from penstock.backends.native.expressions.spans import length_of
from penstock.backends.native.proof import Proven, not_proven, quoted
from penstock.catalog.types import Type
from penstock.plan.forms import (
    Branch,
    Call,
    Case,
    Cast,
    Constant,
    FieldOf,
    Form,
    Keyword,
    Lambda,
    Named,
    Parameter,
    Reference,
    Span,
)
from penstock.plan.scalar import parsed
from penstock.plan.writing import text_of

_MOST_KNOWN = 1_000
RULES: Mapping[tuple[str, int | None], Rule] = {
    **conditionals.RULES,
    **comparisons.RULES,
    **arithmetic.RULES,
    **bitwise.RULES,
    **clock.RULES,
    **strings.RULES,
    **json_paths.RULES,
    **pieces.RULES,
    **patterns.RULES,
    **times.RULES,
    **months.RULES,
    **rounding.RULES,
    **nested.RULES,
    **maps.RULES,
    **{(sign, 2): times.or_else(arithmetic.operated) for sign in "+-"},
}


def proven(form: Form, types: Mapping[str, Type | None]) -> Proven:
    """The expression over fields of these types in DuckDB's SQL; raises NotProvenError."""
    found = _Translated(types).of(form)
    if found.type != "void":
        storage(found.type)
    return found


@lru_cache(_MOST_KNOWN)
def proven_text(text: str, types: tuple[tuple[str, Type], ...]) -> Proven:
    """The same of an expression as text, which is asked for step after step."""
    return proven(parsed(text), dict(types))


class _Translated:
    """One walk over an expression, from its leaves up."""

    def __init__(self, types: Mapping[str, Type | None], parameters: Mapping[str, Proven] | None = None) -> None:
        self._types = types
        self._parameters = parameters or {}

    def of(self, form: Form) -> Proven:
        """The proof of a part."""
        match form:
            case Reference():
                return self._column(form)
            case Parameter() if form.name in self._parameters:
                return self._parameters[form.name]
            case Constant():
                return constant(form)
            case FieldOf():
                return nested.field(form, self.of(form.argument))
            case Call(function="transform" | "filter", arguments=(values, Lambda(parameters=(name,), body=body))):
                return nested.mapped(form, self.of(values), lambda item: self._inside({name: item}).of(body))
            case Call("map_filter" | "transform_keys" | "transform_values" as name, (value, Lambda((_, _)) as change)):
                return self._changed(form, name, value, change)
            case Call("aggregate" | "reduce", (values, initial, Lambda((_, _)) as merge, *end)):
                return self._folded(form, (values, initial), merge, end)
            case Cast():
                return self._cast(form)
            case Case():
                return self._case(form)
            case Call():
                return negative(form) or self._call(conditionals.flattened(form), form)
            case _:
                return not_proven(text_of(form))

    def _inside(self, values: Mapping[str, Proven]) -> _Translated:
        """The same walk in the body of a lambda, whose parameters have these values."""
        return _Translated(self._types, {**self._parameters, **values})

    def _changed(self, form: Form, function: str, value: Form, change: Lambda) -> Proven:
        """A MAP whose entries are chosen, or changed, by a lambda."""

        def made(key: Proven, item: Proven) -> Proven:
            one, other = change.parameters
            return self._inside({one: key, other: item}).of(change.body)

        return maps.changed(form, function, self.of(value), made)

    def _folded(self, form: Form, given: tuple[Form, Form], merge: Lambda, end: Sequence[Form]) -> Proven:
        """Aggregate over the elements of a list."""
        values, initial = map(self.of, given)

        def merged(known: Proven, item: Proven) -> Proven:
            one, other = merge.parameters
            return self._inside({one: known, other: item}).of(merge.body)

        def ended(known: Proven) -> Proven:
            if not end:
                return known
            last = end[0]
            if not isinstance(last, Lambda) or len(last.parameters) != 1:
                not_proven(text_of(form))
            return self._inside({last.parameters[0]: known}).of(last.body)

        return nested.folded(form, values, initial, merged, ended)

    def _column(self, form: Reference) -> Proven:
        kind = self._types.get(form.name)
        if kind is None:
            not_proven(f"the column {form.name}, whose type is not known")
        storage(kind)
        return Proven(quoted(form.name), kind)

    def _cast(self, form: Cast) -> Proven:
        literal = written(form)
        if literal is not None:
            return literal
        text = constant_text(form.argument)
        known = None if text is None else read(text, form.type) if form.type in _MOMENTS else None
        if known is not None:
            return known
        stored = storage(form.type)
        if form.argument == Call("array", ()) and form.type.startswith("array<"):
            return Proven(f"CAST([] AS {stored})", form.type)
        if form.argument == Call("map", ()) and form.type.startswith("map<"):
            return Proven(f"CAST(MAP([], []) AS {stored})", form.type)
        return cast(self.of(form.argument), form.type, text_of(form), safe=form.safe)

    def _case(self, form: Case) -> Proven:
        """CASE; with an operand, it is compared with each."""
        conditions, values = [], []
        for branch in form.branches:
            conditions.append(self._condition(form, branch))
            values.append(branch.value)
        otherwise = Constant("null", "void") if form.otherwise is None else form.otherwise
        forms = (*values, otherwise)
        site = Site(form, "case", (), ())
        return conditionals.chosen(site, conditions, forms, [self.of(item) for item in forms])

    def _condition(self, form: Case, branch: Branch) -> Proven:
        if form.operand is None:
            return self.of(branch.condition)
        forms = (form.operand, branch.condition)
        operand = self.of(form.operand)
        if operand.raises:
            not_proven("CASE over an operand that can raise")
        return comparisons.equal(Site(form, "=", forms, (operand, self.of(branch.condition))))

    def _argument(self, form: Form) -> Proven | None:
        if isinstance(form, Span | Keyword) or length_of(form) is not None:
            return None
        return self.of(form.value if isinstance(form, Named) else form)

    def _call(self, call: Call, form: Form) -> Proven:
        rule = RULES.get((call.function, len(call.arguments))) or RULES.get((call.function, None))
        proofs = tuple(self._argument(item) for item in call.arguments)
        site = Site(form, call.function, call.arguments, proofs)
        if rule is None:
            site.refuse()
        return rule(site)


_MOMENTS = ("date", "timestamp", "timestamp_ntz")
