"""The three systems as processes of their own: runs over full topics, and jobs that are at work until stopped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.flink import PYTHON as FLINK
from bench.jars import fetched
from bench.nexmark.task import UnavailableError

SYSTEMS = ("penstock", "penstock, at least once", "flink", "flink, at least once", "streaming")
_HERE, _ROOT = Path(__file__).parent, Path(__file__).parents[2]
_FOLDER = _ROOT / ".services" / "bench"
_MEMORY = "4g"
_LAST_LINES = 20
_OF_FLINK = ("org.apache.flink:flink-sql-connector-kafka:5.0.0-2.2",)
_OF_SPARK = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.2",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.0",
)


def seconds(system: str, runs: Sequence[Mapping[str, str]], order: Mapping[str, Any]) -> list[float]:
    """How long each of the runs takes, in one process; UnavailableError where the system is not there or fails."""
    with _started(system, {**order, "live": False, "runs": runs}) as process:
        said, _ = process.communicate()
    found = [json.loads(line) for line in said.splitlines() if line.strip()]
    if process.returncode or len(found) != len(runs):
        message = f"{system} has ended with {process.returncode} after {len(found)} of {len(runs)} runs"
        raise UnavailableError(message)
    return found


@contextmanager
def at_work(system: str, topic: str, out: str, order: Mapping[str, Any]) -> Iterator[None]:
    """The system at work on a topic, from its beginning; it is ended afterwards."""
    with _started(system, {**order, "live": True, "runs": [{"topic": topic, "out": out}]}) as process:
        try:
            yield
        finally:
            process.kill()


def _started(system: str, order: Mapping[str, Any]) -> subprocess.Popen[str]:
    name, _, weaker = system.partition(", ")
    given = {**order, "memory": _MEMORY, "delivery": "at-least-once" if weaker else "exactly-once", "jars": _jars(name)}
    python = str(FLINK) if name == "flink" else sys.executable
    if not Path(python).exists():
        message = f"there is no {FLINK.parents[1].name}, which `make flink` makes"
        raise UnavailableError(message)
    settings = {"PYTHONPATH": os.pathsep.join((str(_ROOT), str(_ROOT / "src"))), "JVM_ARGS": f"-Xmx{_MEMORY}"}
    command = [python, str(_HERE / f"on_{name}.py"), json.dumps(given)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=_log(name), text=True, env=os.environ | settings)  # noqa: S603


def _log(name: str) -> Any:
    _FOLDER.mkdir(parents=True, exist_ok=True)
    return (_FOLDER / f"{name}.log").open("a")


def _jars(name: str) -> str:
    """What the system needs to speak with brokers, as a list; Maven fetches it once."""
    match name:
        case "flink":
            return ";".join(fetched(artifact, _FOLDER).as_uri() for artifact in _OF_FLINK)
        case "streaming":
            return ",".join(str(fetched(artifact, _FOLDER)) for artifact in _OF_SPARK)
        case _:
            return ""
