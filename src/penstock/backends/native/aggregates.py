"""Spark's aggregates as DuckDB's: a table of functions, each with its translation, its type and its errors.

An aggregate becomes calls of DuckDB that stand in the grouping query under names of their own (`Calls`), and an
expression over these that says the rest: that a sum of BIGINTs is a BIGINT or an error, how an average is rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from penstock.backends.native.comparing import directed_sort_key, key, require_compared, sort_key, sorted_by
from penstock.backends.native.expressions.kinds import storage
from penstock.backends.native.expressions.once import ordered
from penstock.backends.native.lists import LISTS, Answer, SortedRows, sorted_rows
from penstock.backends.native.proof import NotProvenError, Proven, quoted
from penstock.backends.native.raised import Failure, said
from penstock.backends.native.wide_sums import SUMMED, averaged, wide_sum
from penstock.catalog.types import FRACTIONAL, INTEGRAL, Type, is_decimal, is_numeric, struct_fields
from penstock.circuit.raised import OUT_OF_RANGE, OVERFLOW, SUM_TOO_LONG, SUM_TOO_WIDE
from penstock.plan.forms import Aggregated, Call, Case, Constant, Form, Named, Star, called
from penstock.plan.scalar import scalar_of

Types = Mapping[str, Type | None]
Reader = Callable[[Form, Types], Proven]
_DIGITS = 38
_NO_DIVISOR = "Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead."


@dataclass
class Calls:
    """DuckDB's aggregate and window calls of one query, each under a name of its own.

    `beneath` names what window calls go by in a query below.
    """

    named: dict[str, str] = field(default_factory=dict)
    beneath: dict[str, str] = field(default_factory=dict)

    def name(self, text: str) -> str:
        """The column that holds the answer of a call."""
        return quoted(self.named.setdefault(text, f"__call{len(self.named)}"))

    @property
    def items(self) -> list[str]:
        """The calls as items of a SELECT."""
        return [f"{text} AS {quoted(name)}" for text, name in self.named.items()]


@dataclass(frozen=True)
class Asked:
    """One aggregate call of Spark, its arguments and conditions as DuckDB has them.

    `within` has the values of its WITHIN GROUP, each with whether it descends, and `order` the same as text.
    """

    calls: Calls
    form: Form
    function: str
    arguments: tuple[Proven, ...]
    distinct: bool = False
    condition: str | None = None
    order: tuple[str, ...] = ()
    over: str = ""
    within: tuple[tuple[Proven, bool], ...] = ()

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
    rows = sorted_rows(form)
    if rows is not None and not over:
        return _of_sorted_rows(rows, form, types, scalar, calls)
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
    values = [scalar(item.value, types) for item in whole.within]
    order = tuple(
        sorted_by(value, descending=item.descending, nulls_first=item.nulls_first)
        for value, item in zip(values, whole.within, strict=True)
    )
    within = tuple(
        (_guarded(value, condition), item.descending) for value, item in zip(values, whole.within, strict=True)
    )
    return rule(Asked(calls, form, whole.call.function, arguments, whole.distinct, condition, order, over, within))


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
        found.append(_guarded(value, condition))
    return found


def _guarded(value: Proven, condition: str | None) -> Proven:
    """A value that is computed of the rows only that fulfil a condition, where it can raise."""
    if condition is None or not value.raises:
        return value
    return Proven(f"CASE WHEN {condition} THEN {value.text} END", value.type, raises=True)


def _of_sorted_rows(rows: SortedRows, form: Form, types: Types, scalar: Reader, calls: Calls) -> Proven:
    """Values of rows in an order that the plan has completed."""
    condition = None if rows.core.condition is None else scalar(rows.core.condition, types).text
    value = _guarded(scalar(rows.value, types), condition)
    order = [(_guarded(scalar(item.value, types), condition), item.descending, item.nulls_first) for item in rows.order]
    items = tuple(sorted_by(one, descending=down, nulls_first=nulls) for one, down, nulls in order)
    asked = Asked(calls, form, rows.core.call.function, (value,), rows.core.distinct, condition, items)
    match rows.answer:
        case Answer.FIRST:
            return Proven(asked.call("arg_min_null", value.text, directed_sort_key(order)), value.type)
        case Answer.TEXT:
            return _joined_in_order(rows, asked, scalar)
        case Answer.DIFFERENT:
            return _joined_where_first(rows, asked, scalar)
        case Answer.VALUES if rows.core.distinct:
            return _each_once(asked)
        case Answer.VALUES:
            return Proven(_list(asked, value.text, items), f"array<{value.type}>")
        case _:
            assert_never(rows.answer)


def _list(asked: Asked, value: str, order: tuple[str, ...], only: str | None = None) -> str:
    """The values as a list, which is empty of no rows."""
    kind = storage(asked.value.type)
    return f"coalesce({asked.call('list', value, order=order, only=only)}, CAST([] AS {kind}[]))"


def _each_once(asked: Asked) -> Proven:
    """Each value once, in its order."""
    if asked.value.type in FRACTIONAL:
        raise NotProvenError(what=f"{asked.function} of {asked.value.type}, among which are two zeros")
    if asked.value.type.startswith("struct<"):
        return _each_struct_once(asked)
    require_compared(asked.value.type)
    values = _list(asked, asked.value.text, asked.order, f"{asked.value.text} IS NOT NULL")
    return Proven(values, f"array<{asked.value.type}>")


def _each_struct_once(asked: Asked) -> Proven:
    """The same of STRUCTs, which are sorted when they have been told apart."""
    kind = asked.value.type
    for _, of in struct_fields(kind):
        if of in FRACTIONAL:
            raise NotProvenError(what=f"{asked.function} of {kind}, among which are two zeros")
        require_compared(of)
    found = _list(asked, asked.value.text, (), f"{asked.value.text} IS NOT NULL")
    return Proven(ordered(found, lambda row: sort_key([Proven(row, kind)])), f"array<{kind}>")


def _joined_in_order(rows: SortedRows, asked: Asked, scalar: Reader) -> Proven:
    """LISTAGG beside DISTINCT aggregates, or itself of DISTINCT values."""
    between = _separator(rows.separator, asked)
    if asked.value.type != "string":
        raise NotProvenError(what=f"the aggregate {shown(asked.form)}")
    return Proven(asked.call("string_agg", asked.value.text, scalar(between, {}).text, order=asked.order), "string")


def _joined_where_first(rows: SortedRows, asked: Asked, scalar: Reader) -> Proven:
    """LISTAGG of DISTINCT texts, each where it comes first; there is none for no rows."""
    between = _separator(rows.separator, asked)
    if asked.value.type != "string" or rows.core.distinct:
        raise NotProvenError(what=f"the aggregate {shown(asked.form)}")
    values = asked.call("list", asked.value.text, order=asked.order)
    different = f"list_filter({values}, lambda x, i: list_position({values}, x) = i)"
    return Proven(f"array_to_string({different}, {scalar(between, {}).text})", "string")


def _separator(form: Form | None, asked: Asked) -> Form:
    """The separator between texts, if that is a text in quotes."""
    if form is None or not (isinstance(form, Constant) and form.is_text):
        raise NotProvenError(what=f"{asked.function} with a separator that is no text")
    return form


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
    plain = [item.value if isinstance(item, Named) else item for item in parts]
    turned = {place: _turned(item) for place, item in enumerate(plain) if called(item, "~")}
    values = [scalar(turned.get(place, item), types) for place, item in enumerate(plain)]
    return Proven(sort_key(values, turned), "binary", raises=any(value.raises for value in values))


def _turned(form: Form) -> Form:
    """The value that the other way round is `~x`, of integers, `~unix_date(x)` or `~unix_micros(x)`."""
    (number,) = called(form, "~") or (form,)
    (value,) = called(number, "unix_date", "unix_micros") or (number,)
    return value


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
        return _decimal_sum(asked)
    total = asked.call("sum", value.text)  # a HUGEINT
    narrow = f"TRY_CAST({total} AS BIGINT)"
    if asked.function == "try_sum":
        return Proven(narrow, "bigint")
    raised = Failure(OVERFLOW, OUT_OF_RANGE, said(SUM_TOO_LONG), "").raising
    return Proven(f"CASE WHEN {total} IS NULL OR {narrow} IS NOT NULL THEN {narrow} ELSE {raised} END", "bigint", True)  # noqa: FBT003


def _decimal_sum(asked: Asked) -> Proven:
    precision, scale = _digits(asked.value.type)
    kind = f"decimal({min(precision + 10, _DIGITS)},{scale})"
    if precision <= SUMMED:
        return Proven(f"CAST({asked.call('sum', asked.value.text)} AS {kind.upper()})", kind)
    if asked.over:
        raise NotProvenError(what=f"{asked.function} of {asked.value.type} over a window")
    if asked.function == "try_sum":
        return Proven(wide_sum(asked.call, asked.value.text, scale, "NULL"), kind)
    raised = Failure(OVERFLOW, OUT_OF_RANGE, said(SUM_TOO_WIDE), shown(asked.form)).raising
    return Proven(wide_sum(asked.call, asked.value.text, scale, raised), kind, True)  # noqa: FBT003


def _average(asked: Asked) -> Proven:
    value = asked.of_type(is_numeric)
    if not is_decimal(value.type):
        return Proven(asked.call("avg", f"CAST({_distinct_key(asked)} AS DOUBLE)"), "double")
    precision, scale = _digits(value.type)
    if precision > SUMMED:
        raise NotProvenError(what=f"{asked.function} of {value.type}, whose sum may overflow")
    count = f"CAST({asked.call('count', value.text)} AS HUGEINT)"
    kind = f"decimal({precision + 4},{scale + 4})"
    return Proven(averaged(asked.call("sum", value.text), count, precision, scale), kind)


def _digits(kind: Type) -> tuple[int, int]:
    """Precision and scale of a DECIMAL."""
    precision, scale = kind[len("decimal(") : -1].split(",")
    return int(precision), int(scale)


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
        value = asked.of_type(is_numeric)
        number = f"CAST({_distinct_key(asked)} AS DOUBLE)"
        answer = asked.call(function, number)
        if value.type in FRACTIONAL:  # beside NaN or infinity there is no spread; DuckDB says 0 of one alone
            odd = asked.call("bool_or", f"NOT isfinite({number})")
            answer = f"CASE WHEN {odd} AND {answer} IS NOT NULL THEN CAST('NaN' AS DOUBLE) ELSE {answer} END"
        return Proven(answer, "double")

    return rule


def _paired(function: str) -> Callable[[Asked], Proven]:
    """A statistic of pairs of numbers without NaN and infinity, beside which DuckDB and Spark differ."""

    def rule(asked: Asked) -> Proven:
        _refuse_fractional(asked)
        return Proven(_of_pair(asked, function), "double")

    return rule


def _refuse_fractional(asked: Asked) -> None:
    kinds = [item.type for item in asked.arguments if item.type in FRACTIONAL]
    if kinds:
        raise NotProvenError(what=f"{asked.function} of {kinds[0]}")


def _paired_count(asked: Asked) -> Proven:
    return Proven(_of_pair(asked, "regr_count"), "bigint")


def _paired_average(place: int) -> Callable[[Asked], Proven]:
    """The average of one side; of DECIMALs it is one on Spark."""

    def rule(asked: Asked) -> Proven:
        found = _of_pair(asked, asked.function)
        if is_decimal(asked.arguments[place].type):
            raise NotProvenError(what=f"{asked.function} of {asked.arguments[place].type}")
        return Proven(found, "double")

    return rule


def _of_pair(asked: Asked, function: str) -> str:
    if len(asked.arguments) != 2 or asked.distinct or not all(is_numeric(item.type) for item in asked.arguments):  # noqa: PLR2004 - a pair
        raise NotProvenError(what=f"the aggregate {shown(asked.form)}")
    return asked.call(function, *(f"CAST({item.text} AS DOUBLE)" for item in asked.arguments))


def _correlation(asked: Asked) -> Proven:
    """CORR: NULL of one pair; Spark divides by zero where one of the two never changes."""
    pairs, apart = _of_pair(asked, "regr_count"), _of_pair(asked, "regr_sxy")
    divisor = f"sqrt({_of_pair(asked, 'regr_sxx')} * {_of_pair(asked, 'regr_syy')})"
    raised = Failure("DIVIDE_BY_ZERO", "22012", said(_NO_DIVISOR), shown(asked.form)).raising
    answer = f"CASE WHEN {divisor} = 0 THEN {raised} ELSE {apart} / {divisor} END"
    return Proven(f"CASE WHEN {pairs} > 1 THEN {answer} END", "double", True)  # noqa: FBT003


def _slope(asked: Asked) -> Proven:
    """REGR_SLOPE: NULL where x never changes."""
    _refuse_fractional(asked)
    return Proven(f"CASE WHEN {_of_pair(asked, 'regr_sxx')} <> 0 THEN {_of_pair(asked, 'regr_slope')} END", "double")


def _percentile(asked: Asked) -> Proven:
    """MEDIAN and PERCENTILE; between numbers in floating point Spark interpolates in its own way."""
    value, *others = asked.arguments
    written = asked.form.call if isinstance(asked.form, Aggregated) else asked.form
    shares = [item for item in written.parts[1:] if isinstance(item, Constant) and item.is_number]
    if len(shares) != len(others) or len(others) != (asked.function == "percentile"):
        raise NotProvenError(what=f"the aggregate {shown(asked.form)}")
    if not is_numeric(value.type) or asked.distinct or asked.over:
        raise NotProvenError(what=f"{asked.function} of {value.type}")
    share = shares[0].value if shares else "0.5"
    if value.type in FRACTIONAL:
        return _at_share(asked, value, share)
    return Proven(asked.call("quantile_cont", f"CAST({value.text} AS DOUBLE)", share), "double")


def _percentile_within(asked: Asked) -> Proven:
    """PERCENTILE_CONT and PERCENTILE_DISC of numbers in an order."""
    written = asked.form.call if isinstance(asked.form, Aggregated) else None
    (share,) = written.arguments if written is not None and len(written.arguments) == 1 else (None,)
    if not (isinstance(share, Constant) and share.is_number) or len(asked.within) != 1 or asked.distinct or asked.over:
        raise NotProvenError(what=f"the aggregate {shown(asked.form)}")
    value, descending = asked.within[0]
    if value.type not in (*INTEGRAL, *FRACTIONAL):
        raise NotProvenError(what=f"{asked.function} of {value.type}")
    return _at_share(asked, value, share.value, descending=descending, discrete=asked.function == "percentile_disc")


def _at_share(asked: Asked, value: Proven, share: str, *, descending: bool = False, discrete: bool = False) -> Proven:
    """The number at a share of the way through the sorted ones, between two of them the sum of their shares."""
    number = f"CAST({value.text} AS DOUBLE)"
    order = (f"{number} {'DESC' if descending else 'ASC'}",)
    numbers = asked.call("list", number, order=order, only=f"{value.text} IS NOT NULL")
    if discrete:
        place = f"greatest(ceil(len({numbers}) * CAST({share} AS DOUBLE)), 1)"
        return Proven(f"{numbers}[CAST({place} AS BIGINT)]", "double")
    place = f"((len({numbers}) - 1) * CAST({share} AS DOUBLE))"
    lower, higher = f"{numbers}[CAST(floor({place}) AS BIGINT) + 1]", f"{numbers}[CAST(ceil({place}) AS BIGINT) + 1]"
    between = f"(ceil({place}) - {place}) * {lower} + ({place} - floor({place})) * {higher}"
    return Proven(f"CASE WHEN {lower} = {higher} THEN {lower} ELSE {between} END", "double")


def _mode(asked: Asked) -> Proven:
    """MODE, which the plan has made the least of the values that are there most often."""
    written = asked.form.call if isinstance(asked.form, Aggregated) else asked.form
    value = asked.arguments[0] if asked.arguments else None
    if value is None or asked.distinct or asked.over or written.parts[1:] != (Constant("true", "boolean"),):
        raise NotProvenError(what=f"the aggregate {asked.function}")
    require_compared(value.type)
    if value.type in (*FRACTIONAL, "binary"):
        raise NotProvenError(what=f"mode of {value.type}")
    counts = asked.call("histogram", value.text)  # by its values, which are in their order
    most = f"list_position(map_values({counts}), list_max(map_values({counts})))"
    return Proven(f"map_keys({counts})[{most}]", value.type)


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


def _only(asked: Asked) -> Proven:
    """The value of one row: FIRST, which the binder leaves only where more rows are an error."""
    if asked.distinct or asked.over or asked.condition is not None:
        raise NotProvenError(what=f"the aggregate {shown(asked.form)}")
    return Proven(asked.call("first", asked.value.text), asked.value.type)


def _is_boolean(kind: Type) -> bool:
    return kind == "boolean"


def _is_integral(kind: Type) -> bool:
    return kind in INTEGRAL


_ORDERED = frozenset(["listagg", "string_agg", "percentile_cont", "percentile_disc"])
_CHOOSING = frozenset(["min_by", "max_by"])
_RULES: dict[str, Callable[[Asked], Proven]] = {
    "count": _count,
    "count_if": _count_if,
    **dict.fromkeys(["sum", "try_sum"], _sum),
    **dict.fromkeys(["avg", "mean", "try_avg"], _average),
    "min": _least("min"),
    "max": _least("max"),
    **dict.fromkeys(["bool_and", "every"], _same("bool_and", _is_boolean)),
    **dict.fromkeys(["bool_or", "some", "any"], _same("bool_or", _is_boolean)),
    **{name: _same(name, _is_integral) for name in ("bit_and", "bit_or", "bit_xor")},
    **dict.fromkeys(["std", "stddev", "stddev_samp"], _spread("stddev_samp")),
    **dict.fromkeys(["variance", "var_samp"], _spread("var_samp")),
    "stddev_pop": _spread("stddev_pop"),
    "var_pop": _spread("var_pop"),
    **{name: _paired(name) for name in ("covar_pop", "covar_samp", "regr_intercept")},
    **{name: _paired(name) for name in ("regr_r2", "regr_sxx", "regr_sxy", "regr_syy")},
    "regr_avgy": _paired_average(0),
    "regr_avgx": _paired_average(1),
    "regr_count": _paired_count,
    "regr_slope": _slope,
    "corr": _correlation,
    **dict.fromkeys(["median", "percentile"], _percentile),
    **dict.fromkeys(["percentile_cont", "percentile_disc"], _percentile_within),
    "mode": _mode,
    "first": _only,
    "min_by": _chosen("arg_min_null"),
    "max_by": _chosen("arg_max_null"),
    **dict.fromkeys(["listagg", "string_agg"], _joined),
}
AGGREGATES = frozenset([*_RULES, *LISTS])
