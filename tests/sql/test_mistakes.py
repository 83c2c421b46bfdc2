"""What is wrong is said with its place, in our words; hostile text gets an answer, too."""

import time
import timeit

import pytest

from penstock.errors import SqlError, UnsupportedError
from penstock.sql.parse import parse, parse_expression, parse_query

MISTAKES = [
    ("SELECT a b c FROM t", "SYNTAX_ERROR", "c", "comma"),
    ("SELECT a, FROM t", "SYNTAX_ERROR", ",", "remove the comma"),
    ("SELECT f(a,, b)", "SYNTAX_ERROR", ",", "remove the comma"),
    ("SELECT a FROM t WHRE x > 1", "SYNTAX_ERROR", "WHRE", "WHERE"),
    ("SELECT * FROM t GROUP a", "SYNTAX_ERROR", "GROUP", "GROUP BY"),
    ("SELECT * FROM a JOIN b a.x = b.x", "SYNTAX_ERROR", ".", "ON"),
    ("SELECT * FROM a JOIN b ON", "UNEXPECTED_END", "ON", "after ON"),
    ("SELECT a FROM orders WHERE", "UNEXPECTED_END", "WHERE", "after WHERE"),
    ("SELECT a FROM orders GROUP BY HAVING a > 1", "SYNTAX_ERROR", "GROUP BY", "nothing follows"),
    ("SELECT sum(a) OVER (PARTITION BY ORDER BY b) FROM t", "SYNTAX_ERROR", "PARTITION BY", "nothing follows"),
    ("SELECT a FROM t WHERE a IN ()", "SYNTAX_ERROR", "IN ()", "parentheses"),
    ("SELECT CASE WHEN a THEN b", "SYNTAX_ERROR", "CASE", "END"),
    ("SELECT FROM t", "RESERVED_WORD", "FROM", "back quotes"),
    ("SELECT * FROM WHERE x", "RESERVED_WORD", "WHERE", "back quotes"),
    ("SELECT (1", "UNBALANCED", "(", "add )"),
    ("SELECT 1)", "UNBALANCED", ")", "remove )"),
    ("SELECT a[1)", "UNBALANCED", ")", "bracket"),
    ("SELECT 'abc", "UNCLOSED_QUOTE", "'", "close it"),
    ("SELECT `abc", "UNCLOSED_QUOTE", "`", "close it"),
    ('SELECT "abc', "UNCLOSED_QUOTE", '"', "close it"),
    ("SELECT 1 /* abc", "UNCLOSED_COMMENT", "/*", "*/"),
    ("SELECT \0", "INVALID_CHARACTER", "\0", "NUL"),
    ("SELECT 1 +", "UNEXPECTED_END", "+", "after +"),
    ("SELECT CAST(a AS INTT)", "UNKNOWN_TYPE", "INTT", "INT"),
    ("SELECT ?", "UNSUPPORTED_PARAMETER", None, "value itself"),
    ("SELEC 1", "UNKNOWN_STATEMENT", "SELEC", "SELECT"),
    ("CREAT TABLE t (a INT)", "UNKNOWN_STATEMENT", "CREAT", "CREATE"),
    ("'x'", "UNKNOWN_STATEMENT", "'x'", "statements start with"),
    ("CREATE TABEL t (a INT)", "SYNTAX_ERROR", "TABEL", "TABLE"),
    ("CREATE TABLE t (a INT b INT)", "SYNTAX_ERROR", "b", "comma"),
    ("CREATE TABLE t (a INT, A INT)", "DUPLICATE_COLUMN", "A", "two columns"),
    (
        "CREATE TABLE t (a INT PRIMARY KEY, PRIMARY KEY (a))",
        "DUPLICATE_PRIMARY_KEY",
        "PRIMARY KEY (a)",
        "PRIMARY KEY (a, b)",
    ),
    ("CREATE TABLE t (abc INT, PRIMARY KEY (abd))", "UNKNOWN_COLUMN", "abd", "abc"),
    ("CREATE TABLE t (a INT LATENESS -1)", "INVALID_LATENESS", "-1", "zero or more"),
    ("CREATE TABLE t (a TIMESTAMP LATENESS INTERVAL '-1' HOUR)", "INVALID_LATENESS", "INTERVAL '-1' HOUR", "zero"),
    ("CREATE TABLE t (a INT LATENESS b)", "INVALID_LATENESS", "b", "constant"),
    ("CREATE TABLE t (a INT) WITH ('x' = 1, 'X' = 2)", "DUPLICATE_PROPERTY", "'X'", "twice"),
    ("CREATE TABLE t ()", "SYNTAX_ERROR", ")", "expected a column"),
    ("CREATE TABLE a.b (x INT)", "QUALIFIED_NAME", "a", "one namespace"),
    ("CREATE VIEW v SELECT 1", "SYNTAX_ERROR", "SELECT", "expected AS"),
    ("INSERT INTO t VALUES (1), (2, 3)", "ROW_WIDTH", None, "numbers of values"),
    ("INSERT t VALUES (1)", "SYNTAX_ERROR", "t", "INTO"),
    ("SHOW TABLE", "SYNTAX_ERROR", "TABLE", "TABLES"),
    ("EXPLAIN (trac) SELECT 1", "UNKNOWN_OPTION", "trac", "trace"),
    ("SET dialect = 'flnk'", "UNKNOWN_DIALECT", None, "flink"),
]


