"""A pipeline as somebody else drives it: in this process, or in one of its own that really ends.

    serve()    in that process: reads calls as pickles from stdin, and answers on stdout

Whatever is asked may meet with a disaster (`disasters`). A process of its own ends by SIGKILL then; in this process
the files are put aside as they are at that moment, and `Killed` is raised: what the pipeline does to them on its way
out has not happened.
"""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from tests.recovery.disasters import Disaster, Killed, under
from tests.recovery.programs import TABLES
from tests.recovery.target import connected

import penstock
from penstock import failpoints
from penstock.catalog.settings import NATIVE
from penstock.errors import InternalError, PenstockError
from penstock.outputs.lines import FolderOutput

FEW_ROWS = (2, 3)  # that stay on the driver: of a change, of a trace; so that some lie on the executors


@dataclass
class Failed(Exception):  # noqa: N818 - what has become of a call
    """A call has ended with an error: `told` if it is one of Penstock's, which is not its own mistake."""

    error: str
    told: bool


class Host(Protocol):
    """Calls a method of `Work`. Raises Killed if the process has ended, Failed for an error."""

    happened: bool  # a disaster, in the last call

    def call(self, name: str, *arguments: Any, disaster: Disaster | None = None) -> Any: ...

    def kill(self) -> None: ...

    def close(self) -> None: ...


class Work:
    """The pipeline in a folder: its directory is `dir`, a folder of its output `out`."""

    def __init__(self, folder: Path, engine: str) -> None:
        self._folder = folder
        self._engine = engine
        self._pipeline: penstock.Pipeline | None = None

    @property
    def pipeline(self) -> penstock.Pipeline:
        assert self._pipeline is not None
        return self._pipeline

    def open(self, program: str, clock: datetime) -> None:
        self._pipeline = penstock.Pipeline(program, engine=self._engine, directory=self._folder / "dir")
        if self._engine != NATIVE:
            workspace = self.pipeline._opening.workspace
            workspace.driver_rows, workspace.memory_rows = FEW_ROWS
        with self.pipeline._clocked(clock):
            self.give()

    def give(self, changes: Any = None) -> None:
        self.pipeline.give([FolderOutput(self._folder / "out")], changes)

    def step(self, rows: dict[str, Any], clock: datetime) -> None:
        self._stepped(lambda: self.pipeline.step(rows, clock=clock))

    def _stepped(self, work: Callable[[], Any]) -> None:
        self.give(work())

    def run(self, clock: datetime) -> None:
        with self.pipeline._clocked(clock):
            self.pipeline.run(once=True, outputs=[FolderOutput(self._folder / "out")])

    def deploy(self, program: str, clock: datetime) -> None:
        with self.pipeline._clocked(clock):
            self._stepped(lambda: self.pipeline.deploy(program))

    def compact(self) -> None:
        self.pipeline.compact()

    def snapshot(self) -> None:
        self.pipeline._opened().keep_state()

    def settle(self) -> None:
        """Have the outputs take what waits."""
        self.pipeline._opened().outlets.settle()
        self.give()

    def observe(self) -> dict[str, Any]:
        """What the machine compares after each rule."""
        views = [view for view in self.pipeline.catalog.views.values() if not view.emits]
        return {
            "step": self.pipeline.steps,
            "views": {view.name: Counter(self.pipeline.content(view.name).rows) for view in views},
            "late": self.pipeline.rejected().get(("timed", "Late value"), 0),
            "waiting": {fact.name: fact.waiting for fact in self.pipeline.outputs()},
        }

    def tables(self) -> dict[str, Counter[Any]]:
        """The rows of the tables."""
        return {name: Counter(self.pipeline.query(f"SELECT * FROM {name}").rows) for name in TABLES}

    def leave(self) -> None:
        """In order."""
        pipeline, self._pipeline = self._pipeline, None
        if pipeline is not None:
            pipeline.close()

    def drop(self) -> None:
        """As one whose process has ended: only what it holds of this process is given back."""
        pipeline, self._pipeline = self._pipeline, None
        if pipeline is not None:
            if pipeline._execution is not None:
                pipeline._execution.snapshots = None
            with suppress(PenstockError, OSError, Killed):
                pipeline.close()


def answered(work: Work, name: str, arguments: tuple[Any, ...]) -> Any:
    try:
        return getattr(work, name)(*arguments)
    except PenstockError as error:
        internal = isinstance(error, InternalError) and error.code != "STATE_BEHIND_LOG"
        said = f"{error.code}: {error.summary}"
        raise Failed(said, told=not internal) from error
    except OSError as error:
        raise Failed(str(error), told=error.filename is not None) from error


class Here:
    """The pipeline in this process."""

    def __init__(self, folder: Path, engine: str = NATIVE) -> None:
        self.happened = False  # the disaster of the last call
        self._folder = folder
        self._work = Work(folder, engine)
        self._stack = ExitStack()
        self._stack.enter_context(connected())

    def call(self, name: str, *arguments: Any, disaster: Disaster | None = None) -> Any:
        aside = self._folder.with_name(f"{self._folder.name}.aside")

        def end() -> None:
            shutil.copytree(self._folder, aside)
            raise Killed

        try:
            with under(disaster, self._folder, end) as happened:
                found = answered(self._work, name, arguments)
        except BaseException:
            self.happened = happened()
            if not aside.exists():
                raise
        else:
            self.happened = happened()
            if not aside.exists():
                return found
        self._work.drop()
        shutil.rmtree(self._folder)
        aside.rename(self._folder)
        raise Killed

    def kill(self) -> None:
        """End it between two calls."""
        self._work.drop()

    def close(self) -> None:
        self._work.drop()
        self._stack.close()


class Apart:
    """The pipeline in a process of its own, which is started again when it has ended."""

    def __init__(self, folder: Path, engine: str = NATIVE) -> None:
        self._folder = folder
        self._engine = engine
        self.happened = False
        self._process: subprocess.Popen[bytes] | None = None

    def call(self, name: str, *arguments: Any, disaster: Disaster | None = None) -> Any:
        if self._process is None:
            command = [
                sys.executable,
                "-c",
                "from tests.recovery.host import serve; serve()",
                str(self._folder),
                self._engine,
            ]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        pickle.dump((name, arguments, disaster), process.stdin)
        process.stdin.flush()
        try:
            found = pickle.load(process.stdout)  # noqa: S301 - what this program has written
        except EOFError:
            self.happened = True
            code = process.wait()
            self._process = None
            assert code == -9, f"the process has ended with {code}"
            raise Killed from None
        self.happened = isinstance(found, Failed)
        if isinstance(found, Failed):
            raise found
        return found

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    close = kill


def serve() -> None:
    """Answer calls until stdin ends."""
    work, answers = Work(Path(sys.argv[1]), sys.argv[2]), sys.stdout.buffer
    ending: Callable[[], None] = failpoints.end
    with connected():
        while True:
            try:
                name, arguments, disaster = pickle.load(sys.stdin.buffer)  # noqa: S301 - what this program has written
            except EOFError:
                return
            found: Any
            try:
                with under(disaster, work._folder, ending):
                    found = answered(work, name, arguments)
            except Failed as failed:
                found = Failed(failed.error, failed.told)
            answers.write(pickle.dumps(found))
            answers.flush()
