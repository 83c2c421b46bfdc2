"""docs/reference/proven.md says what the proofs say."""

from __future__ import annotations

import re

import pytest

from penstock.backends.native.aggregates import AGGREGATES
from penstock.backends.native.listing import TYPES, aggregated, cast_to, said, signatures, windowed
from penstock.backends.native.proof import is_proven
from penstock.backends.native.scalars import proven
from penstock.backends.native.windows import FUNCTIONS
from penstock.plan.scalar import parsed


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


@pytest.fixture(scope="module")
def page(repository):
    """As it stands in the documentation; a test of docs makes it anew, which takes a while."""
    return (repository / "docs" / "reference" / "proven.md").read_text(encoding="utf-8")


def test_no_rule_of_the_page_is_empty(page):
    functions, _, _ = page.partition("## Casts")
    assert [line for line in functions.split("\n") if re.search(r"[|;] none [|;]", line)] == []


PLAIN = [kind for kind in TYPES if "<" not in kind]


@pytest.mark.parametrize("kind", PLAIN)
def test_a_cast_is_listed_if_and_only_if_a_program_may_write_it_there(kind):
    """The list and the proof of the SQL, which is asked here without it."""
    for other in PLAIN:
        written = parsed(f"CAST(a AS {other.upper()})")
        allowed = other != kind and is_proven(lambda written=written: proven(written, {"a": kind}))
        assert (other in cast_to(kind)) == allowed, f"{kind} to {other}"


def test_the_page_says_no_more_of_casts_than_that(page):
    _, _, table = page.partition("## Casts")
    assert "| TIMESTAMP | any whole number or STRING or DATE or TIMESTAMP_NTZ |" in table
    assert "| BOOLEAN | any number or STRING |" in table
    assert len(re.findall(r"^\| [A-Z_, ]+ \|", table, re.MULTILINE)) == len(PLAIN)
