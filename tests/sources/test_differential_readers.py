"""Files that the process reads against Spark's readers of the same files: the same rows, or both refuse them.

Where one of them reads more than the other it stands in a list below, which is looked at too: no list may say what is
not so. Nothing that both read is read differently, but for what `OTHERWISE` says.
"""

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.sources.folders import reader, written

from penstock.errors import DataError

TEXTS = {
    "INT": ["0", "-0", "+5", "007", "2147483647", "-2147483648", "2147483648", "1.5", "x", "1_000", "0x1", " 1", "1 "],
    "STRING": [
        *("a", "é", "日本", "𝄞", " a ", "a\\b", "a\\nb", "\\", '"q"', 'a"b', "x,y", "NULL", "null", "\\N", "\t"),
        *("line\nfeed", "cr\rx", "crlf\r\nx", "\u2028", "\u00a0", "#c", "z" * 5000),
    ],
    "DATE": [
        *("2024-02-29", "2023-02-29", "0001-01-01", "9999-12-31", "1582-10-10", "today", "2024/01/05"),
        *("20240105", "2024-01", "2024", "2024-01-05 00:00:00", "2024-01-05T10:00:00"),
    ],
    "TINYINT": ["127", "-128", "128", "1.5"],
    "SMALLINT": ["32767", "-32768", "32768"],
    "BIGINT": ["9223372036854775807", "-9223372036854775808", "9223372036854775808", "+1", "1L"],
    "DOUBLE": [
        *("0.1", "-0.0", "1e308", "1e309", "-1e400", "1e-400", "4.9e-324", "9007199254740993", ".5", "5.", "+1.5"),
        *("NaN", "nan", "Infinity", "-Infinity", "inf", "-inf", "Inf", "1,5", "1_0.5", "1d", "0x1p3"),
    ],
    "FLOAT": ["0.1", "3.4028235e38", "-3.4028235e38", "3.5e38", "16777217", "NaN", "1e-46", "1.4e-45"],
    "BOOLEAN": ["true", "false", "TRUE", "False", "t", "f", "1", "0", "yes", "no", "x"],
    "TIMESTAMP": [
        *("2024-02-29 10:11:12", "2024-02-29T10:11:12", "2024-02-29T10:11:12Z", "2024-02-29T10:11:12+02:00"),
        *("2024-02-29T10:11:12.1", "2024-02-29T10:11:12.123456", "2024-02-29T10:11:12.1234567", "2024-02-29"),
        *("2024-02-29 10:11", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "1900-01-01T00:00:00"),
        *("2024-02-29T24:00:00", "2024-13-01 00:00:00", "2024-02-29T10:11:60", "now", "1709201472"),
        *("2024-02-29 10:11:12 Europe/Berlin",),
    ],
    "TIMESTAMP_NTZ": ["2024-02-29 10:11:12", "2024-02-29T10:11:12.123456", "2024-02-29", "0001-01-01T00:00:00"],
    "DECIMAL(10,2)": [
        *("1", "1.5", "1.005", "1.015", "-1.005", "99999999.99", "99999999.994", "99999999.995", "100000000"),
        *("1e3", "1E-2", "+1", ".5", "1.", "NaN", " 1.5"),
    ],
    "DECIMAL(38,0)": ["9" * 38, "-" + "9" * 38, "1" + "0" * 38],
    "DECIMAL(38,18)": ["99999999999999999999.999999999999999999", "0.0000000000000000001"],
}
BARE = ("INT", "TINYINT", "SMALLINT", "BIGINT", "DOUBLE", "FLOAT", "BOOLEAN", "DECIMAL")  # of JSON: no texts

