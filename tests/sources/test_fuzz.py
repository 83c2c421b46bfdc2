"""Nothing that stands in a file ends a run: random bytes, broken files, values of every kind in columns of every type.

`make fuzz-readers EXAMPLES=20000` goes on for about twenty minutes; `make test` takes a few examples of each.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sources.folders import OLD, source, written

from penstock.sources.formats import records
from penstock.sources.formats.json import JsonLines
from penstock.steps.rows.rejected import Rejections

EXAMPLES = int(os.environ.get("PENSTOCK_FUZZ_EXAMPLES", "60"))
FUZZ = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None, print_blob=False
)
TYPES = (
    "TINYINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10,2)", "DECIMAL(38,10)", "BOOLEAN", "STRING", "VARCHAR(3)",
    "CHAR(3)", "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "VARIANT", "INTERVAL YEAR TO MONTH",
    "INTERVAL DAY TO SECOND",
    "ARRAY<INT>", "MAP<STRING, INT>", "STRUCT<x: INT, y: STRING>", "ARRAY<STRUCT<t: TIMESTAMP>>", "MAP<DATE, DOUBLE>",
)  # fmt: skip
COLUMNS = st.lists(st.sampled_from(TYPES), min_size=1, max_size=3).map(
    lambda kinds: ", ".join(f"c{at} {kind}{' NOT NULL' if at == 1 else ''}" for at, kind in enumerate(kinds))
)
TEXTS = st.one_of(
    st.text(max_size=6),
    st.text(st.characters(categories=["Cs", "Cc", "L"]), max_size=4),
    st.sampled_from([
        "", "1", "-1", "1.5", "1e400", "1e-400", "NaN", "Infinity", "0x1F", "1_000", " 7 ", "true", "0000-01-01",
        "2024-01-31",
        "2024-02-30", "10000-01-01", "2024-01-31 10:00:00", "2024-01-31T10:00:00+02:00", "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00", "9" * 30, "٣", "9999999999999", "+", "-", "~", '"', "'", ",", "\r", "\n", "\x00",
        "\ufeff",
    ]),
)  # fmt: skip
NUMBERS = st.one_of(
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.sampled_from([0, -0.0, 1e308, 10**400, 2**63, -(2**63)]),
)
NAMES = st.sampled_from(["c0", "c1", "c2", "C0", "x", "__op", "__seq", "insert", "delete", "update", "", "a.b"])
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.one_of(NAMES, TEXTS), inner, max_size=3)),
    max_leaves=6,
)
ROWS = st.dictionaries(NAMES, VALUES, max_size=5)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
OPTIONS = st.fixed_dictionaries({}, optional={
    "unknown_columns": st.sampled_from(["ignore", "reject"]),
    "append_only": st.just("true"),
    "epoch": st.sampled_from(["auto", "seconds", "milliseconds"]),
})  # fmt: skip
CSV_OPTIONS = st.fixed_dictionaries({}, optional={
    "header": st.sampled_from(["true", "false"]),
    "delimiter": st.sampled_from([",", ";", "|", "\t", "."]),
    "quote": st.sampled_from(['"', "", "$"]),
    "null_text": st.sampled_from(["", "NULL", "1"]),
})  # fmt: skip


@contextmanager
def folder():
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def everything(found, rows=7):
    """Read all of a folder as `run --once` does; what is read can be shown, kept and read again."""
    rejected, count, looks = [], 0, 0
    while True:
        rejections = Rejections(tolerant=True)
        batch = found.read(rows, rejections, ended=True)
        taken = found.taken()
        found.commit()
        rejected += rejections.rows
        rejections.change()
        json.dumps(taken).encode()
        if batch is not None:
            batch.rows.validate(full=True)
            for index in range(len(batch)):
                json.loads(batch.json(index))
                batch.place(index)
            count += len(batch)
        looks = 0 if batch is not None or rejections.rows or taken else looks + 1
        if looks == 2:
            break
    assert not any(file.is_unread for file in found.transport._files.values())
    return count, rejected


def broken(data, draw):
    """The bytes with some of them lost, changed or doubled."""
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, max(0, len(data))))
        data = draw(st.sampled_from([data[:at], data[at:], data[:at] + draw(st.binary(max_size=5)) + data[at + 1 :]]))
    return data


@FUZZ
@given(COLUMNS, st.binary(max_size=300), st.sampled_from(["json", "csv", "parquet", "json.gz", "csv.zst"]))
def test_random_bytes(columns, data, ending):
    with folder() as path:
        written(path / f"1.{ending}", data, age=OLD)
        everything(source(path, ending.partition(".")[0], columns))


@FUZZ
@given(COLUMNS, st.lists(ROWS, max_size=6), ENDS, OPTIONS, st.data())
def test_json_of_any_kind(columns, rows, end, options, data):
    text = "".join(json.dumps(row, ensure_ascii=data.draw(st.booleans())) + end for row in rows)
    raw = broken(text.encode("utf-8", "surrogatepass"), data.draw)
    packed = data.draw(st.booleans())
    with folder() as path:
        name, raw = ("1.json.gz", broken(gzip.compress(raw), data.draw)) if packed else ("1.json", raw)
        written(path / name, raw, age=OLD)
        everything(source(path, "json", columns, **options))


@FUZZ
@given(
    COLUMNS,
    st.lists(st.lists(TEXTS, min_size=1, max_size=4), max_size=6),
    ENDS,
    st.tuples(OPTIONS, CSV_OPTIONS),
    st.data(),
)
def test_csv_of_any_kind(columns, rows, end, options, data):
    header = data.draw(
        st.sampled_from([["c0", "c1"], ["c0", "c1", "c2"], ["c0", "__op"], ["c0", "c0"], ["x", "C1 "], []])
    )
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end).writerows([header, *rows] if header else rows)
    with folder() as path:
        written(path / "1.csv", broken(text.getvalue().encode("utf-8", "surrogatepass"), data.draw), age=OLD)
        everything(source(path, "csv", columns, **options[0], **options[1]))


ARROW = {
    pa.int8(): st.integers(-128, 127), pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1), pa.float64(): st.floats(), pa.float32(): st.floats(width=32),
    pa.bool_(): st.booleans(), pa.string(): TEXTS.map(lambda text: text.encode("utf-8", "ignore").decode()),
    pa.binary(): st.binary(max_size=4), pa.date32(): st.integers(-(2**31), 2**31 - 1),
    pa.timestamp("us"): st.integers(-(2**62), 2**62), pa.timestamp("ns", "UTC"): st.integers(-(2**62), 2**62),
    pa.timestamp("s"): st.integers(-(2**40), 2**40), pa.time64("us"): st.integers(0, 86_399_999_999),
    pa.duration("us"): st.integers(-(2**62), 2**62), pa.list_(pa.int32()): st.lists(st.integers(-9, 9), max_size=2),
    pa.decimal128(20, 3): st.decimals(-(10**16), 10**16, places=3),
    pa.struct([("x", pa.int64()), ("y", pa.string())]): st.fixed_dictionaries({"x": st.integers(-9, 9)}),
}  # fmt: skip


@st.composite
def tables(draw):
    rows = draw(st.integers(0, 5))
    columns = {}
    for name in draw(st.lists(st.sampled_from(["c0", "c1", "c2", "C0", "x", "__op", "__seq", "a.b"]), max_size=4)):
        kind = draw(st.sampled_from(list(ARROW)))
        values = draw(st.lists(st.one_of(st.none(), ARROW[kind]), min_size=rows, max_size=rows))
        columns.setdefault(name, pa.array(values, kind))
    table = pa.table(columns)
    if draw(st.booleans()):
        for at, column in enumerate(table.columns):
            if pa.types.is_binary(column.type):
                view = pa.chunked_array([chunk.view(pa.string()) for chunk in column.chunks], pa.string())
                table = table.set_column(at, table.column_names[at], view)
    return table


@FUZZ
@given(COLUMNS, tables(), OPTIONS, st.booleans(), st.data())
def test_parquet_of_any_kind(columns, table, options, flawed, data):
    with folder() as path:
        pq.write_table(table, path / "1.parquet", row_group_size=2)
        if flawed:
            written(path / "1.parquet", broken((path / "1.parquet").read_bytes(), data.draw), age=OLD)
        everything(source(path, "parquet", columns, **options))


SIMPLE = st.sampled_from(
    ["TINYINT", "INT", "BIGINT", "DOUBLE", "STRING", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ"]
)


@FUZZ
@given(st.lists(SIMPLE, min_size=1, max_size=3), st.lists(ROWS, min_size=1, max_size=4), st.booleans(), st.data())
def test_json_read_at_once_is_what_is_read_line_by_line(kinds, rows, ignored, data):
    """The fast reader of JSON and the slow one give the same rows and reject the same."""
    columns = ", ".join(f"c{at} {kind}" for at, kind in enumerate(kinds))
    if data.draw(st.booleans()):
        rows = [{data.draw(st.sampled_from(["insert", "delete", "update"])): row} for row in rows]
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    options = {"unknown_columns": "ignore" if ignored else "reject"}
    with folder() as path:
        written(path / "1.json", text, age=OLD)
        fast, slow = source(path, "json", columns, **options), source(path, "json", columns, **options)
        assert isinstance(slow.format, JsonLines)
        slow.format._fast = None
        assert outcome(fast) == outcome(slow)


KINDS = st.one_of(SIMPLE, st.sampled_from(["FLOAT", "DECIMAL(10,2)", "VARCHAR(3)", "BINARY", "VARIANT"]))
CELLS = st.one_of(
    TEXTS, st.text(st.sampled_from('a,"\r\n 1'), max_size=5), st.integers().map(str), st.floats().map(str)
)
LINES = st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=4)


@FUZZ
@given(st.lists(KINDS, min_size=2, max_size=2), LINES, ENDS, CSV_OPTIONS, st.data())
def test_csv_read_at_once_is_what_is_read_record_by_record(kinds, rows, end, options, data):
    """The fast reader of CSV and the slow one give the same rows and reject the same, also of oddly quoted fields."""
    columns = ", ".join(f"c{at} {kind}" for at, kind in enumerate(kinds))
    delimiter, quote = options.get("delimiter", ","), options.get("quote", '"')
    header = delimiter.join(data.draw(st.sampled_from([["c0", "c1"], ["c1", "x"], ["__op", "c0"]])))
    shape = {"delimiter": delimiter} | (
        {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE, "quotechar": None}
    )
    text = io.StringIO(newline="")
    if data.draw(st.booleans()) and quote:
        csv.writer(text, lineterminator=end, **shape).writerows(rows)
    else:
        text.write("".join(delimiter.join(row) + end for row in rows))
    with folder() as path:
        written(path / "1.csv", (header + end + text.getvalue()).encode("utf-8", "replace"), age=OLD)
        outcomes = []
        for slow in (False, True):
            found = source(path, "csv", columns, **options)
            if slow:
                found.format._at_once = lambda *_: None
            outcomes.append(outcome(found))
        assert outcomes[0] == outcomes[1]


def outcome(found):
    """The rows with their operations and places, and where rows were rejected."""
    rejections = Rejections(tolerant=True)
    batch = found.read(1000, rejections, ended=True)
    read = range(0 if batch is None else len(batch))
    rows = [(batch.operation(at), batch.json(at), batch.place(at)) for at in read]
    return rows, sorted(json.loads(row.metadata)["place"] for row in rejections.rows)


@FUZZ
@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=8), ENDS, st.integers(2, 64), st.integers(1, 5))
def test_csv_is_the_same_however_it_is_cut(rows, end, chunk, count):
    """Rows, rejections and places do not depend on how much is read at once; how a rejected record is shown may."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end).writerows([("c0", "c1"), *rows])
    outcomes = []
    with folder() as path:
        written(path / "1.csv", text.getvalue().encode("utf-8", "surrogatepass"), age=OLD)
        for size, at_once in ((chunk, count), (records.CHUNK, 1000)):
            kept, records.CHUNK = records.CHUNK, size
            try:
                found = source(path, "csv", "c0 STRING, c1 STRING")
                read, rejected = [], []
                for _ in range(200):
                    rejections = Rejections(tolerant=True)
                    batch = found.read(at_once, rejections, ended=True)
                    read += [] if batch is None else [(batch.json(at), batch.place(at)) for at in range(len(batch))]
                    told = [json.loads(row.metadata) for row in rejections.rows]
                    rejected += [(item["place"], item["error"]) for item in told]
                    found.commit()
            finally:
                records.CHUNK = kept
            outcomes.append((read, rejected))
    assert outcomes[0] == outcomes[1]
