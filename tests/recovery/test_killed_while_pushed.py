"""A real process that is killed while rows are pushed to it: whoever sends a key until it is answered has them once."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from penstock.failpoints import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.extended

PUSHES = [[{"id": 3 * push + at, "kind": "abc"[at]} for at in range(3)] for push in range(5)]
POINTS = ("source.before", "source.told", "log.data", "log.manifest", "outbox.kept", "receiver.taken")
LONGEST = 60


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def running(folder: Path, port: int, failpoint: str | None) -> Iterator[subprocess.Popen[bytes]]:
    program = (
        f"CREATE STREAM events (id BIGINT, kind STRING) WITH ('connector' = 'http', 'listen' = '127.0.0.1:{port}');"
        f"CREATE VIEW copied WITH ('connector' = 'files', 'path' = '{folder}/out', 'format' = 'json',"
        " 'form' = 'append') AS SELECT id, kind FROM events;"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    if failpoint is not None:
        environment[VARIABLE] = failpoint
    command = [sys.executable, "-m", "penstock.cli.main", "run", "--quiet", "--engine", "native"]
    with subprocess.Popen([*command, "--dir", str(folder / "state"), "-e", program], env=environment) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(LONGEST)


def pushed(port: int, place: int) -> int:
    """The status with which a push is answered; 0 if the process is not there, or goes away."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST)
    body = "\n".join(map(json.dumps, PUSHES[place]))
    try:
        connection.request("POST", "/events", body, {"Idempotency-Key": f"push {place}"})
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def sent(port: int, process: subprocess.Popen[bytes], first: int) -> int:
    """The first push that is not answered, or how many there are; whoever is not there yet is waited for."""
    until = time.monotonic() + LONGEST
    place = first
    while place < len(PUSHES) and process.poll() is None:
        assert time.monotonic() < until, "nobody answers"
        status = pushed(port, place)
        if status:
            assert status == 200
            place += 1
        time.sleep(0.05)
    return place


@pytest.mark.parametrize("name", POINTS)
def test_each_push_is_taken_once(name: str, tmp_path: Path) -> None:
    port = free_port()
    with running(tmp_path, port, f"{name}:2") as process:
        place = sent(port, process, 0)
        assert place < len(PUSHES), "the failpoint was not reached"
        assert process.wait(LONGEST) == -signal.SIGKILL
    with running(tmp_path, port, None) as process:
        assert sent(port, process, place) == len(PUSHES)
    lines = [line for path in sorted((tmp_path / "out").glob("part-*")) for line in path.read_text().splitlines()]
    assert sorted(json.loads(line)["id"] for line in lines) == list(range(15))
