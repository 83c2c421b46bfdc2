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


@pytest.mark.parametrize("length", ["1 + 1", "INTERVAL 1 MONTH"])
def test_an_interval_has_a_fixed_length(length):
    with pytest.raises(SqlError) as error:
        parse_expression(f"to_start_of_interval(t, {length})", "timeplus")
    assert error.value.code == "FUNCTION_ARGUMENTS"
