"""Diagnostics in the forms in which a build shows them beside the lines of a change.

SARIF 2.1.0 is read by GitHub's code scanning, GitLab and editors; a workflow command is one line on the output of a
step of GitHub Actions. Both count columns in characters, from 1, and an end is the character behind the last one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import penstock
from penstock.errors import Diagnostic

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True, slots=True)
class Finding:
    """A diagnostic and the text that its span points into."""

    diagnostic: Diagnostic
    source: str | None

    @property
    def place(self) -> dict[str, Any]:
        """File, line and column of its beginning and end, as far as they are known."""
        values = self.diagnostic.to_json(self.source)
        return {name: values[name] for name in ("file", "line", "column", "end_line", "end_column") if name in values}

    @property
    def text(self) -> str:
        """The message, with what would work; the place too where no file is there to show it in."""
        said, place = self.diagnostic, self.place
        where = f"line {place['line']}, column {place['column']}: " if "line" in place and "file" not in place else ""
        near = f"; did you mean: {', '.join(said.candidates)}?" if said.candidates else ""
        row = f"; for the row {said.row}" if said.row else ""
        hint = f"; hint: {said.hint}" if said.hint else ""
        return f"{where}{said.message}{row}{near}{hint}"


def findings(diagnostics: Iterable[Diagnostic], source: str | None) -> list[Finding]:
    """Diagnostics over one text."""
    return [Finding(item, source) for item in diagnostics]


def as_sarif(found: Sequence[Finding]) -> str:
    """The findings as one SARIF log; without any it says that nothing was found."""
    codes = list(dict.fromkeys(item.diagnostic.code for item in found))
    driver = {"name": "penstock", "version": penstock.__version__, "rules": [{"id": code} for code in codes]}
    results = [_result(item, codes.index(item.diagnostic.code)) for item in found]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False)


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    said = finding.diagnostic
    result: dict[str, Any] = {
        "ruleId": said.code,
        "ruleIndex": rule,
        "level": "warning" if said.severity == "warning" else "error",
        "message": {"text": finding.text},
    }
    place = finding.place
    if "file" in place:
        region = {
            "startLine": place["line"],
            "startColumn": place["column"],
            "endLine": place["end_line"],
            "endColumn": place["end_column"],
        }
        located = {"artifactLocation": {"uri": _uri(place["file"])}, "region": region}
        result["locations"] = [{"physicalLocation": located}]
    return result


def _uri(file: str) -> str:
    """The address of a file: relative to the working directory where the file is below it."""
    path = Path(file)
    if not path.is_absolute():
        return quote(path.as_posix())
    below = path.is_relative_to(Path.cwd())
    return quote(path.relative_to(Path.cwd()).as_posix()) if below else path.as_uri()


def as_workflow_commands(found: Sequence[Finding]) -> list[str]:
    """A workflow command of GitHub Actions for each finding: `::error file=…,line=…,col=…,title=…::message`."""
    return [_command(item) for item in found]


def _command(finding: Finding) -> str:
    place = finding.place
    fields: dict[str, Any] = {}
    if "file" in place:
        fields = {"file": place["file"], "line": place["line"], "endLine": place["end_line"]}
        if place["line"] == place["end_line"]:  # GitHub takes no columns of several lines
            fields |= {"col": place["column"], "endColumn": place["end_column"]}
    fields["title"] = finding.diagnostic.code
    given = ",".join(f"{name}={_escaped(str(value), ':,')}" for name, value in fields.items())
    level = "warning" if finding.diagnostic.severity == "warning" else "error"
    return f"::{level} {given}::{_escaped(finding.text)}"


def _escaped(text: str, also: str = "") -> str:
    """A text without what ends a command, or one of its properties."""
    for character in f"%\r\n{also}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text
