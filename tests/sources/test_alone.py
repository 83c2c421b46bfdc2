"""One row, one file, one error: what does not fit costs itself alone, and what can be read without doubt is read."""

import bz2
import gzip
import json
from datetime import UTC, date, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.sources.folders import OLD, reader, source, written
from tests.steps.tables import declared

from penstock.errors import DataError, SqlError
from penstock.sources.api import check_source
from penstock.steps.rows.rejected import Rejections

MOMENT = datetime(2023, 11, 14, 22, 13, 20)  # noqa: DTZ001 - points in time are naive


def errors(found):
    return [json.loads(row.metadata)["error"] for row in found.rejected]


def test_half_of_a_surrogate_pair_costs_its_row(tmp_path):
    written(tmp_path / "1.json", '{"a": 1}\n{"a": 2, "b": "\\ud800"}\n{"a": 3, "b": "\\ud83d\\ude00"}\n')
    found = reader(tmp_path)
    assert found.all() == [(1, None), (3, "😀")]
    (row,) = found.rejected
    assert "surrogate" in row.metadata.encode().decode()


@pytest.mark.parametrize("columns", ["v VARIANT", "v MAP<STRING, INT>", "v STRUCT<x: STRING>", "v BINARY"])
def test_half_of_a_surrogate_pair_within_a_value_too(tmp_path, columns):
    value = {"v MAP<STRING, INT>": '{"\\ud800": 1}', "v BINARY": '"\\ud800"'}.get(columns, '{"x": "\\ud800"}')
    written(tmp_path / "1.json", f'{{"v": {value}}}\n')
    found = reader(tmp_path, columns=columns)
    assert found.all() == []
    assert len(found.rejected) == 1


@pytest.mark.parametrize("style", ["json", "csv", "parquet"])
def test_text_that_is_not_utf8_costs_its_row_in_every_format(tmp_path, style):
    path = tmp_path / f"1.{style}"
    if style == "json":
        written(path, b'{"a": 1, "b": "x"}\n{"a": 2, "b": "\xff"}\n{"a": 3, "b": "y"}\n')
    elif style == "csv":
        written(path, b"a,b\n1,x\n2,\xff\n3,y\n")
    else:
        texts = pa.array([b"x", b"\xff", b"y"], pa.binary()).view(pa.string())
        pq.write_table(pa.table({"a": pa.array([1, 2, 3], pa.int32()), "b": texts}), path)
    found = reader(tmp_path, style)
    assert found.all() == [(1, "x"), (3, "y")]
    (error,) = errors(found)
    assert "not UTF-8 at byte" in error


@pytest.mark.parametrize(
    ("style", "text"),
    [
        ("json", '{"d": "0000-01-01"}\n{"t": "0000-01-01 00:00:00"}\n{"d": "0001-01-01"}\n'),
        ("csv", "d,t\n0000-01-01,\n,0000-01-01 00:00:00\n0001-01-01,\n"),
    ],
)
def test_the_year_0_costs_its_row(tmp_path, style, text):
    written(tmp_path / f"1.{style}", text)
    found = reader(tmp_path, style, "d DATE, t TIMESTAMP")
    assert found.all() == [(date(1, 1, 1), None)]
    assert len(found.rejected) == 2


def test_years_that_nobody_can_show_cost_their_rows_of_parquet(tmp_path):
    days = pa.array([0, -800_000, 3_000_000], pa.int32()).cast(pa.date32())
    times = pa.array([0, 1, 2], pa.int64()).cast(pa.timestamp("us"))
    pq.write_table(pa.table({"d": days, "t": times}), tmp_path / "1.parquet")
    found = reader(tmp_path, "parquet", "d DATE, t TIMESTAMP_NTZ")
    assert [row[0] for row in found.all()] == [date(1970, 1, 1)]
    assert all("outside of the years 1 to 9999" in error for error in errors(found))


