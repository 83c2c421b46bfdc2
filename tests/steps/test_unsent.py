"""Values that a source has not sent are those of the row that the table has, in the order of the operations."""

import random

import pytest
from tests.steps.tables import NO_DEFAULTS, declared

from penstock.errors import DataError
from penstock.steps.intake.unsent import with_unsent
from penstock.steps.rows.batch import DELETE, INSERT, Operated, PartialRow, RowReader, concatenated
from penstock.steps.rows.rejected import Rejections

TABLE = declared("CREATE TABLE t (id INT PRIMARY KEY, big STRING NOT NULL, note STRING)")


class Stored:
    """The rows of a table by their key."""

    def __init__(self, *rows):
        self.rows = {row[:1]: row for row in rows}

    def key(self, row):
        return tuple(row[:1])

    def lookup(self, keys):
        return {key: self.rows[key] for key in keys if key in self.rows}


def batch(*items):
    return RowReader(TABLE, NO_DEFAULTS).read(items, Rejections())


def unsent(key, note, *, moved=False):
    return PartialRow(INSERT, {"id": key, "note": note}, frozenset({"big"}), moved)


def gone(key):
    return Operated(DELETE, {"id": key})


def row(key, big, note):
    return Operated(INSERT, {"id": key, "big": big, "note": note})


def rows(found):
    values = zip(*(column.to_pylist() for column in found.rows.columns), strict=True)
    return [(found.operation(index), *value) for index, value in enumerate(values)]


def test_the_same_key_has_the_value_of_its_row():
    found = with_unsent(batch(unsent(1, None)), Stored((1, "large", "n")), Rejections())
    assert rows(found) == [("+", 1, "large", None)]


def test_another_key_has_the_value_of_the_row_that_goes():
    given = batch(gone(1), unsent(2, "m", moved=True), gone(2), unsent(3, None, moved=True))
    found = with_unsent(given, Stored((1, "large", "n"), (2, "other", "n")), Rejections())
    assert rows(found)[1::2] == [("+", 2, "large", "m"), ("+", 3, "large", None)]


def test_a_row_of_the_same_batch_has_it_too():
    given = batch(row(5, "new", "n"), gone(5), unsent(6, "n", moved=True), unsent(6, "m"))
    assert rows(with_unsent(given, Stored(), Rejections()))[2:] == [("+", 6, "new", "n"), ("+", 6, "new", "m")]


def test_a_row_that_is_not_here_is_rejected_and_the_others_stay():
    given, rejections = batch(unsent(1, "n"), row(2, "b", "n"), unsent(2, "m")), Rejections(tolerant=True)
    assert rows(with_unsent(given, Stored(), rejections)) == [("+", 2, "b", "n"), ("+", 2, "b", "m")]
    assert "the row that has it is not here" in rejections.rows[0].metadata
    with pytest.raises(DataError, match="column big"):
        with_unsent(given, Stored(), Rejections())


def test_property_parts_of_batches_and_batches_together_mean_the_same():
    chance = random.Random(3)
    items = [row(key, f"b{key}", "n") for key in range(4)]
    present = set(range(4))
    for number in range(60):
        key = chance.choice(sorted(present))
        if chance.random() < 0.5:
            items.append(unsent(key, f"n{number}"))
        else:
            items += [gone(key), unsent(100 + number, "moved", moved=True)]
            present = present - {key} | {100 + number}
    whole = batch(*items)
    expected = rows(with_unsent(whole, Stored(), Rejections()))
    assert rows(with_unsent(whole.chosen(range(len(whole))), Stored(), Rejections())) == expected
    parts = concatenated([whole.taken(0, 4), whole.taken(4, len(whole) - 4)])
    assert rows(with_unsent(parts, Stored(), Rejections())) == expected
