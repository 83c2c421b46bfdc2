"""Queries as Python calls: the SQL that they write, their answers, and errors that name the call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

import penstock
from penstock import F, Window, after_watermark, changes, col, lit, periodic, session, tumble, when
from penstock.errors import PenstockError
from penstock.relational.writing import length

PROGRAM = """
CREATE TABLE orders (id INT, k STRING, x INT, at TIMESTAMP LATENESS INTERVAL 1 HOUR);
CREATE TABLE prices (k STRING PRIMARY KEY, price INT, since TIMESTAMP LATENESS INTERVAL 1 DAY);
CREATE STREAM readings (k STRING, at TIMESTAMP LATENESS INTERVAL 0 SECONDS) WITH ('history' = 'none');
"""
HOUR = datetime(2024, 1, 1, 0)  # noqa: DTZ001 - as Penstock gives them


@pytest.fixture(scope="module")
def pipeline() -> Iterator[penstock.Pipeline]:
    """Three orders and a price."""
    with penstock.Pipeline(PROGRAM, engine="native") as found:
        rows = [
            (1, "a", 5, "2024-01-01 00:10:00"),
            (2, "b", 7, "2024-01-01 00:20:00"),
            (3, "a", 9, "2024-01-01 01:10:00"),
        ]
        prices = [("a", 100, "2024-01-01 00:00:00"), ("a", 200, "2024-01-01 01:00:00")]
        for price in prices:
            found.step({"prices": [price]})
        found.step({"orders": rows})
        yield found


def flat(sql: str) -> str:
    """The text on one line."""
    return " ".join(sql.split()).replace("( ", "(").replace(" )", ")")


def test_conditions_and_columns_go_into_one_select(pipeline: penstock.Pipeline) -> None:
    """Where SQL's order of clauses allows it."""
    found = (
        pipeline.table("orders").where(col("x") > 5).where("k = 'a' OR x < 8").select("id", (col("x") * 2).alias("y"))
    )
    assert flat(found.sql()) == "SELECT id, x * 2 AS y FROM orders WHERE x > 5 AND (k = 'a' OR x < 8)"
    assert sorted(found.collect()) == [(2, 14), (3, 18)]


@pytest.mark.usefixtures("spark")
def test_what_has_been_computed_is_asked_from_around(pipeline: penstock.Pipeline) -> None:
    """A condition on an aggregate, and columns that replace others."""
    totals = pipeline.table("orders").groupBy("k").agg(F.sum("x").alias("total"))
    assert flat(totals.filter("total > 7").sql()) == (
        "SELECT * FROM (SELECT k, sum(x) AS total FROM orders GROUP BY k) WHERE total > 7"
    )
    changed = pipeline.table("orders").withColumn("y", col("x") + 1).withColumn("x", lit(None)).drop("at", "id")
    assert changed.columns == ("k", "x", "y")
    assert sorted(changed.collect()) == [("a", None, 6), ("a", None, 10), ("b", None, 8)]


def test_a_relation_is_not_changed_by_calls(pipeline: penstock.Pipeline) -> None:
    """Each call gives another one."""
    orders = pipeline.table("orders")
    orders.filter("x > 100")
    assert orders.count() == 3


def test_a_window_may_be_said_before_or_behind_the_aggregates_or_as_a_key(pipeline: penstock.Pipeline) -> None:
    """The same query, and the same answer."""
    orders, hour, total = pipeline.table("orders"), tumble("at", "1 hour"), F.sum("x").alias("total")
    behind = orders.group_by("k").agg(total).window(hour)
    as_key = orders.group_by(hour, "k").agg(total)
    before = orders.window(hour).group_by("window_start", "window_end", "k").agg(total)
    assert behind.sql() == as_key.sql() == before.sql()
    two = HOUR + timedelta(hours=1)
    expected = [(HOUR, two, "a", 5), (HOUR, two, "b", 7), (two, two + timedelta(hours=1), "a", 9)]
    assert sorted(behind.collect()) == expected


def test_sessions_of_a_key_are_groups_of_that_key(pipeline: penstock.Pipeline) -> None:
    """`by` is a key as well."""
    found = pipeline.table("orders").group_by(session("at", "30 minutes", by="k")).count()
    assert found.columns == ("window_start", "window_end", "k", "count")
    assert sorted(row[2:] for row in found.collect()) == [("a", 1), ("a", 1), ("b", 1)]


def test_joins_by_name_by_condition_and_with_a_version(pipeline: penstock.Pipeline) -> None:
    """Names of relations are their aliases."""
    orders, prices = pipeline.table("orders"), pipeline.table("prices")
    by_name = orders.join(prices, on="k", how="left_outer").select("id", "price")
    assert sorted(by_name.collect()) == [(1, 200), (2, None), (3, 200)]
    by_condition = orders.alias("o").join(prices.alias("p"), on=col("o.k") == col("p.k")).select("o.id", "p.price")
    assert sorted(by_condition.collect()) == [(1, 200), (3, 200)]
    versions = orders.join(prices.as_of(col("orders.at")).alias("p"), on=orders["k"] == col("p.k")).select(
        "id", "price"
    )
    assert sorted(versions.collect()) == [(1, 100), (3, 200)]
    anti = orders.filter("x > 1").join(prices, on=["k"], how="leftanti")
    assert [row[1] for row in anti.collect()] == [2]


