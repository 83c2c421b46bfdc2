"""Memory in the process: what a setting allows, what spills, what does not pile up, what cannot be had."""

from __future__ import annotations

import subprocess
import sys
import tempfile

import duckdb
import pyarrow as pa
import pytest

import penstock
from penstock.backends.native.memory import machine_memory
from penstock.backends.native.operators import grouped
from penstock.backends.native.operators.make import native_operator
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Rows
from penstock.bind.program.compile import compile_program
from penstock.catalog.memory import bytes_allowed
from penstock.catalog.settings import check_setting
from penstock.circuit.build import build_circuit
from penstock.circuit.narrowing import narrowed
from penstock.errors import DataError, SqlError
from penstock.rewrite import rewrite_views


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2GB", 2_000_000_000),
        (" 1.5 gib ", 3 * 512 * 1024 * 1024),
        ("640000 kB", 640_000_000),
        ("64000000B", 64_000_000),
        ("40 %", 400_000_000),
        ("100%", 1_000_000_000),
        ("0.1%", 64_000_000),
        ("1MB", None),
        ("0%", None),
        ("101 %", None),
        ("-2GB", None),
        ("2", None),
        ("2 GB 1", None),
        ("much", None),
        ("", None),
    ],
)
def test_a_setting_allows_a_size_or_a_share(text, found):
    assert bytes_allowed(text, 1_000_000_000) == found


def test_what_allows_no_size_is_refused_with_what_would_work():
    check_setting("memory_limit", "512 MB")
    with pytest.raises(SqlError, match=r"'2 apples'.*'2GB'.*'40 %'") as refused:
        check_setting("memory_limit", "2 apples")
    assert refused.value.code == "BAD_SETTING"


@pytest.mark.parametrize(
    ("group", "file", "text", "found"),
    [
        ("0::/a/b", "sys/fs/cgroup/a/memory.max", "1000000", 1_000_000),
        ("0::/a/b", "sys/fs/cgroup/memory.max", "max", None),
        ("0::/../elsewhere", "sys/fs/cgroup/memory.max", "2000000", 2_000_000),
        ("3:cpu:/a\n4:memory:/docker/1", "sys/fs/cgroup/memory/memory.limit_in_bytes", "3000000", 3_000_000),
        ("4:memory:/", "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712", None),
        ("3:cpu:/a", "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "3000000", None),
    ],
)
def test_a_control_group_has_less_than_the_machine(group, file, text, found, tmp_path):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(group + "\n")
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text + "\n")
    assert machine_memory(tmp_path) == (found or machine_memory(tmp_path / "none"))


