"""Rows that only views will read come in without the columns that no view reads; nobody notices."""

import pytest

import penstock
from penstock.backends.thresholds import DRIVER_ROWS
from penstock.errors import DataError

TABLE = """CREATE TABLE t (id BIGINT NOT NULL, g INT, at TIMESTAMP LATENESS INTERVAL 10 SECONDS, words STRING)
  WITH ('append_only' = 'true', 'history' = '{history}');"""
VIEWS = """CREATE VIEW counted AS SELECT g, count(*) AS n, max(at) AS last FROM t GROUP BY g;
CREATE VIEW picked AS SELECT at AS moment, g FROM t;
CREATE VIEW late AS SELECT * FROM error_view;"""
ONLY_COUNTED = "CREATE VIEW counted AS SELECT count(*) AS n FROM t;"


def rows(spark, size, begin, late):
    """Rows with times from `begin` on, of which the first ones lie far back."""
    at = f"timestamp_seconds({begin} + id % 5 - if(id < {late}, 2000, 0))"
    return spark.range(size).selectExpr("id", "cast(id % 3 AS INT) AS g", f"{at} AS at", "concat('word ', id) AS words")


@pytest.mark.parametrize("views", [VIEWS, ONLY_COUNTED], ids=["some columns", "no column"])
@pytest.mark.parametrize(
    "size",
    [pytest.param(100, id="small"), pytest.param(DRIVER_ROWS + 1, id="large", marks=pytest.mark.extended)],
)
def test_the_same_changes_with_and_without(spark, size, views):
    seen = {}
    for history in ("none", "all"):
        with penstock.Pipeline(TABLE.format(history=history) + views, spark=spark) as pipeline:
            seen[history] = []
            for step, late in enumerate([0, 7, 0]):
                changes = pipeline.step({"t": rows(spark, size, 1_000 * step, late)})
                found = {name: sorted(change.rows, key=repr) for name, change in changes.items()}
                found.pop("error_view", None)
                seen[history].append(found)
    assert seen["none"] == seen["all"]
    if views == VIEWS:
        assert len(seen["none"][1]["late"]) == 7
        assert "word 3" in repr(seen["none"][1]["late"])


def test_a_column_that_nobody_reads_is_checked(spark):
    with penstock.Pipeline(TABLE.format(history="none") + ONLY_COUNTED, spark=spark) as pipeline:
        with pytest.raises(DataError, match="column id: found NULL in 1 rows"):
            pipeline.step({"t": rows(spark, 9, 0, 0).selectExpr("nullif(id, 4) AS id", "g", "at", "words")})
        with pytest.raises(DataError, match="column words"):
            pipeline.step({"t": rows(spark, 9, 0, 0).selectExpr("id", "g", "at", "id AS words")})
        assert pipeline.step({"t": rows(spark, 9, 0, 0)})["counted"].rows == [(1, (9,))]


NARROW = "CREATE TABLE t ({columns}) WITH ('append_only' = 'true', 'history' = '{history}');"


@pytest.mark.parametrize("size", [0, 5, DRIVER_ROWS + 1])
def test_no_column_at_all(spark, size):
    rows_of = spark.range(size).selectExpr("cast(id AS INT) AS a")
    program = NARROW.format(columns="a INT", history="none")
    with penstock.Pipeline(program + "CREATE VIEW v AS SELECT count(*) AS n FROM t;", spark=spark) as pipeline:
        assert pipeline.step({"t": rows_of})["v"].rows == [(1, (size,))]
        assert sorted(pipeline.step({"t": rows_of.selectExpr("a", "'+' AS __op")})["v"].rows) == (
            [(-1, (size,)), (1, (2 * size,))] if size else []
        )
    with penstock.Pipeline(program + "CREATE VIEW v AS SELECT 1 AS one;", spark=spark) as pipeline:
        assert pipeline.step({"t": rows_of})["v"].rows == [(1, (1,))]


def test_an_overflow_in_a_column_that_nobody_reads_is_refused(spark):
    program = NARROW.format(columns="g INT, b INT", history="none")
    with penstock.Pipeline(program + "CREATE VIEW v AS SELECT g FROM t;", spark=spark) as pipeline:
        with pytest.raises(penstock.PenstockError, match="overflow"):
            pipeline.step({"t": spark.sql("SELECT 1 AS g, 1099511627776L AS b")})
        assert pipeline.step({"t": spark.sql("SELECT 1 AS g, 1L AS b")})["v"].rows == [(1, (1,))]


