"""Conditions as the matcher evaluates them: a closed set of operators, with Spark's types and meaning.

What reads the present row alone is a column that the engine computes, whatever it is. Only what stands around values of
other rows is evaluated by the matcher, and refused where that does not know the operator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Never

from sqlglot import exp

from penstock.bind.matching.looking import Computed, Looking, Value
from penstock.catalog.types import FRACTIONAL, INTEGRAL, Type, is_decimal, is_interval
from penstock.plan.forms import COMPARED, Call, Case, Cast, Constant, Form, Reference, Span, references
from penstock.plan.matching import Code
from penstock.plan.reading import form_of
from penstock.plan.writing import tree_of
from penstock.sql.complaints import unsupported
from penstock.sql.text import span_of
from penstock.types.common import MOST_DIGITS, as_decimal, common_type
from penstock.types.durations import micros_of
from penstock.types.infer import infer

Typed = tuple[Code, Type]
_SPAN = "interval day to second"
_DAY = 86_400_000_000
_KNOWN = (
    "=, <=>, <>, <, <=, >, >=, + - * / %, AND, OR, NOT, IS NULL, BETWEEN, IN, COALESCE, IF, CASE, GREATEST, LEAST, ABS "
    "and CAST between numbers work beside values of other rows"
)


def condition_of(tree: exp.Expression, looking: Looking) -> Code:
    """A condition over columns of the present row and leaves."""
    code, kind = _Conditions(looking).of(form_of(tree))
    if kind not in ("boolean", "void"):
        message = f"a condition of DEFINE is TRUE or FALSE, and {looking.written(tree)} is {kind.upper()}"
        raise unsupported(code="MATCH_EXPRESSION", message=message, place=tree)
    return code


class _Conditions:
    def __init__(self, looking: Looking) -> None:
        self._looking = looking

    def of(self, form: Form) -> Typed:
        """A part, and its type."""
        if isinstance(form, Constant) and form.type != "binary" and not _is_escaped(form):
            return _constant(form)
        if isinstance(form, Call) and form.function == "-" and _is_whole(form.arguments):
            return _negative(form.arguments[0])
        if isinstance(form, Span) and isinstance(form.source, exp.Interval):
            return self._span(form)
        if not references(form) & self._looking.leaves.keys():
            return self._row(form)
        match form:
            case Reference():
                return self._leaf(form)
            case Cast():
                return self._cast(form)
            case Case():
                return self._case(form)
            case Call() if form.function in _RULES:
                return _RULES[form.function](self, form)
            case _:
                return self._refuse(form)

    def _span(self, form: Span) -> Typed:
        if (infer(form.source, {})[0] or "").partition(" ")[2] in ("month", "year"):
            self._refuse(form)
        return ("constant", micros_of(form.source)), _SPAN

    def _row(self, form: Form) -> Typed:
        """A value of the present row, which the engine computes."""
        tree = tree_of(form)
        rows = self._looking.rows
        kind = infer(tree, rows.level.fields)[0] if not isinstance(tree, exp.Window) else rows.type(tree)
        return ("column", rows.read(tree, kind, tree)), "double" if kind == "float" else kind or "void"

    def _leaf(self, form: Reference) -> Typed:
        leaf = self._looking.leaves[form.name]
        match leaf:
            case Computed():
                return leaf.code, leaf.type
            case Value():
                read = self._looking.rows.read(leaf.tree, leaf.type, tree_of(form))
                return ("at", leaf.row, read), "double" if leaf.type == "float" else leaf.type or "void"

    def _cast(self, form: Cast) -> Typed:
        code, kind = self.of(form.argument)
        if form.type == kind:
            return code, kind
        if form.type == "double" and _is_number(kind):
            return ("double", code), "double"
        if kind in INTEGRAL and form.type in INTEGRAL and INTEGRAL.index(form.type) > INTEGRAL.index(kind):
            return code, form.type
        return self._refuse(form)

    def _case(self, form: Case) -> Typed:
        values = [self.of(branch.value) for branch in form.branches]
        values.append(_NULL if form.otherwise is None else self.of(form.otherwise))
        conditions = []
        for branch in form.branches:
            if form.operand is None:
                conditions.append(self._boolean(branch.condition))
            else:
                conditions.append(self.compared("=", self.of(form.operand), self.of(branch.condition), form))
        return self.chosen("case", conditions, values, form)

    def chosen(self, name: str, conditions: list[Code], values: list[Typed], form: Form) -> Typed:
        """One of several values, which become one type."""
        kind = common_type([kind for _, kind in values]) or ("void" if all(k == "void" for _, k in values) else None)
        if kind is None:
            self._refuse(form)
        codes = [self._converted(value, kind) for value in values]
        parts: list[Code] = []
        for condition, code in zip(conditions, codes, strict=False):
            parts += [condition, code]
        return (name, *(parts + codes[len(conditions) :])), kind

    @staticmethod
    def _converted(value: Typed, kind: Type) -> Code:
        return ("double", value[0]) if kind == "double" and value[1] not in ("double", "void") else value[0]

    def _boolean(self, form: Form) -> Code:
        code, kind = self.of(form)
        if kind not in ("boolean", "void"):
            self._refuse(form)
        return code

    def logical(self, form: Call) -> Typed:
        """AND, OR and NOT."""
        parts = [self._boolean(item) for item in form.arguments]
        code = parts[0]
        if form.function == "not":
            return ("not", code), "boolean"
        for part in parts[1:]:
            code = (form.function, code, part)
        return code, "boolean"

    def asked(self, form: Call) -> Typed:
        """IS NULL, IS TRUE and the like."""
        (part,) = form.arguments
        code = self.of(part)[0] if form.function == "is null" else self._boolean(part)
        return (form.function, code), "boolean"

    def comparison(self, form: Call) -> Typed:
        """Comparisons of two values."""
        one, other = map(self.of, form.arguments)
        return self.compared(form.function, one, other, form), "boolean"

    def distinct(self, form: Call) -> Typed:
        """`a IS DISTINCT FROM b`."""
        one, other = map(self.of, form.arguments)
        return ("not", self.compared("<=>", one, other, form)), "boolean"

    def compared(self, sign: str, one: Typed, other: Typed, form: Form) -> Code:
        """Two values compared as Spark compares them."""
        (left, kind), (right, other_kind) = one, other
        families = {_family(kind), _family(other_kind)} - {"void"}
        if families == {"exact", "double"}:
            left, right = self._converted(one, "double"), self._converted(other, "double")
            families = {"double"}
        if len(families) > 1 or None in families:
            self._refuse(form)
        if families == {"double"}:
            left, right = ("ordered", left), ("ordered", right)
        return (sign, left, right)

    def between(self, form: Call) -> Typed:
        """`x BETWEEN a AND b`."""
        value, low, high = map(self.of, form.arguments)
        parts = self.compared(">=", value, low, form), self.compared("<=", value, high, form)
        return ("and", *parts), "boolean"

    def listed(self, form: Call) -> Typed:
        """`x IN (a, b)`, as comparisons."""
        value, *items = map(self.of, form.arguments)
        code = self.compared("=", value, items[0], form)
        for item in items[1:]:
            code = ("or", code, self.compared("=", value, item, form))
        return code, "boolean"

    def together(self, form: Call) -> Typed:
        """COALESCE, GREATEST and LEAST."""
        name = form.function if form.function in ("greatest", "least") else "coalesce"
        return self.chosen(name, [], [self.of(item) for item in form.arguments], form)

    def if_(self, form: Call) -> Typed:
        """`if(condition, a, b)`."""
        condition, *values = form.arguments
        if len(values) != 2:  # noqa: PLR2004 - a value for each answer
            self._refuse(form)
        return self.chosen("case", [self._boolean(condition)], [self.of(item) for item in values], form)

    def arithmetic(self, form: Call) -> Typed:
        """`+`, `-` and `*` of numbers and times."""
        if len(form.arguments) == 1:
            return self._signed(form)
        one, other = map(self.of, form.arguments)
        if not (_is_number(one[1]) and _is_number(other[1])):
            return self._of_times(form, one, other)
        kinds = {one[1], other[1]}
        if "double" in kinds:
            return (f"double {form.function}", *(self._converted(item, "double") for item in (one, other))), "double"
        if kinds <= set(INTEGRAL):
            kind = max(kinds, key=INTEGRAL.index)
            return (f"whole {form.function}", kind, one[0], other[0]), kind
        return self._exact(form, one, other)

    def _exact(self, form: Call, one: Typed, other: Typed) -> Typed:
        (p1, s1), (p2, s2) = as_decimal(one[1]) or (0, 0), as_decimal(other[1]) or (0, 0)
        if form.function == "*":
            digits, scale = p1 + p2 + 1, s1 + s2
        else:
            scale = max(s1, s2)
            digits = max(p1 - s1, p2 - s2) + scale + 1
        if digits > MOST_DIGITS:
            self._refuse(form)
        return (f"exact {form.function}", one[0], other[0]), f"decimal({digits},{scale})"

    def _signed(self, form: Call) -> Typed:
        code, kind = self.of(form.arguments[0])
        if kind in INTEGRAL:
            return ("whole -", kind, ("constant", 0), code), kind
        if kind == "double":
            return ("double *", ("constant", -1.0), code), kind
        if is_decimal(kind):
            return ("exact -", ("constant", 0), code), kind
        return self._refuse(form)

    def _of_times(self, form: Call, one: Typed, other: Typed) -> Typed:
        kinds = (one[1], other[1])
        if kinds == ("timestamp", "timestamp") and form.function == "-":
            return ("whole -", "bigint", one[0], other[0]), _SPAN
        if kinds == ("timestamp", _SPAN) or (kinds == (_SPAN, "timestamp") and form.function == "+"):
            self._check_days(form)
            return (f"whole {form.function}", "bigint", one[0], other[0]), "timestamp"
        if kinds == (_SPAN, _SPAN) and form.function != "*":
            return (f"whole {form.function}", "bigint", one[0], other[0]), _SPAN
        return self._refuse(form)

    def _check_days(self, form: Call) -> None:
        """A day is as long as the clocks of the pipeline's zone make it; the matcher adds 24 hours."""
        zone = self._looking.rows.level.context.catalog.settings.get("time zone", "UTC")
        spans = [item for item in form.arguments if isinstance(item, Span)]
        short = spans and all(micros_of(item.source) < _DAY for item in spans)
        if zone != "UTC" and not short:
            self._refuse(form)

    def divided(self, form: Call) -> Typed:
        """`/` of whole numbers and DOUBLE."""
        one, other = map(self.of, form.arguments)
        kinds = {one[1], other[1]}
        if not kinds <= {*INTEGRAL, "double"} and not ("double" in kinds and all(map(_is_number, kinds))):
            self._refuse(form)
        return ("/", ("double", one[0]), ("double", other[0])), "double"

    def rest(self, form: Call) -> Typed:
        """`%` of whole numbers and DOUBLE."""
        one, other = map(self.of, form.arguments)
        if "double" in (one[1], other[1]) and _is_number(one[1]) and _is_number(other[1]):
            return ("%", self._converted(one, "double"), self._converted(other, "double")), "double"
        if not {one[1], other[1]} <= set(INTEGRAL):
            self._refuse(form)
        return ("%", one[0], other[0]), max(one[1], other[1], key=INTEGRAL.index)

    def absolute(self, form: Call) -> Typed:
        """`abs(x)`."""
        code, kind = self.of(form.arguments[0])
        if not _is_number(kind):
            self._refuse(form)
        return (("whole abs", kind, code) if kind in INTEGRAL else ("abs", code)), kind

    def null_if(self, form: Call) -> Typed:
        """`nullif(a, b)`."""
        one, other = map(self.of, form.arguments)
        return self.chosen("case", [self.compared("=", one, other, form)], [_NULL, one], form)

    def _refuse(self, form: Form) -> Never:
        shown = self._looking.written(tree_of(form))
        message = f"{shown} in DEFINE, around values of other rows of the match"
        raise unsupported(code="MATCH_EXPRESSION", message=message, place=_place(form), hint=_KNOWN)


