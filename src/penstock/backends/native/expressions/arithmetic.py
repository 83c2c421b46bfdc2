"""Arithmetic of whole and floating numbers: computed in a wider type, in which every result can be seen."""

from __future__ import annotations

from collections.abc import Callable
from operator import add, mul, sub

from penstock.backends.native.expressions import decimals
from penstock.backends.native.expressions.coercion import alike, as_type, operands
from penstock.backends.native.expressions.digits import digits_of
from penstock.backends.native.expressions.kinds import RANGE, storage
from penstock.backends.native.expressions.once import in_order, once
from penstock.backends.native.expressions.site import Rule, Site, any_raises, whole_constant, whole_value
from penstock.backends.native.proof import Proven
from penstock.backends.native.raised import Failure, said
from penstock.catalog.types import FRACTIONAL, INTEGRAL, Type, is_decimal, is_numeric

_WIDER = {"tinyint": "SMALLINT", "smallint": "INTEGER", "int": "BIGINT", "bigint": "HUGEINT"}
_JAVA = {"tinyint": "byte", "smallint": "short", "int": "integer", "bigint": "long"}
_FUNCTIONS = {"+": "add", "-": "subtract", "*": "multiply"}
_INSTEAD = "to tolerate divisor being 0 and return NULL instead."
_DIGITS_OF_SIGNED = 34
_SAFE = {"try_add": "+", "try_subtract": "-", "try_multiply": "*", "try_divide": "/", "try_mod": "%"}


def numbers(site: Site) -> list[Proven]:
    """Both operands in one numeric type; a NULL has the type of the other side."""
    if not all(kind == "void" or is_numeric(kind) for kind in site.types) or set(site.types) == {"void"}:
        site.refuse()
    return operands(site)


def operated(site: Site) -> Proven:
    """`+`, `-`, `*`."""
    sign = _SAFE.get(site.name, site.name)
    values = numbers(site)
    kind = values[0].type
    if is_decimal(kind):
        return decimals.operated(site, sign, values)
    if kind in FRACTIONAL:
        return Proven(in_order(values, lambda left, right: f"({left} {sign} {right})"), kind, any_raises(values))
    safe = site.name in _SAFE
    reached = _reached(sign, *values)
    if _is_within(reached, kind):
        text = in_order(values, lambda left, right: f"({left} {sign} {right})")
        return Proven(text, kind, any_raises(values), reached)

    beyond = _beyond(sign, values)

    def body(left: str, right: str) -> str:
        otherwise = "NULL" if safe else _overflow(site, sign, kind, left, right).raising
        if beyond is not None:
            return f"CASE WHEN {beyond(left, right)} THEN {otherwise} ELSE {left} {sign} {right} END"
        wide = f"(CAST({left} AS {_WIDER[kind]}) {sign} CAST({right} AS {_WIDER[kind]}))"
        return within(wide, kind, otherwise)

    return Proven(in_order(values, body), kind, any_raises(values) or not safe)


def bounds_of(value: Proven) -> tuple[int, int]:
    """The least and the largest number that a whole number can be."""
    return value.bounds or RANGE[value.type]


def _reached(sign: str, left: Proven, right: Proven) -> tuple[int, int]:
    """The least and the largest result, as if there were no overflow."""
    operation = {"+": add, "-": sub, "*": mul}[sign]
    results = [operation(one, two) for one in bounds_of(left) for two in bounds_of(right)]
    return min(results), max(results)


def _beyond(sign: str, values: list[Proven]) -> Callable[[str, str], str] | None:
    """The condition under which a sum or difference with a known number is beyond the type: HUGEINT takes longer."""
    least, most = RANGE[values[0].type]
    known = [low if low == high else None for low, high in map(bounds_of, values)]
    if sign == "*" or known == [None, None]:
        return None
    if known[1] is not None:
        more = known[1] if sign == "+" else -known[1]
        return lambda left, _: f"{left} > {most - more}" if more > 0 else f"{left} < {least - more}"
    first = known[0] or 0
    if sign == "-":
        return lambda _, right: f"{right} < {first - most}" if first >= 0 else f"{right} > {first - least}"
    return lambda _, right: f"{right} > {most - first}" if first > 0 else f"{right} < {least - first}"


def _is_within(bounds: tuple[int, int], kind: Type) -> bool:
    least, most = RANGE[kind]
    return least <= bounds[0] and bounds[1] <= most


def within(wide: str, kind: Type, otherwise: str) -> str:
    """A wider whole number as one of the type, or what is done where it is none."""
    least, most = RANGE[kind]
    return once(
        [wide],
        lambda known: (
            f"CASE WHEN {known} NOT BETWEEN {least} AND {most} THEN {otherwise}"
            f" ELSE CAST({known} AS {storage(kind)}) END"
        ),
    )


