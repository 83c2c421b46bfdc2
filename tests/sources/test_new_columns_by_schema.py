"""`'unknown_columns'` where a schema says the types: Avro in files and messages, Protobuf, Debezium in Avro."""

import io
import json
from datetime import UTC, date, datetime, time
from decimal import Decimal

import fastavro
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, duration_pb2, message_factory, timestamp_pb2, wrappers_pb2
from tests.sources.folders import written
from tests.steps.tables import NO_DEFAULTS, declared

import penstock
from penstock.sources.api import check_source
from penstock.sources.formats.avro.kinds import kinds_of_fields
from penstock.sources.messages.api import Message
from penstock.sources.messages.choice import rows_of
from penstock.steps.events import ColumnsAdded
from penstock.steps.rows.batch import RowReader
from penstock.steps.rows.new_columns import NewColumns
from penstock.steps.rows.rejected import Rejections


def record(name, **kinds):
    return {"type": "record", "name": name, "fields": [{"name": at, "type": kind} for at, kind in kinds.items()]}


def of(kind, logical, **more):
    return {"type": kind, "logicalType": logical, **more}


AT = datetime(2024, 1, 31, 12, tzinfo=UTC)
STATE = {"type": "enum", "name": "State", "symbols": ["OPEN", "PAID"]}
# The type in Avro, the type of the column, a value, and what a query shows of it.
KINDS = {
    "b": ("boolean", "BOOLEAN", True, True),
    "i": ("int", "BIGINT", 5, 5),
    "l": (["null", "long"], "BIGINT", 1 << 60, 1 << 60),
    "f": ("double", "DOUBLE", 1.5, 1.5),
    "s": ("string", "STRING", "5", "5"),
    "state": (STATE, "STRING", "PAID", "PAID"),
    "again": (["null", "State"], "STRING", "OPEN", "OPEN"),
    "raw": ("bytes", "BINARY", b"\xff", b"\xff"),
    "price": (["null", of("bytes", "decimal", precision=9, scale=2)], "DECIMAL(9, 2)", Decimal("1.50"),
              Decimal("1.50")),
    "day": (of("int", "date"), "DATE", date(2024, 1, 31), date(2024, 1, 31)),
    "at": (of("long", "timestamp-micros"), "TIMESTAMP", AT, AT.replace(tzinfo=None)),
    "local": (of("long", "local-timestamp-millis"), "TIMESTAMP_NTZ", AT.replace(tzinfo=None), AT.replace(tzinfo=None)),
    "clock": (of("int", "time-millis"), "STRING", time(12, 30), "12:30:00"),
    "tags": ({"type": "array", "items": "string"}, "STRING", ["a", "b"], '["a", "b"]'),
    "line": (record("Line", sku="string", next=["null", "Line"]), "STRING", {"sku": "x", "next": None},
             '{"sku": "x", "next": null}'),
    "either": (["null", "long", "string"], "STRING", 7, "7"),
}  # fmt: skip
WHOLE = record("shop.Row", id="long", v=["null", "long"], **{name: kind for name, (kind, *_) in KINDS.items()})
FIRST = record("shop.Row", id="long", v=["null", "long"])
LATER = record("shop.Row", id="long", i="string", n="string")
ENVELOPE = record("Envelope", before=["null", WHOLE], after=["null", "shop.Row"], op="string")


def container(schema, *rows):
    stream = io.BytesIO()
    fastavro.writer(stream, fastavro.parse_schema(json.loads(json.dumps(schema))), rows)
    return stream.getvalue()


def avro(schema, value, number):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(schema))), value)
    return b"\0" + number.to_bytes(4, "big") + out.getvalue()


def test_types_follow_from_the_schema():
    said = {name: kind for name, (_, kind, *_) in KINDS.items()}
    assert kinds_of_fields(WHOLE) == {"id": "BIGINT", "v": "BIGINT", **said}
    odd = record(
        "a.R", far=of("bytes", "decimal", precision=60, scale=2), none="null", deep={"type": {"type": "string"}},
        wrapped={"type": ["null", {"type": "int", "logicalType": "date"}]}, m={"type": "map", "values": "int"},
        d=of({"type": "fixed", "name": "D", "size": 12}, "duration"), same="D", not_one=of("string", "date"),
    )  # fmt: skip
    assert kinds_of_fields(odd) == {
        "far": "STRING", "none": "STRING", "deep": "STRING", "wrapped": "DATE", "m": "STRING", "d": "BINARY",
        "same": "BINARY", "not_one": "STRING",
    }  # fmt: skip


