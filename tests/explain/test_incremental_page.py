"""docs/reference/incremental.md says what the circuits say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.engine.foreseeing import foreseen
from penstock.explain.constructs import SECTIONS, in_the_process, judged, page

PATH = Path(__file__).resolve().parents[2] / "docs" / "reference" / "incremental.md"

RECOMPUTED = {
    # In the process all rows are gone through; on Spark they are kept in buckets.
    "`MIN`, `MAX` without `GROUP BY`",
    "comparison with `ANY`, `SOME`, `ALL` of a query",
    "outer join without an equality",
    "every other aggregate without `GROUP BY`",
    "`OVER` without `PARTITION BY`",
    "recursion with an aggregate inside",
    "`hll_…`, `kll_…`, `approx_top_k…`, `histogram_numeric`",
}


def test_the_page_is_up_to_date():
    if os.environ.get("PENSTOCK_GOLDENS") == "write":
        PATH.write_text(page(foreseen), encoding="utf-8")
    assert PATH.read_text(encoding="utf-8") == page(foreseen), "make docs"


@pytest.mark.parametrize(
    "construct",
    [item for section in SECTIONS for item in section.constructs],
    ids=lambda item: item.name,
)
def test_what_is_said_to_be_incremental_is(construct):
    assert judged(construct, foreseen).verdict.incremental is (construct.name not in RECOMPUTED)


def test_it_says_what_works_in_the_process():
    said = {item.name: in_the_process(judged(item, foreseen)) for section in SECTIONS for item in section.constructs}
    assert said["`WHERE`"] == "yes"
    assert said["inner join with an equality"] == "yes"
    assert said["every other aggregate"].startswith("no: the aggregate skewness")
    assert said["`hll_…`, `kll_…`, `approx_top_k…`, `histogram_numeric`"] == "no: a query that is recomputed"
    recursive = {name for name in said if "recursi" in name.lower()}
    assert {name for name, text in said.items() if "recursion" in text} <= recursive


def test_spark_keeps_what_has_no_groups_in_buckets():
    (least,) = [
        item for section in SECTIONS for item in section.constructs if item.name.startswith("`MIN`, `MAX` with")
    ]
    assert judged(least).verdict.incremental
