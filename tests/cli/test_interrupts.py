"""Ctrl-C in the middle of real Spark jobs: it stops the statement, and nothing else."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from penstock.cli.changes import change_output
from penstock.cli.interpreter import Results, open_interpreter
from penstock.cli.options import EngineOptions
from penstock.cli.repl.shell import Shell
from penstock.steps.interrupts import interrupt_behind

PROGRAM = """
CREATE TABLE t (id BIGINT, k BIGINT);
CREATE VIEW s AS SELECT k, SUM(id) AS s FROM t GROUP BY k;
"""
# Each of these takes many minutes when nothing stops it.
LONG = [
    "SELECT COUNT(*) FROM range(0, 900000000000) WHERE hash(id) = 7;",
    "INSERT INTO t SELECT id, id FROM range(0, 900000000000) WHERE hash(id) = 7;",
]


def interrupted(statements):
    """The statements as they are typed, with Ctrl-C a moment after each of the long ones."""
    for statement in statements:
        if statement in LONG:
            threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        yield statement


def test_ctrl_c_stops_only_the_statement(spark, capsys):
    typed = [
        "INSERT INTO t VALUES (1, 1);",
        *LONG,
        "INSERT INTO t VALUES (2, 1);",
        ".verify",
        "SELECT * FROM t ORDER BY id;",
    ]
    inputs = interrupted(typed)

    def read(_):
        found = next(inputs, None)
        if found is None:
            raise EOFError
        return found

    results = Results("text", change_output("text", (), None).write)
    interpreter, _ = open_interpreter(PROGRAM, None, EngineOptions("local[2]", {}, None, None), results, retain="all")
    began = time.perf_counter()
    with interpreter.pipeline:
        assert Shell(interpreter, read).loop()
    seen = capsys.readouterr()
    assert seen.err.splitlines() == ["stopped; the statement has changed nothing"] * len(LONG)
    assert seen.out.splitlines() == [
        "step 1  s  +1  (1, 1)",
        "step 2  s  -1  (1, 1)",
        "step 2  s  +1  (1, 3)",
        "s: 1 rows equal the batch result",
        "id | k",
        "---+--",
        " 1 | 1",
        " 2 | 1",
        "(2 rows)",
    ]
    assert time.perf_counter() - began < 120
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()


class BeforeTheJob:
    """A SparkContext that is told to cancel its jobs when there is none yet, and again later."""

    def __init__(self, context):
        self.context = context
        self.asked = 0

    def cancelAllJobs(self):  # noqa: N802 - PySpark's name
        self.asked += 1
        if self.asked > 1:
            self.context.cancelAllJobs()


def test_ctrl_c_before_the_job_that_sends_rows_has_begun_stops_it(spark, monkeypatch):
    handler = signal.getsignal(signal.SIGINT)
    context = BeforeTheJob(spark.sparkContext)
    monkeypatch.setattr(handler, "_context", context)
    threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(Exception, match="cancelled") as caught:
        spark.sql(LONG[0]).toArrow()
    assert isinstance(interrupt_behind(caught.value), KeyboardInterrupt)
    assert context.asked > 1
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()


def test_a_second_ctrl_c_shows_no_traceback_of_py4j(spark):
    texts = ("KeyboardInterrupt while sending command.", "Exception while sending command.")
    records = [logging.makeLogRecord({"msg": text}) for text in texts]
    assert [bool(logging.getLogger().filter(record)) for record in records] == [False, True]


def test_what_does_not_fit_is_said_with_its_place(spark, capsys):
    """A value of an INSERT, an expression of a query, an update, and a view that was declared elsewhere."""
    typed = [
        "INSERT INTO t VALUES (1, 0), (2, 'x');",
        "SELECT CAST('abc' AS INT);",
        "INSERT INTO t VALUES (1, 0);",
        "UPDATE t SET k = 9223372036854775807 + id;",
        "CREATE VIEW w AS SELECT * FROM nothere;",
        "CREATE VIEW w AS\nSELECT id > DATE '2024-01-01' AS later FROM t;",
    ]
    inputs = iter(typed)
    program = """CREATE TABLE t (id BIGINT, k BIGINT);
CREATE VIEW d AS
SELECT id, 100 / k AS share FROM t;
INSERT INTO t VALUES (5, 5);"""
    interpreter, later = open_interpreter(
        program, None, EngineOptions("local[2]", {}, None, None), Results(), retain="all"
    )

    def read(_):
        found = next(inputs, None)
        if found is None:
            raise EOFError
        return found

    with interpreter.pipeline as pipeline:
        for statement in later:
            interpreter.run(statement, program)
        assert Shell(interpreter, read).loop()
        assert [tuple(row) for row in pipeline.query("SELECT * FROM t").rows] == [(5, 5)]
        assert pipeline.verify("d")
    errors = capsys.readouterr().err.split("error[")[1:]
    assert [error.splitlines()[0].partition("]")[0] for error in errors] == [
        "BAD_VALUE",
        "EVALUATION_ERROR",
        "EVALUATION_ERROR",
        "EVALUATION_ERROR",
        "UNKNOWN_RELATION",
        "TYPE_MISMATCH",
    ]
    places = [
        ("column k: found 'x', expected BIGINT", "'x'"),
        ("cannot be cast", "SELECT CAST('abc' AS INT)"),
        ("view d: Division by zero", "SELECT id, 100 / k AS share FROM t"),
        ("overflow", "UPDATE t SET"),
        ("nothere", "SELECT * FROM nothere"),
        ("DATE", "SELECT id > DATE"),
    ]
    for error, (message, line) in zip(errors, places, strict=True):
        assert message in error.splitlines()[0], error
        assert any(line in shown for shown in error.splitlines()[2:]), error
        assert "^" in error, error


def interruptible():
    """A shell has what it starts in the background ignore Ctrl-C, and nohup SIGHUP, and children with it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def ended(command):
    """What becomes of a command that gets Ctrl-C, with all that it prints."""
    return subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=interruptible,
    )


