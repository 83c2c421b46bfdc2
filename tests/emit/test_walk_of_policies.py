"""The walk of CONTRIBUTING.md, taken at its word: a policy that shows every second step."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import penstock
from penstock.catalog import properties
from penstock.emit import policies

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """CREATE TABLE t (x INT);
CREATE VIEW v WITH ('emit_every' = '2') AS SELECT x + 1 AS y FROM t;
CREATE VIEW reader AS SELECT COUNT(*) AS n FROM v;"""


def walk():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("### A policy that shows")[2]
    (code,) = re.findall(r"^   ```python\n(.*?)^   ```", text.partition("\n## ")[0], re.DOTALL | re.MULTILINE)
    return re.sub(r"^   ", "", code, flags=re.MULTILINE)


@pytest.fixture
def _walked(monkeypatch):
    module = ModuleType("walked_policy")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # where dataclasses look their module up
    exec(walk(), module.__dict__)  # noqa: S102 - that is the test
    monkeypatch.setattr(policies, "POLICIES", (*policies.POLICIES, module.every_second))
    monkeypatch.setattr(properties, "VIEW", (*properties.VIEW, properties.Property("emit_every", "every second")))


@pytest.mark.usefixtures("_walked")
def test_every_second_step_shows():
    with penstock.Pipeline(PROGRAM, engine="native") as pipeline:
        first = pipeline.step({"t": [(1,), (2,)]})
        assert (first["v"].rows, first["reader"].rows) == ([], [(1, (2,))])
        assert sorted(pipeline.step({"t": [("-", (1,)), (5,)]})["v"].rows) == [(1, (3,)), (1, (6,))]
        assert pipeline.step({"t": [(7,)]})["v"].rows == []
        assert pipeline.step()["v"].rows == [(1, (8,))]


def test_the_import_contracts_allow_it():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(item["layers"] for item in contracts if item["id"] == "layers")
    below = {name.strip(" ()") for line in layers[layers.index("penstock.emit") :] for name in line.split(":")}
    forbidden = [name for item in contracts for name in item.get("forbidden_modules", ()) if _is_of_emit(item)]
    imported = [item.module for item in ast.walk(ast.parse(walk())) if isinstance(item, ast.ImportFrom)]
    imported = [name for name in imported if name.startswith("penstock.")]
    assert len(imported) > 3
    assert "penstock.backends.spark" in forbidden
    assert [name for name in imported if name.startswith(tuple(forbidden))] == []
    assert [name for name in imported if ".".join(name.split(".")[:2]) not in below] == []


def _is_of_emit(contract):
    return "penstock.emit" in contract.get("source_modules", ())
