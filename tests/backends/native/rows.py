"""Values of each type that could go wrong, and rows in which each meets each."""

import math
import struct
from datetime import date, datetime, timedelta
from decimal import Context, Decimal

import pyarrow as pa

from penstock.backends.native.expressions.kinds import storage

INF, NAN = float("inf"), float("nan")
_DIGITS = Context(prec=60)
WHOLE = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}
SMALL = [None, 0, 1, -1, 2, 3, -3, 7, 10, 33, -60, 100]
DATES = ["0001-01-01", "1582-10-04", "1582-10-15", "1900-02-28", "1969-12-31", "1970-01-01", "1999-12-31", "2000-02-29"]
DATES += [
    "2008-12-29",
    "2010-01-03",
    "2023-03-31",
    "2024-02-28",
    "2024-02-29",
    "2024-03-01",
    "2024-12-30",
    "9999-12-31",
]
CLOCKS = [0, 1, 999_999, 1_000_000, 59_999_999, 3_600_000_000, 45_296_789_000, 86_399_999_999]
TEXTS = [
    None, "", " ", "a", "A", "ab", "abc", "abcabc", "Abc def", "a,b,,c", ",", "a b", "%", "_", "a%c", "a\\c", "\\", "'",
    '"', "ß", "é", "e\u0301", "\U0001f926\U0001f3fc\u200d\u2642\ufe0f", "日本語", "a\nb", "  ab  ", "\tab\t", "aXbXc",
    "\u0130", "\u212a", "ABC", "\u03a3", "\ufb06", "https://x.y/dir/sub/item.htm?query=1&channel_id=apple",
      "channel_id=9&z", "&channel_id=",
]  # fmt: skip
NUMBER_TEXTS = [
    "0", "1", "-1", "+7", " 12 ", "\t12\n", "1.0", "1e2", ".", "-", "", "0x1F", "127", "128", "-129", "2147483648",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "0" * 50 + "5", "9" * 50, "1 2", "\u0661",
      None,
    "true", "F", " yes ", "NO", "t\x00",
]  # fmt: skip
DATE_TEXTS = [
    "2024", "2024-2", "2024-02-29", "2023-02-29", " 2024-02-29 ", "2024-02-29T", "2024-02-29 12:00", "2024-02-29x",
    "2024-02 x", "24-01-01", "02024-01-01", "12024-01-01", "-0001-01-01", "+2024-01-01", "2024-13-01", "2024-00-01",
    "2024-1-1", "2024-001-01", "0000-01-01", "", "2024-", "2024-02-", "1-1-1", "9999-12-31", "0001-01-01", None,
    "-0000",     "2024/01/01", "epoch", "2024-02-29\n", "2024-02-29 \n",
]  # fmt: skip


