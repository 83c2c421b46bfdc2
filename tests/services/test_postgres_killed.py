"""From PostgreSQL to PostgreSQL by a process that is killed again and again: each row once, and the totals right."""

import random
import subprocess
import sys
import time

from tests.services.test_postgres_output import asked

_SECONDS = 120


def reached(database, wanted):
    """Wait until the output has a row for each event, as far as there is to be one."""
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        (there,) = asked(database, "SELECT to_regclass('copied') IS NOT NULL")[0]
        if there and asked(database, "SELECT count(*) FROM copied")[0][0] >= wanted:
            return
        time.sleep(0.1)
    message = f"{wanted} rows have not come in {_SECONDS} seconds"
    raise AssertionError(message)


def test_a_process_that_is_killed_copies_each_row_once(database, tmp_path):
    asked(database, "CREATE TABLE events (id int PRIMARY KEY, k text)")
    asked(database, "INSERT INTO events SELECT i, 'k' || i % 3 FROM generate_series(1, 10) i")
    place = f"'connector' = 'postgres', 'connection' = '{database}'"
    program = (
        f"CREATE STREAM events (id INT, k STRING) WITH ({place});"
        f"CREATE VIEW copied WITH ({place}, 'create' = 'true') AS SELECT id, k FROM events;"
        f"CREATE VIEW totals WITH ({place}, 'create' = 'true') AS SELECT k, COUNT(*) AS n FROM events GROUP BY k;"
    )
    command = [sys.executable, "-m", "penstock.cli.main", "run", "--quiet", "--engine", "native"]
    command += ["--dir", tmp_path / "dir", "-e", program]
    chance, count = random.Random(3), 10
    for attempt in range(4):
        with subprocess.Popen(command) as process:
            reached(database, 1 if attempt == 0 else count - 20)
            for _ in range(chance.randrange(3, 12)):
                asked(
                    database,
                    f"INSERT INTO events SELECT i, 'k' || i % 3 FROM generate_series({count + 1}, {count + 5}) i",
                )
                count += 5
                time.sleep(chance.random() / 10)
            process.kill()
    subprocess.run([*command, "--once"], check=True)
    assert asked(database, "SELECT id, k FROM copied") == asked(database, "SELECT id, k FROM events")
    assert asked(database, "SELECT k, n FROM totals") == asked(database, "SELECT k, count(*) FROM events GROUP BY k")
