"""Messages of Avro and Protobuf: by one schema, by a registry over HTTP and as a folder; and what is none of theirs."""

import base64
import io
import json
import threading
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import fastavro
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from tests.sources.test_messages import TABLE, read
from tests.steps.tables import NO_DEFAULTS, declared

from penstock.errors import DataError, SqlError
from penstock.sources.api import check_source
from penstock.sources.messages.api import Message
from penstock.sources.messages.choice import rows_of
from penstock.sources.messages.schemas.registry import HttpRegistry, UnknownSchemaError, registry_of
from penstock.steps.rows.batch import RowReader
from penstock.steps.rows.rejected import Rejections

PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "price", "type": ["null", PRICE], "default": None}],
}
LATER = {**ORDER, "fields": [*ORDER["fields"], {"name": "note", "type": "string"}]}
OTHER = {**ORDER, "fields": [{"name": "id", "type": "string"}]}
FRAME = "'schema.registry.url' = '{}', 'format' = '{}'"


def avro(schema, value, number=None):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    frame = b"" if number is None else b"\0" + number.to_bytes(4, "big")
    return frame + out.getvalue()


@pytest.fixture
def folder(tmp_path):
    for number, schema in ((1, ORDER), (2, LATER), (3, OTHER), (4, "long"), (5, {"type": "record"})):
        (tmp_path / f"{number}.avsc").write_text(json.dumps(schema))
    return tmp_path


class Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        status, body = self.server.answers.get(self.path, (404, {"error_code": 40403}))
        if callable(body):
            status, body = body()
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    found = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    found.answers, found.asked = {}, []
    found.url = f"http://127.0.0.1:{found.server_address[1]}"
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield found
    found.shutdown()
    found.server_close()


def test_avro_by_one_schema(tmp_path):
    (tmp_path / "order.avsc").write_text(json.dumps(ORDER))
    words = f"'format' = 'avro', 'avro.schema' = '{tmp_path / 'order.avsc'}'"
    whole = avro(ORDER, {"id": 7, "price": Decimal("1.50")})
    found, told = read("id BIGINT, price DECIMAL(9, 2)", words, (None, whole), (None, whole + b"x"), (None, b"\x0e"))
    assert found == [("+", 7, Decimal("1.50"))]
    assert [place for place, _ in told] == ["a/1@1", "a/0@2"]
    assert "1 bytes are left behind the record" in told[0][1]


def test_each_message_is_read_by_its_own_schema(folder):
    values = [
        avro(ORDER, {"id": 1, "price": None}, 1),
        avro(LATER, {"id": 2, "price": Decimal("2.25"), "note": "n"}, 2),
        avro(OTHER, {"id": "three"}, 3),
        avro(ORDER, {"id": 4, "price": None}, 99),
        b"\x01\0\0\0\x01\x02",
        b"\0\0",
        avro(ORDER, {"id": 5, "price": None}, 5),
        avro(OTHER, {"id": "8"}, 3),
    ]
    words = FRAME.format(folder, "avro-confluent")
    found, told = read("id BIGINT, price DECIMAL(9, 2), note STRING", words, *((None, value) for value in values))
    assert found == [("+", 1, None, None), ("+", 2, Decimal("2.25"), "n"), ("+", 8, None, None)]
    errors = dict(told)
    assert "knows no schema 99: there is no file 99.avsc" in errors["a/1@3"]
    assert "begins with the byte 1" in errors["a/0@4"]
    assert "no room for the number" in errors["a/1@5"]
    assert "its schema is 5" in errors["a/0@6"]
    assert "column id" in errors["a/0@2"]
    assert len(errors) == 5


def test_upserts_whose_keys_and_values_have_schemas(folder):
    words = FRAME.format(folder, "avro-confluent") + ", 'key.format' = 'avro-confluent', 'key.fields' = 'id'"
    one, two = avro("long", 1, 4), avro("long", 2, 4)
    given = [
        (one, avro(OTHER, {"id": "x"}, 3)),
        (two, avro(LATER, {"id": 9, "price": None, "note": "m"}, 2)),
        (one, None),
    ]
    found, told = read("id BIGINT PRIMARY KEY, note STRING", words, *given)
    assert (found, told) == ([("+", 1, None), ("+", 2, "m"), ("-", 1, None)], [])


def test_debezium_in_avro(folder):
    envelope = {
        "type": "record",
        "name": "Envelope",
        "fields": [
            {"name": "before", "type": ["null", ORDER], "default": None},
            {"name": "after", "type": ["null", "Order"], "default": None},
            {"name": "op", "type": "string"},
        ],
    }
    (folder / "6.avsc").write_text(json.dumps(envelope))
    row = {"id": 1, "price": None}
    values = [
        avro(envelope, {"before": None, "after": row, "op": "c"}, 6),
        avro(envelope, {"before": row, "after": None, "op": "d"}, 6),
    ]
    found, told = read(
        "id BIGINT PRIMARY KEY", FRAME.format(folder, "debezium-avro-confluent"), *((None, value) for value in values)
    )
    assert (found, told) == ([("+", 1), ("-", 1)], [])


