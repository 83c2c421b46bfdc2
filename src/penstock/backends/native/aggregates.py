"""Spark's aggregates as DuckDB's: a table of functions, each with its translation, its type and its errors.

An aggregate becomes calls of DuckDB that stand in the grouping query under names of their own (`Calls`), and an
expression over these that says the rest: that a sum of BIGINTs is a BIGINT or an error, how an average is rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from penstock.backends.native.comparing import key, require_compared, sort_key, sorted_by
from penstock.backends.native.failure import failure
from penstock.backends.native.proof import NotProvenError, Proven, quoted
from penstock.catalog.types import FRACTIONAL, INTEGRAL, Type, is_decimal, is_numeric
from penstock.plan.forms import Aggregated, Call, Case, Constant, Form, Named, Star
from penstock.plan.scalar import scalar_of

Types = Mapping[str, Type | None]
Reader = Callable[[Form, Types], Proven]
_DIGITS = 38
_SUMMED = _DIGITS - 10  # digits of a DECIMAL whose sum has ten more: no table has the rows to fill these


@dataclass
class Calls:
    """DuckDB's aggregate and window calls of one query, each under a name of its own."""

    named: dict[str, str] = field(default_factory=dict)

    def name(self, text: str) -> str:
        """The column that holds the answer of a call."""
        return quoted(self.named.setdefault(text, f"__call{len(self.named)}"))

    @property
    def items(self) -> list[str]:
        """The calls as items of a SELECT."""
        return [f"{text} AS {quoted(name)}" for text, name in self.named.items()]


@dataclass(frozen=True)
class Asked:
    """One aggregate call of Spark, its arguments and conditions as DuckDB has them."""

    calls: Calls
    form: Form
    function: str
    arguments: tuple[Proven, ...]
    distinct: bool = False
    condition: str | None = None
    order: tuple[str, ...] = ()
    over: str = ""

    def call(self, function: str, *arguments: str, order: tuple[str, ...] = (), only: str | None = None) -> str:
        """The column that holds DuckDB's answer for the call's rows, with `only` those of them that fulfil it."""
        conditions = " AND ".join(f"({item})" for item in (self.condition, only) if item is not None)
        inside = ("DISTINCT " if self.distinct else "") + ", ".join(arguments)
        inside += f" ORDER BY {', '.join(order)}" if order else ""
        where = f" FILTER (WHERE {conditions})" if conditions else ""
        return self.calls.name(f"{function}({inside}){where}{self.over}")

    @property
    def value(self) -> Proven:
        """The only argument."""
        if len(self.arguments) != 1:
            raise NotProvenError(what=f"{self.function} of {len(self.arguments)} arguments")
        return self.arguments[0]

    def of_type(self, wanted: Callable[[Type], bool]) -> Proven:
        """The only argument, of a type that is wanted."""
        if not wanted(self.value.type):
            raise NotProvenError(what=f"{self.function} of {self.value.type}")
        return self.value


def aggregated(form: Form, types: Types, scalar: Reader, calls: Calls, over: str = "") -> Proven:
    """An aggregate call over rows with columns of these types, as an expression over what it adds to `calls`."""
    whole = form if isinstance(form, Aggregated) else Aggregated(form) if isinstance(form, Call) else None
    if whole is None:
        raise NotProvenError(what=f"the aggregate {shown(form)}")
    rule = _RULES.get(whole.call.function)
    if rule is None:
        raise NotProvenError(what=f"the aggregate {whole.call.function}")
    if whole.nulls or (whole.within and whole.call.function not in _ORDERED) or (whole.distinct and over):
        raise NotProvenError(what=f"the aggregate {shown(form)}")
    condition = None if whole.condition is None else scalar(whole.condition, types).text
    arguments = tuple(_arguments(whole.call, types, scalar, condition))
    order = tuple(
        sorted_by(scalar(item.value, types), descending=item.descending, nulls_first=item.nulls_first)
        for item in whole.within
    )
    return rule(Asked(calls, form, whole.call.function, arguments, whole.distinct, condition, order, over))


def shown(form: Form) -> str:
    """A form as Spark SQL."""
    return scalar_of(form).text


