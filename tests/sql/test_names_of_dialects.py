"""Names that dialects have for what Spark has too."""

import pytest

from penstock.errors import SqlError
from penstock.sql.parse import parse_expression
from penstock.sql.text import spark_sql


@pytest.mark.parametrize(
    ("dialect", "written", "spark"),
    [
        ("calcite", "ROW(1, 'a')", "struct(1, 'a')"),
        ("calcite", "SAFE_CAST(x AS VARCHAR(10))", "TRY_CAST(x AS varchar(10))"),
        ("feldera", "DATE_ADD(d, INTERVAL 1 DAY)", "((d) + INTERVAL '1' DAY)"),
        ("feldera", "DATE_SUB(d, 3)", "date_sub(d, 3)"),
        ("feldera", "ARRAY_TO_STRING(a, ',')", "array_join(a, ',')"),
        ("feldera", "ARRAY_EXISTS(a, x -> x > 0)", "exists(a, x -> x > 0)"),
        ("feldera", "TO_HEX(b)", "lower(hex(b))"),
        ("calcite", "ARRAY[5, 6][1]", "try_element_at(array(5, 6), 1)"),
        ("feldera", "a[i][2].x", "try_element_at(try_element_at(a, i), 2).x"),
        ("feldera", "a[SAFE_OFFSET(0)]", "get(a, 0)"),
        ("feldera", "SPLIT(s, '|')", "CASE WHEN (s) = '' THEN CAST(array() AS ARRAY<STRING>) ELSE split(s, '[|]') END"),
        ("feldera", "REGEXP_REPLACE(s, 'x')", "regexp_replace(s, 'x', '')"),
        ("feldera", "FORMAT_DATE('%d of %b', d)", r"date_format(d, 'dd \'of\' MMM')"),
        ("feldera", "PARSE_TIMESTAMP('%F %T', s)", "try_to_timestamp(s, 'yyyy-MM-dd HH:mm:ss')"),
        ("feldera", "TRUNC(x, 2)", "CASE WHEN (x) < 0 THEN ceil(x, 2) ELSE floor(x, 2) END"),
        ("feldera", "TRUNC(d, 'MONTH')", "trunc(d, 'MONTH')"),
        ("feldera", "LOG(8, 2)", "log(2, 8)"),
        ("calcite", "EXTRACT(SECOND FROM t)", "CAST(EXTRACT(SECOND FROM t) AS BIGINT)"),
        ("calcite", "EXTRACT(EPOCH FROM t)", "unix_seconds(CAST(t AS TIMESTAMP))"),
        ("calcite", "EXTRACT(CENTURY FROM t)", "((EXTRACT(YEAR FROM t) + 99) DIV 100)"),
        ("calcite", "x SIMILAR TO 'a%|[b.]_.'", "x RLIKE '(?s)^(?:a.*|[b.].[.])(?!.)'"),
        ("penstock", "NOT x SIMILAR TO 'a+'", "x NOT RLIKE '(?s)^(?:a+)(?!.)'"),
        ("calcite", "TRUNCATE(x)", "CASE WHEN (x) < 0 THEN ceil(x) ELSE floor(x) END"),
        ("calcite", "WEEK(d)", "weekofyear(d)"),
        ("calcite", "EXTRACT(YEAR FROM t)", "EXTRACT(YEAR FROM t)"),
        ("flink", "EXTRACT(SECOND FROM t)", "EXTRACT(SECOND FROM t)"),
        ("flink", "m['k']", "m['k']"),
        ("timeplus", "a[1]", "try_element_at(a, 1)"),
        ("timeplus", "date_sub(day, 1, t)", "timestampadd(DAY, -(1), t)"),
        ("timeplus", "add_days(t, n)", "timestampadd(DAY, n, t)"),
        ("timeplus", "subtract_hours(t, 2)", "timestampadd(HOUR, -(2), t)"),
        ("timeplus", "weekday(t)", "(weekday(t) + 1)"),
        ("timeplus", "to_YYYYMM(t)", "CAST(date_format(t, 'yyyyMM') AS BIGINT)"),
        ("timeplus", "array_first(x -> x > 1, a)", "get(filter(a, x -> x > 1), 0)"),
        ("timeplus", "date_sub(t, 5m)", "((t) - INTERVAL '5' MINUTE)"),
        ("timeplus", "date_add(d, 3)", "date_add(d, 3)"),
        ("timeplus", "to_day_of_week(t)", "(weekday(t) + 1)"),
        (
            "timeplus",
            "to_start_of_interval(t, 5m)",
            "timestamp_micros(unix_micros(t) - pmod(unix_micros(t), 300000000))",
        ),
        ("timeplus", "base64_decode(x)", "CAST(unbase64(x) AS STRING)"),
    ],
)
def test_in_sparks_words(dialect, written, spark):
    assert spark_sql(parse_expression(written, dialect)) == spark


@pytest.mark.parametrize("written", ["FORMAT_DATE('%Q', d)", "FORMAT_DATE(f, d)", "SPLIT(s, sep)", "DIV_NULL(a)"])
def test_what_feldera_does_not_say(written):
    with pytest.raises(SqlError) as error:
        parse_expression(written, "feldera")
    assert error.value.code == "FUNCTION_ARGUMENTS"


@pytest.mark.parametrize("length", ["1 + 1", "INTERVAL 1 MONTH"])
def test_an_interval_has_a_fixed_length(length):
    with pytest.raises(SqlError) as error:
        parse_expression(f"to_start_of_interval(t, {length})", "timeplus")
    assert error.value.code == "FUNCTION_ARGUMENTS"
