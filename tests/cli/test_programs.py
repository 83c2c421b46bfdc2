"""Program text: where it comes from, and single statements of it at their places."""

from __future__ import annotations

import click
import pytest

from penstock.cli.programs import only, program_text, without
from penstock.errors import DataError
from penstock.sql.parse import parse

TEXT = "CREATE TABLE t (a INT);\nINSERT INTO t\nVALUES (1);\nCREATE VIEW v AS SELECT a FROM t"


def test_sources_follow_each_other_as_statements(tmp_path):
    one, two = tmp_path / "one.sql", tmp_path / "two.sql"
    one.write_text("SELECT 1 -- no semicolon", encoding="utf-8")
    two.write_text("SELECT 2;\n", encoding="utf-8")
    text = program_text([str(one)], [str(two)], ["SELECT 3"])
    assert [statement.text for statement in parse(text)] == ["SELECT 1", "SELECT 2", "SELECT 3"]


def test_one_source_stays_as_it_is(tmp_path):
    path = tmp_path / "p.sql"
    path.write_bytes("\ufeffSELECT 'ä'\r\n".encode())
    assert program_text([str(path)], [], []) == "SELECT 'ä'\r\n"


def test_no_source_is_wrong_usage():
    with pytest.raises(click.UsageError, match="no program"):
        program_text([], [], [])
    assert program_text([], [], [], needed=False) == ""


def test_a_file_that_is_not_utf8_names_the_line(tmp_path):
    path = tmp_path / "p.sql"
    path.write_bytes(b"SELECT 1;\nSELECT '\xe4'")
    with pytest.raises(DataError, match="line 2 holds the byte 0xe4"):
        program_text([str(path)], [], [])


def test_a_statement_alone_keeps_its_place():
    insert = parse(TEXT)[1]
    alone = only(TEXT, insert.span)
    assert alone.strip() == "INSERT INTO t\nVALUES (1)"
    assert alone.index("INSERT") == TEXT.index("INSERT")


def test_the_rest_keeps_its_place():
    insert = parse(TEXT)[1]
    rest = without(TEXT, [insert.span])
    assert [type(item).__name__ for item in parse(rest)] == ["CreateTable", "CreateView"]
    assert rest.index("CREATE VIEW") == TEXT.index("CREATE VIEW")
    assert rest.count("\n") == TEXT.count("\n")
