"""Files of queries for Spark: what is read of them, and how a query ends as a view."""

import pytest

from penstock.testing.borrowed import REFUSED, RIGHT, UNSAID, WRONG, Verdicts, forget, gathered, judged, statements

TEXT = """-- a comment; with a semicolon
CREATE TEMPORARY VIEW t AS SELECT * FROM VALUES (1, 'a'), (2, 'b;'), (NULL, 'c'), (2, 'b;') AS v(k, s);
SELECT k + 1, count(*) FROM t /* not; here */ WHERE s <> ';' GROUP BY k;
SELECT nope FROM t;
SELECT k, rand() FROM t;
SELECT assert_true(k > 5) FROM t;
CREATE TEMPORARY VIEW u AS SELECT 1 AS k;
FROM u |> EXTEND k + 1 AS k2;"""


def test_statements_end_at_semicolons_outside_texts_and_comments():
    assert list(statements("SELECT ';', \"a;\", `b;` -- ;\n; /* ; */ SELECT 2 ;;")) == [
        "SELECT ';', \"a;\", `b;`",
        "SELECT 2",
    ]


@pytest.fixture
def borrowed(spark, tmp_path):
    path = tmp_path / "some.sql"
    path.write_text(TEXT, encoding="utf-8")
    session = spark.newSession()
    found = list(gathered(session, path, "some.sql"))
    forget(session)
    assert not session.sql("SHOW TABLES").collect()
    return session, found


def test_each_query_that_spark_can_analyse_becomes_a_view_over_what_it_names(borrowed):
    session, found = borrowed
    assert [(item.place, sorted(item.tables)) for item in found] == [
        ("some.sql 1", ["t"]),
        ("some.sql 3", ["t"]),
        ("some.sql 4", ["t"]),
        ("some.sql 5", ["u"]),
    ]
    assert found[0].tables["t"].columns == (("k", "int"), ("s", "string"))
    verdicts = Verdicts()
    for number, item in enumerate(found):
        verdicts.add(item, *judged(session, item, number))
    assert verdicts.ends == {RIGHT: 2, REFUSED: 1, UNSAID: 1}, verdicts.wrong
    assert list(verdicts.lines())[-1] == "2 right, 1 refused, 1 unsaid, 0 wrong"


def test_a_view_that_is_not_what_the_oracle_says_is_wrong(borrowed, monkeypatch):
    session, found = borrowed
    monkeypatch.setattr("penstock.testing.borrowed.Observed.violation", lambda _: "borrowed: missing +1 [1]")
    assert judged(session, found[0], 1) == (WRONG, "step 1: borrowed: missing +1 [1]")
