"""Rows that an address is asked for: by a column that grows, or as a document; one that is away, or refuses."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.steps.tables import NO_DEFAULTS, declared
from tests.tiers import examples

import penstock
from penstock.errors import DataError, SqlError
from penstock.sources import api
from penstock.sources.looks import Looks
from penstock.steps.rows.batch import RowReader
from penstock.steps.rows.rejected import Rejections

UTF8 = "utf-8"


@dataclass
class Shop:
    """A server with orders, which says a page of those behind the `after` that it is told."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    page: int = 100
    inclusive: bool = False
    status: int = 200
    said: dict[str, str] = field(default_factory=dict)
    body: Callable[[list[dict[str, Any]]], str] = json.dumps
    document: str = ""
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    port: int = 0
    length: int | None = None

    def answer(self, path: str, headers: dict[str, str]) -> tuple[int, str, dict[str, str]]:
        self.asked.append((path, headers))
        if self.status != 200:
            return self.status, "", self.said
        if urlsplit(path).path == "/document":
            same = headers.get("If-None-Match") is not None and headers["If-None-Match"] == self.said.get("ETag")
            return (304, "", {}) if same else (200, self.document, self.said)
        after = parse_qs(urlsplit(path).query).get("after", [""])[0]
        least = float(after or "-inf")
        found = [row for row in self.rows if row["id"] > least or (self.inclusive and row["id"] == least)]
        return 200, self.body(found[: self.page]), {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/orders?after={{id}}"

    @property
    def document_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/document"


@pytest.fixture(autouse=True)
def answers_come_in_time(monkeypatch):
    """A read waits for its answer; tests of looks have those that do not."""
    monkeypatch.setattr(Looks, "WAIT", 30.0)


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[ThreadingHTTPServer, list[Shop]]]:
    shops: list[Shop] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body, headers = shops[-1].answer(self.path, dict(self.headers))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if shops[-1].length is not None:
                self.send_header("Content-Length", str(shops[-1].length))
            self.end_headers()
            self.wfile.write(body.encode(UTF8))

        def log_message(self, *_: Any) -> None:
            """Nothing is told."""

    found = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield found, shops
    found.shutdown()
    found.server_close()


def opened_shop(server: tuple[ThreadingHTTPServer, list[Shop]], **given: Any) -> Shop:
    found = Shop(port=server[0].server_address[1], **given)
    server[1].append(found)
    return found


@pytest.fixture
def shop(server: tuple[ThreadingHTTPServer, list[Shop]]) -> Shop:
    return opened_shop(server)


def text(url: str, columns: str = "id INT, s STRING", **said: str) -> str:
    words = {"connector": "http", "url": url, "every": "0 seconds", **said}
    return (
        f"CREATE TABLE t ({columns}) WITH ({', '.join(f''''{name}' = '{value}' ''' for name, value in words.items())});"
    )


def source_of(statement: str) -> Any:
    readers = lambda table, lenient: RowReader(table, NO_DEFAULTS, lenient=lenient)  # noqa: E731
    return api.open_source(declared(statement), readers, None)


def ids(batch: Any) -> list[Any] | None:
    return None if batch is None else batch.rows.column(0).to_pylist()


def rows(*numbers: float) -> list[dict[str, Any]]:
    return [{"id": number, "s": f"no {number}"} for number in numbers]


@pytest.mark.parametrize("inclusive", [False, True])
def test_it_is_asked_for_what_is_above_the_last_value(shop, inclusive):
    shop.rows, shop.page, shop.inclusive = rows(3, 1, 2, 4, 5), 3, inclusive
    shop.rows.sort(key=lambda row: row["id"])
    source = source_of(text(shop.url))
    seen = []
    for _ in range(4):
        batch = source.read(1000, Rejections())
        seen += ids(batch) or []
        source.commit()
    assert seen == [1, 2, 3, 4, 5]
    assert [path for path, _ in shop.asked][:2] == ["/orders?after=", "/orders?after=3"]
    shop.rows += rows(7)
    assert ids(source.read(1000, Rejections())) == [7]
    taken = source.taken()
    assert taken["read"][0]["from"]["value"] == 5
    assert taken["read"][0]["to"] == {"value": 7, "text": "7"}


