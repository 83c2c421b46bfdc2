"""A session that a program will need is begun before anybody asks for it; nothing is left of one that nobody does."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from tests.javas import FakeJava

import penstock
from penstock.backends.spark.starting import Expected
from penstock.cli.interpreter import Results, open_interpreter
from penstock.cli.options import EngineOptions
from penstock.errors import Diagnostic, UnsupportedError
from penstock.pipeline.expecting import needs_spark

ON_SPARK = """
CREATE TABLE t (a INT, s STRING);
CREATE VIEW v AS SELECT soundex(s) AS x, count(*) AS n FROM t GROUP BY soundex(s);
"""
IN_PROCESS = "CREATE TABLE t (a INT, s STRING); CREATE VIEW v AS SELECT s, count(*) AS n FROM t GROUP BY s;"
BY_SPARK = "CREATE TABLE t (a INT) WITH ('connector' = 'spark', 'format' = 'orc', 'path' = 'x');"
NO_JAVA = Diagnostic("JAVA_NOT_FOUND", "Spark needs Java 17 or newer; no Java was found")


class SessionAskedError(Exception):
    """Somebody opens the session."""


class Beginning:
    """A session in the making that makes none: what is done to it is noted."""

    def __init__(self, error=None, *, waits=False):
        self.done = []
        self.begun = threading.Event()
        self.given_up = threading.Event()
        self.goes_on = threading.Event()
        self._error = error
        self._waits = waits

    def begin(self):
        self.done.append("begun")
        self.begun.set()
        while self._waits and not self.given_up.is_set() and not self.goes_on.is_set():
            time.sleep(0.01)
        if self.given_up.is_set():
            raise SessionAskedError
        if self._error is not None:
            raise self._error

    def give_up(self):
        self.done.append("given up")
        self.given_up.set()

    def undo(self):
        self.done.append("undone")


@pytest.fixture
def opening(monkeypatch):
    """A function that opens a program as a command does, with what begins its session."""
    opened = []

    def opened_with(text, beginning, **more):
        def asked(**_):
            beginning.done.append("asked")
            raise SessionAskedError

        monkeypatch.setattr("penstock.pipeline.opening.running_session", lambda: None)
        monkeypatch.setattr("penstock.pipeline.opening.Aside", lambda *_: beginning)
        monkeypatch.setattr("penstock.pipeline.opening.open_session", asked)
        options = EngineOptions(more.pop("master", "local[1]"), {}, None, more.pop("engine", "auto"))
        opened.append(open_interpreter(text, None, options, Results(), **more)[0].pipeline)
        return opened[-1]

    yield opened_with
    for pipeline in opened:
        pipeline.close()


def threads():
    """Those that begin a session, and are still there a moment later."""
    found = [item for item in threading.enumerate() if item.name == "penstock-start"]
    for item in found:
        item.join(1.0)
    return [item for item in found if item.is_alive()]


def test_it_begins_before_the_first_step(opening):
    beginning = Beginning()
    pipeline = opening(ON_SPARK, beginning)
    assert beginning.begun.wait(60)
    assert pipeline._execution is None
    with pytest.raises(SessionAskedError):
        pipeline.execute("INSERT INTO t VALUES (1, 'x')")
    assert beginning.done == ["begun", "asked"]
    pipeline.close()
    assert beginning.done == ["begun", "asked"]


@pytest.mark.parametrize(
    ("text", "engine", "wanted"),
    [
        (ON_SPARK, "auto", True),
        (IN_PROCESS, "auto", False),
        (IN_PROCESS, "spark", True),
        (BY_SPARK, "auto", True),
        ("CREATE TABLE t (a INT)", "spark", False),
        (ON_SPARK, "native", False),  # it will be refused
        (f"SET TIME ZONE 'Europe/Berlin'; {IN_PROCESS}", "auto", True),
    ],
)
def test_what_is_all_in_the_process_begins_none(opening, text, engine, wanted):
    beginning = Beginning()
    pipeline = opening(text, beginning, engine=engine)
    assert pipeline.expects_spark is wanted
    pipeline.close()
    assert ("begun" in beginning.done) <= wanted
    assert not threads()


@pytest.mark.parametrize("name", ["orders", "top_sellers", "deduplicate", "shop/shop"])
def test_it_is_told_as_the_engine_will_have_it(repository, name):
    text = (repository / "examples" / f"{name}.sql").read_text(encoding="utf-8")
    later = penstock.LaterSession(lambda: pytest.fail("it needs Spark"))
    with penstock.Pipeline(text, spark=later, writes=False) as pipeline:
        assert not needs_spark(pipeline.catalog)
        assert not any(item.needs_spark for item in pipeline._opened().stepper.engine.installed)


def test_a_cluster_and_a_session_that_is_given_are_waited_for(opening):
    for more in ({"master": "spark://nowhere:7077"}, {}):
        beginning = Beginning()
        pipeline = opening(IN_PROCESS, beginning, **more)
        if not more:
            pipeline._opening.leave()
            pipeline._opening.spark = lambda: None
            pipeline.expect_spark(surely=True)
        assert not pipeline.expects_spark
        assert "begun" not in beginning.done


def test_a_command_that_needs_it_in_any_case_begins_it(opening):
    beginning = Beginning()
    assert opening(IN_PROCESS, beginning, spark=True).expects_spark
    assert beginning.begun.wait(60)


def test_the_error_is_raised_at_first_use(opening):
    beginning = Beginning(UnsupportedError(NO_JAVA))
    pipeline = opening(ON_SPARK, beginning)
    assert pipeline.expects_spark
    with pytest.raises(UnsupportedError) as raised:
        pipeline.execute("INSERT INTO t VALUES (1, 'x')")
    assert (raised.value.code, raised.value.diagnostics[0].message) == (NO_JAVA.code, NO_JAVA.message)
    with pytest.raises(SessionAskedError):  # the next try is a new one
        pipeline.execute("INSERT INTO t VALUES (1, 'x')")


def test_closing_while_it_begins_leaves_no_thread(opening):
    beginning = Beginning(waits=True)
    pipeline = opening(ON_SPARK, beginning)
    assert beginning.begun.wait(60)
    began = time.monotonic()
    pipeline.close()
    assert time.monotonic() - began < 5
    assert beginning.done[-1] == "undone"
    assert "given up" in beginning.done
    assert not threads()


def test_closing_while_it_is_judged_begins_nothing():
    judging, beginning = threading.Event(), Beginning()
    expected = Expected(beginning, lambda: judging.wait(60))
    expected.leave()
    judging.set()
    expected.wait()
    assert beginning.done == ["given up", "undone"]
    assert not expected.is_wanted


def test_ctrl_c_ends_the_waiting_and_not_the_start(opening):
    beginning = Beginning(waits=True)
    pipeline = opening(ON_SPARK, beginning)
    assert beginning.begun.wait(60)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            pipeline.execute("INSERT INTO t VALUES (1, 'x')")
    finally:
        signal.signal(signal.SIGINT, before)
    assert threads()
    threading.Timer(1.0, beginning.goes_on.set).start()
    with pytest.raises(SessionAskedError):  # which is waited for again
        pipeline.execute("INSERT INTO t VALUES (1, 'x')")
    assert beginning.goes_on.is_set()
    assert "given up" not in beginning.done


_LEFT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may ignore it
from penstock.cli.interpreter import Results, open_interpreter
from penstock.cli.options import EngineOptions
pipeline = open_interpreter(sys.argv[1], None, EngineOptions("local[1]", {}, None, None), Results())[0].pipeline
print(pipeline.expects_spark, flush=True)
sys.stdin.readline()
if sys.argv[2] == "interrupted":
    from penstock.backends.spark.starting import Expected
    wait = Expected.wait
    Expected.wait = lambda expected: (print("waits", flush=True), wait(expected))
    pipeline.execute("INSERT INTO t VALUES (1, 'x')")
"""