def test_columns_that_the_table_lacks_are_left_out(tmp_path):
    written(tmp_path / "1.json", '{"a": 1, "x": {"y": [1]}}\n{"insert": {"a": 2, "x": 1}}\n{"A": 3, "x": "z"}\n')
    assert reader(tmp_path).all() == [(1, None), (2, None), (3, None)]
    written(tmp_path / "1.csv", "x,a\nz,1\n")
    assert reader(tmp_path, "csv").all() == [(1, None)]
    pq.write_table(pa.table({"a": pa.array([1], pa.int32()), "x": [1]}), tmp_path / "1.parquet")
    assert reader(tmp_path, "parquet").all() == [(1, None)]


def test_or_refuse_their_row_or_file(tmp_path):
    written(tmp_path / "1.json", '{"a": 1, "x": 1}\n{"a": 2}\n')
    found = reader(tmp_path, unknown_columns="reject")
    assert found.all() == [(2, None)]
    assert "there is no column x" in errors(found)[0]
    written(tmp_path / "1.csv", "x,a\nz,1\n")
    written(tmp_path / "2.csv", "a\n2\n")
    found = reader(tmp_path, "csv", unknown_columns="reject")
    assert found.all() == [(2, None)]
    assert errors(found) == ["cannot be read: its header has a column 'x', which the table lacks"]
    pq.write_table(pa.table({"a": [1], "x": [1]}), tmp_path / "1.parquet")
    found = reader(tmp_path, "parquet", unknown_columns="reject")
    assert found.all() == []
    assert "a column x, which the table lacks" in errors(found)[0]


def test_a_header_without_any_column_of_the_table_costs_its_file(tmp_path):
    written(tmp_path / "1.csv", "1;x\n2;y\n")
    written(tmp_path / "2.csv", "a,b\n3,z\n")
    found = reader(tmp_path, "csv")
    assert found.all() == [(3, "z")]
    (error,) = errors(found)
    assert "'header' = 'false'" in error
    assert found.all() == []
    assert len(found.rejected) == 1


def test_a_corrupt_page_of_parquet_costs_its_row_group(tmp_path):
    path = tmp_path / "1.parquet"
    data = pa.table({"a": pa.array(range(3000), pa.int32()), "b": [f"text {number}" for number in range(3000)]})
    pq.write_table(data, path, row_group_size=1000, compression="zstd", use_dictionary=False)
    column = pq.ParquetFile(path).metadata.row_group(1).column(1)
    broken = bytearray(path.read_bytes())
    start = column.data_page_offset + 40
    broken[start : start + 60] = bytes(60)
    written(path, bytes(broken))
    written(tmp_path / "2.parquet", b"PAR1 nothing", age=OLD)
    found = reader(tmp_path, "parquet")
    assert [row[0] for row in found.all()] == [*range(1000), *range(2000, 3000)]
    file, group = sorted(errors(found))
    assert "rows 1001 to 2000 cannot be read" in group
    assert "not a Parquet file" in file


def test_updates_and_deletions_that_a_table_does_not_take_cost_their_rows(tmp_path):
    written(tmp_path / "1.json", '{"a": 1}\n{"update": {"a": 1}}\n{"delete": {"a": 1}}\n')
    rejections = Rejections(tolerant=True)
    batch = source(tmp_path).read(10, rejections)
    assert batch.operations == ("+", "-")
    (rejected,) = rejections.rows
    assert "needs a PRIMARY KEY" in rejected.metadata
    found = reader(tmp_path, columns="a INT", append_only="true")
    assert found.all() == [(1,)]
    assert len(found.rejected) == 2


def test_a_wrong_operation_costs_its_row(tmp_path):
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.int32()), "__op": ["+", "?"]}), tmp_path / "1.parquet")
    found = reader(tmp_path, "parquet")
    assert found.all() == [(1, None)]
    assert "found '?' (str), expected '+', '-' or '~'" in errors(found)[0]