# What is read as CAST reads it, or as its writers mean it, and Spark's readers refuse.
MORE = {
    ("csv", "INT"): {" 1", "1 "},
    ("csv", "DOUBLE"): {"nan", "inf", "-inf"},
    ("csv", "BOOLEAN"): {"t", "f", "1", "0", "yes", "no"},
    ("csv", "DATE"): {"20240105"},
    ("csv", "DECIMAL(10,2)"): {" 1.5"},
}
_PARTS_OF_A_DATE = {"2024-01", "2024", "2024-01-05 00:00:00", "2024-01-05T10:00:00"}
# What Spark's readers take and is refused: it is another value than it says, or a part of one.
LESS = {
    ("csv", "DATE"): _PARTS_OF_A_DATE,
    ("json", "DATE"): _PARTS_OF_A_DATE,
    ("csv", "DOUBLE"): {"1d", "0x1p3"},
    ("csv", "FLOAT"): {"3.5e38"},  # infinity to Spark
    ("json", "FLOAT"): {"3.5e38"},
    ("json", "TINYINT"): {"128"},  # -128 to Spark
    ("csv", "TIMESTAMP"): {"2024-02-29 10:11:12 Europe/Berlin"},
    ("json", "TIMESTAMP"): {"2024-02-29 10:11:12 Europe/Berlin"},
}
DAYS = "20240105"  # in JSON so many days since 1970 to Spark, a day that Python has no value for
DEFAULT = ("INT", "STRING", "DATE")
KINDS = [kind if kind in DEFAULT else pytest.param(kind, marks=pytest.mark.extended) for kind in TEXTS]


def read_here(folder, style, columns):
    """The rows, by the number in their first column; those that are refused are not there."""
    return {row[0]: _plain(row[1:]) for row in reader(folder, style, columns).all()}


def read_by_spark(frame):
    found = frame.toArrow()
    rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
    at = found.column_names.index("broken") if "broken" in found.column_names else None
    return {row[0]: _plain(row[1:at]) for row in rows if at is None or row[at] is None}


def _plain(row):
    """Values that can be compared: NaN with NaN, 0.0 not with -0.0, times in UTC."""
    return tuple(
        repr(value.astimezone(dt.UTC).replace(tzinfo=None))
        if isinstance(value, dt.datetime) and value.tzinfo
        else repr(value)
        for value in row
    )


def differences(ours, theirs, texts):
    """What only one reads, and what both read, but differently."""
    both = [(at, text) for at, text in enumerate(texts) if at in ours and at in theirs]
    return (
        {text for at, text in enumerate(texts) if at in ours and at not in theirs},
        {text for at, text in enumerate(texts) if at in theirs and at not in ours},
        {text: (ours[at], theirs[at]) for at, text in both if ours[at] != theirs[at]},
    )


def in_csv(text):
    return '"' + text.replace('"', '""') + '"' if any(item in text for item in ',"\n\r') else text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", ["\n", pytest.param("\r\n", marks=pytest.mark.extended)])
def test_csv(spark, tmp_path, kind, end):
    columns = f"n INT, b {kind}"
    texts = [text for text in TEXTS[kind] if end == "\n" or end not in text]  # see OTHERWISE
    lines = ["n,b", *(f"{at},{in_csv(text)}" for at, text in enumerate(texts)), f"{len(texts)},"]
    written(tmp_path / "1.csv", end.join(lines) + end)
    ours = read_here(tmp_path, "csv", columns)
    options = {"header": True, "escape": '"', "multiLine": True, "columnNameOfCorruptRecord": "broken"}
    frame = spark.read.schema(f"{columns}, broken STRING").options(**options).csv(str(tmp_path))
    theirs = read_by_spark(frame)
    assert ours[len(texts)] == theirs[len(texts)] == ("None",)
    assert differences(ours, theirs, texts) == (MORE.get(("csv", kind), set()), LESS.get(("csv", kind), set()), {})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", ["\n", pytest.param("\r\n", marks=pytest.mark.extended)])
def test_json(spark, tmp_path, kind, end):
    bare = kind.startswith(BARE)
    texts = [text for text in TEXTS[kind] if not (bare and text != text.strip()) and text != DAYS]
    columns = f"n INT, b {kind}"
    values = [text if bare else json.dumps(text, ensure_ascii=False) for text in texts]
    lines = [f'{{"n":{at},"b":{value}}}' for at, value in enumerate(values)]
    written(tmp_path / "1.json", end.join([*lines, f'{{"n":{len(texts)}}}']) + end)
    ours = read_here(tmp_path, "json", columns)
    frame = spark.read.schema(f"{columns}, broken STRING").option("columnNameOfCorruptRecord", "broken")
    theirs = read_by_spark(frame.json(str(tmp_path)))
    assert ours[len(texts)] == theirs[len(texts)] == ("None",)
    assert differences(ours, theirs, texts) == (MORE.get(("json", kind), set()), LESS.get(("json", kind), set()), {})


_NUMBERS = ["INT", *(pytest.param(kind, marks=pytest.mark.extended) for kind in ("BIGINT", "FLOAT", "BOOLEAN"))]


