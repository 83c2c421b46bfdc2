"""What Spark gets must mean what was written; spark_text.txt holds queries with their text for Spark,
untouched.txt expressions that go to Spark as they are.
"""

from pathlib import Path

import pytest
from sqlglot import exp

from penstock.errors import Span
from penstock.sql.parse import parse_expression, parse_query
from penstock.sql.text import span_of, spark_sql, type_of

EXAMPLES = Path(__file__).with_name("spark_text.txt").read_text().split("\n\n")[1:]


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_query(example):
    written, expected = example.strip("\n").split("\n")
    assert spark_sql(parse_query(written)) == expected


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_text_reads_as_itself(example):
    text = example.strip("\n").split("\n")[1]
    assert spark_sql(parse_query(text)) == text


UNTOUCHED = Path(__file__).with_name("untouched.txt").read_text().splitlines()


@pytest.mark.parametrize("text", UNTOUCHED)
def test_untouched(text):
    assert spark_sql(parse_expression(text)) == text


def test_functions_are_calls_under_their_own_name():
    tree = parse_expression("Count(DISTINCT a) FILTER (WHERE b)")
    assert isinstance(tree, exp.Filter)
    assert isinstance(tree.this, exp.Anonymous)
    assert tree.this.name == "Count"


@pytest.mark.parametrize(
    ("text", "kind"),
    [("CAST(a AS DOUBLE PRECISION)", "double"), ("a::VARCHAR", "string"), ("1L", "bigint"), ("1.50BD", "decimal(3,2)")],
)
def test_types_are_sparks(text, kind):
    assert type_of(parse_expression(text).to) == kind


def test_a_span_covers_the_whole_expression():
    text = "SELECT a, sum(b + 1) OVER (PARTITION BY c) AS d FROM t"
    window = parse_query(text).expressions[1].this
    span = span_of(window)
    assert text[span.start : span.end] == "sum(b + 1) OVER (PARTITION BY c)"
    assert span_of(exp.column("x")) is None


def test_spans_count_from_the_start_of_the_program():
    from penstock.sql.parse import parse

    text = "SELECT 1;\n-- note\nSELECT a FROM t"
    assert span_of(parse(text)[1].tree.expressions[0]) == Span(25, 26)