_NULL: Typed = (("constant", None), "void")
_RULES: dict[str, Callable[[_Conditions, Call], Typed]] = {
    **dict.fromkeys(("and", "or", "not"), _Conditions.logical),
    **dict.fromkeys(("is null", "is true", "is false"), _Conditions.asked),
    **dict.fromkeys(COMPARED, _Conditions.comparison),
    "is distinct from": _Conditions.distinct,
    "between": _Conditions.between,
    "in": _Conditions.listed,
    **dict.fromkeys(("coalesce", "nvl", "ifnull", "greatest", "least"), _Conditions.together),
    **dict.fromkeys(("if", "iff"), _Conditions.if_),
    **dict.fromkeys("+-*", _Conditions.arithmetic),
    "/": _Conditions.divided,
    "%": _Conditions.rest,
    "mod": _Conditions.rest,
    "abs": _Conditions.absolute,
    "nullif": _Conditions.null_if,
}


def _place(form: Form) -> exp.Expression | None:
    found = form.source
    return found if isinstance(found, exp.Expression) and span_of(found) is not None else None


def _is_escaped(form: Constant) -> bool:
    """True for a text whose value is another than what is written."""
    return isinstance(form.source, exp.Expression) and bool(form.source.meta.get("raw"))


def _is_number(kind: Type) -> bool:
    return kind in INTEGRAL or kind in FRACTIONAL or is_decimal(kind)


def _family(kind: Type) -> str | None:
    """Values that are compared with one another."""
    if kind in INTEGRAL or is_decimal(kind):
        return "exact"
    if is_interval(kind):
        return "interval"
    return kind if kind in ("double", "string", "boolean", "date", "timestamp", "void") else None


def _is_whole(arguments: tuple[Form, ...]) -> bool:
    """True for one whole number, of at most eight bytes when a minus is before it."""
    (first, *rest) = arguments
    return not rest and isinstance(first, Constant) and first.is_whole and int(first.value) <= 1 << 63


def _negative(form: Form) -> Typed:
    value = -int(form.value) if isinstance(form, Constant) else 0
    return ("constant", value), "int" if value >= -(1 << 31) else "bigint"


def _constant(form: Constant) -> Typed:
    if form.type == "void":
        return _NULL
    if form.type == "boolean":
        return ("constant", form.value == "true"), "boolean"
    if form.is_text:
        return ("constant", form.value), "string"
    if form.type == "double":
        return ("constant", float(form.value)), "double"
    if is_decimal(form.type):
        return ("decimal", form.value), form.type
    return ("constant", int(form.value)), form.type
