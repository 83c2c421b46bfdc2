"""The tutorial works when typed. PENSTOCK_GOLDENS=write puts the real output into the page."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "tutorial.md"

_spec = importlib.util.spec_from_file_location("console", Path(__file__).with_name("console.py"))
console = importlib.util.module_from_spec(_spec)
sys.modules["console"] = console  # dataclasses look their module up
_spec.loader.exec_module(console)


# Starting Java takes longer than all the rest, so one command of each kind is a process of its own.
PROCESSES = ("penstock run", "penstock check", "python")


def typed(text, folder, seen):
    """The exit code and the output of a command."""
    kind = next((kind for kind in PROCESSES if text.startswith(kind)), None)
    if text.startswith("penstock") and (kind is None or kind in seen):
        return console.run_here(text, folder)
    seen.add(kind)
    return console.run(text, folder)


def test_the_tutorial_works_when_typed(spark, tmp_path):
    seen = set()
    page, wrong, rewritten = PAGE.read_text(encoding="utf-8"), [], []
    for step in console.steps(page):
        if isinstance(step, console.Save):
            (tmp_path / step.name).write_text(step.content, encoding="utf-8")
            continue
        code, output = typed(step.text, tmp_path, seen)
        if step.expected:
            rewritten.append((step, output))
            if not console.agrees(step.expected, output):
                wrong.append(f"$ {step.text}\nexpected:\n{step.expected}\nfound:\n{output}")
        elif code:
            wrong.append(f"$ {step.text}\nexit code {code}:\n{output}")
    if wrong and os.environ.get("PENSTOCK_GOLDENS") == "write":
        for step, output in reversed(rewritten):
            if not console.agrees(step.expected, output):
                page = page[: step.start] + output + page[step.end :]
        PAGE.write_text(page, encoding="utf-8")
    assert not wrong, "\n\n".join(wrong)
