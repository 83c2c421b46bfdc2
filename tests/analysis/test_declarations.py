"""What LATENESS, WATERMARK, AHEAD, ADVANCE and emit_final refuse before anything runs; no JVM."""

import pytest

from penstock.analysis.bounds import parse_bound
from penstock.analysis.declarations import declaration_checks, raise_all
from penstock.bind.program.compile import compile_program
from penstock.errors import PenstockError

VIEW = "CREATE TABLE t (c INT); CREATE VIEW v AS SELECT c FROM t; "


def check_declarations(catalog):
    raise_all(declaration_checks(catalog))


def refused(program):
    with pytest.raises(PenstockError) as error:
        check_declarations(compile_program(program).catalog)
    assert all(item.span is not None for item in error.value.diagnostics)
    return [item.code for item in error.value.diagnostics]


@pytest.mark.parametrize(
    ("column", "code"),
    [
        ("c INT LATENESS -1", "INVALID_LATENESS"),
        ("c INT LATENESS 1 - 2", "BAD_LATENESS"),
        ("c TIMESTAMP LATENESS INTERVAL '-1' HOUR", "INVALID_LATENESS"),
        ("c TIMESTAMP LATENESS 5", "BAD_LATENESS"),
        ("c INT LATENESS INTERVAL 1 HOUR", "BAD_LATENESS"),
        ("c STRING LATENESS 1", "BAD_LATENESS"),
        ("c BOOLEAN LATENESS 1", "BAD_LATENESS"),
        ("c STRING LATENESS 2 ROWS", "BAD_LATENESS"),
        ("c INT LATENESS 1 LATENESS 2", "INVALID_LATENESS"),
        ("c INT WATERMARK 1 WATERMARK 2", "INVALID_WATERMARK"),
        ("c STRING WATERMARK 1", "BAD_WATERMARK"),
        ("c INT PRIMARY KEY WATERMARK 1", "WATERMARK_WITH_KEY"),
        ("c INT LATENESS 1 AHEAD 5", "BAD_LATENESS"),
        ("c TIMESTAMP LATENESS INTERVAL 1 HOUR AHEAD 5", "BAD_LATENESS"),
        ("c INT LATENESS rand()", "BAD_LATENESS"),
        ("c INT, d INT LATENESS c", "INVALID_LATENESS"),
        ("c TIMESTAMP LATENESS INTERVAL '1' FORTNIGHT", "BAD_LATENESS"),
        ("c TIMESTAMP LATENESS INTERVAL '1:xx' HOURS TO MINUTES", "BAD_LATENESS"),
    ],
)
def test_a_column_that_cannot_have_it(column, code):
    assert refused(f"CREATE TABLE t ({column});") == [code]


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (VIEW + "LATENESS v.d 5;", "UNKNOWN_COLUMN"),
        (VIEW + "LATENESS w.c 5;", "UNKNOWN_RELATION"),
        (VIEW + "LATENESS t.c 5;", "BAD_LATENESS"),
        (VIEW + "LATENESS v.c 5; LATENESS v.C 6;", "BAD_LATENESS"),
        ("LATENESS v.c 5; LATENESS v.c 6; " + VIEW, "BAD_LATENESS"),
        (VIEW + "LATENESS v.c INTERVAL 1 HOUR;", "BAD_LATENESS"),
        (VIEW + "LATENESS v.c -5;", "INVALID_LATENESS"),
        (VIEW + "ADVANCE t.c TO 5;", "NO_LATENESS"),
        (VIEW + "ADVANCE v.c TO 5;", "NO_LATENESS"),
        ("SET TIME ZONE 'Mars/Olympus';", "BAD_TIME_ZONE"),
        ("CREATE TABLE t (c INT) WITH ('append_only' = 'perhaps');", "BAD_PROPERTY"),
        ("CREATE TABLE t (c INT); CREATE VIEW v WITH ('emit_final' = 'c') AS SELECT c FROM t;", "NO_WATERLINE"),
        ("CREATE TABLE t (c INT); CREATE VIEW v WITH ('emit_final' = '1') AS SELECT c FROM t;", "UNKNOWN_COLUMN"),
        ("CREATE TABLE t (c INT); CREATE VIEW v WITH ('emit_final' = 'd') AS SELECT c FROM t;", "UNKNOWN_COLUMN"),
        (
            "CREATE TABLE t (c INT); CREATE LOCAL VIEW v WITH ('emit_final' = 'c') AS SELECT c FROM t;",
            "EMIT_FINAL_LOCAL",
        ),
    ],
)
def test_a_statement_that_cannot_hold(program, code):
    assert refused(program) == [code]


def test_all_mistakes_are_told_at_once():
    assert refused("CREATE TABLE t (c INT LATENESS 5s); CREATE TABLE u (c STRING LATENESS 1);") == ["BAD_LATENESS"] * 2


def test_emit_final_says_which_operator_has_lost_the_waterline():
    tables = "CREATE TABLE t (c INT LATENESS 1, k INT); CREATE TABLE u (k INT);"
    query = "SELECT c FROM t LEFT JOIN u ON t.k = u.k"
    with pytest.raises(PenstockError, match="the left join can still change rows with an old"):
        check_declarations(compile_program(f"{tables} CREATE VIEW v WITH ('emit_final' = 'c') AS {query};").catalog)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("INTERVAL 1 HOUR", 3600),
        ("INTERVAL '1' HOURS", 3600),
        ("INTERVAL '1 HOUR'", 3600),
        ("INTERVAL '1:00' HOUR TO MINUTE", 3600),
        ("INTERVAL '1:00' HOURS TO MINUTES", 3600),
        ("INTERVAL '1 2:03:04.5' DAY TO SECOND", 93784.5),
        ("INTERVAL 1 HOUR + INTERVAL 5 MINUTES", 3900),
        ("INTERVAL 1 HOUR 30 MINUTES", 5400),
        ("INTERVAL '0' SECOND", 0),
    ],
)
def test_spellings_of_a_length_of_time(text, seconds):
    assert parse_bound(text, "timestamp").time.total_seconds() == seconds


@pytest.mark.parametrize(
    "program",
    [
        "CREATE TABLE t (c TIMESTAMP LATENESS 5s, d TIMESTAMP LATENESS 100ms AHEAD 1d, e DATE WATERMARK 2d);",
        "LATENESS v.c 5s; CREATE TABLE t (c TIMESTAMP); CREATE VIEW v AS SELECT c FROM t;",
        "CREATE TABLE t (c TINYINT LATENESS 1.5, d FLOAT LATENESS 1e3, e DECIMAL LATENESS 0, f LONG LATENESS 10L);",
        "SET TIME ZONE '+05:30'; SET TIME ZONE LOCAL; SET TIME ZONE 'Europe/Rome';",
    ],
)
def test_what_is_accepted(program):
    check_declarations(compile_program(program).catalog)
