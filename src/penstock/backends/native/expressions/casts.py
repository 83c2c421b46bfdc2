"""A value in another type, as CAST and TRY_CAST give it in ANSI mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.backends.native.expressions.digits import Digits, digits_of
from penstock.backends.native.expressions.fractions import shortest, text_of_fraction
from penstock.backends.native.expressions.kinds import RANGE, storage
from penstock.backends.native.expressions.moments import moment_of_text
from penstock.backends.native.expressions.numerals import Failing, exact_of_text, fraction_of_text
from penstock.backends.native.expressions.once import applied, once
from penstock.backends.native.expressions.site import any_raises
from penstock.backends.native.expressions.texts import (
    date_of_text,
    integer_of_text,
    text_of_date,
    text_of_timestamp,
    truth_of_text,
)
from penstock.backends.native.proof import Proven, not_proven, quoted
from penstock.backends.native.raised import Failure, said, text_literal
from penstock.catalog.types import (
    FRACTIONAL,
    INTEGRAL,
    NOT_NULL,
    Type,
    is_decimal,
    split_types,
    struct_fields,
    struct_fields_as_written,
)

_LETTER = {"tinyint": "Y", "smallint": "S", "int": "", "bigint": "L"}
_OVERFLOW = (
    'The value {value} of the type "{from}" cannot be cast to "{to}" due to an overflow.'
    " Use `try_cast` to tolerate overflow and return NULL instead."
)
_MALFORMED = (
    'The value {value} of the type "STRING" cannot be cast to "{to}" because it is malformed. Correct the value as per'
    " the syntax, or change its target type. Use `try_cast` to tolerate malformed input and return NULL instead."
)
_TOO_LONG = "The value {value} cannot be interpreted as a numeric since it has more than 38 digits."


@dataclass(frozen=True, slots=True)
class Attempt:
    """A way to cast a value: SQL of the answer, of when there is none, and of what is raised then.

    With `raises` the answer itself does, for several reasons.
    """

    value: str
    bad: str = ""
    failure: Failure | None = None
    raises: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """A cast: SQL of a value, the types, the expression that Spark names in an error, and whether none is wanted."""

    text: str
    source: Type
    target: Type
    fragment: str
    safe: bool = False

    @property
    def plain(self) -> str:
        """DuckDB's own cast."""
        return f"CAST({self.text} AS {storage(self.target)})"


Way = Callable[[Wanted], Attempt]


def cast(value: Proven, target: Type, fragment: str, *, safe: bool = False) -> Proven:
    """The value in another type; with `safe` NULL where it has no value there. Raises NotProvenError."""
    if value.type == target:
        return value
    if value.type == "void":
        return Proven(f"CAST({value.text if value.raises else 'NULL'} AS {storage(target)})", target, value.raises)
    if _is_wider(value.type, target):
        return Proven(f"CAST({value.text} AS {storage(target)})", target, value.raises)
    way = _WAYS.get((_family(value.type), _family(target)))
    if way is None:
        not_proven(f"cast({value.type} as {target})")
    raises = False

    def attempted(text: str) -> str:
        nonlocal raises
        found = way(Wanted(text, value.type, target, fragment, safe))
        if not found.bad or found.failure is None:
            raises = found.raises
            return found.value
        raises = not safe
        answer = "NULL" if safe else found.failure.raising
        return f"CASE WHEN {found.bad} THEN {answer} ELSE {found.value} END"

    kept = value.bounds if value.type in INTEGRAL and target in INTEGRAL else None
    return Proven(once([value], attempted), target, value.raises or raises, kept)


def _is_wider(kind: Type, target: Type) -> bool:
    """True for an ARRAY or a MAP whose whole numbers have room for more in the other type, where no cast can fail.

    Keys that differ do so there, too.
    """
    if kind.startswith("array<") and target.startswith("array<"):
        return _has_room(kind[6:-1], target[6:-1])
    if not (kind.startswith("map<") and target.startswith("map<")):
        return False
    return all(map(_has_room, split_types(kind[4:-1]), split_types(target[4:-1])))


