"""`'unknown_columns' = 'add'`: a table gets the columns that rows of its source have, with the step that has them."""

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.sources.folders import written
from tests.steps.tables import NO_DEFAULTS, declared

import penstock
from penstock.errors import SqlError
from penstock.sources.api import check_source
from penstock.sources.messages.api import Message
from penstock.sources.messages.choice import rows_of
from penstock.steps.events import ColumnsAdded
from penstock.steps.rows.batch import RowReader
from penstock.steps.rows.new_columns import NewColumns, kind_of_text, kind_of_type, kind_of_value, wider
from penstock.steps.rows.rejected import Rejections

BIG = 1 << 63


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([5, -7, BIG - 1], "BIGINT"),
        ([5, 1.5], "DOUBLE"),
        ([Decimal("0.12345678901234567")], "DOUBLE"),
        ([True, False], "BOOLEAN"),
        ([True, 1], "STRING"),
        ([BIG], "STRING"),
        (["5"], "STRING"),
        (["2024-01-31 12:00:00"], "STRING"),
        ([{"a": 1}], "STRING"),
        ([5, "x", 1.5], "STRING"),
    ],
    ids=str,
)
def test_the_narrowest_type_holds_all_values(values, kind):
    kinds = [kind_of_value(value) for value in values]
    for order in (kinds, kinds[::-1]):
        found = NewColumns()
        for item in order:
            found.note("c", item)
        assert found.taken() == {"c": kind}
        assert found.taken() == {}


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["5", "-7", "0"], "BIGINT"),
        (["5", "1.50", "1e9"], "DOUBLE"),
        (["true", "FALSE"], "BOOLEAN"),
        (["01234"], "STRING"),
        (["-0"], "STRING"),
        (["1_000"], "STRING"),
        (["9223372036854775808"], "STRING"),
        (["9" * 5_000], "STRING"),
        (["NaN"], "STRING"),
        (["x", "5"], "STRING"),
    ],
    ids=lambda item: str(item)[:20],
)
def test_a_text_stands_for_a_number_if_it_is_how_that_is_written(texts, kind):
    first, *others = (kind_of_text(text) for text in texts)
    for other in others:
        first = wider(first, other)
    assert first == kind


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (pa.uint8(), "BIGINT"),
        (pa.uint64(), "STRING"),
        (pa.float32(), "DOUBLE"),
        (pa.bool_(), "BOOLEAN"),
        (pa.decimal128(9, 2), "DECIMAL(9, 2)"),
        (pa.decimal256(60, 2), "STRING"),
        (pa.timestamp("us", "UTC"), "TIMESTAMP"),
        (pa.timestamp("ms"), "TIMESTAMP_NTZ"),
        (pa.date32(), "DATE"),
        (pa.binary(), "BINARY"),
        (pa.dictionary(pa.int8(), pa.string()), "STRING"),
        (pa.list_(pa.int8()), "STRING"),
    ],
    ids=str,
)
def test_a_file_that_says_types_has_these(kind, said):
    assert kind_of_type(kind) == said


def program(folder, style="json", more=""):
    said = f"'connector' = 'files', 'path' = '{folder}', 'format' = '{style}', 'unknown_columns' = 'add'{more}"
    return f"""
    CREATE TABLE t (id INT, v BIGINT) WITH ({said});
    CREATE VIEW whole AS SELECT * FROM t;
    CREATE VIEW total AS SELECT SUM(v) AS s FROM t;
    """


