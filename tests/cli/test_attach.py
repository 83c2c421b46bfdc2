"""A shell asks a pipeline of another process: what it is answered and refused, and that the run goes on beside it."""

import json
import os
import re
import signal
import socket
import stat
import threading
import time
from pathlib import Path

import pytest

from penstock.cli.attach import answers
from penstock.cli.attach.client import Attached
from penstock.cli.attach.server import attachable
from penstock.cli.attach.wire import NAME, address, line
from penstock.cli.interpreter import Results
from penstock.cli.main import main
from penstock.cli.repl.shell import Shell
from penstock.errors import DataError, PenstockError
from penstock.pipeline.pipeline import Pipeline

PROGRAM = """
CREATE TABLE a (id INT);
CREATE TABLE b (id INT);
CREATE MATERIALIZED VIEW n AS SELECT COUNT(*) AS rows FROM a;
"""
LONG = "SELECT COUNT(*) FROM range(0, 900000000000) WHERE hash(id) = 7;"


@pytest.fixture
def running(spark, tmp_path):
    with Pipeline(PROGRAM, spark=spark, directory=tmp_path, retain="materialized") as pipeline:
        pipeline.step({"a": [(1,), (2,)], "b": [(1,), (2,)]})
        with attachable(pipeline, str(tmp_path)):
            yield pipeline, tmp_path


def asked(directory, text, capsys, **results):
    """All that a text is answered with."""
    capsys.readouterr()
    Attached(directory, Results(**results)).run_text(text)
    return capsys.readouterr().out


def refused(directory, text):
    with pytest.raises(PenstockError) as error:
        Attached(directory, Results()).run_text(text)
    return error.value


def test_what_it_holds_is_answered(running, capsys):
    _, directory = running
    assert asked(directory, "SELECT * FROM n; SELECT id FROM a ORDER BY id DESC;", capsys) == (
        "rows\n----\n   2\n(1 row)\nid\n--\n 2\n 1\n(2 rows)\n"
    )
    assert asked(directory, "SELECT * FROM n;", capsys, style="json") == '{"rows": 2}\n'
    assert asked(directory, "SELECT * FROM n;", capsys, style="csv") == "rows\n2\n"
    assert asked(directory, "SELECT * FROM n;", capsys, layout="expanded").startswith("-[ row 1 ]-\nrows | 2\n")
    assert "n    | materialized" in asked(directory, "SHOW VIEWS;", capsys)
    assert re.search(r"view n at \d+:\d+: incremental", asked(directory, "EXPLAIN n;", capsys))
    assert "query: incremental" in asked(directory, "EXPLAIN SELECT id FROM a;", capsys)
    assert "Aggregate | n" in asked(directory, "SHOW STATE;", capsys)
    assert [item.name for item in Attached(directory, Results()).catalog.relations()] == ["a", "b", "n"]


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO a VALUES (3);",
        "SELECT 1; DELETE FROM a;",
        "CREATE VIEW v AS SELECT 1;",
        "DROP VIEW n;",
        "SET TIME ZONE 'UTC';",
        "BEGIN;",
        "RESET;",
    ],
)
def test_nothing_is_changed(running, text, capsys):
    pipeline, directory = running
    error = refused(directory, text)
    assert error.code == "READ_ONLY"
    assert "can read, and change nothing" in error.render()
    assert capsys.readouterr().out == ""
    assert pipeline.steps == 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT java_method('java.lang.System', 'getenv', 'PATH');",
        "EXPLAIN SELECT 1 + length(reflect('java.lang.System', 'exit', 0)) FROM a;",
        "WITH x AS (SELECT TRY_REFLECT('java.lang.System', 'exit', 0) AS y) SELECT * FROM x;",
    ],
)
def test_code_of_the_process_is_not_called(running, text):
    pipeline, directory = running
    error = refused(directory, text)
    assert error.code == "READ_ONLY"
    assert "runs code of the process" in error.render()
    assert pipeline.steps == 1