def test_a_field_that_holds_no_record_tells_of_nothing():
    assert kinds_of_fields(record("e", before="string"), "before") == {}
    assert kinds_of_fields(record("e", before=["null", FIRST]), "before") == {"id": "BIGINT", "v": "BIGINT"}
    assert kinds_of_fields(record("e", before=["null", FIRST]), "after") == {}


class Run:
    """Pipelines over a folder of Avro files, one after the other, as it grows."""

    def __init__(self, folder, unknown="add"):
        (folder / "in").mkdir()
        self.folder, self.told = folder, []
        said = f"'connector' = 'files', 'path' = '{folder / 'in'}', 'format' = 'avro', 'unknown_columns' = '{unknown}'"
        self.text = f"CREATE TABLE t (id BIGINT, v BIGINT) WITH ({said}); CREATE VIEW w AS SELECT SUM(v) AS s FROM t;"

    def on(self, **how):
        given = {"engine": "native", "directory": self.folder / "dir", "on_event": self.told.append}
        with penstock.Pipeline(self.text, **given, **how) as pipeline:
            pipeline.run(once=True)
            self.columns = {item.name: item.type for item in pipeline.catalog.table("t").columns}
            self.errors = [
                json.loads(text)["error"] for (text,) in pipeline.query("SELECT metadata FROM error_view").rows
            ]
            assert pipeline.content("w").rows == pipeline.query("SELECT SUM(v) FROM t").rows
            return sorted(pipeline.query("SELECT * FROM t").rows, key=lambda row: row[0])


def test_a_file_whose_schema_has_more_fields_brings_columns(tmp_path):
    run = Run(tmp_path)
    written(tmp_path / "in" / "1.avro", container(FIRST, {"id": 1, "v": 2}))
    assert run.on() == [(1, 2)]
    values = {name: value for name, (_, _, value, _) in KINDS.items()}
    written(tmp_path / "in" / "2.avro", container(WHOLE, {"id": 2, "v": None, **values}))
    rows = [(1, 2, *[None] * len(KINDS)), (2, None, *[shown for *_, shown in KINDS.values()])]
    for how in ({}, {}, {"rebuild": True}):
        assert (run.on(**how), run.errors) == (rows, [])
    said = {name: kind.lower().replace(", ", ",") for name, (_, kind, *_) in KINDS.items()}
    assert run.columns == {"id": "bigint", "v": "bigint", **said}
    events = [event for event in run.told if isinstance(event, ColumnsAdded)]
    assert [len(event.columns) for event in events] == [len(KINDS)]


def test_a_file_whose_fields_cannot_be_columns_is_refused_whole(tmp_path):
    run = Run(tmp_path)
    written(tmp_path / "in" / "1.avro", container(record("r", id="long", __weight="int"), {"id": 1, "__weight": 2}))
    written(
        tmp_path / "in" / "2.avro", container(record("r", id="long", none=["null", "int"]), {"id": 2, "none": None})
    )
    assert run.on() == [(2, None)]
    assert ["a column cannot be named __weight" in error for error in run.errors] == [True]


def read(folder, style, *values, unknown="add", more=""):
    """The batch, the columns found beyond the table's, and the errors."""
    words = f"'connector' = 'kafka', 'topic' = 'x', 'bootstrap.servers' = 'b:1', 'unknown_columns' = '{unknown}'"
    said = more or f"'schema.registry.url' = '{folder}'"
    table = declared(f"CREATE TABLE t (id BIGINT PRIMARY KEY, v BIGINT) WITH ({words}, 'format' = '{style}', {said})")
    check_source(table)
    new, rejections = NewColumns(), Rejections(tolerant=True)
    found = lambda lenient: new if lenient.new else None  # noqa: E731
    rows = rows_of(
        table, lambda table, lenient: RowReader(table, NO_DEFAULTS, lenient=lenient, new=found(lenient)), upserts=False
    )
    batch = rows.batch([Message(value, offset=at) for at, value in enumerate(values)], rejections)
    return batch, new.taken(), [json.loads(row.metadata)["error"] for row in rejections.rows]


@pytest.fixture
def registry(tmp_path):
    for number, schema in ((1, FIRST), (2, WHOLE), (3, LATER), (4, ENVELOPE)):
        (tmp_path / f"{number}.avsc").write_text(json.dumps(schema))
    return tmp_path