def lines(path, *rows):
    written(path, "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))


class Run:
    """Pipelines over a folder, one after the other, as it grows."""

    def __init__(self, folder, style="json", more=""):
        (folder / "in").mkdir()
        self.folder, self.text, self.told = folder, program(folder / "in", style, more), []

    def on(self, **how):
        """The rows once all that there is has been read, by their first column, and the errors."""
        given = {"engine": "native", "directory": self.folder / "dir", "on_event": self.told.append}
        with penstock.Pipeline(self.text, **given, **how) as pipeline:
            pipeline.run(once=True)
            self.steps = pipeline.steps
            self.columns = {item.name: item.type for item in pipeline.catalog.table("t").columns}
            self.errors = [
                json.loads(text)["error"] for (text,) in pipeline.query("SELECT metadata FROM error_view").rows
            ]
            for view, query in (("whole", "SELECT id, v FROM t"), ("total", "SELECT SUM(v) FROM t")):
                assert sorted(pipeline.content(view).rows, key=str) == sorted(pipeline.query(query).rows, key=str)
            return sorted(pipeline.query("SELECT * FROM t").rows, key=lambda row: row[0])

    @property
    def added(self):
        return [line for event in self.told if isinstance(event, ColumnsAdded) for line in str(event).splitlines()]


def test_the_step_that_first_has_a_column_holds_its_values(tmp_path):
    run = Run(tmp_path)
    lines(tmp_path / "in" / "1.json", {"id": 1, "v": 2})
    assert run.on() == [(1, 2)]
    lines(tmp_path / "in" / "2.json", {"id": 2, "v": 3, "n": 5, "who": None}, {"insert": {"id": 3, "v": 4, "n": 1.5}})
    rows = [(1, 2, None), (2, 3, 5.0), (3, 4, 1.5)]
    assert run.on() == rows
    assert (run.steps, run.errors) == (2, [])
    assert run.added == ["table t has a new column n DOUBLE, as rows have it"]
    lines(tmp_path / "in" / "3.json", {"id": 4, "v": 5, "n": 6, "who": {"name": "ann"}}, {"id": 5, "who": 7})
    rows = [(*row, None) for row in rows] + [(4, 5, 6.0, '{"name": "ann"}'), (5, None, None, "7")]
    for how in ({}, {}, {"rebuild": True}):
        assert (run.on(**how), run.errors) == (rows, [])
    assert run.added[1:] == ["table t has a new column who STRING, as rows have it"]
    assert run.columns == {"id": "int", "v": "bigint", "n": "double", "who": "string"}


def test_what_cannot_be_a_column_is_refused_with_its_row(tmp_path):
    run = Run(tmp_path)
    bad = [{"id": 2, "__weight": 1}, {"id": 3, "": 1}, {"id": 4, "X": 1, "x": 2}, {"id": 5, "V": 1, "v": 1}]
    lines(tmp_path / "in" / "1.json", {"id": 1, "v": 2, "X": 1}, *bad, {"id": 6, "V": 3, "x": 4}, "{broken")
    assert run.on() == [(1, 2, 1), (6, 3, 4)]
    assert run.added == ["table t has a new column X BIGINT, as rows have it"]
    assert len(run.errors) == len(bad) + 1
    assert [said in "\n".join(run.errors) for said in ("named __weight", "'' cannot be", "columns x", "columns v")]


def test_a_table_does_not_grow_without_bound(tmp_path):
    run = Run(tmp_path)
    lines(tmp_path / "in" / "1.json", {"id": 1, **{f"c{at}": at for at in range(999)}}, {"id": 2, "v": 1})
    assert run.on() == [(2, 1)]
    assert "would be a column more than the 1,000" in "".join(run.errors)


def test_fields_under_a_header_are_columns(tmp_path):
    run = Run(tmp_path, "csv")
    written(tmp_path / "in" / "1.csv", "id,v,zip,n,paid,open\n1,2,01234,5,true,\n2,3,x,7,,\n")
    written(tmp_path / "in" / "2.csv", "id,v,a,A\n3,4,5,6\n")
    assert run.on() == [(1, 2, "01234", 5, True), (2, 3, "x", 7, None)]
    assert run.columns == {"id": "int", "v": "bigint", "zip": "string", "n": "bigint", "paid": "boolean"}
    assert {*run.errors} == {"cannot be read: its header: it has two columns A, be it in another case"}
    written(tmp_path / "in" / "3.csv", 'id,n,zip,open\n4,8,"a\nb",o\n5,no,,p\n')
    assert run.on()[2:] == [(4, None, "a\nb", 8, None, "o")]
    assert any("found 'no' (str), expected BIGINT" in error for error in run.errors)


def test_columns_of_parquet_keep_their_types(tmp_path):
    run = Run(tmp_path, "parquet")
    at = datetime(2024, 1, 31, 12, tzinfo=UTC)
    found = {"id": [1, 2], "at": [at, None], "day": [date(2024, 1, 31)] * 2, "d": [Decimal("1.50"), Decimal("2.00")]}
    more = {
        "parts": [[1, 2], None],
        "clock": [time(12, 30), None],
        "text": ["5", "6"],
        "none": pa.array([None, None], pa.int32()),
    }
    pq.write_table(pa.table({**found, **more}), tmp_path / "in" / "1.parquet")
    pq.write_table(pa.table({"id": [3], "__op": ["+"], "__seq": [1], "b": [1]}), tmp_path / "in" / "2.parquet")
    naive = at.replace(tzinfo=None)
    day = date(2024, 1, 31)
    assert [tuple(row[:1]) + tuple(row[2:]) for row in run.on()] == [
        (1, naive, day, Decimal("1.50"), "[1, 2]", "12:30:00", "5"),
        (2, None, day, Decimal("2.00"), None, None, "6"),
    ]
    assert run.columns == {
        "id": "int", "v": "bigint", "at": "timestamp", "day": "date", "d": "decimal(3,2)", "parts": "string",
        "clock": "string", "text": "string",
    }  # fmt: skip
    assert "a column cannot be named __seq" in "".join(run.errors)


def test_columns_that_folders_name_are_not_the_files_to_add(tmp_path):
    run = Run(tmp_path, more=", 'partitioned_by' = 'v'")
    (tmp_path / "in" / "v=7").mkdir()
    lines(tmp_path / "in" / "v=7" / "1.json", {"id": 1, "v": 2, "n": 3})
    assert run.on() == [(1, 7, 3)]


def test_a_transaction_that_is_open_keeps_its_table_as_it_is(tmp_path):
    run = Run(tmp_path)
    lines(tmp_path / "in" / "1.json", {"id": 1, "v": 2, "n": 3})
    with penstock.Pipeline(run.text, engine="native") as pipeline:
        pipeline.begin()
        with pytest.raises(SqlError, match="cannot stand in a transaction"):
            pipeline.run(once=True)
        pipeline.rollback()
        pipeline.run(once=True)
        assert pipeline.query("SELECT * FROM t").rows == [(1, 2, 3)]


def test_messages_in_json_tell_of_columns_all_at_once_and_one_by_one():
    said = "'connector' = 'kafka', 'topic' = 'x', 'properties.bootstrap.servers' = 'b:1', 'unknown_columns' = 'add'"
    table = declared(f"CREATE TABLE t (id INT, v BIGINT) WITH ({said})")
    new = NewColumns()
    rows = rows_of(table, lambda table, lenient: RowReader(table, NO_DEFAULTS, lenient=lenient, new=new), upserts=False)
    for values, found in (
        ([{"id": 1, "n": 5}, {"id": 2, "who": None}], {"n": "BIGINT"}),
        ([{"id": 1}, {"id": 2, "n": None}], {}),
        ([{"id": 1, "n": 5}, {"id": 2, "n": "x", "w": 1.5}], {"n": "STRING", "w": "DOUBLE"}),
    ):
        messages = [Message(json.dumps(value).encode(), offset=at) for at, value in enumerate(values)]
        rejections = Rejections(tolerant=True)
        assert len(rows.batch(messages, rejections)) == 2
        assert (new.taken(), rejections.rows) == (found, [])


def rows_of_messages(style, said=""):
    """The maker of rows from messages of a format, and what it finds beyond the columns of the table."""
    kafka = "'connector' = 'kafka', 'topic' = 'x', 'properties.bootstrap.servers' = 'b:1', 'unknown_columns' = 'add'"
    table = declared(f"CREATE TABLE t (id INT PRIMARY KEY, v BIGINT) WITH ({kafka}, 'format' = '{style}'{said})")
    check_source(table)
    new = NewColumns()
    readers = lambda table, lenient: RowReader(table, NO_DEFAULTS, lenient=lenient, new=new)  # noqa: E731
    return rows_of(table, readers, upserts=style == "upsert"), new


@pytest.mark.parametrize("style", ["debezium", "debezium-json"])
def test_rows_within_an_envelope_of_debezium_tell_of_columns(style):
    rows, new = rows_of_messages(style)
    changes = [
        {"op": "c", "before": None, "after": {"id": 1, "v": 2, "who": None, "n": 5}, "source": {"db": "shop"}},
        {"schema": {}, "payload": {"op": "u", "after": {"id": 1, "v": 2, "n": 1.5, "tags": ["a"]}}},
        {"op": "d", "before": {"id": 1, "paid": True}, "after": None},
        {"op": "c", "after": {"id": 2, "__weight": 1}},
    ]
    rejections = Rejections(tolerant=True)
    batch = rows.batch(
        [Message(json.dumps(change).encode(), offset=at) for at, change in enumerate(changes)], rejections
    )
    assert batch.operations == ("+", "+", "-")
    assert new.taken() == {"n": "DOUBLE", "tags": "STRING", "paid": "BOOLEAN"}
    assert ["named __weight" in row.metadata for row in rejections.rows] == [True]


def test_an_upsert_tells_of_columns_of_its_value():
    rows, new = rows_of_messages("upsert")
    messages = [Message(b'{"v": 2, "n": 5}', key=b'{"id": 1}'), Message(None, key=b'{"id": 1}', offset=1)]
    rejections = Rejections(tolerant=True)
    assert (rows.batch(messages, rejections).operations, rejections.rows) == (("+", "-"), [])
    assert new.taken() == {"n": "BIGINT"}


def test_formats_that_cannot_have_columns_added_say_so(tmp_path):
    kafka = "'connector' = 'kafka', 'topic' = 'x', 'properties.bootstrap.servers' = 'b:1', 'unknown_columns' = 'add'"
    check_source(declared(f"CREATE TABLE t (id INT) WITH ({kafka})"))
    for style in ("'format' = 'csv'", "'value.format' = 'raw'"):
        with pytest.raises(SqlError, match="'unknown_columns' = 'add' is for the format json and debezium"):
            check_source(declared(f"CREATE TABLE t (id INT) WITH ({kafka}, {style})"))
    with pytest.raises(SqlError, match="'unknown_columns' = 'add' means nothing"):
        check_source(declared("CREATE TABLE t (id INT) WITH ('connector' = 'http', 'unknown_columns' = 'add')"))
