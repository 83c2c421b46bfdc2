"""What is seen of a pipeline from outside: figures, health, lines of JSON, spans; none of it needs a JVM."""

import json
import os
import sys
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families

import penstock
from penstock.cli.attach.client import Attached
from penstock.cli.attach.server import attachable
from penstock.cli.interpreter import Results
from penstock.cli.main import main
from penstock.errors import DataError, UnsupportedError
from penstock.pipeline.run import RunOptions
from penstock.steps.events import OutputsDone, StepDone
from penstock.steps.phases import PHASES, seconds_by_phase
from penstock.watching.traces import Exported, StepTraces

PROGRAM = """
CREATE TABLE orders (customer STRING, amount BIGINT, at TIMESTAMP LATENESS INTERVAL 1 HOUR, n INT LATENESS 10);
CREATE MATERIALIZED VIEW totals AS SELECT customer, COUNT(*) AS n, SUM(amount) AS s FROM orders GROUP BY customer;
"""
AT = datetime(2026, 1, 1, 12)  # noqa: DTZ001 - UTC, as all times


def rows(*times):
    return [("ann", 5, datetime.fromisoformat(f"2026-01-01 {at}"), 100) for at in times]


def opened(**given):
    return penstock.Pipeline(PROGRAM, engine="native", **given)


