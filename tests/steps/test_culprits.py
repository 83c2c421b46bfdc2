"""A cause of failure is found by trying parts: each alone, or the fewest together; the tries are few."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.steps.culprits import culprits, failing_alone


def failing(*sets):
    """Attempt with the first of these sets that is there as a whole."""
    tried = []

    def fails(items):
        tried.append(items)
        return next((found for found in sets if found <= set(items)), None)

    return fails, tried


def test_each_that_fails_alone_is_found_in_few_tries():
    bad = (5, 1700, 2999)
    fails, tried = failing(*({item} for item in bad))
    found = culprits(range(3000), fails, {5})
    assert [list(item.items) for item in found] == [[5], [1700], [2999]]
    assert [item.error for item in found] == [{5}, {1700}, {2999}]
    assert len(tried) < 70


def test_what_only_fails_together_is_one_culprit():
    fails, _ = failing({3, 900})
    assert [list(item.items) for item in culprits(range(1000), fails, {3, 900})] == [[3, 900]]
    assert failing_alone(range(1000), fails, {3, 900}) == []


def test_one_alone_is_found_beside_some_together():
    fails, _ = failing({3, 900}, {7})
    assert [list(item.items) for item in culprits(range(1000), fails, {7})] == [[7]]


@given(st.integers(2, 60), st.lists(st.frozensets(st.integers(0, 59), min_size=1, max_size=4), min_size=1, max_size=5))
def test_without_all_that_is_found_nothing_fails_and_each_of_it_is_needed(size, sets):
    sets = [frozenset(item % size for item in found) for found in sets]
    fails, _ = failing(*sets)
    left, found = list(range(size)), []
    while (error := fails(left)) is not None:
        found += culprits(left, fails, error)
        left = [item for item in range(size) if not any(item in culprit.items for culprit in found)]
    assert all(set(culprit.items) in sets for culprit in found)