def _arguments(call: Call, types: Types, scalar: Reader, condition: str | None) -> list[Proven]:
    """The arguments; what can fail is read of the rows only that fulfil the condition, as Spark does."""
    found: list[Proven] = []
    for item in call.arguments:
        if isinstance(item, Star):
            continue
        value = (_row(item, types, scalar) if found and call.function in _CHOOSING else None) or scalar(item, types)
        if condition is not None and value.raises:
            value = Proven(f"CASE WHEN {condition} THEN {value.text} END", value.type, raises=True)
        found.append(value)
    return found


def _row(form: Form, types: Types, scalar: Reader) -> Proven | None:
    """A row as the value by which another is chosen: `named_struct('o0', a)`, or such a one under a condition."""
    if isinstance(form, Case) and form.operand is None and form.otherwise is None and len(form.branches) == 1:
        (branch,) = form.branches
        row, condition = _row(branch.value, types, scalar), scalar(branch.condition, types)
        return row and Proven(
            f"CASE WHEN {condition.text} THEN {row.text} END", row.type, row.raises or condition.raises
        )
    if not isinstance(form, Call) or form.function not in ("named_struct", "struct"):
        return None
    parts = form.arguments[1::2] if form.function == "named_struct" else form.arguments
    values = [scalar(item.value if isinstance(item, Named) else item, types) for item in parts]
    return Proven(sort_key(values), "binary", raises=any(value.raises for value in values))


def _count(asked: Asked) -> Proven:
    """COUNT(*), COUNT(x), COUNT(a, b) of rows in which none is NULL, and their DISTINCT forms."""
    if asked.distinct:
        keys = [key(value) for value in asked.arguments]
        present = " AND ".join(f"{value.text} IS NOT NULL" for value in asked.arguments)
        whole = keys[0] if len(keys) == 1 else f"({', '.join(keys)})"
        return Proven(asked.call("count", whole, only=present), "bigint")
    if len(asked.arguments) > 1:
        present = " AND ".join(f"{value.text} IS NOT NULL" for value in asked.arguments)
        return Proven(asked.call("count", "*", only=present), "bigint")
    return Proven(asked.call("count", *[value.text for value in asked.arguments] or ["*"]), "bigint")


def _count_if(asked: Asked) -> Proven:
    value = asked.of_type(lambda kind: kind == "boolean")
    if asked.distinct:
        raise NotProvenError(what="count_if of DISTINCT values")
    return Proven(asked.call("count", f"CASE WHEN {value.text} THEN 1 END"), "bigint")


def _sum(asked: Asked) -> Proven:
    value = asked.of_type(is_numeric)
    if value.type in FRACTIONAL:
        return Proven(asked.call("sum", f"CAST({_distinct_key(asked)} AS DOUBLE)"), "double")
    if is_decimal(value.type):
        precision, scale = _summed(asked)
        kind = f"decimal({precision + 10},{scale})"
        return Proven(f"CAST({asked.call('sum', value.text)} AS {kind.upper()})", kind)
    total = asked.call("sum", value.text)  # a HUGEINT
    overflow = "long overflow. Use 'try_add' to tolerate overflow and return NULL instead."
    raised = failure("ARITHMETIC_OVERFLOW", "22003", overflow, shown(asked.form))
    narrow = f"TRY_CAST({total} AS BIGINT)"
    return Proven(f"CASE WHEN {total} IS NULL OR {narrow} IS NOT NULL THEN {narrow} ELSE {raised} END", "bigint", True)  # noqa: FBT003


def _average(asked: Asked) -> Proven:
    value = asked.of_type(is_numeric)
    if not is_decimal(value.type):
        return Proven(asked.call("avg", f"CAST({_distinct_key(asked)} AS DOUBLE)"), "double")
    precision, scale = _summed(asked)
    total, count = asked.call("sum", value.text), f"CAST({asked.call('count', value.text)} AS HUGEINT)"
    whole = f"CAST(replace(CAST({total} AS VARCHAR), '.', '') AS HUGEINT)"  # the sum in units of its last digit
    # Four more digits, of which the last is rounded half away from zero.
    rest = f"(20000 * ({whole} % {count}) + CAST(sign({whole}) AS HUGEINT) * {count}) // (2 * {count})"
    kind = f"decimal({precision + 4},{scale + 4})"
    unit = f"CAST('{10 ** -(scale + 4):.{scale + 4}f}' AS DECIMAL({scale + 4},{scale + 4}))"
    units = f"CAST(10000 * ({whole} // {count}) + {rest} AS DECIMAL({_DIGITS},0))"
    return Proven(f"CAST({units} * {unit} AS {kind.upper()})", kind)


