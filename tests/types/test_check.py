"""Types that do not fit are found without Spark: what is refused where, what is proposed, and what is let through."""

import pytest

from penstock.bind.program.compile import compile_program
from penstock.errors import SqlError
from penstock.sql.compiled import refuse_compiled

TABLE = """CREATE TABLE t (
  id INT, big BIGINT, x DOUBLE, price DECIMAL(10, 2), name STRING, ok BOOLEAN, d DATE, at TIMESTAMP, raw BINARY,
  numbers ARRAY<INT>, counts MAP<STRING, INT>, pair STRUCT<a: INT, b: STRING>, doc VARIANT
);
"""


def refused(query):
    """Code, text of the place, and hint of the first error of a view."""
    source = f"{TABLE}CREATE VIEW v AS {query};"
    with pytest.raises(SqlError) as caught:
        compile_program(source)
    found = caught.value.diagnostics[0]
    return found.code, source[found.span.start : found.span.end], found.hint


OF_FELDERA = "; dialect feldera takes this statement: SET dialect = 'feldera'"
REFUSED = [
    ("SELECT big + d AS y FROM t", "TYPE_MISMATCH", "big + d", "CAST(big AS INT) works there"),
    ("SELECT -(d) AS y FROM t", "TYPE_MISMATCH", "d", None),
    ("SELECT id FROM t WHERE d = 4", "TYPE_MISMATCH", "d = 4", "unix_date(d) works there"),
    ("SELECT id FROM t WHERE d AND id", "NOT_A_CONDITION", "d", "such as d IS NOT NULL"),
    ("SELECT id FROM t WHERE ok AND NOT (id)", "NOT_A_CONDITION", "id", "such as id <> 0"),
    ("SELECT id FROM t WHERE id", "NOT_A_CONDITION", "id", "such as id <> 0"),
    ("SELECT id FROM t WHERE name", "NOT_A_CONDITION", "name", "such as CAST(name AS BOOLEAN)"),
    ("SELECT t.id FROM t JOIN t AS u ON t.id + u.id", "NOT_A_CONDITION", "t.id + u.id", None),
    ("SELECT id FROM t GROUP BY id, d HAVING d", "NOT_A_CONDITION", "d", "such as d IS NOT NULL"),
    ("SELECT id FROM t QUALIFY row_number() OVER (ORDER BY id)", "NOT_A_CONDITION", None, None),
    ("SELECT count(*) FILTER (WHERE id) AS n FROM t", "NOT_A_CONDITION", "id", "such as id <> 0"),
    ("SELECT CASE WHEN id THEN 1 END AS y FROM t", "NOT_A_CONDITION", "id", "such as id <> 0"),
    ("SELECT CASE WHEN ok THEN id ELSE d END AS y FROM t", "TYPE_MISMATCH", "d", None),
    ("SELECT CASE d WHEN 1 THEN 2 END AS y FROM t", "TYPE_MISMATCH", None, "unix_date(d) works there"),
    ("SELECT coalesce(id, d) AS y FROM t", "TYPE_MISMATCH", "d", None),
    ("SELECT id FROM t WHERE d IN ('2024-01-01', 5)", "TYPE_MISMATCH", "5", None),
    ("SELECT id FROM t WHERE counts IN (counts)", "TYPE_MISMATCH", "counts", "to_json(counts) has one"),
    ("SELECT id FROM t WHERE at BETWEEN 1 AND 2", "TYPE_MISMATCH", None, None),
    ("SELECT id FROM t WHERE numbers = counts", "TYPE_MISMATCH", "numbers = counts", None),
    (
        "SELECT id FROM t WHERE numbers LIKE 'a'",
        "TYPE_MISMATCH",
        "numbers LIKE 'a'",
        "array_join(numbers, ',') works there",
    ),
    ("SELECT CAST(d AS INT) AS y FROM t", "BAD_CAST", "CAST(d AS INT)", "unix_date(d) does that"),
    ("SELECT CAST(counts AS INT) AS y FROM t", "BAD_CAST", "CAST(counts AS INT)", None),
    ("SELECT id FROM t WHERE rank() OVER (ORDER BY id) = 1", "WINDOW_NOT_ALLOWED", "rank() OVER (ORDER BY id)", None),
    ("SELECT row_number() OVER (ORDER BY counts) AS n FROM t", "TYPE_MISMATCH", "counts", None),
    ("SELECT id FROM t UNION SELECT counts FROM t", "TYPE_MISMATCH", "counts", None),
    (
        "SELECT 1 AS y FROM (SELECT big + 1 AS z FROM t) AS s WHERE s.z + DATE '2024-01-01' > 1",
        "TYPE_MISMATCH",
        None,
        None,
    ),
]

