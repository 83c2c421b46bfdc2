"""An output that cannot take what its query gives is refused before the start: where, why, and what would work."""

from __future__ import annotations

import pytest

import penstock
from penstock.bind.program.compile import compile_program
from penstock.errors import SqlError
from penstock.pipeline.supported import check_supported

T = "CREATE TABLE t (k STRING, v INT);\n"
KEYED = "CREATE TABLE p (k STRING PRIMARY KEY, v INT);\n"
STREAM = "CREATE STREAM s (k STRING, v INT, at TIMESTAMP LATENESS INTERVAL 0 SECONDS);\n"
SUMS = "SELECT k, SUM(v) AS s FROM {} GROUP BY k"
WITH = "WITH ('connector' = 'print', 'form' = '{}')"
OTHER_FORMS = "'form' = 'changelog'; or 'form' = 'retract'; or 'form' = 'upsert'"
FINAL = f"EMIT AFTER WATERMARK, which gives rows once they are final; or {OTHER_FORMS}"
ONLY_COMES = f"'append_only' = 'true' on the table that is read, or CREATE STREAM; or {OTHER_FORMS}"


def refused(text):
    """The diagnostic, and the rest of the line at its place."""
    with pytest.raises(SqlError) as caught:
        check_supported(compile_program(text).catalog)
    (found,) = caught.value.diagnostics
    return found, text[found.span.start :].partition("\n")[0]


def view(form, query):
    return f"CREATE VIEW v {WITH.format(form)} AS\n{query};"


@pytest.mark.parametrize(
    ("query", "place", "operator", "hint"),
    [
        (SUMS.format("s"), "SUM(v)", "Aggregate, since a new row of a group", FINAL),
        ("SELECT k FROM t WHERE v > 1", "t WHERE", "Scan, since table t takes deletions", ONLY_COMES),
        ("SELECT k FROM p", "p;", "Scan, since table p takes deletions", ONLY_COMES),
        ("SELECT s.k, p.v FROM s LEFT JOIN s AS p ON s.k = p.k", "s.k = p.k", "Left join, since a row given", FINAL),
        ("SELECT k, LEAD(v) OVER (PARTITION BY k ORDER BY at) AS l FROM s", "LEAD", "Window, since a new row", FINAL),
        ("SELECT k FROM s EXCEPT SELECT k FROM t", "k FROM t;", "EXCEPT, since a new row", FINAL),
        ("SELECT k FROM s ORDER BY v DESC LIMIT 3", "v DESC", "TopK, since a better row", FINAL),
        ("SELECT k FROM s WHERE at > now() - INTERVAL 1 HOUR", "at > now()", "Filter, since rows come and go", FINAL),
    ],
)
def test_an_append_output_of_a_query_that_retracts(query, place, operator, hint):
    found, at = refused(f"{T}{KEYED}{STREAM}{view('append', query)}")
    assert (found.code, found.hint) == ("TAKES_ROWS_BACK", hint)
    assert found.message.startswith(f"view v: rows that are appended stay, but this one takes rows back: {operator}")
    assert at.startswith(place)


def test_what_works_instead_is_taken():
    for text in (
        f"{STREAM}{view('append', 'SELECT k FROM s')}",
        f"{STREAM}{view('retract', SUMS.format('s'))}",
        f"{STREAM}{view('upsert', SUMS.format('s'))}",
        f"{KEYED}{view('upsert', 'SELECT k, v FROM p')}",
    ):
        check_supported(compile_program(text).catalog)


def test_the_operator_stands_in_the_text_of_its_own_view():
    above = "-- the sums, which another text reads\n\n"
    with penstock.Pipeline(f"{above}{T}CREATE VIEW sums AS {SUMS.format('t')};", engine="native") as pipeline:
        with pytest.raises(SqlError) as caught:
            pipeline.execute(f"CREATE VIEW v {WITH.format('append')} AS SELECT k FROM sums")
        (found,) = caught.value.diagnostics
        assert "Aggregate, since in view sums: a new row of a group" in found.message
        assert caught.value.source[found.span.start :].startswith("SUM(v)")
        assert "at line 4, column 31" in caught.value.render()


@pytest.mark.parametrize(
    ("query", "more", "code", "message", "hint"),
    [
        (
            "SELECT k, v FROM t",
            "",
            "VIEW_WITHOUT_KEY",
            "view v has no key, by which a row could take the place of another",
            "GROUP BY or DISTINCT gives a view a key, PRIMARY KEY a table",
        ),
        (
            "SELECT k, v FROM t",
            ", 'key' = 'k'",
            "KEY_DIFFERS",
            "view v may give several rows for one value of its 'key' (k)",
            "GROUP BY k would make it one",
        ),
        (
            SUMS.format("t"),
            ", 'key' = 's'",
            "KEY_DIFFERS",
            "view v may give several rows for one value of its 'key' (s)",
            "its rows have the key (k)",
        ),
    ],
)
def test_an_upsert_output_whose_key_is_not_unique(query, more, code, message, hint):
    options = WITH.format("upsert").replace(")", f"{more})")
    found, at = refused(f"{T}CREATE VIEW v {options} AS {query};")
    assert (found.code, found.message, found.hint) == (code, message, hint)
    assert at.startswith("v WITH")
