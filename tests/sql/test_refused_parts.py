"""A part of a statement that nothing reads is refused by its name; one that changes no answer is a warning."""

import pytest

from penstock.bind.program.compile import compile_program
from penstock.errors import PenstockError

TABLES = """
CREATE TABLE t (a INT, b INT, s STRING, c ARRAY<INT>, at TIMESTAMP);
CREATE TABLE u (a INT, d INT);
CREATE TABLE k (id INT PRIMARY KEY, x INT);
"""
REFUSED = [
    ("SELECT a FROM t LIMIT 10 WITH TIES", "WITH TIES"),
    ("SELECT a FROM t LIMIT 10 PERCENT", "PERCENT"),
    ("SELECT a FROM t ORDER BY a WITH FILL", "WITH FILL"),
    ("SELECT a FROM t GROUP BY DISTINCT a", "GROUP BY DISTINCT"),
    ("SELECT a FROM t WITH (NOLOCK)", "hints"),
    ("SELECT a INTO x FROM t", "INTO"),
    ("SELECT AS STRUCT a FROM t", "STRUCT"),
    ("SELECT * RENAME (a AS z) FROM t", "RENAME"),
    ("SELECT * ILIKE 'a%' FROM t", "ILIKE"),
    ("SELECT * x FROM t", "name for *"),
    ("SELECT a FROM t UNION CORRESPONDING SELECT a FROM u", "CORRESPONDING"),
    ("SELECT a FROM t UNION (SELECT a FROM u) x", "side of UNION"),
    ("WITH RECURSIVE x (a) AS (SELECT 1) SEARCH DEPTH FIRST BY a SET o SELECT * FROM x", "SEARCH"),
    ("WITH x (a) USING KEY (a) AS (SELECT 1) SELECT * FROM x", "USING KEY"),
    ("WITH x AS (SELECT 1), x AS (SELECT 2) SELECT * FROM x", "twice"),
    ("SELECT sum(a) OVER (ORDER BY b ROWS 1 PRECEDING EXCLUDE TIES) FROM t", "EXCLUDE"),
    ("SELECT sum(a) OVER (w ORDER BY b) FROM t WINDOW w AS (ORDER BY a)", "ORDER BY"),
    ("SELECT sum(a) OVER w FROM t WINDOW w AS (ORDER BY a), w AS (ORDER BY b)", "twice"),
    ("SELECT sum(a) OVER (ORDER BY b) OVER (ORDER BY a) FROM t", "OVER"),
    ("SELECT array_agg(a ORDER BY b LIMIT 3) FROM t", "LIMIT between the brackets"),
    ("SELECT array_agg(a HAVING MAX b) FROM t", "HAVING MAX"),
    ("SELECT sum(a ORDER BY b) FROM t", "ORDER BY between the brackets"),
    ("SELECT collect_list(a) WITHIN GROUP (ORDER BY b) FROM t", "WITHIN GROUP"),
    ("SELECT mode(a) IGNORE NULLS FROM t", "IGNORE NULLS"),
    ("SELECT sum(a IGNORE NULLS) FROM t", "IGNORE NULLS"),
    ("SELECT upper(s) FILTER (WHERE a > 1) FROM t", "FILTER"),
    ("SELECT rank() FILTER (WHERE a > 1) OVER (ORDER BY a) FROM t", "FILTER"),
    ("SELECT upper(DISTINCT s) FROM t", "DISTINCT"),
    ("SELECT cast(a AS INT FORMAT '9') FROM t", "FORMAT"),
    ("SELECT cast(s AS INT DEFAULT 3 ON CONVERSION ERROR) FROM t", "DEFAULT in a cast"),
    ("SELECT s RLIKE 'a' ESCAPE '!' FROM t", "ESCAPE"),
    ("SELECT t.a FROM t OUTER JOIN u USING (a)", "OUTER JOIN"),
    ("SELECT t.a FROM t LEFT INNER JOIN u USING (a)", "LEFT INNER JOIN"),
    ("SELECT t.a FROM t RIGHT SEMI JOIN u USING (a)", "RIGHT SEMI JOIN"),
    ("SELECT a FROM t NATURAL JOIN u USING (a)", "NATURAL JOIN"),
    ("SELECT * EXCEPT (a) REPLACE (1 AS a) FROM t", "twice"),
    ("SELECT a FROM t TABLESAMPLE (3 ROWS)", "random sample"),
    ("SELECT /*+ NONE(t) */ a FROM t", "no hint NONE"),
    ("SELECT a FROM t /*+ OPTIONS('scan.startup.mode' = 'latest-offset') */", "OPTIONS"),
    ("INSERT INTO t (a) VALUES (1)(2)", "("),
    ("INSERT INTO t (a) VALUES (1) AS x", "VALUES"),
    ("INSERT INTO k VALUES (1, 2) ON CONFLICT (x) DO UPDATE", "the key of k"),
    ("CREATE MATERIALIZED STREAM s (a INT)", "MATERIALIZED"),
    ("CREATE OR REPLACE TABLE IF NOT EXISTS n (a INT)", "IF NOT EXISTS"),
    ("CREATE FUNCTION IF NOT EXISTS f(x INT) RETURNS INT RETURN x", "IF NOT EXISTS"),
    ("CREATE LOCAL LOCAL VIEW v AS SELECT 1 AS a", "LOCAL"),
    ("CREATE TABLE n (a INT DEFAULT 1 DEFAULT 2)", "DEFAULT"),
    ("CREATE TABLE n (a INT NOT NULL NULL)", "NULL"),
    ("CREATE TABLE n (a INT CONSTRAINT c)", "constraint"),
    ("CREATE TABLE n (a INT FOREIGN KEY)", "REFERENCES"),
    ("CREATE TABLE n (a INT) COMMENT 'x' COMMENT 'y'", "COMMENT"),
    ("CREATE TABLE n (a INT) LOCATION '/x' LOCATION '/y'", "LOCATION"),
    ("CREATE TABLE n (a INT(3))", "("),
    ("SELECT a FROM t,", ","),
    ("SELECT a FROM t, , u", ","),
    ("SELECT upper(, s) FROM t", ","),
    ("SELECT CASE WHEN a > 1 2 END FROM t", "2"),
    ("SELECT a FROM t WHERE a BETWEEN 1 2", "2"),
    ("SELECT sum(a) FILTER (a > 1) FROM t", "a"),
    ("SELECT a AS FROM t", "FROM"),
    ("SELECT a FROM t *", "*"),
    ("SELECT a FROM . t", "."),
    ("SELECT FLOOR(at TO HOUR FROM t", "never closed"),
    ("WITH x AS (SELECT 1 AS a) WITH y AS (SELECT 2 AS b) SELECT * FROM x, y", "WITH"),
]
WARNED = [
    ("SELECT /*+ BROADCAST(t), REPARTITION(3) */ a FROM t", ["the hint BROADCAST", "the hint REPARTITION"]),
    ("SELECT a FROM t /*+ LOOKUP('table' = 't') */", ["the hint LOOKUP"]),
    ("SELECT a FROM t SORT BY a", ["SORT BY"]),
    ("WITH x AS NOT MATERIALIZED (SELECT a FROM t) SELECT * FROM x", ["MATERIALIZED in WITH"]),
    ("SELECT a FROM t -- /*+ NONE */", []),
]


@pytest.mark.parametrize(("text", "named"), REFUSED)
def test_a_part_that_nothing_reads_is_refused(text, named):
    statement = f"CREATE VIEW v AS {text}" if text.startswith(("SELECT", "WITH")) else text
    with pytest.raises(PenstockError) as caught:
        compile_program(TABLES + statement)
    (diagnostic, *_) = caught.value.diagnostics
    assert diagnostic.span is not None
    assert named in f"{diagnostic.message} {(TABLES + statement)[diagnostic.span.start : diagnostic.span.end]}"


@pytest.mark.parametrize(("text", "named"), WARNED)
def test_what_changes_no_answer_is_a_warning(text, named):
    warnings = compile_program(f"{TABLES}CREATE VIEW v AS {text}").catalog.warnings
    assert [item.message for item in warnings] == [f"{name} has no meaning here" for name in named]
    assert all(item.span is not None for item in warnings)
