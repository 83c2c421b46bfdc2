"""Rows that are pushed over HTTP: forms of bodies, answers, keys that come again, bounds, and what is refused."""

import http.client
import json
import threading
import time
from contextlib import contextmanager

import pytest
from tests.steps.tables import declared

import penstock
from penstock.errors import DataError
from penstock.pipeline.run import RunOptions
from penstock.sources.api import check_source
from penstock.sources.formats.cutting import Cutting
from penstock.sources.http.cut import BadBodyError, cut
from penstock.sources.http.requests import REMEMBERED, Waiting

QUICK = RunOptions(poll_seconds=0.01)


def program(more=""):
    return f"""
    CREATE TABLE t (id INT, s STRING) WITH (
      'connector' = 'http', 'listen' = '127.0.0.1:0', 'timeout' = '10 seconds'{more});
    CREATE MATERIALIZED VIEW n AS SELECT COUNT(*) AS n, SUM(id) AS s FROM t;
    """


class Running:
    """A pipeline that runs in a thread, and whoever pushes to it."""

    def __init__(self, pipeline):
        self.pipeline = pipeline
        (self.source,) = pipeline._opened().opened_sources()
        self.thread = threading.Thread(target=pipeline.run, kwargs={"options": QUICK}, daemon=True)

    def push(self, body, path="/t", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.source.server.port, timeout=20)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("POST", path, data, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        found = json.loads(answer.read())
        connection.close()
        return answer.status, found

    @property
    def content(self):
        return self.pipeline.query("SELECT * FROM n").rows


@contextmanager
def running(more="", **given):
    with penstock.Pipeline(program(more), engine="native", **given) as pipeline:
        found = Running(pipeline)
        found.thread.start()
        try:
            yield found
        finally:
            pipeline.stop()
            found.thread.join(20)


def test_a_push_is_answered_with_the_step_that_has_it():
    with running() as found:
        status, first = found.push({"id": 1, "s": "a"})
        assert (status, first["rows"], first["rejected"]) == (200, 1, 0)
        assert found.content == [(1, 1)]
        status, second = found.push([{"id": 2}, {"id": "x"}, {"id": 3}])
        assert (status, second["rows"], second["rejected"]) == (200, 2, 1)
        assert second["step"] > first["step"]
        status, _ = found.push(b'{"id": 4}\n{"id": 5}\r\n\n')
        assert (status, found.content) == (200, [(5, 15)])
        ((place,),) = found.pipeline.query("SELECT metadata FROM error_view").rows
        assert "request/2@1" in place
        assert found.push(b"")[1] == {"rows": 0}


def test_a_key_that_comes_again_is_answered_and_not_taken_again(tmp_path):
    with running(directory=tmp_path) as found:
        _, first = found.push({"id": 7}, Idempotency_Key="k1")
        assert found.push({"id": 7}, Idempotency_Key="k1") == (200, {**first, "repeated": True})
        assert found.push({"id": 1}, Idempotency_Key="k2")[1]["rows"] == 1
        assert found.content == [(2, 8)]
    with running(directory=tmp_path) as found:
        assert found.push({"id": 7}, Idempotency_Key="k1") == (200, {"step": None, "repeated": True})
        assert found.push({"id": 2}, Idempotency_Key="k3")[1]["rows"] == 1
        assert found.content == [(3, 10)]


def test_what_is_no_push_is_refused(monkeypatch):
    monkeypatch.setenv("PENSTOCK_TEST_TOKEN", "open sesame")
    with running(", 'token' = '${env:PENSTOCK_TEST_TOKEN}', 'max_bytes' = '100'") as found:
        right = {"Authorization": "Bearer open sesame"}
        assert found.push({"id": 1})[0] == 401
        assert found.push({"id": 1}, Authorization="Bearer wrong")[0] == 401
        assert found.push({"id": 1}, path="/u", **right)[0] == 404
        assert found.push(b"x" * 101, **right)[0] == 413
        status, said = found.push(b'{"id": 1', **right)
        assert (status, "no JSON" in said["error"]) == (400, True)
        assert found.push({"id": 1}, Idempotency_Key="", **right)[0] == 400
        assert found.push({"id": 1}, **right)[0] == 200
        assert "open sesame" not in str(found.pipeline.sources())


def test_too_much_that_waits_is_sent_away_and_nothing_is_lost():
    with penstock.Pipeline(program(", 'queue_bytes' = '40'"), engine="native") as pipeline:
        found = Running(pipeline)
        answers = []
        pushers = [threading.Thread(target=lambda n=n: answers.append(found.push({"id": n}))) for n in (1, 2, 3, 4)]
        for pusher in pushers:
            pusher.start()
        until = time.monotonic() + 10
        while len(answers) + found.source.waiting()[1] < 4 and time.monotonic() < until:
            time.sleep(0.01)
        lag = found.source.behind()
        assert (lag.rows, lag.streams) == (4, 4)
        assert found.push({"id": 5, "s": "x" * 20}) == (503, {"error": "too much waits for a step: come again"})
        found.thread.start()
        for pusher in pushers:
            pusher.join(20)
        assert [status for status, _ in answers] == [200] * 4
        assert found.content == [(4, 10)]
        pipeline.stop()
        found.thread.join(20)


def test_whoever_waits_when_the_pipeline_ends_is_told():
    answers = []
    with penstock.Pipeline(program(), engine="native") as pipeline:
        found = Running(pipeline)
        pusher = threading.Thread(target=lambda: answers.append(found.push({"id": 1})))
        pusher.start()
        until = time.monotonic() + 10
        while not found.source.waiting()[1] and time.monotonic() < until:
            time.sleep(0.01)
    pusher.join(20)
    ((status, said),) = answers
    assert (status, "the pipeline has ended" in said["error"]) == (503, True)


def test_an_address_is_shared_and_a_path_is_not():
    with penstock.Pipeline(program(), engine="native") as pipeline:
        port = Running(pipeline).source.server.port
        other = f"CREATE TABLE {{}} (a INT) WITH ('connector' = 'http', 'listen' = '127.0.0.1:{port}')"
        with penstock.Pipeline(other.format("u"), engine="native") as second:
            assert Running(second).source.server is pipeline._opened().opened_sources()[0].server
        with penstock.Pipeline(other.format("t"), engine="native") as third, pytest.raises(DataError) as caught:
            third._opened().opened_sources()
        assert caught.value.diagnostics[0].code == "CANNOT_LISTEN"


@pytest.mark.parametrize(
    ("body", "style", "expected"),
    [
        (b' [ {"a": 1} , 2.50 ,"]"]', "json", [b'{"a": 1}', b"2.50", b'"]"']),
        (b"[]", "json", []),
        (b'{"a": 1}{"a": 2}', "json", [b'{"a": 1}', b'{"a": 2}']),
        (b'1,"x\ny"\n\n2,z\xe2\x80\xa8', "csv", [b'1,"x\ny"\n', b"2,z\xe2\x80\xa8"]),
        (b"\x00\xff", "raw", [b"\x00\xff"]),
    ],
    ids=["array", "empty array", "values", "csv", "raw"],
)
def test_bodies_are_cut(body, style, expected):
    assert cut(body, style, Cutting(",", '"') if style == "csv" else None) == expected


@pytest.mark.parametrize("body", [b"[1 2]", b"[1,]", b"[1] 2", b"[", b"\xff", b"[" * 100_000], ids=range(6))
def test_bodies_that_cannot_be_cut(body):
    with pytest.raises(BadBodyError):
        cut(body, "json")


def test_keys_are_forgotten_after_many_steps():
    waiting = Waiting(1000)
    for number in range(REMEMBERED + 1):
        request = waiting.put([b"1"], 1, f"k{number}")
        assert not request.repeated
        waiting.taken([request])
    assert waiting.put([b"1"], 1, "k1").repeated
    assert not waiting.put([b"1"], 1, "k0").repeated


@pytest.mark.parametrize("listen", ["8080", "h:x", "h:70000", ":80"])
def test_an_address_needs_a_host_and_a_port(listen):
    with pytest.raises(penstock.SqlError) as caught:
        check_source(declared(f"CREATE TABLE t (a INT) WITH ('connector' = 'http', 'listen' = '{listen}')"))
    assert caught.value.diagnostics[0].code == "BAD_PROPERTY"


@pytest.mark.parametrize("written", ["${env:PENSTOCK_TEST_TOKEN}", "", "  "])
def test_an_empty_token_is_none(monkeypatch, written):
    monkeypatch.setenv("PENSTOCK_TEST_TOKEN", "")
    program = f"CREATE TABLE e (id INT) WITH ('connector' = 'http', 'listen' = '127.0.0.1:0', 'token' = '{written}')"
    with penstock.Pipeline(program, engine="native") as pipeline:
        with pytest.raises(penstock.DataError) as caught:
            pipeline.run(once=True)
        assert caught.value.code == "EMPTY_TOKEN"
