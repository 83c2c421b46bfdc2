"""Result types of the common functions; a function that is not here has an unknown type."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.catalog.types import FRACTIONAL, INTEGRAL, Type, is_decimal, is_numeric
from penstock.catalog.word_list import word_list

Kinds = Sequence[Type | None]

_OF_ARGUMENT = frozenset(
    word_list("min max first first_value last last_value any_value max_by min_by mode bit_and bit_or bit_xor try_mod")
)
_AGGREGATES: dict[str, Type] = {
    **dict.fromkeys(["count", "count_if", "approx_count_distinct", "regr_count"], "bigint"),
    **dict.fromkeys(["bool_and", "bool_or", "every", "some", "any"], "boolean"),
    **dict.fromkeys(
        word_list(
            "stddev stddev_samp stddev_pop std variance var_samp var_pop corr covar_pop covar_samp kurtosis skewness"
        ),
        "double",
    ),
    **dict.fromkeys(["listagg", "string_agg"], "string"),
}
_WINDOWS: dict[str, Type] = {
    **dict.fromkeys(["row_number", "rank", "dense_rank", "ntile"], "int"),
    **dict.fromkeys(["percent_rank", "cume_dist"], "double"),
}
_SCALARS: dict[str, Type] = {
    **dict.fromkeys(
        word_list(
            "upper ucase lower lcase trim ltrim rtrim btrim substr substring replace translate initcap "
            "date_format concat_ws format_string printf lpad rpad repeat regexp_replace regexp_extract "
            "hex md5 sha sha1 sha2 base64 split_part substring_index to_json get_json_object string "
            "typeof format_number overlay chr char"
        ),
        "string",
    ),
    **dict.fromkeys(
        word_list(
            "length char_length character_length len octet_length bit_length ascii instr locate "
            "position levenshtein year quarter month day dayofmonth dayofweek dayofyear weekday "
            "weekofyear hour minute datediff date_diff size cardinality array_size hash int"
        ),
        "int",
    ),
    **dict.fromkeys(
        word_list("bigint unix_seconds unix_millis unix_micros unix_timestamp to_unix_timestamp xxhash64 crc32"),
        "bigint",
    ),
    **dict.fromkeys(
        word_list(
            "double sqrt exp ln log log10 log2 sin cos tan asin acos atan atan2 pow power radians degrees pi e cbrt"
        ),
        "double",
    ),
    **dict.fromkeys(
        word_list("to_date date date_add date_sub last_day next_day add_months current_date curdate make_date"), "date"
    ),
    **dict.fromkeys(
        word_list(
            "date_trunc to_timestamp timestamp now current_timestamp timestamp_seconds timestamp_millis "
            "timestamp_micros"
        ),
        "timestamp",
    ),
    **dict.fromkeys(["localtimestamp", "timestamp_ntz", "to_timestamp_ntz"], "timestamp_ntz"),
    **dict.fromkeys(
        word_list(
            "isnull isnotnull isnan startswith endswith contains like rlike regexp regexp_like "
            "array_contains map_contains_key arrays_overlap exists forall boolean"
        ),
        "boolean",
    ),
    **dict.fromkeys(["parse_json", "try_parse_json", "to_variant_object"], "variant"),
}


def aggregate_type(name: str, kinds: Kinds) -> Type | None:
    """The type of an aggregate over arguments of these types."""
    first = kinds[0] if kinds else None
    if name in _OF_ARGUMENT:
        return first
    if name in ("sum", "try_sum"):
        return _sum(first)
    if name in ("avg", "mean", "try_avg"):
        return _average(first)
    if name in ("collect_list", "collect_set", "array_agg"):
        return None if first is None else f"array<{first}>"
    return collation_kept(_AGGREGATES.get(name), kinds)


def _sum(kind: Type | None) -> Type | None:
    if kind in INTEGRAL:
        return "bigint"
    if kind in FRACTIONAL:
        return "double"
    if kind is not None and is_decimal(kind) and "(" in kind:
        digits, scale = _digits(kind)
        return f"decimal({min(38, digits + 10)},{scale})"
    return None


def _average(kind: Type | None) -> Type | None:
    if kind in INTEGRAL or kind in FRACTIONAL:
        return "double"
    if kind is not None and is_decimal(kind) and "(" in kind:
        digits, scale = _digits(kind)
        if digits + 4 <= 38:  # noqa: PLR2004 - beyond it Spark trades scale for digits
            return f"decimal({digits + 4},{scale + 4})"
    return None


def _digits(kind: Type) -> tuple[int, int]:
    digits, scale = kind[kind.index("(") + 1 : -1].split(",")
    return int(digits), int(scale)


def windowed_type(name: str, kinds: Kinds) -> Type | None:
    """The type of a window function."""
    if name in ("lag", "lead", "nth_value"):
        return kinds[0] if kinds else None
    return _WINDOWS.get(name) or aggregate_type(name, kinds)


def scalar_type(name: str, kinds: Kinds) -> Type | None:
    """The type of a scalar function."""
    if name == "nullif" and kinds:
        return kinds[0]
    if name in ("abs", "round", "bround") and kinds:
        return number_of(kinds[0]) if name == "abs" or kinds[0] in (*INTEGRAL, *FRACTIONAL) else None
    if name in ("ceil", "ceiling", "floor") and len(kinds) == 1 and kinds[0] in (*INTEGRAL, *FRACTIONAL):
        return "bigint"
    if name in ("mod", "pmod") and kinds and all(kind in INTEGRAL for kind in kinds):
        return max((kind for kind in kinds if kind is not None), key=INTEGRAL.index)
    if name in ("sign", "signum") and kinds and kinds[0] is not None and is_numeric(kinds[0]):
        return "double"
    if name in _OF_BYTES_TOO and kinds and kinds[0] in ("binary", None):
        return padded_type(kinds) if name in ("lpad", "rpad") else kinds[0]
    if name == "concat":
        return "string" if kinds and all(kind == "string" for kind in kinds) else None
    if name in WITH_UNIT and len(kinds) == 3:  # noqa: PLR2004 - a unit, a number and a time, or two times
        moment = kinds[2] if kinds[2] == "timestamp_ntz" else "timestamp" if kinds[2] in ("timestamp", "date") else None
        return "bigint" if name.endswith("diff") else moment
    if name in ("greatest", "least"):
        return kinds[0] if len(set(kinds)) == 1 else None
    return collation_kept(_SCALARS.get(name), kinds)


# They give bytes of bytes.
_OF_BYTES_TOO = frozenset({"substr", "substring", "overlay", "lpad", "rpad"})
# With a unit before them: f(unit, amount, time) and f(unit, start, end).
WITH_UNIT = frozenset({"dateadd", "date_add", "timestampadd", "datediff", "date_diff", "timestampdiff"})


def padded_type(kinds: Kinds) -> Type | None:
    """The type of bytes that are padded: of bytes with bytes, bytes; with text or NULL, text."""
    given = kinds[2] if len(kinds) > 2 else "binary"  # noqa: PLR2004 - what pads is the third, and zero bytes if left out
    return None if kinds[0] is None or given is None else "binary" if given == "binary" else "string"


def number_of(kind: Type | None) -> Type | None:
    """The type of a value where a number is needed: a text and NULL are read as one."""
    return "double" if kind in ("string", "void") else kind


def collation_kept(found: Type | None, kinds: Kinds) -> Type | None:
    """Some functions of a text with a collation give texts with it, some do not: only Spark knows."""
    return None if found == "string" and any("collate" in (kind or "") for kind in kinds) else found
