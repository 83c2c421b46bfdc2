"""Figures as a table, on the terminal and in docs/performance.md."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.measure import Cost, Runs

_ROOT = Path(__file__).parent.parent
PAGE = _ROOT / "docs" / "performance.md"
_TEN = 10


@dataclass(frozen=True)
class Bar:
    """What is to be reached, such as `native ≤ 3 × bare`, and whether it is."""

    text: str
    kept: bool

    def __str__(self) -> str:
        return f"{self.text}: {'kept' if self.kept else 'missed'}"


@dataclass(frozen=True)
class Line:
    """One row of a figure: what, a cell for each way of running it, and its bars."""

    what: str
    cells: tuple[str, ...]
    bars: tuple[Bar, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A figure with its lines; `notes` say what a number means, or why it falls short."""

    letter: str
    title: str
    lines: Sequence[Line]
    runs: Runs | None = None
    heads: tuple[str, ...] = ("native", "spark", "native, directory", "spark, directory")
    notes: Sequence[str] = field(default_factory=tuple)

    def text(self) -> str:
        """The figure in Markdown."""
        said = (
            f" Medians of {self.runs.measured} interleaved runs after {self.runs.warm} to warm up." if self.runs else ""
        )
        judged = any(line.bars for line in self.lines)
        table = [("", *self.heads, *(["bars"] if judged else []))]
        table += [(line.what, *line.cells, *([_bars(line)] if judged else [])) for line in self.lines]
        widths = [max(3, *(len(row[at]) for row in table)) for at in range(len(table[0]))]
        rows = [
            "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
            for row in table
        ]
        rows.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
        return (
            "\n".join(
                [f"## {self.letter}. {self.title}", "", said.strip(), "", *rows, "", "\n\n".join(self.notes)]
            ).rstrip()
            + "\n"
        )


def renewed(page: str, introduction: str, figure: Figure, where: str) -> str:
    """The page with one figure put in or renewed; the others stay as they are, each with where it was measured."""
    sections = {text[:1]: text for text in re.split(r"^## ", page, flags=re.MULTILINE)[1:]}
    heading, _, rest = figure.text().removeprefix("## ").partition("\n")
    sections[figure.letter] = f"{heading}\n\n{where}\n{rest}"
    return "\n".join([introduction, *(f"## {sections[letter].rstrip()}\n" for letter in sorted(sections))])


def shown(cost: Cost, base: Cost | None = None, unit: str = "bare") -> str:
    """A cost as text, and what it is in units of another."""
    if base is None:
        return milliseconds(cost.wall)
    ratio = cost.over(base)
    return f"{milliseconds(cost.wall)} = {ratio.wall:.2f} × {unit}".rstrip(" ") + f" (CPU {ratio.cpu:.2f})"


def milliseconds(value: float) -> str:
    """A time as text, with as many digits as mean something."""
    return f"{value:,.0f} ms" if value >= _TEN else f"{value:.1f} ms"


def _bars(line: Line) -> str:
    return "; ".join(map(str, line.bars))


def machine() -> str:
    """What was measured where."""
    commit = _git("rev-parse", "--short", "HEAD")
    changed = " with changes" if _git("status", "--porcelain", "--", "src") else ""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    import pyspark

    return (
        f"Commit {commit}{changed}; Spark {pyspark.__version__}, Python {platform.python_version()}; {_processor()}, "
        f"{os.cpu_count()} cores, {memory:.0f} GiB; load when this run began: {os.getloadavg()[0]:.1f}."
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _git(*arguments: str) -> str:
    found = subprocess.run(["git", *arguments], cwd=_ROOT, capture_output=True, text=True, check=False)  # noqa: S603, S607
    return found.stdout.strip()
