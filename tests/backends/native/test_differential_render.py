"""Differential: plans rendered for DuckDB answer what they answer on Spark, over whole contents and over versions.

Rows are few and of few values, so that NULLs, duplicates, ties, NaN and zeros of both signs are frequent.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from pyspark.errors import ArithmeticException
from tests.backends.native.shapes import BY_HAND, COLUMNS, SHAPES, TABLES
from tests.planning import scalar, scan
from tests.tiers import EXTENDED

from penstock.backends.native.dialect import NativeDialect
from penstock.backends.native.proof import NotProvenError
from penstock.backends.native.typing import completed
from penstock.backends.render import Renderer
from penstock.backends.spark.dialect import SparkDialect
from penstock.bind.program.compile import compile_program
from penstock.circuit.raised import diagnosed
from penstock.plan.nodes import Aggregate, AggregateCall, Plan
from penstock.testing.multisets import difference

QUICK = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "1"}
READINGS = {"batch": (), "versions": ("__version",)}
REFUSED = ("session", "hop")
_NAN = float("nan")
_START = datetime(2024, 1, 1, tzinfo=UTC)
VALUES: tuple[list[Any], ...] = (
    [None, 0, 1, 2, 3, -1],
    [None, 0, 1, -5, 7, 2**57, -(2**57)],
    [None, 0.0, -0.0, 1.5, -2.25, _NAN, 1e16, float("inf"), float("-inf")],
    [None, 0.0, -0.0, 0.5, _NAN, 3.0],
    [None, "", "a", "A", "ä", "a\u0000b", "aa", "\U0001f600", "z "],
    [None, Decimal("0.00"), Decimal("1.05"), Decimal("-1.05"), Decimal("9999999999.99"), Decimal("0.01")],
    [None, Decimal("0.000001"), Decimal("-0.000003"), Decimal("9999999999999999999999.999999"), Decimal(7)],
    [None, True, False],
    [None, date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 4), date(1969, 12, 31)],
    [None, *(_START + timedelta(minutes=minutes) for minutes in (0, 30, 60, 61, 200))],
)
Row = tuple[Any, ...]


def drawn(seed: int, most: int) -> dict[str, list[Row]]:
    """Rows of both tables, each with a version before its columns."""
    draw = random.Random(seed)
    found: dict[str, list[Row]] = {}
    for name in ("l", "r"):
        rows = [(draw.choice([0, 1]), *(draw.choice(values) for values in VALUES)) for _ in range(draw.randrange(most))]
        found[name] = rows + rows[: len(rows) // 4]
    return found


@pytest.fixture(scope="module")
def plans() -> dict[str, Plan]:
    views = "".join(f"CREATE VIEW v{place} AS {query};" for place, query in enumerate(SHAPES.values()))
    catalog = compile_program(TABLES + views).catalog
    found = {}
    for place, name in enumerate(SHAPES):
        plan = catalog.views[f"v{place}"].plan
        assert plan is not None, name
        found[name] = completed(plan, {})
    return found | BY_HAND


def duck(rows: dict[str, list[Row]]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET disabled_optimizers = 'common_subplan'; SET TimeZone = 'UTC'")
    columns = f"__version INT, {COLUMNS.replace('STRING', 'VARCHAR')}"
    for name, content in rows.items():
        connection.execute(f"CREATE TABLE {name} ({columns})")
        for row in content:
            values = [item.replace(tzinfo=None) if isinstance(item, datetime) else item for item in row]
            connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(values))})", values)
    return connection


@pytest.fixture
def planning_little(interpreting) -> Iterator[Any]:
    """Spark for queries over a handful of rows in one place."""
    before = {name: interpreting.conf.get(name) for name in QUICK}
    for name, value in QUICK.items():
        interpreting.conf.set(name, value)
    yield interpreting
    for name, value in before.items():
        interpreting.conf.set(name, value)


def native_query(name: str, plan: Plan, carry: tuple[str, ...]) -> str | None:
    try:
        return Renderer(NativeDialect(), {"l": "l", "r": "r"}, carry).sql(plan)
    except NotProvenError:
        assert any(word in name for word in REFUSED), name
        return None


def compared(spark: Any, plans: dict[str, Plan], rows: dict[str, list[Row]], carry: tuple[str, ...]) -> Iterator[str]:
    """What DuckDB answers otherwise than Spark."""
    connection = duck(rows)
    for name, content in rows.items():
        table = spark.createDataFrame(content, f"__version INT, {COLUMNS}")
        table.coalesce(1).localCheckpoint().createOrReplaceTempView(f"native_{name}")
    for name, plan in plans.items():
        native = native_query(name, plan, carry)
        if native is None:
            continue
        expected = spark.sql(Renderer(SparkDialect(), {"l": "native_l", "r": "native_r"}, carry).sql(plan)).collect()
        found = difference(
            [(1, tuple(row)) for row in expected], [(1, row) for row in connection.sql(native).fetchall()]
        )
        if found:
            yield f"{name}: {found.describe()}"


SMALL, EMPTY = 6, 1


def some(plans: dict[str, Plan]) -> dict[str, Plan]:
    """Every fifth of them, and those that are written by hand."""
    return dict(list(plans.items())[::5]) | BY_HAND


def test_duckdb_answers_what_spark_answers_of_some(planning_little, plans):
    wrong = list(compared(planning_little, some(plans), drawn(1, 30), READINGS["versions"]))
    assert not wrong, "\n".join(wrong)


@pytest.mark.extended
@pytest.mark.parametrize(
    ("reading", "seed", "most"),
    [
        ("versions", 1, 30),
        ("batch", 2, 30),
        ("versions", 3, SMALL),
        ("batch", 4, EMPTY),
    ],
)
def test_duckdb_answers_what_spark_answers(planning_little, plans, reading, seed, most):
    wrong = list(compared(planning_little, plans, drawn(seed, most), READINGS[reading]))
    assert not wrong, "\n".join(wrong)


@pytest.mark.both
def test_a_version_is_what_a_batch_over_its_rows_is(plans):
    rows = drawn(5, 30)
    whole = duck(rows)
    for version in (0, 1):
        part = duck({name: [row for row in content if row[0] == version] for name, content in rows.items()})
        for name, plan in (plans if EXTENDED else some(plans)).items():
            one, both = native_query(name, plan, ()), native_query(name, plan, ("__version",))
            if one is None or both is None or name == "nothing":
                continue
            expected = [(1, row) for row in part.sql(one).fetchall()]
            actual = [(1, row[:-1]) for row in whole.sql(both).fetchall() if row[-1] == version]
            found = difference(expected, actual)
            assert not found, f"{name}: {found.describe()}"


FAILING = (
    "sum(`n`)",
    "sum(`x`)",
    "sum(`x`) FILTER (WHERE `n` > 0)",
    "corr(`n`, `n`)",
    "sum(`n`) FILTER (WHERE `n` > 0)",
)


@pytest.mark.parametrize("call", FAILING)
def test_duckdb_fails_as_spark_does(planning_little, call):
    spark, connection = planning_little, duckdb.connect()
    rows = "SELECT CAST('90000000000000000000000000000000000000' AS DECIMAL(38,0)) AS x, 9223372036854775807 AS n"
    spark.sql(f"{rows} UNION ALL {rows}").createOrReplaceTempView("native_large")
    connection.execute(f"CREATE TABLE large AS {rows} UNION ALL {rows}")
    plan = planned(call)
    with pytest.raises(ArithmeticException) as wanted:
        spark.sql(Renderer(SparkDialect(), {"large": "native_large"}).sql(plan)).collect()
    with pytest.raises(duckdb.Error) as given:
        connection.sql(Renderer(NativeDialect(), {"large": "large"}).sql(plan)).fetchall()
    raised, error = diagnosed(given.value), wanted.value
    assert raised is not None
    assert (raised.code, raised.sqlstate) == (error.getCondition(), error.getSqlState())
    assert raised.fragment == error.getQueryContext()[0].fragment()
    assert f"[{raised.code}] {raised.message}" in str(error)


def planned(call: str) -> Plan:
    """One aggregate over a table."""
    whole = scalar(call)
    large = scan("large", x="decimal(38,0)", n="bigint")
    return Aggregate(large, (), (("c", AggregateCall("sum", (), whole)),))
