"""Errors from around say what could not be written or reached, and where."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager

import pyarrow as pa
import pytest

from penstock.errors import DataError
from penstock.outputs.lines import FolderOutput
from penstock.steps.durable import write_atomically


@contextmanager
def small_disk():
    """No file may be larger than 100 bytes within the block, as on a disk that is full; pytest may write one later."""
    before, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


class Told:
    """A change of many rows."""

    view, step, columns, delta = "v", 1, ("a",), object()
    rows = tuple((1, (number,)) for number in range(1000))

    def arrow(self):
        return pa.table({"a": list(range(1000)), "__weight": [1] * 1000})


@pytest.mark.parametrize("style", ["json", "parquet"])
def test_an_output_that_has_no_room_names_its_file_and_leaves_no_part_of_it(style, tmp_path):
    message = f"{tmp_path}/v/step-000000000001.{style} cannot be written: "
    with small_disk(), pytest.raises(DataError, match=message) as caught:
        FolderOutput(tmp_path, style).write({"v": Told()})
    assert caught.value.code == "CANNOT_WRITE"
    assert list((tmp_path / "v").iterdir()) == []


def test_a_full_disk_is_called_so(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match=r"step\.json cannot be written: No space left on device") as caught:
        write_atomically(tmp_path / "step.json", "{}")
    assert "make room" in caught.value.diagnostics[0].hint
    assert list(tmp_path.iterdir()) == []


LOST = """
import sys, penstock
from penstock.backends.spark import jvm
TEXT = "CREATE TABLE t (a INT); CREATE VIEW v AS SELECT SUM(a) AS s FROM t"
first = penstock.Pipeline(TEXT, master="local[1]", engine="spark")
first.execute("INSERT INTO t VALUES (1)")
jvm._processes[-1].kill()
for ask in (lambda: first.execute("INSERT INTO t VALUES (2)"), lambda: first.query("SELECT * FROM v").rows):
    try:
        ask()
    except penstock.errors.PenstockError as error:
        print(error.code, error.diagnostics[0].message)
first.close()
with penstock.Pipeline(TEXT, master="local[1]", engine="spark") as second:
    print(second.execute("INSERT INTO t VALUES (7)")["v"].rows)
"""


@pytest.mark.extended
@pytest.mark.spark
def test_a_lost_jvm_is_said_and_the_pipeline_can_be_made_again_in_the_same_process():
    done = subprocess.run([sys.executable, "-c", LOST], capture_output=True, text=True, check=False)
    said = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert all(line.startswith("JVM_LOST Spark's JVM is gone: process ") for line in said[:2])
    assert "was killed by signal 9" in said[0]
    assert said[2] == "[(1, (7,))]"
