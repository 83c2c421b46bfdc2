"""Expressions for the functions of texts, times, numbers and nested values."""

TIMES = ("date", "timestamp", "timestamp_ntz")
NUMBERS = ("tinyint", "int", "bigint", "float", "double", "decimal(12,2)", "decimal(20,0)", "decimal(38,10)")

STRINGS = [
    *[(text, ("string",)) for text in (
        "length({a})", "char_length({a})", "character_length({a})", "len({a})", "octet_length({a})", "reverse({a})",
        "trim({a})", "ltrim({a})", "rtrim({a})", "btrim({a})", "btrim({a}, 'ab')", "ltrim('a ', {a})",
          "rtrim('c ', {a})",
        "TRIM(BOTH 'a' FROM {a})", "TRIM(LEADING 'a' FROM {a})", "TRIM(TRAILING FROM {a})", "TRIM(BOTH FROM {a})",
        "TRIM(LEADING FROM {a})", "TRIM(TRAILING 'c' FROM {a})", "replace({a}, 'b', 'xy')", "replace({a}, 'b')",
        "replace({a}, 'abc', '')", "lpad({a}, 5, 'xy')", "lpad({a}, 5)", "rpad({a}, 5, 'é')", "rpad({a}, 3)",
        "lpad({a}, 0, 'x')", "lpad({a}, -1, 'x')", "repeat({a}, 3)", "repeat({a}, 0)", "repeat({a}, -1)",
        "ascii({a})", "md5({a})", "sha({a})", "sha1({a})", "sha2({a}, 256)", "hex({a})", "left({a}, 2)",
          "left({a}, -1)",
        "right({a}, 2)", "right({a}, 0)", "substring({a}, 2)", "substring({a}, 2, 3)", "substr({a}, -2)",
        "substr({a}, -2, 1)", "substring({a}, 0, 2)", "substring({a}, -5, 4)", "substring({a}, 3, -1)",
          "substr({a}, 1, 0)",
        "split_part({a}, '/', 4)", "split_part({a}, ',', -1)", "split_part({a}, 'b', 1)", "split({a}, ',')",
        "split({a}, 'b')[0]", "split({a}, ',')[2]", "{a} LIKE 'a%'", "{a} LIKE '%b_'", "{a} LIKE '_'",
          "{a} LIKE '\\\\%'",
        "{a} LIKE 'a/%c' ESCAPE '/'", "{a} NOT LIKE '%\\\\_%'", "{a} LIKE '%日%'", "{a} LIKE ''", "{a} LIKE '__'",
        "{a} RLIKE '^a'", "regexp({a}, '^a')", "{a} RLIKE 'b+|[^a-z]c'", "regexp_like({a}, '[A-Z]')",
          "{a} REGEXP '\\\\.'",
        "regexp_extract({a}, '(&|^)channel_id=([^&]*)', 2)", "regexp_extract({a}, '(a|b)c?', 0)",
        "regexp_extract({a}, 'a(b*?)([^b])')", "regexp_extract({a}, '([^,]*),', 1)",
          "regexp_extract({a}, '(\\\\w+) (\\\\w+)', 2)",
        "char_length({a}) - char_length(replace({a}, 'c', ''))", "concat_ws(',')",
        "lower({a}) = 'abc'", "upper({a}) IN ('SS', 'ABC', 'I')", "lower({a}) <> 'k'", "'ab' = ucase({a})",
        "lcase({a}) <=> 'i'", "CASE lower({a}) WHEN 'a' THEN 1 WHEN 'ab' THEN 2 ELSE 0 END", "upper({a}) = 'ST'",
        "nullif(lower({a}), 'x') IS NULL", "lower({a}) NOT IN ('apple', 'abc')", "concat({a})",
    )],
    *[(text, ("string",), ("string",)) for text in (
        "startswith({a}, {b})", "endswith({a}, {b})", "contains({a}, {b})", "instr({a}, {b})", "locate({a}, {b})",
        "position({a} IN {b})", "concat({a}, {b}, 'x')", "{a} || {b}", "concat_ws(',', {a}, {b})",
        "concat_ws({a}, {b}, 'x')",
    )],
    ("concat({a}, {b})", ("int", "decimal(12,2)", "date", "timestamp", "boolean", "double"), ("string", "bigint")),
    *[(text, ("string",), ("int", "smallint"), ("tinyint", "int")) for text in ("substring({a}, {b}, {c})",)],
    ("substring({a}, {b})", ("string",), ("int",)),
    *[(text, ("binary",)) for text in ("length({a})", "octet_length({a})", "md5({a})", "sha1({a})", "sha2({a}, 256)",
      "hex({a})")],
    ("hex({a})", ("tinyint", "smallint", "int", "bigint")),
]  # fmt: skip
_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
_PARTS = (
    "year", "quarter", "month", "day", "dayofmonth", "dayofweek", "weekday", "dayofyear", "weekofyear", "hour",
      "minute",
    "second",
)  # fmt: skip
_SPANS = (
    "INTERVAL '1' HOUR", "INTERVAL 10 SECONDS", "INTERVAL '1' DAY", "INTERVAL '-3' MINUTE", "INTERVAL '1' MONTH",
    "INTERVAL '0.000001' SECOND", "INTERVAL '2' YEAR", "INTERVAL '1:30' HOUR TO MINUTE", "INTERVAL '1' WEEK",
    "INTERVAL '1 02:03:04.5' DAY TO SECOND", "INTERVAL '5' MILLISECOND",
)  # fmt: skip
_MICROS = "unix_micros(CAST({a} AS timestamp))"
_TUMBLED = f"timestamp_micros(({_MICROS} - pmod({_MICROS} - 7000000L, 10000000L)))"
_LAST = f"({_MICROS} - pmod({_MICROS}, 2000000L))"
_STARTS = f"sequence({_LAST} - CAST(8000000 AS BIGINT), {_LAST}, CAST(2000000 AS BIGINT))"
_HOPPED = f"transform(filter({_STARTS}, start -> start + 10000000L > {_MICROS}), start -> timestamp_micros(start))"
DATES = [
    *[(f"{{a}} + {span}", TIMES) for span in _SPANS],
    *[(f"{{a}} - {span}", TIMES) for span in _SPANS],
    ("INTERVAL '1' HOUR + {a}", TIMES),
    ("{a} BETWEEN {b} - INTERVAL 10 SECONDS AND {c}", ("timestamp",), ("timestamp",), ("timestamp",)),
    ("{a} BETWEEN {b} - INTERVAL 10 SECONDS AND {c} + INTERVAL 1 DAY", ("timestamp",), ("date",), ("timestamp",)),
    ("CAST({a} - INTERVAL 5 HOURS AS DATE)", TIMES),
    *[(text, ("date",), ("tinyint", "smallint")) for text in ("{a} + {b}", "{a} - {b}", "{b} + {a}")],
    *[(text, ("date",)) for text in ("{a} + 31", "{a} - 366", "date_add({a}, 1)", "date_sub({a}, -1)",
      "trunc({a}, 'MM')")],
    *[(f"{name}({{a}}, {{b}})", TIMES, ("tinyint", "smallint")) for name in ("date_add", "date_sub", "dateadd")],
    *[(f"{name}({{a}}, {{b}})", TIMES, TIMES) for name in ("datediff", "date_diff")],
    *[(f"{name}({unit}, {{a}}, {{b}})", TIMES, TIMES) for name in ("timestampdiff", "datediff", "date_diff")
      for unit in ("WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND")],
    *[(f"{name}({unit}, 3, {{a}})", TIMES) for name in ("timestampadd", "dateadd", "date_add") for unit in _UNITS],
    *[(f"timestampadd({unit}, -1, {{a}})", TIMES) for unit in _UNITS],
    *[(f"date_trunc('{unit}', {{a}})", TIMES) for unit in (*_UNITS, "mon", "dd", "yy")],
    *[(f"FLOOR({{a}} TO {unit})", TIMES) for unit in ("YEAR", "MONTH", "DAY", "HOUR", "SECOND")],
    *[(f"CEIL({{a}} TO {unit})", TIMES) for unit in _UNITS],
    *[(f"trunc({{a}}, '{unit}')", TIMES) for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "yy")],
    *[(f"{name}({{a}})", TIMES) for name in _PARTS],
    *[(f"extract({unit} FROM {{a}})", TIMES) for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOW", "DOY",
      "HOUR",
      "MINUTE", "SECOND", "DAYOFWEEK")],
    *[(f"{name}('{unit}', {{a}})", TIMES) for name in ("date_part", "datepart") for unit in ("YEAR", "SECOND", "DOW")],
    *[(f"{name}({{a}})", TIMES) for name in ("unix_micros", "unix_millis", "unix_seconds", "unix_timestamp",
      "to_unix_timestamp", "to_date", "date", "to_timestamp", "timestamp", "last_day")],
    ("timestamp_micros({a})", ("tinyint", "smallint", "int")),
    ("timestamp_micros({a} * 1000)", ("int",)),
    *[(f"{name}({{a}})", ("tinyint", "smallint", "int")) for name in ("timestamp_millis", "timestamp_seconds")],
    *[(f"add_months({{a}}, {number})", TIMES) for number in (1, -1, 12, -13, 0)],
    *[(f"date_format({{a}}, '{pattern}')", TIMES) for pattern in ("yyyy-MM-dd", "HH:mm", "HH-mm", "yyyyMMdd HHmmss",
      "yyyy-MM-dd''T''HH:mm:ss", "dd.MM.yyyy", "yyyy", "100%")],
    (_TUMBLED, TIMES),
    (f"{_TUMBLED} + INTERVAL '10' SECOND", TIMES),
    (_HOPPED, ("timestamp",)),
    ("to_date({a})", ("days",)),
]  # fmt: skip
ROUNDED = [
    *[(f"{name}({{a}})", NUMBERS) for name in ("floor", "ceil", "ceiling", "sign", "signum", "sqrt", "round")],
    *[(f"round({{a}}, {places})", NUMBERS) for places in (0, 1, 2, 12)],
    ("floor({a})", ("wide",)),
]  # fmt: skip
NESTED = [
    *[(text, ("array<int>",)) for text in (
        "{a}", "{a}[0]", "{a}[2]", "{a}[-1]", "element_at({a}, 1)", "element_at({a}, -2)", "get({a}, 1)",
          "get({a}, -1)",
        "size({a})", "cardinality({a})", "array_size({a})", "array_contains({a}, 1)", "transform({a}, x -> x + 1)",
        "filter({a}, x -> x > 1)", "filter({a}, x -> x % 2 = 1)", "transform({a}, x -> coalesce(x, 0) * 2)",
        "CASE WHEN size({a}) > 1 THEN {a}[1] END",
    )],
    ("{a}[{b}]", ("array<int>", "array<string>"), ("int", "tinyint")),
    ("get({a}, {b})", ("array<int>",), ("int",)),
    ("array_contains({a}, {b})", ("array<int>", "array<string>"), ("int", "tinyint", "string")),
    ("transform({a}, x -> x + {b})", ("array<int>",), ("int",)),
    ("transform({a}, x -> concat(x, {b}))", ("array<string>",), ("string",)),
    *[(text, ("struct<x:int,y:string>",)) for text in ("{a}.x", "{a}.Y", "{a}", "{a}.x + 1", "{a} IS NULL",
      "coalesce({a}.x, 0)")],
    *[(text, ("map<string,int>", "map<int,array<string>>")) for text in ("{a}", "size({a})", "cardinality({a})",
      "map_keys({a})", "map_values({a})", "map_entries({a})", "array_sort(map_entries({a}))", "{a} IS NULL")],
    *[(text, ("map<string,int>",), ("string",)) for text in ("{a}[{b}]", "element_at({a}, {b})", "{a}['a'] + 1",
      "map_contains_key({a}, {b})", "{a}['none']")],
    *[(text, ("map<int,array<string>>",), ("tinyint", "int")) for text in ("{a}[{b}]", "element_at({a}, {b})",
      "map_contains_key({a}, {b})", "{a}[-1]", "{a}[1][0]")],
    *[(text, ("int",), ("string", "date")) for text in ("named_struct('a', {a}, 'b', {b})", "struct({a}, {b} AS x, 1)",
      "named_struct('a', {a}, 'b', {b}).b", "array({a}, 1L)", "array({a}, NULL)[0]")],
]  # fmt: skip
