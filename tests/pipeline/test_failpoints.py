"""A real process that is killed at each place where it writes goes on: nothing is lost, and nothing is there twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.written import shown

from penstock.failpoints import NAMES, VARIABLE

PROGRAM = """
CREATE TABLE t (id INT PRIMARY KEY, k INT, ts TIMESTAMP LATENESS INTERVAL 10 SECONDS);
CREATE STREAM s (id INT, ts TIMESTAMP LATENESS INTERVAL 2 SECONDS)
    WITH ('connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'history' = 'none', 'rows_per_step' = '4');
CREATE TABLE copied (id INT);
CREATE VIEW ids AS SELECT id, COUNT(*) AS n FROM t GROUP BY id;
CREATE VIEW groups AS SELECT k, COUNT(*) AS n, MAX(id) AS m FROM t GROUP BY k;
CREATE VIEW seen AS SELECT id FROM s;
CREATE VIEW written AS SELECT id FROM copied;
CREATE VIEW late AS SELECT message, COUNT(*) AS n FROM error_view GROUP BY message;
INSERT INTO t VALUES (1, 1, TIMESTAMP '2025-01-01 00:00:00'), (2, 1, TIMESTAMP '2025-01-01 00:01:00');
INSERT INTO copied SELECT STREAM id FROM s;
INSERT INTO t VALUES (3, 2, TIMESTAMP '2025-01-01 00:00:01');
BEGIN;
DELETE FROM t WHERE id = 2;
INSERT INTO t VALUES (4, 1, TIMESTAMP '2025-01-01 00:02:00');
COMMIT;
"""
# Those are reached by `penstock deploy`, by tables of a database, and by outputs that a program declares, which are
# killed in tests/deploying, tests/services and tests/recovery.
_OF_OTHERS = ("deploy.", "outbox.", "receiver.")
ELSEWHERE = {"source.slot", "source.copied", *(name for name in NAMES if name.startswith(_OF_OTHERS))}
REACHED = [name for name in NAMES if name not in ELSEWHERE]
DEFAULT = ("log.manifest",)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "in").mkdir()
    for number in range(3):
        rows = [{"id": 10 * number + at, "ts": f"2025-01-01 00:00:{10 * number + at:02}"} for at in range(4)]
        (folder / "in" / f"{number}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = folder / "program.sql"
    path.write_text(PROGRAM.format(folder=folder), encoding="utf-8")
    return path


def with_state(program: Path) -> Path:
    """The same program, whose state is written with each step, and whose log is cut."""
    path = program.with_name("with_state.sql")
    settings = "SET state_seconds = '0'; SET log_retention = 'recovery';"
    path.write_text(f"{settings}\n{program.read_text(encoding='utf-8')}", encoding="utf-8")
    return path


def run(program: Path, folder: Path, failpoint: str | None = None, engine: str = "native") -> int:
    """A run with its directory and output; the exit code of the process."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    if failpoint is not None:
        environment[VARIABLE] = failpoint
    arguments = ["--once", "--quiet", "--engine", engine, "--format", "json"]
    places = ["--dir", str(folder / "state"), "--output", str(folder / "out")]
    command = [
        sys.executable,
        "-c",
        "from penstock.cli.main import main; main()",
        "run",
        *arguments,
        *places,
        str(program),
    ]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode in {0, -signal.SIGKILL}, found.stderr
    return found.returncode


@pytest.fixture(scope="module")
def expected(program: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Counter[Any]]:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert run(program, folder) == 0
    found = shown(folder)
    assert {"ids", "groups", "seen", "written"} <= found.keys()
    assert sum(found["ids"].values()) == 2  # the third row is late
    return found


@pytest.mark.parametrize(
    "name", [*DEFAULT, *(pytest.param(name, marks=pytest.mark.extended) for name in REACHED if name not in DEFAULT)]
)
def test_a_process_that_is_killed_goes_on(
    name: str, program: Path, expected: dict[str, Counter[Any]], tmp_path: Path
) -> None:
    program = with_state(program) if name.startswith("state.") or name == "log.cut" else program
    times = 1 if name == "log.cut" else 2  # it is cut only once there are two snapshots
    assert run(program, tmp_path, f"{name}:{times}") == -signal.SIGKILL, "the failpoint was not reached"
    assert run(program, tmp_path) == 0
    assert shown(tmp_path) == expected


@pytest.mark.extended
@pytest.mark.parametrize("name", ["state.parquet", "state.whole", "log.cut"])
def test_a_process_with_operators_on_spark_goes_on(
    name: str, program: Path, expected: dict[str, Counter[Any]], tmp_path: Path
) -> None:
    kept = with_state(program)
    assert run(kept, tmp_path, name, "spark") == -signal.SIGKILL, "the failpoint was not reached"
    assert run(kept, tmp_path, engine="spark") == 0
    assert shown(tmp_path) == expected
