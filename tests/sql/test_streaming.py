"""The streaming constructs of four languages in one grammar."""

import pytest
from sqlglot import exp

from penstock.sql.dialect import TableFunction
from penstock.sql.parse import parse_query
from penstock.sql.text import spark_sql


def from_item(text, dialect="penstock"):
    return parse_query(f"SELECT * FROM {text}", dialect).args["from_"].this


def test_stream():
    text = "SELECT STREAM * FROM t"
    span = parse_query(text).meta["stream"]
    assert text[span.start : span.end] == "STREAM"
    assert "stream" not in parse_query("SELECT stream, 1 FROM t").meta
    assert "stream" not in parse_query("SELECT stream * 2 FROM t").meta
    assert "stream" not in parse_query("SELECT stream.a FROM stream").meta
    assert "stream" not in parse_query("SELECT stream - n FROM t").meta
    assert "stream" not in parse_query("SELECT stream-n FROM t").meta
    assert "stream" in parse_query("SELECT STREAM -n FROM t").meta


@pytest.mark.parametrize("text", ["stream", "stream s", "stream AS s", "u JOIN stream s ON TRUE", "u, stream s"])
def test_a_relation_may_be_called_stream(text):
    found = [item for item in parse_query(f"SELECT * FROM {text}").find_all(exp.Table) if item.name == "stream"]
    assert [item.alias for item in found] == ["s" if "s" in text.split() else ""]


def test_emit():
    text = "SELECT a FROM t GROUP BY a EMIT STREAM AFTER WATERMARK WITH DELAY INTERVAL 2 SECONDS"
    written, span = parse_query(text).meta["emit"]
    assert written == "EMIT STREAM AFTER WATERMARK WITH DELAY INTERVAL 2 SECONDS"
    assert text[span.start : span.end] == written
    assert spark_sql(parse_query(text)) == "SELECT a FROM t GROUP BY a"
    assert "emit" not in parse_query("SELECT emit FROM emit").meta


def test_emit_behind_a_set_operation_is_said_of_all_of_it():
    tree = parse_query("SELECT a FROM t UNION ALL SELECT b FROM u EMIT CHANGES")
    assert tree.meta["emit"][0] == "EMIT CHANGES"
    assert not any("emit" in item.meta for item in tree.find_all(exp.Select))
    inner = parse_query("SELECT a FROM t UNION ALL (SELECT b FROM u EMIT CHANGES)")
    assert "emit" not in inner.meta


def test_emit_in_a_subquery():
    tree = parse_query("SELECT count() FROM (SELECT k FROM s EMIT PERIODIC 1s) EMIT CHANGES", "timeplus")
    inner = next(select for select in tree.find_all(exp.Select) if select is not tree)
    assert tree.meta["emit"][0] == "EMIT CHANGES"
    assert inner.meta["emit"][0] == "EMIT PERIODIC 1s"


def test_settings_and_partition_by():
    tree = parse_query("SELECT 1 FROM t PARTITION BY k EMIT LAST 1h SETTINGS a = 1, b = 'x'", "timeplus")
    assert [spark_sql(key) for key in tree.args["partition_by"]] == ["k"]
    assert [spark_sql(item) for item in tree.args["settings"]] == ["a = 1", "b = 'x'"]
    assert tree.meta["emit"][0] == "EMIT LAST 1h"


@pytest.mark.parametrize(
    "text",
    [
        "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND)) AS w",
        "TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 5 SECONDS) w",
        "tumble(t, DESCRIPTOR(ts), 5s) AS w",
    ],
)
def test_window_functions(text):
    item = from_item(text)
    assert isinstance(item, TableFunction)
    assert item.name == "TUMBLE"
    assert item.alias == "w"
    table, column, size = item.expressions
    assert isinstance(table, exp.Table)
    assert isinstance(column, exp.Anonymous)
    assert spark_sql(size) == "INTERVAL '5' SECOND"


def test_named_arguments():
    item = from_item("TABLE(HOP(DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '1' HOUR))")
    assert [argument.this.name for argument in item.expressions] == ["DATA", "TIMECOL", "SIZE"]


def test_relations_in_relations():
    nested = from_item("tumble(table(s), 1m)", "timeplus")
    assert nested.expressions[0].name == "TABLE"
    assert isinstance(
        from_item("TABLE(TUMBLE((SELECT * FROM t), DESCRIPTOR(a), INTERVAL 1 HOUR))").expressions[0], exp.Subquery
    )
    keyed = from_item("SESSION(TABLE b PARTITION BY item, DESCRIPTOR(ts), INTERVAL '5' MINUTE)")
    assert [spark_sql(key) for key in keyed.args["partition_by"]] == ["item"]


