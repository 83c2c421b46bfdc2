"""A directory of which a file is not what was written there: it is named, and no mistake of ours."""

import shutil

import pytest

import penstock
from penstock.errors import DataError

PROGRAM = """
CREATE TABLE t (id INT PRIMARY KEY, v INT);
CREATE MATERIALIZED VIEW n AS SELECT COUNT(*) AS n, SUM(v) AS v FROM t;
CREATE VIEW given WITH ('connector' = 'files', 'path' = '{folder}', 'form' = 'upsert') AS SELECT id, v FROM t;
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A directory with three steps, whose state is gone, so that going on needs its log."""
    place = tmp_path_factory.mktemp("written")
    with penstock.Pipeline(program(place), engine="native", directory=place / "dir") as pipeline:
        for step in range(3):
            pipeline.step({"t": [(number, step) for number in range(5)]})
    shutil.rmtree(place / "dir" / "state", ignore_errors=True)
    return place


def program(place):
    return PROGRAM.format(folder=place / "out")


def opened(written, folder):
    with penstock.Pipeline(program(written), engine="native", directory=folder) as pipeline:
        return pipeline.query("SELECT * FROM n").rows


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]"], ids=["empty", "short", "bytes", "other"])
@pytest.mark.parametrize("name", ["program.json", "openings.json", "outputs.json", "log/steps/000000000002.json"])
def test_a_small_file_is_named(written, tmp_path, name, content):
    folder = shutil.copytree(written / "dir", tmp_path / "dir")
    assert (folder / name).exists() or name == "outputs.json"  # which a run writes
    (folder / name).write_bytes(content)
    with pytest.raises(DataError) as caught:
        opened(written, folder)
    assert caught.value.code == "DAMAGED_DIRECTORY"
    assert name in str(caught.value)


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.99])
def test_rows_that_are_cut_short_are_named(written, tmp_path, kept):
    folder = shutil.copytree(written / "dir", tmp_path / "dir")
    files = sorted(path for path in (folder / "log" / "data" / "t").iterdir() if path.is_file())
    assert files
    data = files[1].read_bytes()
    files[1].write_bytes(data[: int(len(data) * kept)])
    with pytest.raises(DataError) as caught:
        opened(written, folder)
    assert caught.value.code == "DAMAGED_DIRECTORY"
    assert files[1].name in str(caught.value)


def test_a_whole_copy_goes_on(written, tmp_path):
    assert opened(written, shutil.copytree(written / "dir", tmp_path / "dir")) == [(5, 10)]
