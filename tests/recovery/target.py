"""A receiver outside of the pipeline, as a connector `target`: a file for each step, so it survives whoever writes it.

It does not answer while there is a file `down` beside them.
"""

from __future__ import annotations

import pickle
import types
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from penstock.outputs import installed
from penstock.outputs.forms import Form
from penstock.outputs.receiver import unreachable
from penstock.sources.properties import Property

DOWN = "down"


class Target:
    """The receiver in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._answers()

    def _answers(self) -> None:
        if (self._folder / DOWN).exists():
            raise unreachable(str(self._folder), "it is down")

    def taken(self) -> int:
        return max(steps_of(self._folder), default=0)

    def take(self, change: Any) -> None:
        self._answers()
        assert change.step > self.taken(), f"step {change.step} comes after {self.taken()}"
        temporary = self._folder / "step.tmp"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(pickle.dumps(change.rows))
            temporary.replace(self._folder / f"{change.step:06}")
        except OSError as error:
            raise unreachable(str(self._folder), error) from error

    def close(self) -> None:
        pass


def steps_of(folder: Path) -> dict[int, list[tuple[int, Any]]]:
    """What a receiver has been given, by step."""
    return {int(path.name): pickle.loads(path.read_bytes()) for path in sorted(folder.glob("[0-9]*"))}  # noqa: S301


def content_of(folder: Path) -> Counter[Any]:
    """All that it has been given, added up."""
    return added_up(rows for rows in steps_of(folder).values())


def added_up(changes: Iterator[list[tuple[int, Any]]]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for rows in changes:
        for weight, row in rows:
            found[row] += weight
    return Counter({row: weight for row, weight in found.items() if weight})


@contextmanager
def connected() -> Iterator[None]:
    """A block in which there is the connector."""
    module = types.SimpleNamespace(
        PROPERTIES=(Property("path", "a folder", required=True),),
        FORMS=tuple(Form),
        CHOSEN=(Form.RETRACT,),
        check_sink=lambda *_: None,
        target_of=lambda sink: sink.properties["path"],
        weakness_of=lambda _: None,
        open_receiver=lambda sink, _form, _owner: Target(Path(sink.properties["path"])),
    )
    point = types.SimpleNamespace(name="target", value="target", load=lambda: module)
    with mock.patch.object(installed, "entry_points", lambda group: [point] if group == installed.GROUP else []):
        yield