@pytest.mark.parametrize("history", ["none", "all"])
def test_lengths_of_texts(spark, history):
    program = NARROW.format(columns="a VARCHAR(3), c CHAR(5)", history=history)
    with penstock.Pipeline(program + "CREATE VIEW v AS SELECT a, c FROM t;", spark=spark) as pipeline:
        assert pipeline.step({"t": spark.sql("SELECT 'ab' AS a, 'x' AS c")})["v"].rows == [(1, ("ab", "x    "))]
        for size in (1, DRIVER_ROWS + 1):
            with pytest.raises(DataError, match="longer than 3 characters"):
                pipeline.step({"t": spark.range(size).selectExpr("'abcd' AS a", "'x' AS c")})


@pytest.mark.parametrize("history", ["none", "all"])
def test_a_variant_of_a_frame(spark, history):
    program = NARROW.format(columns="e VARIANT, c CHAR(2)", history=history)
    with penstock.Pipeline(program + "CREATE VIEW v AS SELECT e:a::DOUBLE AS a FROM t;", spark=spark) as pipeline:
        frame = spark.sql("SELECT parse_json('{\"a\":1.5}') AS e, 'x' AS c UNION ALL SELECT NULL, 'y'")
        assert sorted(pipeline.step({"t": frame})["v"].rows, key=repr) == [(1, (1.5,)), (1, (None,))]


@pytest.mark.parametrize(
    ("kind", "bound", "values"),
    [
        pytest.param(
            "DATE", "INTERVAL 1 DAY", ["DATE '2024-01-10'", "DATE '2024-01-01'", "NULL"], marks=pytest.mark.extended
        ),
        pytest.param(
            "TIMESTAMP_NTZ",
            "INTERVAL 1 HOUR",
            ["TIMESTAMP_NTZ '2024-01-10 09:00:00'", "TIMESTAMP_NTZ '2024-01-10'"],
            marks=pytest.mark.extended,
        ),
        pytest.param("DECIMAL(10,2)", "1", ["100.00BD", "1.50BD", "NULL"], marks=pytest.mark.extended),
        ("DOUBLE", "1", ["100.0D", "1.5D", "double('NaN')", "double('Infinity')", "NULL"]),
    ],
)  # fmt: skip
def test_late_rows_of_every_kind(spark, kind, bound, values):
    columns = f"a {kind} LATENESS {bound}, b BINARY, c STRUCT<x: INT, y: ARRAY<DATE>>, d VARIANT"
    others = "X'00ff' AS b, named_struct('x', 1, 'y', array(DATE'2024-01-01')) AS c, parse_json('{\"k\":[1]}') AS d"
    frame = spark.sql(" UNION ALL ".join(f"SELECT CAST({value} AS {kind}) AS a, {others}" for value in values))
    seen = {}
    for history in ("none", "all"):
        program = NARROW.format(columns=columns, history=history)
        with penstock.Pipeline(program + "CREATE VIEW v AS SELECT a FROM t;", spark=spark) as pipeline:
            steps = [pipeline.step({"t": frame}) for _ in range(2)]
            seen[history] = [sorted(map(repr, step[name].rows)) for step in steps for name in ("v", "error_view")]
    assert seen["none"] == seen["all"]
    assert len(seen["none"][3]) >= 1


def test_a_lateral_query_that_reads_nothing_of_the_other_side(spark):
    text = """CREATE TABLE t (a BIGINT); CREATE TABLE u (x INT);
    CREATE VIEW v AS SELECT l.x AS x, count(*) AS n FROM t, LATERAL (SELECT x FROM u) AS l GROUP BY l.x;"""
    many = DRIVER_ROWS + 1
    with penstock.Pipeline(text, spark=spark) as pipeline:
        found = pipeline.step({"t": spark.range(many).selectExpr("id AS a"), "u": [{"x": 1}, {"x": 2}]})
        assert sorted(found["v"].rows) == [(1, (1, many)), (1, (2, many))]
        assert pipeline.verify("v")
