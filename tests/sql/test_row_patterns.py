"""The pattern of MATCH_RECOGNIZE as it is read, and as it is said again."""

from __future__ import annotations

import pytest

from penstock.errors import SqlError
from penstock.sql.rowpattern import (
    Alternation,
    Anchor,
    Excluded,
    Permutation,
    Repeated,
    Sequence,
    Variable,
    has,
    pattern_text,
    read_pattern,
    variables,
)

A, B, C = Variable("A"), Variable("B"), Variable("C")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("A B", Sequence((A, B))),
        ("A | B C", Alternation((A, Sequence((B, C))))),
        ("(A|B)*?", Repeated(Alternation((A, B)), 0, None, reluctant=True)),
        ("A+ B? C{2}", Sequence((Repeated(A, 1, None), Repeated(B, 0, 1), Repeated(C, 2, 2)))),
        (
            "A{ 2 , }? A{,3} A{2,4}",
            Sequence((Repeated(A, 2, None, reluctant=True), Repeated(A, 0, 3), Repeated(A, 2, 4))),
        ),
        ("^ PERMUTE(A, B C) $", Sequence((Anchor("^"), Permutation((A, Sequence((B, C)))), Anchor("$")))),
        ("A {- B+ -}", Sequence((A, Excluded(Repeated(B, 1, None))))),
        ("A ()", Sequence((A, Sequence(())))),
        ("A | ", Alternation((A, Sequence(())))),
        ('`A` "B"', Sequence((A, B))),
    ],
)
def test_a_pattern_is_read(text, wanted):
    assert read_pattern(text, 0) == wanted
    assert read_pattern(pattern_text(wanted), 0) == wanted


def test_a_variable_has_the_name_that_is_written_first():
    found = read_pattern("Up up UP down", 0)
    assert list(variables(found)) == ["Up", "Up", "Up", "down"]


def test_what_stands_in_a_pattern_is_found():
    found = read_pattern("A (B {- C $ -})?", 0)
    assert has(found, Anchor)
    assert has(found, Excluded)
    assert not has(found, Permutation)


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("A )", "expected the end of the pattern, found )", (12, 13)),
        ("A (B", "expected ) in the pattern, found its end", (13, 14)),
        ("* A", "expected a pattern variable, found *", (10, 11)),
        ("A B{3,2}", "{3,2} is no number of times", (13, 18)),
        ("A{0}", "{0} is no number of times", (11, 14)),
        ("A{} B", "{} is no number of times", (11, 13)),
        ("^+ A", "^ stands for a place between rows, which has no number of times", (10, 11)),
        ("A{20000}", "{20000} is more often than 10000 times", (11, 18)),
        ("PERMUTE(A,B,C,D,E,F,G)", "PERMUTE takes up to 6 parts", (10, 17)),
        ("A - B", "expected a pattern variable, found -", (12, 13)),
    ],
)
def test_what_cannot_be_read_is_said_with_its_place(text, message, place):
    with pytest.raises(SqlError) as caught:
        read_pattern(text, 10)
    (found,) = caught.value.diagnostics
    assert found.message == message
    assert (found.span.start, found.span.end) == place