@pytest.mark.parametrize("kind", _NUMBERS)
def test_numbers_in_texts_of_json_are_those_of_csv(tmp_path, kind):
    """Spark's reader takes no number that is a text; the text means what it means in CSV."""
    texts, columns = TEXTS[kind], f"n INT, b {kind}"
    for style, lines in (
        ("csv", ["n,b", *(f"{at},{in_csv(text)}" for at, text in enumerate(texts))]),
        ("json", [json.dumps({"n": at, "b": text}) for at, text in enumerate(texts)]),
    ):
        (tmp_path / style).mkdir()
        written(tmp_path / style / f"1.{style}", "\n".join(lines) + "\n")
    assert read_here(tmp_path / "json", "json", columns) == read_here(tmp_path / "csv", "csv", columns)


ROWS = {
    "json": [
        *('{"n":0}', '{"b":"x","n":0}', '{"n":0,"b":null}', '{"n":0,"c":{"d":[1]}}', '  {"n":0} ', '{"n":0,"b":"é"}'),
        *('{"n":0,"b":"\\ud83d\\ude00"}', '{"n":0,"b":"\\u0000"}', '{"n":0,"b":"x"', "3", '{"n":0,}', "{n:0}"),
        *('{"n":0 /*c*/}', '{"n":00}', '{"n":12345678901234567890}', '{"n":true}', "nothing"),
    ],
    "csv": [
        *("n,b\n0,x\n", "n,b\r\n0,x\r\n", "n,b\r0,x\r", "n,b\n0,\n", "n,b\n\n0,x\n\n", "n,b\n0,x", "N,B\n0,x\n"),
        *('n,b\n0,"x\ny"\n', 'n,b\n0,"x""y"\n', "\ufeffn,b\n0,x\n", "n,b\n0, x \n", 'n,b\n"0","x"\n', 'n,b\n0,x"y\n'),
        *("n,b\n0\n", "n,b\n0,x,3\n", "n,b\n0,\0\n"),
    ],
}
# Line ends within a field, which Spark makes LF; malformed quotes; names in other capitals; a quote that nobody closes.
OTHERWISE = [
    ("csv", 'n,b\r\n0,"x\r\ny"\r\n', [(0, "x\r\ny")], [(0, "x\ny")]),
    ("csv", 'n,b\n0,"x"y\n', "refused", [(0, '"x"y')]),
    ("json", '{"N":0,"b":"x"}', [(0, "x")], [(None, "x")]),
    ("csv", 'n,b\n0,"x', "refused", [(0, "x")]),
    ("json", '{"n":0,"b":5}', "refused", [(0, "5")]),
    ("json", '{"n":0,"b":"\\ud83d"}', "refused", [(0, "?")]),
]


def strictly_here(folder, style):
    try:
        found = reader(folder, style, "n INT, b STRING")
        rows = found.all()
    except DataError:
        return "refused"
    return "refused" if found.rejected else rows


def strictly_by_spark(spark, folder, style):
    options = {"header": True, "escape": '"', "multiLine": style == "csv", "mode": "FAILFAST"}
    frame = spark.read.schema("n INT, b STRING").options(**options)
    try:
        found = (frame.csv if style == "csv" else frame.json)(str(folder)).toArrow()
    except Exception as error:
        if "MALFORMED_RECORD" not in str(error) and "FAILED_READ" not in str(error):
            raise
        return "refused"
    return [tuple(row.values()) for row in found.to_pylist()]


@pytest.mark.parametrize("style", ["json", "csv"])
def test_rows_that_are_not_as_others(spark, tmp_path, style):
    found = {}
    for at, text in enumerate(ROWS[style]):
        folder = tmp_path / str(at)
        folder.mkdir()
        written(folder / f"1.{style}", text + ("\n" if style == "json" else ""))
        both = strictly_here(folder, style), strictly_by_spark(spark, folder, style)
        if both[0] != both[1]:
            found[text] = both
    assert found == {}


@pytest.mark.parametrize(("style", "text", "ours", "theirs"), OTHERWISE)
def test_what_is_read_otherwise_is_read_so(spark, tmp_path, style, text, ours, theirs):  # noqa: PLR0917 - a row
    written(tmp_path / f"1.{style}", text + ("\n" if style == "json" else ""))
    assert (strictly_here(tmp_path, style), strictly_by_spark(spark, tmp_path, style)) == (ours, theirs)


