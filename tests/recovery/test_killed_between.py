"""Real processes that are killed between a source, the log and a receiver: each row is taken once, and given once.

Where a receiver cannot know its step (print, an address that does not honour keys) a step may come twice, and no other.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import load_catalog

from penstock.failpoints import NAMES, VARIABLE

pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.extended

ROWS = [(number, "abc"[number % 3]) for number in range(12)]
TOTALS = Counter(kind for _, kind in ROWS)
WITHIN = {"files", "iceberg"}  # the others commit in one call of a library, or not at all
OUTPUTS = ("files", "delta", "iceberg", "http", "print")
SOURCES = ("files", "delta", "iceberg", "sql", "http", "datagen", "start_after")
OF_RECEIVERS = [name for name in NAMES if name.startswith(("outbox.", "receiver."))]
OF_SOURCES = ["log.data", "log.manifest", "source.before", "source.told"]


@dataclass
class Service:
    """An address that gives rows behind a number, and takes steps with their keys, each of which it honours."""

    steps: dict[str, dict[str, Any]] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)
    port: int = 0


@pytest.fixture
def service() -> Iterator[Service]:
    found = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            after = int(parse_qs(urlsplit(self.path).query).get("after", ["-1"])[0])
            rows = [{"id": number, "kind": kind} for number, kind in ROWS if number > after]
            self.answer(json.dumps(rows[:5]).encode())

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            key = self.headers["Idempotency-Key"]
            found.sent.append(key)
            found.steps.setdefault(key, body)
            self.answer(b"")

        def answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield found
    server.shutdown()
    server.server_close()


def words(**said: object) -> str:
    return ", ".join(f"'{name.replace('__', '.')}' = '{value}'" for name, value in said.items())


def lake(folder: Path) -> dict[str, object]:
    (folder / "lake").mkdir(exist_ok=True)
    return {"type": "sql", "uri": f"sqlite:///{folder}/lake.db", "warehouse": f"file://{folder}/lake"}


def iceberg_words(folder: Path, table: str) -> str:
    said = {f"catalog__{name}": value for name, value in lake(folder).items()}
    return words(connector="iceberg", table=table, **said)


def as_arrow(rows: list[tuple[int, str]]) -> Any:
    schema = pa.schema([("id", pa.int64()), ("kind", pa.string())])
    return pa.Table.from_pylist([{"id": number, "kind": kind} for number, kind in rows], schema=schema)


def source_of(kind: str, folder: Path, service: Service) -> str:
    """The properties of a source that has `ROWS`, which are put there."""
    if kind == "files":
        (folder / "in").mkdir()
        for at in range(0, len(ROWS), 4):
            lines = [json.dumps({"id": number, "kind": word}) for number, word in ROWS[at : at + 4]]
            (folder / "in" / f"{at:02}.json").write_text("\n".join(lines) + "\n")
        return words(connector="files", path=folder / "in", format="json", rows_per_step=3)
    if kind == "spark":
        source_of("files", folder, service)
        said = words(connector="spark", format="json", path=folder / "in", every="0 seconds")
        return f"{said}, {words(checkpoint=folder / 'checkpoint', option__maxFilesPerTrigger=1)}"
    if kind == "start_after":
        write_deltalake(str(folder / "past"), as_arrow(ROWS[:6]))
        (folder / "in").mkdir()
        lines = [json.dumps({"id": number, "kind": word}) for number, word in ROWS[6:]]
        (folder / "in" / "later.json").write_text("\n".join(lines) + "\n")
        later = words(connector="files", path=folder / "in", format="json", rows_per_step=3)
        return f"{later}, 'start_after' = 'delta', 'start_after.path' = '{folder}/past'"
    if kind == "delta":
        for at in range(0, len(ROWS), 4):
            write_deltalake(str(folder / "source"), as_arrow(ROWS[at : at + 4]), mode="append")
        return words(connector="delta", path=folder / "source", rows_per_step=3)
    if kind == "iceberg":
        catalog = load_catalog("default", **{name: str(value) for name, value in lake(folder).items()})
        catalog.create_namespace("shop")
        table = catalog.create_table("shop.rows", as_arrow([]).schema)
        for at in range(0, len(ROWS), 4):
            table.append(as_arrow(ROWS[at : at + 4]))
        return f"{iceberg_words(folder, 'shop.rows')}, 'rows_per_step' = '3'"
    if kind == "sql":
        with sqlite3.connect(folder / "shop.db") as connection:
            connection.execute("CREATE TABLE rows (id INTEGER, kind TEXT)")
            connection.executemany("INSERT INTO rows VALUES (?, ?)", ROWS)
        url = f"sqlite:{folder}/shop.db"
        return words(connector="sql", url=url, table="rows", column="id", every="0 seconds", rows_per_step=3)
    if kind == "http":
        url = f"http://127.0.0.1:{service.port}/rows?after={{id}}"
        return words(connector="http", url=url, every="0 seconds", rows_per_step=3)
    rule = {"fields.id.kind": "sequence", "fields.id.start": 0, "fields.id.end": 11, "number-of-rows": 12}
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in rule.items())
    return f"'connector' = 'datagen', 'rows_per_step' = '3', {listed}"


def output_of(kind: str, folder: Path, service: Service) -> str:
    match kind:
        case "files":
            return words(connector="files", path=folder / "out", format="json", form="append")
        case "delta":
            return words(connector="delta", path=folder / "out", form="append")
        case "iceberg":
            return f"{iceberg_words(folder, 'shop.out')}, 'form' = 'append'"
        case "http":
            return words(connector="http", url=f"http://127.0.0.1:{service.port}/hook", form="append")
        case _:
            return words(connector="print", format="json", form="append")


def given(kind: str, folder: Path, service: Service, printed: list[str]) -> list[tuple[int, str]]:
    """All that a receiver has been given; of what may come twice what it would keep."""
    if kind == "files":
        lines = [line for path in sorted((folder / "out").glob("part-*")) for line in path.read_text().splitlines()]
        rows = [json.loads(line) for line in lines]
    elif kind == "delta":
        rows = DeltaTable(str(folder / "out")).to_pyarrow_table().to_pylist()
    elif kind == "iceberg":
        catalog = load_catalog("default", **{name: str(value) for name, value in lake(folder).items()})
        rows = catalog.load_table("shop.out").scan().to_arrow().to_pylist()
    elif kind == "http":
        rows = [row for body in service.steps.values() for row in body["rows"]]
    else:
        rows = [json.loads(line) for line in dict.fromkeys(printed)]
    return sorted((row["id"], row["kind"]) for row in rows)


def run(program: str, folder: Path, failpoint: str | None = None) -> tuple[int, list[str]]:
    """A run of the program in its directory: the exit code of its process, and the lines that it has printed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    if failpoint is not None:
        environment[VARIABLE] = failpoint
    engine = "auto" if "'spark'" in program else "native"
    command = [sys.executable, "-m", "penstock.cli.main", "run", "--once", "--quiet", "--engine", engine]
    command += ["--dir", str(folder / "state"), "-e", program]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert found.returncode in {0, -signal.SIGKILL}, found.stderr
    return found.returncode, [line for line in found.stdout.splitlines() if '"copied"' in line]


