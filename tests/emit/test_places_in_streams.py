"""Mistakes in streaming queries: what is marked in the SQL, and what is said of it."""

from __future__ import annotations

from datetime import datetime

import pytest

import penstock

PROGRAM = """
CREATE STREAM o (at TIMESTAMP NOT NULL LATENESS INTERVAL 1 HOUR, k INT, x INT);
CREATE STREAM p (at TIMESTAMP NOT NULL LATENESS INTERVAL 1 HOUR, k INT);
CREATE STREAM plain (k INT, at TIMESTAMP);
"""
STEP = "a whole number from 0, as in AS OF STEP 3"
MATCHING = (
    "SELECT STREAM * FROM o MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES A.at AS t PATTERN {} "
    "DEFINE B AS x > 1)"
)
MISTAKES = {
    "SELECT STREAM k, COUNT(*) AS c FROM o GROUP BY k": ("k", "group by a window"),
    "SELECT STREAM COUNT(*) AS c FROM o": ("COUNT(*)", "group by a window"),
    "SELECT STREAM k, COUNT(*) AS c FROM o GROUP BY GROUPING SETS ((FLOOR(at TO HOUR), k), (k))": (
        "FLOOR(at TO HOUR), k",
        "group by a window",
    ),
    "SELECT STREAM k, COUNT(*) AS c FROM o GROUP BY CUBE (FLOOR(at TO DAY), k)": ("FLOOR(at TO DAY), k", "by a window"),
    "SELECT STREAM k, COUNT(*) AS c FROM o GROUP BY ROLLUP (FLOOR(at TO DAY), k)": (
        "FLOOR(at TO DAY), k",
        "group by a window",
    ),
    "SELECT k AS t2+1 FROM o": ("+", "before AS: … + … AS t2"),
    "SELECT k AS t2 || 'x', x FROM o": ("||", "before AS: … || … AS t2"),
    "SELECT k FROM o AS OF STEP -1": ("-", STEP),
    "SELECT k FROM o AS OF STEP 'now'": ("'now'", STEP),
    "SELECT k FROM o AS OF STEP 1.5": ("1.5", STEP),
    "SELECT k FROM o AS OF STEP": ("STEP", STEP),
    "SELECT k FROM o AS OF STEP 7": ("AS OF STEP 7", "steps 0 to 0 can be asked for"),
    "SELECT STREAM k FROM o START AT STEP 'x'": ("'x'", "as in START AT STEP 3"),
    MATCHING.format("(A B* C)"): (None, "rows for B may follow for ever: WITHIN INTERVAL"),
    MATCHING.format("(A (B | C)+ D{1,3} E{2,})"): (None, "rows for B and C and E may follow for ever: WITHIN"),
    "SELECT STREAM s.x FROM o s JOIN p ap ON s.k = ap.k": (
        "s.k = ap.k",
        "AND s.at BETWEEN ap.at - INTERVAL 1 HOUR AND ap.at + INTERVAL 1 HOUR",
    ),
    "SELECT STREAM s.x FROM o s JOIN plain ap ON s.k = ap.k": (
        "s.k = ap.k",
        "declare LATENESS on a time column of plain",
    ),
}


@pytest.fixture(scope="module")
def pipeline():
    with penstock.Pipeline(PROGRAM, engine="native") as found:
        yield found


def refused(pipeline, text):
    with pytest.raises(penstock.PenstockError) as error:
        pipeline.subscribe(text) if "STREAM" in text else pipeline.query(text)
    return error.value.diagnostics[0]


@pytest.mark.parametrize("text", MISTAKES)
def test_what_is_marked_and_said(pipeline, text):
    found = refused(pipeline, text)
    marked, said = MISTAKES[text]
    assert marked in (None, text[found.span.start : found.span.end])
    assert said in found.hint


def test_the_lock_that_is_named_works_when_it_is_pasted(pipeline):
    text = "SELECT STREAM s.x FROM o s JOIN p ap ON s.k = ap.k"
    lock = refused(pipeline, text).hint.partition("in the condition: ")[2]
    pipeline.subscribe(f"{text} {lock}").close()


@pytest.mark.parametrize("word", ["FIXED", "CONSTANTS", ""])
def test_a_wrong_word_behind_domain(word):
    text = f"CREATE TABLE d (a INT DOMAIN {word})"
    with pytest.raises(penstock.SqlError) as error:
        penstock.Pipeline(text)
    found = error.value.diagnostics[0]
    assert text[found.span.start : found.span.end] == (word or "DOMAIN")
    assert found.candidates == ("DOMAIN CONSTANT",)


@pytest.mark.parametrize(
    ("rounded", "value"),
    [
        ("FLOOR({t} + INTERVAL '5' MINUTE TO HOUR)", "11:00:00"),
        ("FLOOR(({t} + INTERVAL '5' MINUTE) TO HOUR)", "11:00:00"),
        ("FLOOR({t} + INTERVAL 5 MINUTES TO HOUR)", "11:00:00"),
        ("CEIL({t} - INTERVAL '5' MINUTE TO HOUR)", "11:00:00"),
        ("FLOOR({t} - INTERVAL '1' HOUR TO MINUTE)", "09:57:00"),
        ("FLOOR({t} - INTERVAL '1:30' HOUR TO MINUTE TO HOUR)", "09:00:00"),
        ("FLOOR(({t} - INTERVAL '1:30' HOUR TO MINUTE) TO HOUR)", "09:00:00"),
        ("FLOOR(FLOOR({t} + INTERVAL '5' MINUTE TO HOUR) - INTERVAL '1' SECOND TO MINUTE)", "10:59:00"),
    ],
)
def test_an_interval_within_floor_and_ceil(pipeline, rounded, value):
    moment = "TIMESTAMP '2024-01-01 10:57:30'"
    found = pipeline.query(f"SELECT {rounded.format(t=moment)} AS h").rows
    assert found == [(datetime.fromisoformat(f"2024-01-01 {value}"),)]


def test_hours_that_end_earlier_are_a_window_of_a_stream(pipeline):
    key = "CEIL(at + INTERVAL '5' MINUTE TO HOUR)"
    pipeline.subscribe(f"SELECT STREAM {key} AS h, COUNT(*) AS n FROM o GROUP BY {key}").close()
