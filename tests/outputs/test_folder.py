"""Folders of changes: names that cannot lead out of them, and whose they are."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import DataError
from penstock.outputs.lines import FolderOutput
from penstock.outputs.names import file_name, view_name
from penstock.outputs.ownership import claim


@pytest.mark.parametrize(
    ("view", "file"),
    [
        ("totals", "totals"),
        ("../../x", "%2E.%2F..%2Fx"),
        ("/x", "%2Fx"),
        ("..", "%2E."),
        ("a b%", "a%20b%25"),
        ("é", "é"),
    ],
)
def test_a_name_is_a_file_name_that_leads_nowhere_else(view, file):
    assert file_name(view) == file


@given(st.text(min_size=1))
def test_the_file_name_has_the_whole_name(view):
    found = file_name(view)
    assert view_name(found) == view
    assert "/" not in found
    assert "\0" not in found
    assert not found.startswith(".")


class Told:
    """A change of one row, as outputs see it."""

    def __init__(self, view):
        self.view, self.step, self.columns, self.delta, self.rows = view, 1, ("a",), object(), [(1, (1,))]

    def arrow(self):
        return pa.table({"a": [1], "__weight": [1]})


@pytest.mark.parametrize("style", ["json", "parquet"])
@pytest.mark.parametrize("view", ["../../x", "/x", "a/b"])
def test_no_view_writes_outside_its_folder(view, style, tmp_path):
    folder = tmp_path / "a" / "b" / "out"
    FolderOutput(folder, style).write({view: Told(view)})
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.parent.parent for path in written] == [folder]
    assert view_name(written[0].parent.name) == view


def used(folder):
    FolderOutput(folder, "json").write({"v": Told("v")})
    (folder / "mine.txt").write_text("mine")
    return folder


def test_a_used_folder_is_refused_and_emptied_of_that_on_demand(tmp_path):
    out = tmp_path / "out"
    claim(out, None)
    used(out)
    with pytest.raises(DataError, match="another run") as caught:
        claim(out, None)
    assert caught.value.code == "OUTPUT_IN_USE"
    assert "--overwrite" in caught.value.diagnostics[0].hint
    claim(out, None, overwrite=True)
    assert sorted(path.name for path in out.iterdir()) == ["_penstock.json", "mine.txt"]


def test_a_used_folder_is_continued_with_its_directory_alone(tmp_path):
    out, own, other = tmp_path / "out", tmp_path / "own", tmp_path / "other"
    claim(out, own)
    used(out)
    claim(out, own)
    own.rename(tmp_path / "moved")
    claim(out, tmp_path / "moved")
    with pytest.raises(DataError):
        claim(out, other)
    with pytest.raises(DataError):
        claim(out, None)


def test_what_an_older_run_has_written_is_used_too(tmp_path):
    with pytest.raises(DataError):
        claim(used(tmp_path / "out"), None)