def _overflow(site: Site, sign: str, kind: Type, left: str, right: str) -> Failure:
    function = f"try_{_FUNCTIONS[sign]}"
    if kind in ("tinyint", "smallint"):
        sentence = f"{{left}}S {sign} {{right}}S caused overflow."
        message = said(
            f"{sentence} Use `{function}` to ignore overflow problem and return NULL.", left=left, right=right
        )
        return Failure("BINARY_ARITHMETIC_OVERFLOW", "22003", message)
    return overflowed(f"{_JAVA[kind]} overflow. Use '{function}' to tolerate overflow and return NULL instead.", site)


def overflowed(sentence: str, site: Site | None = None) -> Failure:
    """ARITHMETIC_OVERFLOW, with which Spark may name the expression."""
    return Failure("ARITHMETIC_OVERFLOW", "22003", said(sentence), "" if site is None else site.fragment)


def by_zero(site: Site, word: str = "Division", function: str = "try_divide") -> Failure:
    """DIVIDE_BY_ZERO or REMAINDER_BY_ZERO."""
    code = "DIVIDE_BY_ZERO" if word == "Division" else "REMAINDER_BY_ZERO"
    return Failure(code, "22012", said(f"{word} by zero. Use `{function}` {_INSTEAD}"), site.fragment)


def right_first(values: list[Proven], body: Callable[[str, str], str]) -> str:
    """A division: Spark computes the divisor, and the dividend only if there is one."""
    left, right = values
    return in_order([right, left], lambda divisor, dividend: body(dividend, divisor))


def guarded(site: Site, value: str, names: tuple[str, str], failure: Failure | None) -> tuple[str, bool]:
    """A quotient where the divisor is not zero and the dividend is there; whether it can raise."""
    dividend, divisor = names
    literal = whole_value(site.forms[1])
    if literal:
        return value, False
    if failure is None:
        return f"CASE WHEN {divisor} <> 0 THEN {value} END", False
    return f"CASE WHEN {divisor} = 0 AND {dividend} IS NOT NULL THEN {failure.raising} ELSE {value} END", True


def divided(site: Site) -> Proven:
    """`/`, which is DOUBLE for all but exact numbers."""
    values = numbers(site)
    if is_decimal(values[0].type):
        return decimals.divided(site, values, _failure(site))
    values = [as_type(site, form, value, "double") for form, value in zip(site.forms, values, strict=True)]
    return _quotient(site, values, lambda left, right: f"({left} / {right})", "double")


def _failure(site: Site) -> Failure | None:
    return None if site.name in _SAFE else by_zero(site)


def _quotient(site: Site, values: list[Proven], operation: Callable[[str, str], str], kind: Type) -> Proven:
    raises = any_raises(values)

    def body(left: str, right: str) -> str:
        nonlocal raises
        text, fails = guarded(site, operation(left, right), (left, right), _failure(site))
        raises = raises or fails
        return text

    return Proven(right_first(values, body), kind, raises)


def whole_divided(site: Site) -> Proven:
    """`div` of whole numbers, which is a BIGINT."""
    if not all(kind in (*INTEGRAL, "void") for kind in site.types) or set(site.types) == {"void"}:
        site.refuse()
    values = [as_type(site, form, value, "bigint") for form, value in zip(site.forms, site.values, strict=True)]
    sentence = "Overflow in integral divide. Use 'try_divide' to tolerate overflow and return NULL instead."
    least = RANGE["bigint"][0]
    overflows = site.types[0] == "bigint" and whole_constant(site.forms[1]) in (None, -1)

    def operation(left: str, right: str) -> str:
        quotient = f"({left} // {right})"
        if not overflows:
            return quotient
        bad = f"{left} = {least} AND {right} = -1"
        return f"CASE WHEN {bad} THEN {overflowed(sentence, site).raising} ELSE {quotient} END"

    found = _quotient(site, values, operation, "bigint")
    return Proven(found.text, found.type, found.raises or overflows)


def remainder(site: Site) -> Proven:
    """`%` and mod: with the sign of the dividend."""
    values = numbers(site)
    failure = None if site.name in _SAFE else by_zero(site, "Remainder", "try_mod")
    if is_decimal(values[0].type):
        return decimals.remainder(site, values, failure)
    kind = values[0].type
    raises = any_raises(values)

    def body(left: str, right: str) -> str:
        nonlocal raises
        text, fails = guarded(site, _rest(site, kind, left, right), (left, right), failure)
        raises = raises or fails
        return text

    literal = abs(whole_value(site.forms[1]) or 0)
    known = (1 - literal, literal - 1) if kind in INTEGRAL and literal else None
    return Proven(right_first(values, body), kind, raises, known)


