"""What an error points at: the word that is wrong, not the statement or the table that it stands in."""

import pytest

from penstock.bind.program.compile import compile_program
from penstock.errors import PenstockError

DECLARED = """CREATE TABLE o (id INT PRIMARY KEY, amount INT, at TIMESTAMP LATENESS INTERVAL 1 HOUR);
CREATE VIEW v AS SELECT id, amount FROM o;
"""


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE o SET «nope» = 1",
        "UPDATE o SET amount = 1, o.«nope» = 2",
        "UPDATE o SET amount = 1, «amount» = 2",
        "INSERT INTO o (id, «nope») VALUES (1, 2)",
        "INSERT INTO o (id, «ID») VALUES (1, 2)",
        "INSERT INTO o BY NAME SELECT 1 AS id, «2 AS nope»",
        "INSERT INTO «o» BY NAME SELECT * FROM (SELECT 1 AS id, 2 AS nope)",
        "LATENESS v.«nope» 1",
        "LATENESS «nope».id 1",
        "LATENESS «o».id 1",
        "ADVANCE o.«nope» TO 1",
        "ADVANCE o.«amount» TO 1",
        "ADVANCE «nope».at TO 1",
        "CREATE TABLE t (a INT, PRIMARY KEY (a, «nope»))",
    ],
)
def test_the_word_that_is_wrong(statement):
    program = DECLARED + statement.replace("«", "").replace("»", "")
    with pytest.raises(PenstockError) as refused:
        compile_program(program)
    (found,) = refused.value.diagnostics
    before, wrong, _ = statement.replace("»", "«").split("«")
    assert program[found.span.start : found.span.end] == wrong
    assert found.span.start == len(DECLARED) + len(before)


@pytest.mark.parametrize(
    "statement",
    [
        "LATENESS error_view.message 1",
        "INSERT INTO error_view VALUES ('a', 'b', 'c')",
        "DROP TABLE error_view",
        "DROP VIEW error_view",
        "CREATE TABLE error_view (a INT)",
        "CREATE OR REPLACE TABLE error_view (a INT)",
        "CREATE OR REPLACE VIEW error_view AS SELECT 1",
    ],
)
def test_a_system_relation_is_not_declared_or_filled_by_the_program(statement):
    with pytest.raises(PenstockError) as refused:
        compile_program(DECLARED + statement)
    (found,) = refused.value.diagnostics
    assert "is a system relation" in found.message
    assert "DROP" not in (found.hint or "")
    assert "LATENESS behind" not in (found.hint or "")


def test_where_there_are_tables_nobody_is_told_to_declare_one():
    with pytest.raises(PenstockError) as refused:
        compile_program("CREATE TABLE o (id INT); LATENESS nope.id 1")
    assert refused.value.diagnostics[0].hint is None
