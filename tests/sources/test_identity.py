"""What identifies a file is its path and its beginning: replaced, renamed, copied, shorter and gone files."""

import json
import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.sources.folders import OLD, reader, written

from penstock.errors import DataError


def lines(*numbers):
    return "".join(f'{{"a": {number}}}\n' for number in numbers)


def numbers(found):
    return [row[0] for row in found]


def reasons(found):
    return [json.loads(row.metadata)["error"] for row in found.rejected]


def test_other_content_of_the_same_size_is_a_new_file(tmp_path):
    path = tmp_path / "1.json"
    written(path, lines(1, 2))
    found = reader(tmp_path)
    assert numbers(found.read()) == [1, 2]
    written(path, lines(3, 4), age=5)
    assert numbers(found.read()) == [3, 4]
    assert found.rejected == []


def test_longer_other_content_is_read_from_its_beginning(tmp_path):
    path = tmp_path / "1.json"
    written(path, lines(1, 2))
    found = reader(tmp_path)
    found.read()
    other = tmp_path / "new.partial"
    written(other, lines(5, 6, 7, 8), age=5)
    other.replace(path)
    assert numbers(found.read()) == [5, 6, 7, 8]
    assert found.rejected == []


def test_the_same_content_written_again_is_the_same_file(tmp_path):
    path = tmp_path / "1.json"
    written(path, lines(1, 2))
    found = reader(tmp_path)
    found.read()
    other = tmp_path / "copy.partial"
    written(other, lines(1, 2, 3), age=5)
    other.replace(path)
    assert numbers(found.read()) == [3]


def test_a_replaced_file_may_be_an_error_that_names_it(tmp_path):
    path = tmp_path / "1.json"
    written(path, lines(1, 2))
    found = reader(tmp_path, on_replaced="fail")
    found.read()
    written(path, lines(3, 4), age=5)
    with pytest.raises(DataError, match=r"1\.json has other content"):
        found.read()


def test_a_rotated_file_is_read_once_and_goes_on(tmp_path):
    path = tmp_path / "app.json"
    written(path, lines(1, 2))
    found = reader(tmp_path)
    assert numbers(found.read()) == [1, 2]
    with path.open("a") as file:
        file.write(lines(3))
    path.rename(tmp_path / "app.json.1")
    written(path, lines(10, 11), age=5)
    assert sorted(numbers(found.read())) == [3, 10, 11]
    (tmp_path / "app.json.1").rename(tmp_path / "app.json.2")
    path.rename(tmp_path / "app.json.1")
    written(path, lines(20), age=4)
    assert numbers(found.read()) == [20]
    assert found.rejected == []


@pytest.mark.parametrize("name", ["old.txt", "app.log-20240101"])
def test_a_file_renamed_to_a_name_that_is_not_read_is_read_to_its_end(tmp_path, name):
    path = tmp_path / "app.json"
    written(path, lines(1))
    found = reader(path)
    assert numbers(found.read()) == [1]
    with path.open("a") as file:
        file.write(lines(2))
    path.rename(tmp_path / name)
    assert numbers(found.read()) == [2]
    with (tmp_path / name).open("a") as file:
        file.write(lines(3))
    written(path, lines(9))
    assert sorted(numbers(found.read())) == [3, 9]
    assert found.rejected == []


def test_a_log_that_is_copied_and_emptied_is_read_once(tmp_path):
    path = tmp_path / "app.json"
    written(path, lines(*range(100)))
    found = reader(tmp_path)
    assert len(found.read()) == 100
    shutil.copy(path, tmp_path / "app.json.1")
    written(path, lines(500, 501), age=5)
    assert numbers(found.read()) == [500, 501]
    assert found.rejected == []


