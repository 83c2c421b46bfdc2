# ruff: noqa: DTZ001 - a TIMESTAMP_NTZ is a naive datetime
"""Avro container files: types, growing files, broken blocks and records, schemas that do not fit."""

import io
import json
import sys
import zlib
from datetime import UTC, date, datetime, time
from decimal import Decimal
from uuid import UUID

import fastavro
import pyarrow as pa
import pytest
from tests.sources.folders import reader, source, written

from penstock.errors import DataError, UnsupportedError
from penstock.sources.formats.avro.schema import BadRecordError, BadSchemaError, avro_schema
from penstock.steps.rows.rejected import Rejections

ITEM = {
    "type": "record",
    "name": "shop.item",
    "fields": [{"name": "name", "type": "string"}, {"name": "day", "type": {"type": "int", "logicalType": "date"}}],
}
TWO = {
    "type": "record",
    "name": "r",
    "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": ["null", "string"]}],
}


def record(*fields, name="r"):
    return {"type": "record", "name": name, "fields": [{"name": at, "type": kind} for at, kind in fields]}


def container(schema, rows, codec="null", **options):
    stream = io.BytesIO()
    fastavro.writer(stream, schema, rows, codec=codec, **options)
    return stream.getvalue()


def two(*numbers):
    return [{"a": number, "b": str(number)} for number in numbers]


def one(tmp_path, kind, column, value, codec="null"):
    written(tmp_path / "1.avro", container(record(("v", kind)), [{"v": value}], codec))
    found = reader(tmp_path, "avro", f"v {column}")
    rows = found.all()
    return [row[0] for row in rows], [json.loads(row.metadata)["error"] for row in found.rejected]


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"])
def test_rows_of_all_compressions(tmp_path, codec):
    by_hand = codec in ("snappy", "zstandard")
    written(tmp_path / "1.avro", packed_by_hand(codec) if by_hand else container(TWO, two(1, 2, 3), codec))
    found = reader(tmp_path, "avro")
    assert found.all() == [(1, "1"), (2, "2"), (3, "3")]
    assert found.rejected == []


def packed_by_hand(codec):
    """A file as a writer makes it that has the library for this."""
    plain = container(TWO, two(1, 2, 3), sync_marker=b"m" * 16)
    head, block, _ = plain.split(b"m" * 16)
    data = block[2:]
    pressed = pa.Codec("zstd" if codec == "zstandard" else codec).compress(data, asbytes=True)
    pressed += zlib.crc32(data).to_bytes(4, "big") if codec == "snappy" else b""
    size = bytes([len(pressed) << 1]) if len(pressed) < 64 else None
    head = head.replace(b"\x14avro.codec\x08null", b"\x14avro.codec" + bytes([len(codec) << 1]) + codec.encode())
    return head + b"m" * 16 + block[:1] + size + pressed + b"m" * 16