def _has_room(kind: Type, target: Type) -> bool:
    whole = kind in INTEGRAL and target in INTEGRAL and INTEGRAL.index(kind) <= INTEGRAL.index(target)
    return kind == target or whole or _is_wider(kind, target)


def _family(kind: Type) -> str:
    """Types whose values are cast in the same way."""
    if kind in INTEGRAL:
        return "whole"
    if kind in FRACTIONAL:
        return "fractional"
    nested = kind.partition("<")[0]
    return "decimal" if is_decimal(kind) else nested


def _plain(wanted: Wanted) -> Attempt:
    return Attempt(wanted.plain)


def _same(wanted: Wanted) -> Attempt:
    return Attempt(wanted.text)


def _whole(wanted: Wanted) -> Attempt:
    (least, most), (low, high) = RANGE[wanted.target], RANGE[wanted.source]
    if least <= low and high <= most:
        return Attempt(wanted.plain)
    shown = f"{wanted.text} || '{_LETTER[wanted.source]}'"
    return Attempt(wanted.plain, f"{wanted.text} NOT BETWEEN {least} AND {most}", _overflow(wanted, shown))


def _fraction_to_whole(wanted: Wanted) -> Attempt:
    least, most = RANGE[wanted.target]
    text = wanted.text
    inside = f"floor({text}) <= CAST({most} AS DOUBLE) AND ceil({text}) >= CAST({least} AS DOUBLE)"
    answer = f"CAST(trunc({text}) AS {storage(wanted.target)})"
    if wanted.target == "bigint":  # the largest BIGINT is 2^63 as a DOUBLE, which Java turns into it again
        answer = f"CASE WHEN {text} >= CAST({most} AS DOUBLE) THEN {most} ELSE {answer} END"
    letter = "D" if wanted.source == "double" else ""
    shown = f"{shortest(text, wanted.source)} || CASE WHEN isfinite({text}) THEN '{letter}' ELSE '' END"
    return Attempt(answer, f"NOT ({inside})", _overflow(wanted, shown))


def _decimal_to_whole(wanted: Wanted) -> Attempt:
    least, most = RANGE[wanted.target]
    found = digits_of(wanted.source)
    toward_zero = f"CASE WHEN {wanted.text} < 0 THEN ceil({wanted.text}) ELSE floor({wanted.text}) END"
    whole = wanted.text if found is not None and not found.scale else toward_zero
    value = f"TRY_CAST({whole} AS {storage(wanted.target)})"
    if found is not None and 10**found.whole <= most:
        return Attempt(value)
    bad = f"CAST({whole} AS HUGEINT) NOT BETWEEN {least} AND {most}"
    return Attempt(value, bad, _overflow(wanted, f"{wanted.text} || 'BD'"))


def _to_decimal(wanted: Wanted) -> Attempt:
    source, target = digits_of(wanted.source), digits_of(wanted.target)
    if source is None or target is None:
        not_proven(f"cast({wanted.source} as {wanted.target})")
    if source.whole + (source.scale > target.scale) <= target.whole:
        return Attempt(wanted.plain)
    value = f"TRY_CAST({wanted.text} AS {storage(wanted.target)})"
    failure = _unrepresentable(wanted, target, wanted.text)
    return Attempt(value, f"{wanted.text} IS NOT NULL AND {value} IS NULL", failure)


def _over_text(wanted: Wanted) -> Attempt:
    """The text of an exact number is read as the nearest one that there is; DuckDB's own cast divides."""
    return Attempt(f"CAST(CAST({wanted.text} AS VARCHAR) AS {storage(wanted.target)})")


