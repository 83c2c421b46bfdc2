"""Steps sent to an address: what is in a request, its key, what is sent again and what is refused, no secret told."""

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import penstock
from penstock.errors import DataError, SqlError

T = "SET engine = 'native'; CREATE TABLE t (k STRING, v INT);"
SUMS = "SELECT k, SUM(v) AS s FROM t GROUP BY k"


class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = self.server.answers.pop(0) if self.server.answers else 200
        self.server.got.append((status, self.headers, body))
        self.send_response(status)
        if status == 302:
            self.send_header("Location", self.server.url)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def hook():
    found = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    found.got, found.answers = [], []
    found.url = f"http://127.0.0.1:{found.server_address[1]}/hook"
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield found
    found.shutdown()
    found.server_close()


def view(url, query=SUMS, **said):
    words = "".join(f", '{name}' = '{value}'" for name, value in said.items())
    return f"{T} CREATE VIEW v WITH ('connector' = 'http', 'url' = '{url}'{words}) AS {query};"


def test_a_step_is_one_request_with_its_key(hook, tmp_path):
    with penstock.Pipeline(view(hook.url), directory=tmp_path) as pipeline:
        pipeline.step({"t": [("a", 1), ("b", 2)]})
        pipeline.step({"t": [("-", ("a", 1))]})
        (fact,) = pipeline.outputs()
    bodies = [body for _, _, body in hook.got]
    assert bodies[0]["rows"] == [
        {"op": "upsert", "row": {"k": "a", "s": 1}},
        {"op": "upsert", "row": {"k": "b", "s": 2}},
    ]
    assert bodies[1] == {"output": "v", "step": 2, "rows": [{"op": "delete", "row": {"k": "a"}}]}
    keys = [headers["Idempotency-Key"] for _, headers, _ in hook.got]
    assert len({key.rpartition("/")[0] for key in keys}) == 1
    assert [key.split("/")[-2:] for key in keys] == [["v", "1"], ["v", "2"]]
    assert (fact.form, fact.guarantee.startswith("at least once, because a step is sent again")) == ("upsert", True)


def test_one_that_does_not_take_it_is_asked_again_with_the_same_key(hook):
    hook.answers = [503, 429]
    with penstock.Pipeline(view(hook.url)) as pipeline:
        pipeline.step({"t": [("a", 1)]})
    assert [status for status, _, _ in hook.got] == [503, 429, 200]
    assert len({headers["Idempotency-Key"] for _, headers, _ in hook.got}) == 1


@pytest.mark.parametrize("status", [400, 302, 410])
def test_one_that_refuses_ends_the_run(hook, status):
    hook.answers = [status]
    with penstock.Pipeline(view(hook.url)) as pipeline, pytest.raises(DataError) as caught:
        pipeline.step({"t": [("a", 1)]})
    assert (caught.value.diagnostics[0].code, str(status) in str(caught.value)) == ("OUTPUT_REFUSED", True)
    assert len(hook.got) == 1


def test_secrets_are_sent_and_told_to_nobody(hook, monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_TEST_SECRET", "open sesame")
    said = {"header.Authorization": "Bearer ${env:PENSTOCK_TEST_SECRET}", "timeout": "0.1 seconds"}
    url = hook.url.replace("/hook", "/hook?token=${env:PENSTOCK_TEST_SECRET}")
    with penstock.Pipeline(view(hook.url, **said), directory=tmp_path) as pipeline:
        pipeline.step({"t": [("a", 1)]})
    assert hook.got[0][1]["Authorization"] == "Bearer open sesame"
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"open sesame" not in files
    for wrong, code in ((url, "OUTPUT_REFUSED"), (url.replace("127.0.0.1", "nowhere.invalid"), "OUTPUT_UNREACHABLE")):
        monkeypatch.setenv("PENSTOCK_TEST_SECRET", "open sesame" if code == "OUTPUT_REFUSED" else "open-sesame")
        with penstock.Pipeline(view(wrong, **said)) as pipeline:
            with pytest.raises(DataError) as caught:
                pipeline.step({"t": [("a", 1)]})
            (fact,) = pipeline.outputs()
        told = str(caught.value) + str(fact)
        assert (caught.value.diagnostics[0].code, "sesame" in told) == (code, False)


def test_an_address_of_another_kind_is_refused():
    with pytest.raises(SqlError, match="no address of http"):
        penstock.Pipeline(view("ftp://h/x")).step({})


def test_a_receiver_that_answers_twice_has_taken_one_step():
    """Its second answer is nobody's: neither the step's again, nor that of the next one, which it refuses at first."""
    answers = [b"200 OK", b"503 Busy", b"200 OK"]
    got = []

    def serve(listening):
        for answer in answers:
            connection, _ = listening.accept()
            with connection, connection.makefile("rb") as lines:
                length = 0
                while (line := lines.readline().strip()) != b"":
                    name, _, value = line.partition(b": ")
                    length = int(value) if name.lower() == b"content-length" else length
                got.append((json.loads(lines.read(length))["step"], answer))
                said = b"HTTP/1.1 " + answer + b"\r\nContent-Length: 0\r\n\r\n"
                connection.sendall(said + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,), daemon=True)
        thread.start()
        with penstock.Pipeline(view(f"http://127.0.0.1:{listening.getsockname()[1]}/hook")) as pipeline:
            pipeline.step({"t": [("a", 1)]})
            pipeline.step({"t": [("b", 2)]})
            (fact,) = pipeline.outputs()
        thread.join(10)
    assert got == [(1, answers[0]), (2, answers[1]), (2, answers[2])]
    assert (fact.step, fact.waiting) == (2, 0)
