"""A directory, and a temporary folder, belong to one living process."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from penstock.backends.temporary import TemporaryFolder
from penstock.errors import DataError
from penstock.pipeline.pipeline import Pipeline
from penstock.steps.directory import DirectoryLock, directory_id
from penstock.steps.log import InputLog

HOLDING = """
import sys
from pathlib import Path
from penstock.backends.temporary import TemporaryFolder
from penstock.steps.directory import DirectoryLock
lock, folder = DirectoryLock(Path(sys.argv[1])), TemporaryFolder("log")
lock.take()
print(folder.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path, monkeypatch):
    """Another process that holds a directory and a temporary folder: itself, and the path of that folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(tmp_path / "kept")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield process, tmp_path / process.stdout.readline().strip().rpartition("/")[2]
    process.kill()
    process.communicate()


def test_a_directory_is_refused_while_another_process_has_it_and_taken_over_when_that_is_dead(other, tmp_path):
    process, _ = other
    with pytest.raises(DataError, match=f"in use by process {process.pid} on ") as caught:
        InputLog(tmp_path / "kept")
    assert caught.value.code == "DIRECTORY_IN_USE"
    process.send_signal(signal.SIGKILL)
    process.wait()
    InputLog(tmp_path / "kept").close()


def test_a_directory_is_one_pipelines_within_a_process_too(tmp_path):
    first = InputLog(tmp_path)
    with pytest.raises(DataError):
        InputLog(tmp_path)
    first.close()
    InputLog(tmp_path).close()


def test_a_directory_that_cannot_be_used_is_let_go(tmp_path):
    with Pipeline("CREATE TABLE t (a INT);", directory=tmp_path, engine="native") as pipeline:
        pipeline.step({"t": [(1,)]})
    with pytest.raises(DataError, match="belongs to another program"):
        Pipeline("CREATE TABLE t (b STRING);", directory=tmp_path, engine="native").step({})
    DirectoryLock(tmp_path).take()


def test_temporary_folders_go_with_their_process_or_with_the_next_one_if_it_was_killed(other):
    process, left = other
    TemporaryFolder("log").remove()
    assert left.is_dir()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert left.is_dir()
    TemporaryFolder("log").remove()
    assert not left.exists()


def test_a_temporary_folder_goes_with_a_process_that_ends(other):
    process, left = other
    process.communicate("")
    assert not left.exists()


def test_a_log_without_a_directory_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    InputLog().close()
    assert list(tmp_path.iterdir()) == []


def test_the_id_of_a_directory_stays(tmp_path):
    assert directory_id(tmp_path) == directory_id(tmp_path)
    assert directory_id(tmp_path) != directory_id(tmp_path / "other")