def test_mistakes_are_said_with_their_place(running):
    _, directory = running
    assert "   1 | SELECT nope FROM a\n     |        ^^^^" in refused(directory, "SELECT nope FROM a;").render()
    assert refused(directory, "SELECT raise_error('so');").code == "EVALUATION_ERROR"
    assert refused(directory, "SELEC 1;").code == "UNKNOWN_STATEMENT"


def test_an_answer_that_is_too_large_is_refused(running, monkeypatch, capsys):
    _, directory = running
    monkeypatch.setattr(answers, "MOST_ROWS", 2)
    assert "(2 rows)" in asked(directory, "SELECT * FROM a;", capsys)
    assert refused(directory, "SELECT * FROM range(3);").code == "TOO_MANY_ROWS"


def test_commands_of_the_shell(running, capsys):
    _, directory = running
    typed = iter([".tables", ".schema b", ".explain", ".step", ".run", ".verify", "SELECT 7 AS seven;"])
    assert Shell(Attached(directory, Results()), lambda _: next(typed, None) or end()).loop()
    seen = capsys.readouterr()
    assert "b     | id     | int" in seen.out
    assert re.search(r"view n at \d+:\d+: incremental", seen.out)
    assert seen.err.count("error[READ_ONLY]") == 3
    assert "seven" in seen.out


def end():
    raise EOFError


def test_each_answer_is_of_one_state_and_steps_go_on(running, capsys):
    pipeline, directory = running
    stopping = threading.Event()

    def steps():
        while not stopping.is_set():
            pipeline.step({"a": [(3,)], "b": [(3,), (4,), (5,)][:1]})

    stepping = threading.Thread(target=steps)
    stepping.start()
    try:
        for _ in range(4):
            text = "SELECT COUNT(*) - (SELECT COUNT(*) FROM b) AS d, (SELECT rows FROM n) - COUNT(*) AS e FROM a;"
            assert asked(directory, text, capsys, style="csv") == "d,e\n0,0\n"
    finally:
        stopping.set()
        stepping.join()
    assert pipeline.steps > 2


def test_who_goes_away_is_worked_for_no_longer(running, spark, capsys):
    _, directory = running
    tracker = spark.sparkContext.statusTracker()
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(directory / NAME))
    connection.sendall(line({"sql": LONG}))
    until(tracker.getActiveJobsIds)
    connection.close()
    until(lambda: not tracker.getActiveJobsIds())
    assert "one" in asked(directory, "SELECT 1 AS one;", capsys)


def until(found, seconds=60):
    end_of_patience = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end_of_patience
        time.sleep(0.05)


@pytest.mark.parametrize("text", [b"", b"nonsense\n", b"[]\n", b"\xff\n", b'{"sql": 7}\n', b"x" * (1 << 21)])
def test_nonsense_harms_nobody(running, text, capsys):
    _, directory = running
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(directory / NAME))
        try:
            connection.sendall(text)
        except BrokenPipeError:
            assert len(text) > 1 << 20
    assert "one" in asked(directory, "SELECT 1 AS one;", capsys)


def test_the_socket_is_its_users_alone_and_goes_with_the_run(spark, tmp_path):
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / NAME))
    left.close()
    with pytest.raises(DataError, match="nobody runs a pipeline"):
        Attached(tmp_path, Results())
    with Pipeline(PROGRAM, spark=spark, directory=tmp_path) as pipeline, attachable(pipeline, str(tmp_path)):
        mode = (tmp_path / NAME).stat().st_mode
        assert (stat.S_ISSOCK(mode), stat.S_IMODE(mode)) == (True, 0o600)
        Attached(tmp_path, Results())
    assert not (tmp_path / NAME).exists()


