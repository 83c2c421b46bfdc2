"""docs/reference/waterlines.md says what the analysis infers: supported, not yet, and never."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.explain.waterlines import SECTIONS, inferred, page

PATH = Path(__file__).resolve().parents[2] / "docs" / "reference" / "waterlines.md"
EXAMPLES = [item for section in SECTIONS for item in section.examples]


def test_the_page_is_up_to_date():
    if os.environ.get("PENSTOCK_GOLDENS") == "write":
        PATH.write_text(page(), encoding="utf-8")
    assert PATH.read_text(encoding="utf-8") == page(), "make docs"


@pytest.mark.parametrize(
    "example", [item for item in EXAMPLES if not item.why and not item.should], ids=lambda item: item.text
)
def test_supported(example):
    assert inferred(example) is not None


@pytest.mark.parametrize("example", [item for item in EXAMPLES if item.why or item.should], ids=lambda item: item.text)
def test_incomplete_and_unsupported(example):
    assert inferred(example) is None
