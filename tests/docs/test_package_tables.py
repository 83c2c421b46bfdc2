"""The docstring of each package has a table that names every module and folder of it, and nothing else."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(find_spec("penstock").origin).parent
PACKAGES = sorted(path.parent for path in ROOT.rglob("__init__.py") if path.parent != ROOT)
ROW = re.compile(r"^\s*(?:\| )?(`?[\w/, ]+?`?)\s*\| ", re.MULTILINE)
HEADS = {"module", "folder"}  # without back quotes: a module may be called `folder`


def title(package):
    return package.relative_to(ROOT).as_posix()


def members(package):
    modules = {path.stem for path in package.glob("*.py") if path.stem != "__init__"}
    return modules | {path.parent.name for path in package.glob("*/__init__.py")}


def named(package):
    docstring = (package / "__init__.py").read_text(encoding="utf-8").split('"""')[1]
    cells = (cell.strip() for row in ROW.findall(docstring) for cell in row.split(","))
    return {cell.strip("`").rstrip("/") for cell in cells if cell not in HEADS}


@pytest.mark.parametrize("package", PACKAGES, ids=title)
def test_each_module_is_named(package):
    assert named(package) == members(package)


def test_the_page_of_the_architecture_names_each_folder():
    page = (ROOT.parent.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    cells = " ".join(re.findall(r"^\| (.*?) \|", page, re.MULTILINE))
    assert set(re.findall(r"`(\w+)/`", cells)) == {path.name for path in PACKAGES if path.parent == ROOT}
