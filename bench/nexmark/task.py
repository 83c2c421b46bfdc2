"""What a worker is asked for: which queries over which events on which system."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.nexmark.files import Data
from bench.nexmark.generate import Stream
from bench.nexmark.queries import Query

UNAVAILABLE = 3  # the exit code of a worker whose system is not there


class UnavailableError(RuntimeError):
    """A system is not on this machine; the message says what is missing."""


SYSTEMS = ("penstock", "penstock-spark", "flink", "streaming", "batch", "duckdb")
OURS = SYSTEMS[:2]  # its operators in the process, and on Spark
CORES = 2


@dataclass(frozen=True)
class Task:
    """One worker's work; `every` asks for an answer after every step, `scratch` is a folder for what comes between."""

    system: str
    data: Data
    queries: Sequence[Query]
    scratch: Path
    every: bool = False
    memory: str = "4g"

    def as_json(self) -> str:
        """The task as text, for another process."""
        stream = asdict(self.data.stream)
        return json.dumps(
            {
                "system": self.system,
                "folder": str(self.data.folder),
                "stream": stream,
                "step": self.data.step,
                "queries": [query.name for query in self.queries],
                "scratch": str(self.scratch),
                "every": self.every,
                "memory": self.memory,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Task:
        """The task that `as_json` wrote."""
        said = json.loads(text)
        data = Data(Path(said["folder"]), Stream(**said["stream"]), said["step"])
        queries = [Query(name) for name in said["queries"]]
        return cls(said["system"], data, queries, Path(said["scratch"]), said["every"], said["memory"])