def test_what_was_refused_is_asked_for_again(shop):
    shop.rows = rows(1, 2)
    source = source_of(text(shop.url))
    assert ids(source.read(1000, Rejections())) == [1, 2]
    source.rewind()
    assert ids(source.read(1000, Rejections())) == [1, 2]


@pytest.mark.parametrize("page", [1, 2, 100])
def test_what_a_manifest_names_is_read_again(shop, page):
    shop.rows = rows(1, 2, 3, 4)
    source = source_of(text(shop.url))
    source.skip({"read": [{"from": {"value": None}, "to": {"value": 1, "text": "1"}}]})
    assert ids(source.read(1000, Rejections())) == [2, 3, 4]
    taken = json.loads(json.dumps(source.taken()))
    shop.rows += rows(5)
    shop.page = page
    again = source_of(text(shop.url))
    again.seek(taken)
    assert ids(again.read(1000, Rejections())) == [2, 3, 4]
    assert again.taken() == taken
    again.commit()
    assert ids(again.read(1000, Rejections())) == [5]


def test_rows_that_are_gone_cannot_be_read_again(shop):
    source = source_of(text(shop.url))
    source.seek({"read": [{"from": {"value": None}, "to": {"value": 2, "text": "2"}}]})
    with pytest.raises(DataError, match="it has no rows any more up to id 2") as caught:
        source.read(1000, Rejections())
    assert caught.value.code == "SOURCE_REFUSED"


@pytest.mark.parametrize(
    ("kind", "values", "last"),
    [
        ("BIGINT", [9, 10], "10"),
        ("DECIMAL(10, 2)", [9.5, 10.25], "10.25"),
        ("DOUBLE", [9.5, 1e2], "100.0"),
        ("STRING", ["a b", "b&c"], "b%26c"),
        ("TIMESTAMP", ["2026-01-02T00:00:00Z", "2026-01-01T23:30:00-01:00"], "2026-01-01T23%3A30%3A00-01%3A00"),
        ("DATE", ["2026-01-02", "2026-10-01"], "2026-10-01"),
    ],
)
def test_columns_of_every_kind_grow(shop, kind, values, last):
    shop.body = lambda _: json.dumps([{"id": value} for value in values])
    source = source_of(text(shop.url, f"id {kind}"))
    source.read(1000, Rejections())
    source.commit()
    source.read(1000, Rejections())
    assert shop.asked[-1][0] == f"/orders?after={last}"


def test_records_of_csv_have_the_column_in_its_place(shop):
    shop.body = lambda found: "".join(f'"{row["s"]}\n!",{row["id"]}\n' for row in found)
    shop.rows = rows(1, 2)
    source = source_of(text(shop.url, "s STRING, id INT", format="csv"))
    assert source.read(1000, Rejections()).rows.to_pylist() == [{"s": f"no {n}\n!", "id": n} for n in (1, 2)]
    source.commit()
    assert source.read(1000, Rejections()) is None
    assert shop.asked[-1][0].endswith("after=2")


def test_a_row_that_does_not_fit_is_that_row_alone_and_is_told_once(shop):
    shop.body = lambda _: '[{"id": 1}, {"id": "x"}, {"id": 2, "s": [1]}, {"id": 3, "s": "c"}]'
    source = source_of(text(shop.url, unknown_columns="reject"))
    rejections = Rejections(tolerant=True)
    assert 3 in ids(source.read(1000, rejections))
    told = len(rejections.rows)
    assert told >= 1
    source.commit()
    assert source.read(1000, rejections) is None
    assert len(rejections.rows) == told


def test_a_page_without_any_value_stops_the_run(shop):
    shop.body = lambda _: '[{"no": 1}]'
    with pytest.raises(DataError, match="no row of its answer has a value of id") as caught:
        source_of(text(shop.url)).read(1000, Rejections(tolerant=True))
    assert caught.value.code == "SOURCE_REFUSED"


KEYED = "id INT PRIMARY KEY, s STRING"


