"""Rows that come piece by piece: the same rows whether they are few or lie in a file, of which nothing is left."""

import gc

import pyarrow as pa
import pytest

from penstock.backends import spool as spooling
from penstock.backends.spool import Spool
from penstock.errors import DataError


def pieces(count):
    for at in range(count):
        yield pa.table({"a": range(at * 100, at * 100 + 100), "b": [None, *(f"text {at}" for _ in range(99))]})


@pytest.mark.parametrize("most", [0, 5000, 1 << 30])
def test_the_rows_are_those_that_came_in_their_order(tmp_path, most):
    spool = Spool(tmp_path / "new", most)
    for piece in pieces(20):
        spool.add(piece)
    found = spool.rows()
    spool.close()
    assert found.equals(pa.concat_tables(pieces(20)))
    assert not list(tmp_path.glob("new/*"))


def test_rows_in_a_file_take_no_memory_of_the_process(tmp_path):
    before = pa.total_allocated_bytes()
    spool = Spool(tmp_path, 1000)
    for piece in pieces(200):
        spool.add(piece)
    del piece
    found = spool.rows()
    assert found.get_total_buffer_size() > 200_000
    assert pa.total_allocated_bytes() - before < 20_000
    assert found.column("a")[19_999].as_py() == 19_999


def test_the_rows_outlive_the_spool(tmp_path):
    def made():
        spool = Spool(tmp_path, 0)
        for piece in pieces(3):
            spool.add(piece)
        found = spool.rows()
        spool.close()
        return found

    found = made()
    gc.collect()
    assert found.validate(full=True) is None
    assert found.equals(pa.concat_tables(pieces(3)))


def test_no_piece_with_rows_is_a_table_without(tmp_path):
    spool = Spool(tmp_path)
    spool.add(pa.table({"a": pa.array([], pa.int64())}))
    assert (spool.rows().num_rows, spool.rows().column_names) == (0, ["a"])


def test_a_full_disk_is_an_error_of_the_data(tmp_path, monkeypatch):
    def full(**_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spooling.tempfile, "TemporaryFile", full)
    spool = Spool(tmp_path, 0)
    with pytest.raises(DataError, match="No space left on device") as raised:
        spool.add(next(pieces(1)))
    assert raised.value.diagnostics[0].code == "CANNOT_WRITE"
    spool.close()


def test_what_is_given_up_leaves_nothing(tmp_path):
    spool = Spool(tmp_path, 0)
    spool.add(next(pieces(1)))
    spool.close()
    spool.close()
    assert not list(tmp_path.iterdir())