def test_with_fail_nothing_is_left_out(tmp_path):
    written(tmp_path / "1.json", '{"a": 1}\n{"a": }\n')
    with pytest.raises(DataError, match=r"1\.json:2: not JSON"):
        source(tmp_path).read(100, Rejections())
    written(tmp_path / "1.parquet", "none", age=OLD)
    with pytest.raises(DataError, match=r"1\.parquet: cannot be read: not a Parquet file"):
        source(tmp_path, "parquet").read(100, Rejections())


def test_numbers_and_booleans_may_be_text(tmp_path):
    written(
        tmp_path / "1.json",
        '{"d": "1.5", "i": "9", "n": "2.50", "b": "true"}\n{"d": "x"}\n{"i": "1.5"}\n{"d": "1_000"}\n{"i": " 7 "}\n',
    )
    found = reader(tmp_path, columns="d DOUBLE, i INT, n DECIMAL(5, 2), b BOOLEAN")
    assert [row[:2] for row in found.all()] == [(1.5, 9), (None, 7)]
    assert len(found.rejected) == 3
    pq.write_table(pa.table({"d": ["1.5"], "i": ["9"]}), tmp_path / "1.parquet")
    assert reader(tmp_path, "parquet", "d DOUBLE, i INT").all() == [(1.5, 9)]


@pytest.mark.parametrize("number", ["1700000000", "1700000000000", "1700000000000000", "1700000000.0"])
def test_times_may_be_numbers(tmp_path, number):
    written(tmp_path / "1.json", f'{{"t": {number}}}\n')
    assert reader(tmp_path, columns="t TIMESTAMP_NTZ").all() == [(MOMENT,)]
    assert reader(tmp_path, columns="t TIMESTAMP").all() == [(MOMENT.replace(tzinfo=UTC),)]


def test_the_unit_of_a_time_may_be_said(tmp_path):
    written(tmp_path / "1.json", '{"t": 1000}\n')
    assert reader(tmp_path, columns="t TIMESTAMP_NTZ", epoch="milliseconds").all()[0][0].second == 1
    written(tmp_path / "1.csv", "t\n1700000000\n")
    assert reader(tmp_path, "csv", "t TIMESTAMP_NTZ", epoch="seconds").all() == [(MOMENT,)]
    found = reader(tmp_path, "csv", "t TIMESTAMP_NTZ")
    assert found.all() == []
    assert len(found.rejected) == 1


def test_compressed_files_are_read(tmp_path):
    text = b"".join(b'{"a": %d}\n' % number for number in range(5))
    written(tmp_path / "1.json.gz", gzip.compress(text))
    written(tmp_path / "2.jsonl.bz2", bz2.compress(text))
    with pa.output_stream(str(tmp_path / "3.json.zst"), compression="zstd") as out:
        out.write(text)
    found = reader(tmp_path)
    assert sorted(row[0] for row in found.all(rows=3)) == sorted([*range(5)] * 3)
    assert found.rejected == []
    assert found.found.waiting() == (0, 0)


def test_a_compressed_file_is_unpacked_once(tmp_path, monkeypatch):
    opened = []
    real = pa.input_stream
    monkeypatch.setattr(pa, "input_stream", lambda *args, **options: opened.append(args) or real(*args, **options))
    text = b"".join(b'{"a": %d, "b": "x"}\n' % number for number in range(5000))
    written(tmp_path / "1.json.gz", gzip.compress(text))
    assert [row[0] for row in reader(tmp_path).all(rows=500)] == list(range(5000))
    assert len(opened) <= 2