def long_rows(numbers):
    """Rows of some 1,800 bytes, eight for a key."""
    keys, texts = [number // 8 for number in numbers], [f"{number:012}" * 150 for number in numbers]
    return pa.table({"k": pa.array(keys, pa.int32()), "n": pa.array(numbers, pa.int32()), "s": texts})


@pytest.mark.extended
def test_a_program_gets_right_answers_with_half_the_memory_that_its_state_needs(tmp_path):
    text = """
    CREATE TABLE t (k INT, n INT, s STRING);
    CREATE VIEW last AS SELECT k, n, substring(s, 1, 12) AS s FROM t
      QUALIFY row_number() OVER (PARTITION BY k ORDER BY n DESC, s) = 1;
    CREATE VIEW sums AS SELECT k, count(*) AS rows, sum(n) AS total FROM t GROUP BY k;
    """
    events = []
    options = {"directory": tmp_path / "p", "engine": "native", "memory_limit": "64MB"}
    with penstock.Pipeline(text, on_event=events.append, retain="materialized", **options) as pipeline:
        for step in range(8):
            numbers = range(step * 8_000, step * 8_000 + 8_000)
            latest = {row for weight, row in pipeline.step({"t": long_rows(numbers)})["last"].rows if weight > 0}
            assert latest == {(number // 8, number, f"{number:012}") for number in numbers[7::8]}
        # What the first steps have brought lies on disk.
        changed = pipeline.step({"t": [(key, 100_000, "new") for key in range(0, 8_000, 100)]})
        assert sorted(row for weight, row in changed["last"].rows if weight > 0) == [
            (key, 100_000, "new") for key in range(0, 8_000, 100)
        ]
        assert sorted(row for weight, row in changed["last"].rows if weight < 0) == [
            (key, key * 8 + 7, f"{key * 8 + 7:012}") for key in range(0, 8_000, 100)
        ]
        assert {row for weight, row in changed["sums"].rows if weight > 0} == {
            (key, 9, 100_000 + sum(range(key * 8, key * 8 + 8))) for key in range(0, 8_000, 100)
        }
        assert sum(item.bytes for item in pipeline.state()) > 0
        spilled = events[-1].spilled
        assert spilled.folder == str(tmp_path / "p" / "spilled")
        assert spilled.bytes > 10_000_000
        assert spilled.limit == 64_000_000
    assert not (tmp_path / "p" / "spilled").exists()


def test_a_pipeline_that_is_given_no_size_is_refused():
    with pytest.raises(SqlError, match="'lots'"):
        penstock.Pipeline("CREATE TABLE t (k INT);", memory_limit="lots")
    with pytest.raises(SqlError, match="'1KB'"):
        penstock.Pipeline("SET memory_limit = '1KB';")


ROWS = "SELECT x AS k, md5(x::VARCHAR) AS s FROM range({0}, {1}) a(x)"
COLUMNS = [("k", "BIGINT"), ("s", "VARCHAR")]


def filled(store, rows):
    """A table of state with so many rows, in steps."""
    table = store.table(COLUMNS)
    for begin in range(0, rows, 200_000):
        store.begin(None, None)
        store.changed(f"INSERT INTO {table} {ROWS.format(begin, min(rows, begin + 200_000))}")
        store.commit()
    return table


def test_state_that_is_larger_than_its_memory_lies_in_files_and_is_all_there(tmp_path):
    store = Store(tmp_path / "spilled", "64MB")
    table = filled(store, 2_000_000)  # about 130 MB
    assert store.spilled_bytes > 20_000_000
    assert store.value(f"SELECT count(*) FROM {table} WHERE s = md5(k::VARCHAR)") == 2_000_000
    store.close()
    assert not (tmp_path / "spilled").exists()


def test_what_a_killed_process_has_left_goes(tmp_path):
    left = tmp_path / "spilled" / "duckdb_temp_1_0_owner"
    left.parent.mkdir()
    left.touch()
    store = Store(tmp_path / "spilled")
    assert not left.exists()
    assert store.spilled_bytes == 0
    store.close()


def test_a_temporary_folder_goes_with_its_store(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    store = Store()
    assert [path.name.startswith("penstock-state") for path in tmp_path.iterdir()] == [True]
    store.close()
    assert list(tmp_path.iterdir()) == []


def test_a_step_that_needs_more_than_there_is_leaves_no_trace(tmp_path):
    store = Store(tmp_path / "spilled", "64MB")
    table = filled(store, 1_000)
    store.execute("SET max_temp_directory_size = '10MB'")
    refused = []
    for query in (ROWS.format(0, 3_000_000), "SELECT 1, string_agg(repeat('x', 1000), '') FROM range(200000)"):
        store.begin(None, None)
        store.changed(f"DELETE FROM {table}")
        with pytest.raises(DataError, match="memory_limit") as error:
            store.changed(f"INSERT INTO {table} {query}")
        store.discard()
        refused.append(error.value.code)
    assert set(refused) <= {"CANNOT_WRITE", "MEMORY_LIMIT"}
    assert "CANNOT_WRITE" in refused
    store.begin(None, None)
    store.changed(f"INSERT INTO {table} VALUES (1, 'x')")
    store.commit()
    assert store.value(f"SELECT count(*) FROM {table}") == 1_001


class Sums:
    """A view of sums by key at work in a store, and how much memory that takes."""

    def __init__(self):
        program = "CREATE TABLE t (k STRING, x BIGINT); CREATE VIEW v AS SELECT k, sum(x) AS s FROM t GROUP BY k;"
        catalog = compile_program(program, None).catalog
        plans = {name: view.plan for name, view in rewrite_views(catalog).views.items()}
        circuit = narrowed(build_circuit(plans, catalog, bucketed=False))
        self.store = Store()
        self.operators, known = [], {}
        for item in circuit.operators[1:]:  # a chain that begins at the table
            self.operators.append(native_operator(self.store, item, known))
            known[f"#{item.number}"] = self.operators[-1].outputs
        self.change = self.store.name()

    def step(self, begin, end):
        """One step that adds 1 to each of some keys."""
        keys = (
            f"'a key of some length, ' || x AS k, 1::BIGINT AS x, 1::BIGINT AS __weight FROM range({begin}, {end}) a(x)"
        )
        self.store.begin(None, None)
        rows = Rows(self.change, self.store.made(self.change, f"SELECT {keys}"))
        for operator in self.operators:
            rows = operator.step([rows], first=False)
        self.store.commit()
        for operator in self.operators:
            operator.commit()
            operator.merge()

    def memory(self):
        """The bytes that tables take."""
        return self.store.value("SELECT sum(memory_usage_bytes) FROM duckdb_memory() WHERE tag = 'IN_MEMORY_TABLE'")


def test_rows_that_steps_replace_do_not_pile_up(monkeypatch):
    monkeypatch.setattr(grouped, "LEAST_DELETED_ROWS", 20_000)
    sums, sizes = Sums(), []
    for step in range(60):
        sums.step(step * 4_000 % 20_000, step * 4_000 % 20_000 + 4_000)
        sizes.append(sums.memory())
    assert max(sizes[40:]) <= 1.2 * max(sizes[:20])
    assert [rows for operator in sums.operators for rows, _ in operator.state()] == [20_000]
    for operator in sums.operators:
        operator.drop()
    assert sums.store.value("SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 't%'") == 0


FULL = """
import resource, sys
from pathlib import Path
from penstock.backends.native.store import Store
from penstock.errors import DataError

store = Store(Path(sys.argv[1]), "64MB")
table = store.table([("k", "BIGINT"), ("s", "VARCHAR")])
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))
store.begin(None, None)
try:
    store.changed(f"INSERT INTO {table} SELECT x, md5(x::VARCHAR) FROM range(3000000) a(x)")
except DataError as error:
    print(error.code, error.summary)
store.discard()
store.begin(None, None)
store.changed(f"INSERT INTO {table} VALUES (1, 'x')")
store.commit()
print(store.value(f"SELECT count(*) FROM {table}"))
"""


def test_a_file_that_cannot_grow_is_said_with_its_folder_and_the_next_step_goes_on(tmp_path):
    arguments = [sys.executable, "-c", FULL, str(tmp_path / "spilled")]
    ran = subprocess.run(arguments, capture_output=True, text=True, timeout=100, check=False)
    assert ran.returncode == 0, ran.stderr
    said, left = ran.stdout.splitlines()
    assert said.startswith("CANNOT_WRITE")
    assert str(tmp_path / "spilled") in said
    assert "File too large" in said
    assert left == "1"


def test_nothing_outside_can_be_read_or_fetched(tmp_path):
    rows = pa.table({"x": [1]})  # noqa: F841 - a variable that is no table
    (tmp_path / "rows.csv").write_text("x\n1\n")
    store = Store()
    for query in (
        "SELECT * FROM rows",
        f"SELECT * FROM '{tmp_path}/rows.csv'",
        f"SELECT * FROM read_csv('{tmp_path}/rows.csv')",
        f"SELECT * FROM glob('{tmp_path}/*')",
        f"COPY (SELECT 1) TO '{tmp_path}/other.csv'",
        f"ATTACH '{tmp_path}/other.db'",
        "INSTALL spatial",
        "LOAD spatial",
        "SELECT st_point(1, 2)",
        "SELECT * FROM read_xlsx('rows.xlsx')",
    ):
        with pytest.raises(duckdb.Error):
            store.execute(query)
    with pytest.raises(duckdb.Error, match="external access"):
        store.execute("SET enable_external_access = true")
    settings = "('autoinstall_known_extensions', 'autoload_known_extensions', 'python_enable_replacements')"
    assert store.value(f"SELECT count(*) FROM duckdb_settings() WHERE name IN {settings} AND value = 'false'") == 3
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]
    store.close()