@pytest.mark.parametrize(
    ("kind", "column", "value", "expected"),
    [
        ("boolean", "BOOLEAN", True, True),
        ("long", "BIGINT", -(2**63), -(2**63)),
        ("float", "DOUBLE", 0.5, 0.5),
        ("bytes", "BINARY", b"\x00\xff", b"\x00\xff"),
        ({"type": "fixed", "name": "f", "size": 2}, "BINARY", b"ab", b"ab"),
        ({"type": "enum", "name": "e", "symbols": ["x", "y"]}, "STRING", "y", "y"),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            "DECIMAL(9,2)",
            Decimal("-1.25"),
            Decimal("-1.25"),
        ),
        (
            {"type": "fixed", "name": "f", "size": 16, "logicalType": "decimal", "precision": 38, "scale": 0},
            "DECIMAL(38,0)",
            Decimal(-(10**37)),
            Decimal(-(10**37)),
        ),
        ({"type": "int", "logicalType": "date"}, "DATE", date(1969, 12, 31), date(1969, 12, 31)),
        (
            {"type": "long", "logicalType": "timestamp-millis"},
            "TIMESTAMP",
            datetime(2024, 1, 31, 12, 0, 0, 5000, UTC),
            datetime(2024, 1, 31, 12, 0, 0, 5000, UTC),
        ),
        (
            {"type": "long", "logicalType": "timestamp-micros"},
            "TIMESTAMP",
            datetime(1960, 1, 1, 0, 0, 0, 1, UTC),
            datetime(1960, 1, 1, 0, 0, 0, 1, UTC),
        ),
        (
            {"type": "long", "logicalType": "timestamp-nanos"},
            "TIMESTAMP",
            1_500_000_000_123_456_789,
            datetime(2017, 7, 14, 2, 40, 0, 123456, UTC),
        ),
        (
            {"type": "long", "logicalType": "local-timestamp-micros"},
            "TIMESTAMP_NTZ",
            datetime(2024, 1, 31),
            datetime(2024, 1, 31),
        ),
        ({"type": "int", "logicalType": "time-millis"}, "TIME(6)", time(23, 59, 59, 5000), time(23, 59, 59, 5000)),
        ({"type": "string", "logicalType": "uuid"}, "STRING", UUID(int=1), str(UUID(int=1))),
        (["null", "long"], "INT", None, None),
        (["null", "string", "long"], "STRING", "x", "x"),
        (["null", {"type": "int", "logicalType": "date"}], "DATE", date(2024, 1, 31), date(2024, 1, 31)),
        (
            {"type": "array", "items": ["null", {"type": "int", "logicalType": "date"}]},
            "ARRAY<DATE>",
            [date(2024, 1, 31), None],
            [date(2024, 1, 31), None],
        ),
        (
            {"type": "map", "values": {"type": "int", "logicalType": "date"}},
            "MAP<STRING, DATE>",
            {"k": date(2024, 1, 31)},
            [("k", date(2024, 1, 31))],
        ),
        (
            ITEM,
            "STRUCT<name: STRING, day: DATE>",
            {"name": "n", "day": date(2024, 1, 31)},
            {"name": "n", "day": date(2024, 1, 31)},
        ),
    ],
)
def test_a_type_is_a_column(tmp_path, kind, column, value, expected):
    assert one(tmp_path, kind, column, value) == ([expected], [])


@pytest.mark.parametrize(
    ("kind", "column", "value", "text"),
    [
        ("string", "INT", "x", "found 'x'"),
        ("long", "INT", 1 << 40, "out of range"),
        (["null", "string"], "STRING NOT NULL", None, "NOT NULL"),
        ("long", "DATE", 3, "found 3"),
    ],
)
def test_a_value_that_does_not_fit_costs_its_row(tmp_path, kind, column, value, text):
    rows, (error,) = one(tmp_path, kind, column, value)
    assert (rows, text in error) == ([], True)


def test_a_time_that_nobody_has_costs_its_row_and_not_those_behind_it(tmp_path):
    plain, meant = record(("v", "long")), record(("v", {"type": "long", "logicalType": "timestamp-millis"}))
    data = container(plain, [{"v": 0}, {"v": (1 << 63) - 1}, {"v": 1000}], sync_marker=b"m" * 16)
    head = container(meant, [], sync_marker=b"m" * 16)
    written(tmp_path / "1.avro", head + data.split(b"m" * 16, 1)[1])
    found = reader(tmp_path, "avro", "v TIMESTAMP")
    assert [row[0].year for row in found.all()] == [1970, 1970]
    (rejected,) = [json.loads(row.metadata) for row in found.rejected]
    assert rejected["place"].endswith("1.avro:2")
    assert "none of the years 1 to 9999" in rejected["error"]


def test_a_text_that_is_not_utf8_costs_its_row(tmp_path):
    data = container(record(("v", "bytes")), [{"v": b"a"}, {"v": b"\xff"}, {"v": b"c"}], sync_marker=b"m" * 16)
    head = container(record(("v", "string")), [], sync_marker=b"m" * 16)
    written(tmp_path / "1.avro", head + data.split(b"m" * 16, 1)[1])
    found = reader(tmp_path, "avro", "v STRING")
    assert found.all() == [("a",), ("c",)]
    assert len(found.rejected) == 1