def _narrower_fraction(wanted: Wanted) -> Attempt:
    if wanted.target == "double":
        return Attempt(wanted.plain)
    text = wanted.text  # from halfway to the next power of two on, the nearest FLOAT is infinite
    finite = f"CASE WHEN {text} > 0 THEN 'inf'::FLOAT ELSE '-inf'::FLOAT END"
    large = f"isfinite({text}) AND abs({text}) >= 3.4028235677973366e38::DOUBLE"
    nearly = f"isfinite({text}) AND abs({text}) > 3.4028234663852886e38::DOUBLE"
    most = f"CASE WHEN {text} > 0 THEN 3.4028234663852886e38::FLOAT ELSE -3.4028234663852886e38::FLOAT END"
    return Attempt(f"CASE WHEN {large} THEN {finite} WHEN {nearly} THEN {most} ELSE {wanted.plain} END")


def _written(wanted: Wanted) -> Attempt:
    return Attempt(text_of_fraction(wanted.text, wanted.source))


def _is_not_zero(wanted: Wanted) -> Attempt:
    return Attempt(f"({wanted.text} <> 0)")


def _over_one(wanted: Wanted) -> Attempt:
    return Attempt(f"CAST(CAST({wanted.text} AS TINYINT) AS {storage(wanted.target)})")


def _truth_to_decimal(wanted: Wanted) -> Attempt:
    return _to_decimal(Wanted(f"CAST({wanted.text} AS TINYINT)", "tinyint", wanted.target, wanted.fragment))


def _seconds(wanted: Wanted) -> Attempt:
    """Whole seconds since 1970, rounded down, of which a BIGINT takes all."""
    micros = f"epoch_us({wanted.text})"
    divided = f"(({micros} - (({micros} % 1000000) + 1000000) % 1000000) // 1000000)"
    if wanted.target == "bigint":
        return Attempt(divided)
    least, most = RANGE[wanted.target]
    shown = f"'TIMESTAMP ''' || ({text_of_timestamp(wanted.text)}) || ''''"
    value = f"TRY_CAST({divided} AS {storage(wanted.target)})"
    return Attempt(value, f"{divided} NOT BETWEEN {least} AND {most}", _overflow(wanted, shown))


def _moment(wanted: Wanted) -> Attempt:
    """A number of seconds since 1970; a BIGINT may have too many."""
    if wanted.source == "bigint":
        not_proven(f"cast({wanted.source} as {wanted.target})")
    return Attempt(f"make_timestamp(CAST({wanted.text} AS BIGINT) * 1000000)")


def _by_place(wanted: Wanted) -> Attempt:
    """A STRUCT whose fields are cast in their order, whatever they are called."""
    here, there = struct_fields(wanted.source), struct_fields_as_written(wanted.target)
    if len(here) != len(there) or any(NOT_NULL.search(of) for _, of in there):
        not_proven(f"cast({wanted.source} as {wanted.target})")
    parts = [
        cast(Proven(f"struct_extract({wanted.text}, {text_literal(name)})", of), to, wanted.fragment, safe=wanted.safe)
        for (name, of), (_, to) in zip(here, there, strict=True)
    ]
    packed = ", ".join(f"{quoted(name)} := {part.text}" for (name, _), part in zip(there, parts, strict=True))
    value = f"CASE WHEN {wanted.text} IS NOT NULL THEN struct_pack({packed}) END"
    return Attempt(value, raises=any_raises(parts))


def _each(wanted: Wanted) -> Attempt:
    """An ARRAY whose elements are cast."""
    source, target = wanted.source[6:-1], wanted.target[6:-1]

    def body(element: str) -> Proven:
        return cast(Proven(element, source), target, wanted.fragment, safe=wanted.safe)

    return Attempt(applied("list_transform", wanted.text, lambda name: body(name).text), raises=body("NULL").raises)


def _malformed(wanted: Wanted) -> Failure:
    shown = f"'''' || replace(replace({wanted.text}, '\\', '\\\\'), '''', '\\''') || ''''"
    message = said(_MALFORMED.replace("{to}", wanted.target.upper()), value=shown)
    return Failure("CAST_INVALID_INPUT", "22018", message, wanted.fragment)


def _overflow(wanted: Wanted, shown: str) -> Failure:
    """Spark names no expression with it."""
    sentence = _OVERFLOW.replace("{from}", wanted.source.upper()).replace("{to}", wanted.target.upper())
    return Failure("CAST_OVERFLOW", "22003", said(sentence, value=shown))


