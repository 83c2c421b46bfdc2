"""The shell follows the sources of its program: a step, until Ctrl-C, until the input is used up, in the background."""

import os
import signal
import threading
import time

import pytest

from penstock.cli.interpreter import Interpreter, Results
from penstock.cli.repl.following import told
from penstock.cli.repl.shell import Shell
from penstock.pipeline.pipeline import Pipeline

BROKEN = "nobody reads any more"


class Typed:
    """Statements as they are typed; a callable is called before the next."""

    def __init__(self, *given):
        self.given = list(given)

    def __call__(self, _):
        while self.given and callable(self.given[0]):
            self.given.pop(0)()
        if not self.given:
            raise EOFError
        return self.given.pop(0)


def rows(path, *lines):
    """Something that gives a source more rows."""
    return lambda: path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def until(shown, text, work=lambda: None):
    """Something that waits until a text is shown, and then works."""

    def wait():
        end = time.monotonic() + 120
        while text not in "".join(shown):
            assert time.monotonic() < end, shown
            time.sleep(0.05)
        work()

    return wait


def meanwhile(work):
    """The same beside the next statement."""
    return lambda: threading.Thread(target=work, daemon=True).start()


def program(folder):
    return (
        f"CREATE TABLE t (id INT) WITH ('connector' = 'files', 'path' = '{folder}', 'format' = 'json');"
        "CREATE VIEW s AS SELECT COUNT(*) AS n FROM t;"
    )


@pytest.fixture
def shell(spark, tmp_path):
    with Pipeline(program(tmp_path), spark=spark, on_event=told) as pipeline:
        shown = []

        def show(changes):
            if BROKEN in shown:
                raise OSError(BROKEN)
            shown.extend(str(item.rows) for item in changes.values())

        results = Results(on_changes=show)
        yield lambda *given: Shell(Interpreter(pipeline, results), Typed(*given)), shown


def test_steps_and_runs(shell, tmp_path, capsys):
    make, shown = shell
    one, two, three, four = (tmp_path / f"{name}.json" for name in "abcd")
    typed = make(
        rows(one, '{"id": 1}', '{"id": 2}'),
        ".step",
        "SELECT SUM(id) AS total FROM t;",
        rows(two, '{"id": 3}'),
        meanwhile(until(shown, "(1, (3,))", interrupt)),
        ".run",
        rows(three, '{"id": 4}'),
        ".run once",
        ".run &",
        rows(four, '{"id": 5}'),
        until(shown, "(1, (5,))"),
        ".step",
        "INSERT INTO t VALUES (6);",
        ".stop",
        ".step",
        ".run sideways",
        ".verify",
    )
    assert typed.loop()
    seen = capsys.readouterr()
    for count in range(2, 7):
        assert f"(1, ({count},))" in "".join(shown)
    assert "s: 1 rows equal the batch result" in seen.out
    assert seen.err.count("[RUNNING]") == 1
    assert ".run cannot be told 'sideways'" in seen.err
    assert "INTERNAL" not in seen.err


def test_an_error_that_ends_the_run_in_the_background_is_said_once(shell, tmp_path, capsys):
    make, shown = shell

    def ended():
        end = time.monotonic() + 120
        while typed.pipeline.status.state == "running":
            assert time.monotonic() < end
            time.sleep(0.05)

    def broken():
        shown.append(BROKEN)

    typed = make(".run &", broken, rows(tmp_path / "a.json", '{"id": 1}'), ended, ".tables", ".tables")
    assert typed.loop()
    seen = capsys.readouterr()
    assert seen.err.count("error[") == 1
    assert f"error[CANNOT_ACCESS]: {BROKEN}" in seen.err


def test_ctrl_c_in_a_statement_ends_the_run_in_the_background_in_order(shell, tmp_path, capsys):
    make, _ = shell
    slow = "SELECT COUNT(*) FROM range(0, 900000000000) WHERE hash(id) = 7;"
    typed = make(
        ".run &",
        lambda: threading.Timer(1.5, interrupt).start(),
        slow,
        rows(tmp_path / "a.json", '{"id": 1}'),
        ".step",
        "SELECT * FROM s;",
    )
    assert typed.loop()
    seen = capsys.readouterr()
    assert "no source is followed any more" in seen.err
    assert seen.out.endswith("n\n-\n1\n(1 row)\n")


def test_a_program_without_sources_has_nothing_to_follow(spark, capsys):
    with Pipeline("CREATE TABLE t (id INT);", spark=spark) as pipeline:
        assert Shell(Interpreter(pipeline, Results()), Typed(".run", ".step", ".run &", ".stop")).loop()
    assert capsys.readouterr().err.count("error[NO_SOURCE]") == 3
