"""A statement of one dialect under another: the error names the dialect that would take it."""

from __future__ import annotations

import pytest

import penstock
from penstock.bind.program.compile import compile_program
from penstock.errors import PenstockError, SqlError


def hints(text, dialect="penstock"):
    with pytest.raises(PenstockError) as caught:
        compile_program(text, dialect)
    return [item.hint or "" for item in caught.value.diagnostics]


@pytest.mark.parametrize(
    ("text", "dialect", "named"),
    [
        ("CREATE STREAM s (x int32)", "penstock", "dialect timeplus takes"),
        ("CREATE STREAM s (x INT); SELECT max_k(x, 2) FROM s", "flink", "dialect timeplus takes"),
        ("CREATE STREAM s (x INT); SELECT x, _tp_time FROM s", "penstock", "dialect timeplus takes"),
        ("SET 'table.exec.state.ttl' = '1 d'", "penstock", "dialect flink takes"),
        ("CREATE TABLE t (s STRING); SELECT SPLIT_INDEX(s, ',', 0) FROM t", "calcite", "dialect flink takes"),
        ('CREATE TABLE "t" ("a" INT)', "penstock", "dialects feldera and calcite take"),
        ("CREATE STREAM s (X INT); SELECT x FROM s", "timeplus", "dialects penstock, feldera, calcite and flink take"),
    ],
)  # fmt: skip
def test_the_dialect_that_takes_it_is_named(text, dialect, named):
    (hint,) = hints(text, dialect)
    assert f"{named} this statement: SET dialect = '" in hint


def test_each_statement_has_its_own_and_a_statement_that_others_take_is_there_for_the_next():
    text = "CREATE STREAM s (x int32); SELECT mox(x) FROM s; SET 'table.exec.state.ttl' = '1 d'; SELECT y FROM s"
    found = hints(text)
    assert "dialect timeplus" in found[0]
    assert "dialect flink" in found[1]


@pytest.mark.parametrize(
    "text", ["CREATE TABLE t (x INT); SELECT y FROM t", "SELEC 1", "CREATE TABLE t (x INT); CREATE TABLE t (x INT)"]
)
def test_what_no_dialect_takes_names_none(text):
    assert not any("takes this statement" in hint for hint in hints(text))


def test_a_hint_that_is_there_stays():
    (hint,) = hints("CREATE STREAM s (x INT); SELECT _tp_time FROM s")
    assert hint.startswith("the columns here are: x, s.x; dialect timeplus takes")


@pytest.mark.parametrize("how", ["execute", "query", "subscribe", "sql"])
def test_a_running_pipeline_names_it_too(how):
    with penstock.Pipeline("CREATE TABLE t (x INT);", engine="native") as pipeline:
        text = "SELECT max_k(x, 2) FROM t"
        with pytest.raises(SqlError) as caught:
            getattr(pipeline, how)(f"CREATE VIEW v AS {text}" if how == "execute" else text)
        assert "dialect timeplus takes this statement" in caught.value.diagnostics[0].hint


def test_an_unknown_dialect_names_those_that_there_are():
    with pytest.raises(SqlError, match="there is no dialect flnk") as caught:
        compile_program("SET dialect = 'flnk'")
    (found,) = caught.value.diagnostics
    assert (found.code, found.candidates, found.span.start) == ("UNKNOWN_DIALECT", ("flink",), 0)
    assert found.hint == "the dialects are penstock, feldera, calcite, flink, timeplus"


S = "CREATE STREAM s (at TIMESTAMP LATENESS INTERVAL 0 SECONDS, k INT);\n"


@pytest.mark.parametrize(
    ("query", "dialect", "error"),
    [
        ("max_k(k, 2) FROM s", "penstock", ("UNKNOWN_FUNCTION", "max_k", "'max_k'", "timeplus")),
        ("k, _tp_time FROM s", "calcite", ("UNKNOWN_COLUMN", "_tp_time", "'_tp_time'", "timeplus")),
        ("K FROM s", "timeplus", ("UNKNOWN_COLUMN", "K FROM", "'K'", "penstock")),
    ],
)
def test_a_stream_that_is_asked_for_in_the_wrong_dialect(query, dialect, error):
    code, place, said, named = error
    text = f"{S}SELECT STREAM {query}"
    with pytest.raises(SqlError) as caught:
        compile_program(text, dialect)
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert text[found.span.start :].startswith(place)
    assert said in found.message
    assert found.hint.endswith(f"this statement: SET dialect = '{named}'")


@pytest.mark.parametrize("dialect", ["penstock", "feldera", "calcite", "flink", "timeplus"])
def test_stream_is_the_same_word_in_every_dialect(dialect):
    compile_program(f"{S}SELECT STREAM k FROM s", dialect)
    text = "CREATE TABLE t (k INT);\nSELECT STREAM k FROM t"
    with pytest.raises(SqlError, match=r"(?i)Cannot convert table 't' to stream") as caught:
        compile_program(text, dialect)
    (error,) = caught.value.diagnostics
    assert (error.code, text[error.span.start :]) == ("NO_STREAM", "t")
    assert error.hint.startswith("STREAM reads what comes into a stream: CREATE STREAM declares one")
