"""Scalar expressions on Spark and on DuckDB: the same values, types and errors, row by row."""

import pytest
from tests.backends.native import entries
from tests.backends.native.both import Engines

from penstock.backends.native.scalars import RULES
from penstock.plan.forms import Call
from penstock.plan.scalar import parsed

SOME = 1
# The clock is another in each engine: test_scalars.
ELSEWHERE = {(name, 0) for name in ("now", "current_timestamp", "localtimestamp", "current_date", "curdate")}


@pytest.fixture(scope="module")
def engines(spark):
    return Engines(spark)


@pytest.mark.parametrize("theme", entries.THEMES)
def test_differential_scalars(engines, interpreting, theme):
    """Of each template with its first types."""
    found = [engines.entry(*item) for item in entries.texts(theme, most=SOME)]
    assert not engines.differences([entry for entry in found if entry is not None], rows_raising=3)


@pytest.mark.extended
@pytest.mark.parametrize("theme", entries.THEMES)
def test_differential_scalars_of_all_types(engines, interpreting, theme):
    found = [engines.entry(*item) for item in entries.texts(theme)]
    assert not engines.differences([entry for entry in found if entry is not None])


def test_every_rule_is_compared(engines):
    """Each function of the tables stands in an expression that is proven."""
    met = set()
    for theme in entries.THEMES:
        for text, shape in entries.texts(theme):
            form = parsed(text)
            calls = {(item.function, len(item.arguments)) for item in form.walk() if isinstance(item, Call)}
            if not calls <= met and engines.entry(text, shape) is not None:
                met |= calls
    names = {name for name, _ in met}
    assert not {key for key in RULES if key not in met and (key[1] is not None or key[0] not in names)} - ELSEWHERE
