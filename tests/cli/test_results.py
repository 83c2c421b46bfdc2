"""Results in every format."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.cli.changes import ArrowOutput, CsvOutput, TextOutput
from penstock.cli.results import Table, write_arrow, write_table

TABLE = Table(
    ("id", "name", "amount", "at"),
    [(1, "ann", Decimal("2.50"), datetime.fromisoformat("2024-01-01 08:00")), (20, None, None, None)],
)


def written(table, style):
    stream = io.StringIO()
    write_table(table, style, stream)
    return stream.getvalue()


def test_text():
    assert written(TABLE, "text") == (
        "id | name | amount | at\n"
        "---+------+--------+--------------------\n"
        " 1 | ann  |   2.50 | 2024-01-01 08:00:00\n"
        "20 | NULL |   NULL | NULL\n"
        "(2 rows)\n"
    )
    assert written(Table(("a",), []), "text") == "a\n-\n(0 rows)\n"
    assert written(Table(("a",), [("x\ny" * 40,)], "t"), "text").splitlines()[3] == "x\\ny" * 40


class Terminal(io.StringIO):
    """A terminal of 20 columns."""

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("layout", "stream", "lines"),
    [
        ("auto", Terminal, ["-[ row 1 ]-", "id   | 1", "text | a long one indeed", "(1 row)"]),
        ("auto", io.StringIO, ["id | text", "---+------------------", " 1 | a long one indeed", "(1 row)"]),
        ("table", Terminal, ["id | text", "---+------------------", " 1 | a long one indeed", "(1 row)"]),
        ("expanded", io.StringIO, ["-[ row 1 ]-", "id   | 1", "text | a long one indeed", "(1 row)"]),
    ],
)
def test_rows_that_are_too_wide_for_a_terminal_are_expanded(layout, stream, lines, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    out = stream()
    write_table(Table(("id", "text"), [(1, "a long one indeed")]), "text", out, layout)
    assert out.getvalue().splitlines() == lines


def test_rows_that_fit_a_terminal_stand_in_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    out = Terminal()
    write_table(Table(("id", "text"), [(1, "short")]), "text", out)
    assert out.getvalue().splitlines()[0] == "id | text"


def test_json_lines():
    first, second = (json.loads(line) for line in written(TABLE, "json").splitlines())
    assert first == {"id": 1, "name": "ann", "amount": "2.50", "at": "2024-01-01 08:00:00"}
    assert second["name"] is None
    assert json.loads(written(Table(("a",), [(1,)], "totals"), "json")) == {"view": "totals", "a": 1}


def test_json_has_no_word_for_what_is_not_finite():
    """RFC 8259; a reader that is strict refuses NaN. Spark's to_json writes the same text."""
    row = (float("nan"), float("-inf"), [1.5, float("inf")], {"x": float("nan")})
    found = written(Table(("a", "b", "c", "d"), [row]), "json")
    strict = json.loads(found, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert strict == {"a": "NaN", "b": "-Infinity", "c": [1.5, "Infinity"], "d": {"x": "NaN"}}


def test_csv():
    table = Table(("a", "b", "c"), [('say "x", y', [1, None], True), (None, {"k": date(2024, 1, 1)}, False)])
    assert written(table, "csv").splitlines() == [
        "a,b,c",
        '"say ""x"", y","[1, null]",true',
        ',"{""k"": ""2024-01-01""}",false',
    ]


@pytest.mark.parametrize("style", ["arrow", "parquet"])
def test_arrow_and_parquet(style):
    table, stream = pa.table({"a": [1, 2]}), io.BytesIO()
    write_arrow(table, style, stream)
    data = io.BytesIO(stream.getvalue())
    back = pq.read_table(data) if style == "parquet" else pa.ipc.open_stream(data).read_all()
    assert back.equals(table)


class FakeChange:
    """A change without an engine."""

    def __init__(self, view, rows, step=1):
        self.view, self.rows, self.step = view, rows, step
        self.columns = ("a", "b")
        self.clock = datetime(2024, 1, 1, tzinfo=UTC)
        self.delta = object()

    def arrow(self):
        columns = list(zip(*[(*row, weight) for weight, row in self.rows], strict=True))
        return pa.table(dict(zip(("a", "b", "__weight"), map(list, columns), strict=True)))


CHANGES = {"v": FakeChange("v", [(1, (1, "x")), (-2, (2, None))]), "w": FakeChange("w", [(1, (3, "y"))])}


def test_changes_as_text(capsys):
    TextOutput().write(CHANGES)
    assert capsys.readouterr().out.splitlines() == [
        "step 1  v  -2  (2, NULL)",
        "step 1  v  +1  (1, x)",
        "step 1  w  +1  (3, y)",
    ]
    TextOutput(["W"]).write(CHANGES)
    assert capsys.readouterr().out == "step 1  w  +1  (3, y)\n"


def test_changes_as_csv(capsys):
    output = CsvOutput(["v"])
    output.write(CHANGES)
    output.write({"v": FakeChange("v", [(1, (9, "z"))], step=2)})
    assert capsys.readouterr().out.splitlines() == ["__step,__weight,a,b", "1,1,1,x", "1,-2,2,", "2,1,9,z"]


@pytest.mark.parametrize("style", ["arrow", "parquet"])
def test_changes_as_arrow_and_parquet(style):
    stream = io.BytesIO()
    stream.close = lambda: None
    output = ArrowOutput(["v"], style, stream)
    output.write(CHANGES)
    output.write({"v": FakeChange("v", [(1, (9, "z"))], step=2)})
    output.close()
    data = io.BytesIO(stream.getvalue())
    back = pq.read_table(data) if style == "parquet" else pa.ipc.open_stream(data).read_all()
    assert back.column_names == ["a", "b", "__weight", "__step"]
    assert back.to_pylist()[-1] == {"a": 9, "b": "z", "__weight": 1, "__step": 2}
