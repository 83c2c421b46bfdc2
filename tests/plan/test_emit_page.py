"""docs/reference/emit.md shows what is read and what is refused, and what it recommends is read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.errors import SqlError
from penstock.plan.emitclause import read_emit

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "emit.md").read_text(encoding="utf-8")
FORMS = re.findall(r"^\| `(EMIT[^`]*)` \| `(EMIT[^`]*)` \|$", PAGE, re.MULTILINE)
REFUSED = re.findall(r"^\| `(EMIT[^`]*)` \| `(EMIT_\w+)` \| (.*) \|$", PAGE, re.MULTILINE)
RECOMMENDED = [text for _, _, remedy in REFUSED for text in re.findall(r"`(EMIT [^`]*)`", remedy)]


def test_every_row_is_seen() -> None:
    rows = [line for line in PAGE.split("\n") if line.startswith("| `EMIT")]
    assert len(rows) == len(FORMS) + len(REFUSED) > len(RECOMMENDED) > 0


@pytest.mark.parametrize(("written", "normal"), FORMS)
def test_a_form(written: str, normal: str) -> None:
    assert read_emit(written).text() == normal


@pytest.mark.parametrize(("written", "code"), [row[:2] for row in REFUSED])
def test_a_refusal(written: str, code: str) -> None:
    with pytest.raises(SqlError) as caught:
        read_emit(written)
    assert caught.value.code == code


@pytest.mark.parametrize("text", RECOMMENDED)
def test_what_works_is_read(text: str) -> None:
    clause = read_emit(text)
    assert read_emit(clause.text()) == clause