@pytest.mark.parametrize(("text", "code", "marked", "said"), MISTAKES, ids=[text[:40] for text, *_ in MISTAKES])
def test_mistake(text, code, marked, said):
    with pytest.raises(SqlError) as caught:
        parse(text)
    (finding,) = caught.value.diagnostics
    assert finding.code == code
    assert finding.span is not None
    if marked is not None:
        assert text[finding.span.start : finding.span.end] == marked
    assert said in caught.value.render()


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE t DROP COLUMN a",
        "MERGE INTO t USING s ON a",
        "CREATE INDEX i ON t (a)",
        "INSERT OVERWRITE t SELECT 1",
        "CREATE TABLE t AS SELECT 1",
        "CREATE TABLE t (a INT UNIQUE)",
    ],
)
def test_unsupported_names_the_alternative(text):
    with pytest.raises(UnsupportedError) as caught:
        parse(text)
    assert caught.value.diagnostics[0].span is not None
    assert caught.value.diagnostics[0].hint


def test_all_mistakes_at_once():
    with pytest.raises(SqlError) as caught:
        parse("SELECT 1; SELCT 2; SELECT (3; ALTER x; SELECT 'fine'")
    assert [finding.code for finding in caught.value.diagnostics] == ["UNKNOWN_STATEMENT", "UNBALANCED", "UNSUPPORTED"]


def test_one_query_only():
    for text in ("", "SELECT 1; SELECT 2", "SELECT 1 1"):
        with pytest.raises(SqlError):
            parse_query(text)
    with pytest.raises(SqlError):
        parse_expression("a b c")


HOSTILE = [
    "a" * 10_000,
    "SELECT " + "a" * 10_000,
    "SELECT " + "(" * 5_000 + "1" + ")" * 5_000,
    "SELECT " + "(" * 5_000,
    "SELECT " + "NOT " * 5_000 + "TRUE",
    "SELECT " + "- " * 5_000 + "1",
    "SELECT " + "1+" * 5_000 + "1",
    "SELECT " + "CASE WHEN a THEN " * 2_000,
    "SELECT " + "f(" * 100 + "1" + ")" * 100,
    "SELECT " + "x," * 5_000,
    "CREATE TABLE t (a " + "ARRAY<" * 2_000 + "INT" + ">" * 2_000 + ")",
    "'" * 9_999,
    "/*" * 5_000,
    "`" * 4_999,
    "\ud800 \U0001f600 \u202e ;",
    "SELECT " + "[" * 3_000,
    "." * 5_000,
    "@" * 5_000,
    ";" * 100_000,
]


def findings_of(text):
    try:
        parse(text)
    except SqlError as error:
        return error.diagnostics
    return ()


VIEW = "CREATE VIEW v{} AS\nSELECT a, sum(b) FILTER (WHERE c > 1) AS s\nFROM t JOIN u ON t.id = u.id\nGROUP BY a;\n"


def cost(work):
    """Seconds of the processor, the least of three tries, without the collection of what other tests have left."""
    return min(timeit.repeat(work, timer=time.process_time, repeat=3, number=1))


def program(views):
    return "".join(VIEW.format(number) for number in range(views))


@pytest.fixture(scope="module")
def ordinary():
    return cost(lambda: parse(program(50)))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_gets_an_answer_and_costs_no_more_than_a_long_program(text, ordinary):
    findings = findings_of(text)
    assert all(len(finding.message) < 300 and "sqlglot" not in finding.message for finding in findings)
    assert cost(lambda: findings_of(text)) < 20 * ordinary


def test_the_cost_of_a_program_follows_its_length(ordinary):
    assert len(parse(program(200))) == 200
    assert cost(lambda: parse(program(200))) < 8 * ordinary
