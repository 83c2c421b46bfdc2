"""EXPLAIN of what stands: the normal form of its policy, what it shows, and what it waits for."""

from __future__ import annotations

import json

import pytest

from penstock.analysis.waterline import has_waterline
from penstock.bind.emission.standing import bind_standing
from penstock.bind.program.compile import compile_program
from penstock.explain import explain, explain_standing
from penstock.sql.parse import parse

TABLES = """CREATE TABLE s (ts TIMESTAMP LATENESS INTERVAL 5 SECONDS, k INT, a BOOLEAN, e BOOLEAN);
CREATE TABLE p (ts TIMESTAMP, k INT, a BOOLEAN, e BOOLEAN);
"""
COUNTED = "SELECT k, COUNT(*) AS n FROM s GROUP BY k"
WINDOWED = (
    "SELECT window_end, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL 3 SECONDS)) "
    "GROUP BY window_start, window_end"
)


def fact(text):
    catalog = compile_program(TABLES).catalog
    (statement,) = parse(text, "penstock")
    found = bind_standing(statement.tree, catalog, text, "query", has_waterline)
    return json.loads(explain_standing(found, catalog, ("json",), text))["emission"]


@pytest.mark.parametrize(
    ("text", "policy", "content", "waits"),
    [
        (
            f"{COUNTED} EMIT PERIODIC 60s",
            "EMIT PERIODIC 1m",
            "full",
            ["the clock: every 1m, if rows have come since the last time"],
        ),
        (f"{COUNTED} EMIT PERIODIC 2s REPEAT", "EMIT PERIODIC 2s REPEAT", "full", ["the clock: every 2s"]),
        (f"{COUNTED} EMIT CHANGES", "EMIT CHANGELOG ON UPDATE", "changes", ["each step that changes its rows"]),
        (
            f"{COUNTED} EMIT PERIODIC 1s ON UPDATE",
            "EMIT ON UPDATE WITH BATCH 1s",
            "changed",
            ["the clock: every 1s, if its rows have changed since"],
        ),
        (
            f"{COUNTED} EMIT AFTER DELAY 2s",
            "EMIT AFTER DELAY 2s",
            "changed",
            ["the clock: 2s after the first change of a group"],
        ),
        (
            f"{WINDOWED.format('s')} EMIT AFTER WATERMARK",
            "EMIT AFTER WINDOW CLOSE",
            "final",
            ["the waterline of s.ts to pass window_end"],
        ),
        (
            f"{WINDOWED.format('p')} EMIT AFTER WATERMARK WITH DELAY 2s AND TIMEOUT 1m",
            "EMIT AFTER WINDOW CLOSE WITH DELAY 2s AND TIMEOUT 1m",
            "final",
            [
                "the greatest ts that has come, less 2s, to pass window_end",
                "the clock: 1m after the last row, which closes all windows",
            ],
        ),
        (
            f"{WINDOWED.format('p')} EMIT AFTER WATERMARK AND AFTER DELAY 6s",
            "EMIT AFTER DELAY 6s AND AFTER WATERMARK",
            "changed",
            [
                "the clock: 6s after the first change of a window",
                "the greatest ts that has come to pass window_end",
            ],
        ),
        (
            (
                "SELECT k, COUNT(*) AS n FROM p GROUP BY k LIMIT 3 EMIT AFTER SESSION CLOSE IDENTIFIED BY (ts, a, e) "
                "WITH MAXSPAN 1m AND TIMEOUT 2m"
            ),
            "EMIT AFTER SESSION CLOSE IDENTIFIED BY (ts, a, e) WITH MAXSPAN 1m AND TIMEOUT 2m",
            "final",
            [
                "a row for which e holds",
                "a row for which a holds, which begins the next session, unless sessions merge",
                "the times of a session to be 1m apart",
                "the clock: 2m after the last row of a session",
                "3 rows: with these it ends",
            ],
        ),
        (
            (
                f"{WINDOWED.format('s')} SETTINGS first_result = '-2s', complete_result = '1s', late_updates = 'on', "
                "last_result = '10s'"
            ),
            "EMIT FIRST RESULT -2s, UPDATE RATE 1 ROW, COMPLETE RESULT 1s, LATE UPDATES UNTIL 10s",
            "changed",
            [
                "the waterline of s.ts to pass window_end - 2s: early results from there on, with each change",
                "the waterline of s.ts to pass window_end + 1s: the complete result",
                "late rows, until it has passed window_end + 10s",
            ],
        ),
    ],
)
def test_the_policy_and_what_it_waits_for(text, policy, content, waits):
    found = fact(text)
    assert (found["policy"], found["content"], found["waits_for"]) == (policy, content, waits)
    assert found["shows"]


def test_a_view_with_emit_says_it_in_words():
    catalog = compile_program(
        f"{TABLES} CREATE VIEW v AS {COUNTED} EMIT PERIODIC 2s; CREATE VIEW w AS {COUNTED};"
    ).catalog
    lines = explain(catalog, "v").splitlines()
    assert [line.strip() for line in lines[1:4]] == [
        "emission:   EMIT PERIODIC 2s",
        "shows all rows; of windows those that are open, and a last time those that have closed",
        "waits for the clock: every 2s, if rows have come since the last time",
    ]
    assert "emission" not in explain(catalog, "w")


def test_explain_takes_a_query_with_emit():
    program = compile_program(f"{TABLES} EXPLAIN {COUNTED} EMIT PERIODIC 2s;")
    assert len(program.statements) == 3