VALUES = {"id": 2, "v": None, **{name: value for name, (_, _, value, _) in KINDS.items()}}
SAID = {name: kind for name, (_, kind, *_) in KINDS.items()}


def test_each_message_has_the_columns_of_its_own_schema(registry):
    values = [avro(FIRST, {"id": 1, "v": 2}, 1), avro(WHOLE, VALUES, 2), avro(LATER, {"id": 3, "i": "x", "n": "y"}, 3)]
    batch, found, errors = read(registry, "avro-confluent", *values)
    assert (len(batch), found, errors) == (3, {**SAID, "i": "STRING", "n": "STRING"}, [])
    assert read(registry, "avro-confluent", values[0])[1:] == ({}, [])
    assert read(registry, "avro-confluent", *values, unknown="ignore")[1:] == ({}, [])
    batch, found, errors = read(registry, "avro-confluent", *values, unknown="reject")
    assert (len(batch), found, ["there is no column" in error for error in errors]) == (1, {}, [True, True])


def test_rows_within_an_envelope_of_avro_have_the_types_of_its_schema(registry):
    values = [avro(ENVELOPE, {"before": None, "after": VALUES, "op": "c"}, 4)]
    values.append(avro(ENVELOPE, {"before": VALUES, "after": None, "op": "d"}, 4))
    batch, found, errors = read(registry, "debezium-avro-confluent", *values)
    assert (batch.operations, found, errors) == (("+", "-"), SAID, [])


def test_fields_of_protobuf_have_the_types_of_their_descriptor(tmp_path):
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.extend(f"google/protobuf/{name}.proto" for name in ("duration", "timestamp", "wrappers"))
    kinds = descriptor_pb2.FieldDescriptorProto
    message = file.message_type.add(name="Row")
    message.enum_type.add(name="State").value.add(name="OPEN", number=0)
    fields = {
        "id": (kinds.TYPE_INT64, None, None), "u": (kinds.TYPE_UINT32, None, "BIGINT"),
        "big": (kinds.TYPE_UINT64, None, "STRING"), "f": (kinds.TYPE_FLOAT, None, "DOUBLE"),
        "ok": (kinds.TYPE_BOOL, None, "BOOLEAN"), "raw": (kinds.TYPE_BYTES, None, "BINARY"),
        "s": (kinds.TYPE_STRING, None, "STRING"), "state": (kinds.TYPE_ENUM, ".shop.Row.State", "STRING"),
        "at": (kinds.TYPE_MESSAGE, ".google.protobuf.Timestamp", "TIMESTAMP"),
        "lasts": (kinds.TYPE_MESSAGE, ".google.protobuf.Duration", "STRING"),
        "n": (kinds.TYPE_MESSAGE, ".google.protobuf.Int64Value", "BIGINT"),
        "unset": (kinds.TYPE_MESSAGE, ".google.protobuf.Int64Value", None),
        "below": (kinds.TYPE_MESSAGE, ".shop.Row", "STRING"),
    }  # fmt: skip
    for name, (kind, of_type, _) in fields.items():
        more = {"type_name": of_type} if of_type else {}
        message.field.add(name=name, number=len(message.field) + 1, type=kind, label=kinds.LABEL_OPTIONAL, **more)
    message.field.add(name="tags", number=99, type=kinds.TYPE_INT32, label=kinds.LABEL_REPEATED)
    pool = descriptor_pool.DescriptorPool()
    for well_known in (duration_pb2, timestamp_pb2, wrappers_pb2):
        pool.AddSerializedFile(well_known.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    row = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Row"))(id=1)
    row.at.seconds, row.lasts.seconds, row.n.value, row.below.id = 5, 5, 6, 7
    (tmp_path / "shop.desc").write_bytes(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString())
    more = f"'protobuf.descriptor' = '{tmp_path / 'shop.desc'}', 'protobuf.message' = 'shop.Row'"
    batch, found, errors = read(tmp_path, "protobuf", row.SerializeToString(), more=more)
    wanted = {name: kind for name, (_, _, kind) in fields.items() if kind}
    assert (len(batch), found, errors) == (1, {**wanted, "tags": "STRING"}, [])
    _, found, errors = read(tmp_path, "protobuf", row.SerializeToString(), more=more, unknown="reject")
    assert (found, ["there is no column u" in error for error in errors]) == ({}, [True])
