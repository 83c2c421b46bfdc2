"""Who has made each step of a directory: the same for all who go on from it, another for each copy."""

import json
import shutil

from penstock.steps.openings import FILE, Openings


def opened(directory, number):
    found = Openings(directory)
    found.begin(number)
    return found


def test_steps_keep_the_mark_of_the_opening_that_made_them(tmp_path):
    first = opened(tmp_path, 0)
    second = opened(tmp_path, 3)
    third = opened(tmp_path, 5)
    assert len({third.mark(step) for step in (1, 4, 6)}) == 3
    assert [third.mark(step) for step in (1, 3)] == [first.mark(1), first.mark(3)]
    assert [third.mark(step) for step in (4, 5)] == [second.mark(4), second.mark(5)]


def test_an_opening_that_made_no_step_leaves_nothing(tmp_path):
    opened(tmp_path, 0)
    for _ in range(5):
        last = opened(tmp_path, 2)
    assert len(json.loads((tmp_path / FILE).read_text())["openings"]) == 2
    assert opened(tmp_path, 3).mark(3) == last.mark(3)


def test_two_copies_have_the_same_steps_before_and_others_behind(tmp_path):
    mine = opened(tmp_path / "mine", 0)
    shutil.copytree(tmp_path / "mine", tmp_path / "copy")  # after step 4, and while it goes on
    copy = opened(tmp_path / "copy", 4)
    assert mine.mark(4) == copy.mark(4)
    assert mine.mark(5) != copy.mark(5)
    again = opened(tmp_path / "mine", 6)
    assert again.mark(5) == mine.mark(5)
    assert again.mark(7) != copy.mark(7)


def test_beginning_twice_is_beginning_once(tmp_path):
    found = opened(tmp_path, 2)
    before = (tmp_path / FILE).read_text()
    found.begin(9)
    assert (tmp_path / FILE).read_text() == before


def test_steps_from_before_there_were_marks_have_none(tmp_path):
    found = opened(tmp_path, 7)
    assert found.mark(7) is None
    assert found.mark(8)


def test_without_a_directory_all_steps_are_of_one_opening():
    found = opened(None, 0)
    assert found.mark(1) == found.mark(1000)
    assert found.mark(1) != opened(None, 0).mark(1)
