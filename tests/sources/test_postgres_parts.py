"""The parts of the connector postgres that need no database: lines of a copy, positions, types, declarations."""

import json
import struct
from types import SimpleNamespace

import pytest
from tests.steps.tables import declared

from penstock.errors import DataError, SqlError
from penstock.sources.api import check_source
from penstock.sources.postgres.copied import ROWS, WHOLE, Copy, copy_in, remove_copy
from penstock.sources.postgres.messages import Relation, RelationColumn, TypeOf, lsn_text, message_of
from penstock.sources.postgres.position import SlotPosition, position_of
from penstock.sources.postgres.source import opened
from penstock.sources.postgres.values import kind_of

OF = {"slot": "s", "at": "db"}
LINES = [b"1\ta\\tb\n", b"2\t\\N\n", b"3\t\\\\N\n", b"4\t\n", b"5\t\\b\\f\\n\\r\\v\\.\n"]
VALUES = [[b"1", b"a\tb"], [b"2", None], [b"3", b"\\N"], [b"4", b""], [b"5", b"\b\f\n\r\v."]]


@pytest.fixture
def copy(tmp_path):
    (tmp_path / ROWS).write_bytes(b"".join(LINES))
    found = Copy(tmp_path, 7 << 32, {"id": TypeOf(23), "name": TypeOf(1043, 14)}, len(LINES), sum(map(len, LINES)))
    found.keep(OF)
    return found


@pytest.mark.parametrize("rows", [1, 2, 5, 9])
def test_a_copy_is_read_line_by_line(copy, rows):
    byte, read = 0, []
    while True:
        lines, byte = copy.lines(byte, rows)
        read += [copy.values(line) for line in lines]
        if byte == copy.size:
            break
    assert read == VALUES
    assert copy.lines(byte, rows) == ([], byte)


def test_a_copy_is_found_by_the_slot_that_it_is_of(copy):
    assert copy_in(copy.folder, OF) == copy
    assert copy_in(copy.folder, {"slot": "other"}) is None
    (copy.folder / WHOLE).write_text("{")
    assert copy_in(copy.folder, OF) is None
    remove_copy(copy.folder)
    remove_copy(copy.folder)
    assert (copy_in(copy.folder, OF), list(copy.folder.iterdir())) == (None, [])


def test_a_row_without_columns_has_no_values(tmp_path):
    assert Copy(tmp_path, 1, {}, 1, 1).values(b"\n") == []


@pytest.mark.parametrize("position", [SlotPosition(5, {"id": 23}), SlotPosition(1 << 40, {}, 0, 0, 9)])
def test_a_position_is_the_same_from_a_manifest(position):
    assert position_of(json.loads(json.dumps(position.to_json()))) == position


def test_a_relation_says_what_stands_behind_its_types():
    columns = (("id", 23, -1, 1), ("amount", 1700, 655366, 0))
    data = b"R" + struct.pack(">i", 9) + b"public\0t\0d" + struct.pack(">h", len(columns))
    for name, number, modifier, key in columns:
        data += struct.pack(">b", key) + name.encode() + b"\0" + struct.pack(">Ii", number, modifier)
    expected = tuple(RelationColumn(name, TypeOf(number, more), bool(key)) for name, number, more, key in columns)
    assert message_of(data) == Relation(9, expected)


@pytest.mark.parametrize(
    ("precision", "scale", "kind"),
    [(10, 2, "DECIMAL(10, 2)"), (38, 0, "DECIMAL(38, 0)"), (39, 0, "STRING"), (2, -3, "DECIMAL(5, 0)"),
     (2, 5, "DECIMAL(5, 5)"), (1, -1, "DECIMAL(2, 0)"), (2, 1000, "STRING")],
)  # fmt: skip
def test_a_numeric_has_the_digits_that_its_values_can_have(precision, scale, kind):
    assert kind_of(TypeOf(1700, (precision << 16 | scale & 0x7FF) + 4)) == kind


def test_columns_are_added_to_tables_whose_rows_are_found_without_them():
    words = "WITH ('connector' = 'postgres', 'connection' = 'host=h', 'unknown_columns' = 'add')"
    check_source(declared(f"CREATE TABLE t (id INT PRIMARY KEY) {words}"))
    check_source(declared(f"CREATE STREAM t (id INT) {words}"))
    with pytest.raises(SqlError, match="'unknown_columns' = 'add' is for a table with a PRIMARY KEY") as caught:
        check_source(declared(f"CREATE TABLE t (id INT) {words}"))
    assert caught.value.diagnostics[0].code == "BAD_PROPERTY"


def begun(end):
    """The beginning of a transaction, as pgoutput sends it."""
    return b"B" + struct.pack("!QqI", end, 0, 1)


def committed(end):
    """Its end, behind which the slot stands then."""
    return b"C\0" + struct.pack("!QQq", end - 1, end, 0)


class Old:
    """A database before version 15: transactions of other tables are sent without their rows."""

    def __init__(self, ends, now):
        self.ends, self.now, self.found = ends, now, []

    def execute(self, query, arguments=()):
        if "peek" in query:
            most, self.found = arguments[1], []
            for end in self.ends:
                self.found += [(lsn_text(end), begun(end)), (lsn_text(end), committed(end))]
                if len(self.found) >= most:
                    break
        else:
            self.found = [(lsn_text(self.now),)]
        return self

    def fetchone(self):
        return self.found[0]

    def fetchall(self):
        return self.found


@pytest.mark.parametrize(
    ("rows", "now", "end"),
    [
        (4, 60, 20),  # there may be more than was looked at
        (100, 60, None),  # all of it, and little: it may be there as long as that
        (100, 50 + (17 << 20), 50 + (17 << 20)),
    ],
)
def test_transactions_without_rows_are_gone_past(monkeypatch, rows, now, end):
    monkeypatch.setattr("penstock.sources.postgres.source.loading", lambda _connection: None)
    said = "'connector' = 'postgres', 'connection' = 'host=h dbname=d'"
    found = opened(declared(f"CREATE TABLE t (id INT PRIMARY KEY) WITH ({said})"), lambda _table, _lenient: None)
    read = found._changes(Old([10, 20, 30, 40, 50], now), SlotPosition(5, {"id": 23}), rows)
    if end is None:
        assert read is None
    else:
        assert (read.items, read.end) == ([], SlotPosition(end, {"id": 23}))


def test_a_database_that_does_not_tell_how_a_slot_is_lost_is_refused():
    said = "'connector' = 'postgres', 'connection' = 'host=h dbname=d'"
    found = opened(declared(f"CREATE TABLE t (id INT PRIMARY KEY) WITH ({said})"), lambda _table, _lenient: None)
    with pytest.raises(DataError, match="is PostgreSQL 12, and tables are followed from 13 on") as caught:
        found.slot.check(SimpleNamespace(info=SimpleNamespace(server_version=120_017)))
    assert caught.value.diagnostics[0].code == "NO_LOGICAL_DECODING"
