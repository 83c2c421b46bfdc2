"""SHOW CREATE gives text that declares the same again, and SHOW COLUMNS names the tables."""

import pytest

from penstock.bind.program.compile import compile_program
from penstock.cli.definitions import definition
from penstock.cli.show import shown
from penstock.errors import SqlError
from penstock.sql.parse import parse

PROGRAMS = [
    """CREATE TABLE o (id INT PRIMARY KEY, `a b` STRING NOT NULL DEFAULT 'x;y', at TIMESTAMP LATENESS INTERVAL 1 HOUR
        AHEAD INTERVAL 1 DAY, FOREIGN KEY (id) REFERENCES c (id)) WITH ('history' = 'none'); -- said; behind it
       CREATE STREAM c (id INT DOMAIN CONSTANT COMMENT 'it''s', t DATE WATERMARK INTERVAL 2 DAYS);
       CREATE OR REPLACE MATERIALIZED VIEW v (k, `n n`) WITH ('emit_final' = 'k') AS
         -- counted
         SELECT at, COUNT(*) FROM o GROUP BY at;
       LATENESS v.k INTERVAL 2 HOURS; LATENESS v.`n n` 3;
       CREATE LOCAL VIEW l COMMENT 'seen' AS WITH a AS (SELECT 1 AS one) SELECT * FROM a;""",
    """CREATE TABLE e (x INT, y INT);
       DECLARE RECURSIVE VIEW `closed.` (x INT, y INT);
       CREATE VIEW `closed.` AS SELECT x, y FROM e UNION SELECT e.x, c.y FROM e JOIN `closed.` c ON e.y = c.x;""",
    "CREATE TABLE t (a STRUCT<b: ARRAY<INT>, `c d`: MAP<STRING, DECIMAL(10, 2)>>, at BIGINT LATENESS 3 ROWS);",
    "CREATE TABLE t (a STRING); CREATE VIEW only_spark AS SELECT TRANSFORM (a) USING 'cat' AS (b STRING) FROM t;",
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_shown_declares_the_same_again(program):
    before = compile_program(program).catalog
    again = "\n".join(definition(relation) for relation in before.relations())
    after = compile_program(again).catalog
    assert after == before
    assert [definition(item) for item in after.relations()] == [definition(item) for item in before.relations()]


class Declared:
    """A pipeline of which only the catalog is asked."""

    catalog = compile_program(PROGRAMS[0]).catalog


def asked(text):
    (statement,) = parse(text)
    return shown(statement, Declared)


def test_columns_are_shown_with_their_tables():
    found = asked("SHOW COLUMNS")
    assert found.columns == ("table", "column", "type", "facts")
    assert [row[:2] for row in found.rows][:5] == [("o", "id"), ("o", "a b"), ("o", "at"), ("c", "id"), ("c", "t")]
    assert {row[0] for row in asked("SHOW COLUMNS FROM v").rows} == {"v"}
    assert asked("SHOW COLUMNS IN error_view").rows[0][0] == "error_view"


@pytest.mark.parametrize(
    ("text", "code", "at"),
    [
        ("SHOW CREATE TABLE nope", "UNKNOWN_RELATION", "nope"),
        ("SHOW COLUMNS FROM nope", "UNKNOWN_RELATION", "nope"),
        ("SHOW CREATE VIEW error_view", "WRONG_KIND", "error_view"),
    ],
)
def test_a_relation_that_nobody_has_declared(text, code, at):
    with pytest.raises(SqlError) as refused:
        asked(text)
    (found,) = refused.value.diagnostics
    assert (found.code, text[found.span.start : found.span.end]) == (code, at)
