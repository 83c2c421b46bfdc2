"""Names of columns that Penstock itself gives to rows, so that no column of a program can have them."""

from __future__ import annotations

from collections.abc import Mapping

OPERATION = "__op"
SEQUENCE = "__seq"
WEIGHT = "__weight"
STEP = "__step"
KEY = "__key"
ARRIVED = "__arrived"
POSITION = "__position"
WINDOW_ORDER = "__window_order"
ORDER = "__order"
ENDED = "__ended"
SESSION_END = "__limited_end"  # of a session with limits, within a plan
SEQUENCE_NUMBER = "_tp_sn"  # the name by which dialect timeplus reads the position of a stream's row
OF_ARRIVAL = frozenset({ARRIVED, POSITION})  # what the rows of a stream keep
HIDDEN = OF_ARRIVAL | {WINDOW_ORDER}

RESERVED: Mapping[str, str] = {
    OPERATION: "rows say by it whether they are inserted or deleted",
    SEQUENCE: "rows say by it in which order they arrived",
    WEIGHT: "changes say by it how often a row comes or goes",
    STEP: "changes say by it in which step they came",
    KEY: "state is partitioned by it",
    ARRIVED: "streams keep by it when a row arrived",
    POSITION: "streams keep by it in which order rows arrived",
    WINDOW_ORDER: "results of windows say by it which window came first",
    ORDER: "versions of a row say by it which came last",
    ENDED: "versions of a row say by it that there is none any more",
    "__waterlines": "rows keep by it how far time had got when they came",
}
WATERLINES = "__waterlines"
"""The column that keeps the waterlines of all tables as they were before the step in which a row came."""
WATERLINE = "__waterline_of_"
"""The beginning of the name of a column that keeps the waterline of one of the row's own columns in the same way."""
ROW_WATERLINE = "__row_waterline_"
"""The beginning of the name of a column that has such a waterline within a plan."""


def keeps_waterlines(name: str) -> bool:
    """True for a column by which rows keep waterlines."""
    return name == WATERLINES or name.startswith(WATERLINE)


def is_hidden(name: str) -> bool:
    """True for a column that rows keep for Penstock, and nobody sees."""
    return name in HIDDEN or keeps_waterlines(name)


COMPUTED = "__computed_"
"""The beginning of the name of a column that keeps the value of a computed one, which none of a program has."""
VERSIONS = "__versions_of_"
"""The beginning of the name of a table's versions, which no relation of a program can have."""
