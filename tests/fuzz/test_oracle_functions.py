"""Spark's own examples of its functions as views; here a sample, `make functions` judges all of them."""

from random import Random

import pytest

from penstock.testing.fuzz.answers import judged
from penstock.testing.fuzz.reference import Example, examples, unanswered

SAMPLE = 20


@pytest.fixture(scope="module")
def every_example(spark):
    return list(examples(spark))


def test_a_sample_answers_what_spark_answers(spark, every_example, request):
    seed = request.config.getoption("--hypothesis-seed", None) or 1
    assert judged(spark, Random(int(seed)).sample(every_example, SAMPLE)) == []


def test_each_line_of_the_list_is_about_an_example(every_example):
    assert [item.expression for item in unanswered() if not any(map(item.covers, every_example))] == []


def test_a_line_finds_examples_by_name_and_text():
    covered = [Example("to_time", 1, "SELECT to_time('00:12:00')"), Example("ilike", 3, "SET a=true")]
    assert all(any(item.covers(example) for item in unanswered()) for example in covered)
    assert not any(item.covers(Example("to_xml", 2, "SELECT to_xml(named_struct('time', 1))")) for item in unanswered())