ARGUMENTS = [
    ("SELECT sum(d) AS y FROM t", "ARGUMENT_TYPE", "d", "max and min and count take DATE"),
    ("SELECT sum(DISTINCT ok) AS y FROM t", "ARGUMENT_TYPE", "ok", "max and min and count take BOOLEAN"),
    ("SELECT avg(counts) AS y FROM t", "ARGUMENT_TYPE", "counts", "count takes MAP<STRING, INT>"),
    ("SELECT upper(numbers) AS y FROM t", "ARGUMENT_TYPE", "numbers", "array_join(numbers, ',') works there"),
    ("SELECT year(id) AS y FROM t", "ARGUMENT_TYPE", "id", "CAST(id AS STRING) works there"),
    ("SELECT date_add(d, big) AS y FROM t", "ARGUMENT_TYPE", "big", "CAST(big AS INT) works there"),
    ("SELECT date_trunc('day', counts) AS y FROM t", "ARGUMENT_TYPE", "counts", None),
    ("SELECT explode(id) AS y FROM t", "ARGUMENT_TYPE", "id", None),
    ("SELECT map_keys(numbers) AS y FROM t", "ARGUMENT_TYPE", "numbers", None),
    ("SELECT transform(counts, n -> n) AS y FROM t", "ARGUMENT_TYPE", "counts", None),
    ("SELECT transform(numbers, n -> upper(pair)) AS y FROM t", "ARGUMENT_TYPE", "pair", None),
    ("SELECT nullif(d, big) AS y FROM t", "ARGUMENT_TYPE", "big", None),
    ("SELECT substr(name, d) AS y FROM t", "ARGUMENT_TYPE", "d", None),
    ("SELECT sum(d) OVER (ORDER BY id) AS y FROM t", "ARGUMENT_TYPE", "d", None),
    ("SELECT id FROM t WHERE length(counts) > 1", "ARGUMENT_TYPE", "counts", None),
    ("SELECT year(count(*)) AS y FROM t", "ARGUMENT_TYPE", None, None),
    ("SELECT greatest(id, d) AS y FROM t", "TYPE_MISMATCH", "d", None),
]
REFUSED += ARGUMENTS

