"""Spark's own examples of its functions as views; here a sample, `make functions` judges all of them."""

from random import Random

from penstock.testing.fuzz.answers import judged
from penstock.testing.fuzz.reference import Example, examples, function_names, unanswered

SAMPLE = 6


def test_a_sample_answers_what_spark_answers(spark, request):
    seed = request.config.getoption("--hypothesis-seed", None) or 1
    names = Random(int(seed)).sample(function_names(spark), SAMPLE)
    assert judged(spark, list(examples(spark, names))) == []


def test_a_line_finds_examples_by_name_and_text():
    covered = [Example("to_time", 1, "SELECT to_time('00:12:00')"), Example("ilike", 3, "SET a=true")]
    assert all(any(item.covers(example) for item in unanswered()) for example in covered)
    assert not any(item.covers(Example("to_xml", 2, "SELECT to_xml(named_struct('time', 1))")) for item in unanswered())