@pytest.mark.parametrize("way", ["left", "interrupted"])
def test_a_process_that_ends_while_it_begins_leaves_no_jvm(tmp_path, way):
    java = FakeJava.of(tmp_path)
    line = [sys.executable, "-c", _LEFT, ON_SPARK, way]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(line, env=java.environment, text=True, **pipes) as process:
        assert process.stdout.readline() == "True\n"
        java.await_start()
        assert len(java.running()) == 1
        process.stdin.write("\n")
        process.stdin.flush()
        if way == "interrupted":
            assert process.stdout.readline() == "waits\n"
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
        began = time.monotonic()
        said = process.communicate(timeout=60)[1]
    assert time.monotonic() - began < 20
    assert "KeyboardInterrupt" in said if way == "interrupted" else not said
    assert java.gone()


_REAL = """
import os, signal, subprocess, sys, threading, time
from penstock.backends.spark.interrupts import Interrupts
from penstock.cli.interpreter import Results, open_interpreter
from penstock.cli.options import EngineOptions

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may ignore it

def opened():
    return open_interpreter(sys.argv[1], None, EngineOptions("local[1]", {}, None, None), Results())[0].pipeline

with opened() as pipeline:  # its start is left half way
    assert pipeline.expects_spark
    time.sleep(1.0)
from pyspark import SparkContext
assert SparkContext._gateway is None and SparkContext._active_spark_context is None
with opened() as pipeline:  # its context is there, and nobody asks for it
    pipeline._opening.expected.wait()
    assert SparkContext._active_spark_context is not None
assert SparkContext._gateway is None and SparkContext._active_spark_context is None
with opened() as pipeline:
    pipeline._opening.expected.wait()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert "PYSPARK_GATEWAY_PORT" not in os.environ
    print(pipeline.execute("INSERT INTO t VALUES (1, 'ann'), (2, 'Ann')")["v"].rows)
    assert isinstance(signal.getsignal(signal.SIGINT), Interrupts)
    threading.Timer(3.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        pipeline.query("SELECT COUNT(*) FROM range(0, 900000000000) WHERE hash(id) = 7").rows
    except BaseException as error:
        from penstock.steps.interrupts import interrupt_behind
        print(type(interrupt_behind(error)).__name__)
    print(pipeline.query("SELECT * FROM v").rows)
    pipeline.spark.stop()
"""


@pytest.mark.spark
@pytest.mark.extended
def test_a_session_begun_aside_is_as_any_other(tmp_path):
    """Ctrl-C stops its jobs too; starts that were left have gone without a word."""
    line = [sys.executable, "-c", _REAL, ON_SPARK]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["[(1, ('A500', 2))]", "KeyboardInterrupt", "[('A500', 2)]"]
    assert list(tmp_path.iterdir()) == []
