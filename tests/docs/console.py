"""A page that a reader types along, as a script: files to save and commands with the output that they should give.

    Save this as `shop.sql`:          the next fenced block is the file's content
    ```console
    $ penstock check shop.sql         a command (a here-document may follow it), run in one folder after another
    shop.sql: fine                    what it writes to stdout and stderr, where the page shows it
    ```

A line `…` in expected output stands for any lines, and a `…` within a line for any text. A command without output shown
is run, and only its exit code counts. Blocks in other languages are not run.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from penstock.cli.main import main

_BLOCK = re.compile(
    r"(?:Save this as `(?P<file>[^`]+)`:\n+)?^```(?P<kind>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
_HERE = re.compile(r"<<'?(\w+)'?")


@dataclass(frozen=True)
class Save:
    """Write a file."""

    name: str
    content: str


@dataclass(frozen=True)
class Command:
    """Run a command; `start` and `end` are where its expected output stands in the page."""

    text: str
    expected: str
    start: int
    end: int


def steps(page: str) -> Iterator[Save | Command]:
    """What a page tells the reader to do, in order."""
    for block in _BLOCK.finditer(page):
        if block["file"]:
            yield Save(block["file"], block["body"])
        elif block["kind"] == "console":
            yield from _commands(block["body"], block.start("body"))


def _commands(body: str, offset: int) -> Iterator[Command]:
    lines = body.splitlines(keepends=True)
    index, at = 0, offset
    while index < len(lines):
        first, text = index, lines[index].removeprefix("$ ")
        here = _HERE.search(text)
        index += 1
        while here and lines[index - 1].rstrip("\n") != here[1]:
            text += lines[index]
            index += 1
        start = at + sum(map(len, lines[first:index]))
        output = index
        while index < len(lines) and not lines[index].startswith("$ "):
            index += 1
        expected = "".join(lines[output:index])
        yield Command(text.rstrip("\n"), expected, start, start + len(expected))
        at = start + len(expected)


# As in the tests' own session: a short life is better not spent on compiling well.
_SETTINGS = "spark.driver.memory=1g spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1"


def run(command: str, folder: Path) -> tuple[int, str]:
    """The exit code of a command line, and what it wrote to stdout and stderr."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "COLUMNS": "120", "PENSTOCK_CONF": _SETTINGS}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    return done.returncode, done.stdout


def run_here(command: str, folder: Path) -> tuple[int, str] | None:
    """The same for a `penstock` command in this process, with the Spark session that is there; None for any other."""
    first, _, rest = command.partition("\n")
    here = _HERE.search(first)
    words = shlex.split(first[: here.start()] if here else first)
    if words[0] != "penstock":
        return None
    with contextlib.chdir(folder):
        text = rest.rpartition("\n")[0] + "\n" if here else ""
        found = CliRunner().invoke(main, words[1:], input=text, env={"COLUMNS": "120"}, prog_name="penstock")
    return found.exit_code, found.output


def agrees(expected: str, actual: str) -> bool:
    """Whether the output is what the page shows."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "…" else ".*".join(map(re.escape, line.rstrip().split("…"))) + r" *\n"
        for line in expected.splitlines()
    )
    return re.fullmatch(pattern, actual) is not None
