"""Unique numbers go into a real `penstock run`, which is killed again and again: each comes out once, at each receiver.

`killed(…)` plays it. What feeds the source and what reads a receiver are given to it, so that the same is asked of
folders, lakes, topics and databases.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GROUPS = 3
_MOST = 30  # numbers that come at once
_SECONDS = 120

Numbers = list[int]
Feed = Callable[[Numbers], None]


@dataclass(frozen=True)
class Place:
    """A receiver: what a view says to write there, and how the rows that it has are read.

    `said` has a place {name} for the view's name; `totals` is what it says for a view that changes.
    """

    said: str
    read: Callable[[str], Iterable[tuple[Any, ...]]]
    totals: str = ""


def program(source: str, places: Mapping[str, Place]) -> str:
    """A stream of numbers, copied to each place, and counted by group there."""
    views = (
        f"CREATE VIEW ids_{name} WITH ({place.said.format(name=f'ids_{name}')}, 'form' = 'append') AS "
        f"SELECT id, k FROM ids;\n"
        f"CREATE VIEW totals_{name} WITH ({place.said.format(name=f'totals_{name}')}{place.totals}) AS "
        f"SELECT k, COUNT(*) AS n, SUM(id) AS s FROM ids GROUP BY k;\n"
        for name, place in places.items()
    )
    return f"CREATE STREAM ids (id BIGINT, k INT) WITH ({source}, 'rows_per_step' = '{10 * _MOST}');\n{''.join(views)}"


def killed(text: str, folder: Path, feed: Feed, places: Mapping[str, Place], *, kills: int, seed: int) -> int:
    """Feed, and kill the process that reads, so many times; compare once it has been let come to its end.

    Gives the number of steps.
    """
    chance, count = random.Random(seed), 0
    command = [*run_of(text, folder), "--output", str(folder / "out")]
    for _ in range(kills):
        with ended(command) as process:
            before = _steps(folder)
            until, rest = time.monotonic() + _SECONDS, 0.0
            while rest == 0.0 or time.monotonic() < rest:
                assert process.poll() is None, f"the run has ended with {process.poll()}"
                assert time.monotonic() < until, f"no step in {_SECONDS} seconds"
                numbers = list(range(count, count + chance.randint(1, _MOST)))
                feed(numbers)
                count += len(numbers)
                if rest == 0.0 and _steps(folder) > before:
                    rest = time.monotonic() + chance.random() * 0.4
                time.sleep(0.1)
    subprocess.run([*command, "--once"], check=True, timeout=_SECONDS)
    for name, place in places.items():
        compared(place, name, count)
    return _steps(folder)


def run_of(text: str, folder: Path) -> list[str]:
    """`penstock run` of a program, with a directory in the folder."""
    command = [sys.executable, "-m", "penstock.cli.main", "run", "--quiet", "--engine", "native"]
    return [*command, "--dir", str(folder / "dir"), "-e", text]


@contextmanager
def ended(command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is killed at the end of the block, whatever becomes of that."""
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.kill()


def _steps(folder: Path) -> int:
    return sum(1 for _ in (folder / "dir" / "log" / "steps").glob("*.json"))


def compared(place: Place, name: str, count: int) -> None:
    """The numbers below `count` are each there once, and the groups' totals are theirs."""
    found = Counter(place.read(f"ids_{name}"))
    wanted = Counter((number, number % GROUPS) for number in range(count))
    lost, twice = wanted - found, found - wanted
    assert not lost, f"{name} lacks {len(lost)} of {count}, such as {min(lost)}"
    assert not twice, f"{name} has {len(twice)} of {count} more than once, or made up, such as {min(twice)}"
    groups = [range(group, count, GROUPS) for group in range(GROUPS)]
    totals = {(group, len(items), sum(items)) for group, items in enumerate(groups) if items}
    assert set(place.read(f"totals_{name}")) == totals