def fetched(endpoint, path):
    """The status and text of a page."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{endpoint.port}{path}") as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def figures(endpoint):
    """Each sample of /metrics, by its name and labels in alphabetical order."""
    _, text = fetched(endpoint, "/metrics")
    families = text_string_to_metric_families(text)
    return {(item.name, *sorted(item.labels.values())): item.value for family in families for item in family.samples}


class Refusing:
    """An output that takes nothing until it is told to."""

    def __init__(self, pipeline, endpoint):
        self.refuses, self.seen = True, {}
        self._pipeline, self._endpoint = pipeline, endpoint

    def write(self, _):
        if self.refuses and self.seen:
            self.seen["figures"] = figures(self._endpoint)
            self.seen["ready"] = fetched(self._endpoint, "/ready")
            self.refuses = False
        elif self.refuses:
            self.seen["starting"] = fetched(self._endpoint, "/ready")
            message = "the receiver is away"
            raise OSError(message)
        else:
            self.seen["well"] = fetched(self._endpoint, "/health")
            self._pipeline.stop()

    def close(self):
        pass

    def describe(self):
        return "receiver"


def test_the_figures_are_those_of_the_steps():
    with opened() as pipeline:
        endpoint = pipeline.serve_metrics(0)
        assert figures(endpoint)[("penstock_steps_total",)] == 0
        pipeline.step({"orders": rows("12:00", "11:30")}, clock=AT)
        pipeline.step({"orders": [*rows("10:59", "12:30"), ("bob", 1, None, 5)]}, clock=AT)
        found = figures(endpoint)
        assert found[("penstock_steps_total",)] == found[("penstock_step",)] == 2
        assert found[("penstock_step_duration_seconds_count",)] == 2
        for phase in ("intake", "engine", "emit", "log", "commit"):
            assert found[("penstock_step_phase_duration_seconds_count", phase)] == 2
        assert found[("penstock_input_rows_total", "orders")] == 5
        assert found[("penstock_input_bytes_total", "orders")] > 0
        assert found[("penstock_view_rows_total", "totals")] == 1 + 2
        assert found[("penstock_late_rows_total", "orders")] == 2
        assert found[("penstock_rejected_rows_total", "Late value", "orders")] == 2
        assert found[("penstock_waterline_delay_seconds", "at", "orders")] == 1800
        assert (
            found[("penstock_waterline_timestamp_seconds", "at", "orders")] == AT.replace(tzinfo=UTC).timestamp() - 1800
        )
        assert found[("penstock_waterline_value", "n", "orders")] == 90
        assert found[("penstock_state_rows", "Aggregate", "totals")] == 1
        assert found[("penstock_pipeline_state", "stopped")] == 1
        assert not [key for key in found if key[0].startswith("penstock_output_")]
        assert found[("process_resident_memory_bytes",)] > 0


def test_a_step_that_is_refused_leaves_no_figures():
    events = []
    with opened(on_event=events.append) as pipeline:
        endpoint = pipeline.serve_metrics(0)
        with pytest.raises(DataError):
            pipeline.step({"orders": [("ann", "five", None, 1)]})
        assert figures(endpoint)[("penstock_steps_total",)] == 0
        pipeline.step({"orders": rows("12:00")})
        (event,) = events
        names = [phase.name for phase in event.phases]
        assert names == ["merge", "intake", "engine", "emit", "log", "commit"]
        assert list(seconds_by_phase(event.phases)) == [name for name in PHASES if name in names]
        assert 0 < sum(phase.seconds for phase in event.phases) <= event.seconds


def test_health_and_readiness_follow_the_run_and_its_outputs(tmp_path):
    (tmp_path / "1.json").write_text('{"id": 1}\n')
    source = f"""CREATE TABLE t (id INT) WITH ('connector' = 'files', 'path' = '{tmp_path}', 'format' = 'json');
    CREATE VIEW n AS SELECT COUNT(*) AS n FROM t;"""
    events = []
    with penstock.Pipeline(source, engine="native", on_event=events.append) as pipeline:
        endpoint = pipeline.serve_metrics(0)
        assert fetched(endpoint, "/health")[0] == 200
        status, text = fetched(endpoint, "/ready")
        assert (status, json.loads(text)["reason"]) == (503, "it does not follow its sources (yet)")
        receiver = Refusing(pipeline, endpoint)
        retrying = RunOptions(on_output_error="retry", retry_seconds=0.0, most_steps=2, poll_seconds=0.01)
        put_later = iter([None])

        class Next:
            def write(self, _):
                if next(put_later, "done") is None:
                    (tmp_path / "2.json").write_text('{"id": 2}\n')
                    os.utime(tmp_path / "2.json", (time.time() + 5, time.time() + 5))
                    (tmp_path / "3.json").write_text('{"id": 3}\n')
                    os.utime(tmp_path / "3.json", (time.time() + 9, time.time() + 9))

            def close(self): ...

            def describe(self):
                return "next"

        pipeline.run(outputs=[Next(), receiver], options=retrying)
        assert receiver.seen["starting"][0] == 200
        assert receiver.seen["ready"][0] == 503
        assert json.loads(receiver.seen["ready"][1])["reason"] == "outputs have 1 steps to take"
        assert receiver.seen["figures"][("penstock_output_failures_total", "receiver")] == 1
        assert receiver.seen["figures"][("penstock_output_waiting_steps", "receiver")] == 1
        assert receiver.seen["figures"][("penstock_output_delay_seconds", "receiver")] > 0
        assert receiver.seen["figures"][("penstock_output_waiting_steps", "next")] == 0
        assert receiver.seen["figures"][("penstock_output_delay_seconds", "next")] == 0
        found = figures(endpoint)
        assert found[("penstock_output_waiting_steps", "receiver")] == 0
        assert found[("penstock_output_rows_total", "receiver")] == found[("penstock_output_rows_total", "next")] == 3
        assert receiver.seen["well"][0] == 200
        done = [event for event in events if isinstance(event, OutputsDone)]
        assert [event.waiting for event in done] == [1, 0, 0]
        assert "read" in seconds_by_phase(next(event for event in events if isinstance(event, StepDone)).phases)
        assert fetched(endpoint, "/nothing")[0] == 404
        assert fetched(endpoint, "/ready")[0] == 503


def test_a_run_that_has_failed_does_not_live(tmp_path):
    (tmp_path / "1.json").write_text('{"id": 1}\n{"id": "x"}\n')
    source = f"CREATE TABLE t (id INT) WITH ('connector' = 'files', 'path' = '{tmp_path}', 'format' = 'json');"
    with penstock.Pipeline(source, engine="native") as pipeline:
        endpoint = pipeline.serve_metrics(0)
        with pytest.raises(DataError):
            pipeline.run(once=True, options=RunOptions(on_error="fail"))
        status, text = fetched(endpoint, "/health")
        assert (status, json.loads(text)["state"]) == (503, "failed")
        assert "1.json" in json.loads(text)["error"]
        assert figures(endpoint)[("penstock_pipeline_state", "failed")] == 1
        with pytest.raises(DataError) as error:
            pipeline.serve_metrics(endpoint.port)
        assert error.value.code == "CANNOT_LISTEN"
    with pytest.raises(urllib.error.URLError):
        fetched(endpoint, "/health")


def test_a_package_that_is_missing_is_said(monkeypatch):
    for name in ("prometheus_client", "opentelemetry", "opentelemetry.sdk"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr("penstock.watching.extras.find_spec", lambda _: None)
    with opened() as pipeline, pytest.raises(UnsupportedError) as error:
        pipeline.serve_metrics(0)
    assert (error.value.code, error.value.diagnostics[0].hint) == ("MISSING_PACKAGE", "pip install 'penstock[metrics]'")


def test_a_step_is_a_span_with_one_for_each_phase():
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    with opened(on_event=StepTraces(provider.get_tracer("test"))) as pipeline:
        pipeline.step({"orders": rows("12:00")}, clock=AT)
    *parts, step = kept.get_finished_spans()
    assert [part.name for part in parts] == ["merge", "intake", "engine", "emit", "log", "commit"]
    assert {part.parent.span_id for part in parts} == {step.context.span_id}
    assert step.start_time <= parts[0].start_time
    assert parts[-1].end_time <= step.end_time
    assert (step.attributes["penstock.step"], step.attributes["penstock.rows.received"]) == (1, 1)
    with pytest.raises(UnsupportedError) as error:
        Exported("consol")
    assert (error.value.code, error.value.diagnostics[0].candidates) == ("UNKNOWN_EXPORTER", ("console",))


def ran(arguments, capfd):
    """The exit code, stdout and stderr of a command."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    out, err = capfd.readouterr()
    return ended.value.code, out, err


