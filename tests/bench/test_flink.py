"""Jobs of Flink that do not run: the figure says why, and the last lines of what the process said are shown."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from bench.nexmark.task import UnavailableError
from bench.timelines import _on_flink

from bench import flink

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file for a job, which this Python runs."""
    monkeypatch.setattr(flink, "PYTHON", flink.Path(sys.executable))
    monkeypatch.setattr(flink, "_HERE", tmp_path)
    return tmp_path / "job.py"


def test_a_job_that_fails_is_said_with_its_last_lines(job: Path, capfd: pytest.CaptureFixture[str]) -> None:
    job.write_text("print('1')\ndef begin():\n    raise ValueError('no such table')\nbegin()\n")
    with pytest.raises(UnavailableError) as failure:
        flink.output("job.py")
    assert str(failure.value) == "job.py has ended with 1, ValueError: no such table"
    assert flink.without(failure.value) == (
        "Flink has not run beside them: job.py has ended with 1, ValueError: no such table."
    )
    assert "line 3, in begin" in capfd.readouterr().err


def test_a_job_gets_its_arguments_and_memory_and_gives_its_last_line(job: Path) -> None:
    job.write_text("import os, sys\nprint('log')\nprint(sys.argv[1], os.environ['JVM_ARGS'])\n")
    assert flink.output("job.py", "x", memory="4g").strip() == "x -Xmx4g"


def test_a_job_that_prints_nothing_is_no_answer(job: Path) -> None:
    job.write_text("")
    with pytest.raises(UnavailableError, match="printed nothing"):
        flink.output("job.py")


def test_latencies_want_a_result_for_each_row(job: Path) -> None:
    job.with_name("flink_latency.py").write_text("print('+I[1, 1, 5, 2024-01-01T00:00:00.5]')\n")
    assert len(flink.latencies(0, 1)) == 1
    with pytest.raises(UnavailableError, match="1 results of 2"):
        flink.latencies(1, 1)


def test_a_machine_without_flink_says_what_makes_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("bench.nexmark.systems.on_flink._HOME", tmp_path)
    found, said = _on_flink(tmp_path)
    assert found == {}
    assert "make flink" in said


def test_the_job_needs_nothing_of_penstock() -> None:
    without = "import sys; sys.modules.update(dict.fromkeys(['penstock', 'duckdb', 'sqlglot', 'pyspark']))"
    subprocess.run([sys.executable, "-c", f"{without}; import bench.nexmark.measure"], check=True)
