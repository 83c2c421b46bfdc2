"""Format × type × hard values: written by us or by Spark, and read by the other or by ourselves, as it was."""

import datetime as dt
import shutil
from decimal import Decimal

import pyarrow as pa
import pytest

from penstock import Pipeline
from penstock.backends.columns import arrow_type

NAN, INF = float("nan"), float("inf")
FIRST, LAST = dt.datetime(1, 1, 1, 0, 0, 0, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)  # noqa: DTZ001
VALUES = {
    "BOOLEAN": [True, False, None],
    "TINYINT": [-128, 127, None],
    "INT": [-(2**31), 0, 2**31 - 1, None],
    "BIGINT": [-(2**63), 2**63 - 1, None],
    "FLOAT": [0.1, 0.0, 3.4028234663852886e38, NAN, INF, None],
    "DOUBLE": [0.1, 0.0, 5e-324, 1.7976931348623157e308, 1e20, NAN, INF, -INF, None],
    "DECIMAL(10,2)": [Decimal("0.00"), Decimal("-0.01"), Decimal("99999999.99"), None],
    "DECIMAL(38,10)": [Decimal("1234567890123456789012345678.0123456789"), Decimal("1E-10"), None],
    "STRING": [
        *("", " ", " a ", 'say "hi"', 'end"', '"', "\\", "a\\", '\\"', "a,b", "l\nf", "c\rr", "cr\r\nlf", "é𝄞", "NULL"),
        *("null", "\\N", "#c", "\t", "\u2028", "\ufeff", "[1]", "{}", "\\x41", "1", "true", None),
    ],
    "BINARY": [b"", b"\0\xff", b"hi", b"\\x41", b'a,"b"', bytes(range(256)), None],
    "DATE": [dt.date(1, 1, 1), dt.date(1582, 10, 4), dt.date(1582, 10, 15), dt.date(9999, 12, 31), None],
    "TIMESTAMP": [FIRST, dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), LAST, None],  # noqa: DTZ001
    "TIMESTAMP_NTZ": [FIRST, dt.datetime(2024, 2, 29, 12), LAST, None],  # noqa: DTZ001
    "ARRAY<INT>": [[1, None], [], None],
    "ARRAY<BINARY>": [[b"\0\xff", None, b""], None],
    "MAP<STRING, DOUBLE>": [{"a": NAN, 'b"': None}, {}, None],
    "MAP<INT, STRING>": [{1: "x", -2: None}, None],
    "STRUCT<x: INT, y: STRING, z: STRUCT<w: DATE>>": [
        {"x": 1, "y": None, "z": {"w": dt.date(2024, 1, 1)}},
        {"x": None, "y": 'a"', "z": None},
        None,
    ],
}
NESTED = ("ARRAY", "MAP", "STRUCT")
THIN = ("STRING", "BINARY", "DOUBLE", "TIMESTAMP", "DECIMAL(10,2)")
KINDS = [kind if kind in THIN else pytest.param(kind, marks=pytest.mark.extended) for kind in VALUES]
OURS = ("json", "csv", "parquet")


def rows_of(kind):
    return list(enumerate(VALUES[kind]))


def plain(rows):
    """Rows that compare as they are: NaN equals NaN, times are without a zone, maps are dicts."""

    def one(value):
        if isinstance(value, dt.datetime):
            return value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
        if value in ({}, []):
            return "nothing in it"
        if isinstance(value, dict):
            return {key: one(value[key]) for key in sorted(value)}  # which ORC gives in an order of its own
        if isinstance(value, list | tuple) and value and all(isinstance(item, tuple) for item in value):
            return one(dict(value))
        return [one(item) for item in value] if isinstance(value, list) else value

    return sorted((number, repr(one(value))) for number, value in rows)


def wanted(kind):
    values = [
        (number, pa.scalar(value, pa.float32()).as_py() if kind == "FLOAT" and value is not None else value)
        for number, value in rows_of(kind)
    ]
    return plain(values)


