"""Large texts and row groups are read on all cores, and give what one core gives: rows, places, what is rejected."""

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.sources.folders import reader, written

from penstock.sources.formats import csv, parquet

COLUMNS = "a INT, b STRING, d DOUBLE"
FIELDS = ["", "x", "é𝄞", '"q ""q"" q"', '"two\nlines"', '"crlf\r\nin it"', "\ufeff", "\\", "  ", '"a,b"', "z" * 90]


def csv_text(seed):
    chance, ends = random.Random(seed), ("\n", "\r\n", "\r")[seed % 3]
    lines = ["a,b,d"]
    for number in range(chance.randint(1, 200)):
        plain = [field for field in FIELDS if seed % 2 or "\n" not in field]
        lines.append(f"{number},{chance.choice(plain)},{number / 3}")
    if seed % 5 == 0:
        lines.insert(chance.randint(1, len(lines)), chance.choice(["x,y", "not,a,number", "", '1,"open,2', "1,2,3,4"]))
    return ends.join(lines) + ends


def all_read(folder, style):
    found = reader(folder, style, COLUMNS)
    return found.all(), found.rejected


@pytest.mark.parametrize("block", [64, 257])
@pytest.mark.parametrize("seed", range(30))
def test_csv_in_blocks_is_csv_at_once(tmp_path, monkeypatch, seed, block):
    written(tmp_path / "1.csv", csv_text(seed))
    at_once = all_read(tmp_path, "csv")
    assert at_once[0] or at_once[1]
    monkeypatch.setattr(csv, "_BLOCK", block)
    assert all_read(tmp_path, "csv") == at_once


def test_blocks_are_read_by_arrow(tmp_path, monkeypatch):
    """A text of several blocks is not left to Python's reader."""
    monkeypatch.setattr(csv, "_BLOCK", 256)
    monkeypatch.setattr(csv.Csv, "_numbered", lambda *_: pytest.fail("read record by record"))
    written(tmp_path / "1.csv", "a,b,d\n" + "".join(f'{number},"x ""{number}""",0.5\n' for number in range(1000)))
    assert [row[0] for row in reader(tmp_path, "csv", COLUMNS).all()] == list(range(1000))


def broken_parquet(path, group, columns):
    """A file with three row groups, in one of which the pages of some columns are no pages."""
    rows = pa.table({"a": pa.array(range(3000), pa.int32()), "b": [f"x{n}" for n in range(3000)], "d": [0.5] * 3000})
    pq.write_table(rows, path, row_group_size=1000, compression="none")
    content = bytearray(path.read_bytes())
    for column in columns:
        found = pq.ParquetFile(path).metadata.row_group(group).column(column)
        start = found.dictionary_page_offset or found.data_page_offset
        content[start : start + 40] = b"\xff" * 40
    written(path, bytes(content))


@pytest.mark.parametrize("columns", [(), (0,), (1,), (0, 1, 2), (2, 1)])
def test_columns_side_by_side_are_columns_one_by_one(tmp_path, monkeypatch, columns):
    broken_parquet(tmp_path / "1.parquet", 1, columns)
    one_by_one = all_read(tmp_path, "parquet")
    assert len(one_by_one[0]) == (2000 if columns else 3000)
    assert [row[0] for row in one_by_one[0]] == [n for n in range(3000) if not columns or n // 1000 != 1]
    monkeypatch.setattr(parquet, "_LARGE", 0)
    for _ in range(5):
        assert all_read(tmp_path, "parquet") == one_by_one


def test_a_large_row_group_is_decoded_on_all_cores(tmp_path, monkeypatch):
    told = []
    whole = pq.ParquetFile.read_row_group

    def noted(file, number, *, columns, use_threads):
        told.append(use_threads)
        return whole(file, number, columns=columns, use_threads=use_threads)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", noted)
    chance = random.Random(1)
    values = [chance.getrandbits(62) for _ in range(300_000)]
    rows = pa.table({"a": pa.array(range(300_000), pa.int32()), "b": [str(n) for n in values], "d": [0.5] * 300_000})
    pq.write_table(rows, tmp_path / "1.parquet", row_group_size=299_990)
    assert len(reader(tmp_path, "parquet", COLUMNS).all(1_000_000)) == 300_000
    assert told == [True, False]
