"""An evaluation error names the view that raises, the place of the expression in its text, and the row.

Views share operators and parts of expressions; one of them alone meets the row for which the expression has no value.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiers import examples

import penstock

TABLES = "CREATE TABLE l (a INT, b INT, s STRING);\nCREATE TABLE r (a INT, c INT);\n"
BAD_L = "INSERT INTO l VALUES (2, 5, '7'), (1, 0, 'x')"
# The expression that raises, views that share its text or its operators, and the one that raises.
SHARED = {
    "projection": (
        "10 / b",
        "CREATE VIEW o AS SELECT a, 10 / b AS q FROM l WHERE b <> 0",
        "SELECT a + 10 / b AS q FROM l",
    ),
    "join": (
        "10 / l.b",
        "CREATE VIEW o AS SELECT a, 10 / b AS q FROM l WHERE b <> 0",
        "SELECT 10 / l.b AS q FROM l JOIN r ON l.a = r.a",
    ),
    "condition": (
        "10 / b",
        "CREATE VIEW o AS SELECT a FROM l WHERE b <> 0 AND 10 / b > 1",
        "SELECT a FROM l WHERE 10 / b > 1",
    ),
    "cte": (
        "10 / b",
        "CREATE VIEW o AS WITH c AS (SELECT b FROM l WHERE b > 0) SELECT 10 / b AS q FROM c",
        "WITH c AS (SELECT a, b FROM l) SELECT 10 / b AS q FROM c",
    ),
    "subquery": (
        "10 / y",
        "CREATE VIEW o AS SELECT 10 / y AS q FROM (SELECT b AS y FROM l WHERE b > 0)",
        "SELECT 10 / y AS q FROM (SELECT a - 1 AS y FROM l) s",
    ),
    "chain": (
        "10 / d",
        "CREATE VIEW n AS SELECT a, b + 0 AS d FROM l;\nCREATE VIEW o AS SELECT 10 / d AS q FROM n WHERE d > 0",
        "SELECT 10 / d AS q FROM n",
    ),
    "local view": (
        "10 / d",
        "CREATE LOCAL VIEW n AS SELECT a, b + 0 AS d FROM l;\nCREATE VIEW o AS SELECT 10 / d AS q FROM n WHERE d > 0",
        "SELECT 10 / d AS q FROM n",
    ),
    "cast": (
        "CAST(s AS INT)",
        "CREATE VIEW o AS SELECT CAST(s AS INT) AS q FROM l WHERE b <> 0",
        "SELECT a, CAST(s AS INT) AS q FROM l",
    ),
    "group": (
        "10 / b",
        "CREATE VIEW o AS SELECT 10 / b AS k, COUNT(*) AS n FROM l WHERE b > 0 GROUP BY 10 / b",
        "SELECT 10 / b AS k, COUNT(*) AS n FROM l GROUP BY 10 / b",
    ),
    "sum": (
        "10 / b",
        "CREATE VIEW o AS SELECT SUM(10 / b) AS q FROM l WHERE b > 0",
        "SELECT SUM(10 / b) AS q FROM l",
    ),
    "over a sum": (
        "10 / SUM(b)",
        "CREATE VIEW o AS SELECT a FROM l WHERE b > 0 GROUP BY a HAVING 10 / SUM(b) > 0",
        "SELECT a FROM l GROUP BY a HAVING 10 / SUM(b) > 0",
    ),
    "over a window": (
        "10 / SUM(b) OVER (PARTITION BY a)",
        "CREATE VIEW o AS SELECT SUM(b) OVER (PARTITION BY a) AS q FROM l",
        "SELECT 10 / SUM(b) OVER (PARTITION BY a) AS q FROM l",
    ),
    "window": (
        "10 / b",
        "CREATE VIEW o AS SELECT SUM(10 / b) OVER (PARTITION BY a) AS q FROM l WHERE b > 0",
        "SELECT SUM(10 / b) OVER (PARTITION BY a) AS q FROM l",
    ),
    "order": (
        "10 / b",
        "CREATE VIEW o AS SELECT a FROM l WHERE b > 0 ORDER BY 10 / b LIMIT 2",
        "SELECT a FROM l ORDER BY 10 / b LIMIT 2",
    ),
    "union": (
        "10 / b",
        "CREATE VIEW o AS SELECT a FROM l UNION ALL SELECT 10 / b FROM l WHERE b > 0",
        "SELECT a FROM l UNION ALL SELECT 10 / b FROM l",
    ),
    "distinct": (
        "10 / b",
        "CREATE VIEW o AS SELECT DISTINCT 10 / b AS q FROM l WHERE b > 0",
        "SELECT DISTINCT 10 / b AS q FROM l",
    ),
    "case": (
        "10 / b",
        "CREATE VIEW o AS SELECT CASE WHEN b > 0 THEN 10 / b END AS q FROM l",
        "SELECT CASE WHEN a > 1 THEN 0 ELSE 10 / b END AS q FROM l",
    ),
    "function": (
        "f(b)",
        "CREATE FUNCTION f(x INT) RETURNS DOUBLE RETURN 10 / x;\nCREATE VIEW o AS SELECT f(b) AS q FROM l WHERE b > 0",
        "SELECT f(b) AS q FROM l",
    ),
    "lateral": (
        "10 / b",
        "CREATE VIEW o AS SELECT a FROM l",
        "SELECT x FROM l, LATERAL explode(array(10 / b)) AS e(x)",
    ),
    "emit": (
        "10 / b",
        "CREATE VIEW o AS SELECT 10 / b AS q FROM l WHERE b > 0 EMIT CHANGES",
        "SELECT 10 / b AS q FROM l EMIT CHANGES",
    ),
}


def raised(program, *statements, engine="native", spark=None):
    options = {} if spark is None else {"spark": spark}
    with penstock.Pipeline(f"SET engine = '{engine}';\n{program}", **options) as pipeline:
        for statement in statements[:-1]:
            pipeline.execute(statement)
        with pytest.raises(penstock.DataError) as caught:
            pipeline.execute(statements[-1])
        assert pipeline.query("SELECT COUNT(*) FROM l").rows == [(0,)]  # it has left no trace
    return caught.value


def text_at(error):
    span = error.diagnostics[0].span
    return error.source[span.start : span.end]


def check_shared(case, **options):
    expression, others, view = SHARED[case]
    program = f"{TABLES}{others};\nCREATE VIEW z AS {view};"
    statements = ["INSERT INTO r VALUES (1, 5)", BAD_L] if case == "join" else [BAD_L]
    error = raised(program, *statements, **options)
    assert error.code == "EVALUATION_ERROR"
    assert error.summary.startswith("view z: ")
    assert text_at(error) == expression
    assert error.location.line == program.count("\n", 0, program.index("CREATE VIEW z")) + 2
    assert error.diagnostics[0].row == "(a: 1, b: 0, s: 'x') of l"
    assert "  for the row (a: 1, b: 0, s: 'x') of l" in str(error)


@pytest.mark.parametrize("case", SHARED)
def test_the_view_that_raises_is_named(case):
    check_shared(case)


@pytest.mark.parametrize("case", ["projection", "join", "local view", "over a sum", "window"])
def test_the_view_that_raises_is_named_on_spark(case, spark):
    check_shared(case, engine="spark", spark=spark)


def test_a_local_view_whose_expression_raises_is_named():
    views = "CREATE LOCAL VIEW n AS SELECT a, 10 / b AS d FROM l;\nCREATE VIEW v AS SELECT d + 1 AS x FROM n;"
    error = raised(TABLES + views, BAD_L)
    assert error.summary.startswith("view n: ")
    assert text_at(error) == "10 / b"


def check_scalar_subquery(**options):
    views = (
        "CREATE VIEW o AS SELECT a, (SELECT MAX(b) FROM l WHERE l.a = r.a) AS b FROM r;\n"
        "CREATE VIEW z AS SELECT a, (SELECT b FROM l WHERE l.a = r.a) AS b FROM r;"
    )
    error = raised(
        TABLES + views, "INSERT INTO r VALUES (1, 0)", "INSERT INTO l VALUES (1, 5, ''), (1, 6, '')", **options
    )
    assert error.summary == "view z: a subquery used as a value has more than one row"
    assert "b FROM l WHERE l.a = r.a" in text_at(error)
    assert error.diagnostics[0].row == "(a: 1, b: 6, s: '') of l"


def test_a_scalar_subquery_with_two_rows_names_its_view():
    check_scalar_subquery()


def test_a_scalar_subquery_with_two_rows_names_its_view_on_spark(spark):
    check_scalar_subquery(engine="spark", spark=spark)


def test_a_sum_without_room_names_its_view():
    views = (
        "CREATE VIEW o AS SELECT SUM(b * 1L) AS s FROM l;\n"
        "CREATE VIEW z AS SELECT a, SUM(9223372036854775807 - b) AS s FROM l GROUP BY a;"
    )
    error = raised(TABLES + views, "INSERT INTO l VALUES (1, 0, ''), (1, 1, ''), (2, 2, '')")
    assert error.summary.startswith("view z: long overflow")
    assert text_at(error) == "SUM(9223372036854775807 - b)"
    assert error.diagnostics[0].row == "(a: 1, b: 1, s: '') of l"  # which completes the sum


def test_a_standing_statement_is_named():
    program = (
        "CREATE STREAM e (b INT);\nCREATE TABLE t (q DOUBLE);\n"
        "CREATE VIEW o AS SELECT 10 / b AS q FROM e WHERE b <> 0;\n"
        "INSERT INTO t SELECT STREAM 10 / b FROM e;"
    )
    error = raised(TABLES + program, "INSERT INTO e VALUES (0)")
    assert error.summary.startswith("the statement that writes into t: Division by zero")
    assert text_at(error) == "10 / b"
    assert error.location.line == 7


def test_a_view_that_writes_into_a_table_is_named():
    program = "CREATE TABLE t (q DOUBLE);\nCREATE MATERIALIZED VIEW m INTO t AS SELECT 10 / b AS q FROM l;"
    assert raised(TABLES + program, BAD_L).summary.startswith("view m: ")


def test_a_query_does_not_blame_a_view_with_the_same_expression():
    program = f"{TABLES}CREATE VIEW o AS SELECT 10 / b AS q FROM l WHERE b <> 0;"
    with penstock.Pipeline(f"SET engine = 'native'; {program}") as pipeline:
        pipeline.execute(BAD_L)
        with pytest.raises(penstock.DataError) as caught:
            _ = pipeline.query("SELECT a,\n  10 / b AS q FROM l").rows
    assert caught.value.summary.startswith("Division by zero")
    assert str(caught.value.location) == "line 2, column 3"


def test_views_of_two_texts_have_their_places_in_their_own():
    with penstock.Pipeline(
        f"SET engine = 'native'; {TABLES}CREATE VIEW o AS SELECT 10 / b AS q FROM l WHERE b <> 0;"
    ) as p:
        p.execute("\n\nCREATE VIEW z AS SELECT 10 / b AS q FROM l;")
        with pytest.raises(penstock.DataError) as caught:
            p.execute(BAD_L)
    assert caught.value.summary.startswith("view z: ")
    assert str(caught.value.location) == "line 3, column 25"


def test_a_run_sets_the_rows_aside_under_the_view_that_raises(tmp_path):
    (tmp_path / "1.json").write_text('{"a": 1, "b": 0}\n{"a": 2, "b": 5}\n', encoding="utf-8")
    program = (
        f"CREATE TABLE l (a INT, b INT) WITH ('connector' = 'files', 'path' = '{tmp_path}', 'format' = 'json');\n"
        "CREATE VIEW o AS SELECT a, 10 / b AS q FROM l WHERE b <> 0;\n"
        "CREATE VIEW z AS SELECT a + 10 / b AS q FROM l;\n"
    )
    with penstock.Pipeline(f"SET engine = 'native'; {program}") as pipeline:
        pipeline.run(once=True)
        rows = pipeline.query("SELECT table_or_view_name, message FROM error_view").rows
    assert [name for name, _ in rows] == ["z"]
    assert "Division by zero" in rows[0][1] or "Evaluation error" in rows[0][1]


# Random programs: several views over the same parts, of which one alone lets the row through

EXPRESSIONS = ["10 / b", "a % b", "CAST(s AS INT)", "10 / (b + 0)", "a + 10 / b", "ABS(10 / b)"]
SHAPES = [
    "SELECT a, {e} AS q FROM {f}",
    "SELECT q FROM (SELECT a, {e} AS q FROM {f}) i",
    "WITH c AS (SELECT a, b, s FROM {f}) SELECT {e} AS q FROM c",
    "SELECT DISTINCT {e} AS q FROM {f}",
    "SELECT a, COUNT(*) AS n FROM {f} GROUP BY a, {e}",
    "SELECT MAX({e}) AS q FROM {f}",
    "SELECT a FROM {f} WHERE {e} > 1",
    "SELECT a FROM {f} UNION ALL SELECT CAST({e} AS INT) FROM {f}",
    "SELECT MAX({e}) OVER (PARTITION BY a) AS q FROM {f}",
]


@dataclass(frozen=True)
class Program:
    text: str
    expression: str


@st.composite
def programs(draw):
    expression = draw(st.sampled_from(EXPRESSIONS))
    base = draw(st.sampled_from(["l", "n", "m"]))
    views = [
        "CREATE LOCAL VIEW n AS SELECT a, b, s FROM l",
        "CREATE VIEW m AS SELECT a, b, s FROM l WHERE a IS NOT NULL",
    ]
    others = draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=2))
    made = [
        f"CREATE VIEW o{at} AS {shape.format(e=expression, f=f'(SELECT * FROM {base} WHERE a > 1) g')}"
        for at, shape in enumerate(others)
    ]
    made.insert(
        draw(st.integers(0, len(made))),
        f"CREATE VIEW z AS {draw(st.sampled_from(SHAPES)).format(e=expression, f=base)}",
    )
    return Program(TABLES + ";\n".join([*views, *made]) + ";", expression)


@examples(12, 150)
@given(programs())
def test_the_one_view_of_a_random_program_that_raises_is_named(program):
    error = raised(program.text, BAD_L)
    assert error.summary.startswith("view z: "), program.text
    assert text_at(error) in program.expression or program.expression in text_at(error), program.text
    assert error.diagnostics[0].row == "(a: 1, b: 0, s: 'x') of l"


@pytest.mark.parametrize(
    "query", ["SELECT a,\n 10 / b AS q FROM l EMIT CHANGES", "SELECT STREAM a,\n 10 / b AS q FROM e"]
)
def test_a_standing_query_has_its_place_in_its_own_text(query):
    stream = "CREATE STREAM e (a INT, b INT, at TIMESTAMP LATENESS INTERVAL 0 SECONDS);\n"
    pipeline = penstock.Pipeline(f"SET engine = 'native'; {TABLES}{stream}")
    with pipeline, pipeline.subscribe(query), pytest.raises(penstock.DataError) as caught:
        pipeline.step({"l": [(1, 0, "")], "e": [(1, 0, "2024-01-01 00:00:00")]})
    assert caught.value.summary.startswith("the standing query: ")
    assert (text_at(caught.value), str(caught.value.location)) == ("10 / b", "line 2, column 2")


def test_a_clock_that_makes_a_row_raise_names_the_view():
    program = "CREATE VIEW o AS SELECT a, 10 / b AS q FROM l WHERE b > 0;\nCREATE TABLE w (a INT, at TIMESTAMP);\n"
    program += "CREATE VIEW z AS SELECT 10 / a AS q FROM w WHERE at < now();"
    with penstock.Pipeline(f"SET engine = 'native';\n{TABLES}{program}") as pipeline:
        pipeline.step({"w": [(0, "2024-01-02 00:00:00")]}, clock="2024-01-01 00:00:00")
        with pytest.raises(penstock.DataError) as caught:
            pipeline.step({}, clock="2024-01-03 00:00:00")
    assert caught.value.summary.startswith("view z: ")
    assert caught.value.diagnostics[0].row is None  # none of the step's
