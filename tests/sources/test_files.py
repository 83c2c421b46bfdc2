"""Files as sources: envelopes, growing files, broken rows."""

import json
import os
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.steps.tables import NO_DEFAULTS, declared

from penstock.errors import DataError, SqlError
from penstock.sources.files import open_source
from penstock.sources.position import Position
from penstock.sources.transport import Report
from penstock.steps.rows.batch import RowReader
from penstock.steps.rows.rejected import Rejections


def source(folder, style, columns="a INT, b STRING", **properties):
    said = {"connector": "files", "path": str(folder), "format": style, **properties}
    texts = ", ".join(f"'{name}' = '{value}'" for name, value in said.items())
    table = declared(f"CREATE TABLE t ({columns}) WITH ({texts})")
    return open_source(table, lambda table, lenient: RowReader(table, NO_DEFAULTS, lenient=lenient), None)


def written(path, text, age=10):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    os.utime(path, (time.time() - age, time.time() - age))


def all_of(found, rows=1000, *, ended=False):
    rejections = Rejections(tolerant=True)
    batch = found.read(rows, rejections, ended=ended)
    if batch is None:
        return [], rejections.rows
    found.commit()
    values = zip(*(column.to_pylist() for column in batch.rows.columns), strict=True)
    return [(batch.operation(index), row) for index, row in enumerate(values)], rejections.rows


def test_json_lines_with_and_without_an_envelope(tmp_path):
    lines = [{"a": 1, "b": "x"}, {"insert": {"a": 2, "b": "y"}}, {"delete": {"a": 1, "b": "x"}}, {"update": {"a": 2}}]
    written(tmp_path / "1.json", "\n".join(json.dumps(line) for line in lines) + "\n")
    rows, rejected = all_of(source(tmp_path, "json", "a INT PRIMARY KEY, b STRING"))
    assert rows == [("+", (1, "x")), ("+", (2, "y")), ("-", (1, "x")), ("~", (2, None))]
    assert rejected == []


def test_a_broken_row_in_the_middle_goes_alone(tmp_path):
    written(tmp_path / "1.json", b'{"a": 1}\n{"a": \n{"a": "two"}\n[3]\n\xff\n{"a": 4, "c": 1}\n{"a": 5}\n')
    rows, rejected = all_of(source(tmp_path, "json", unknown_columns="reject"))
    assert [row[0] for _, row in rows] == [1, 5]
    places = [json.loads(row.metadata)["place"] for row in rejected]
    assert places == [f"{tmp_path}/1.json:{line}" for line in (2, 4, 5, 3, 6)]
    assert {row.message for row in rejected} == {"Bad row"}


def test_a_strict_reader_stops_at_a_broken_row(tmp_path):
    written(tmp_path / "1.json", b'{"a": 1}\n{"a": \n')
    with pytest.raises(DataError, match=r"1\.json:2: not JSON"):
        source(tmp_path, "json").read(10, Rejections())


def test_a_file_that_grows_is_read_on_and_a_half_line_waits(tmp_path):
    path = tmp_path / "1.json"
    written(path, '{"a": 1}\n{"a": 2', age=0)
    found = source(tmp_path, "json")
    assert [row[0] for _, row in all_of(found)[0]] == [1]
    written(path, '{"a": 1}\n{"a": 22}\n{"a": 3}', age=0)
    assert [row[0] for _, row in all_of(found)[0]] == [22]
    os.utime(path, (0, 0))
    assert [row[0] for _, row in all_of(found)[0]] == [3]
    assert found.waiting() == (0, 0)


def test_rewind_reads_again(tmp_path):
    written(tmp_path / "1.json", '{"a": 1}\n{"a": 2}\n{"a": 3}\n')
    found = source(tmp_path, "json")
    assert len(found.read(2, Rejections())) == 2
    found.rewind()
    assert [row[0] for _, row in all_of(found, 2)[0]] == [1, 2]
    assert [row[0] for _, row in all_of(found, 2)[0]] == [3]


