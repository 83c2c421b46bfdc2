"""Sources that are looked at again and again: answers that take their time, and what the others do meanwhile."""

from __future__ import annotations

import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.steps.tables import declared

import penstock
from penstock.errors import DataError
from penstock.sources.looks import AwayError, Looks, RefusedError
from penstock.sources.patience import Patience
from penstock.sources.polled.databases import Sqlite
from penstock.steps.events import StepDone

TABLE = declared("CREATE TABLE t (id INT)")


class Asked:
    """Something that answers when it is let, with what it is told."""

    def __init__(self):
        self.answer = threading.Event()
        self.says = None
        self.times = 0

    def __call__(self):
        self.times += 1
        self.answer.wait(30)
        if isinstance(self.says, BaseException):
            raise self.says
        return self.says


def looks_of(now=time.monotonic, every=0.0, timeout=10.0):
    return Looks(TABLE, lambda: "the shop", Patience(every, timeout, now), frozenset({"s3cret"}))


def until_asked(looks, asked):
    asked.answer.set()
    for _ in range(500):
        found = looks.found(asked, ended=False)
        if found is not None or not looks.is_awaited:
            return found
    raise AssertionError


def test_an_answer_that_takes_its_time_is_waited_for_by_nobody():
    looks, asked = looks_of(), Asked()
    for _ in range(3):
        assert looks.found(asked, ended=True) is None
        assert looks.is_awaited
    asked.says = "rows"
    assert until_asked(looks, asked) == "rows"
    assert asked.times == 1
    assert not looks.is_awaited


def test_what_asking_raises_is_told_where_the_answer_is_read():
    looks, asked = looks_of(), Asked()
    assert looks.found(asked, ended=False) is None
    asked.says = RefusedError("who is s3cret?")
    with pytest.raises(DataError, match=r"the shop refuses: who is \*\*\*\?") as caught:
        until_asked(looks, asked)
    assert caught.value.diagnostics[0].code == "SOURCE_REFUSED"
    asked.says = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        until_asked(looks, asked)
    asked.says = "rows"
    assert until_asked(looks, asked) == "rows"


def test_it_may_be_away_for_a_while_and_has_the_pause_that_it_asks_for():
    now = [0.0]
    looks, asked = looks_of(lambda: now[0]), Asked()
    asked.says = AwayError("busy", 5.0)
    asked.answer.set()
    for second in (0.0, 1.0, 4.0, 5.0, 9.0):
        now[0] = second
        assert looks.found(asked, ended=True) is None
        assert looks.is_awaited
    now[0] = 10.0
    with pytest.raises(DataError, match="the shop does not answer: busy"):
        looks.found(asked, ended=True)
    assert asked.times == 3


@given(st.lists(st.sampled_from(["rows", None, "away"]), max_size=12))
def test_property_each_answer_is_given_once_and_in_order(says):
    now = [0.0]
    looks = looks_of(lambda: now[0], every=1.0, timeout=1e9)
    waiting = list(says)

    def ask():
        found = waiting.pop(0)
        if found == "away":
            raise AwayError(found)
        return found and len(waiting)

    found = []
    while waiting or looks.is_awaited:
        answer = looks.found(ask, ended=False) if waiting or looks._look else None
        found += [] if answer is None else [answer]
        now[0] += 2.0
        if not waiting and looks._look is None:
            break
    assert found == [len(says) - at - 1 for at, said in enumerate(says) if said == "rows"]


@pytest.mark.parametrize("once", [True, False])
def test_a_slow_database_holds_up_no_other_table(tmp_path, monkeypatch, once):
    path, let = tmp_path / "shop.db", threading.Event()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE slow (id INTEGER)")
        connection.execute("INSERT INTO slow VALUES (7)")
    ask = Sqlite.ask
    monkeypatch.setattr(Sqlite, "ask", lambda self, *given: let.wait(30) and ask(self, *given))
    (tmp_path / "quick").mkdir()
    (tmp_path / "quick" / "rows.json").write_text('{"id": 1}\n')
    program = f"""
        CREATE TABLE slow (id INT)
            WITH ('connector' = 'sql', 'url' = 'sqlite:{path}', 'table' = 'slow', 'column' = 'id');
        CREATE TABLE quick (id INT) WITH ('connector' = 'files', 'path' = '{tmp_path / "quick"}');
        CREATE VIEW v AS SELECT id FROM slow UNION ALL SELECT id FROM quick;
    """
    seen = []

    def note(event):
        if isinstance(event, StepDone):
            seen.extend(name for name, rows in event.received.items() if rows)
            let.set()
            if len(seen) == 2:
                pipeline.stop()

    with penstock.Pipeline(program, engine="native", on_event=note) as pipeline:
        pipeline.run(once=once)
        assert sorted(pipeline.query("SELECT id FROM v").rows) == [(1,), (7,)]
    assert seen == ["quick", "slow"]


def test_ctrl_c_waits_for_no_answer(tmp_path):
    """The answer is still awaited when Python ends; what waits for it holds nothing of the pipeline."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/x?after={{id}}"
        program = tmp_path / "program.sql"
        program.write_text(
            f"CREATE TABLE t (id INT) WITH ('connector' = 'http', 'url' = '{url}');"
            "CREATE VIEW v AS SELECT count(*) AS n FROM t;"
        )
        call = [str(Path(sys.executable).with_name("penstock")), "run", str(program)]
        with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
            assert run.stdout is not None
            said = [next(run.stdout), next(run.stdout)]
            silent.accept()
            began = time.monotonic()
            run.send_signal(signal.SIGINT)
            said += run.stdout.readlines()
    assert run.returncode == 0
    assert time.monotonic() - began < 9  # an address has ten seconds to answer
    assert "1 steps" in said[-1]
    assert len(said) == 3