def whole(bits):
    top = 1 << bits
    edges = [top - 1, -top, top - 2, 1 - top, top // 2, -top // 2, top // 3]
    return SMALL + [item for item in edges if item not in SMALL]


def exact(digits, scale):
    top = 10**digits - 1
    units = [None, 0, 1, -1, 5, -5, 15, 49, 50, 51, 125, -125, 10**scale, -(10**scale), 2 * 10**scale, 3, 7]
    units += [top, -top, top // 2, top // 3, -top // 7, 10 ** (digits - 1)]
    kept = [item if item is None or abs(item) <= top else top for item in units]
    return [None if item is None else _DIGITS.scaleb(Decimal(item), -scale) for item in kept]


def moments():
    days = [datetime.fromisoformat(item) for item in DATES]
    found = [day + timedelta(microseconds=CLOCKS[place % len(CLOCKS)]) for place, day in enumerate(days)]
    return [None, *found, *(datetime.fromisoformat("2024-02-29") + timedelta(microseconds=item) for item in CLOCKS)]


FRACTION_TEXTS = [
    None, "", "1", "-0", " +.5 ", "5.", ".", "1e3", "1E-3f", "0x1.8p3D", "0x.p1", "-0X1P-1074", "NaN", "-NaN", "nan",
    "+nan",
    "inf", " -Infinity\t", "INFINITY", "1e400", "-1e-400", "999.995", "999.994", "-99999.5", "1.005", "\u0663",
    "\uff15.5",
    "12345678901234567890123456789012345678", "1e38", "0e99", "1e2147483648", "1e-99999999999", "a'b\\c", "1_000",
    "0.0e-40",
    "3.4028235677973366e38", "16777217", "1\x00",
]  # fmt: skip
DOCUMENTS = [
    None, "", "{}", "[]", "a", '{"a": "x", "n": 1}', '{"a": null, "n": "12"}', '{"a": 1.50, "n": 1.5}', '{"a": true}',
    '{"a": {"b": [1, {"c": "\\u00e9"}]}, "n": 99999999999}', '{"b": [{"c": "d"}, 2], "a": [ 1 , null ]}', '{"a": 1',
    "{'a': 'b'}", "[0, [1, 2.0]]", "[null, null]", '"text"', "12", '{"a": 1, "a": 2} and', '{"b": [{"c": 1e17}]}',
]  # fmt: skip
FRACTIONS = [
    None, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 0.1, 0.3, NAN, INF, -INF, 1e308, -1e308, 5e-324, 127.5,
    128.0, -128.5, -129.0, 32768.25, 2147483647.5, 2147483648.0, 9.2e18, 2.0**63, -(2.0**63), 1e20, 123456.789,
    131072.125,
]  # fmt: skip
NARROW = [3.4028234663852886e38, 3.4028235677973362e38, 3.4028235677973366e38, 1e-46, 1.4e-45, 16777217.0]


def single(value):
    """The nearest FLOAT."""
    if value is None or not math.isfinite(value):
        return value
    return struct.unpack("f", struct.pack("f", max(-3e38, min(3e38, value))))[0]


_DAY, _NEXT = date(2024, 2, 29), date(1969, 12, 31)
VALUES = {
    "boolean": [None, True, False],
    **{kind: whole(bits) for kind, bits in WHOLE.items()},
    "double": FRACTIONS,
    "float": [single(item) for item in FRACTIONS],
    "decimal(12,2)": exact(12, 2),
    "decimal(5,4)": exact(5, 4),
    "decimal(20,0)": exact(20, 0),
    "decimal(38,10)": exact(38, 10),
    "string": TEXTS,
    "binary": [None, b"", b"\x00", b"a", b"\xff\xfe", "é".encode()],
    "date": [None, *(date.fromisoformat(item) for item in DATES)],
    "timestamp": moments(),
    "timestamp_ntz": moments(),
    "array<int>": [None, [], [1], [1, 2, None], [None], [3, -(2**31), 2**31 - 1, 5], [None, 1]],
    "array<double>": [None, [], [0.0, -0.0, NAN, None, INF], [-0.0, 1.5, 0.0, -1.5, -0.0], [None, NAN, -INF, None]],
    "array<string>": [None, [], ["a"], ["a", None, "b"], ["", "é", "日"]],
    "struct<x:int,y:string>": [None, {"x": 1, "y": "a"}, {"x": None, "y": None}, {"x": 2**31 - 1, "y": ""}],
    "map<string,int>": [None, [], [("a", 1)], [("b", None), ("a", 2)], [("", 3), ("é", -1), ("abc", 0)]],
    "map<int,array<string>>": [None, [], [(1, ["a", None])], [(-1, None), (0, []), (2, ["é"])]],
    "map<double,float>": [None, [], [(0.0, -0.0)], [(-0.0, NAN), (NAN, None)], [(INF, 0.5), (-INF, INF), (1.5, None)]],
    "map<date,map<string,int>>": [
        None,
        [],
        [(_DAY, None)],
        [(_DAY, [("a", 1), ("b", None)])],
        [(_NEXT, []), (_DAY, [("b", 2)])],
    ],
}  # fmt: skip
SPECIAL = {"digits": NUMBER_TEXTS, "fractions": FRACTION_TEXTS, "days": DATE_TEXTS, "wide": FRACTIONS + NARROW}
SPECIAL["documents"] = DOCUMENTS
_KINDS = {kind: kind for kind in VALUES} | {
    "digits": "string",
    "fractions": "string",
    "days": "string",
    "documents": "string",
    "wide": "double",
}
EACH = 38
COUNT = EACH * EACH
_ARROW = {
    "boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(),
    "float": pa.float32(), "double": pa.float64(), "string": pa.string(), "binary": pa.binary(), "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"), "timestamp_ntz": pa.timestamp("us"),
    "array<int>": pa.list_(pa.int32()), "array<double>": pa.list_(pa.float64()), "array<string>": pa.list_(pa.string()),
    "struct<x:int,y:string>": pa.struct({"x": pa.int32(), "y": pa.string()}),
    "map<string,int>": pa.map_(pa.string(), pa.int32()),
    "map<int,array<string>>": pa.map_(pa.int32(), pa.list_(pa.string())),
    "map<double,float>": pa.map_(pa.float64(), pa.float32()),
    "map<date,map<string,int>>": pa.map_(pa.date32(), pa.map_(pa.string(), pa.int32())),
}  # fmt: skip


def column(kind, side):
    """The name of the column with values of a type, on one of three sides."""
    return side + "_" + "".join(letter if letter.isalnum() else "_" for letter in kind)


def _arrow(kind):
    if kind.startswith("decimal"):
        digits, scale = kind[8:-1].split(",")
        return pa.decimal128(int(digits), int(scale))
    return _ARROW[kind]


def _place(side, number):
    return {"a": number // EACH, "b": number % EACH, "c": number * 7 + number // EACH * 3}[side]


def types():
    """The columns' types by name."""
    return {column(kind, side): _KINDS[kind] for kind in _KINDS for side in "abc"} | {"id": "int"}


def rows():
    """All columns: each value on side a meets each on side b."""
    found = {"id": pa.array(range(COUNT), pa.int32())}
    for kind, real in _KINDS.items():
        values = VALUES.get(kind) or SPECIAL[kind]
        assert len(values) <= EACH, kind
        for side in "abc":
            chosen = [values[_place(side, number) % len(values)] for number in range(COUNT)]
            found[column(kind, side)] = pa.array(chosen, _arrow(real))
    return pa.table(found)


def given(columns):
    """Columns of the same length by name, each a type and its values."""
    count = max(len(values) for _, values in columns.values())
    found = {name: pa.array(values, _arrow(kind)) for name, (kind, values) in columns.items()}
    return pa.table({"id": pa.array(range(count), pa.int32())} | found)


def create(connection, table, kinds):
    """The same rows in DuckDB, in the types in which it holds them."""
    listed = ", ".join(f'CAST("{name}" AS {storage(kinds[name])}) AS "{name}"' for name in table.column_names)
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("given", table)
    connection.execute(f"CREATE TABLE given_rows AS SELECT {listed} FROM given")
