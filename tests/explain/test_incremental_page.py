"""docs/reference/incremental.md says what the circuits say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.explain.constructs import SECTIONS, judged, page

PATH = Path(__file__).resolve().parents[2] / "docs" / "reference" / "incremental.md"

RECOMPUTED = {
    "outer join without an equality",
    "every other aggregate without `GROUP BY`",
    "`OVER` without `PARTITION BY`",
    "recursion with an aggregate inside",
    "`hll_…`, `kll_…`, `approx_top_k…`, `histogram_numeric`",
}


def test_the_page_is_up_to_date():
    if os.environ.get("PENSTOCK_GOLDENS") == "write":
        PATH.write_text(page(), encoding="utf-8")
    assert PATH.read_text(encoding="utf-8") == page(), "make docs"


@pytest.mark.parametrize(
    "construct",
    [item for section in SECTIONS for item in section.constructs],
    ids=lambda item: item.name,
)
def test_what_is_said_to_be_incremental_is(construct):
    assert judged(construct).verdict.incremental is (construct.name not in RECOMPUTED)
