"""Spark's own examples of its functions as views; here some of every kind, `make functions` judges all of them."""

import pytest

from penstock.testing.fuzz import answers
from penstock.testing.fuzz.answers import judged, without_examples
from penstock.testing.fuzz.reference import Example, Unanswered, examples, unanswered

# Scalar, with lambdas, over collations, times, JSON and variants; generators; aggregates; what raises; what is listed.
CHOSEN = (
    *("substr", "transform", "collate", "to_time", "from_json", "variant_get", "shiftrightunsigned", "raise_error"),
    *(
        "explode",
        "variant_explode",
        "collations",
        "listagg",
        "regr_intercept",
        "schema_of_variant_agg",
        "count_min_sketch",
    ),
    *("hll_sketch_agg", "lag", "window", "uuid", "current_user", "aes_encrypt"),
)


@pytest.mark.extended
def test_views_answer_what_spark_answers(spark):
    assert judged(spark, list(examples(spark, CHOSEN))) == []


def test_an_example_that_is_right_cannot_stay_listed(spark, monkeypatch):
    monkeypatch.setattr(answers, "unanswered", lambda: (Unanswered("^upper ", "taken to be wrong here"),))
    (found,) = judged(spark, list(examples(spark, ["upper"])))
    assert found.startswith("upper 1 is right, though it is listed")


@pytest.mark.parametrize("line", unanswered(), ids=lambda line: line.expression)
def test_a_listed_line_has_a_reason(line):
    assert line.expression
    assert len(line.reason.split()) > 2


def test_a_line_finds_examples_by_name_and_text():
    covered = [Example("st_srid", 1, "SELECT st_srid(NULL)"), Example("ilike", 3, "SET a=true")]
    assert all(any(item.covers(example) for item in unanswered()) for example in covered)
    assert not any(item.covers(Example("to_xml", 2, "SELECT to_xml(named_struct('time', 1))")) for item in unanswered())


def test_a_line_that_is_about_no_example_is_found():
    assert len(without_examples([])) == len(unanswered())