def program_of(source: str, output: str) -> str:
    columns = "id BIGINT, kind STRING"
    return (
        f"CREATE STREAM events ({columns}) WITH ({source});"
        f"CREATE VIEW copied WITH ({output}) AS SELECT id, kind FROM events;"
        "CREATE MATERIALIZED VIEW totals AS SELECT kind, COUNT(*) AS n FROM events GROUP BY kind;"
    )


def reached(kind: str) -> list[str]:
    return [name for name in OF_RECEIVERS if name != "receiver.within" or kind in WITHIN]


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in OUTPUTS for name in reached(kind)])
def test_a_receiver_is_given_each_row_once(kind: str, name: str, tmp_path: Path, service: Service) -> None:
    program = program_of(source_of("files", tmp_path, service), output_of(kind, tmp_path, service))
    code, before = run(program, tmp_path, f"{name}:2")
    assert code == -signal.SIGKILL, "the failpoint was not reached"
    code, after = run(program, tmp_path)
    assert code == 0
    assert given(kind, tmp_path, service, before + after) == ROWS
    twice = len(service.sent) - len(service.steps)
    assert twice == (1 if kind == "http" and name == "receiver.taken" else 0)
    if kind == "print":
        again = sum((Counter(before) & Counter(after)).values())
        assert again == (3 if name == "receiver.taken" else 0)


@pytest.mark.parametrize("times", range(1, 8))
def test_a_folder_has_each_row_once_whichever_of_its_files_is_being_written(
    times: int, tmp_path: Path, service: Service
) -> None:
    """Its claim, its mark, a step that is staged and a file of steps are written one after the other."""
    program = program_of(source_of("files", tmp_path, service), output_of("files", tmp_path, service))
    code, _ = run(program, tmp_path, f"receiver.within:{times}")
    assert code == -signal.SIGKILL, "the failpoint was not reached"
    assert run(program, tmp_path)[0] == 0
    assert given("files", tmp_path, service, []) == ROWS


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((kind, name) for kind in SOURCES for name in OF_SOURCES),
        *(pytest.param("spark", name, marks=pytest.mark.spark) for name in OF_SOURCES),
    ],
)
def test_a_source_gives_each_row_once(kind: str, name: str, tmp_path: Path, service: Service) -> None:
    program = program_of(source_of(kind, tmp_path, service), output_of("files", tmp_path, service))
    code, _ = run(program, tmp_path, f"{name}:2")
    assert code == -signal.SIGKILL, "the failpoint was not reached"
    code, _ = run(program, tmp_path)
    assert code == 0
    rows = given("files", tmp_path, service, [])
    assert [number for number, _ in rows] == [number for number, _ in ROWS]
    assert kind == "datagen" or rows == ROWS


def test_every_small_file_is_there_whole_or_as_it_was(tmp_path: Path, service: Service) -> None:
    for times in range(1, 40):
        folder = tmp_path / str(times)
        folder.mkdir()
        program = program_of(source_of("files", folder, service), output_of("files", folder, service))
        code, _ = run(program, folder, f"file.written:{times}")
        if code == 0:
            break
        assert run(program, folder)[0] == 0
        assert given("files", folder, service, []) == ROWS
    assert times > 5, "hardly anything was written"
