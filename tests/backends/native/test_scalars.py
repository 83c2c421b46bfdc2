"""What DuckDB makes of proven expressions, and what is refused."""

import duckdb
import pytest

from penstock.backends.native.proof import NotProvenError
from penstock.backends.native.scalars import proven
from penstock.circuit.raised import Raised, diagnosed
from penstock.plan.scalar import parsed

TYPES = {
    "a": "int", "b": "int", "l": "bigint", "d": "double", "f": "float", "s": "string", "t": "timestamp", "day": "date",
    "n": "decimal(12,2)", "m": "decimal(38,10)", "i": "interval day", "v": "variant", "c": "string collate UTF8_LCASE",
    "v1": "int", "unknown": None, "h": "char(3)", "k": "map<string,int>",
}  # fmt: skip


def proof(text):
    return proven(parsed(text), TYPES)


@pytest.fixture
def duck():
    connection = duckdb.connect()
    connection.execute("SET disabled_optimizers = 'common_subplan'")
    connection.execute("SET VARIABLE penstock_clock = TIMESTAMP '2024-02-29 12:34:56.789012'")
    connection.execute('CREATE TABLE t (a INT, b INT, l BIGINT, d DOUBLE, s VARCHAR, n DECIMAL(12,2), "v1" INT)')
    connection.execute("INSERT INTO t VALUES (0, 6, 1, 0.5, 'x', 1.5, 2), (2, 6, 9223372036854775807, 2, '7', 2, 3)")
    yield connection
    connection.close()


@pytest.mark.parametrize(
    "text",
    [
        "unknown", "missing", "i", "v = 1", "c = 'a'", "h", "rand()", "uuid()", "transform(array(1), (x, i) -> x)",
        "upper(lower(s))", "lcase(ucase(s))", "exp(d)", "power(d, 3)", "round(d, 1)",
        "exp(f)", "CAST(d AS DECIMAL(5,2))",
        "s + 1", "m + m", "m * m", "-m", "k = k", "CAST(l AS TIMESTAMP)", "CAST(d AS TIMESTAMP)",
        "substring_index(s, 'aa', 1)", "substring_index(s, s, 1)", "translate(s, s, 'a')", "overlay(s, 'a', a)",
        "regexp_replace(s, 'b*', 'x')", "regexp_replace(s, 'a', '$1')", "regexp_replace(s, 'a', s)",
        "regexp_count(s, '^')",
        "add_months(day, a)", "next_day(day, s)", "next_day(day, 'x')", "from_unixtime(l)",
        "timestamp_seconds(l)", "timestamp_millis(l)", "shiftleft(a, l)",
        "locate('a', s, a)",
        "CAST(a AS INTERVAL DAY)", "CAST(s AS CHAR(3))", "t = 'yesterday'", "DATE 'epoch'",
        "TIMESTAMP '2024-01-01 00:00:00+01:00'",
        "a IN (1, 1 / b)", "s IN (1, 2)", "s NOT IN (d)", "s IN (day)", "d IN (s, 1.5)",
        "b > a BETWEEN 1 AND 1 / a",
        "interval '1' day", "-2147483648",
    ],
)  # fmt: skip
def test_what_is_known_to_differ_is_refused(text):
    with pytest.raises(NotProvenError) as refused:
        proof(text)
    assert refused.value.what


def test_the_refusal_names_the_function_and_the_types():
    with pytest.raises(NotProvenError, match=r"\+\(decimal\(38,10\), string\)"):
        proof("m + s")


def test_what_is_raised_is_known_again(duck):
    with pytest.raises(duckdb.Error) as error:
        duck.execute(f"SELECT {proof('b / a').text} FROM t").fetchall()
    assert diagnosed(error.value) == Raised(
        "DIVIDE_BY_ZERO",
        "22012",
        "Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead.",
        "b / a",
    )


def test_other_errors_are_none_of_ours(duck):
    with pytest.raises(duckdb.Error) as error:
        duck.execute("SELECT CAST('x' AS INT)")
    assert diagnosed(error.value) is None
    assert diagnosed(ValueError('{"penstock": "X"}')) is None
    assert diagnosed(ValueError('{"penstock": ')) is None


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("a <> 0 AND b / a > 1", [False, True]),
        ("a = 0 OR b / a > 1", [True, True]),
        ("CASE WHEN a = 0 THEN -1 ELSE b div a END", [-1, 3]),
        ("coalesce(nullif(a, 0), b / nullif(a, 0), 5)", [5, 2]),
        ("IF(l < 10, l + l, 0)", [2, 0]),
        ("CASE WHEN s = 'x' THEN 0 ELSE CAST(s AS INT) END", [0, 7]),
        ("CASE WHEN FALSE THEN 1 / 0 ELSE a END", [0, 2]),
        ("(v1 + a) * (v1 + b) + v1", [18, 48]),
    ],
)
def test_no_guard_is_passed_over(duck, text, answers):
    """In a projection, a filter, a join and a group, however DuckDB turns them round."""
    found = proof(text).text
    assert [row[0] for row in duck.execute(f"SELECT {found} FROM t ORDER BY a").fetchall()] == answers
    counted = "SELECT count(*) FROM t AS one JOIN t AS two USING (a, b, l, d, s, n, v1)"
    assert duck.execute(f"{counted} WHERE {found} IS NOT NULL AND b > 0").fetchone() == (2,)
    assert duck.execute(f"SELECT count(*) FROM (SELECT {found} AS x FROM t) WHERE x IS NOT NULL").fetchone() == (2,)
    assert len(duck.execute(f"SELECT {found} AS x, count({found}) FROM t GROUP BY x").fetchall()) == len(set(answers))


@pytest.mark.parametrize("where", ["a <> 0", "a > 0 AND b > 0", "a IN (1, 2)"])
def test_a_filter_below_guards_the_expressions_above(duck, where):
    found = proof("b / a").text
    query = f"SELECT x FROM (SELECT {found} AS x FROM (SELECT * FROM t WHERE {where})) WHERE x > 1"
    assert duck.execute(query).fetchall() == [(3.0,)]


def test_deep_arithmetic_stays_short():
    text = " + ".join(["a"] * 60)
    assert len(proof(text).text) < 60_000


@pytest.mark.parametrize(
    ("text", "kind", "answer"),
    [
        ("now()", "timestamp", "2024-02-29 12:34:56.789012"),
        ("current_timestamp()", "timestamp", "2024-02-29 12:34:56.789012"),
        ("current_timestamp", "timestamp", "2024-02-29 12:34:56.789012"),
        ("localtimestamp()", "timestamp_ntz", "2024-02-29 12:34:56.789012"),
        ("current_date()", "date", "2024-02-29"),
        ("curdate()", "date", "2024-02-29"),
    ],
)
def test_the_clock_is_the_steps(duck, text, kind, answer):
    found = proof(text)
    assert found.type == kind
    assert duck.execute(f"SELECT CAST({found.text} AS VARCHAR)").fetchone() == (answer,)