def _summed(asked: Asked) -> tuple[int, int]:
    """The digits of the DECIMAL that is summed."""
    precision, scale = (int(part) for part in asked.value.type[len("decimal(") : -1].split(","))
    if precision > _SUMMED:
        raise NotProvenError(what=f"{asked.function} of {asked.value.type}, whose sum may overflow")
    return precision, scale


def _distinct_key(asked: Asked) -> str:
    return key(asked.value) if asked.distinct else asked.value.text


def _same(function: str, wanted: Callable[[Type], bool]) -> Callable[[Asked], Proven]:
    """An aggregate that both have, with the type of its argument."""

    def rule(asked: Asked) -> Proven:
        value = asked.of_type(wanted)
        return Proven(asked.call(function, value.text), value.type)

    return rule


def _least(function: str) -> Callable[[Asked], Proven]:
    def rule(asked: Asked) -> Proven:
        require_compared(asked.value.type)
        return Proven(asked.call(function, asked.value.text), asked.value.type)

    return rule


def _spread(function: str) -> Callable[[Asked], Proven]:
    def rule(asked: Asked) -> Proven:
        asked.of_type(is_numeric)
        return Proven(asked.call(function, f"CAST({_distinct_key(asked)} AS DOUBLE)"), "double")

    return rule


def _chosen(function: str) -> Callable[[Asked], Proven]:
    """The value of the row whose second argument is least or greatest; rows where that is NULL do not take part."""

    def rule(asked: Asked) -> Proven:
        if asked.distinct:
            raise NotProvenError(what=f"{asked.function} of DISTINCT values")
        value, by = asked.arguments
        require_compared(by.type)
        return Proven(asked.call(function, value.text, by.text), value.type)

    return rule


def _joined(asked: Asked) -> Proven:
    """LISTAGG of texts, in an order that the plan has completed."""
    value, *others = asked.arguments
    if value.type != "string" or asked.over or not asked.order:
        raise NotProvenError(what=f"{asked.function} of {value.type}")
    written = asked.form.call if isinstance(asked.form, Aggregated) else asked.form
    separator = written.arguments[1] if isinstance(written, Call) and others else None
    if separator is not None and not (isinstance(separator, Constant) and separator.is_text):
        raise NotProvenError(what=f"{asked.function} with a separator that is no text")
    between = others[0].text if others else "''"
    return Proven(asked.call("string_agg", value.text, between, order=asked.order), "string")


def _is_boolean(kind: Type) -> bool:
    return kind == "boolean"


def _is_integral(kind: Type) -> bool:
    return kind in INTEGRAL


_ORDERED = frozenset(["listagg", "string_agg"])
_CHOOSING = frozenset(["min_by", "max_by"])
_RULES: dict[str, Callable[[Asked], Proven]] = {
    "count": _count,
    "count_if": _count_if,
    "sum": _sum,
    **dict.fromkeys(["avg", "mean"], _average),
    "min": _least("min"),
    "max": _least("max"),
    **dict.fromkeys(["bool_and", "every"], _same("bool_and", _is_boolean)),
    **dict.fromkeys(["bool_or", "some", "any"], _same("bool_or", _is_boolean)),
    **{name: _same(name, _is_integral) for name in ("bit_and", "bit_or", "bit_xor")},
    **dict.fromkeys(["std", "stddev", "stddev_samp"], _spread("stddev_samp")),
    **dict.fromkeys(["variance", "var_samp"], _spread("var_samp")),
    "stddev_pop": _spread("stddev_pop"),
    "var_pop": _spread("var_pop"),
    "min_by": _chosen("arg_min_null"),
    "max_by": _chosen("arg_max_null"),
    **dict.fromkeys(["listagg", "string_agg"], _joined),
}
AGGREGATES = frozenset(_RULES)
