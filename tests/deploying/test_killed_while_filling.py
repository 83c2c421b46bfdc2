"""A real process that is killed while it fills new views beside those at work goes on with the program that it had."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from tests.written import shown

from penstock.failpoints import VARIABLE

COMMAND = [sys.executable, "-c", "from penstock.cli.main import main; main()"]
TABLE = """
CREATE STREAM s (id INT, k INT) WITH ('connector' = 'files', 'path' = '{folder}/in', 'format' = 'json');
CREATE VIEW counted AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;
"""
ADDED = "CREATE VIEW added AS SELECT k, MAX(id) AS m FROM s GROUP BY k;\n"
ROWS = 5_000


def environment(failpoint=None):
    given = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return given if failpoint is None else {**given, VARIABLE: failpoint}


def running(folder, program, *more, failpoint=None):
    places = ["--dir", str(folder / "state"), "--output", str(folder / "out"), "--format", "json"]
    arguments = ["run", "--quiet", "--engine", "native", *more, *places, str(program)]
    return subprocess.Popen([*COMMAND, *arguments], env=environment(failpoint), stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.extended)])
def test_the_program_that_it_had_goes_on_and_can_be_changed_then(tmp_path, times):
    (tmp_path / "in").mkdir()
    rows = "".join(json.dumps({"id": at, "k": at % 7}) + "\n" for at in range(ROWS))
    (tmp_path / "in" / "first.json").write_text(rows)
    old, new = tmp_path / "old.sql", tmp_path / "new.sql"
    old.write_text(TABLE.format(folder=tmp_path))
    new.write_text(old.read_text() + ADDED)
    expected = Counter({json.dumps({"k": k, "n": len(range(k, ROWS, 7))}, sort_keys=True): 1 for k in range(7)})
    with running(tmp_path, old, failpoint=f"deploy.filling:{times}") as process:
        until = time.monotonic() + 60
        while shown(tmp_path).get("counted") != expected and time.monotonic() < until:
            time.sleep(0.1)
        deploy = [*COMMAND, "deploy", str(new), "--dir", str(tmp_path / "state"), "--yes"]
        told = subprocess.run(deploy, env=environment(), capture_output=True, text=True, check=False)
        assert process.wait(60) == -signal.SIGKILL, process.stderr.read()
    assert told.returncode != 0
    assert "INTERNAL" not in told.stderr
    (tmp_path / "in" / "second.json").write_text(json.dumps({"id": ROWS, "k": ROWS % 7}) + "\n")
    with running(tmp_path, old, "--once") as process:
        assert process.wait(60) == 0, process.stderr.read()
    of_views = shown(tmp_path)
    assert of_views.keys() == {"counted"}
    assert sum(json.loads(row)["n"] for row in of_views["counted"]) == ROWS + 1
    assert set(of_views["counted"].values()) == {1}
    with running(tmp_path, new, "--once", "--yes") as process:
        _, told = process.communicate(timeout=60)
        assert process.returncode == 0, told
        assert "is not used" not in told  # the state of the views that stay
    assert len(shown(tmp_path)["added"]) == 7
