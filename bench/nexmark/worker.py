"""python -m bench.nexmark.worker TASK.json RESULT.jsonl: measures one system in a process of its own.

Each system has a process, so that none profits from what another has warmed up, and memory is its own.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench.nexmark.answers import Answer
from bench.nexmark.measure import Measured
from bench.nexmark.task import UNAVAILABLE, Task, UnavailableError
from penstock.errors import message_of

_OLD_NOISE = 0.5
_CONDITION = re.compile(r"\[[A-Z][A-Z0-9_.]+\] ")


def main() -> None:
    """Write a line of JSON for each query, as soon as it is measured."""
    task = Task.from_json(Path(sys.argv[1]).read_text())
    with Path(sys.argv[2]).open("a") as results:
        try:
            for found in _each(task, _work(task.system)):
                results.write(as_line(found) + "\n")
                results.flush()
        except UnavailableError as error:
            print(error)
            sys.exit(UNAVAILABLE)


def _work(system: str) -> Callable[[Task], Iterator[Measured]]:
    name = "batch" if system == "oracle" else system.replace("-", "_")
    module = importlib.import_module(f"bench.nexmark.systems.on_{name}")
    found: Callable[[Task], Iterator[Measured]] = module.oracle if system == "oracle" else module.measured
    return found


def _each(task: Task, work: Callable[[Task], Iterator[Measured]]) -> Iterator[Measured]:
    """What is measured; a query that fails is one without an answer, and the rest go on."""
    left = list(task.queries)
    while left:
        try:
            for found in work(replace(task, queries=left)):
                left = left[1:]
                yield found
        except UnavailableError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a system raises is why it has no answer
            traceback.print_exc()
            yield Measured(left[0].name, task.system, task.data.stream.events, refused=reason(error))
            left = left[1:]
        else:
            return


def reason(error: Exception) -> str:
    """Why a query does not run: of what Spark says the innermost condition, of anything else the first line."""
    text = message_of(error).strip()
    conditions = [found.start() for found in _CONDITION.finditer(text)]
    if conditions:
        return text[conditions[-1] :].splitlines()[0].partition(" SQLSTATE:")[0].strip()
    return f"{type(error).__name__}: {text.splitlines()[0][:300] if text else ''}"


def as_line(found: Measured) -> str:
    """One line of JSON that `from_line` reads."""
    return json.dumps(asdict(found))


def from_line(line: str) -> Measured:
    """What a line says."""
    return _measured(json.loads(line))


def _measured(said: dict[str, Any]) -> Measured:
    answers = [Answer(**answer) for answer in said["answers"]]
    slower = tuple(_measured(other) for other in said.get("slower", ()))
    return _without_noise(Measured(**{**said, "answers": answers, "slower": slower}))


def _without_noise(found: Measured) -> Measured:
    """A result of before noise was noted: of a start of some seconds that much is noise."""
    if found.system == "flink" and found.noise is None and (found.seconds or _OLD_NOISE) < _OLD_NOISE:
        return replace(found, seconds=None, noise=_OLD_NOISE)
    return found


if __name__ == "__main__":
    main()