def write_here(folder, kind, style):
    """Files that an output has written."""
    text = f"CREATE TABLE t (n INT, c {kind}); CREATE VIEW out WITH ('connector' = 'files', 'path' = '{folder}', "
    text += f"'format' = '{style}', 'form' = 'retract') AS SELECT n, c FROM t;"
    with Pipeline(text, engine="native") as pipeline:
        pipeline.step({"t": rows_of(kind)})


def read_here(folder, kind, style, more="", connector="files"):
    columns = f"n INT, c {kind}"
    said = f"'connector' = '{connector}', 'path' = '{folder}', 'format' = '{style}'{more}"
    with Pipeline(f"CREATE TABLE t ({columns}) WITH ({said}); CREATE VIEW v AS SELECT n, c FROM t;") as pipeline:
        pipeline.run(once=True)
        assert pipeline.query("SELECT message, metadata FROM error_view").rows == []
        found = pipeline.query("SELECT n, c FROM v").arrow()
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("style", OURS)
def test_what_is_written_here_is_read_here(tmp_path, kind, style):
    write_here(tmp_path / "out", kind, style)
    assert plain(read_here(tmp_path / "out", kind, style)) == wanted(kind)


def frame_of(spark, kind):
    schema = pa.schema([("n", pa.int32()), ("c", arrow_type(kind.lower()))])
    is_map = kind.startswith("MAP")
    values = [list(value.items()) if is_map and value is not None else value for value in VALUES[kind]]
    table = pa.table({"n": list(range(len(values))), "c": pa.array(values, schema.field("c").type)}, schema=schema)
    return spark.createDataFrame(table)


@pytest.mark.spark
@pytest.mark.extended
@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("style", [*OURS, "orc"])
def test_what_spark_writes_is_read_here(spark, tmp_path, kind, style):
    if style == "csv" and (kind.startswith(NESTED) or kind == "BINARY"):
        pytest.skip("Spark writes none of these so that anybody reads them")
    options = {"timestampFormat": MICROS, "timestampNTZFormat": MICROS} if style in ("csv", "json") else {}
    options |= {"header": True, "ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False}
    frame_of(spark, kind).coalesce(1).write.options(**options).format(style).save(str(tmp_path / "out"))
    shutil.rmtree(tmp_path / "out" / "_SUCCESS", ignore_errors=True)
    connector = "spark" if style == "orc" else "files"
    expected = wanted(kind)
    if style == "orc" and kind == "TIMESTAMP":  # the library of ORC has the second before 1970 be the one behind it
        expected = [
            (at, text.replace("1969, 12, 31, 23, 59, 59, 9", "1970, 1, 1, 0, 0, 0, 9")) for at, text in expected
        ]
    assert plain(read_here(tmp_path / "out", kind, style, connector=connector)) == expected


MICROS = "yyyy-MM-dd HH:mm:ss.SSSSSS"


@pytest.mark.spark
@pytest.mark.extended
@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("style", OURS)
def test_what_is_written_here_is_read_by_spark(spark, tmp_path, kind, style):
    if style == "csv" and (kind.startswith(NESTED) or kind == "BINARY"):
        pytest.skip("Spark's reader of CSV knows none of these")
    if style == "json" and kind.startswith("MAP<INT"):
        pytest.skip("Spark's reader of JSON takes keys for texts, and fails")
    write_here(tmp_path / "out", kind, style)
    frame = spark.read.schema(f"n INT, c {kind}" if style == "parquet" else f"insert STRUCT<n: INT, c: {kind}>")
    if style == "csv":
        frame = spark.read.schema(f"__op STRING, n INT, c {kind}").options(header=True, multiLine=True)
    found = frame.format(style).load(str(tmp_path / "out" / "part-*"))
    found = found.selectExpr("insert.n", "insert.c") if style == "json" else found.select("n", "c")
    table = found.toArrow()
    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    expected = wanted(kind)
    if style == "csv" and kind == "STRING":  # which reads the empty text as NULL
        expected = [(number, "None" if text == "''" else text) for number, text in expected]
    assert plain(rows) == expected