def test_files_come_by_time_then_name_and_work_in_progress_is_left_alone(tmp_path):
    for name, age in (("b", 30), ("a", 20), ("c", 10)):
        written(tmp_path / f"{name}.json", json.dumps({"b": name}) + "\n", age)
    written(tmp_path / ".hidden.json", '{"b": "no"}\n')
    written(tmp_path / "x.tmp", '{"b": "no"}\n')
    written(tmp_path / "empty.json", "")
    assert [row[1] for _, row in all_of(source(tmp_path, "json"))[0]] == ["b", "a", "c"]


def test_csv_with_operations_quotes_and_nulls(tmp_path):
    written(tmp_path / "1.csv", '__op,a,b\n+,1,"x, ""y""\nz"\n-,2,\n+,three,q\n+,4\n')
    rows, rejected = all_of(source(tmp_path, "csv"))
    assert rows == [("+", (1, 'x, "y"\nz')), ("-", (2, None))]
    assert [json.loads(row.metadata)["place"] for row in rejected] == [f"{tmp_path}/1.csv:{line}" for line in (6, 5)]


def test_a_csv_file_with_only_a_header_is_used_up(tmp_path):
    written(tmp_path / "1.csv", "a,b\n")
    found = source(tmp_path, "csv")
    assert all_of(found)[0] == []
    assert found.waiting() == (0, 0)


def test_parquet_in_parts(tmp_path):
    data = pa.table({"a": pa.array(range(10), pa.int64()), "b": ["x"] * 10, "__op": ["+"] * 9 + ["-"]})
    pq.write_table(data, tmp_path / "1.parquet", row_group_size=3)
    found = source(tmp_path, "parquet")
    assert [row[0] for _, row in all_of(found, 4)[0]] == [0, 1, 2, 3]
    assert [(operation, row[0]) for operation, row in all_of(found, 100)[0]][-1] == ("-", 9)
    assert found.waiting() == (0, 0)


def test_a_broken_parquet_file_is_set_aside(tmp_path):
    written(tmp_path / "1.parquet", "not parquet", age=100)
    rows, rejected = all_of(source(tmp_path, "parquet"))
    assert rows == []
    assert "not a Parquet file" in rejected[0].metadata


def test_what_cannot_be_a_source_is_refused_at_once(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        source(tmp_path / "nowhere", "json")
    with pytest.raises(SqlError, match="no format 'xml'"):
        source(tmp_path, "xml")


def test_times_and_envelopes_are_read_at_once(tmp_path):
    lines = [
        {"insert": {"a": 1, "ts": "2024-01-01 10:00:00"}},
        {"delete": {"a": 2, "ts": "2024-01-01T10:00:00.5"}},
        {"a": 3, "d": "2024-01-31"},
    ]
    written(tmp_path / "1.json", "".join(json.dumps(line) + "\n" for line in lines))
    found = source(tmp_path, "json", "a INT, ts TIMESTAMP, d DATE")
    (stream,) = found.transport.streams(Report(found.table, Rejections()), ended=False)
    piece = found.format.piece(stream, Position(), 10, complete=True)
    assert found.format.parsed(piece) is not None
    rows, _ = all_of(found)
    assert [(operation, row[0]) for operation, row in rows] == [("+", 1), ("-", 2), ("+", 3)]
    assert rows[1][1][1].isoformat() == "2024-01-01T10:00:00.500000+00:00"
    assert rows[2][1][2].isoformat() == "2024-01-31"


@pytest.mark.parametrize("at_once", [True, False])
def test_a_column_that_is_null_beside_an_operation_says_nothing(tmp_path, at_once):
    written(tmp_path / "1.json", '{"a": null, "insert": {"a": 1}}\n{"a": 5, "insert": {"a": 2}}\n')
    found = source(tmp_path, "json", unknown_columns="reject")
    if not at_once:
        found.format._fast = None
    rows, rejected = all_of(found)
    assert [(operation, row[0]) for operation, row in rows] == [("+", 1)]
    assert len(rejected) == 1


def test_times_with_an_offset_are_read_too(tmp_path):
    written(tmp_path / "1.json", '{"ts": "2024-01-01T10:00:00+02:00"}\n{"ts": "2024-01-01 10:00:00"}\n')
    rows, rejected = all_of(source(tmp_path, "json", "ts TIMESTAMP"))
    assert [row[0].hour for _, row in rows] == [8, 10]
    assert rejected == []
