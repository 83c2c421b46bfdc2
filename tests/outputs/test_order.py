"""The order in which rows are shown depends on the rows alone."""

import math
from datetime import date
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from penstock.outputs.order import ordered, ordered_change

NUMBERS = st.none() | st.integers(-3, 3) | st.floats() | st.decimals(allow_nan=False, allow_infinity=False, places=2)
VALUES = NUMBERS | st.booleans() | st.text(max_size=2) | st.lists(st.integers(0, 2), max_size=2) | st.dates()
ROWS = st.lists(st.tuples(VALUES, VALUES), max_size=8)


@given(ROWS.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows))))
def test_any_two_orders_are_shown_as_one(both):
    given_rows, permuted = both
    assert [tuple(map(as_key, row)) for row in ordered(given_rows)] == [
        tuple(map(as_key, row)) for row in ordered(permuted)
    ]


def as_key(value):
    """1, 1.0, True and Decimal(1) are equal in Python, and may be shown in either order."""
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def test_null_comes_first_then_numbers_by_their_size():
    rows = [(2, "b"), (None, "a"), (10, "c"), (Decimal(2), "a"), (float("nan"), "z")]
    assert [row[1] for row in ordered(rows)] == ["a", "a", "b", "c", "z"]


def test_what_is_taken_back_comes_before_what_comes():
    change = [(1, (date(2024, 1, 2),)), (-1, (date(2024, 1, 9),)), (2, (date(2024, 1, 1),))]
    assert [weight for weight, _ in ordered_change(change)] == [-1, 2, 1]
