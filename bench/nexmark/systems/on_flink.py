"""Flink SQL in an environment of its own (`.venv-flink`), with a sink written in Java that sums as the others do.

Its source hands out whole files in no order that one could rely on, so it reads the events from two files for each
table, every other row in each, both in order of arrival: one for each of its two readers.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.jars import fetched
from bench.nexmark.answers import Answer
from bench.nexmark.files import SIDE_INPUT, Data
from bench.nexmark.generate import TABLES
from bench.nexmark.measure import Measured
from bench.nexmark.queries import COLUMNS, Query
from bench.nexmark.task import Task, UnavailableError

_ROOT = Path(__file__).resolve().parents[3]
_HOME = _ROOT / ".venv-flink"
_SOURCES = Path(__file__).resolve().parents[1] / "flink"
_SERVICE = "META-INF/services/org.apache.flink.table.factories.Factory"
_PARQUET = "org.apache.flink:flink-sql-parquet:{version}"
_HALVES = 2
_WAYS = 2  # of running each query
_LOOK = 0.2


def measured(task: Task) -> Iterator[Measured]:
    """For each query both with mini-batch and without."""
    jars = [_sink(task.scratch), *flink_jars()]
    full, empty = task.data.folder / "flink", task.scratch / "empty"
    _write_halves(task.data, full)
    _write_empty(task.data, empty)
    answers = task.scratch / "answers"
    answers.mkdir(exist_ok=True)
    order = {
        "jars": ";".join(path.resolve().as_uri() for path in jars),
        "full": str(full),
        "empty": str(empty),
        "answers": str(answers),
        "queries": [_ordered(query) for query in task.queries],
    }
    yield from _results(task, order)


def flink_jars() -> list[Path]:
    """What Flink needs beside its package to read Parquet; UnavailableError where it, or that, is not installed."""
    return [_parquet(), *_hadoop()]


def _ordered(query: Query) -> dict[str, Any]:
    names = [*query.tables, *([SIDE_INPUT] if query.side_input else [])]
    tables = [_declaration(name) for name in names]
    return {"name": query.name, "text": query.text("flink"), "tables": tables, "columns": query.determined}


def _declaration(table: str) -> str:
    kinds = {"TIMESTAMP": "TIMESTAMP(3)"}
    columns = [f"`{name}` {kinds.get(kind, kind)}" for name, kind in COLUMNS[table].items()]
    if "date_time" in COLUMNS[table]:
        columns.append("WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND")
    path = f"'path' = 'file://{{folder}}/{table}'"
    listed = ", ".join(columns)
    return (
        f"CREATE TABLE {table} ({listed}) WITH ('connector' = 'filesystem', {path}, 'format' = 'parquet', "
        "'parquet.utc-timezone' = 'true')"
    )


def _results(task: Task, order: dict[str, Any]) -> Iterator[Measured]:
    orders, lines = task.scratch / "flink-order.json", task.scratch / "flink-result.jsonl"
    orders.write_text(json.dumps(order))
    lines.touch()
    settings = {"PYTHONPATH": str(_ROOT), "JVM_ARGS": f"-Xmx{task.memory}"}
    job = Path(__file__).parent / "flink_job.py"
    command = [str(_HOME / "bin" / "python"), str(job), str(orders), str(lines)]
    with subprocess.Popen(command, env=os.environ | settings) as process:  # noqa: S603 - our own script
        try:
            yield from _come(task, process, lines)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)


def _come(task: Task, process: subprocess.Popen[bytes], lines: Path) -> Iterator[Measured]:
    """What is measured of each query as soon as both ways of running it have been; an hour is not lost with a run."""
    left = list(task.queries)
    ended = False
    while left and not ended:
        ended = process.poll() is not None
        said = [json.loads(line) for line in lines.read_text().splitlines(keepends=True) if line.endswith("\n")]
        while left and len(found := [one for one in said if one["query"] == left[0].name]) == _WAYS:
            yield _ways(task, left.pop(0), found)
        time.sleep(_LOOK)


def _ways(task: Task, query: Query, said: list[dict[str, Any]]) -> Measured:
    """The quicker of two ways, and the slower one beside it: which of them is right is not known here."""
    events = task.data.stream.events
    given = sorted((one for one in said if "refused" not in one), key=lambda one: one["seconds"] or 0.0)
    if not given:
        return Measured(query.name, task.system, events, refused=said[0]["refused"] if said else "no answer")
    quicker, *slower = [
        Measured(
            query.name,
            task.system,
            events,
            seconds=one["seconds"],
            noise=one["noise"],
            peak_mib=one["peak_mib"],
            answers=[Answer(one["rows"], one["checksum"])],
            note="with mini-batch" if one["mini_batch"] else "without mini-batch",
        )
        for one in given
    ]
    return replace(quicker, slower=tuple(slower))


def _write_halves(data: Data, folder: Path) -> None:
    """The same rows in the same order, every other one in each of two files; from an earlier run if they are there."""
    if (folder / "done").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    for table in (*TABLES, SIDE_INPUT):
        (folder / table).mkdir(parents=True)
    shutil.copy(data.side_input(), folder / SIDE_INPUT / "0.parquet")
    for table in TABLES:
        schema = pq.read_schema(data.file(table, 0))
        writers = [pq.ParquetWriter(folder / table / f"{half}.parquet", schema) for half in range(_HALVES)]
        for path in data.files(table):
            rows = pq.read_table(path)
            for half, writer in enumerate(writers):
                writer.write_table(rows.take(pa.array(range(half, rows.num_rows, _HALVES))))
        for writer in writers:
            writer.close()
    (folder / "done").touch()


def _write_empty(data: Data, folder: Path) -> None:
    for table in (*TABLES, SIDE_INPUT):
        (folder / table).mkdir(parents=True, exist_ok=True)
        source = data.side_input() if table == SIDE_INPUT else data.file(table, 0)
        schema = pq.read_schema(source)
        for half in range(_HALVES):
            pq.write_table(schema.empty_table(), folder / table / f"{half}.parquet")


def _sink(scratch: Path) -> Path:
    """The sink, compiled against the Flink that is there; this needs a JDK."""
    classes, jar = scratch / "classes", scratch / "checksum.jar"
    libraries = os.pathsep.join(str(path) for path in _libraries().glob("*.jar"))
    compiler = shutil.which("javac")
    if compiler is None:
        message = "its sink has to be compiled, and there is no javac"
        raise UnavailableError(message)
    sources = [str(path) for path in sorted(_SOURCES.glob("*.java"))]
    subprocess.run([compiler, "-nowarn", "-cp", libraries, "-d", str(classes), *sources], check=True)  # noqa: S603
    with zipfile.ZipFile(jar, "w") as packed:
        for path in classes.rglob("*.class"):
            packed.write(path, path.relative_to(classes))
        packed.writestr(_SERVICE, "nexmark.ChecksumSink\n")
    return jar


def _libraries() -> Path:
    found = next(_HOME.glob("lib/python*/site-packages/pyflink/lib"), None)
    if found is None:
        message = f"there is no apache-flink in {_HOME.name}: make flink puts it there"
        raise UnavailableError(message)
    return found


def _parquet() -> Path:
    """Flink's Parquet format, which its package lacks; Maven copies it beside the environment once."""
    version = next(_libraries().glob("flink-dist-*.jar")).stem.removeprefix("flink-dist-")
    return fetched(_PARQUET.format(version=version), _HOME / "jars")


def _hadoop() -> list[Path]:
    """The classes of Hadoop that the Parquet format wants: those that come with Spark."""
    import pyspark

    return sorted((Path(pyspark.__file__).parent / "jars").glob("hadoop-client-*.jar"))