def test_operations_in_a_field(tmp_path):
    schema = record(("__op", ["null", "string"]), ("a", "int"), ("b", ["null", "string"]))
    rows = [
        {"__op": "+", "a": 1, "b": "x"},
        {"__op": None, "a": 2, "b": "y"},
        {"__op": "-", "a": 1, "b": None},
        {"__op": "!", "a": 3, "b": None},
    ]
    written(tmp_path / "1.avro", container(schema, rows))
    batch = source(tmp_path, "avro", "a INT PRIMARY KEY, b STRING").read(10, Rejections(tolerant=True), ended=True)
    assert [batch.operation(index) for index in range(len(batch))] == ["+", "+", "-"]


def test_a_file_is_read_on_block_by_block_and_a_half_one_waits(tmp_path):
    path, mark = tmp_path / "1.avro", b"m" * 16
    whole = container(TWO, two(*range(9)), sync_interval=1, sync_marker=mark)
    ends = [at + 16 for at in range(len(whole)) if whole.startswith(mark, at)]
    found = reader(tmp_path, "avro")
    seen = []
    for size in (3, ends[0] - 1, ends[0], ends[1] - 5, ends[3], ends[3] + 1, len(whole)):
        written(path, whole[:size], age=0)
        seen.append([row[0] for row in found.read()])
    assert seen == [[], [], [], [], [0, 1, 2], [], [3, 4, 5, 6, 7, 8]]
    assert found.rejected == []


def test_pieces_are_about_as_many_rows_and_can_be_read_again(tmp_path):
    written(tmp_path / "1.avro", container(TWO, two(*range(50)), sync_interval=20))
    found = source(tmp_path, "avro")
    first = found.read(7, Rejections())
    assert 7 <= len(first) < 20
    taken = found.taken()
    found.commit()
    rest = found.read(1000, Rejections())
    assert len(first) + len(rest) == 50
    again = source(tmp_path, "avro")
    again.seek(json.loads(json.dumps(taken)))
    assert again.read(1, Rejections()).rows == first.rows
    again.commit()
    assert again.read(1000, Rejections()).rows == rest.rows


def test_a_broken_block_goes_alone(tmp_path):
    mark = b"m" * 16
    blocks = container(TWO, two(*range(6)), sync_interval=1, sync_marker=mark).split(mark)
    blocks[3] = blocks[3][:-1] + b"\x00\x00"
    written(tmp_path / "1.avro", mark.join(blocks))
    found = reader(tmp_path, "avro")
    assert [row[0] for row in found.all()] == [0, 1, 3, 4, 5]
    (rejected,) = [json.loads(row.metadata) for row in found.rejected]
    assert "a block is broken" in rejected["error"]


def test_a_block_whose_data_are_broken_says_which_records_are_lost(tmp_path):
    mark = b"m" * 16
    blocks = container(TWO, two(*range(9)), "deflate", sync_interval=6, sync_marker=mark).split(mark)
    blocks[2] = blocks[2][:2] + b"\xff" + blocks[2][3:]
    written(tmp_path / "1.avro", mark.join(blocks))
    found = reader(tmp_path, "avro")
    rows = found.all()
    (rejected,) = [json.loads(row.metadata) for row in found.rejected]
    lost = 9 - len(rows)
    assert 1 < lost < 5
    assert "are lost: its deflate data are broken" in rejected["error"]


def test_a_record_that_cannot_be_read_takes_those_behind_it_in_its_block(tmp_path):
    mark = b"m" * 16
    head, block, end = container(TWO, two(1, 2, 3), sync_marker=mark).split(mark)
    broken = block.replace(b"\x04\x02\x022", b"\x04\x09\x022")  # a branch that the union does not have
    assert broken != block
    written(tmp_path / "1.avro", mark.join([head, broken, end]))
    found = reader(tmp_path, "avro")
    assert found.all() == [(1, "1")]
    (rejected,) = [json.loads(row.metadata) for row in found.rejected]
    assert rejected["place"].endswith("1.avro:2")
    assert "records 2 to 3 are lost" in rejected["error"]


def test_a_file_that_is_broken_off_is_said_at_its_end(tmp_path):
    written(tmp_path / "1.avro", container(TWO, two(1), sync_marker=b"m" * 16)[:-3])
    found = reader(tmp_path, "avro")
    assert found.all() == []
    assert "broken off" in found.rejected[0].metadata