INSIDE = [
    ("SELECT flatten(numbers) AS y FROM t", "ARGUMENT_TYPE", "numbers", None),
    ("SELECT inline(numbers) AS y FROM t", "ARGUMENT_TYPE", "numbers", None),
    ("SELECT array(1, numbers) AS y FROM t", "TYPE_MISMATCH", "numbers", None),
    ("SELECT array(1, d) AS y FROM t", "TYPE_MISMATCH", "d", None),
    ("SELECT map(1, 2, d, 3) AS y FROM t", "TYPE_MISMATCH", "d", None),
    ("SELECT map(1) AS y FROM t", "WRONG_NUMBER_OF_ARGUMENTS", "map(1)", "map(key, value, …)"),
    ("SELECT named_struct('a') AS y FROM t", "WRONG_NUMBER_OF_ARGUMENTS", "named_struct('a')", None),
    ("SELECT named_struct(1, 2) AS y FROM t", "ARGUMENT_TYPE", "1", None),
    (
        "SELECT array_contains(numbers, 'x') AS y FROM t",
        "ARGUMENT_TYPE",
        "'x'",
        "CAST('x' AS INT) works there; dialects feldera and flink take this statement: SET dialect = 'feldera'",
    ),
    ("SELECT array_union(numbers, array(d)) AS y FROM t", "ARGUMENT_TYPE", "array(d)", None),
    ("SELECT element_at(counts, 1) AS y FROM t", "ARGUMENT_TYPE", "1", "CAST(1 AS STRING) works there"),
    ("SELECT numbers['x'] AS y FROM t", "ARGUMENT_TYPE", "'x'", "CAST('x' AS INT) works there"),
    ("SELECT id[1] AS y FROM t", "ARGUMENT_TYPE", None, None),
    ("SELECT pair.z AS y FROM t", "UNKNOWN_FIELD", "pair.z", None),
    ("SELECT pair['z'] AS y FROM t", "UNKNOWN_FIELD", "'z'", None),
    ("SELECT array(pair).z AS y FROM t", "UNKNOWN_FIELD", None, None),
    ("SELECT numbers.a AS y FROM t", "UNKNOWN_FIELD", "numbers.a", None),
    ("SELECT id.a AS y FROM t", "UNKNOWN_FIELD", "id.a", None),
    (
        "SELECT doc['a'] AS y FROM t",
        "ARGUMENT_TYPE",
        "doc['a'",
        "variant_get(doc, '$.a', 'STRING') takes it out of a VARIANT, as the type that is named" + OF_FELDERA,
    ),
    (
        "SELECT doc[1] AS y FROM t",
        "ARGUMENT_TYPE",
        "doc[1",
        "variant_get(doc, '$[1]', 'STRING') takes it out of a VARIANT, as the type that is named" + OF_FELDERA,
    ),
    ("SELECT filter(numbers, n -> n) AS y FROM t", "NOT_A_CONDITION", "n", "such as n <> 0"),
    ("SELECT transform(numbers, n -> upper(array(n))) AS y FROM t", "ARGUMENT_TYPE", "array(n)", None),
    ("SELECT map_filter(counts, (k, n) -> k || n) AS y FROM t", "NOT_A_CONDITION", None, None),
    ("SELECT aggregate(numbers, 0, (s, n) -> s + big) AS y FROM t", "ARGUMENT_TYPE", "s + big", None),
    ("SELECT array_sort(numbers, (a, b) -> a < b) AS y FROM t", "ARGUMENT_TYPE", "a < b", None),
    ("SELECT sort_array(numbers, 1) AS y FROM t", "ARGUMENT_TYPE", "1", "sort_array(…, FALSE) sorts downwards"),
    ("SELECT sequence(1, d) AS y FROM t", "ARGUMENT_TYPE", "d", None),
    ("SELECT extract(YEAR FROM id) AS y FROM t", "ARGUMENT_TYPE", "id", None),
    ("SELECT first(id, id) AS y FROM t", "ARGUMENT_TYPE", "id", "first(…, TRUE) leaves NULLs out"),
    ("SELECT any_value(id, 'x') AS y FROM t", "ARGUMENT_TYPE", "'x'", None),
    ("SELECT rank() AS y FROM t", "WINDOW_WITHOUT_OVER", "rank()", None),
    ("SELECT lag(id) + 1 AS y FROM t", "WINDOW_WITHOUT_OVER", "lag(id)", None),
    ("SELECT sum(rank()) OVER (ORDER BY id) AS y FROM t", "WINDOW_WITHOUT_OVER", "rank()", None),
    ("SELECT id FROM t ORDER BY counts LIMIT 2", "TYPE_MISMATCH", "counts", "to_json(counts) has one"),
    ("SELECT id, counts FROM t ORDER BY 2 LIMIT 2", "TYPE_MISMATCH", None, "to_json(counts) has one"),
]
REFUSED += INSIDE

# The answers of a subquery, beside what they are compared with.
ANSWERS = [
    ("SELECT id FROM t WHERE id IN (SELECT counts FROM t)", "TYPE_MISMATCH", "id", None),
    ("SELECT id FROM t WHERE d IN (SELECT id FROM t)", "TYPE_MISMATCH", "d", "unix_date(d) works there"),
    ("SELECT id FROM t WHERE d NOT IN (SELECT id FROM t)", "TYPE_MISMATCH", "d", None),
    ("SELECT id FROM t WHERE (id, d) IN (SELECT id, id FROM t)", "TYPE_MISMATCH", "d", None),
    ("SELECT id FROM t WHERE d = (SELECT max(id) FROM t)", "TYPE_MISMATCH", None, "unix_date(d) works there"),
    ("SELECT (SELECT max(big) FROM t) + d AS y FROM t", "TYPE_MISMATCH", None, None),
    ("SELECT id FROM t WHERE d > ALL (SELECT id FROM t)", "TYPE_MISMATCH", "d", None),
]
REFUSED += ANSWERS


