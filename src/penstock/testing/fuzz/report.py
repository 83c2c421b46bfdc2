"""A finding as a case file that `penstock test` runs, and the summary of a run."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from penstock.testing.cases import Step
from penstock.testing.fuzz.check import Finding, Tally
from penstock.testing.fuzz.programs import Program


class _Text(str):
    """Text that keeps its lines."""

    __slots__ = ()


class _Row(list[Any]):
    """A list in one line."""


class _Dumper(yaml.SafeDumper):
    """Rows in a line, SQL in a block."""


_Dumper.add_representer(_Text, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|"))
_Dumper.add_representer(
    _Row, lambda dumper, row: dumper.represent_sequence("tag:yaml.org,2002:seq", row, flow_style=True)
)


def case_text(program: Program, finding: Finding, name: str) -> str:
    """The case file of one finding."""
    setting = program.setting
    driven = ", ".join(f"{item.name}={_shown(getattr(setting, item.name))}" for item in fields(setting))
    case = {
        "name": name,
        "about": f"{finding.kind}; {driven}; {finding.detail}"[:2000],
        "sql": _Text(program.sql),
        "steps": [_step(step) for step in program.case.steps],
    }
    return str(yaml.dump({"cases": [case]}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000))


def _shown(value: object) -> str:
    return "".join("sp"[not kept] for kept in value) or "none" if isinstance(value, tuple) else str(value)


def _step(step: Step) -> dict[str, Any]:
    rows = [_Row([item.table, item.kind, _plain(item.row)]) for item in step.operations]
    return {"in": rows} | ({"sql": step.sql} if step.sql else {})


def _plain(value: Any) -> Any:
    return _Row(_plain(item) for item in value) if isinstance(value, list | tuple) else value


def write_case(folder: Path, program: Program, finding: Finding, name: str) -> Path:
    """Write the finding; gives the path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.yaml"
    path.write_text(case_text(program, finding, name), encoding="utf-8")
    return path


def summary(tally: Tally, findings: int) -> str:
    """The summary of what a run has seen, for people."""
    refused = ", ".join(f"{code} {count}" for code, count in tally.refused.most_common())
    used = ", ".join(f"{name} {count}" for name, count in tally.used.most_common())
    return (
        f"{tally.programs} programs, {tally.views} views, {tally.steps} steps, {tally.queries} single queries, "
        f"{findings} findings\nDuckDB: {tally.compared} contents compared, and {tally.plans} plans with their texts\n"
        f"{tally.raising} programs that may raise: {tally.raised} steps did, {tally.aside} rows were set aside\n"
        f"not supported: {refused or 'nothing'}\nconstructs (programs with them): {used}"
    )