def _exact(wanted: Wanted) -> Attempt:
    """A text as an exact number."""
    found = digits_of(wanted.target)
    if found is None or wanted.safe:
        return Attempt(exact_of_text(wanted.text, wanted.target, Failing("NULL", "NULL", lambda _: "NULL")))
    beyond = said(_TOO_LONG, value=wanted.text)
    failing = Failing(
        _malformed(wanted).raising,
        Failure("NUMERIC_OUT_OF_SUPPORTED_RANGE", "22003", beyond).raising,
        lambda shown: _unrepresentable(wanted, found, shown).raising,
    )
    return Attempt(exact_of_text(wanted.text, wanted.target, failing), raises=True)


def _unrepresentable(wanted: Wanted, target: Digits, shown: str) -> Failure:
    message = said(f"{{value}} cannot be represented as Decimal({target.digits}, {target.scale}).", value=shown)
    return Failure("NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION", "22003", message, wanted.fragment)


def _parsed(parser: Callable[[str, Type], tuple[str, str]]) -> Way:
    def way(wanted: Wanted) -> Attempt:
        value, bad = parser(wanted.text, wanted.target)
        return Attempt(value, bad, _malformed(wanted))

    return way


def _told_moment(wanted: Wanted) -> Attempt:
    """A text as a time."""
    value = moment_of_text(wanted.text, wanted.target)
    if wanted.safe:
        return Attempt(value)
    bad, given = _malformed(wanted).raising, f"{wanted.text} IS NOT NULL"
    text = once([value], lambda known: f"CASE WHEN {known} IS NULL AND {given} THEN {bad} ELSE {known} END")
    return Attempt(text, raises=True)


_WAYS: Mapping[tuple[str, str], Way] = {
    ("whole", "whole"): _whole,
    ("whole", "fractional"): _plain,
    ("whole", "decimal"): _to_decimal,
    ("whole", "string"): _plain,
    ("whole", "timestamp"): _moment,
    ("whole", "boolean"): _is_not_zero,
    ("fractional", "fractional"): _narrower_fraction,
    ("fractional", "whole"): _fraction_to_whole,
    ("fractional", "boolean"): _is_not_zero,
    ("fractional", "string"): _written,
    ("decimal", "decimal"): _to_decimal,
    ("decimal", "whole"): _decimal_to_whole,
    ("decimal", "fractional"): _over_text,
    ("decimal", "string"): _plain,
    ("decimal", "boolean"): _is_not_zero,
    ("boolean", "whole"): _plain,
    ("boolean", "fractional"): lambda wanted: Attempt(
        f"CAST(CAST({wanted.text} AS TINYINT) AS {storage(wanted.target)})"
    ),
    ("boolean", "decimal"): _truth_to_decimal,
    ("boolean", "string"): _plain,
    ("string", "whole"): _parsed(integer_of_text),
    ("string", "fractional"): _parsed(fraction_of_text),
    ("string", "decimal"): _exact,
    ("string", "boolean"): _parsed(truth_of_text),
    ("string", "date"): _parsed(date_of_text),
    ("string", "timestamp"): _told_moment,
    ("string", "timestamp_ntz"): _told_moment,
    ("string", "binary"): lambda wanted: Attempt(f"encode({wanted.text})"),
    ("date", "timestamp"): _plain,
    ("date", "timestamp_ntz"): _plain,
    ("date", "string"): lambda wanted: Attempt(text_of_date(wanted.text)),
    ("timestamp", "date"): _plain,
    ("timestamp_ntz", "date"): _plain,
    ("timestamp", "timestamp_ntz"): _same,
    ("timestamp_ntz", "timestamp"): _same,
    ("timestamp", "whole"): _seconds,
    ("timestamp", "string"): lambda wanted: Attempt(text_of_timestamp(wanted.text)),
    ("timestamp_ntz", "string"): lambda wanted: Attempt(text_of_timestamp(wanted.text)),
    ("struct", "struct"): _by_place,
    ("array", "array"): _each,
}
