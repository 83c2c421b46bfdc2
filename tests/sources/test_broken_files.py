"""Files that cannot be read: each is told once, in one run and over several, until it has other content."""

from __future__ import annotations

import gzip
import os
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock
from penstock.pipeline.run import RunOptions
from penstock.sources.transport import Report


def parquet(**columns):
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


GOOD = parquet(a=[1, 2], b=["x", "y"])
# (format, its properties), a file's name, (content that cannot be read, content that can)
BROKEN = [
    pytest.param(("csv", {}), "f.csv", (b"x,y\n1,2\n", b"a,b\n1,x\n2,y\n"), id="columns of csv"),
    pytest.param(
        ("csv", {"unknown_columns": "reject"}), "f.csv", (b"a,c\n1,2\n", b"a,b\n1,x\n2,y\n"), id="one too many"
    ),
    pytest.param(("csv", {}), "f.csv", (b"a,\xff\n1,2\n", b"a,b\n1,x\n2,y\n"), id="a header that is no text"),
    pytest.param(("parquet", {}), "f.parquet", (b"PAR1 no PAR1", GOOD), id="no parquet"),
    pytest.param(("parquet", {}), "f.parquet", (parquet(z=[1]), GOOD), id="columns of parquet"),
    pytest.param(("json", {}), "f.json.gz", (b"nothing packed", gzip.compress(b'{"a": 1}\n{"a": 2}\n')), id="no gzip"),
]


def written(path, content):
    path.write_bytes(content)
    os.utime(path, (time.time() - 100, time.time() - 100))


def program(folder, style, said):
    words = {"connector": "files", "path": str(folder), "format": style, "pattern": "f.*", **said}
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in words.items())
    return f"CREATE TABLE t (a INT, b STRING) WITH ({listed}); CREATE VIEW v AS SELECT message FROM error_view;"


def told(pipeline):
    """The steps so far, and what error_view has."""
    return pipeline.steps, pipeline.query("SELECT message FROM v").rows


@pytest.mark.parametrize(("said", "name", "content"), BROKEN)
def test_it_is_told_once_over_runs_and_read_once_it_is_another(tmp_path, said, name, content):
    broken, good = content
    written(tmp_path / name, broken)
    text, directory = program(tmp_path, *said), tmp_path / "dir"
    with penstock.Pipeline(text, directory=directory, engine="native") as pipeline:
        pipeline.run(once=True)
        pipeline.run(once=True)
        steps, rows = told(pipeline)
        assert rows == [("Bad file",)]
    with penstock.Pipeline(text, directory=directory, engine="native") as pipeline:
        pipeline.run(once=True)
        assert told(pipeline) == (steps + 1, rows)  # the first look of a run makes a step
        (fact,) = pipeline.sources()
        assert fact.lag.bytes in (0, None)
    written(tmp_path / name, good)
    with penstock.Pipeline(text, directory=directory, engine="native") as pipeline:
        pipeline.run(once=True)
        assert told(pipeline)[1] == rows
        assert pipeline.query("SELECT a FROM t ORDER BY a").rows == [(1,), (2,)]


def test_one_that_is_broken_again_is_told_again(tmp_path):
    text = program(tmp_path, "csv", {})
    with penstock.Pipeline(text, directory=tmp_path / "dir", engine="native") as pipeline:
        for count, content in enumerate((b"x\n1\n", b"y\n1\n", b"a,b\n1,x\n"), 1):
            written(tmp_path / "f.csv", content)
            pipeline.run(once=True)
            assert len(told(pipeline)[1]) == min(count, 2)


def test_that_a_broken_file_has_gone_reads_no_other_again(tmp_path):
    written(tmp_path / "f.1.csv", b"a,b\n1,x\n")
    written(tmp_path / "f.2.csv", b"x\n1\n")
    text = program(tmp_path, "csv", {})
    for _ in range(2):
        with penstock.Pipeline(text, directory=tmp_path / "dir", engine="native") as pipeline:
            pipeline.run(once=True)
            assert pipeline.query("SELECT a FROM t").rows == [(1,)]
        (tmp_path / "f.2.csv").unlink(missing_ok=True)


def test_it_is_told_once_in_a_run_that_goes_on(tmp_path, monkeypatch):
    written(tmp_path / "f.1.csv", b"x\n1\n")
    seen = []
    monkeypatch.setattr(Report, "broken", lambda _self, name, _found: seen.append(name))
    with penstock.Pipeline(program(tmp_path, "csv", {"complete_after": "0 seconds"}), engine="native") as pipeline:
        for number in range(2, 5):
            pipeline.run(once=True, options=RunOptions(poll_seconds=0.01))
            written(tmp_path / f"f.{number}.csv", b"a,b\n1,x\n")
    assert seen == [str(tmp_path / "f.1.csv")]
