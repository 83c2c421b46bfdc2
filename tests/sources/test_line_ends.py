"""Only what ends with a line end is a record; what has none waits until the file's writer is known to be done."""

import json

from tests.sources.folders import OLD, aged, reader, written

HEADER = "id,who,amount\n"
COLUMNS = "id INT, who STRING, amount INT"


def test_half_a_line_waits_for_its_rest_however_long_nobody_writes(tmp_path):
    path = tmp_path / "1.csv"
    written(path, HEADER + "1,ann,5\n2,bob,12", age=30)
    found = reader(tmp_path, "csv", COLUMNS)
    assert found.read() == [(1, "ann", 5)]
    written(path, HEADER + "1,ann,5\n2,bob,12345\n", age=20)
    assert found.read() == [(2, "bob", 12345)]
    assert found.rejected == []


def test_half_a_line_of_json_waits_too(tmp_path):
    path = tmp_path / "1.json"
    written(path, '{"a": 1}\n{"a": 2', age=30)
    found = reader(tmp_path)
    assert found.read() == [(1, None)]
    assert found.read() == []
    written(path, '{"a": 1}\n{"a": 23}\n', age=20)
    assert found.read() == [(23, None)]
    assert found.rejected == []


def test_a_last_line_without_a_line_end_counts_after_a_while_that_the_table_says(tmp_path):
    written(tmp_path / "1.json", '{"a": 1}\n{"a": 2}', age=30)
    assert reader(tmp_path).read() == [(1, None)]
    assert reader(tmp_path, complete_after="20 seconds").read() == [(1, None), (2, None)]
    aged(tmp_path / "1.json", 61)
    assert reader(tmp_path).read() == [(1, None), (2, None)]


def test_a_last_line_counts_when_the_input_ends(tmp_path):
    written(tmp_path / "1.json", '{"a": 1}\n{"a": 2}', age=0)
    found = reader(tmp_path)
    assert found.read() == [(1, None)]
    assert found.read(ended=True) == [(2, None)]


def test_a_last_line_counts_once_a_newer_file_is_there(tmp_path):
    written(tmp_path / "1.json", '{"a": 1}', age=20)
    found = reader(tmp_path)
    assert found.read() == []
    written(tmp_path / "2.json", '{"a": 2}\n{"a": 3}', age=5)
    assert found.read() == [(1, None), (2, None)]


def test_of_files_that_two_writers_write_to_by_turns_neither_is_done(tmp_path):
    written(tmp_path / "1.json", '{"a": 1}\n{"a": 1', age=20)
    written(tmp_path / "2.json", '{"a": 2}\n', age=20)
    found = reader(tmp_path)
    assert found.read() == [(1, None), (2, None)]
    written(tmp_path / "2.json", '{"a": 2}\n{"a": 22}\n', age=10)
    assert found.read() == [(22, None)]
    written(tmp_path / "1.json", '{"a": 1}\n{"a": 11}\n', age=5)
    assert found.read() == [(11, None)]
    assert found.rejected == []


def test_what_is_written_behind_a_line_taken_as_complete_is_no_row(tmp_path):
    path = tmp_path / "1.csv"
    written(path, HEADER + "1,ann,12", age=OLD)
    found = reader(tmp_path, "csv", COLUMNS)
    assert found.read() == [(1, "ann", 12)]
    written(path, HEADER + "1,ann,12345\n2,bob,7\n", age=OLD)
    assert found.read() == [(2, "bob", 7)]
    (rejected,) = (json.loads(row.metadata) for row in found.rejected)
    assert rejected["place"] == f"{path}:2"
    assert "taken as complete" in rejected["error"]
    assert rejected["row"] == "345\n"


def test_a_line_end_that_comes_later_is_only_that(tmp_path):
    path = tmp_path / "1.json"
    written(path, '{"a": 1}', age=OLD)
    found = reader(tmp_path)
    assert found.read() == [(1, None)]
    written(path, '{"a": 1}\r\n{"a": 2}\n{"a": }\n', age=OLD)
    assert found.read() == [(2, None)]
    assert [json.loads(row.metadata)["place"] for row in found.rejected] == [f"{path}:3"]


def test_a_line_end_of_two_characters_may_come_in_two_parts(tmp_path):
    path = tmp_path / "1.json"
    written(path, '{"a": 1}\r')
    found = reader(tmp_path)
    assert found.read() == [(1, None)]
    written(path, '{"a": 1}\r\nno\n', age=5)
    assert found.read() == []
    assert [json.loads(row.metadata)["place"] for row in found.rejected] == [f"{path}:2"]


def test_a_file_that_is_only_being_begun_waits(tmp_path):
    path = tmp_path / "1.csv"
    written(path, "id,wh", age=30)
    found = reader(tmp_path, "csv", COLUMNS)
    assert found.read() == []
    written(path, HEADER + "1,ann,5\n", age=20)
    assert found.read() == [(1, "ann", 5)]
    assert found.found.waiting() == (0, 0)
