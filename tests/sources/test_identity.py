"""What identifies a file is its path and its beginning: replaced, renamed, copied, shorter and gone files."""

import json
import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.sources.folders import OLD, reader, written

from penstock.errors import DataError
from penstock.pipeline.source_positions import SourcePositions
from penstock.sources.files import file as file_module
from penstock.sources.files import folder, renaming
from penstock.sources.files.identity import State


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


def test_a_file_that_has_become_shorter_is_a_new_one(tmp_path):
    written(tmp_path / "1.json", lines(1, 2, 3))
    written(tmp_path / "2.json", lines(7))
    found = reader(tmp_path)
    found.read()
    written(tmp_path / "1.json", lines(1, 2), age=5)
    written(tmp_path / "2.json", lines(7, 8), age=5)
    assert sorted(numbers(found.read())) == [1, 2, 8]
    assert found.read() == found.rejected == []
    written(tmp_path / "1.json", lines(1, 2, 4), age=4)
    assert numbers(found.read()) == [4]


def test_a_file_that_has_become_shorter_may_be_an_error(tmp_path):
    written(tmp_path / "1.json", lines(1, 2, 3))
    found = reader(tmp_path, on_replaced="fail")
    found.read()
    written(tmp_path / "1.json", lines(1, 2), age=5)
    with pytest.raises(DataError, match=r"1\.json is shorter than what was read") as raised:
        found.read()
    assert raised.value.diagnostics[0].code == "FILE_REPLACED"


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


class Runs:
    """A folder that is read by one process after the other, each of which knows what the manifests tell."""

    def __init__(self, folder, style="json", **properties):
        self.folder, self.style, self.properties = folder, style, properties
        self.positions = SourcePositions()

    def run(self):
        """The values of one process; what it has read is known to the next one."""
        found = reader(self.folder, self.style, **self.properties)
        for taken in self.positions.of("t"):
            found.found.skip(json.loads(json.dumps(taken)))
        values = []
        while (part := found.read(ended=True)) or found.taken:
            values += numbers(part)
            self.positions.add({"t": found.taken})
        self.rejected = found.rejected
        return sorted(values)


@pytest.mark.parametrize("step", [False, True], ids=["process by process", "within one"])
class TestRotation:
    @pytest.fixture
    def run(self, tmp_path, step):
        if not step:
            return Runs(tmp_path).run
        found = reader(tmp_path)
        return lambda: sorted(numbers(found.all()))

    def test_renamed_again_and_again(self, tmp_path, run):
        path = tmp_path / "a.json"
        written(path, lines(1, 2))
        assert run() == [1, 2]
        for number in range(3, 7):
            for old in range(5, 0, -1):
                if (before := tmp_path / f"a.json.{old}").exists():
                    before.rename(tmp_path / f"a.json.{old + 1}")
            path.rename(tmp_path / "a.json.1")
            written(path, lines(number))
            assert run() == [number]
        assert run() == []

    def test_two_names_are_exchanged(self, tmp_path, run):
        one, two = tmp_path / "1.json", tmp_path / "2.json"
        written(one, lines(1, 2))
        written(two, lines(1, 2, 3))
        assert run() == [1, 1, 2, 2, 3]
        one.rename(tmp_path / "x.tmp")
        two.rename(one)
        (tmp_path / "x.tmp").rename(two)
        assert run() == []
        written(one, lines(1, 2, 3, 4), age=5)
        assert run() == [4]

    def test_the_new_file_begins_as_the_old_one(self, tmp_path, run):
        path = tmp_path / "a.json"
        written(path, lines(1))
        assert run() == [1]
        path.rename(tmp_path / "a.json.1")
        written(path, lines(1, 2))
        assert run() == [1, 2]

    def test_written_on_after_it_was_renamed(self, tmp_path, run):
        path = tmp_path / "a.json"
        written(path, lines(1))
        assert run() == [1]
        path.rename(tmp_path / "a.json.1")
        written(path, lines(5))
        written(tmp_path / "a.json.1", lines(1, 2), age=5)
        assert run() == [2, 5]

    @pytest.mark.parametrize("copy", [shutil.copy, shutil.copy2])
    @pytest.mark.parametrize("name", ["a.json.1", "a.json-20240101", "a-20240101.json"])
    def test_copied_and_emptied(self, tmp_path, run, copy, name):
        path = tmp_path / "a.json"
        written(path, lines(*range(10)))
        assert run() == list(range(10))
        copy(path, tmp_path / name)
        path.write_text(lines(20))
        assert run() == [20]
        assert run() == []

    def test_moved_as_a_copy_that_keeps_its_time(self, tmp_path, run):
        path = tmp_path / "a.json"
        written(path, lines(1, 2))
        assert run() == [1, 2]
        shutil.copy2(path, tmp_path / "other.json")
        path.unlink()
        assert run() == []
        with (tmp_path / "other.json").open("a") as file:
            file.write(lines(3))
        assert run() == [3]

    def test_two_files_with_one_content_are_two_files(self, tmp_path, run):
        written(tmp_path / "a.json", lines(1))
        assert run() == [1]
        shutil.copy2(tmp_path / "a.json", tmp_path / "b.json")
        assert run() == [1]
        (tmp_path / "b.json").unlink()
        assert run() == []

    def test_the_content_of_a_deleted_file_written_anew_is_a_new_file(self, tmp_path, run):
        """The file system gives the number of the inode that has become free to the next file."""
        path = tmp_path / "a.json"
        path.write_text(lines(1, 2))
        assert run() == [1, 2]
        path.unlink()
        (tmp_path / "b.json").write_text(lines(1, 2))
        assert run() == [1, 2]
        (tmp_path / "b.json").unlink()
        (tmp_path / "c.json").write_text(lines(1, 2, 3))
        assert run() == [1, 2, 3]

    def test_an_old_copy_with_another_end_is_a_new_file(self, tmp_path, run):
        path = tmp_path / "a.json"
        written(path, lines(*range(20_000)))
        assert len(run()) == 20_000
        other = path.read_text().replace('"a": 19000}', '"a": 19001}')
        path.unlink()
        written(tmp_path / "a.json.1", other, age=OLD)
        assert len(run()) == 20_000

    def test_a_hard_link_is_another_name(self, tmp_path, run):
        path = tmp_path / "a.json"
        written(path, lines(1))
        (tmp_path / "b.json").hardlink_to(path)
        assert run() == [1]
        path.unlink()
        written(tmp_path / "b.json", lines(1, 2), age=5)
        assert run() == [2]

    def test_replaced_with_a_shorter_and_a_longer_content(self, tmp_path, run):
        path = tmp_path / "a.json"
        written(path, lines(1, 2, 3))
        assert run() == [1, 2, 3]
        written(path, lines(1, 2), age=8)
        assert run() == [1, 2]
        written(path, lines(9, 8, 7, 6), age=6)
        assert run() == [6, 7, 8, 9]

    def test_a_file_that_goes_and_comes_back(self, tmp_path, run):
        path = tmp_path / "a.json"
        written(path, lines(1))
        assert run() == [1]
        aside = tmp_path / "aside.tmp"
        aside.write_text(lines(1, 2))
        path.unlink()
        assert run() == []
        aside.rename(path)
        assert run() == [2]


