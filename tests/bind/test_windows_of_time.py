"""What windows of time refuse, and that what they accept needs no more than its change; no JVM."""

import pytest

from penstock.bind.program.compile import compile_program
from penstock.errors import PenstockError

TABLE = "CREATE TABLE ev (at TIMESTAMP, k STRING, x INT); CREATE VIEW v AS "
TUMBLE = "TUMBLE(at, INTERVAL 1 HOUR)"


@pytest.mark.parametrize(
    ("query", "code"),
    [
        (f"SELECT {TUMBLE} FROM ev", "GROUP_FUNCTION"),
        (f"SELECT {TUMBLE} FROM ev GROUP BY {TUMBLE}", "GROUP_FUNCTION"),
        ("SELECT TUMBLE_START(at, INTERVAL 1 HOUR) FROM ev", "AUXILIARY_FUNCTION"),
        (f"SELECT TUMBLE_END(at, INTERVAL 2 HOURS) FROM ev GROUP BY {TUMBLE}", "AUXILIARY_FUNCTION"),
        (f"SELECT TUMBLE_END(at, INTERVAL 1 HOUR, TIME '00:10') FROM ev GROUP BY {TUMBLE}", "AUXILIARY_FUNCTION"),
        (f"SELECT HOP_START(at, INTERVAL 1 HOUR, INTERVAL 1 HOUR) FROM ev GROUP BY {TUMBLE}", "AUXILIARY_FUNCTION"),
        ("SELECT SESSION_END(at, INTERVAL 1 HOUR) FROM ev GROUP BY k", "AUXILIARY_FUNCTION"),
        (f"SELECT TUMBLE_PROCTIME(at, INTERVAL 1 HOUR) FROM ev GROUP BY {TUMBLE}", "PROCESSING_TIME"),
        ("SELECT COUNT(*) FROM ev GROUP BY TUMBLE(at)", "WRONG_NUMBER_OF_ARGUMENTS"),
        ("SELECT COUNT(*) FROM ev GROUP BY SESSION(at, INTERVAL 1 HOUR, k)", "WRONG_NUMBER_OF_ARGUMENTS"),
        ("SELECT COUNT(*) FROM ev GROUP BY ROLLUP (SESSION(at, INTERVAL 1 HOUR), k)", "SESSION_WINDOW"),
        ("SELECT COUNT(*) FROM ev GROUP BY TUMBLE(at, INTERVAL 0 HOURS)", "NOT_AN_INTERVAL"),
        ("SELECT COUNT(*) FROM ev GROUP BY TUMBLE(at, INTERVAL -1 HOUR)", "NOT_AN_INTERVAL"),
        ("SELECT COUNT(*) FROM ev GROUP BY TUMBLE(at, 5)", "NOT_AN_INTERVAL"),
        ("SELECT COUNT(*) FROM ev GROUP BY TUMBLE(at, INTERVAL 1 HOUR, at)", "WINDOW_ARGUMENTS"),
        ("SELECT COUNT(*) FROM ev GROUP BY TUMBLE(x, INTERVAL 1 HOUR)", "WINDOW_TIME"),
        ("SELECT COUNT(*) FROM ev GROUP BY SESSION(k, INTERVAL 1 HOUR)", "WINDOW_TIME"),
        ("SELECT COUNT(*) FROM ev GROUP BY HOP(at, INTERVAL 2 HOURS, INTERVAL 1 HOUR)", "WINDOW_ARGUMENTS"),
        ("SELECT COUNT(*) FROM ev GROUP BY window(at, '5 minutes', '10 minutes')", "WINDOW_ARGUMENTS"),
        ("SELECT * FROM hop(ev, at, 5s, 2s)", "WINDOW_ARGUMENTS"),
        ("SELECT * FROM tumble(ev, 5s)", "WINDOW_ARGUMENTS"),
        ("SELECT * FROM tumble(ev, at, 5s, 1s, 1s)", "WINDOW_ARGUMENTS"),
        ("SELECT * FROM tumble(ev, at, 5s, 'Mars/Olympus')", "BAD_TIME_ZONE"),
        ("SELECT * FROM tumble(ev, x, 5s)", "WINDOW_TIME"),
        ("SELECT * FROM tumble(ev, nope, 5s)", "UNKNOWN_COLUMN"),
        ("SELECT * FROM tumble(ev, at, INTERVAL 1 DAY, INTERVAL 30 MINUTES, 'Europe/Rome')", "WINDOW_ZONE"),
        ("SELECT * FROM tumble(ev, at, INTERVAL 1 MONTH, 'Europe/Rome')", "WINDOW_ZONE"),
        ("SELECT * FROM tumble(ev, at, INTERVAL 1 MONTH, INTERVAL 1 DAY)", "NOT_AN_INTERVAL"),
        ("SELECT * FROM hop(ev, at, INTERVAL 1 DAY, INTERVAL 1 MONTH)", "NOT_AN_INTERVAL"),
        ("SELECT * FROM cumulate(ev, at, INTERVAL 7 MINUTES, INTERVAL 1 HOUR)", "NOT_AN_INTERVAL"),
        ("SELECT * FROM TABLE(TUMBLE(TABLE ev, DESCRIPTOR(at, x), INTERVAL 1 HOUR))", "WINDOW_ARGUMENTS"),
        ("SELECT * FROM TABLE(TUMBLE(TABLE ev, DESCRIPTOR(at), WIDTH => INTERVAL 1 HOUR))", "WINDOW_ARGUMENTS"),
        ("SELECT * FROM TABLE(TUMBLE(TABLE ev PARTITION BY k, DESCRIPTOR(at), INTERVAL 1 HOUR))", "WINDOW_TABLE"),
    ],
)
def test_refused(query, code):
    with pytest.raises(PenstockError) as error:
        compile_program(TABLE + query)
    assert [item.code for item in error.value.diagnostics] == [code]
    assert error.value.diagnostics[0].span is not None


@pytest.mark.parametrize(
    "query",
    [
        "SELECT session_window.start, count(*) AS n FROM ev GROUP BY session_window(at, '5 minutes')",
        "SELECT k, session_window.end AS e, count(*) AS n FROM ev GROUP BY k, session_window(k, INTERVAL 5 MINUTES)",
        "SELECT session_window(at, '5 minutes') AS w, count(*) AS n FROM ev GROUP BY session_window(at, '5 minutes')",
        "SELECT window.start, count(*) AS n FROM ev GROUP BY window(k, '10 minutes', '5 minutes')",
    ],
)
def test_what_spark_says_of_windows_is_maintained_by_change(query):
    plan = compile_program(TABLE + query).catalog.views["v"].plan
    assert not [node for node in plan.walk() if type(node).__name__ == "Recompute"]


def test_a_session_with_a_gap_of_each_row_is_recomputed():
    gap = "CASE WHEN x > 1 THEN '5 minutes' ELSE '1 minute' END"
    catalog = compile_program(f"{TABLE} SELECT COUNT(*) AS n FROM ev GROUP BY session_window(at, {gap})").catalog
    assert type(catalog.views["v"].plan).__name__ == "Recompute"


@pytest.mark.parametrize("call", ["TUMBLE{}(at, INTERVAL 1 DAY)", "HOP{}(at, INTERVAL 12 HOURS, INTERVAL 1 DAY)"])
def test_windows_by_a_clock_that_changes_have_ends(call):
    ends = ", ".join(call.format(f"_{end}") for end in ("START", "END"))
    program = f"SET TIME ZONE 'Europe/Rome'; {TABLE} SELECT {ends} FROM ev GROUP BY {call.format('')}"
    assert compile_program(program).catalog.views["v"].plan is not None
