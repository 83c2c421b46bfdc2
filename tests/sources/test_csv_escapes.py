r"""CSV with an escape: quotes and backslashes in quoted fields, as Spark writes them, and RFC 4180."""

import csv
import datetime as dt
import io
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.sources.folders import OLD, reader, written
from tests.sources.test_messages import read

from penstock.outputs.files.csv_text import CsvWriter
from penstock.sources.formats.cutting import Cutting

TEXTS = st.text(st.sampled_from('ab,"\\\r\n é'), max_size=8)
ROWS = st.lists(st.lists(st.none() | TEXTS, min_size=2, max_size=3), min_size=1, max_size=8)


@given(ROWS, st.sampled_from(["\\", '"']))
@example([['a\\",b', "\\", None], ["", '"', '\\"']], "\\")
def test_what_is_written_is_read_again(rows, escape):
    text, cutting = "".join(map(CsvWriter(escape).record, rows)), Cutting(",", '"', escape)
    records = list(cutting.records(text.encode()))
    assert [cutting.fields(record.decode()) for record in records] == rows
    assert cutting.end(text.encode(), len(rows)) == len(text.encode())
    plain = cutting.by_rfc4180(text.encode())
    python = list(csv.reader(io.StringIO(plain.decode(), newline="")))
    assert [fields or [""] for fields in python] == [[value or "" for value in row] for row in rows]


FIELDS = [
    (r'"say \"hi\", twice"', 'say "hi", twice'),
    (r'"end\""', 'end"'),
    (r'"a""b"', 'a"b'),
    (r'"a\\"', "a\\"),
    (r'"a\\b\n"', r"a\b\n"),
    (r'"a\,b"', r"a\,b"),
    ("a\\", "a\\"),
    (r"a\"b", r"a\"b"),
    ('"a" ', "a"),
    ('""', ""),
    ("", None),
    (' "a"', ' "a"'),
]


@pytest.mark.parametrize(("field", "expected"), FIELDS)
def test_a_field_is_what_spark_reads(tmp_path, field, expected):
    written(tmp_path / "1.csv", f"a,b\n1,{field}\n2,{field}\n3,plain\n", age=OLD)
    assert reader(tmp_path, "csv").all() == [(1, expected), (2, expected), (3, "plain")]
    found = read("a INT, b STRING", "'format' = 'csv'", (None, f"1,{field}".encode()))
    assert found == ([("+", 1, expected)], [])


def test_text_behind_a_closing_quote_costs_its_row_alone(tmp_path):
    written(tmp_path / "1.csv", 'a,b\n1,"a"b\n2,"c"\n3,"d"x,"e"\n4,"f\ng"\n', age=OLD)
    found = reader(tmp_path, "csv")
    assert found.all() == [(2, "c"), (4, "f\ng")]
    told = [json.loads(row.metadata) for row in found.rejected]
    assert [item["place"].rpartition(":")[2] for item in told] == ["2", "4"]
    assert all("behind a closing quote" in item["error"] for item in told)


def test_the_quote_as_escape_is_rfc_4180(tmp_path):
    written(tmp_path / "1.csv", 'a,b\n1,"a\\"\n2,"b""c"\n', age=OLD)
    assert reader(tmp_path, "csv", escape='"').all() == [(1, "a\\"), (2, 'b"c')]


def test_an_empty_text_is_null_where_no_text_can_stand(tmp_path):
    written(tmp_path / "1.csv", 'a,b\n"",""\n,\nNA,NA\n"NA","NA"\n', age=OLD)
    assert reader(tmp_path, "csv", null_text="NA").all() == [(None, ""), (None, None), (None, None), (None, None)]


@pytest.mark.parametrize("records", ['1,"x\ny"\n2,""\n3,\n', '1,"x"\n2,""\n3,\n', '1,\\"\n2,""\n3,\n'])
def test_empty_texts_are_kept_however_a_piece_is_read(tmp_path, records):
    written(tmp_path / "1.csv", "a,b\n" + records, age=OLD)
    assert reader(tmp_path, "csv").all()[1:] == [(2, ""), (3, None)]


def test_binary_and_nested_values_are_texts(tmp_path):
    columns = "a BINARY, b ARRAY<INT>, c STRUCT<x: INT, y: BINARY>, d INTERVAL DAY TO SECOND, e INTERVAL YEAR TO MONTH"
    day, month = "INTERVAL '1 02:03:04.5' DAY TO SECOND", "INTERVAL '1-2' YEAR TO MONTH"
    line = CsvWriter().record([b"\0\xff", [1, None], {"x": 1, "y": b"\x01"}, day, month])
    written(tmp_path / "1.csv", f"a,b,c,d,e\n{line}plain,,,,\n", age=OLD)
    first, second = reader(tmp_path, "csv", columns).all()
    assert first == (b"\0\xff", [1, None], {"x": 1, "y": b"\x01"}, dt.timedelta(days=1, seconds=7384.5), 14)
    assert second == (b"plain", None, None, None, None)