def test_other_content_is_an_error_after_a_restart_too(tmp_path):
    runs = Runs(tmp_path, on_replaced="fail")
    written(tmp_path / "a.json", lines(1, 2))
    assert runs.run() == [1, 2]
    (tmp_path / "a.json").rename(tmp_path / "a.json.1")
    written(tmp_path / "a.json", lines(5), age=5)
    assert runs.run() == [5]
    written(tmp_path / "a.json", lines(6), age=4)
    with pytest.raises(DataError, match="has other content than what was read"):
        runs.run()


def test_what_went_unread_between_two_processes_is_reported_once(tmp_path):
    runs = Runs(tmp_path, complete_after="1 hour")
    written(tmp_path / "a.json", lines(1) + '{"a"')
    found = reader(tmp_path, complete_after="1 hour")
    assert numbers(found.read()) == [1]
    runs.positions.add({"t": found.taken})
    (tmp_path / "a.json").unlink()
    assert runs.run() == []
    assert reasons(runs) == ["it has gone, and 4 bytes of it were not read"]
    assert runs.run() == []
    assert runs.rejected == []


def test_where_there_are_no_inodes_and_no_times_of_birth(tmp_path, monkeypatch):
    """As on object stores that are mounted: a file that was moved has its beginning, its end and its time."""

    def without(status):
        return State(status.st_mtime_ns, status.st_mtime_ns, status.st_size, 0)

    for module in (folder, renaming):
        monkeypatch.setattr(module, "state_of", without)
    monkeypatch.setattr(file_module, "birth_of", lambda _: None)
    runs = Runs(tmp_path)
    written(tmp_path / "a.json", lines(1, 2), age=OLD)
    assert runs.run() == [1, 2]
    (tmp_path / "a.json").rename(tmp_path / "b.json")
    assert runs.run() == []
    (tmp_path / "b.json").unlink()
    (tmp_path / "c.json").write_text(lines(1, 2))
    assert runs.run() == [1, 2]
    written(tmp_path / "d.json", lines(1, 2))
    assert runs.run() == [1, 2]


def test_positions_without_identities_are_taken_up(tmp_path):
    """As manifests had them that told of nothing but a path and a beginning."""
    written(tmp_path / "a.json", lines(1, 2))
    found = reader(tmp_path)
    found.read()
    taken = json.loads(json.dumps(found.taken))
    for item in taken["read"]:
        del item["of"], item["file"]
    runs = Runs(tmp_path)
    runs.positions.add({"t": taken})
    assert runs.run() == []
    written(tmp_path / "a.json", lines(1, 2, 3), age=5)
    assert runs.run() == [3]
    ((item,),) = [taken["read"] for taken in runs.positions.of("t")]
    assert item["of"]["inode"]
    (tmp_path / "a.json").rename(tmp_path / "a.json.1")
    written(tmp_path / "a.json", lines(4), age=5)
    assert runs.run() == [4]
    assert runs.run() == []


@pytest.mark.parametrize("name", ["[a]", "x*y", "a?", "q%20r", "back\\slash", "new\nline"])
def test_a_path_is_read_as_it_is_named(tmp_path, name):
    for at, folder_name in enumerate((name, "a", "xy", "ab", "q r")):
        (tmp_path / folder_name).mkdir(exist_ok=True)
        written(tmp_path / folder_name / "1.json", lines(at))
    assert numbers(reader(tmp_path / name).read()) == [0]
    assert numbers(reader(tmp_path / name / "*.json").read()) == [0]
    assert numbers(reader(tmp_path / name / "1.json").read()) == [0]
