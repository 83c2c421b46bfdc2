"""The function over columns of Arrow: each list of rows gets its own answer, however the columns are cut."""

from __future__ import annotations

import json
from itertools import product

import pyarrow as pa
import pytest

from penstock.backends.matching.function import matches_in_arrow, matches_of
from penstock.backends.matching.program import program_of

ROWS = pa.list_(pa.struct([("a", pa.bool_()), ("b", pa.bool_()), ("at", pa.int64())]))


def program(*, shows="one", skip=("past", ""), around=False):
    """PATTERN (a b), where `a` reads a column, or `around` the same column of the row that it is."""
    last = ["last", [], 0, False]
    text = {
        "code": [["row", "a"], ["row", "b"], ["found"]],
        "define": {"a": ["at", last, 0] if around else ["column", 0], "b": ["column", 1]},
        "written": {},
        "subsets": {},
        "picks": [["first", [], 0, True], last],
        "longs": [["match number"], ["reach"]],
        "doubles": [],
        "texts": [["classifier", last]],
        "time": 2,
        "shows": shows,
        "skip": list(skip),
        "within": 3,
    }
    return json.dumps(text)


def lists():
    values = [dict(zip("ab", pair, strict=True)) for pair in product((True, False, None), repeat=2)]
    rows = [{**value, "at": at} for at, value in enumerate(values + values[::-1])]
    return [rows, None, [], rows[3:9], rows[:1], rows[::-1]]


def in_chunks(values, kind, cut):
    whole = pa.array(values, kind)
    return pa.chunked_array([whole[:cut], whole[cut:]])


@pytest.mark.parametrize("cut", [0, 1, 3])
def test_each_list_has_its_own_answer(cut):
    given = lists()
    texts = [program(), program(), program(skip=("next", "")), program(shows="unmatched"), program(), program()]
    found = matches_in_arrow(in_chunks(texts, pa.string(), cut), in_chunks(given, ROWS, cut)).to_pylist()
    for text, rows, answer in zip(texts, given, found, strict=True):
        wanted = matches_of(text, None if rows is None else [tuple(row.values()) for row in rows])
        assert [tuple(item.values()) for item in answer] == wanted
    assert found[0]
    assert found[1] == found[2] == []


@pytest.mark.parametrize("shows", ["one", "unmatched"])
def test_rows_at_which_no_match_begins_are_told_by_their_column(shows):
    """The same condition as an expression around the match, which says nothing of a row before it is taken."""
    for rows in lists():
        values = [tuple(row.values()) for row in rows or ()]
        assert matches_of(program(shows=shows), values) == matches_of(program(shows=shows, around=True), values)


def test_the_program_is_one_that_the_search_reads():
    assert program_of(program()).define["a"] == ("column", 0)