def test_a_document_is_taken_when_it_has_changed(shop):
    shop.document, shop.said = '[{"id": 1, "s": "a"}, {"id": 2, "s": "b"}]', {"ETag": '"one"'}
    source = source_of(text(shop.document_url, KEYED))
    assert ids(source.read(1000, Rejections())) == [1, 2]
    taken = source.taken()
    source.commit()
    assert source.read(1000, Rejections()) is None
    assert shop.asked[-1][1]["If-None-Match"] == '"one"'
    shop.said = {}
    assert source.read(1000, Rejections()) is None  # the same body under no mark
    shop.document = '[{"id": 1, "s": "c"}]'
    assert ids(source.read(1000, Rejections())) == [1]
    again = source_of(text(shop.document_url, KEYED))
    again.skip(json.loads(json.dumps(taken)))
    assert ids(again.read(1000, Rejections())) == [1]
    with pytest.raises(DataError, match="cannot be asked for a document as it was") as caught:
        again.seek(taken)
    assert caught.value.code == "CANNOT_READ_AGAIN"


def test_a_document_that_cannot_be_read_is_told_once(shop):
    shop.document = '[{"id": 1'
    source = source_of(text(shop.document_url, KEYED))
    rejections = Rejections(tolerant=True)
    assert len(source.read(1000, rejections)) == 0
    source.commit()
    assert source.read(1000, rejections) is None
    ((message, metadata),) = [(item.message, item.metadata) for item in rejections.rows]
    assert message == "Bad file"
    assert json.loads(metadata)["place"] == shop.document_url
    source.known = ""
    with pytest.raises(DataError, match="has an answer that cannot be read"):
        source.read(1000, Rejections())


@pytest.mark.parametrize("status", [408, 425, 429, 500, 503])
def test_it_is_asked_again_while_it_is_away_and_then_the_run_stops(shop, status):
    shop.status, shop.said = status, {"Retry-After": "7"}
    clock = [0.0]
    source = source_of(text(shop.url, timeout="20 seconds"))
    source.now = lambda: clock[0]
    assert source.read(1000, Rejections()) is None
    assert str(status) in source.trouble()
    assert source.read(1000, Rejections(), ended=True) is None
    assert len(shop.asked) == 1  # it has said when
    clock[0] = 7.5
    assert source.read(1000, Rejections()) is None
    clock[0] = 21.0
    with pytest.raises(DataError, match="does not answer: ") as caught:
        source.read(1000, Rejections())
    assert caught.value.code == "SOURCE_UNREACHABLE"
    shop.status, shop.rows = 200, rows(1)
    assert ids(source.read(1000, Rejections())) == [1]
    assert source.trouble() == ""


@pytest.mark.parametrize("status", [301, 302, 400, 401, 404])
def test_what_is_no_answer_with_rows_stops_the_run(shop, status, monkeypatch):
    monkeypatch.setenv("SECRET", "moon")
    shop.status, shop.said = status, {"Location": "http://127.0.0.1:9/other"}
    source = source_of(text(shop.url.replace("orders?", "orders?key=${env:SECRET}&"), **{"header.X": "${env:SECRET}"}))
    with pytest.raises(DataError, match=f"127.0.0.1:{shop.port}/orders refuses: {status}") as caught:
        source.read(1000, Rejections())
    assert "moon" not in str(caught.value)
    assert len(shop.asked) == 1
    path, headers = shop.asked[0]
    assert "key=moon" in path
    assert headers["X"] == "moon"
    assert "moon" not in json.dumps(source.describe())


def test_an_answer_that_is_too_large_is_refused(shop):
    shop.rows = rows(*range(100))
    with pytest.raises(DataError, match="more than 1000 bytes"):
        source_of(text(shop.url, max_bytes="1000")).read(1000, Rejections())


def test_nobody_listens():
    source = source_of(text("http://127.0.0.1:1/orders?after={id}", timeout="0 seconds"))
    with pytest.raises(DataError, match="does not answer") as caught:
        source.read(1000, Rejections())
    assert caught.value.code == "SOURCE_UNREACHABLE"


