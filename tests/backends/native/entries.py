"""Expressions for every rule of the tables, over columns of every type that could be meant."""

from itertools import product

from tests.backends.native.functions import DATES, MAPS, NESTED, ROUNDED, STRINGS
from tests.backends.native.rows import column

WHOLE = ("tinyint", "smallint", "int", "bigint")
DECIMALS = ("decimal(12,2)", "decimal(5,4)", "decimal(20,0)", "decimal(38,10)")
NUMBERS = (*WHOLE, "float", "double", *DECIMALS)
TIMES = ("date", "timestamp", "timestamp_ntz")
PLAIN = (*NUMBERS, "boolean", "string", "binary", *TIMES)
FEW = ("tinyint", "int", "bigint", "double", "decimal(12,2)")
TARGETS = ("decimal(4,1)", "decimal(10,0)", "decimal(38,2)")

# A template, and the types of {a}, {b} and {c}.
BASIC = [
    ("IF({a} > 1, raise_error('it is \"too\" much'), {b})", ("int",), ("int", "string", "double")),
    ("coalesce({a}, CAST(raise_error('none') AS INT) + 1)", ("int",)),
    ("CASE WHEN {a} IS NULL THEN raise_error('none') END IS NULL", ("int",)),
    ("{a} + {b}", NUMBERS, NUMBERS),
    ("{a} - {b}", NUMBERS, NUMBERS),
    ("{a} * {b}", NUMBERS, NUMBERS),
    ("{a} / {b}", NUMBERS, NUMBERS),
    ("{a} % {b}", NUMBERS, NUMBERS),
    ("mod({a}, {b})", ("int",), ("bigint",)),
    ("{a} div {b}", WHOLE, WHOLE),
    ("pmod({a}, {b})", WHOLE, WHOLE),
    *[(f"{name}({{a}}, {{b}})", FEW, FEW) for name in ("try_add", "try_subtract", "try_multiply", "try_divide",
      "try_mod")],
    *[(text, NUMBERS) for text in ("-{a}", "abs({a})", "negative({a})", "positive({a})", "{a} + 1", "2 * {a}",
      "{a} - -3L")],
    *[(text, NUMBERS) for text in ("{a} / 3", "{a} % 7", "{a} / 0", "{a} % -1", "0.908 * {a}", "{a} + 1.5",
      "{a} / 2.50")],
    *[(text, WHOLE) for text in ("{a} div 2", "{a} div -1", "{a} div 0", "~{a}", "pmod({a}, 5)")],
    ("{a} & {b}", WHOLE, WHOLE),
    ("{a} | {b}", WHOLE, WHOLE),
    ("{a} ^ {b}", WHOLE, WHOLE),
    ("({a} + {b}) * {c} - {a}", ("int",), ("int", "bigint"), ("int",)),
    ("{a} + {b} / {c}", ("int", "double"), ("double",), ("int",)),
    ("{a} / ({b} - {c})", ("int", "decimal(12,2)"), ("int",), ("int",)),
    *[(f"{{a}} {sign} {{b}}", PLAIN, PLAIN) for sign in ("=", "<")],
    *[(f"{{a}} {sign} {{b}}", kinds, kinds) for sign in ("<>", "<=", ">", ">=", "<=>", "IS DISTINCT FROM")
      for kinds in (("int",), ("double",), ("decimal(12,2)", "bigint"), ("string",), ("binary",), ("date",
        "timestamp"))],
    *[(f"{{a}} {sign} {literal}", NUMBERS) for sign in ("=", ">") for literal in ("1", "-1L", "1.5", "1e0", "NULL",
      "300", "123456.789")],
    *[(f"{{a}} {sign} '2024-02-29'", TIMES) for sign in ("=", ">=")],
    ("{a} <=> NULL", PLAIN),
    ("'2024-02-29 12:34' < {a}", ("timestamp", "timestamp_ntz")),
    ("{a} BETWEEN {b} AND {c}", ("int", "double", "string", "date"), ("int", "string", "date", "bigint"), ("int",
      "string", "timestamp")),
    ("{a} BETWEEN 1 AND 2.5", NUMBERS),
    ("{a} NOT IN (1, NULL, 3)", NUMBERS),
    ("{a} IN (1, 2.5, {b})", FEW, FEW),
    ("{a} IN ('a', 'ab', {b})", ("string",), ("string",)),
    ("{a} IN (DATE '2024-02-29', {b})", ("date", "timestamp"), ("date",)),
    ("{a} + 1 IN (1, 2)", ("int",)),
    *[(f"{name}({{a}}, {{b}}, {{c}})", kinds, kinds, kinds) for name in ("greatest", "least")
      for kinds in (("int", "bigint"), ("double", "float"), ("decimal(12,2)", "int"), ("string",), ("date",
        "timestamp"), ("boolean",))],
    ("isnan({a})", ("float", "double")),
    *[(text, PLAIN) for text in ("{a} IS NULL", "{a} IS NOT NULL", "isnull({a})", "isnotnull({a})", "{a}",
      "CASE WHEN {a} IS NULL THEN 1 END")],
    *[(text, ("boolean",)) for text in ("NOT {a}", "{a} IS TRUE", "{a} IS NOT TRUE", "{a} IS FALSE", "{a} AND NULL",
      "{a} OR NULL")],
    *[(text, ("boolean",), ("boolean",), ("boolean",)) for text in
      ("{a} AND {b}", "{a} OR {b} AND NOT {c}", "IF({a}, {b}, {c})", "{a} AND {b} AND {c}",
        "{a} = {b} OR {c} IS NULL")],
    ("{a} <> 0 AND {b} / {a} > 1", ("int", "double", "decimal(12,2)"), ("int", "double")),
    ("{a} = 0 OR {b} / {a} > 1 OR {b} + {a} > 0", ("int",), ("int",)),
    ("{a} IS NOT NULL AND {b} + {a} > 0 AND {a} > 0", ("int",), ("int",)),
    ("NOT ({a} = 0) AND {b} % {a} = 0 OR {b} / {a} > 2", ("bigint",), ("bigint",)),
    ("CASE WHEN {a} <> 0 THEN {b} / {a} END", FEW, FEW),
    ("CASE WHEN {a} > {b} THEN {a} + 1 WHEN {b} > 1 THEN {b} ELSE {a} END", ("int", "bigint"), ("int",
      "decimal(12,2)")),
    ("CASE {a} WHEN 1 THEN 'one' WHEN {b} THEN 'b' END", NUMBERS, ("int",)),
    ("CASE {a} WHEN 'a' THEN 1 WHEN 'abc' THEN 2L ELSE 0.5 END", ("string",)),
    ("CASE WHEN {a} / {b} > 1 THEN 1 ELSE 2 END", ("int",), ("int",)),
    ("IF({a} = 0, 0, {b} div {a})", ("int",), ("int",)),
    ("IF({a} > 0, {b}, {c})", ("int",), PLAIN, PLAIN),
    ("coalesce({a}, {b})", PLAIN, PLAIN),
    ("coalesce({a}, 1 / {a}, {b})", ("int",), ("int",)),
    ("coalesce({a} / {b}, {b} / {a}, -1)", ("int",), ("int",)),
    ("coalesce({a}, 0)", NUMBERS),
    *[(f"{name}({{a}}, {{b}})", FEW, FEW) for name in ("nvl", "ifnull", "nullif")],
    ("nullif({a}, 'a')", ("string",)),
    ("{a} / nullif({b}, 0)", FEW, FEW),
    ("nvl2({a}, {b}, {c})", ("int", "string"), ("int",), ("bigint", "decimal(12,2)")),
    *[(text,) for text in (
        "1", "-1", "-5L", "1.50", "-0.5", "1e3", "'it''s'", "X'00ff'", "X'1'", "TRUE", "DATE '2024-02-29'",
          "2147483648",
        "TIMESTAMP '2024-02-29 12:34:56.789'", "TIMESTAMP_NTZ '0001-01-01 00:00:00'", "1.25BD", "3S", "-128Y", "2.5D",
          "0.001",
        "-9223372036854775808L", "CAST(NULL AS INT)", "CAST('2024-02-29' AS DATE)", "10 / 4", "7 div 2", "1 / 3.0",
          "'a' = 'A'",
        "CAST('2024-02-29 1:2:3.5' AS TIMESTAMP)", "TIMESTAMP '2024-02-29 12:34:56.5 UTC'",
          "TIMESTAMP '2024-02-29 12:34:56+00:00'", "CAST('2024-02-29 1:2:3Z' AS TIMESTAMP)",
    )],
]  # fmt: skip
CASTS = [
    *[(f"CAST({{a}} AS {target})", PLAIN) for target in (*PLAIN, *TARGETS)],
    *[(f"TRY_CAST({{a}} AS {target})", PLAIN) for target in (*WHOLE, "float", "decimal(4,1)", "boolean", "date",
      "string")],
    *[(f"{name}({{a}} AS {target})", ("digits",)) for name in ("CAST", "TRY_CAST") for target in (*WHOLE, "boolean")],
    *[(f"{name}({{a}} AS DATE)", ("days",)) for name in ("CAST", "TRY_CAST")],
    *[(f"{name}({{a}} AS {target})", ("fractions",)) for name in ("CAST", "TRY_CAST")
      for target in ("float", "double", *TARGETS, "decimal(2,2)", "decimal(38,30)")],
    ("CAST({a} AS DOUBLE) + {b}", ("fractions",), ("double",)),
    ("{a} = {b}", ("fractions",), ("double", "float", "decimal(12,2)")),
    ("{a} BETWEEN {b} AND {c}", ("fractions",), ("double", "int"), ("decimal(12,2)", "float")),
    ("nullif({a}, {b})", ("fractions",), ("double", "decimal(12,2)")),
    ("CASE WHEN {b} > 0 THEN {a} ELSE {b} END", ("fractions",), ("double", "float", "decimal(12,2)")),
    ("CASE {a} WHEN 1.5 THEN 1 WHEN {b} THEN 2 END", ("fractions",), ("double",)),
    ("'1.5' < {a}", ("double", "float", "decimal(12,2)")),
    ("coalesce({a}, {b})", ("fractions",), ("double", "decimal(12,2)")),
    *[(f"CAST({{a}} AS {target})", ("wide",)) for target in ("float", "int", "bigint")],
    ("CAST({a} + {b} AS TINYINT)", ("int",), ("int",)),
    ("CAST({a} AS INT) + 1", ("digits",)),
    ("{a} = {b}", ("days",), ("date",)),
    ("{a} > {b}", ("digits",), ("int",)),
    ("coalesce({a}, {b})", ("digits",), ("int",)),
    ("CASE WHEN {a} > 100 THEN CAST({a} AS TINYINT) ELSE 0 END", ("int", "double", "decimal(12,2)")),
]  # fmt: skip
THEMES = {
    "basic": BASIC,
    "casts": CASTS,
    "strings": STRINGS,
    "dates": DATES,
    "rounded": ROUNDED,
    "nested": NESTED,
    "maps": MAPS,
}


def texts(theme, most=None):
    """The expressions of a theme with the templates that they are made of; at most so many of each."""
    for template, *kinds in THEMES[theme]:
        chosen = list(product(*kinds))
        step = 1 if most is None else -(-len(chosen) // most)
        for item in chosen[::step]:
            names = {side: f"`{column(kind, side)}`" for side, kind in zip("abc", item, strict=False)}
            yield template.format(**names), template
