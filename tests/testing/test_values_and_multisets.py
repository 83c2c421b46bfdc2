"""When two result rows count as equal."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.testing.multisets import Content, consolidate, difference
from penstock.testing.values import identity, matches, plain


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ("*", 5),
        ("*", None),
        (1, 1.0),
        (1.0, 1.0 + 5e-10),
        (0.1, Decimal("0.10")),
        ("0.000000000000000001", Decimal("0.000000000000000001")),
        (float("nan"), float("nan")),
        (float("-inf"), float("-inf")),
        ("2024-01-01", "2024-01-01 00:00:00"),
        ("2024-01-01 10:00:00", "2024-01-01 10:00:00.000000"),
        ([1, None], (1, None)),
        ({"x": 1, "y": "a"}, {"x": 1, "y": "a"}),
        ([1, "a"], {"x": 1, "y": "a"}),
        ({"k": 1}, [("k", 1)]),
    ],
)
def test_equal(expected, actual):
    assert matches(expected, actual)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (None, 0),
        (0, None),
        (1, True),
        (True, 1),
        (1.0, 1.00001),
        (2**53, 2**53 + 1),
        (float("inf"), 1e308),
        (float("nan"), 0.0),
        ("a", "b"),
        ("2024-01-01", "2024-01-02 00:00:00"),
        ("a", 1),
        ([1], [1, 2]),
        ({"x": 1}, {"x": 2}),
        ({"x": 1}, 1),
    ],
)
def test_different(expected, actual):
    assert not matches(expected, actual)


def test_plain_values():
    zone = timezone(timedelta(hours=2))
    assert plain(datetime(2024, 1, 1, 12, tzinfo=zone)) == "2024-01-01 10:00:00"
    assert plain(datetime(2024, 1, 1, 12, 0, 0, 5, tzinfo=UTC)) == "2024-01-01 12:00:00.000005"
    assert plain(date(2024, 1, 1)) == "2024-01-01"
    assert plain(b"\x01\xff") == "01FF"
    assert plain({"a": (1, date(2024, 1, 1))}) == {"a": [1, "2024-01-01"]}


def test_identity_of_special_floats():
    assert identity(float("nan")) == identity(float("nan"))
    assert identity(-0.0) == identity(0.0) == identity(0)
    assert identity(plain(value=True)) != identity(1)
    assert identity("1") != identity(1)


def test_consolidate_adds_up_and_drops_zeros():
    assert consolidate([(1, (1, "a")), (1, (2, "b")), (-1, (1, "a")), (2, (2, "b"))]) == [(3, (2, "b"))]


def test_a_wildcard_does_not_take_another_rows_only_partner():
    assert not difference([(1, ("*", 1)), (1, ("a", 1))], [(1, ("a", 1)), (1, ("b", 1))])
    assert difference([(1, ("*", 1)), (1, ("a", 1))], [(1, ("c", 1)), (1, ("b", 1))])


def test_the_difference_names_both_sides():
    found = difference([(2, (1,)), (1, (2,))], [(1, (1,)), (-1, (3,))])
    assert found.missing == ((1, (1,)), (1, (2,)))
    assert found.unexpected == ((-1, (3,)),)
    assert "missing +1 [1]" in found.describe()


def test_content_cancels_a_retraction_that_differs_by_rounding():
    content = Content()
    assert content.apply([(1, ("a", 0.1 + 0.2))]) is None
    assert content.apply([(-1, ("a", 0.3)), (1, ("a", 0.4))]) is None
    assert content.rows == [(1, ("a", 0.4))]


def test_content_refuses_to_take_back_what_is_not_there():
    content = Content()
    content.apply([(1, ("a",))])
    assert "not there" in content.apply([(-1, ("b",))])


rows = st.lists(st.tuples(st.integers(-2, 2).filter(bool), st.tuples(st.integers(0, 2), st.none() | st.integers(0, 1))))


@given(rows, st.randoms())
def test_difference_is_empty_exactly_for_equal_multisets(weighted, chance):
    shuffled = weighted[:]
    chance.shuffle(shuffled)
    assert not difference(weighted, shuffled)
    assert difference([*weighted, (1, (9, 9))], shuffled)


def test_long_decimals_differ_to_the_last_digit():
    one, other = (Decimal(12345678901234567890123456789012345678 + last) for last in (0, 1))
    assert identity((one,)) != identity((other,))
    assert identity((one,)) == identity((int(one),))