# Over HTTP


def test_a_registry_is_asked_once_for_each_schema_and_told_who_asks(server, monkeypatch):
    monkeypatch.setenv("PENSTOCK_TEST_REGISTRY", "open:sesame")
    server.answers["/schemas/ids/1"] = (200, {"schema": json.dumps(ORDER)})
    words = FRAME.format(server.url, "avro-confluent")
    words += ", 'schema.registry.basic-auth.user-info' = '${env:PENSTOCK_TEST_REGISTRY}'"
    good, unknown = avro(ORDER, {"id": 1, "price": None}, 1), avro(ORDER, {"id": 1, "price": None}, 17)
    found, told = read("id BIGINT", words, (None, good), (None, unknown), (None, good), (None, unknown))
    assert found == [("+", 1)] * 2
    assert [f"the registry at {server.url} knows no schema 17" in error for _, error in told] == [True] * 2
    basic = "Basic " + base64.b64encode(b"open:sesame").decode()
    assert server.asked == [("/schemas/ids/1", basic), ("/schemas/ids/17", basic)]


def test_a_registry_that_is_away_is_waited_for_and_is_no_fault_of_the_message(server, monkeypatch):
    monkeypatch.setattr("penstock.sources.messages.schemas.registry._PAUSE", 0.01)
    again = iter([(503, {}), (503, {}), (200, {"schema": json.dumps(ORDER)})])
    server.answers["/schemas/ids/1"] = (200, lambda: next(again))
    registry = HttpRegistry(server.url, server.url, 5.0)
    assert json.loads(registry.avro(1).text) == ORDER
    table = declared(TABLE.format("id BIGINT", FRAME.format("http://user:secret@127.0.0.1:1", "avro-confluent")))
    rows = rows_of(table, lambda table, lenient: RowReader(table, NO_DEFAULTS, lenient=lenient), upserts=False)
    rejections = Rejections(tolerant=True)
    with pytest.raises(DataError) as caught:
        rows.batch([Message(avro(ORDER, {"id": 1, "price": None}, 1))], rejections)
    (found,) = caught.value.diagnostics
    assert (found.code, "secret" in str(caught.value), rejections.rows) == ("SOURCE_UNREACHABLE", False, [])
    assert "http://127.0.0.1:1" in found.message


def test_a_registry_that_refuses_says_so(server):
    server.answers["/schemas/ids/1"] = (401, {})
    registry = HttpRegistry(server.url, server.url, 5.0)
    with pytest.raises(DataError, match="401"):
        registry.avro(1)


def test_an_unknown_number_is_asked_for_again_after_a_while(server):
    now = [0.0]
    registry = HttpRegistry(server.url, server.url, 0.0, now=lambda: now[0])
    for moment, asked in ((0.0, 1), (29.0, 1), (31.0, 2)):
        now[0] = moment
        with pytest.raises(UnknownSchemaError):
            registry.avro(1)
        assert len(server.asked) == asked
    server.answers["/schemas/ids/1"] = (200, {"schema": json.dumps(ORDER)})
    now[0] = 62.0
    assert json.loads(registry.avro(1).text) == ORDER


# Protobuf


def descriptors():
    """shop.proto: a message Line, and Order with one of each kind of field; it imports well-known types."""
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    kinds = descriptor_pb2.FieldDescriptorProto
    line = file.message_type.add(name="Line")
    line.field.add(name="sku", number=1, type=kinds.TYPE_STRING, label=kinds.LABEL_OPTIONAL)
    order = file.message_type.add(name="Order")
    order.enum_type.add(name="State").value.add(name="OPEN", number=0)
    order.enum_type[0].value.add(name="PAID", number=1)
    order.oneof_decl.add(name="_note")
    for name, kind, label, more in (
        ("id", kinds.TYPE_INT64, kinds.LABEL_OPTIONAL, {}),
        ("state", kinds.TYPE_ENUM, kinds.LABEL_OPTIONAL, {"type_name": ".shop.Order.State"}),
        ("lines", kinds.TYPE_MESSAGE, kinds.LABEL_REPEATED, {"type_name": ".shop.Line"}),
        ("at", kinds.TYPE_MESSAGE, kinds.LABEL_OPTIONAL, {"type_name": ".google.protobuf.Timestamp"}),
        ("note", kinds.TYPE_STRING, kinds.LABEL_OPTIONAL, {"proto3_optional": True, "oneof_index": 0}),
    ):
        order.field.add(name=name, number=len(order.field) + 1, type=kind, label=label, **more)
    return file


