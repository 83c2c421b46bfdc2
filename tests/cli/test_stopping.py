"""Ctrl-C in the shell while a statement works in the process: the statement has done nothing, and the shell goes on."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from penstock.cli.changes import change_output
from penstock.cli.interpreter import Results, open_interpreter
from penstock.cli.options import EngineOptions
from penstock.cli.repl.shell import Shell

PROGRAM = """
SET engine = 'native';
CREATE TABLE t (id BIGINT, k BIGINT);
CREATE TABLE l (k BIGINT, x BIGINT);
CREATE TABLE r (k BIGINT, x BIGINT);
CREATE VIEW s AS SELECT k, SUM(id) AS s FROM t GROUP BY k;
CREATE VIEW met AS SELECT COUNT(*) AS n, SUM(l.x * r.x % 7) AS s FROM l JOIN r ON l.k = r.k;
INSERT INTO l SELECT 1, explode(sequence(1, 30000));
"""
_MEETING = "FROM l AS a CROSS JOIN l AS b CROSS JOIN l AS c WHERE a.x + b.x = c.x"
# Each of these takes many minutes when nothing stops it.
LONG = (
    f"SELECT COUNT(*) {_MEETING};",
    f"INSERT INTO t SELECT a.x, b.x {_MEETING};",
    f"UPDATE t SET k = (SELECT COUNT(*) {_MEETING});",
    "INSERT INTO r SELECT 1, a.x * b.x FROM l AS a CROSS JOIN l AS b;",
)


@pytest.fixture
def raising():
    """Ctrl-C raises KeyboardInterrupt: a shell has what it starts in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Typed:
    """What is typed: each of the long statements is stopped once the store has worked for it for a while."""

    def __init__(self, statements, seen):
        self.statements, self.seen, self.store = list(statements), seen, None

    def __call__(self, _):
        self.seen()
        if not self.statements:
            raise EOFError
        if self.statements[0] in LONG:
            threading.Thread(target=self.interrupt).start()
        return self.statements.pop(0)

    def interrupt(self):
        began = time.monotonic()
        while time.monotonic() < began + 0.2:
            time.sleep(0.002)
            if self.store.works_for is None:
                began = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)


def files(folder):
    """What lies in a folder, with its content."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.usefixtures("raising")
@pytest.mark.parametrize("in_transaction", [False, True], ids=["alone", "in_transaction"])
def test_a_statement_that_is_stopped_has_left_no_trace(in_transaction, tmp_path, capsys):
    folder, kept = tmp_path / "dir", []
    begin, end = (["BEGIN;"], ["ROLLBACK;"]) if in_transaction else ([], [])
    typed = Typed(
        ["INSERT INTO t VALUES (1, 1);", *begin, *LONG, *end, "SELECT * FROM t;", "SELECT * FROM r;"],
        lambda: kept.append(files(folder)),
    )
    options = EngineOptions("local[2]", {}, folder, None)
    interpreter, later = open_interpreter(
        PROGRAM, None, options, Results("text", change_output("text", (), None).write)
    )
    with interpreter.pipeline as pipeline:
        interpreter.run_program(later, PROGRAM)
        typed.store = pipeline._opened().stepper.engine.store
        assert Shell(interpreter, typed).loop()
        seen = capsys.readouterr()
        assert seen.err.splitlines() == ["stopped; the statement has changed nothing"] * len(LONG)
        assert all(found == kept[1] for found in kept[1:])
        assert pipeline.steps == 2
        assert seen.out.splitlines()[-7:] == ["id | k", "---+--", " 1 | 1", "(1 row)", "k | x", "--+--", "(0 rows)"]
        pipeline.execute("INSERT INTO r VALUES (1, 2), (2, 2)")
        assert pipeline.query("SELECT n FROM met").rows == [(30_000,)]