_DAYS = [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1582, 10, 10), None]
_TEXTS = ("2024-01-01T01:02:03.000004", "9999-12-31T23:59:59.999999", "0001-01-01")
_TIMES = [*(dt.datetime.fromisoformat(text) for text in _TEXTS), None]
_STRUCT = pa.struct([("x", pa.int32()), ("y", pa.string())])
PARQUET = [
    ("INT", pa.array([2**31 - 1, -(2**31), 0, None], pa.int32())),
    ("STRING", pa.array(["a", "é𝄞", "", "\x00", None])),
    ("STRING", pa.array(["a", "b", "a", None]).dictionary_encode()),
    ("TIMESTAMP", pa.array(_TIMES, pa.timestamp("us", "UTC"))),
    ("DECIMAL(10,2)", pa.array([Decimal("99999999.99"), Decimal("-0.01"), None], pa.decimal128(10, 2))),
]
FURTHER = [
    ("TINYINT", pa.array([1, -128, 127, None], pa.int8())),
    ("SMALLINT", pa.array([32767, -32768, None], pa.int16())),
    ("BIGINT", pa.array([2**63 - 1, -(2**63), None], pa.int64())),
    ("BIGINT", pa.array([1, None], pa.int32())),
    ("DOUBLE", pa.array([0.0, -0.0, float("nan"), float("inf"), 1e308, 5e-324, None])),
    ("FLOAT", pa.array([1.1, float("nan"), -0.0, None], pa.float32())),
    ("DOUBLE", pa.array([1.1, None], pa.float32())),
    ("BOOLEAN", pa.array([True, False, None])),
    ("STRING", pa.array(["x", None], pa.large_string())),
    ("BINARY", pa.array([b"\xff\x00", b"", None])),
    ("DATE", pa.array(_DAYS)),
    ("TIMESTAMP", pa.array([1, None], pa.timestamp("ms", "UTC"))),
    ("TIMESTAMP_NTZ", pa.array(_TIMES, pa.timestamp("us"))),
    ("DECIMAL(38,0)", pa.array([Decimal("9" * 38), None], pa.decimal128(38, 0))),
    ("DECIMAL(10,2)", pa.array([Decimal("1.5"), None], pa.decimal128(5, 1))),
    ("ARRAY<INT>", pa.array([[1, None], [], None], pa.list_(pa.int32()))),
    ("STRUCT<x: INT, y: STRING>", pa.array([{"x": 1, "y": None}, None], _STRUCT)),
    ("MAP<STRING, INT>", pa.array([[("a", 1), ("b", None)], [], None], pa.map_(pa.string(), pa.int32()))),
]
WAYS = [{}, {"use_dictionary": False, "data_page_version": "2.0"}, {"use_deprecated_int96_timestamps": True}]


@pytest.mark.parametrize(
    ("kind", "values"), [*PARQUET, *(pytest.param(*item, marks=pytest.mark.extended) for item in FURTHER)]
)
def test_parquet(spark, tmp_path, kind, values):
    columns, wholly = f"n INT, b {kind}", {}
    for at, way in enumerate(WAYS if pa.types.is_timestamp(values.type) and values.type.tz else WAYS[:2]):
        folder = tmp_path / str(at)
        folder.mkdir()
        pq.write_table(
            pa.table({"n": pa.array(range(len(values)), pa.int32()), "b": values}), folder / "1.parquet", **way
        )
        ours = read_here(folder, "parquet", columns)
        wholly[at] = ours, read_by_spark(spark.read.schema(columns).parquet(str(folder)))
        assert len(ours) == len(values)
    assert {at: ours for at, (ours, _) in wholly.items()} == {at: theirs for at, (_, theirs) in wholly.items()}


@pytest.mark.parametrize("names", [("n",), ("b", "n"), ("N", "B"), ("n", "b", "c")])
def test_columns_of_parquet_that_are_missing_or_beyond(spark, tmp_path, names):
    made = {name: pa.array(["x"]) if name.lower() == "b" else pa.array([0], pa.int32()) for name in names}
    pq.write_table(pa.table(made), tmp_path / "1.parquet")
    theirs = read_by_spark(spark.read.schema("n INT, b STRING").parquet(str(tmp_path)))
    assert read_here(tmp_path, "parquet", "n INT, b STRING") == theirs
