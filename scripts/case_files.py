"""The page of case files: every key that the reader knows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.testing.case_keys import Keys

INTRODUCTION = Path(__file__).with_suffix(".md")


def cases_page() -> str:
    """The reference of case files, from the keys that their reader knows."""
    from penstock.testing import case_keys

    lines = [
        INTRODUCTION.read_text(encoding="utf-8"),
        *_table("The file", case_keys.FILE),
        *_table("A case", case_keys.CASE),
        *_table("`normal_form`", case_keys.NORMAL_FORM),
        *_table("A step", case_keys.STEP),
        *_table("`error`", case_keys.ERROR),
        *_table("`expect`", case_keys.EXPECT),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _table(title: str, keys: Keys) -> list[str]:
    rows = [f"| `{name}` | {meaning} |" for name, meaning in keys.items()]
    return [f"## {title}", "", "| key | |", "| --- | --- |", *rows, ""]