def test_a_schema_that_changed_type_rejects_what_does_not_fit(tmp_path):
    written(tmp_path / "1.avro", container(TWO, two(1)), age=20)
    written(
        tmp_path / "2.avro",
        container(record(("a", "string"), ("b", "string")), [{"a": "x", "b": ""}, {"a": "7", "b": ""}]),
    )
    found = reader(tmp_path, "avro")
    assert [row[0] for row in found.all()] == [1, 7]
    assert "2.avro:1" in found.rejected[0].metadata


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b'{"a": 1}', "not an Avro container file"),
        (b"Obj\x01\x02", "its header is broken off"),
        (container(record(("x", "int")), []), "none of its columns is one of the table: x"),
        (container({"type": "array", "items": "int"}, []), "its schema is no record, but array"),
        (container(TWO, []).replace(b"\x08null", b"\x06lzo"), "compressed by lzo"),
        (container(record(("a", "int"), ("A", "int")), []), "two columns A"),
    ],
    ids=["json", "half", "others", "array", "lzo", "twice"],  # the marks in containers are drawn at random
)
def test_a_file_that_is_not_of_the_table_is_reported(tmp_path, data, text):
    written(tmp_path / "1.avro", data)
    written(tmp_path / "2.avro", container(TWO, two(1)))
    found = reader(tmp_path, "avro")
    assert found.all() == [(1, "1")]
    (rejected,) = found.rejected
    assert (rejected.message, text.lower() in rejected.metadata.lower()) == ("Bad file", True)


def test_columns_that_the_table_lacks_can_be_refused(tmp_path):
    written(tmp_path / "1.avro", container(record(("a", "int"), ("c", "int")), [{"a": 1, "c": 2}]))
    assert reader(tmp_path, "avro").all() == [(1, None)]
    found = reader(tmp_path, "avro", unknown_columns="reject")
    assert found.all() == []
    assert "which the table lacks" in found.rejected[0].metadata


def test_a_strict_reader_stops(tmp_path):
    written(tmp_path / "1.avro", b"nothing")
    with pytest.raises(DataError, match="not an Avro"):
        source(tmp_path, "avro").read(1, Rejections(), ended=True)


def test_types_with_names_hold_themselves_and_are_found_in_their_space():
    day = {"type": "int", "logicalType": "date"}
    money = {"type": "fixed", "name": "m", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 1}
    tree = {
        "type": "record",
        "name": "node",
        "namespace": "n",
        "fields": [
            {"name": "day", "type": day},
            {"name": "next", "type": ["null", "node"]},
            {"name": "money", "type": money},
            {"name": "more", "type": ["null", "n.m"]},
        ],
    }
    inner = {"day": date(2024, 1, 2), "next": None, "money": Decimal("2.5"), "more": Decimal("0.1")}
    value = {"day": date(2024, 1, 1), "next": inner, "money": Decimal("1.5"), "more": None}
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(tree), value)
    assert avro_schema(json.dumps(tree)).record(io.BytesIO(stream.getvalue())) == value


@pytest.mark.parametrize(
    "text", ["", "{", '"int"', '{"type": "record", "name": "r", "fields": [{"name": "a", "type": "nosuch"}]}']
)
def test_what_is_no_schema_is_said(text):
    with pytest.raises(BadSchemaError):
        avro_schema(text)


def test_a_union_whose_branches_look_the_same_is_refused():
    schema = record(("v", ["long", {"type": "int", "logicalType": "date"}]))
    with pytest.raises(BadSchemaError, match="look the same"):
        avro_schema(json.dumps(schema))


def test_a_record_broken_off_is_said():
    with pytest.raises(BadRecordError):
        avro_schema(json.dumps(TWO)).record(io.BytesIO(b"\x02"))


def test_a_package_that_is_missing_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastavro", None)
    with pytest.raises(UnsupportedError, match="the format avro needs a package") as caught:
        source(tmp_path, "avro")
    assert caught.value.diagnostics[0].hint == "pip install 'penstock[formats]'"
