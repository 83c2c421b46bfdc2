"""Values and programs at the edge of what there is: refused as on Spark, or right; without a JVM."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

import penstock


@penstock.LaterSession
def no_spark():
    pytest.fail("Spark was asked for")


def opened(program):
    return penstock.Pipeline(program, spark=no_spark, engine="auto")


@pytest.mark.parametrize(
    "number",
    [
        "1e309",
        "-1e309",
        "1e400D",
        "1" * 39,
        "-" + "9" * 40,
        "0." + "1" * 39,
        "12345678901234567890.1234567890123456789",
    ],
)
def test_a_number_that_no_type_has_room_for_is_refused_where_it_stands(number):
    with pytest.raises(penstock.SqlError) as refused:
        penstock.Pipeline(
            f"CREATE TABLE t (k INT);\nCREATE VIEW v AS SELECT k, {number} AS x FROM t;", spark=no_spark
        ).check()
    assert refused.value.code == "NUMBER_RANGE"
    assert "at line 2, column 28" in refused.value.render() or "at line 2, column 29" in refused.value.render()


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("9" * 38, Decimal("9" * 38)),
        ("-" + "9" * 38, Decimal("-" + "9" * 38)),
        ("0." + "1" * 38, Decimal("0." + "1" * 38)),
        ("9223372036854775808", Decimal(2**63)),
        ("1e308", 1e308),
        ("1e-400", 0.0),
    ],
)
def test_the_largest_numbers_are_what_they_say(number, value):
    with opened(f"CREATE TABLE t (k INT); CREATE VIEW v AS SELECT {number} AS x FROM t;") as pipeline:
        pipeline.step({"t": [(1,)]})
        assert pipeline.content("v").rows == [(value,)]


@pytest.mark.parametrize(
    "constant", ["2147483647 + 1", "9223372036854775807 + 1", "CAST('99999999999' AS INT)", "1 / 0"]
)
def test_what_overflows_raises_for_rows_that_get_there_alone(constant):
    program = f"CREATE TABLE t (k INT);\nCREATE VIEW v AS SELECT k, {constant} AS x FROM t WHERE k > 0;"
    with opened(program) as pipeline:
        pipeline.step({"t": [(0,)]})
        with pytest.raises(penstock.DataError) as refused:
            pipeline.step({"t": [(1,)]})
        assert refused.value.code == "EVALUATION_ERROR"
        assert "at line 2, column 28" in refused.value.render()
        pipeline.step({"t": [(-1,)]})
        assert sorted(pipeline.query("SELECT k FROM t").rows) == [(-1,), (0,)]
        assert pipeline.content("v").rows == []


def test_a_decimal_of_38_digits_is_added_up_to_its_last_one():
    largest, next_one, least = (Decimal(text) for text in ("9" * 38, "9" * 37 + "8", "-" + "9" * 38))
    view = "CREATE VIEW m AS SELECT k, MAX(d) AS m, COUNT(d) AS c FROM t GROUP BY k"
    with opened(f"CREATE TABLE t (k INT, d DECIMAL(38,0)); {view}") as pipeline:
        pipeline.step({"t": [(1, largest), (1, next_one), (2, least)]})
        pipeline.step({"t": [("-", (1, largest))]})
        assert sorted(pipeline.content("m").rows) == [(1, next_one, 1), (2, least, 1)]
        with pytest.raises(penstock.DataError):
            pipeline.step({"t": [(1, Decimal("1" + "0" * 38))]})
        assert pipeline.steps == 2


def test_a_zero_character_is_a_character():
    program = """
    CREATE TABLE t (k INT, s STRING);
    CREATE VIEW counted AS SELECT s, COUNT(*) AS n FROM t GROUP BY s;
    CREATE VIEW met AS SELECT a.k, b.k AS other FROM t a JOIN t b ON a.s = b.s;
    CREATE VIEW computed AS SELECT k, length(s) AS n, concat(s, 'x') AS c, s > 'a' AS above, s LIKE 'a%b' AS l FROM t;
    CREATE VIEW ordered AS SELECT k, row_number() OVER (ORDER BY s) AS r FROM t;
    """
    with opened(program) as pipeline:
        pipeline.step({"t": [(1, "a\0b"), (2, "a"), (3, "a\0c"), (4, "a\0b")]})
        pipeline.step({"t": [("-", (1, "a\0b"))]})
        assert sorted(pipeline.content("counted").rows) == [("a", 1), ("a\0b", 1), ("a\0c", 1)]
        assert sorted(pipeline.content("met").rows) == [(2, 2), (3, 3), (4, 4)]
        assert sorted(pipeline.content("ordered").rows) == [(2, 1), (3, 3), (4, 2)]
        assert sorted(pipeline.content("computed").rows) == [
            (2, 1, "ax", False, False),
            (3, 3, "a\0cx", True, False),
            (4, 3, "a\0bx", True, True),
        ]


def test_a_step_of_nothing_is_a_step():
    with opened(
        "CREATE TABLE t (k INT); CREATE VIEW n AS SELECT COUNT(*) AS n FROM t; CREATE VIEW v AS SELECT k FROM t;"
    ) as pipeline:
        changes = [
            {name: list(change.rows) for name, change in pipeline.step(given).items()} for given in ({}, {"t": []})
        ]
        assert [item["n"] for item in changes] == [[(1, (0,))], []]
        assert [item["v"] for item in changes] == [[], []]
        assert pipeline.steps == 2


def test_a_table_may_be_wider_than_a_thousand_columns():
    width = 1100
    columns = ", ".join(f"c{at} INT" for at in range(width))
    with opened(
        f"CREATE TABLE t ({columns}); CREATE VIEW v AS SELECT c{width - 1}, SUM(c1) AS s FROM t GROUP BY c{width - 1};"
    ) as pipeline:
        row = tuple(range(width))
        pipeline.step({"t": [row, row]})
        pipeline.step({"t": [("-", row)]})
        assert pipeline.content("v").rows == [(width - 1, 1)]
        assert pipeline.query("SELECT * FROM t").rows == [row]


@pytest.mark.extended
def test_a_step_may_have_ten_million_rows():
    count = 10_000_000
    program = """CREATE TABLE t (k BIGINT, x BIGINT);
    CREATE VIEW sums AS SELECT k % 1000 AS g, SUM(x) AS s FROM t GROUP BY k % 1000;
    CREATE VIEW some AS SELECT k FROM t WHERE x = 7;"""
    ids = pa.array(range(count), pa.int64())
    with opened(program) as pipeline:
        changes = pipeline.step({"t": pa.table({"k": ids, "x": ids})})
        assert [changes[name].arrow().num_rows for name in ("sums", "some")] == [1000, 1]
        assert pipeline.query("SELECT COUNT(*), SUM(s) FROM sums").rows == [(1000, count * (count - 1) // 2)]
        changes = pipeline.step({"t": [("-", (7, 7))]})
        assert list(changes["some"].rows) == [(-1, (7,))]
        assert pipeline.steps == 2


def test_a_date_that_python_lacks_is_said_to_be_one():
    with opened("CREATE TABLE t (d DATE); CREATE VIEW v AS SELECT d + 1 AS next FROM t;") as pipeline:
        change = pipeline.step(sql="INSERT INTO t VALUES (DATE '9999-12-31')")["v"]
        assert change.arrow().num_rows == 1
        with pytest.raises(penstock.DataError) as refused:
            list(change.rows)
        assert refused.value.code == "NO_PYTHON_VALUE"


def test_what_is_proven_for_one_type_goes_to_spark_for_another():
    program = "CREATE TABLE t (k INT, d DECIMAL(38,0));\nCREATE VIEW v AS SELECT {} + 1 AS x FROM t;"
    here, there = (penstock.Pipeline(program.format(name), spark=no_spark).explain("v", ["circuit"]) for name in "kd")
    assert "in the process" in here
    assert "on Spark" not in here
    assert "on Spark, for" in there
    assert "at 2:25" in there


@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"])
@pytest.mark.parametrize("condition", ["10 / f.x > r.rate", "f.x % r.rate = 0 AND 10 / f.x > 1"])
def test_a_condition_of_a_join_is_asked_of_rows_whose_keys_meet_alone(kind, condition):
    shown = "f.id" if kind in ("SEMI JOIN", "ANTI JOIN") else "f.id, r.rate"
    program = f"""
    CREATE TABLE f (id INT, k INT, x INT);
    CREATE TABLE r (k INT, rate INT);
    CREATE VIEW v AS SELECT {shown} FROM f {kind} r ON f.k = r.k AND {condition};
    """
    with opened(program) as pipeline:
        pipeline.step({"r": [(1, 2), (3, 3), (7, 0)]})
        pipeline.step({"f": [(8, 9, 0), (9, 1, 4)]})  # 8 would raise, and meets nothing
        pipeline.step({"r": [(1, 4), (5, 0)], "f": [(10, None, 0)]})
        shown = set(pipeline.content("v").rows)
        assert ((8,) in shown) == (kind == "ANTI JOIN")
        assert ((8, None) in shown) == (kind in ("LEFT JOIN", "FULL JOIN"))
        with pytest.raises(penstock.DataError) as refused:
            pipeline.step({"r": [(9, 1)]})
        assert refused.value.code == "EVALUATION_ERROR"