def test_a_shorter_file_is_reported_once_and_the_others_go_on(tmp_path):
    written(tmp_path / "1.json", lines(1, 2, 3))
    written(tmp_path / "2.json", lines(7))
    found = reader(tmp_path)
    found.read()
    written(tmp_path / "1.json", lines(1, 2), age=5)
    written(tmp_path / "2.json", lines(7, 8), age=5)
    assert numbers(found.read()) == [8]
    assert found.read() == []
    assert [reason.partition(":")[0] for reason in reasons(found)] == ["it has become shorter"]
    written(tmp_path / "1.json", lines(1, 2, 3, 4), age=4)
    assert numbers(found.read()) == [4]


def test_a_file_that_went_unread_is_reported_and_one_that_was_read_is_not(tmp_path):
    written(tmp_path / "1.json", lines(1))
    written(tmp_path / "2.json", lines(2) + '{"a"')
    found = reader(tmp_path)
    assert numbers(found.read()) == [1, 2]
    (tmp_path / "1.json").unlink()
    (tmp_path / "2.json").unlink()
    written(tmp_path / "3.json", lines(3))
    assert numbers(found.read()) == [3]
    assert reasons(found) == ["it has gone, and 4 bytes of it were not read"]
    assert found.found.waiting() == (0, 0)


def test_the_folder_may_go_and_come_back(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    written(folder / "1.json", lines(1))
    found = reader(folder)
    assert numbers(found.read()) == [1]
    shutil.rmtree(folder)
    assert found.read() == []
    folder.mkdir()
    written(folder / "1.json", lines(1, 2))
    assert numbers(found.read()) == [2]


def test_a_replaced_parquet_file_is_read_from_its_first_row(tmp_path):
    path = tmp_path / "1.parquet"
    pq.write_table(pa.table({"a": pa.array(range(5), pa.int32())}), path)
    found = reader(tmp_path, "parquet")
    assert numbers(found.read()) == [0, 1, 2, 3, 4]
    pq.write_table(pa.table({"a": pa.array(range(10, 17), pa.int32())}), path)
    os.utime(path, (1, 1))
    assert numbers(found.read()) == list(range(10, 17))
    assert found.rejected == []


def test_a_position_knows_the_file_again(tmp_path):
    path = tmp_path / "1.json"
    written(path, lines(1, 2, 3))
    first = reader(tmp_path)
    assert numbers(first.read(rows=2)) == [1, 2]
    taken = json.loads(json.dumps(first.taken))
    (item,) = taken["read"]
    assert (item["path"], item["from"]["offset"], item["to"]["offset"]) == (str(path), 0, len(lines(1, 2)))

    again = reader(tmp_path)
    again.found.seek(taken)
    assert numbers(again.read(rows=1)) == [1, 2]
    assert again.taken == taken
    assert numbers(again.read()) == [3]

    path.rename(tmp_path / "2.json")
    behind = reader(tmp_path)
    behind.found.skip(taken)
    assert numbers(behind.read()) == [3]

    written(tmp_path / "2.json", lines(4, 5, 6), age=OLD)
    with pytest.raises(DataError, match="is not there as it was"):
        reader(tmp_path).found.seek(taken)


@pytest.mark.parametrize(
    ("style", "text"),
    [
        ("json", '{"a": 1}\r\n{"a": \n{"a": 3}\n{"a": 4}'),
        ("csv", 'a,b\n1,"x\n"\nnot,a,row\n2,"y""\r\n"\r\n3,"open\n4,z'),
    ],
)
@pytest.mark.parametrize("rows", [1, 2, 100])
def test_what_a_manifest_names_is_read_again_exactly(tmp_path, style, text, rows):
    """Also with what was rejected, after the file has grown, and with a last line that had no line end."""
    path = tmp_path / f"1.{style}"
    written(path, text, age=OLD)
    first = reader(tmp_path, style)
    steps = []
    while (found := first.read(rows, ended=True)) or first.taken:
        steps.append((first.taken, found, first.rejected))
        first.rejected = []
    written(path, text + "9\nnew,1\n", age=OLD)
    for taken, found, rejected in steps:
        again = reader(tmp_path, style)
        again.found.seek(taken)
        assert (again.read(), again.rejected) == (found, rejected)