@pytest.fixture(scope="module")
def order():
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(descriptors())
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))
    found = kind(id=7, state=1)
    found.lines.add(sku="a")
    found.at.seconds = 1_767_225_600
    return found


COLUMNS = "id BIGINT, state STRING, lines ARRAY<STRUCT<sku STRING>>, at TIMESTAMP, note STRING"


def checked(found):
    ((operation, number, state, lines, at, note),) = found
    assert (operation, number, state, lines, note) == ("+", 7, "PAID", [{"sku": "a"}], None)
    assert at.isoformat() == "2026-01-01T00:00:00+00:00"


def test_protobuf_by_a_file_of_descriptors(tmp_path, order):
    (tmp_path / "shop.desc").write_bytes(descriptor_pb2.FileDescriptorSet(file=[descriptors()]).SerializeToString())
    words = f"'format' = 'protobuf', 'protobuf.descriptor' = '{tmp_path / 'shop.desc'}', 'protobuf.message' = "
    given = [(None, order.SerializeToString()), (None, b"\xff\xff")]
    found, told = read(COLUMNS, words + "'shop.Order'", *given)
    checked(found)
    assert ([place for place, _ in told], "no shop.Order" in told[0][1]) == (["a/1@1"], True)
    with pytest.raises(DataError) as caught:
        read(COLUMNS, words + "'shop.Ordre'", *given)
    (wrong,) = caught.value.diagnostics
    assert (wrong.code, wrong.candidates[0]) == ("BAD_PROPERTY", "shop.Order")


def test_protobuf_by_a_registry(server, order):
    schema = base64.b64encode(descriptors().SerializeToString()).decode()
    server.answers["/schemas/ids/3?format=serialized"] = (200, {"schemaType": "PROTOBUF", "schema": schema})
    frame, value = b"\0\0\0\0\x03", order.SerializeToString()
    given = [frame + b"\x02\x02" + value, frame + b"\x02\x08" + value, frame + b"\x00", frame, b"\0\0\0\0\x09\x00"]
    words = FRAME.format(server.url, "protobuf-confluent")
    found, told = read(COLUMNS, words, *((None, item) for item in given))
    # Number 0 is the file's first message, a Line, which has none of the columns.
    checked(found[:1])
    assert found[1:] == [("+", None, None, None, None, None)]
    errors = [error for _, error in told]
    assert ["schema 3 has no message 4" in errors[0], "ends within" in errors[1], "knows no schema 9" in errors[2]] == [
        True
    ] * 3


def test_what_a_schema_imports_is_asked_for(server):
    file = descriptor_pb2.FileDescriptorProto(name="a.proto", syntax="proto3", dependency=["shop.proto"])
    kinds = descriptor_pb2.FieldDescriptorProto
    file.message_type.add(name="A").field.add(
        name="line", number=1, type=kinds.TYPE_MESSAGE, label=kinds.LABEL_OPTIONAL, type_name=".shop.Line"
    )
    coded = base64.b64encode(file.SerializeToString()).decode()
    references = [{"name": "shop.proto", "subject": "shop", "version": 2}]
    server.answers["/schemas/ids/3?format=serialized"] = (200, {"schema": coded, "references": references})
    below = base64.b64encode(descriptors().SerializeToString()).decode()
    words = FRAME.format(server.url, "protobuf-confluent")
    value = b"\0\0\0\0\x03\x00\x0a\x03\x0a\x01z"
    found, told = read("line STRUCT<sku STRING>", words, (None, value))
    assert (found, "version 2 of shop" in told[0][1]) == ([], True)
    server.answers["/subjects/shop/versions/2?format=serialized"] = (200, {"schema": below})
    assert read("line STRUCT<sku STRING>", words, (None, value)) == ([("+", {"sku": "z"})], [])


@pytest.mark.parametrize(
    "style", ["avro", "protobuf", "avro-confluent", "protobuf-confluent", "debezium-avro-confluent"]
)
def test_a_format_without_its_schema_is_refused(style):
    with pytest.raises(SqlError) as caught:
        check_source(declared(TABLE.format("a INT", f"'format' = '{style}'")))
    assert caught.value.diagnostics[0].code == "MISSING_PROPERTY"


def test_a_password_in_the_address_is_shown_nowhere():
    table = declared(TABLE.format("a INT", FRAME.format("http://user:secret@h:1/x", "avro-confluent")))
    registry = registry_of(table, "table t", 0.0)
    assert (registry.url, registry.shown, registry.user) == ("http://h:1/x", "http://h:1/x", "user:secret")
