"""A program that wants no Spark is refused for what a step would need it for, before it starts, and without a JVM."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import penstock
from penstock.analysis.derived import Derived, SourceColumn
from penstock.bind.program.compile import compile_program
from penstock.cli.main import main
from penstock.engine.placing import check_native_lines
from penstock.errors import Diagnostic, UnsupportedError
from penstock.plan.scalar import parsed, scalar_of

VIEW = "CREATE VIEW v AS SELECT count(*) AS n FROM t;"
BEFORE = "'start_after' = 'spark', 'start_after.format' = 'orc'"
INTO = "CREATE MATERIALIZED VIEW m INTO w AS"
FIVE = "INTERVAL 5 SECONDS"
# Programs, the part that is named, and what it needs Spark for.
REFUSED = (
    (f"CREATE TABLE t (id INT, u STRING DEFAULT uuid()); {VIEW}", "u STRING DEFAULT uuid()", "uuid()"),
    (
        f"CREATE TABLE t (id INT, u BIGINT DEFAULT xxhash64('a')); {VIEW}",
        "u BIGINT DEFAULT xxhash64('a')",
        "xxhash64(string), of the default of u",
    ),
    (
        f"CREATE TABLE t (s STRING, at AS timestamp_seconds(xxhash64(s)), WATERMARK FOR at AS at - {FIVE}); {VIEW}",
        "at AS timestamp_seconds",
        "xxhash64(string), of the computed column at",
    ),
    (
        f"CREATE TABLE t (id INT) WITH ('connector' = 'spark', 'format' = 'rate'); {VIEW}",
        "'spark'",
        "the connector 'spark'",
    ),
    (
        f"CREATE TABLE t (id INT) WITH ('connector' = 'files', 'path' = 'nowhere', {BEFORE}); {VIEW}",
        "'spark'",
        "the connector 'spark'",
    ),
    ("CREATE TABLE t (s STRING); CREATE VIEW w AS SELECT xxhash64(s) AS h FROM t;", "xxhash64(s) AS h", "xxhash64"),
    (
        f"CREATE TABLE t (s STRING); CREATE TABLE w (h BIGINT); {INTO} SELECT xxhash64(s) FROM t;",
        "w AS SELECT",
        "xxhash64",
    ),
)
FINE = """
CREATE TABLE t (id INT DEFAULT 7, at TIMESTAMP DEFAULT now(), d DECIMAL(10,2) DEFAULT 0, s STRING DEFAULT 'a' || 'b',
  ts TIMESTAMP LATENESS INTERVAL '5' SECONDS);
CREATE VIEW v AS SELECT date_trunc('HOUR', ts) AS h, count(*) AS n, sum(id) AS s FROM t GROUP BY date_trunc('HOUR', ts);
"""


@pytest.fixture
def nowhere(monkeypatch):
    """A machine without Java."""

    def refuse(*_, **__):
        raise UnsupportedError(Diagnostic("JAVA_NOT_FOUND", "Spark needs Java 17 or newer"))

    monkeypatch.setattr("penstock.pipeline.opening.running_session", lambda: None)
    monkeypatch.setattr("penstock.backends.spark.session.running_session", lambda: None)
    monkeypatch.setattr("penstock.pipeline.opening.open_session", refuse)


def called(*arguments):
    return CliRunner().invoke(main, list(arguments))


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize(("program", "part", "what"), REFUSED)
def test_what_needs_spark_is_refused_before_it_starts(program, part, what):
    with pytest.raises(UnsupportedError) as refused, penstock.Pipeline(program, engine="native") as pipeline:
        pipeline.step({})
    (found,) = refused.value.diagnostics
    assert found.code == "NOT_NATIVE"
    assert what in found.message
    assert program[found.span.start :].startswith(part)


@pytest.mark.parametrize(("program", "part", "what"), REFUSED)
def test_check_and_explain_give_that_verdict(program, part, what):
    result = called("check", "--engine", "native", "--format", "json", "-e", program)
    (found,) = json.loads(result.stdout)["diagnostics"]
    assert (result.exit_code, found["code"]) == (1, "NOT_NATIVE")
    assert what in found["message"]
    assert program[found["span"]["start"] :].startswith(part)
    explained = called("explain", "--engine", "native", "--format", "json", "-e", program)
    assert json.loads(explained.stdout)["refused"] == [found]
    assert "NOT_NATIVE" in called("explain", "--engine", "native", "-e", program).stderr


@pytest.mark.parametrize("program", [program for program, _, _ in REFUSED])
def test_another_engine_refuses_none_of_it(program):
    for engine in ("auto", "spark"):
        assert called("check", "--engine", engine, "-e", program).exit_code == 0
        explained = called("explain", "--engine", engine, "--format", "json", "-e", program)
        assert (explained.exit_code, "refused" in json.loads(explained.stdout)) == (0, False)


@pytest.mark.usefixtures("nowhere")
def test_what_is_proven_starts():
    assert called("check", "-e", f"SET engine = 'native'; {FINE}").exit_code == 0
    assert "NOT_NATIVE" not in called("explain", "--engine", "native", "-e", FINE).stderr
    with penstock.Pipeline(FINE, engine="native") as pipeline:
        pipeline.step(sql="INSERT INTO t (ts) VALUES (TIMESTAMP '2024-01-01 10:10:00')")
        ((_, row),) = pipeline.step(sql="INSERT INTO t (ts) VALUES (TIMESTAMP '2024-01-01 11:10:00')")["v"].rows
        assert row[1:] == (1, 7)


@pytest.mark.parametrize(("text", "refused"), [("`t.ts` - INTERVAL 1 HOUR", False), ("xxhash64(`t.ts`)", True)])
def test_a_waterline_that_is_not_proven_is_refused(text, refused):
    catalog = compile_program(f"SET engine = 'native'; {FINE}").catalog
    line = Derived((scalar_of(parsed(text)),), frozenset([SourceColumn("t", "ts")]))
    if not refused:
        check_native_lines(catalog, {"v": [line]})
        return
    with pytest.raises(UnsupportedError, match=r"view v: the waterline .* needs Spark, for xxhash64"):
        check_native_lines(catalog, {"v": [line]})
