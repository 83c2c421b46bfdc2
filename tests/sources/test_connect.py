"""JSON of Kafka Connect and Debezium with its schema: what the schema says a value means."""

import base64
import json
from datetime import date, datetime, time
from decimal import Decimal

import pytest
from tests.sources.folders import OLD, reader, written
from tests.sources.test_messages import read

TIME, DATA = "io.debezium.time", "org.apache.kafka.connect.data"


JSON = "'format' = 'json'"


def message(value, key=None):
    return None if key is None else json.dumps(key).encode(), json.dumps(value).encode()


def unscaled(value, scale):
    whole = int(Decimal(value).scaleb(scale))
    return base64.b64encode(whole.to_bytes(whole.bit_length() // 8 + 1, "big", signed=True)).decode()


def field(name, kind, logical="", **more):
    return {"field": name, "type": kind, "optional": True, **({"name": logical} if logical else {}), **more}


def decimal(scale):
    return field("c", "bytes", f"{DATA}.Decimal", parameters={"scale": scale})


def struct(*fields, name=""):
    return {"type": "struct", "fields": list(fields), **({"field": name} if name else {})}


MICROS = 1_704_067_200_000_001  # 2024-01-01 00:00:00.000001
MOMENT = "2024-01-01 00:00:00.000001"
CASES = [
    ("DECIMAL(10,2)", decimal("2"), unscaled("-12.34", 2), "-12.34"),
    ("DECIMAL(38,2)", decimal("-2"), unscaled("1200", -2), "1200.00"),
    ("STRING", decimal("2"), unscaled("0.10", 2), "0.10"),
    ("DOUBLE", decimal("1"), unscaled("2.5", 1), "2.5"),
    ("DECIMAL(10,2)", decimal("2"), 1.25, "1.25"),
    (
        "DECIMAL(10,2)",
        field("c", "struct", "io.debezium.data.VariableScaleDecimal"),
        {"scale": 1, "value": unscaled("7.5", 1)},
        "7.50",
    ),
    ("DATE", field("c", "int32", f"{TIME}.Date"), 19_723, "2024-01-01"),
    ("DATE", field("c", "int32", f"{DATA}.Date"), -1, "1969-12-31"),
    ("DATE", field("c", "string", f"{TIME}.IsoDate"), "2024-01-01Z", "2024-01-01"),
    ("INT", field("c", "int32", f"{TIME}.Date"), 19_723, "19723"),
    ("STRING", field("c", "int32", f"{TIME}.Date"), 19_723, "2024-01-01"),
    ("TIMESTAMP", field("c", "int64", f"{TIME}.Timestamp"), MICROS // 1000, "2024-01-01 00:00:00"),
    ("TIMESTAMP", field("c", "int64", f"{DATA}.Timestamp"), MICROS // 1000, "2024-01-01 00:00:00"),
    ("TIMESTAMP_NTZ", field("c", "int64", f"{TIME}.MicroTimestamp"), MICROS, MOMENT),
    ("TIMESTAMP", field("c", "int64", f"{TIME}.NanoTimestamp"), MICROS * 1000 + 999, MOMENT),
    ("TIMESTAMP", field("c", "int64", f"{TIME}.MicroTimestamp"), 5, "1970-01-01 00:00:00.000005"),
    ("BIGINT", field("c", "int64", f"{TIME}.MicroTimestamp"), MICROS, str(MICROS)),
    ("TIMESTAMP", field("c", "string", f"{TIME}.ZonedTimestamp"), "2024-01-01T02:00:00.000001+02:00", MOMENT),
    ("TIME(6)", field("c", "int32", f"{TIME}.Time"), 3_600_001, "01:00:00.001000"),
    ("TIME(6)", field("c", "int64", f"{TIME}.MicroTime"), 3_600_000_001, "01:00:00.000001"),
    ("STRING", field("c", "int64", f"{TIME}.NanoTime"), 1000, "00:00:00.000001"),
    ("BINARY", field("c", "bytes"), "AP8=", repr(b"\x00\xff")),
    ("STRING", field("c", "string", "io.debezium.data.Enum"), "small", "small"),
    ("ARRAY<DATE>", field("c", "array", items=field("", "int32", f"{TIME}.Date")), [0, None], "[1970-01-01, None]"),
]  # fmt: skip


def shown(value):
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, datetime):
        value = value.replace(tzinfo=None)
    return repr(value) if isinstance(value, bytes) else str(value)


@pytest.mark.parametrize(("kind", "schema", "value", "expected"), CASES)
@pytest.mark.parametrize("style", ["json", "debezium-json"])
def test_values_are_what_their_schema_says(style, kind, schema, value, expected):
    row, rows = {"id": 1, "c": value}, (field("id", "int32"), schema)
    envelope = {"schema": struct(*rows), "payload": row}
    if style != "json":
        parts = struct(struct(*rows, name="before"), struct(*rows, name="after"), field("op", "string"))
        envelope = {"schema": parts, "payload": {"before": None, "after": row, "op": "c"}}
    (((_, number, found),), told) = read(f"id INT, c {kind}", f"'format' = '{style}'", message(envelope))
    assert (number, shown(found), told) == (1, expected, [])


def test_what_is_no_decimal_costs_its_row_alone():
    schema = struct(decimal("2"))
    values = [message({"schema": schema, "payload": {"c": value}}) for value in ("?", unscaled("1", 2))]
    found, told = read("c DECIMAL(10,2)", JSON, *values)
    assert found == [("+", Decimal("1.00"))]
    assert "not the base64" in told[0][1]


@pytest.mark.parametrize("schema", [None, {"type": "int32", "optional": False}])
def test_an_envelope_around_a_plain_value_fills_the_only_column(schema):
    assert read("c INT", JSON, message({"schema": schema, "payload": 5})) == ([("+", 5)], [])


def test_a_table_with_columns_of_these_names_reads_them():
    value = message({"schema": "a", "payload": "b"})
    assert read("schema STRING, payload STRING", JSON, value) == ([("+", "a", "b")], [])


def test_the_envelope_stands_around_keys_and_operations_too():
    key = {"schema": struct(field("k", "int32", f"{TIME}.Date")), "payload": {"k": 0}}
    value = message({"schema": None, "payload": {"delete": {"v": 1}}}, key)
    found, told = read("k DATE PRIMARY KEY, v INT", f"{JSON}, 'key.fields' = 'k'", value)
    assert (found, told) == ([("-", date(1970, 1, 1), 1)], [])


def test_a_date_of_debezium_without_a_schema_is_a_number_of_days():
    value = message({"before": None, "after": {"d": 19_723, "t": "01:00:00"}, "op": "r"})
    assert read("d DATE, t TIME(6)", "'format' = 'debezium'", value)[0] == [("+", date(2024, 1, 1), time(1))]


@pytest.mark.parametrize(
    "text", ["{}", '{"x": 1}', '{"insert": {}}', '{"insert": {"x": 1}}', '{"schema": null, "payload": {}}']
)
def test_an_object_without_any_column_is_a_bad_row(tmp_path, text):
    written(tmp_path / "1.json", f'{{"a": 1}}\n{text}\n{{"a": null}}\n{{"B": "x"}}\n', age=OLD)
    files = reader(tmp_path)
    assert files.all() == [(1, None), (None, None), (None, "x")]
    assert [json.loads(row.metadata)["place"].rpartition(":")[2] for row in files.rejected] == ["2"]
    found, told = read("a INT, b STRING", JSON, (None, text.encode()), message({"b": "x"}))
    assert found == [("+", None, "x")]
    assert "none of its names" in told[0][1]


def test_an_object_of_debezium_without_any_column_is_a_bad_row():
    found, told = read("a INT", "'format' = 'debezium'", message({"after": {"x": 1}, "op": "c"}))
    assert found == []
    assert "none of its names" in told[0][1]