def test_a_filter_before_a_full_join_stays_before_it(pipeline: penstock.Pipeline) -> None:
    """Behind it, it would say something else."""
    found = (
        pipeline.table("orders").filter("x > 8").join(pipeline.table("prices"), on="k", how="full").select("id", "k")
    )
    assert found.collect() == [(3, "a")]
    none = (
        pipeline.table("orders").filter("x > 99").join(pipeline.table("prices"), on="k", how="full").select("id", "k")
    )
    assert none.collect() == [(None, "a")]


def test_sets_orders_and_limits(pipeline: penstock.Pipeline) -> None:
    """By places, by names, with and without equal rows."""
    orders, prices = pipeline.table("orders"), pipeline.table("prices")
    assert orders.select("k").union(prices.select("k")).distinct().order_by("k").collect() == [("a",), ("b",)]
    named = orders.select("k", "x").union_by_name(prices.select(col("price").alias("x"), "k"))
    assert sorted(named.collect()) == [("a", 5), ("a", 9), ("a", 200), ("b", 7)]
    assert orders.select("k").subtract(prices.select("k")).collect() == [("b",)]
    assert orders.select("k").except_all(prices.select("k")).order_by("k").collect() == [("a",), ("b",)]
    assert orders.order_by(F.desc("x")).limit(2).filter("x < 9").select("id").collect() == [(2,)]
    assert orders.orderBy("x").limit(3).limit(1).first()[0] == 1
    assert orders.order_by("id").filter("id > 1").select("id").collect() == [(2,), (3,)]


def test_duplicates_by_some_columns_leave_the_least_row(pipeline: penstock.Pipeline) -> None:
    """Where PySpark leaves any."""
    assert sorted(pipeline.table("orders").dropDuplicates(["k"]).select("id").collect()) == [(1,), (2,)]


@pytest.mark.usefixtures("spark")
def test_functions_take_names_values_and_lambdas(pipeline: penstock.Pipeline) -> None:
    """Texts are names but where a function wants a text."""
    size = when(col("x") > 8, "big").when(col("x") > 5, "middle").otherwise("small").alias("size")
    arrays = F.transform(F.array(lit(1), "x"), lambda v: v + 1).alias("more")
    found = (
        pipeline.table("orders").select(size, F.date_trunc("hour", "at").alias("hour"), arrays).order_by("hour", "size")
    )
    one = HOUR + timedelta(hours=1)
    assert found.collect() == [("middle", HOUR, [2, 8]), ("small", HOUR, [2, 6]), ("big", one, [2, 10])]
    best = F.row_number().over(Window.partitionBy("k").orderBy(F.desc("x"))).alias("place")
    ranked = pipeline.table("orders").select("id", best).filter(col("place") == 1).drop("place")
    assert sorted(ranked.collect()) == [(2,), (3,)]


VALUES = [
    None, True, 3, -4, 2**70, 1.5, float("inf"), Decimal("1.50"), "it's a \\ \n`text`", b"\x00\xff", date(2024, 2, 29),
    timedelta(days=1, seconds=3), [1, 2], {"a": 1},
]  # fmt: skip


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_of_python_come_back_as_they_were(pipeline: penstock.Pipeline, value: Any) -> None:
    """Through SQL and out of it."""
    ((found,),) = pipeline.table("prices").select(lit(value).alias("v")).collect()
    assert found == value


@pytest.mark.usefixtures("spark")
def test_times_of_python_are_in_utc_or_their_own_zone(pipeline: penstock.Pipeline) -> None:
    """As rows that are given are."""
    plain, zoned = datetime(2024, 1, 1, 12), datetime(2024, 1, 1, 12, tzinfo=UTC)  # noqa: DTZ001 - what is tested
    assert pipeline.table("prices").select(lit(plain).alias("a"), lit(zoned).alias("b")).collect() == [(plain, plain)]


def test_names_that_need_it_are_quoted() -> None:
    """Whatever they contain."""
    program = "CREATE TABLE `order` (`a b` INT, `c.d` INT, `select` INT, `e``f` INT)"
    with penstock.Pipeline(program, engine="native") as p:
        p.step({"order": [(1, 2, 3, 4)]})
        found = p.table("order").select("a b", "`c.d`", "select", "`e``f`")
        assert found.with_column_renamed("a b", "x y").filter(col("x y") == 1).collect() == [(1, 2, 3, 4)]
        assert p.table("order")["c.d"].text == "`order`.`c.d`"