def test_a_run_says_everything_in_lines_of_json(tmp_path, capfd):
    lines = ['{"id": 1, "t": 100}', "broken", '{"id": 2, "t": 90}']
    (tmp_path / "1.json").write_text("\n".join(lines) + "\n")
    source = f"""CREATE TABLE t (id INT, t BIGINT LATENESS 5)
      WITH ('connector' = 'files', 'path' = '{tmp_path}', 'format' = 'json');
    CREATE VIEW n AS SELECT COUNT(*) AS n FROM t;"""
    given = ["run", "-e", source, "--once", "--engine", "native", "--log-format", "json", "--metrics-port", "0"]
    code, out, err = ran([*given, "--format", "json", "--tracing", "console"], capfd)
    assert code == 0
    assert all(json.loads(line)["view"] == "n" for line in out.splitlines())
    log, spans = err.split('{\n    "name"', 1)
    assert '"step"' in spans
    found = [json.loads(line) for line in log.splitlines()]
    assert [item["event"] for item in found] == ["note", "started", "step", "note", "note", "finished"]
    step = found[2]
    assert (step["step"], step["received"], step["rejected"], step["late"]) == (1, {"t": 2}, {"t": 1}, {})
    assert step["waterlines"] == {"t.t": 95}
    assert step["phases"].keys() >= {"read", "intake", "engine", "emit", "log", "commit"}
    assert found[3]["level"] == "warning"


def test_what_ends_a_run_is_a_line_of_json_too(capfd):
    code, _, err = ran(["run", "-e", "CREATE VIEW v AS SELECT x FROM nowhere;", "--log-format", "json"], capfd)
    (line,) = err.splitlines()
    assert code == 1
    assert (json.loads(line)["level"], json.loads(line)["code"]) == ("error", "UNKNOWN_RELATION")


def test_show_pipeline_is_answered_to_who_attaches_without_a_jvm(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("penstock.pipeline.opening.running_session", lambda: None)  # that of other tests
    with opened(directory=tmp_path) as pipeline:
        pipeline.step({"orders": rows("12:00")}, clock=AT)
        with attachable(pipeline, str(tmp_path)):
            Attached(tmp_path, Results(style="json")).run_text("SHOW PIPELINE;")
        found = {item["what"]: item["is"] for item in map(json.loads, capsys.readouterr().out.splitlines())}
        assert (found["state"], found["step"], found["clock"]) == ("stopped", 1, "2026-01-01 12:00:00")
        assert found["memory of the process"].endswith(" MB")
        assert not pipeline.has_spark
        facts = pipeline.facts()
        assert facts.memory > 10_000_000
        assert facts.state_bytes > 0


def test_every_figure_is_in_the_page_for_operators(repository):
    page = (repository / "docs" / "reference" / "operating.md").read_text(encoding="utf-8")
    with opened() as pipeline:
        endpoint = pipeline.serve_metrics(0)
        pipeline.step({"orders": rows("12:00")}, clock=AT)
        _, text = fetched(endpoint, "/metrics")
    names = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE penstock_")}
    names = {name for name in names if not name.endswith("_created")}
    assert len(names) > 20
    assert [name for name in sorted(names) if name not in page] == []
    assert [name for name in PHASES if f"| `{name}` |" not in page] == []
