"""Real processes in which no JVM could have started: proven programs step, are asked and tested all the same."""

import os
import pty
import select
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from tests.javas import FakeJava

PENSTOCK = [sys.executable, "-m", "penstock.cli.main"]
CASE = """
- name: case_{number}
  sql: |
    CREATE TABLE t (k INT, x DECIMAL(10, 2), s STRING, at DATE);
    CREATE VIEW v AS SELECT k, {aggregate} AS a FROM t WHERE s LIKE 'a%' GROUP BY k;
  steps:
  - in: [[t, '+', [1, 1.50, ab, 2024-01-01]], [t, '+', [1, 2.00, ac, 2024-01-02]], [t, '+', [1, 9, b, null]]]
    out: {{v: [[1, [1, {first}]]]}}
  - in: [[t, '-', [1, 1.50, ab, 2024-01-01]]]
    out: {{v: [[-1, [1, {first}]], [1, [1, {second}]]]}}
"""
AGGREGATES = [
    ("sum(x)", "3.50", "2.00"),
    ("count(*)", 2, 1),
    ("min(x)", "1.50", "2.00"),
    ("count(DISTINCT s)", 2, 1),
    ("year(min(at)) + day(min(at))", 2025, 2026),
]


@pytest.fixture
def java(tmp_path):
    return FakeJava.of(tmp_path)


def test_fifty_cases(java, tmp_path):
    texts = [
        CASE.format(number=number, aggregate=text, first=first, second=second)
        for number in range(50)
        for text, first, second in [AGGREGATES[number % len(AGGREGATES)]]
    ]
    (tmp_path / "cases.yaml").write_text("cases:\n" + "".join(texts), encoding="utf-8")
    line = [*PENSTOCK, "test", "--oracle", "none", "cases.yaml"]
    done = subprocess.run(
        line, cwd=tmp_path, env=java.environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stdout.splitlines()[-1:], done.stderr) == (0, ["50 passed"], "")
    assert java.calls() == []


class Terminal:
    """A person at the shell."""

    def __init__(self, arguments, folder, environment):
        self.seen = ""
        self._own, other = pty.openpty()
        environment = environment | {"TERM": "dumb", "HOME": str(folder), "PROMPT_TOOLKIT_NO_CPR": "1"}
        line = [*PENSTOCK, "sql", *arguments]
        self.process = subprocess.Popen(
            line, cwd=folder, env=environment, stdin=other, stdout=other, stderr=other, start_new_session=True
        )
        os.close(other)

    def await_text(self, text, seconds=60.0):
        """Wait until a text is seen behind what was seen before."""
        last = time.monotonic() + seconds
        while text not in self.seen:
            assert time.monotonic() < last, self.seen
            if select.select([self._own], [], [], 0.1)[0]:
                self.seen += os.read(self._own, 1 << 16).decode("utf-8", "replace")
        self.seen = self.seen.partition(text)[2]

    def type(self, text):
        os.write(self._own, text.encode())

    def leave(self):
        """Ctrl-D until it is taken, as a prompt is seen before it reads; the code with which the process has ended."""
        last = time.monotonic() + 60
        while self.process.poll() is None and time.monotonic() < last:
            self.type("\x04")
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=1)
        return self.process.poll()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._own)


@pytest.fixture
def shell(java, tmp_path):
    opened = []

    def open_shell(program):
        (tmp_path / "program.sql").write_text(program, encoding="utf-8")
        opened.append(Terminal(["program.sql"], tmp_path, java.environment))
        return opened[-1]

    yield open_shell
    for item in opened:
        item.close()


def test_the_shell_answers_an_insert(java, shell):
    terminal = shell("CREATE TABLE t (k INT, x INT); CREATE VIEW v AS SELECT k, sum(x) AS s FROM t GROUP BY k;")
    terminal.await_text("penstock>")
    terminal.type("INSERT INTO t VALUES (1, 2), (1, 40);\r")
    terminal.await_text("(1, 42)")
    assert terminal.leave() == 0
    assert java.calls() == []


def test_the_prompt_does_not_wait_for_spark(java, shell):
    """The Java of this test never answers: the prompt is there all the same, and leaving it leaves no process."""
    terminal = shell("CREATE TABLE t (k INT, s STRING); CREATE VIEW v AS SELECT soundex(s) AS x FROM t;")
    terminal.await_text("penstock>")
    java.await_start()
    assert java.running()
    began = time.monotonic()
    assert terminal.leave() == 0
    assert time.monotonic() - began < 20
    assert java.gone()