def test_a_view_of_a_relation_is_maintained(pipeline: penstock.Pipeline) -> None:
    """As CREATE VIEW is."""
    with penstock.Pipeline("CREATE TABLE t (k STRING, x INT)", engine="native") as p:
        p.create_view("totals", p.table("t").group_by("k").agg(F.sum("x").alias("total")), materialized=True)
        assert p.step({"t": [("a", 1), ("a", 2)]})["totals"].rows == [(1, ("a", 3))]
        assert p.table("totals").filter(col("total") > 2).collect() == [("a", 3)]
        assert "incremental" in p.sql("SELECT k FROM totals").filter("k = 'a'").explain()


def test_a_relation_stands_by_its_policy_and_as_a_stream() -> None:
    """Rows are shown when their window has closed."""
    with penstock.Pipeline(PROGRAM, engine="native") as p:
        hourly = p.table("readings").group_by(tumble("at", timedelta(hours=1))).count()
        emitted, streamed = hourly.emit(after_watermark()).subscribe(), hourly.stream().subscribe()
        p.step({"readings": [("a", "2024-01-01 00:10:00"), ("a", "2024-01-01 01:10:00")]})
        expected = [(HOUR, HOUR + timedelta(hours=1), 1)]
        assert list(emitted.get(0)) == list(streamed.get(0)) == expected
        assert "EMIT AFTER WINDOW CLOSE" in hourly.emit(after_watermark()).explain()


def test_policies_are_put_together() -> None:
    """With AND, in any order."""
    assert (changes() & periodic("1s")).text == "EMIT CHANGES PERIODIC INTERVAL '1' SECOND"
    found = after_watermark(delay="5s").timeout("1 minute").text
    assert found == "EMIT AFTER WATERMARK WITH DELAY INTERVAL '5' SECOND AND TIMEOUT INTERVAL '1' MINUTE"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("1 hour", "'1' HOUR"),
        ("1 hour 30 minutes", "'90' MINUTE"),
        ("2h", "'2' HOUR"),
        ("100 ms", "'100' MILLISECOND"),
        ("1 week", "'7' DAY"),
        ("3 months", "'3' MONTH"),
        (timedelta(seconds=90), "'90' SECOND"),
    ],
)
def test_lengths_of_time(given: Any, text: str) -> None:
    """In their largest whole unit."""
    assert length(given) == f"INTERVAL {text}"


REFUSED: tuple[tuple[str, str, Callable[[penstock.Pipeline], object]], ...] = (
    ("UNKNOWN_RELATION", "table(): there is no table or view ordres", lambda p: p.table("ordres")),
    ("UNKNOWN_COLUMN", "filter(y > 1): there is no column 'y'", lambda p: p.table("orders").filter(col("y") > 1)),
    ("UNKNOWN_COLUMN", "agg(count(*)): there is no column 'zz'", lambda p: p.table("orders").group_by("zz").count()),
    ("UNKNOWN_FUNCTION", "select(smu(x)): there is no function 'smu'", lambda p: p.table("orders").select(F.smu("x"))),
    ("UNBALANCED", "filter(x > 1) OR (1 = 1)", lambda p: p.table("orders").filter("x > 1) OR (1 = 1")),
    ("PYTHON_CALL", "'lft' is no kind of join", lambda p: p.table("orders").join(p.table("prices"), "k", how="lft")),
    ("PYTHON_CALL", "nothing says which rows", lambda p: p.table("orders").join(p.table("prices"))),
    ("PYTHON_CALL", "expected a condition, found 3", lambda p: p.table("orders").filter(3)),
    ("PYTHON_CALL", "expected an expression, found 'x + 1'", lambda p: p.table("orders").with_column("y", "x + 1")),
    ("PYTHON_CALL", "there is no column 'zz'", lambda p: p.table("orders")["zz"]),
    ("PYTHON_CALL", "no truth value", lambda _p: bool(col("x")) and lit(1)),
    ("PYTHON_CALL", "comparison with None", lambda p: p.table("orders").filter(col("x") == None)),  # noqa: E711
    ("PYTHON_CALL", "is no value of SQL", lambda _p: lit(object())),
    ("PYTHON_CALL", "is no length of time", lambda _p: tumble("at", "1 fortnight")),
    ("PYTHON_CALL", "is not the name of a column", lambda _p: col("a..b")),
    ("PYTHON_CALL", "no column is left", lambda p: p.table("orders").drop("id", "k", "x", "at")),
    ("NOT_A_QUERY", "expected a query", lambda p: p.sql("DROP TABLE orders")),
    ("NO_STREAM", "stream()", lambda p: p.table("orders").stream()),
)  # fmt: skip


@pytest.mark.parametrize(("code", "message", "call"), REFUSED, ids=[message for _, message, _ in REFUSED])
def test_an_error_names_its_call(
    pipeline: penstock.Pipeline, code: str, message: str, call: Callable[[penstock.Pipeline], object]
) -> None:
    """And comes from the line that is wrong."""
    with pytest.raises(PenstockError) as caught:
        call(pipeline)
    assert message in caught.value.render()
    assert caught.value.code == code
