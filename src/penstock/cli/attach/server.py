"""The side of the process that runs: one thread listens, a few others answer; steps go on beside them."""

from __future__ import annotations

import json
import os
import selectors
import socket
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.attach.answers import answer
from penstock.cli.attach.wire import LONGEST_QUESTION, MODE, NAME, address, line
from penstock.cli.reporting import note
from penstock.errors import PenstockError, message_of

if TYPE_CHECKING:
    from penstock.pipeline.pipeline import Pipeline

_ANSWERING = 2
_LOOK_SECONDS = 0.3
_PATIENCE_SECONDS = 30.0


@contextmanager
def attachable(pipeline: Pipeline, directory: str | None) -> Iterator[None]:
    """Answer who attaches to the directory while the block lasts; a run that cannot be attached to says so."""
    if directory is None:
        yield
        return
    assert pipeline.steps >= 0  # noqa: S101 - opens the pipeline: from here on the directory, and its socket, are ours
    try:
        server = Server(pipeline, Path(directory))
    except (OSError, PenstockError) as error:
        note(f"this run cannot be attached to: {message_of(error)}")
        yield
        return
    try:
        yield
    finally:
        server.close()


@dataclass(eq=False)
class _Client:
    """A connection, what has come on it, and the work on its question."""

    connection: socket.socket
    received: bytearray = field(default_factory=bytearray)
    work: Future[None] | None = None
    gone: bool = False
    since: float = field(default_factory=time.monotonic)

    @property
    def group(self) -> str:
        """The name of its jobs in Spark."""
        return f"penstock-attach-{id(self)}"

    def send(self, values: Mapping[str, Any]) -> None:
        """Send one line."""
        self.connection.sendall(line(values))


class Server:
    """Listens on the directory's socket, which an ended process may have left, from now until `close`."""

    def __init__(self, pipeline: Pipeline, directory: Path) -> None:
        self._pipeline = pipeline
        self._path = directory / NAME
        self._listener = _listening(directory)
        self._inode = self._path.stat().st_ino
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._clients: set[_Client] = set()
        self._closing = threading.Event()
        self._workers = ThreadPoolExecutor(_ANSWERING, "penstock-answer")
        self._thread = threading.Thread(target=self._serve, name="penstock-attach", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop what is being answered, and take the socket away."""
        self._closing.set()
        self._thread.join()
        self._workers.shutdown(cancel_futures=True)
        with suppress(FileNotFoundError):
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()

    def _serve(self) -> None:
        try:
            while not self._closing.is_set():
                for key, _ in self._selector.select(_LOOK_SECONDS):
                    self._ready(key)
                self._settle()
            self._end()
        except Exception as error:  # noqa: BLE001 - the run goes on without this
            note(f"this run cannot be attached to any more: {message_of(error)}")
        finally:
            self._listener.close()
            self._selector.close()

    def _end(self) -> None:
        """Have everybody leave, and wait until Spark has stopped what they asked."""
        for client in self._clients:
            self._leave(client)
        while self._clients:
            self._settle()
            time.sleep(_LOOK_SECONDS)

    def _ready(self, key: selectors.SelectorKey) -> None:
        if key.fileobj is self._listener:
            with suppress(OSError):  # who has gone again before we looked
                connection, _ = self._listener.accept()
                connection.settimeout(_PATIENCE_SECONDS)
                client = _Client(connection)
                self._clients.add(client)
                self._selector.register(connection, selectors.EVENT_READ, client)
            return
        self._read(key.data)

    def _read(self, client: _Client) -> None:
        try:
            data = client.connection.recv(1 << 16)
        except OSError:
            data = b""
        client.received += data
        if not data or len(client.received) > LONGEST_QUESTION:
            self._leave(client)
        elif client.work is None and b"\n" in client.received:
            client.work = self._workers.submit(self._answer, client)

    def _answer(self, client: _Client) -> None:
        try:
            question = json.loads(client.received)
            with self._jobs(client):
                answer(self._pipeline, question if isinstance(question, dict) else {}, client.send)
        except (OSError, ValueError):
            client.gone = True  # who asks like that, or no longer listens, is told nothing

    @contextmanager
    def _jobs(self, client: _Client) -> Iterator[None]:
        """Have Spark, if it is in use, know the jobs of this thread as the client's."""
        if not self._pipeline.has_spark:
            yield
            return
        context = self._pipeline.spark.sparkContext
        context.setJobGroup(client.group, "asked by penstock sql --attach")
        try:
            yield
        finally:
            for name in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
                context.setLocalProperty(name, None)  # type: ignore[arg-type]

    def _leave(self, client: _Client) -> None:
        """The client has gone, or has to: nothing more is read or sent."""
        if not client.gone:
            client.gone = True
            with suppress(OSError):
                client.connection.shutdown(socket.SHUT_RDWR)
        with suppress(KeyError):
            self._selector.unregister(client.connection)

    def _settle(self) -> None:
        """Let go of who has been answered; of who has gone before, cancel what Spark does, again while it goes on."""
        for client in list(self._clients):
            asks_nothing = client.work is None and time.monotonic() - client.since > _PATIENCE_SECONDS
            if asks_nothing or (client.work is not None and client.work.done()):
                self._leave(client)
            elif client.gone and client.work is not None and not client.work.cancel():
                if self._pipeline.has_spark:
                    self._pipeline.spark.sparkContext.cancelJobGroup(client.group)
                continue
            if client.gone:
                self._clients.discard(client)
                client.connection.close()


def _listening(directory: Path) -> socket.socket:
    """A socket in the directory, which is ours: one that is there was left by a process that was killed."""
    path = directory / NAME
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            message = f"{path} is no socket"
            raise OSError(message)
        path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        os.fchmod(listener.fileno(), MODE)  # before it has a name, so that it never has another mode
        with address(directory) as name:
            listener.bind(name)
            path.chmod(MODE)
        listener.listen()
        listener.setblocking(False)  # noqa: FBT003 - socket's signature
    except BaseException:
        listener.close()
        raise
    return listener