@pytest.mark.parametrize(
    ("statement", "code", "said"),
    [
        ("CREATE TABLE t (id INT) WITH ('connector' = 'http')", "MISSING_PROPERTY", "either 'listen' or 'url'"),
        (text("http://h/{id}", listen="127.0.0.1:0"), "MISSING_PROPERTY", "either 'listen' or 'url'"),
        (text("ftp://h/{id}"), "BAD_PROPERTY", "no address of http or https"),
        (text("http://h/{ib}"), "UNKNOWN_COLUMN", "'ib', which is no column"),
        (text("http://h/{id}/{s}"), "UNKNOWN_COLUMN", "more than id"),
        (text("http://h/"), "NO_PRIMARY_KEY", "all would come again"),
        (text("http://h/{id}", "id BOOLEAN"), "BAD_PROPERTY", "does not grow"),
        (text("http://h/{id}", "id STRING", format="raw"), "BAD_PROPERTY", "not found in the format raw"),
        (text("http://h/{id}", token="x"), "BAD_PROPERTY", "'token' is for rows that are pushed"),  # noqa: S106 - none
        (
            "CREATE TABLE t (id INT) WITH ('connector' = 'http', 'listen' = '127.0.0.1:0', 'every' = '1 second')",
            "BAD_PROPERTY",
            "'every' is for rows that are asked for",
        ),
    ],
)
def test_what_is_refused_before_the_start(statement, code, said):
    with pytest.raises(SqlError, match=said) as caught:
        source_of(statement)
    assert caught.value.code == code


@examples(5, 20)
@given(
    batches=st.lists(st.lists(st.integers(0, 30), max_size=5), max_size=5),
    page=st.integers(1, 4),
    inclusive=st.booleans(),
)
def test_each_row_comes_once_whatever_the_pages_and_restarts(server, tmp_path_factory, batches, page, inclusive):
    shop = opened_shop(server, page=page + inclusive, inclusive=inclusive)  # with room for the last one again
    folder: Path = tmp_path_factory.mktemp("dir")
    program = text(shop.url) + "CREATE MATERIALIZED VIEW n AS SELECT id, COUNT(*) AS n FROM t GROUP BY id;"
    last = 0
    for more in batches:
        for number in more:
            last += 1 + number
            shop.rows.append({"id": last, "s": "x"})
        with penstock.Pipeline(program, directory=folder / "dir", engine="native") as pipeline:
            pipeline.run(once=True)
            assert sorted(pipeline.content("n").rows) == [(row["id"], 1) for row in shop.rows]


def test_an_answer_that_ends_in_the_middle_is_no_answer(shop):
    shop.body = lambda _: "1,100\n2,25"
    shop.length = 14
    source = source_of(text(shop.url, "id INT, n INT", format="csv"))
    assert source.read(1000, Rejections()) is None
    assert "ends after 10 of 14 bytes" in source.trouble()
    assert source.is_awaited


def test_values_compare_in_full_whatever_the_column_keeps_of_them(shop):
    texts = [f"2026-01-01T00:00:00.123456{last}Z" for last in range(1, 6)]
    said = [{"id": value, "s": str(at)} for at, value in enumerate(texts)]
    shop.document = "[]"

    def page(_):
        after = parse_qs(urlsplit(shop.asked[-1][0]).query).get("after", [""])[0]
        return json.dumps([row for row in said if row["id"] > after][:2])

    shop.body = page
    shop.answer = lambda path, headers: (shop.asked.append((path, headers)), (200, page(None), {}))[1]
    source = source_of(text(shop.url, "id TIMESTAMP, s STRING"))
    seen = []
    while (batch := source.read(1000, Rejections())) is not None:
        seen += batch.rows.column(1).to_pylist()
        source.commit()
    assert seen == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("odd", ['{"id": 1, "x": 1e9999999999999999999}', '{"id": NaN}', "[[[1]]]", "7", "null"])
def test_odd_values_are_those_of_one_row(shop, odd):
    shop.body = lambda _: f'[{odd}, {{"id": 2}}]'
    source = source_of(text(shop.url, "id DOUBLE, s STRING"))
    rejections = Rejections(tolerant=True)
    assert 2.0 in ids(source.read(1000, rejections))
    source.commit()
    assert source.at.text == "2"
    assert len(rejections.rows) == 1


