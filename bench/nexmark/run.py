"""The benchmark: events into files, each system in a process of its own, its answers beside the oracle's."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.net import NOT_MEASURABLE
from bench.nexmark.answers import Answer
from bench.nexmark.files import default_folder, events_name, written
from bench.nexmark.generate import Stream
from bench.nexmark.measure import Measured, where
from bench.nexmark.queries import Query
from bench.nexmark.task import OURS, UNAVAILABLE, Task, UnavailableError
from bench.nexmark.worker import as_line, from_line

_ROOT = Path(__file__).resolve().parents[2]
_BUSY = 0.5
Said = Callable[[str], None]


@dataclass(frozen=True)
class Wanted:
    """What is asked for."""

    queries: Sequence[Query]
    systems: Sequence[str]
    stream: Stream
    step: int
    folder: Path | None = None
    every: bool = False
    memory: str = "4g"
    formats: Sequence[str] = ("parquet",)
    results: Path | None = None

    @property
    def kept(self) -> Path | None:
        """The folder for results in this setting, so that none stands for another's; None if they are not kept."""
        if self.results is None:
            return None
        return self.results / "-".join([events_name(self.stream, self.step), self.memory, *self._how])

    @property
    def _how(self) -> list[str]:
        return ["every-step"] if self.every else []


def results(wanted: Wanted, said: Said) -> Iterator[Measured]:
    """What was measured, each with `equal` set; a system's queries come together, `said` hears what goes on."""
    busy = os.getloadavg()[0]
    if busy > _BUSY:
        said(f"this machine is busy (load {busy:.1f}): times will be too long, and the page says so")
    said(f"events: {wanted.stream.events:,} in steps of {wanted.step:,}")
    data = written(wanted.folder or default_folder(), wanted.stream, wanted.step, wanted.formats)
    with tempfile.TemporaryDirectory(prefix="nexmark-") as scratch:
        task = Task("oracle", data, wanted.queries, Path(scratch), wanted.every, wanted.memory)
        said("oracle: Spark batch over the events of " + ("every step" if wanted.every else "all steps"))
        right = {found.query: found for found in _kept_or_worked(task, wanted.kept)}
        for system in wanted.systems:
            said(f"{system}: {len(wanted.queries)} queries")
            try:
                for found in _kept_or_worked(replace(task, system=system), wanted.kept):
                    judged = quickest_right(found, right.get(found.query))
                    said(_line(judged))
                    yield judged
            except UnavailableError as error:
                said(f"  not available: {error}")


def _kept_or_worked(task: Task, folder: Path | None) -> Iterator[Measured]:
    """What an earlier run has kept in the folder, and what a worker measures of the rest, kept as it comes."""
    kept = {} if folder is None else {query.name: folder / task.system / f"{query.name}.json" for query in task.queries}
    found = {name: path for name, path in kept.items() if path.exists()}
    yield from (from_line(path.read_text()) for path in found.values())
    left = [query for query in task.queries if query.name not in found]
    for measured in _worked(replace(task, queries=left)) if left else ():
        one = replace(measured, machine=where())
        # What failed is tried again by the next run.
        if one.refused is None and one.query in kept:
            kept[one.query].parent.mkdir(parents=True, exist_ok=True)
            kept[one.query].write_text(as_line(one))
        yield one


def _worked(task: Task) -> Iterator[Measured]:
    """What a worker measures, as it comes."""
    order = task.scratch / f"{task.system}.json"
    lines = task.scratch / f"{task.system}.jsonl"
    order.write_text(task.as_json())
    lines.touch()
    log = (task.scratch / f"{task.system}.log").open("w+")
    path = os.pathsep.join([str(_ROOT), str(_ROOT / "src")])
    with log:
        worker = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", "bench.nexmark.worker", str(order), str(lines)],
            env=os.environ | {"PYTHONPATH": path},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            yield from _followed(worker, lines)
        finally:
            if worker.poll() is None:
                worker.terminate()
                worker.wait()
        log.seek(0)
        if worker.returncode == UNAVAILABLE:
            raise UnavailableError(log.read().strip().splitlines()[-1])
        if worker.returncode:
            message = f"the worker for {task.system} failed:\n{log.read()[-3000:]}"
            raise RuntimeError(message)


def _followed(worker: subprocess.Popen[bytes], path: Path) -> Iterator[Measured]:
    with path.open() as lines:
        ended = False
        while not ended:
            try:
                worker.wait(timeout=0.2)
                ended = True
            except subprocess.TimeoutExpired:
                pass
            while (line := lines.readline()).endswith("\n"):
                yield from_line(line)


def quickest_right(found: Measured, right: Measured | None) -> Measured:
    """What was measured, with `equal` set: of several ways the quickest whose answer is right, if there is one."""
    ways = [replace(way, equal=_equal(way, right), slower=()) for way in (found, *found.slower)]
    chosen = next((way for way in ways if way.equal), ways[0])
    wrong = [way.note for way in ways[: ways.index(chosen)] if way.equal is False]
    if not wrong:
        return chosen
    return replace(chosen, note=f"{chosen.note}; quicker {wrong[0]}, but that answer was wrong")


def _equal(found: Measured, right: Measured | None) -> bool | None:
    """Whether the answer is the oracle's: after every step where both have been asked for that."""
    if found.refused is not None or right is None or not right.answers:
        return None
    *whole, determined = right.answers
    if found.system not in OURS:
        return bool(found.answers) and found.answers[-1] == determined
    given: Sequence[Answer] = found.answers
    return list(given[-len(whole) :]) == whole


def _line(found: Measured) -> str:
    if found.refused is not None:
        return f"  {found.query:<4} {found.refused}"
    shown = found.as_object()
    if found.equal is True and not found.is_measurable:
        return f"  {found.query:<4} {NOT_MEASURABLE:>21}   equal"
    if shown["events_per_s"] is None:
        return f"  {found.query:<4} wrong answer" if found.equal is False else f"  {found.query:<4} not compared"
    return f"  {found.query:<4} {shown['events_per_s']:>12,} events/s   equal"
