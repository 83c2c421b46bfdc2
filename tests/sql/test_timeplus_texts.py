"""The functions over texts of dialect timeplus in Spark's words, and what they refuse."""

import pytest

from penstock.errors import SqlError
from penstock.sql.parse import parse_expression
from penstock.sql.text import spark_sql


@pytest.mark.parametrize(
    ("written", "spark"),
    [
        ("split_by_char(',', x)", "split(x, ',')"),
        ("split_by_char('|', x)", r"split(x, '\\|')"),
        ("split_by_string('.b', x)", r"split(x, '\\.b')"),
        ("split_by_string('', x)", "split(x, '')"),
        ("format_datetime(t, '%Y-%m-%d %H:%M:%S')", "date_format(t, 'yyyy-MM-dd HH:mm:ss')"),
        ("format_datetime(t, '%d of %m')", r"date_format(t, 'dd\' of \'MM')"),
        ("json_extract_string(x, 'a', 2)", r"get_json_object(x, '$[\'a\'][1]')"),
        ("json_extract_int(x, 'b c')", r"TRY_CAST(get_json_object(x, '$[\'b c\']') AS bigint)"),
        ("x:a.b[1]", r"get_json_object(x, '$[\'a\'][\'b\'][0]')"),
        ("t.x:`a b`::float", r"CAST(get_json_object(t.x, '$[\'a b\']') AS float)"),
        ("json_value(x, '$.a')", "get_json_object(x, '$.a')"),
        ("json_has(x, 'a')", r"(get_json_object(x, '$[\'a\']') IS NOT NULL)"),
        ("position(x, 'b')", "position('b', x)"),
        ("position('b' IN x)", "position('b', x)"),
        ("extract(x, 'id=([0-9]+)')", "regexp_extract(x, 'id=([0-9]+)', 1)"),
        ("extract(x, '(?:a|b)')", "regexp_extract(x, '(?:a|b)', 0)"),
        ("extract(year FROM t)", "EXTRACT(YEAR FROM t)"),
        ("array_join(a)", "explode(a)"),
        ("array_join(a, '-')", "array_join(a, '-')"),
        ("any_last(x)", "last(x, TRUE)"),
        ("cast(x, 'decimal(10, 2)')", "CAST(x AS decimal(10,2))"),
        ("cast(cast(x, 'int16'), 'array(int32)')", "CAST(CAST(x AS smallint) AS array<int>)"),
        ("cast(x, 'decimal64(4)')", "CAST(x AS decimal(18,4))"),
    ],
)
def test_in_sparks_words(written, spark):
    assert spark_sql(parse_expression(written, "timeplus")) == spark


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("split_by_char(',,', x)", "FUNCTION_ARGUMENTS"),
        ("split_by_string(y, x)", "FUNCTION_ARGUMENTS"),
        ("format_datetime(t, '%q')", "FUNCTION_ARGUMENTS"),
        ("format_datetime(t, '%')", "FUNCTION_ARGUMENTS"),
        ("format_datetime(t, y)", "FUNCTION_ARGUMENTS"),
        ("json_extract_string(x)", "FUNCTION_ARGUMENTS"),
        ("json_extract_string(x, 'it''s')", "FUNCTION_ARGUMENTS"),
        ("json_extract_string(x, 0)", "FUNCTION_ARGUMENTS"),
        ("x:a[0]", "FUNCTION_ARGUMENTS"),
        ("x:a[*].b", "FUNCTION_ARGUMENTS"),
        ("json_value(x, y)", "FUNCTION_ARGUMENTS"),
        ("extract(x, y)", "FUNCTION_ARGUMENTS"),
        ("cast(x, 'intt')", "UNKNOWN_TYPE"),
        ("cast(x, 'int) AS y')", "UNKNOWN_TYPE"),
        ("cast(x, '')", "UNKNOWN_TYPE"),
        ("cast(x, '''')", "UNKNOWN_TYPE"),
        ("histogram(x, 3)", "UNKNOWN_FUNCTION"),
        ("moving_sum(x)", "UNKNOWN_FUNCTION"),
    ],
)
def test_what_is_refused(written, code):
    with pytest.raises(SqlError) as error:
        parse_expression(written, "timeplus")
    assert error.value.code == code
    assert error.value.diagnostics[0].span is not None
