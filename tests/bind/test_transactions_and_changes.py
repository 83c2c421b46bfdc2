"""What `check` can say of transactions and of changes to rows: no Spark is asked."""

import pytest

from penstock.bind.program.compile import compile_program
from penstock.errors import SqlError, UnsupportedError

TABLE = (
    "CREATE TABLE t (a INT) WITH ('history' = 'none'); CREATE TABLE k (a INT PRIMARY KEY) WITH ('history' = 'none');"
)


@pytest.mark.parametrize(
    ("program", "code", "word"),
    [
        ("COMMIT;", "NO_TRANSACTION", "COMMIT"),
        ("ROLLBACK;", "NO_TRANSACTION", "ROLLBACK"),
        ("BEGIN; COMMIT; COMMIT", "NO_TRANSACTION", "COMMIT"),
        ("BEGIN; BEGIN", "IN_TRANSACTION", "BEGIN"),
    ],
)
def test_a_transaction_ends_once_and_begins_before(program, code, word):
    with pytest.raises(SqlError) as error:
        compile_program(program)
    (found,) = error.value.diagnostics
    assert found.code == code
    assert program.rfind(word) == found.span.start


def test_transactions_one_after_the_other_are_fine():
    program = compile_program("BEGIN; COMMIT; BEGIN; ROLLBACK; START TRANSACTION; COMMIT")
    assert len(program.statements) == 6


@pytest.mark.parametrize("statement", ["DELETE FROM t WHERE a = 1", "UPDATE t SET a = 2"])
def test_rows_of_a_table_without_key_and_history_cannot_be_found(statement):
    with pytest.raises(SqlError, match="neither a key nor a history") as error:
        compile_program(f"{TABLE} {statement}")
    assert error.value.code == "NO_HISTORY"
    assert "give t a PRIMARY KEY" in error.value.render()


def test_with_a_key_they_can():
    compile_program(f"{TABLE} DELETE FROM k WHERE a = 1")


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM k WHERE a NOT IN (SELECT STREAM a FROM s)", "UPDATE k SET a = (SELECT STREAM max(a) FROM s)"],
)
def test_a_change_that_stands_in_another_form_is_refused(statement):
    with pytest.raises(UnsupportedError, match="that stands") as error:
        compile_program(f"CREATE TABLE k (a INT PRIMARY KEY); CREATE STREAM s (a INT); {statement};")
    assert error.value.diagnostics[0].code == "STANDING_STATEMENT"
