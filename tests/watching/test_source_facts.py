"""The standing of sources: position, what waits, rate, idle time, the last error; and that no secret is in it."""

import json

import pytest

import penstock
from penstock.cli.show import shown
from penstock.errors import DataError
from penstock.pipeline.source_facts import Meter
from penstock.sources.lag import Lag
from penstock.sql.parse import parse
from penstock.steps.events import RunProgress, SourceLag
from penstock.watching.metrics import Metrics


def program(folder, more=""):
    return f"CREATE TABLE t (id INT) WITH ('connector' = 'files', 'path' = '{folder}', 'format' = 'json'{more});"


def asked(pipeline):
    (statement,) = parse("SHOW SOURCES;")
    table = shown(statement, pipeline)
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_a_source_says_how_far_it_is_and_what_it_met(tmp_path):
    (tmp_path / "1.json").write_text('{"id": 1}\n{"id": "x"}\n{"id": 3}\n')
    with penstock.Pipeline(program(tmp_path), engine="native") as pipeline:
        (before,) = asked(pipeline)
        assert (before["state"], before["position"], before["last error"]) == ("not read yet", "", "")
        pipeline.run(once=True)
        (after,) = asked(pipeline)
        assert (after["table"], after["state"], after["rows"], after["bytes waiting"]) == ("t", "idle", 2, 0)
        assert after["position"] == f"{tmp_path / '1.json'}@32"
        assert "Bad row" in after["last error"]
        assert "1.json:2" in after["last error"]
        assert after["idle since"] is not None
        assert pipeline.sources()[0].position[0]["at"]["offset"] == 32


def test_a_source_that_ends_the_run_has_failed(tmp_path):
    (tmp_path / "1.json").write_text('{"id": "x"}\n')
    with penstock.Pipeline(program(tmp_path, ", 'on_error' = 'fail'"), engine="native") as pipeline:
        with pytest.raises(DataError):
            pipeline.run(once=True)
        (found,) = asked(pipeline)
        assert (found["state"], found["rows"]) == ("failed", 0)
        assert "1.json:1" in found["last error"]


class Source:
    """A source that says of its lag and its trouble what it is told to."""

    lag, error, table = Lag(rows=40, streams=2, seconds=3.0), "", None

    def behind(self):
        return self.lag

    def trouble(self):
        return self.error


def test_a_meter_counts_what_steps_take_and_notes_when_it_stops():
    clock = [100.0]
    source = Source()
    meter = Meter(source, now=lambda: clock[0])
    for at in (101.0, 102.0):
        clock[0] = at
        meter.looked(50)
        meter.stepped(50)
    assert meter.measure() == source.lag
    assert (meter.rows, meter.rows_per_second, meter.idle_seconds) == (100, 50.0, 0.0)
    clock[0] = 110.0
    meter.looked(0)
    clock[0] = 112.0
    source.error = "no broker"
    meter.looked(0)
    meter.measure()
    assert (meter.rows_per_second, meter.idle_seconds, meter.error, meter.error_at) == (0.0, 2.0, "no broker", 112.0)


def test_figures_of_a_lag_that_is_known_in_part(tmp_path):
    with penstock.Pipeline(program(tmp_path), engine="native") as pipeline:
        metrics = Metrics(pipeline)
    lags = (SourceLag("t", "t from here", 5, 1), SourceLag("u", "u from there", None, 2, rows=7, seconds=1.5))
    metrics(RunProgress(1, 1, 1.0, 1, 5, 1, 0, lags))
    found = {item.name: item.samples for item in metrics.collect()}
    assert [(item.labels["table"], item.value) for item in found["penstock_source_lag_bytes"]] == [("t", 5.0)]
    assert [(item.labels["table"], item.value) for item in found["penstock_source_lag_rows"]] == [("u", 7.0)]
    assert [item.value for item in found["penstock_source_lag_seconds"]] == [1.5]
    assert len(found["penstock_source_idle_seconds"]) == len(found["penstock_source_rows_per_second"]) == 2


def test_secrets_are_in_no_answer_manifest_or_log(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_TEST_SECRET", "open sesame")
    words = "'connector' = 'kafka', 'topic' = 'a', 'bootstrap.servers' = '127.0.0.1:1', 'timeout' = '0.2 seconds'"
    source = f"CREATE TABLE t (a INT) WITH ({words}, 'properties.sasl.password' = '${{env:PENSTOCK_TEST_SECRET}}');"
    with penstock.Pipeline(source, engine="native", directory=tmp_path / "dir") as pipeline:
        with pytest.raises(DataError) as caught:
            pipeline.run(once=True)
        (found,) = asked(pipeline)
        assert found["state"] == "not read yet"
        (created,) = parse("SHOW CREATE TABLE t;")
        told = json.dumps([str(caught.value), shown(created, pipeline).rows, found], default=str)
        pipeline.step({"t": [(1,)]})
    files = b"".join(path.read_bytes() for path in (tmp_path / "dir").rglob("*") if path.is_file())
    assert "open sesame" not in told
    assert "env:PENSTOCK_TEST_SECRET" in told
    assert b"open sesame" not in files