def test_of_a_compressed_file_that_breaks_off_the_lines_are_read_and_the_rest_is_reported(tmp_path):
    text = b"".join(b'{"a": %d, "b": "%032x"}\n' % (number, hash((number,)) % 2**100) for number in range(20_000))
    whole = gzip.compress(text)
    path = tmp_path / "1.json.gz"
    written(path, whole[: len(whole) // 2], age=20)
    found = reader(tmp_path)
    assert found.read() == []
    assert found.rejected == []
    rows = [row[0] for row in found.all()]
    assert rows == list(range(len(rows)))
    assert len(rows) > 5000
    (error,) = errors(found)
    assert "cannot be unpacked" in error
    written(path, whole, age=10)
    assert [row[0] for row in found.all()] == list(range(len(rows), 20_000))


def test_other_names_are_left_alone(tmp_path):
    for name in ("a.json", "b.jsonl", "c.ndjson", "d.json.1", "e.txt", "README.md", "f.json.part", "_SUCCESS", "g.csv"):
        written(tmp_path / name, json.dumps({"b": name}) + "\n")
    (tmp_path / "sub").mkdir()
    written(tmp_path / "sub" / "h.json", '{"b": "h.json"}\n')

    def names(**properties):
        return sorted(row[1] for row in reader(tmp_path, **properties).all())

    assert names() == ["a.json", "b.jsonl", "c.ndjson", "d.json.1", "h.json"]
    assert names(pattern="*.txt") == ["e.txt"]
    assert names(pattern="sub/*") == ["h.json"]
    assert names(path=f"{tmp_path}/*", pattern="[ae].*") == ["a.json", "e.txt"]


def test_what_was_told_is_told_again_when_the_step_was_not_taken(tmp_path):
    written(tmp_path / "1.csv", "nothing\n")
    found = source(tmp_path, "csv")
    for _ in range(2):
        rejections = Rejections(tolerant=True)
        assert found.read(10, rejections) is None
        assert [row.message for row in rejections.rows] == ["Bad file"]
        found.rewind()
    found.read(10, Rejections(tolerant=True))
    found.commit()
    rejections = Rejections(tolerant=True)
    found.read(10, rejections)
    assert rejections.rows == []


def test_csv_without_header_and_with_other_signs(tmp_path):
    written(tmp_path / "1.csv", "1\t'x''y\t'\n2\t\\N\n\\N\t\n")
    found = reader(tmp_path, "csv", header="false", delimiter="\\t", quote="''", null_text="\\N")
    assert found.all() == [(1, "x'y\t"), (2, None), (None, None)]
    written(tmp_path / "1.csv", '1|"x\n2|\n')
    found = reader(tmp_path, "csv", header="false", delimiter="|", quote="")
    assert found.all() == [(1, '"x'), (2, None)]
    assert found.rejected == []


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("on_replaced", "reed", "'on_replaced' = 'reed' means nothing"),
        ("complete_after", "soon", "'complete_after' = 'soon'"),
        ("delimiter", "ab", "no single character"),
        ("unknown_columns", "adds", "means nothing"),
    ],
)
def test_values_that_mean_nothing_are_refused(tmp_path, name, value, found):
    with pytest.raises(SqlError, match=found):
        source(tmp_path, "csv", **{name: value})


def test_who_wants_columns_added_where_none_can_be_is_told_how():
    kafka = "'connector' = 'kafka', 'topic' = 'x', 'properties.bootstrap.servers' = 'b:1', 'unknown_columns' = 'add'"
    with pytest.raises(SqlError) as found:
        check_source(declared(f"CREATE TABLE t (id INT) WITH ({kafka}, 'format' = 'csv')"))
    assert "ALTER TABLE … ADD COLUMN" in found.value.diagnostics[0].hint


def test_all_that_is_wrong_is_said_at_once(tmp_path):
    with pytest.raises(SqlError) as found:
        source(tmp_path, "csv", on_replaced="fial", complete_after="soon", path="")
    assert [item.code for item in found.value.diagnostics] == ["MISSING_PROPERTY", "BAD_PROPERTY", "BAD_PROPERTY"]
    assert found.value.diagnostics[2].candidates == ("fail",)


def test_a_property_of_csv_is_refused_of_other_formats(tmp_path):
    with pytest.raises(SqlError, match="'header' is for the format csv"):
        source(tmp_path, "json", header="true")