def test_session_bounds():
    bounds = from_item("session(s, 5s, [a = 1, b = 2))", "timeplus").expressions[2]
    assert spark_sql(bounds) == "SESSION_RANGE(a = 1, b = 2, TRUE, FALSE)"


def test_group_functions_are_calls():
    tree = parse_query("SELECT TUMBLE_START(ts, INTERVAL '1' HOUR) FROM t GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)")
    assert isinstance(tree.args["group"].expressions[0], exp.Anonymous)


@pytest.mark.parametrize("words", ["LEFT ASOF JOIN", "ASOF LEFT JOIN"])
def test_asof(words):
    (join,) = parse_query(f"SELECT * FROM l {words} r MATCH_CONDITION (l.t >= r.t) ON l.k = r.k").args["joins"]
    assert (join.method, join.side) == ("ASOF", "LEFT")
    assert spark_sql(join.args["match_condition"]) == "l.t >= r.t"
    assert join.this.alias == ""


def test_system_time():
    (join,) = parse_query("SELECT * FROM o JOIN r FOR SYSTEM_TIME AS OF o.rowtime AS v ON o.k = v.k").args["joins"]
    assert spark_sql(join.this.args["version"].expression) == "o.rowtime"
    assert join.this.alias == "v"


def test_rounding_time():
    assert spark_sql(parse_query("SELECT FLOOR(t TO HOUR) FROM x")) == "SELECT date_trunc('HOUR', t) FROM x"
    tree = parse_query("SELECT CEIL(t TO hour) FROM x").expressions[0]
    assert isinstance(tree, exp.Ceil)
    assert tree.args["to"].name == "HOUR"


def test_qualify_stays():
    assert parse_query("SELECT a FROM t QUALIFY rank() OVER (ORDER BY a) = 1").args["qualify"] is not None


@pytest.mark.parametrize(
    ("dialect", "written", "expected"),
    [
        ("feldera", "ARG_MAX(a, b)", "max_by(a, b)"),
        ("feldera", "TIMESTAMP_TRUNC(ts, DAY)", "date_trunc('DAY', ts)"),
        ("feldera", '"Quoted"', "`Quoted`"),
        ("feldera", "ARRAY[1, 2][1]", "try_element_at(array(1, 2), 1)"),
        ("flink", "PROCTIME()", "now()"),
        ("flink", "CAST(a AS BYTES)", "CAST(a AS binary)"),
        ("timeplus", "count()", "count(*)"),
        ("timeplus", "sum_if(a, b > 1)", "sum(a) FILTER(WHERE b > 1)"),
        ("timeplus", "count_if(a > 1)", "count_if(a > 1)"),
        ("timeplus", "date_diff('ms', a, b)", "timestampdiff(MILLISECOND, a, b)"),
        ("timeplus", "max_k(a, 5)", "slice(sort_array(collect_list(a), FALSE), 1, 5)"),
        ("timeplus", "a + 5m", "a + INTERVAL '5' MINUTE"),
        ("timeplus", "now64(3, 'UTC')", "now()"),
        ("penstock", "TIMESTAMPADD(HOUR, 1, ts)", "TIMESTAMPADD(HOUR, 1, ts)"),
    ],
)
def test_names_of_dialects(dialect, written, expected):
    from penstock.sql.parse import parse_expression

    assert spark_sql(parse_expression(written, dialect)) == expected


def test_units_are_no_columns():
    from penstock.sql.parse import parse_expression

    assert list(parse_expression("TIMESTAMPDIFF(SECOND, 1, 2)").find_all(exp.Column)) == []


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("m, UNNEST(a) AS x", "m CROSS JOIN LATERAL explode(a) AS x(x)"),
        ("m, UNNEST(a) AS u(x)", "m CROSS JOIN LATERAL explode(a) AS u(x)"),
        ("UNNEST(a) AS u(x)", "explode(a) AS u(x)"),
        ("m, UNNEST(a, b) AS u(x, y)", "m CROSS JOIN LATERAL inline(arrays_zip(a, b)) AS u(x, y)"),
        ("m, UNNEST(a, b) AS u", "m CROSS JOIN LATERAL inline(arrays_zip(a, b)) AS u"),
        (
            "m, UNNEST(a) WITH ORDINALITY AS u(x, i)",
            "m CROSS JOIN LATERAL (SELECT col AS x, pos + 1 AS i FROM posexplode(a) AS p(pos, col)) AS u",
        ),
        (
            "m LEFT JOIN UNNEST(a) AS x WITH OFFSET AS i ON TRUE",
            "m LEFT JOIN LATERAL (SELECT col AS x, pos AS i FROM posexplode(a) AS p(pos, col)) AS x ON TRUE",
        ),
    ],
)
def test_unnest(written, expected):
    assert spark_sql(parse_query(f"SELECT * FROM {written}")) == f"SELECT * FROM {expected}"
