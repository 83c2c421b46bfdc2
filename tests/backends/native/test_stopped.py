"""Ctrl-C and SIGTERM in the middle of a statement in the process: it stops at once, and leaves no trace."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import penstock
from penstock.backends.native.interrupts import Interrupts

# The state has a row; the step adds another, and is stopped in a statement that would take minutes.
PROGRAM = """
import json, os, signal, sys, threading, time
from penstock.backends.native.interrupts import INTERRUPTS
from penstock.backends.native.store import Store
from penstock.cli.reporting import end_as_interrupted

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has what it starts in the background ignore it
end_as_interrupted()
store, number = Store(), int(sys.argv[1])
store.begin(None, None)
table = store.table([("x", "BIGINT")])
store.changed(f"INSERT INTO {table} VALUES (1)")
store.commit()

sent = []
def send():
    time.sleep(0.5)
    sent.append(time.monotonic())
    os.kill(os.getpid(), number)

stopped = []
for query in json.loads(sys.argv[2]):
    threading.Thread(target=send).start()
    store.begin(None, None)
    store.changed(f"INSERT INTO {table} VALUES (2)")
    try:
        store.made("d1", query)
    except KeyboardInterrupt:
        stopped.append(time.monotonic() - sent[-1])
        store.discard()

left = store.value(f"SELECT count(*) FROM {table}")
store.begin(None, None)
store.changed(f"INSERT INTO {table} VALUES (3)")
store.commit()
print(json.dumps([stopped, left, store.value(f"SELECT sum(x) FROM {table}")]))
"""
_SECONDS = 5  # mostly it is a few hundredths; a busy machine is given more
QUERIES = [
    "SELECT count(*) FROM range(3000000) a(x), range(3000000) b(y) WHERE x * y % 7 = 9",
    "SELECT *, row_number() OVER (PARTITION BY x % 3 ORDER BY hash(x)) AS q FROM range(20000000) a(x)",
    "SELECT a.x, sum(a.x * b.x % 7) FROM range(300000) a(x) JOIN range(300000) b(x) ON a.x % 9 = b.x % 9 GROUP BY 1",
]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_statement_at_once_and_the_step_leaves_no_trace(number):
    arguments = [sys.executable, "-c", PROGRAM, str(int(number)), json.dumps(QUERIES)]
    ran = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    stopped, left, after = json.loads(ran.stdout)
    assert len(stopped) == len(QUERIES)
    assert max(stopped) < _SECONDS
    assert (left, after) == (1, 4)


@pytest.fixture
def raising():
    """Ctrl-C raises KeyboardInterrupt: a shell has what it starts in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(store):
    """Send SIGINT once the store has been at one thing for a while; gives when that was."""
    began = time.monotonic()
    while time.monotonic() < began + 0.3:
        time.sleep(0.002)
        if store.works_for is None:
            began = time.monotonic()
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)
    return sent


@pytest.mark.usefixtures("raising")
def test_a_step_that_is_stopped_can_be_made_again():
    text = """
    CREATE TABLE l (k INT, x BIGINT); CREATE TABLE r (k INT, x BIGINT);
    CREATE VIEW met AS SELECT count(*) AS n, sum(l.x * r.x % 7) AS s FROM l JOIN r ON l.k = r.k;
    """
    few, many = [(1, x) for x in range(10)], [(1, x) for x in range(40_000)]
    with penstock.Pipeline(text, engine="native") as pipeline:
        pipeline.step({"l": few, "r": few})
        store = pipeline._opened().stepper.engine.store
        sent = []
        threading.Thread(target=lambda: sent.append(interrupted(store))).start()
        with pytest.raises(KeyboardInterrupt):
            pipeline.step({"l": many, "r": many})
        assert time.monotonic() - sent[0] < _SECONDS
        assert pipeline.steps == 1
        changed = pipeline.step({"l": many[:100], "r": few[:1]})["met"]
        assert max(changed.rows)[1][0] == 110 * 11


class Forgetful:
    """It begins its work when it has been told to stop twice, as DuckDB does that forgets what came before."""

    def __init__(self):
        self.works_for, self.works, self.told = threading.main_thread().ident, 1, 0
        self.stopped = threading.Event()

    def interrupt(self):
        self.told += 1
        if self.told == 3:
            self.works_for, self.works = None, 2
            self.stopped.set()


@pytest.mark.usefixtures("raising")
def test_a_statement_that_has_just_begun_is_told_again_to_stop():
    forgetful, interrupts = Forgetful(), Interrupts()
    before = signal.set_wakeup_fd(-1)
    try:
        interrupts.watch(forgetful)
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - whichever of the two gets it
            os.kill(os.getpid(), signal.SIGINT)
            forgetful.stopped.wait(_SECONDS)
        assert forgetful.stopped.wait(_SECONDS)
        interrupts.settle()
        assert forgetful.told == 3
    finally:
        signal.set_wakeup_fd(before)
