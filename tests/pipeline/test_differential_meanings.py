"""Under a setting of Spark that changes what SQL means, answers are those of the session's own query."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

import penstock
from penstock.catalog.meanings import meanings
from penstock.catalog.settings import ANSI
from penstock.errors import UnsupportedError

DECIMALS = "spark.sql.decimalOperations.allowPrecisionLoss"
STATISTICS = "spark.sql.legacy.statisticalAggregate"
TABLE = """
CREATE TABLE t (k INT, a DECIMAL(20, 10), b DECIMAL(20, 10), w DECIMAL(38, 0), n DECIMAL(38, 20), d DATE, s STRING);
"""
ROWS = [
    (
        1,
        Decimal("1.0000000000"),
        Decimal("3.0000000000"),
        Decimal(5),
        Decimal("1.12345678901234567890"),
        date(1500, 1, 1),
        "abc",
    ),
    (2, Decimal("2.0000000001"), Decimal("7.0000000000"), Decimal(6), Decimal("2.5"), date(1582, 10, 20), "Abcde"),
    (2, Decimal("5.5000000000"), Decimal("0.7000000000"), None, Decimal("0.1"), date(2024, 2, 29), None),
    (3, Decimal("9.1000000000"), Decimal("1.1000000000"), Decimal(7), None, None, ""),
]
STDDEV = "SELECT k, STDDEV(CAST(a AS DOUBLE)) AS x, COUNT(*) AS n FROM t GROUP BY k"
CASES = [
    (DECIMALS, "false", "SELECT k, a / b AS x FROM t"),
    (DECIMALS, "false", "SELECT k, a * n AS x, a + w AS y FROM t"),
    (DECIMALS, "false", "SELECT k, a / b AS x, CAST(a AS DECIMAL(10, 2)) / CAST(b AS DECIMAL(20, 2)) AS y FROM t"),
    (DECIMALS, "false", "SELECT k, SUM(a / b) AS x, MAX(a / b) AS y, AVG(a * b) AS z FROM t GROUP BY k"),
    (DECIMALS, "false", "SELECT k, a / b AS x FROM t UNION ALL SELECT k, a AS x FROM t WHERE a / b > 0.5"),
    (
        DECIMALS,
        "false",
        "SELECT one.k, one.a / other.b AS x FROM t AS one JOIN t AS other ON one.a / one.b = other.a / other.b",
    ),
    (DECIMALS, "false", "SELECT k, SUM(a / b) OVER (PARTITION BY k ORDER BY a) AS x FROM t"),
    ("spark.sql.legacy.literal.pickMinimumPrecision", "false", "SELECT k, n * 2 AS x, w / 3 AS y FROM t"),
    ("spark.sql.legacy.literal.pickMinimumPrecision", "false", "SELECT k, CAST(a AS DECIMAL(10, 2)) / 3 AS x FROM t"),
    ("spark.sql.legacy.literal.pickMinimumPrecision", "false", "SELECT k, CAST(a AS DECIMAL(6, 2)) * 2 AS x FROM t"),
    ("spark.sql.legacy.decimal.retainFractionDigitsOnTruncate", "true", "SELECT k, coalesce(n, w) AS x FROM t"),
    (
        "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate",
        "true",
        "SELECT k, n AS x FROM t UNION SELECT k, w AS x FROM t",
    ),
    (STATISTICS, "true", STDDEV),
    (
        "spark.sql.legacy.timeParserPolicy",
        "LEGACY",
        "SELECT k, try_to_timestamp(concat('2024-1-', k), 'yyyy-MM-dd') AS x FROM t",
    ),
    ("spark.sql.legacy.truncateForEmptyRegexSplit", "true", "SELECT k, concat_ws('+', split(s, '', 2)) AS x FROM t"),
    (
        "spark.sql.legacy.castComplexTypesToString.enabled",
        "true",
        "SELECT k, CAST(named_struct('s', s, 'w', w) AS STRING) AS x FROM t",
    ),
    ("spark.sql.chunkBase64String.enabled", "false", "SELECT k, base64(CAST(repeat(s, 60) AS BINARY)) AS x FROM t"),
    ("spark.sql.jsonGenerator.ignoreNullFields", "false", "SELECT k, to_json(named_struct('s', s)) AS x FROM t"),
]


def told(rows):
    """Rows that can be compared: NaN is itself, and decimals are as many as their digits."""
    return sorted(map(repr, map(tuple, rows)))


@pytest.fixture
def meant(interpreting):
    """A function that asks the session for the rows and types of a query under a setting, which it has then no more."""
    interpreting.sql("SET spark.sql.session.timeZone = UTC")
    interpreting.conf.set(ANSI, "true")
    frame = interpreting.createDataFrame(
        ROWS, "k INT, a DECIMAL(20,10), b DECIMAL(20,10), w DECIMAL(38,0), n DECIMAL(38,20), d DATE, s STRING"
    )
    frame.createOrReplaceTempView("t")

    def asked(query, name=None, value=None):
        before = interpreting.conf.get(name, None) if name else None
        if name:
            interpreting.conf.set(name, value)
        try:
            found = interpreting.sql(query)
            return told(found.collect()), found.dtypes
        finally:
            if name:
                interpreting.conf.unset(name) if before is None else interpreting.conf.set(name, before)

    yield asked
    interpreting.catalog.dropTempView("t")


def check(query, wanted, spark, *, setting="", **options):
    """Have a view, in two steps, and the query itself give the rows and types that are wanted, all of it on Spark."""
    with penstock.Pipeline(f"{setting}{TABLE}CREATE VIEW v AS {query};", spark=spark, **options) as pipeline:
        pipeline.step({"t": [*ROWS[:2], ROWS[0]]})
        pipeline.step({"t": [("-", ROWS[0]), *ROWS[2:]]})
        whole = pipeline.query(query)
        assert (told(pipeline.content("v").rows), told(whole.rows), whole.df().dtypes) == (wanted[0], *wanted)
        assert pipeline.verify("v").ok
        assert {item.where for item in pipeline.state()} <= {"spark"}
        assert "all on Spark, for spark.sql." in pipeline.explain("v", ["circuit"])


@pytest.mark.parametrize(("name", "value", "query"), CASES)
def test_a_program_that_sets_it_has_sparks_answers(meant, interpreting, name, value, query):
    rows, types = meant(query, name, value)
    assert (rows, types) != meant(query)
    check(query, (rows, types), interpreting, setting=f"SET {name} = '{value}'; ")
    assert meant(query) != (rows, types)


def sessions(spark):
    """Ways in which a session with a setting comes to a pipeline, each with what it takes."""
    return {
        "conf": {"spark": spark, "conf": True},
        "given": {"spark": spark},
        "a function": {"spark": lambda: spark},
        "running": {"spark": None},
        "later": {"spark": penstock.LaterSession(lambda: spark), "conf": True},
    }


@pytest.mark.parametrize("way", ["conf", "given", "a function", "running", "later"])
def test_a_session_that_has_it_has_sparks_answers(meant, interpreting, way):
    name, value, query = STATISTICS, "true", STDDEV
    wanted = meant(query, name, value)
    options = sessions(interpreting)[way]
    conf = {name: value} if options.pop("conf", False) else {}
    given = options.pop("spark")
    try:
        if not conf:
            interpreting.conf.set(name, value)
        check(query, wanted, given, conf=conf)
    finally:
        interpreting.conf.unset(name)


def test_the_program_goes_before_the_session(meant, interpreting):
    interpreting.conf.set(DECIMALS, "false")
    try:
        text = f"SET {DECIMALS} = true; {TABLE}CREATE VIEW v AS {CASES[0][2]};"
        with penstock.Pipeline(text, spark=interpreting) as pipeline:
            pipeline.step({"t": ROWS})
            assert "all on Spark" not in pipeline.explain("v", ["circuit"])
            found = told(pipeline.content("v").rows)
            assert pipeline.verify("v").ok
    finally:
        interpreting.conf.unset(DECIMALS)
    assert found == meant(CASES[0][2])[0]


def test_a_session_that_is_set_under_a_pipeline_answers_nothing_until_it_is_back(interpreting):
    with penstock.Pipeline(f"{TABLE}CREATE VIEW v AS {CASES[0][2]};", spark=interpreting) as pipeline:
        pipeline.step({"t": ROWS[:1]})
        interpreting.conf.set(DECIMALS, "false")
        try:
            for asked in (
                lambda: pipeline.step({"t": ROWS[1:]}),
                lambda: pipeline.query(CASES[0][2]),
                lambda: pipeline.query(CASES[1][2]),
            ):
                with pytest.raises(UnsupportedError) as refused:
                    asked()
                assert refused.value.code == "SESSION_DIFFERS"
                assert DECIMALS in str(refused.value)
        finally:
            interpreting.conf.unset(DECIMALS)
        pipeline.step({"t": ROWS[1:]})
        assert pipeline.verify("v").ok


def test_a_session_that_comes_later_with_another_value_is_refused(interpreting):
    text = "CREATE TABLE t (s STRING); CREATE VIEW v AS SELECT xxhash64(s) AS h FROM t"
    interpreting.conf.set(STATISTICS, "true")
    try:
        with pytest.raises(UnsupportedError) as refused:
            penstock.Pipeline(text, spark=penstock.LaterSession(lambda: interpreting)).step({"t": [("a",)]})
    finally:
        interpreting.conf.unset(STATISTICS)
    assert refused.value.code == "SESSION_DIFFERS"
    assert f"{STATISTICS} = 'true'" in str(refused.value)


@pytest.mark.parametrize("given", [lambda spark: spark, lambda spark: lambda: spark])
def test_a_session_by_which_a_program_would_be_misread_is_refused(interpreting, given):
    interpreting.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(UnsupportedError) as refused:
            penstock.Pipeline(TABLE, spark=given(interpreting))
    finally:
        interpreting.conf.unset("spark.sql.caseSensitive")
    assert refused.value.code == "SPARK_MEANING"


def test_what_is_assumed_is_what_spark_has_unless_it_is_set(spark):
    """But for the two that Penstock itself sets in each session."""
    kind = spark._jvm.java.lang.Class.forName("org.apache.spark.sql.internal.SQLConf$")
    entries = kind.getField("MODULE$").get(None).getConfigEntries().iterator()
    usual = {}
    while entries.hasNext():
        entry = entries.next()
        usual[str(entry.key())] = str(entry.defaultValueString()).replace("<undefined>", "")
    others = {item.name: item.assumed for item in meanings().values() if usual[item.name] != item.assumed}
    assert others == {"spark.sql.constraintPropagation.enabled": "false", "spark.sql.timeType.enabled": "true"}
