"""docs/reference/proven.md says what the proofs say."""

from __future__ import annotations

import re

from penstock.backends.native.aggregates import AGGREGATES
from penstock.backends.native.listing import aggregated, page, said, signatures, windowed
from penstock.backends.native.windows import FUNCTIONS


def test_whole_numbers_are_rounded_and_texts_are_not():
    assert said(signatures("floor", 1)) == "any number"
    assert said(signatures("year", 1)) == "any time"
    assert said(signatures("startswith", 2)) == "STRING, STRING"
    assert said(signatures("date_trunc", 2)) == "a text in quotes, any time"


def test_arguments_that_stand_beside_the_same_are_one():
    assert said({("int", "string"), ("bigint", "string"), ("date", "date")}) == "INT or BIGINT, STRING; DATE, DATE"
    assert said({("string",), ("a text in quotes",)}) == "STRING"
    assert said({()}) == "no arguments"
    assert said(()) == "none"


def test_every_aggregate_and_window_function_proves_something():
    assert [name for name in AGGREGATES if not aggregated(name)] == []
    assert [name for name in FUNCTIONS if not windowed(name)] == []


def test_no_rule_of_the_page_is_empty():
    functions, _, _ = page().partition("## Casts")
    assert [line for line in functions.split("\n") if re.search(r"[|;] none [|;]", line)] == []