def _rest(site: Site, kind: Type, left: str, right: str) -> str:
    """The least number divided by -1 overflows in DuckDB, though nothing is left."""
    literal = whole_value(site.forms[1])
    if kind in FRACTIONAL or (literal is not None and literal != -1):
        return f"({left} % {right})"
    return f"CASE WHEN {right} = -1 THEN {left} - {left} ELSE {left} % {right} END"


def positive_rest(site: Site) -> Proven:
    """Pmod of whole numbers: `r = a % n`, and `(r + n) % n` where r is below zero."""
    values = numbers(site)
    kind = values[0].type
    if kind not in INTEGRAL:
        site.refuse()
    divisor = whole_value(site.forms[1]) or 0
    if 0 < divisor <= 1 << 30:
        text = once(values[:1], lambda left: f"((({left} % {divisor}) + {divisor}) % {divisor})")
        return Proven(f"CAST({text} AS {storage(kind)})", kind, values[0].raises, (0, divisor - 1))
    raises = any_raises(values)

    def body(left: str, right: str) -> str:
        nonlocal raises
        value = once([f"(CAST({left} AS HUGEINT) % {right})"], lambda rest: _above_zero(kind, rest, right))
        text, fails = guarded(site, value, (left, right), by_zero(site, "Remainder", "try_mod"))
        raises = raises or fails
        return text

    return Proven(right_first(values, body), kind, raises)


def _above_zero(kind: Type, rest: str, divisor: str) -> str:
    """The sum wraps around in Java, where both are below zero and the type is an INT or a BIGINT."""
    bits = {"int": 32, "bigint": 64}.get(kind)
    total = f"({rest} + {divisor})"
    if bits is not None:
        total = f"CASE WHEN {total} < {RANGE[kind][0]} THEN {total} + {1 << bits} ELSE {total} END"
    return f"CAST(CASE WHEN {rest} < 0 THEN ({total}) % {divisor} ELSE {rest} END AS {storage(kind)})"


def negated(site: Site) -> Proven:
    """Minus before a number."""
    (value,) = site.values
    kind = value.type
    if not is_numeric(kind):
        site.refuse()
    if kind not in INTEGRAL:
        _few_digits(site, kind)
        return Proven(f"(-{value.text})", kind, value.raises)
    return Proven(once([value], lambda known: _minus(kind, known, f"-{known}")), kind, raises=True)


def _few_digits(site: Site, kind: Type) -> None:
    """Spark rounds to 34 digits where it turns the sign of an exact number."""
    found = digits_of(kind)
    if found is not None and found.digits > _DIGITS_OF_SIGNED:
        site.refuse("of so many digits")


def _minus(kind: Type, known: str, answer: str) -> str:
    """Spark names no expression with it."""
    failure = overflowed(f"{_JAVA[kind]} overflow.")
    return f"CASE WHEN {known} = {RANGE[kind][0]} THEN {failure.raising} ELSE {answer} END"


def absolute(site: Site) -> Proven:
    """Abs."""
    (value,) = site.values
    kind = value.type
    if not is_numeric(kind):
        site.refuse()
    if kind not in INTEGRAL:
        _few_digits(site, kind)
        return Proven(f"abs({value.text})", kind, value.raises)
    return Proven(once([value], lambda known: _minus(kind, known, f"abs({known})")), kind, raises=True)


def _same(site: Site) -> Proven:
    (value,) = site.values
    if not is_numeric(value.type):
        site.refuse()
    return value


def bits(site: Site) -> Proven:
    """`&`, `|`, `^` of whole numbers."""
    if not all(kind in INTEGRAL for kind in site.types):
        site.refuse()
    values = alike(site, site.forms, site.values)

    def body(left: str, right: str) -> str:
        return f"xor({left}, {right})" if site.name == "^" else f"({left} {site.name} {right})"

    return Proven(in_order(values, body), values[0].type, any_raises(values))


def inverted(site: Site) -> Proven:
    """`~`."""
    (value,) = site.values
    if value.type not in INTEGRAL:
        site.refuse()
    return Proven(f"(~{value.text})", value.type, value.raises)


RULES: dict[tuple[str, int | None], Rule] = {
    **{(name, 2): operated for name in ("+", "-", "*", "try_add", "try_subtract", "try_multiply")},
    **{(name, 2): divided for name in ("/", "try_divide")},
    **{(name, 2): remainder for name in ("%", "mod", "try_mod")},
    ("div", 2): whole_divided,
    ("pmod", 2): positive_rest,
    ("-", 1): negated,
    ("negative", 1): negated,
    ("positive", 1): _same,
    ("abs", 1): absolute,
    **{(name, 2): bits for name in ("&", "|", "^")},
    ("~", 1): inverted,
}
