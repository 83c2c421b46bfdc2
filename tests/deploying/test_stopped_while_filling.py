"""A deploy by its command while a run is at work: it says how far new views are, and Ctrl-C gives it up."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections import Counter

from tests.deploying.test_killed_while_filling import COMMAND, TABLE, environment, running
from tests.written import shown

ROWS = 30_000
KEYS = 50
SLOW = "CREATE VIEW pairs AS SELECT a.k, COUNT(*) AS n FROM s AS a JOIN s AS b ON a.k = b.k GROUP BY a.k;\n"
QUICK = "CREATE VIEW most AS SELECT k, MAX(id) AS m FROM s GROUP BY k;\n"


def write(folder, name, first, count):
    (folder / "in").mkdir(exist_ok=True)
    rows = (json.dumps({"id": at, "k": at % KEYS}) for at in range(first, first + count))
    (folder / "in" / name).write_text("".join(f"{row}\n" for row in rows))


def wait_for(folder, name, expected):
    until = time.monotonic() + 60
    while shown(folder).get(name) != expected:
        assert time.monotonic() < until, shown(folder).get(name)
        time.sleep(0.1)


def counted(rows):
    return Counter({json.dumps({"k": k, "n": len(range(k, rows, KEYS))}, sort_keys=True): 1 for k in range(KEYS)})


def deploy(folder, program):
    command = [*COMMAND, "deploy", str(program), "--dir", str(folder / "state"), "--yes"]
    return subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_ctrl_c_gives_it_up_and_the_run_goes_on_and_can_be_changed(tmp_path):
    write(tmp_path, "first.json", 0, ROWS)
    old, slow, quick = (tmp_path / f"{name}.sql" for name in ("old", "slow", "quick"))
    old.write_text(TABLE.format(folder=tmp_path))
    slow.write_text(old.read_text() + SLOW)
    quick.write_text(old.read_text() + QUICK)
    with running(tmp_path, old) as process:
        try:
            wait_for(tmp_path, "counted", counted(ROWS))
            with deploy(tmp_path, slow) as command:
                said = command.stderr.readline()
                assert "filling pairs: " in said, said + command.stderr.read()
                command.send_signal(signal.SIGINT)
                _, more = command.communicate(timeout=60)
            assert command.returncode == 130, more
            assert "INTERNAL" not in more
            write(tmp_path, "second.json", ROWS, KEYS)  # a row for each key
            wait_for(tmp_path, "counted", counted(ROWS + KEYS))
            with deploy(tmp_path, quick) as command:
                out, more = command.communicate(timeout=60)
            assert command.returncode == 0, more
            assert "most" in out
            expected = [json.dumps({"k": k, "m": ROWS + k}, sort_keys=True) for k in range(KEYS)]
            wait_for(tmp_path, "most", Counter(expected))
        finally:
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=60)
    assert "INTERNAL" not in told
    assert shown(tmp_path).keys() == {"counted", "most"}
