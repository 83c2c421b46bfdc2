"""Which tables can take what a standing statement writes."""

from __future__ import annotations

import pytest

from penstock.analysis.written import writing_checks
from penstock.bind.program.compile import compile_program
from penstock.errors import PenstockError

TABLES = """CREATE STREAM log (k INT, v INT);
CREATE TABLE bag (k INT, v INT);
CREATE TABLE keyed (k INT PRIMARY KEY, v INT);
CREATE TABLE stamped (k INT, v INT, at TIMESTAMP DEFAULT now());
CREATE STREAM stream_out (k INT, v INT);
CREATE TABLE bag_out (k INT, v INT);
CREATE TABLE keyed_out (k INT PRIMARY KEY, v INT);
"""


def refused(statement: str, dialect: str = "penstock") -> str | None:
    """The code with which a statement is refused; None if it may stand."""
    try:
        program = compile_program(TABLES + statement, dialect)
        for check in writing_checks(program.catalog):
            check()
    except PenstockError as error:
        return error.diagnostics[0].code
    return None


SUMS = "SELECT k, CAST(SUM(v) AS INT) AS v FROM log GROUP BY k"


@pytest.mark.parametrize(
    ("target", "query", "code"),
    [
        ("stream_out", "SELECT k, v FROM log", None),
        ("stream_out", "SELECT k, v FROM bag", "TAKES_ROWS_BACK"),
        ("stream_out", SUMS, "TAKES_ROWS_BACK"),
        ("stream_out", f"{SUMS} EMIT PERIODIC 2s", None),
        ("stream_out", f"{SUMS} EMIT CHANGES", "TAKES_ROWS_BACK"),
        ("bag_out", SUMS, None),
        ("keyed_out", SUMS, None),
        ("keyed_out", "SELECT v AS k, k AS v FROM log", None),
        ("keyed_out", "SELECT v AS k, k AS v FROM bag", None),
        ("keyed_out", "SELECT v AS k, k AS v FROM keyed", "KEY_DIFFERS"),
        ("keyed_out", "SELECT k, v FROM keyed", None),
        ("keyed_out", f"SELECT v AS k, k AS v FROM ({SUMS})", "KEY_DIFFERS"),
        ("keyed_out", f"SELECT t.k, t.v FROM ({SUMS}) t, bag WHERE bag.v = t.v", "KEY_DIFFERS"),
        ("keyed_out", "SELECT 1 AS k, MAX(v) AS v FROM log", None),
        ("stamped", "SELECT k, v FROM log", None),
        ("stamped", SUMS, "TAKES_ROWS_BACK"),
        ("bag_out", "SELECT 1, COUNT(*) FROM error_view", "STANDING_CYCLE"),
        ("keyed_out", "SELECT k, v FROM keyed_out", "STANDING_CYCLE"),
        ("bag_out", "SELECT k FROM log", None),
        ("bag_out", "SELECT k AS a FROM log", "WRONG_NUMBER_OF_VALUES"),
        ("nowhere", "SELECT k, v FROM log", "UNKNOWN_TABLE"),
    ],
)
def test_what_a_table_takes(target: str, query: str, code: str | None) -> None:
    assert refused(f"CREATE MATERIALIZED VIEW m INTO {target} AS {query};") == code


def test_an_insert_that_stands_is_checked_in_dialect_flink() -> None:
    assert refused(f"INSERT INTO bag_out {SUMS};", "flink") == "TAKES_ROWS_BACK"
    assert refused("INSERT INTO bag_out SELECT k, v FROM bag;", "flink") is None
    assert refused(f"INSERT INTO bag_out {SUMS};") is None  # one step, not a statement that stands


def test_conflicts_choose_the_row_of_a_key() -> None:
    other = "INSERT INTO keyed_out SELECT v, k FROM keyed"
    assert refused(f"{other};", "flink") == "KEY_DIFFERS"
    assert refused(f"{other} ON CONFLICT DO DEDUPLICATE;", "flink") is None
    assert refused(f"{other} ON CONFLICT (k) DO NOTHING;", "flink") is None
    assert refused(f"{other} ON CONFLICT DO ERROR;", "flink") is None
    assert refused("UPSERT INTO bag_out SELECT k, v FROM bag;", "flink") == "NO_KEY"
    assert refused("UPSERT INTO bag_out VALUES (1, 2);") == "NO_KEY"
    for what in ("NOTHING", "ERROR"):
        assert refused(f"INSERT INTO keyed_out VALUES (1, 2) ON CONFLICT DO {what};") == "ON_CONFLICT"


def test_the_error_names_the_operator_its_place_and_the_fix() -> None:
    text = f"{TABLES}CREATE MATERIALIZED VIEW m INTO stream_out AS\n{SUMS};"
    (check,) = writing_checks(compile_program(text).catalog)
    with pytest.raises(PenstockError) as caught:
        check()
    shown = caught.value.render()
    assert "m takes rows back: Aggregate, since a new row of a group replaces the group's result" in shown
    assert "at line 9, column" in shown
    assert "PRIMARY KEY" in shown


def test_a_circle_names_its_chain() -> None:
    text = """CREATE MATERIALIZED VIEW a INTO bag AS SELECT k, v FROM keyed;
    CREATE VIEW middle AS SELECT k, v FROM bag;
    CREATE MATERIALIZED VIEW b INTO keyed AS SELECT k, COUNT(*) AS v FROM middle GROUP BY k;"""
    with pytest.raises(PenstockError, match=r"bag → middle → keyed → a → bag"):
        compile_program(TABLES + text)


def test_a_view_that_is_replaced_closes_no_circle() -> None:
    text = """CREATE VIEW source AS SELECT k, v FROM log;
    CREATE MATERIALIZED VIEW a INTO bag AS SELECT k, v FROM source;
    CREATE OR REPLACE VIEW source AS SELECT k, v FROM bag;"""
    assert refused(text) == "STANDING_CYCLE"


@pytest.mark.parametrize("relation", ["TABLE bag", "VIEW source"])
def test_what_a_statement_reads_or_writes_stays(relation: str) -> None:
    text = """CREATE VIEW source AS SELECT k, v FROM log;
    CREATE MATERIALIZED VIEW a INTO bag AS SELECT k, v FROM source;"""
    assert refused(f"{text} DROP {relation};") == "HAS_DEPENDANTS"
    assert refused(f"{text} DROP VIEW a; DROP {relation};") is None
