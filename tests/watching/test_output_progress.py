"""How far outputs are, as Prometheus is told: rows taken, steps that wait, and for how long; none of it needs a JVM."""

import os
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from prometheus_client.parser import text_string_to_metric_families

import penstock

T = "CREATE TABLE t (k STRING, v INT);"
SUMS = "SELECT k, SUM(v) AS s FROM t GROUP BY k"


class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.set()
        self.server.may_answer.wait(60)
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def hooks():
    """A function that makes a receiver at work, which can be told to hang or to refuse."""
    made = []

    def make():
        found = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
        found.status, found.asked, found.may_answer = 200, threading.Event(), threading.Event()
        found.may_answer.set()
        threading.Thread(target=found.serve_forever, daemon=True).start()
        made.append(found)
        return found

    yield make
    for found in made:
        found.may_answer.set()
        found.shutdown()
        found.server_close()


def view(name, hook, **said):
    words = "".join(f", '{key}' = '{value}'" for key, value in said.items())
    url = f"http://127.0.0.1:{hook.server_address[1]}/hook"
    return f" CREATE VIEW {name} WITH ('connector' = 'http', 'url' = '{url}'{words}) AS {SUMS};"


def of_outputs(endpoint):
    """The figures of outputs: each by its name without what all have in front, and by its output."""
    with urllib.request.urlopen(f"http://127.0.0.1:{endpoint.port}/metrics") as answer:
        families = list(text_string_to_metric_families(answer.read().decode()))
    samples = [item for family in families for item in family.samples if "output" in item.labels]
    return {(item.name.removeprefix("penstock_output_"), item.labels["output"]): item.value for item in samples}


def test_rows_are_counted_once_they_are_taken(hooks):
    with penstock.Pipeline(T + view("sums", hooks()), engine="native") as pipeline:
        endpoint = pipeline.serve_metrics(0)
        assert of_outputs(endpoint) == {}
        pipeline.step({"t": [("a", 1), ("b", 2)]})
        pipeline.step({"t": [("a", 3)]})
        found = of_outputs(endpoint)
        assert found[("rows_total", "sums")] == 2 + 2
        assert found[("waiting_steps", "sums")] == found[("delay_seconds", "sums")] == 0


def test_a_receiver_that_hangs_is_seen_while_it_does(hooks):
    hook = hooks()
    hook.may_answer.clear()
    with penstock.Pipeline(T + view("sums", hook), engine="native") as pipeline:
        endpoint = pipeline.serve_metrics(0)
        step = threading.Thread(target=lambda: pipeline.step({"t": [("a", 1)]}))
        step.start()
        assert hook.asked.wait(60)
        first = of_outputs(endpoint)
        assert (first[("rows_total", "sums")], first[("waiting_steps", "sums")]) == (0, 1)
        time.sleep(0.01)
        assert of_outputs(endpoint)[("delay_seconds", "sums")] > first[("delay_seconds", "sums")] > 0
        hook.may_answer.set()
        step.join(60)
        last = of_outputs(endpoint)
        assert [last[(name, "sums")] for name in ("rows_total", "waiting_steps", "delay_seconds")] == [1, 0, 0]


def test_the_delay_is_that_of_the_output_whose_receiver_is_away(hooks):
    well, away = hooks(), hooks()
    away.status = 503
    source = T + view("well", well) + view("away", away, on_output_error="continue")
    with penstock.Pipeline(source, engine="native") as pipeline:
        endpoint = pipeline.serve_metrics(0)
        pipeline.step({"t": [("a", 1)]})
        pipeline.step({"t": [("b", 1)]})
        found = of_outputs(endpoint)
        assert [found[("waiting_steps", name)] for name in ("well", "away")] == [0, 2]
        assert [found[("rows_total", name)] for name in ("well", "away")] == [2, 0]
        assert found[("delay_seconds", "well")] == 0 < found[("delay_seconds", "away")]
        assert found[("failures_total", "away")] == 1


def test_a_step_of_an_earlier_process_has_waited_since_it_happened(hooks, tmp_path):
    hook = hooks()
    hook.status = 503
    source = T + view("sums", hook, on_output_error="continue")
    with penstock.Pipeline(source, engine="native", directory=tmp_path) as pipeline:
        pipeline.step({"t": [("a", 1)]})
    (kept,) = (tmp_path / "outbox").glob("*/*.arrow")
    an_hour_ago = time.time() - 3600
    os.utime(kept, (an_hour_ago, an_hour_ago))
    with penstock.Pipeline(source, engine="native", directory=tmp_path) as pipeline:
        pipeline.steps  # noqa: B018 - it is opened
        (progress,) = pipeline.output_progress()
        assert (progress.output, progress.rows, progress.waiting) == ("sums", 0, 1)
        assert progress.since == pytest.approx(an_hour_ago)
        endpoint = pipeline.serve_metrics(0)
        assert of_outputs(endpoint)[("delay_seconds", "sums")] >= 3600
        hook.status = 200
        for _ in range(100):
            pipeline.step({"t": [("b", 1)]})
            if not of_outputs(endpoint)[("waiting_steps", "sums")]:
                break
            time.sleep(0.1)
        assert of_outputs(endpoint)[("delay_seconds", "sums")] == 0


def test_outputs_that_are_given_by_the_caller_count_too():
    class Kept:
        def __init__(self, name):
            self.name, self.fails = name, False

        def write(self, _changes):
            if self.fails:
                raise OSError(self.name)

        def close(self): ...

        def describe(self):
            return self.name

    with penstock.Pipeline(f"{T} CREATE VIEW sums AS {SUMS};", engine="native") as pipeline:
        one, other = Kept("one"), Kept("other")
        endpoint = pipeline.serve_metrics(0)
        pipeline.give([one, other], pipeline.step({"t": [("a", 1), ("b", 1)]}))
        other.fails = True
        with pytest.raises(OSError, match="other"):
            pipeline.give([one, other], pipeline.step({"t": [("a", 1)]}))
        found = of_outputs(endpoint)
        assert [found[("rows_total", name)] for name in ("one", "other")] == [4, 2]
        assert [found[("waiting_steps", name)] for name in ("one", "other")] == [0, 1]
        assert found[("delay_seconds", "one")] == 0 < found[("delay_seconds", "other")]
