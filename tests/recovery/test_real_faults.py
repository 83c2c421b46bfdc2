"""A real process on a disk that is full, read-only or broken, and one whose clock jumps: it says so, and goes on.

The disk is a small tmpfs, which wants the right to mount; the clock is turned by Debian's faketime, and its fiu-utils
have calls of the system fail. A test that has not got what it wants is skipped, and says what to install.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.extended
COMMAND = [sys.executable, "-m", "penstock.cli.main", "run", "--quiet", "--engine", "native", "--once"]
BIG = 3_000
SECONDS = 120
# libfiu waits for the loader while it holds its own lock, and the loader for libfiu, where a library that is being
# loaded has begun a thread that allocates, as Arrow's jemalloc does for its collection.
NO_THREAD_OF_ALLOCATORS = {"JE_ARROW_MALLOC_CONF": "background_thread:false"}


def program(folder):
    source = f"'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'rows_per_step' = '1000'"
    return (
        f"SET state_seconds = '0'; CREATE STREAM t (id INT, k STRING) WITH ({source});"
        f"CREATE VIEW ids AS SELECT id, COUNT(*) AS n FROM t GROUP BY id;"
    )


def fill(folder, name, first, count=BIG):
    (folder / "in").mkdir(exist_ok=True)
    rows = (json.dumps({"id": number, "k": f"{number * 7919:x}" * 20}) for number in range(first, first + count))
    (folder / "in" / name).write_text("".join(f"{row}\n" for row in rows))


def run(folder, place, *before):
    command = [*before, *COMMAND, "--dir", str(place / "dir"), "--output", str(place / "out"), "--format", "json"]
    command += ["-e", program(folder)]
    environment = {**os.environ, **NO_THREAD_OF_ALLOCATORS}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS, env=environment)


def shown(place):
    rows = Counter()
    for path in (place / "out").glob("ids/*.json"):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            rows[row["id"], row["n"]] += row["__weight"]
    return {row: weight for row, weight in rows.items() if weight}


def once(count):
    return {(number, 1): 1 for number in range(count)}


@pytest.fixture
def disk(tmp_path):
    """A small file system, and a function that mounts it with other options."""
    place = tmp_path / "disk"
    place.mkdir()

    def mounted(options):
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    if not mounted("size=256k"):
        pytest.skip("a file system of its own cannot be mounted here: that wants root")
    yield place, lambda options: mounted(f"remount,{options}")
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_is_said_and_the_run_goes_on_when_there_is_room(disk, tmp_path):
    place, mounted = disk
    fill(tmp_path, "1.json", 0)
    found = run(tmp_path, place)
    assert found.returncode == 1, found.stderr
    assert "No space left on device" in found.stderr
    assert mounted("size=64m")
    found = run(tmp_path, place)
    assert found.returncode == 0, found.stderr
    assert shown(place) == once(BIG)


def test_a_read_only_disk_is_said_and_the_run_goes_on_when_it_can_be_written(disk, tmp_path):
    place, mounted = disk
    assert mounted("size=64m")
    fill(tmp_path, "1.json", 0, 10)
    assert run(tmp_path, place).returncode == 0
    fill(tmp_path, "2.json", 10, 10)
    assert mounted("ro")
    found = run(tmp_path, place)
    assert (found.returncode, "Read-only file system" in found.stderr) == (1, True), found.stderr
    assert mounted("rw")
    assert run(tmp_path, place).returncode == 0
    assert shown(place) == once(20)


@pytest.mark.skipif(not shutil.which("faketime"), reason="there is no faketime. On Debian: apt-get install faketime")
def test_the_clock_of_steps_never_goes_back(tmp_path):
    for number, clock in enumerate(("2030-06-01 12:00:00", "2030-05-01 12:00:00", "2031-01-01 00:00:00")):
        fill(tmp_path, f"{number}.json", 10 * number, 10)
        found = run(tmp_path, tmp_path, "faketime", clock)
        assert found.returncode == 0, found.stderr
    steps = sorted((Path(tmp_path) / "dir" / "log" / "steps").glob("*.json"))
    clocks = [json.loads(path.read_text())["clock"] for path in steps]
    assert clocks == sorted(clocks)
    assert (clocks[0][:7], clocks[-1][:4]) == ("2030-06", "2031")
    assert shown(tmp_path) == once(30)


@pytest.mark.skipif(not shutil.which("fiu-run"), reason="there is no fiu-run. On Debian: apt-get install fiu-utils")
@pytest.mark.parametrize("call", ["rw/write", "rw/pwrite", "sync/fsync", "dir/rename"])
def test_a_disk_that_fails_now_and_then_loses_nothing(call, tmp_path):
    fill(tmp_path, "1.json", 0)
    failing = f"enable_random name=posix/io/{call},probability=0.05,failinfo=5"
    for _ in range(3):
        found = run(tmp_path, tmp_path, "fiu-run", "-x", "-f", "", "-c", failing)
        assert found.returncode in (0, 1), found.stderr
        assert "INTERNAL" not in found.stderr
        assert "Traceback" not in found.stderr
        if found.returncode:
            # What says so is written by such calls too.
            assert "nput/output error" in found.stderr or not found.stderr.strip()
    found = run(tmp_path, tmp_path)
    assert found.returncode == 0, found.stderr
    assert shown(tmp_path) == once(BIG)