@pytest.mark.parametrize(("query", "code", "place", "hint"), REFUSED, ids=[query for query, *_ in REFUSED])
def test_a_wrong_type_is_refused_at_its_place(query, code, place, hint):
    found = refused(query)
    assert found[0] == code
    assert place is None or found[1] == place
    assert hint is None or found[2] == hint


TAKEN = [
    "SELECT id + d AS a, d + 1 AS b, d - d AS c, at - at AS e, d + INTERVAL 1 MONTH AS f FROM t",
    "SELECT id + name AS a, name * 2 AS b, name || d AS c, x % price AS e, -name AS f FROM t",
    "SELECT id FROM t WHERE name = 1 AND d > '2024-01-01' AND at >= d AND ok = 'true' AND raw = name",
    "SELECT id FROM t WHERE numbers = array(1L) AND pair = named_struct('a', 1, 'b', 'x') AND NULL = counts['a']",
    "SELECT id FROM t WHERE id IN ('1', 2L, 3.5) AND d IN ('2024-01-01', at) AND price BETWEEN '1' AND x",
    "SELECT CASE WHEN ok THEN id WHEN name = 'a' THEN price ELSE name END AS a, coalesce(NULL, d, at) AS b FROM t",
    "SELECT CAST(at AS BIGINT) AS a, CAST(name AS DATE) AS b, CAST(doc AS INT) AS c, CAST(counts AS STRING) FROM t",
    "SELECT id FROM t UNION SELECT name FROM t UNION ALL SELECT NULL",
    "SELECT id, sum(big) AS s FROM t GROUP BY id HAVING sum(big)",
    "SELECT id FROM t WHERE transform(numbers, n -> n + 1)[0] > 1 AND exists(numbers, n -> n > 1)",
    "SELECT t.id FROM t JOIN t AS u ON t.id = u.name AND t.ok",
    "SELECT id, row_number() OVER (PARTITION BY pair ORDER BY numbers) AS n FROM t QUALIFY n = 1",
    "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM t AS u WHERE u.id = t.name) AND NOT id IN (SELECT big FROM t)",
]

TAKEN += [
    "SELECT sum(name) AS a, avg(price) AS b, max(pair) AS c, count(counts) AS e, collect_list(doc) AS f FROM t",
    "SELECT year(name) AS a, date_add(at, 1) AS b, upper(d) AS c, substr(id, 2.0) AS e, date_trunc('day', name) FROM t",
    "SELECT array_contains(array(d), d) AS a, element_at(map(d, 1), d) AS b, array_append(array(pair), pair) FROM t",
    "SELECT array_contains(numbers, 1L) AS a, map_contains_key(map(id, 1), 1L) AS b, array_join(numbers, ',') FROM t",
    "SELECT percentile(x, array(0.1, 0.5)) AS a, percentile_approx(d, 0.5) AS b, max_by(counts, doc IS NULL) FROM t",
    "SELECT sequence(d, current_date(), INTERVAL 1 MONTH) AS a, aggregate(numbers, 0L, (s, n) -> s + n) AS b FROM t",
    "SELECT dateadd(DAY, 1, d) AS a, timestampdiff(HOUR, d, at) AS b, extract(YEAR FROM name) AS c, trim(id) FROM t",
    "SELECT lag(counts, 1) OVER (ORDER BY id) AS a, ntile(4) OVER (ORDER BY d) AS b FROM t",
    "SELECT if(ok, id, name) AS a, nvl(d, at) AS b, nvl2(counts, 1, 2L) AS c, nullif(id, '1') AS e FROM t",
    "SELECT concat(raw, raw) AS a, concat(numbers, array(1L)) AS b, concat(id, d, name) AS c, hash(id, d) AS e FROM t",
]

