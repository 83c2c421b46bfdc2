"""An executor is killed in the middle of a step: what it held is there a second time, and no answer changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import executors
import pyspark
import pytest
import yaml

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "cluster"
QUERIES = {
    "by_city": "SELECT city, count(*), sum(amount)::BIGINT, max(amount) FROM s JOIN shops USING (shop) GROUP BY city",
    "largest": "SELECT id, shop, amount FROM s ORDER BY amount DESC, id LIMIT 5",
}


@pytest.mark.extended
def test_no_answer_changes_when_an_executor_is_lost(tmp_path):
    program = Path(executors.__file__)
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path / "dir")], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert len(found) == len(executors.STEPS)
    for number, views in enumerate(found, start=1):
        for view, rows in views.items():
            assert sorted(map(tuple, rows)) == recomputed(view, number)


def recomputed(view, steps):
    """The view over all rows of the first steps, the last with an id alone."""
    with duckdb.connect() as connection:
        shops = executors.shops()
        connection.execute("CREATE TABLE shops (shop BIGINT, city TEXT)")
        connection.executemany("INSERT INTO shops VALUES (?, ?)", shops)
        connection.execute("CREATE TABLE s (id BIGINT PRIMARY KEY, shop BIGINT, amount BIGINT)")
        for step in executors.STEPS[:steps]:
            rows = step["sales"]
            connection.register("rows", rows)
            connection.execute("INSERT OR REPLACE INTO s SELECT * FROM rows")
        return sorted(connection.execute(QUERIES[view]).fetchall())


@pytest.mark.extended
@pytest.mark.parametrize("engine", ["spark", "auto"])
def test_state_goes_on_where_executors_are_others(engine, tmp_path):
    """One machine, a cluster, and one machine again: each goes on from the files that the one before has written.

    With `auto` operators work in the process but for the cluster, so that their state moves there and back.
    """
    program = Path(executors.__file__).with_name("going_on.py")
    for number, master in enumerate(("local[2]", executors.MASTER, "local[1]")):
        command = [sys.executable, str(program), str(tmp_path / "dir"), master, engine, str(number)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
        assert done.returncode == 0, done.stderr[-4000:]
        found = json.loads(done.stdout.strip().splitlines()[-1])
        assert found["last"] == number
        on_spark = engine == "spark" or master == executors.MASTER
        assert bool(list((tmp_path / "dir" / "state").glob("*/spark-*/*.parquet"))) == on_spark
        for view, rows in found["views"].items():
            assert sorted(map(tuple, rows)) == recomputed(view, number + 1)


@pytest.mark.extended
def test_a_job_of_spark_submit_goes_on_where_it_was(tmp_path):
    for number in range(2):
        answers = submitted(tmp_path, f'{{"id": {number}, "shop": "s", "amount": 2.5, "at": "2026-01-01T10:00:00"}}\n')
    assert [json.loads(line)["insert"]["sold"] for line in answers] == [1, 2]


def submitted(folder, row):
    """What the example has written when it has read one file more."""
    shared = folder / "shared"
    (shared / "incoming").mkdir(parents=True, exist_ok=True)
    (shared / "incoming" / f"{len(list((shared / 'incoming').iterdir()))}.json").write_text(row)
    program = folder / "sales.sql"
    program.write_text((EXAMPLE / "sales.sql").read_text().replace("/shared", str(shared)))
    submit = Path(sys.executable).parent / "spark-submit"
    options = ["--master", executors.MASTER, "--conf", "spark.executor.memory=512m"]
    done = subprocess.run(
        list(map(str, [submit, *options, EXAMPLE / "job.py", program, "--dir", folder / "dir", "--once"])),
        env={**os.environ, "SPARK_HOME": str(Path(pyspark.__file__).parent), "PYSPARK_PYTHON": sys.executable},
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    written = sorted((shared / "answers").glob("part-*.json"))
    return [line for path in written for line in path.read_text().splitlines()]


def test_the_application_names_what_the_image_has():
    application = yaml.safe_load((EXAMPLE / "application.yaml").read_text())["spec"]
    image = (EXAMPLE / "Dockerfile").read_text()
    *copied, folder = next(line.split()[1:] for line in image.splitlines() if line.startswith("COPY job.py"))
    named = [application["pyFiles"].removeprefix("local://"), application["driverArgs"][0]]
    assert named == [f"{folder}{name}" for name in copied]
    assert all((EXAMPLE / name).is_file() for name in copied)
    assert f"SPARK_VERSION={application['runtimeVersions']['sparkVersion']}" in image