@pytest.mark.spark  # in processes of its own
@pytest.mark.parametrize(
    "seconds", [3.0, *(pytest.param(seconds, marks=pytest.mark.extended) for seconds in (1.5, 4.5))]
)
def test_ctrl_c_while_spark_starts_ends_both_without_a_traceback(seconds, tmp_path):
    program = tmp_path / "program.sql"
    (tmp_path / "rows.json").write_text('{"id": 1}\n')
    with_files = f"WITH ('connector' = 'files', 'path' = '{tmp_path}/*.json', 'format' = 'json')"
    program.write_text(f"CREATE TABLE t (id INT) {with_files}; CREATE VIEW v AS SELECT count(*) AS n FROM t;")
    running = subprocess.Popen(
        [sys.executable, "-c", "from penstock.cli.main import main; main()", "run", str(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=interruptible,  # noqa: PLW1509 - no threads are there yet
    )
    time.sleep(seconds)
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=120)  # the JVM has the same pipe, so it has left as well
    assert running.returncode in (0, 130)  # 130 where not even the command was read
    assert "Traceback" not in out
    assert "error" not in out


def test_ctrl_c_that_python_drops_in_a_finalizer_before_the_run_ends_it(tmp_path):
    (tmp_path / "rows.json").write_text('{"id": 1}\n')
    program = f"CREATE TABLE t (id INT) WITH ('connector' = 'files', 'path' = '{tmp_path}/*.json');"
    dropped = """
import signal, sys
from penstock.cli import interpreter
from penstock.cli.main import main

class Dropped:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

def opened(*arguments, _opened=interpreter.open_interpreter, **more):
    Dropped()
    return _opened(*arguments, **more)

interpreter.open_interpreter = opened
main()
"""
    command = [sys.executable, "-c", dropped, "run", "-e", program + "CREATE VIEW v AS SELECT count(*) AS n FROM t;"]
    running = ended(command)
    assert "KeyboardInterrupt" in running.stdout  # Python says that it drops it
    assert (running.returncode, "error" in running.stdout) == (0, False), running.stdout


def test_ctrl_c_while_duckdb_is_loaded_does_not_abort(tmp_path):
    (tmp_path / "rows.json").write_text('{"id": 1}\n')
    program = f"CREATE TABLE t (id INT) WITH ('connector' = 'files', 'path' = '{tmp_path}/*.json');"
    within = """
import enum, signal, sys
from penstock.cli.main import main

def made(mcls, *arguments, _made=enum.EnumType._create_, **more):
    if "duckdb" in sys.modules and not arrived:
        arrived.append(mcls)
        signal.raise_signal(signal.SIGINT)
    return _made(mcls, *arguments, **more)

arrived = []
enum.EnumType._create_ = made  # which the library calls while it is loaded
main()
"""
    command = [sys.executable, "-c", within, "run", "-e", program + "CREATE VIEW v AS SELECT count(*) AS n FROM t;"]
    found = ended(command)
    assert (found.returncode, found.stdout.strip()) == (130, "interrupted")


def ignoring():
    """Ctrl-C is ignored, as a script has it for what it starts with `&`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("number", "started"),
    [
        pytest.param(signal.SIGTERM, interruptible, id="15-in front"),
        pytest.param(signal.SIGHUP, ignoring, id="1-behind"),
        pytest.param(signal.SIGTERM, ignoring, id="15-behind", marks=pytest.mark.extended),
        pytest.param(signal.SIGHUP, interruptible, id="1-in front", marks=pytest.mark.extended),
    ],
)
def test_a_run_that_is_told_to_end_ends_as_with_ctrl_c_and_leaves_nothing(number, started, tmp_path):
    (tmp_path / "temporary").mkdir()
    (tmp_path / "rows.json").write_text('{"id": 1}\n')
    program = f"""CREATE TABLE t (id INT) WITH ('connector' = 'files', 'path' = '{tmp_path}/*.json');
        CREATE VIEW v AS SELECT count(*) AS n FROM t;"""
    running = subprocess.Popen(
        [sys.executable, "-c", "from penstock.cli.main import main; main()", "run", "-e", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path / "temporary")},
        preexec_fn=started,  # noqa: PLW1509 - no threads are there yet
    )
    while "+1" not in running.stdout.readline():
        assert running.poll() is None
    if started is ignoring:
        running.send_signal(signal.SIGINT)
    running.send_signal(number)
    out, _ = running.communicate()
    assert running.returncode == 0, out
    assert "error" not in out
    assert [path.name for path in (tmp_path / "temporary").iterdir() if path.name.startswith("penstock")] == []