def test_a_run_that_cannot_be_attached_to_says_so_and_goes_on(spark, tmp_path, capsys):
    (tmp_path / NAME).write_text("mine", encoding="utf-8")
    with Pipeline(PROGRAM, spark=spark, directory=tmp_path) as pipeline, attachable(pipeline, str(tmp_path)):
        pipeline.step({"a": [(1,)]})
    assert "cannot be attached to" in capsys.readouterr().err
    assert (tmp_path / NAME).read_text(encoding="utf-8") == "mine"


def test_a_directory_with_a_long_path(spark, tmp_path, capsys):
    directory = tmp_path / ("d" * 80) / ("e" * 80)
    with Pipeline(PROGRAM, spark=spark, directory=directory) as pipeline, attachable(pipeline, str(directory)):
        assert "one" in asked(directory, "SELECT 1 AS one;", capsys)
    assert not (directory / NAME).exists()


def test_a_long_path_where_the_system_has_no_way_around(tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.cli.attach.wire._OPEN_FOLDERS", Path("/no/such/folder"))
    with pytest.raises(DataError, match="too long"), address(tmp_path / ("d" * 120)):
        pass


def test_a_directory_that_nobody_runs(tmp_path, monkeypatch):
    for directory in (tmp_path, tmp_path / "none"):
        with pytest.raises(DataError, match="nobody runs a pipeline") as error:
            Attached(directory, Results())
        assert "penstock run --dir" in error.value.diagnostics[0].hint
    owner = f"process {os.getpid()} on {os.uname().nodename}\n"
    (tmp_path / "lock").write_text(owner, encoding="utf-8")
    with pytest.raises(DataError, match=f"process {os.getpid()} has"):
        Attached(tmp_path, Results())
    monkeypatch.setattr(os, "kill", lambda *_: (_ for _ in ()).throw(ProcessLookupError))
    with pytest.raises(DataError, match="nobody runs"):
        Attached(tmp_path, Results())


def test_a_process_that_ends_before_it_has_answered(tmp_path, capsys):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / NAME))
    listener.listen()

    def ends():
        connection, _ = listener.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(line({"relations": []}) + line({"end": True}))
        connection, _ = listener.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(b'{"out": "half')

    threading.Thread(target=ends, daemon=True).start()
    target = Attached(tmp_path, Results())
    with pytest.raises(DataError, match="has ended before it had answered"):
        target.run_text("SELECT 1;")
    listener.close()
    assert capsys.readouterr().out == ""


def test_run_answers_and_ctrl_c_ends_it(spark, tmp_path, capsys):
    source, directory, program = tmp_path / "in", tmp_path / "dir", tmp_path / "program.sql"
    source.mkdir()
    (source / "a.json").write_text('{"id": 1}\n', encoding="utf-8")
    program.write_text(
        f"CREATE TABLE t (id INT) WITH ('connector' = 'files', 'path' = '{source}', 'format' = 'json');"
        "CREATE VIEW s AS SELECT SUM(id) AS total FROM t;",
        encoding="utf-8",
    )
    found = []

    def ask():
        try:
            until((directory / NAME).exists)
            with address(directory) as name:
                for _ in range(100):
                    with socket.socket(socket.AF_UNIX) as connection:
                        connection.connect(name)
                        connection.sendall(line({"sql": "SELECT total FROM s;", "format": "csv"}))
                        found.append(json.loads(connection.makefile().readline())["out"])
                    if found[-1] == "total\n1\n":
                        break
                    time.sleep(0.1)
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=ask, daemon=True).start()
    with pytest.raises(SystemExit) as ended:
        main(["run", str(program), "--dir", str(directory), "--quiet"])
    assert ended.value.code == 0
    assert found[-1] == "total\n1\n"
    assert not (directory / NAME).exists()


def test_attach_takes_no_program(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["sql", "--attach", str(tmp_path), "--dir", str(tmp_path)])
    assert ended.value.code == 2
    assert "--attach" in capsys.readouterr().err
