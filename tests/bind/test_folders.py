"""The table of the binder's folders is true: every folder stands in it, in order, with entries that are there."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import penstock.bind

FOLDER = Path(penstock.bind.__file__).parent
TABLE = [line.split("|") for line in (penstock.bind.__doc__ or "").splitlines() if line.count("|") == 2][1:]
ENTRIES = [(row[0].strip(" /"), entry.strip()) for row in TABLE for entry in row[2].split(",")]


def test_every_folder_stands_in_the_table():
    assert {row[0].strip(" /") for row in TABLE} == {path.parent.name for path in FOLDER.glob("*/__init__.py")}


@pytest.mark.parametrize(("folder", "entry"), ENTRIES)
def test_entry(folder, entry):
    module, _, function = entry.partition(".")
    assert callable(getattr(import_module(f"penstock.bind.{folder}.{module}"), function))


@pytest.mark.parametrize("place", range(len(TABLE)))
def test_a_folder_imports_from_those_below_it(place):
    above = [row[0].strip(" /") for row in TABLE[:place]]
    texts = [path.read_text(encoding="utf-8") for path in (FOLDER / TABLE[place][0].strip(" /")).glob("*.py")]
    assert not [name for name in above for text in texts if f"penstock.bind.{name}." in text]
