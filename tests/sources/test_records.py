"""Records are cut where the format says: line ends in quotes are none, whatever they are and wherever a batch ends."""

import csv
import io
import json
import tracemalloc

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.sources.folders import OLD, reader, written

from penstock.sources.formats import records
from penstock.sources.formats.cutting import Cutting
from penstock.sources.formats.records import end_of_lines, line_count

ENDS = ("\n", "\r\n", "\r")
TEXTS = st.text(st.sampled_from('ab,"\r\n é'), max_size=8)


def csv_text(rows, end):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end).writerows(rows)
    return text.getvalue()


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=12), st.sampled_from(ENDS), st.integers(1, 7), st.integers(1, 40))
@example([("a\nb", "c"), ("d", "e\r\n")], "\r", 1, 3)
def test_records_are_those_that_python_reads_at_any_cut(rows, end, count, window):
    """Cut into windows of any size, as the reader of a file does, the parts are whole records and lose nothing."""
    text = csv_text(rows, end).encode()
    cutting = Cutting(",", '"')
    found, at, size = [], 0, window
    while at < len(text):
        part = text[at : at + size]
        if at + size < len(text) and part.endswith(b"\r"):
            part = part[:-1]
        length = cutting.end(part, count)
        if not length:
            assert size < len(text) - at
            size *= 2
            continue
        read = list(csv.reader(io.StringIO(part[:length].decode(), newline="")))
        assert len(read) <= count
        found += read
        at += length
        size = window
    assert found == list(csv.reader(io.StringIO(text.decode(), newline="")))


@given(st.text(st.sampled_from('a,"\r\n'), max_size=30))
def test_a_record_by_itself_has_the_fields_that_it_has_among_others(text):
    """What Python's reader makes of a text is what it makes of our records of it, also where quotes stand oddly."""
    data = text.encode()
    whole = [fields for fields in csv.reader(io.StringIO(text, newline="")) if fields]
    cutting = Cutting(",", '"')
    ones = [next(csv.reader(io.StringIO(one.decode(), newline="")), []) for one in cutting.records(data)]
    assert [fields for fields in ones if fields] == whole
    assert b"".join(cutting.records(data)) == data


@given(st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\r\n"])).map(b"".join), st.integers(1, 5))
def test_lines_end_at_lf_cr_lf_and_cr(text, rows):
    end = end_of_lines(text, rows)
    lines = text.splitlines(keepends=True)
    whole = [line for line in lines if line.endswith((b"\r", b"\n"))]
    assert text[:end] == b"".join(whole[:rows])
    assert line_count(text) == len(whole)


@pytest.mark.parametrize("end", ENDS)
def test_quoted_line_ends_are_kept_whatever_a_batch_holds(tmp_path, end):
    rows = [(number, f"first{end}second {number}, {'x' * (number % 50)}{end}") for number in range(6000)]
    text = csv_text([("a", "b"), *rows], end)
    written(tmp_path / "1.csv", text)
    found = reader(tmp_path, "csv")
    assert found.all(rows=700) == rows
    assert found.rejected == []


def test_quotes_and_line_ends_at_the_border_of_what_is_read_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "CHUNK", 64)
    rows = [(number, "y" * (number % 130) + '"\r\n') for number in range(300)]
    written(tmp_path / "1.csv", csv_text([("a", "b"), *rows], "\r\n"))
    found = reader(tmp_path, "csv")
    assert found.all(rows=7) == rows
    assert found.rejected == []


def test_a_quote_that_is_never_closed_costs_its_line(tmp_path):
    written(tmp_path / "1.csv", 'a,b\n1,x\n2,"open\n3,y\n4,z\n', age=OLD)
    found = reader(tmp_path, "csv")
    assert found.all() == [(1, "x"), (3, "y"), (4, "z")]
    (rejected,) = (json.loads(row.metadata) for row in found.rejected)
    assert rejected["place"] == f"{tmp_path}/1.csv:3"
    assert "never closed" in rejected["error"]


def test_a_quote_in_a_file_that_grows_waits_for_its_end(tmp_path):
    path = tmp_path / "1.csv"
    written(path, 'a,b\n1,"x\n', age=20)
    found = reader(tmp_path, "csv")
    assert found.read() == []
    written(path, 'a,b\n1,"x\ny"\n')
    assert found.read() == [(1, "x\ny")]


def test_a_record_longer_than_any_is_left_out_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "CHUNK", 16)
    monkeypatch.setattr(records, "LONGEST", 64)
    written(tmp_path / "1.json", '{"a": 1}\n{"b": "' + "x" * 300 + '"}\n{"a": 3}\n{"a": }\n', age=OLD)
    found = reader(tmp_path)
    assert found.all() == [(1, None), (3, None)]
    assert [json.loads(row.metadata)["place"].rpartition(":")[2] for row in found.rejected] == ["2", "4"]


def test_a_field_longer_than_pythons_reader_takes_is_read(tmp_path):
    long = "x" * 200_000
    written(tmp_path / "1.csv", f"a,b\n1,{long}\n2,y\n")
    found = reader(tmp_path, "csv")
    assert found.all() == [(1, long), (2, "y")]
    assert csv.field_size_limit() == 131_072


@settings(max_examples=3, deadline=None)
@given(st.sampled_from(ENDS))
def test_a_large_file_is_cut_in_bounded_memory(tmp_path_factory, end):
    folder = tmp_path_factory.mktemp("large")
    record = f'1,"{"x" * 4000}{end}{"y" * 4000}"{end}'
    (folder / "1.csv").write_bytes((f"a,b{end}" + record * 1500).encode())
    found = reader(folder, "csv")
    tracemalloc.start()
    count = 0
    while part := found.read(rows=500, ended=True):
        count += len(part)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (count, found.rejected) == (1500, [])
    assert peak < 40 << 20