TAKEN += [
    "SELECT flatten(array(numbers)) AS a, inline(array(pair)) AS (b, c) FROM t",
    "SELECT array(1, 2L, 'x') AS a, map(1, d, 2L, at) AS b, named_struct('a', 1).a AS c, array() AS e FROM t",
    "SELECT array_contains(numbers, big) AS a, array_append(numbers, 1) AS b, array_insert(array(name), 1, 'x') FROM t",
    "SELECT array_append(numbers, CAST(1 AS DECIMAL(38, 0))) AS a, array_union(array(d), array(at)) AS b FROM t",
    "SELECT numbers[0] AS a, counts['a'] AS b, numbers[big] AS c, pair['A'] AS e, array(pair).B AS g FROM t",
    "SELECT filter(numbers, n -> n > 1) AS a, filter(numbers, (n, i) -> i < n) AS b, exists(numbers, n -> NULL) FROM t",
    "SELECT map_filter(counts, (k, n) -> n > 1 AND k LIKE 'a') AS a, transform_values(counts, (k, n) -> k || n) FROM t",
    "SELECT first(id, TRUE) AS b, any_value(id) AS c, max(extract(HOUR FROM name)) FROM t",
    "SELECT rank() OVER (ORDER BY id) AS a, lag(id) IGNORE NULLS OVER (ORDER BY id) AS b FROM t",
    "SELECT id FROM t WHERE name IN (SELECT id FROM t) AND d = (SELECT max(at) FROM t)",
    "SELECT id FROM t WHERE id < ALL (SELECT big FROM t) AND d IN (SELECT at FROM t)",
    "SELECT id FROM t ORDER BY pair, numbers LIMIT 1",
]


@pytest.mark.parametrize("query", TAKEN)
def test_what_spark_takes_is_taken(query):
    assert "v" in compile_program(f"{TABLE}CREATE VIEW v AS {query};").catalog.views


@pytest.mark.parametrize(
    "value",
    ["upper(" * 80 + "name" + ")" * 80 + " = 'A'", " OR ".join(f"id = {number}" for number in range(600))],
    ids=["calls in calls", "a chain of OR"],
)
def test_an_expression_may_be_deep(value):
    assert "v" in compile_program(f"{TABLE}CREATE VIEW v AS SELECT id FROM t WHERE {value};").catalog.views


def test_rows_that_a_statement_chooses_need_a_condition_too():
    with pytest.raises(SqlError) as caught:
        compile_program(f"{TABLE}DELETE FROM t WHERE d + counts > 1;")
    assert caught.value.code == "TYPE_MISMATCH"


@pytest.mark.parametrize(
    ("statement", "place"),
    [
        ("UPDATE t SET id = DATE '2024-01-01'", None),
        ("UPDATE t SET id = d", "d"),
        ("INSERT INTO t (d) VALUES (5)", "5"),
        ("INSERT INTO t (d) SELECT id FROM t", None),
        ("CREATE TABLE z (a INT DEFAULT DATE '2024-01-01')", "a"),
    ],
)
def test_a_value_that_a_column_cannot_take_is_refused(statement, place):
    source = f"{TABLE}{statement};"
    with pytest.raises(SqlError) as caught:
        compile_program(source)
    found = caught.value.diagnostics[0]
    assert found.code == "BAD_CAST"
    assert place in (None, source[found.span.start : found.span.end])


@pytest.mark.parametrize("statement", ["UPDATE t SET id = 1 WHERE name", "DELETE FROM t WHERE id"])
def test_rows_to_change_are_chosen_by_a_condition(statement):
    with pytest.raises(SqlError) as caught:
        compile_program(f"{TABLE}{statement};")
    assert caught.value.code == "NOT_A_CONDITION"


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO t (d, id, price) VALUES ('2024-01-01', '5', 1)",
        "INSERT INTO t (at, name) SELECT d, id FROM t",
        "UPDATE t SET d = '2024-01-01', name = id WHERE ok AND name = 'a'",
        "CREATE TABLE z (a DATE DEFAULT '2024-01-01', b INT DEFAULT 5.5, c STRING DEFAULT 1)",
    ],
)
def test_a_value_that_can_be_cast_is_taken(statement):
    compile_program(f"{TABLE}{statement};")


def test_a_compiled_sqlglot_is_refused_with_what_to_uninstall():
    refuse_compiled()
    with pytest.raises(Exception, match="compiled form") as caught:
        refuse_compiled("/site-packages/sqlglot/parser.cpython-311-x86_64-linux-gnu.so")
    assert caught.value.code == "SQLGLOT_COMPILED"
    assert "pip uninstall sqlglotc" in caught.value.diagnostics[0].hint
