"""Window calls whose values depend on the order of equal rows."""

from __future__ import annotations

from penstock.catalog.word_list import word_list
from penstock.plan.forms import Over
from penstock.plan.scalar import Scalar

# Their answer is a value of one row, a list in an order of its own, or a number of rows.
_CHOOSING = frozenset([
    *word_list("rank dense_rank percent_rank cume_dist row_number ntile lag lead count count_if min max"),
    *word_list("first first_value any_value last last_value nth_value collect_list array_agg collect_set"),
])  # fmt: skip


def adds_up(call: Scalar) -> bool:
    """True if a window call adds up rows whose order its ORDER BY may leave open."""
    windows = [item for item in call.form.walk() if isinstance(item, Over)]
    return not windows or any(_adds_up(window) for window in windows)


def _adds_up(window: Over) -> bool:
    by_rows = window.frame is not None and window.frame.kind == "rows"
    return not by_rows and (window.call is None or window.call.function not in _CHOOSING)