def test_rows_without_a_value_are_told_once_and_not_taken(shop):
    shop.page, shop.rows = 2, rows(1, 2, 3, 4, 5)
    shop.body = lambda found: json.dumps([{"id": None, "s": "x"}, *found])
    source = source_of(text(shop.url))
    rejections = Rejections(tolerant=True)
    seen = []
    for _ in range(3):
        seen += ids(source.read(1000, rejections))
        source.commit()
    assert seen == [1, 2, 3, 4, 5]
    assert len(rejections.rows) == 1
    with pytest.raises(DataError, match="a row without a value of id"):
        source_of(text(shop.url)).read(1000, Rejections())


def test_a_null_of_csv_is_no_value(shop):
    shop.body = lambda _: "NULL,1\n2026-01,2\n"
    source = source_of(text(shop.url, "id STRING, n INT", format="csv", null_text="NULL"))
    assert ids(source.read(1000, Rejections(tolerant=True))) == ["2026-01"]


def test_envelopes_say_the_value_within(shop):
    shop.body = lambda _: '{"insert": {"id": 1}, "v": 0}\n{"delete": {"id": 2}}'
    source = source_of(text(shop.url, KEYED))
    assert source.read(1000, Rejections()).operations == ("+", "-")
    source.commit()
    assert source.read(1000, Rejections()) is None


def test_no_secret_is_in_an_error(shop, monkeypatch):
    monkeypatch.setenv("KEY", "moon-key\n'\\")
    for said in ({"header.Authorization": "Bearer ${env:KEY}"}, {}):
        url = shop.url if said else shop.url.replace("orders?", "orders?key=${env:KEY}&")
        with pytest.raises(DataError, match="refuses") as caught:
            source_of(text(url, **said)).read(1000, Rejections())
        assert "moon" not in str(caught.value)
    monkeypatch.setenv("KEY", "a{b}c")
    source_of(text(shop.url.replace("orders?", "orders?key=${env:KEY}&"))).read(1000, Rejections())
    assert "key=a{b}c&after=" in shop.asked[-1][0]


def test_an_address_of_a_file_is_none(monkeypatch):
    monkeypatch.setenv("U", "file:///etc/hostname?{id}")
    with pytest.raises(DataError, match="no address of http"):
        source_of(text("${env:U}", "a STRING", format="raw")).read(1000, Rejections())


def test_a_bounded_run_waits_for_what_is_away_and_reads_a_document_once(server):
    shop = opened_shop(server, page=2, rows=rows(1, 2, 3, 4, 5))
    failing = iter([200, 503, 200, 200, 200])
    answer = shop.answer

    def sometimes(path, headers):
        shop.status = next(failing, 200)
        return answer(path, headers)

    shop.answer = sometimes
    views = "CREATE MATERIALIZED VIEW n AS SELECT COUNT(*) AS n FROM t;"
    with penstock.Pipeline(text(shop.url) + views, engine="native") as pipeline:
        pipeline.run(once=True)
        assert pipeline.content("n").rows == [(5,)]
    changing = opened_shop(server)
    numbers = iter(range(1000))
    changing.answer = lambda path, headers: (
        changing.asked.append((path, headers)),
        (200, json.dumps([{"id": 1, "s": str(next(numbers))}]), {}),
    )[1]
    program = text(changing.document_url, KEYED, every="1 hour") + views
    with penstock.Pipeline(program, engine="native") as pipeline:
        pipeline.run(once=True)
    assert len(changing.asked) == 1


def test_what_comes_before_is_not_left_while_it_is_away(server, tmp_path):
    shop = opened_shop(server, page=2, rows=rows(1, 2, 3))
    failing, answer = iter([200, 503, 200, 200]), shop.answer

    def sometimes(path, headers):
        shop.status = next(failing, 200)
        return answer(path, headers)

    shop.answer = sometimes
    (tmp_path / "now.json").write_text('{"id": 100}\n')
    past = f"'start_after' = 'http', 'start_after.url' = '{shop.url}'"
    program = f"""CREATE TABLE t (id INT, s STRING) WITH (
        'connector' = 'files', 'path' = '{tmp_path}', 'format' = 'json', {past});
        CREATE MATERIALIZED VIEW n AS SELECT id FROM t;"""
    with penstock.Pipeline(program, engine="native") as pipeline:
        pipeline.run(once=True)
        assert sorted(pipeline.content("n").rows) == [(1,), (2,), (3,), (100,)]
