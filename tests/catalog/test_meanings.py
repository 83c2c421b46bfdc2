"""Settings of Spark by which the same SQL means something else: each is judged, and followed or refused."""

from __future__ import annotations

import pytest

import penstock
from penstock.backends.spark.jvm import configured
from penstock.backends.spark.session import RUNTIME_SETTINGS
from penstock.bind.program.compile import compile_program
from penstock.catalog.meanings import REFUSED, SPARK_ALONE, differing, is_judged, meanings, without_meaning
from penstock.catalog.settings import check_conf, spark_settings
from penstock.engine.foreseeing import foreseen
from penstock.errors import SqlError, UnsupportedError
from penstock.explain import explain

PROGRAM = "CREATE TABLE t (a DECIMAL(20, 10)); CREATE VIEW v AS SELECT a / 3 AS b FROM t;"
DECIMALS = "spark.sql.decimalOperations.allowPrecisionLoss"
FILE = """# what all sessions have
spark.sql.caseSensitive   TRUE
spark.sql.legacy.statisticalAggregate: true
spark.sql.legacy.timeParserPolicy=LEGACY
spark.nothing
"""


@penstock.LaterSession
def no_spark():
    pytest.fail("Spark was asked for")


def of_kind(kind):
    return [item for item in meanings().values() if item.kind == kind]


def another(item):
    """A value that is not assumed."""
    return {"true": "false", "false": "true"}.get(item.assumed, "LEGACY")


def test_each_setting_of_spark_sql_is_judged():
    known = [item.name for item in spark_settings().values() if item.name.startswith("spark.sql.")]
    assert [name for name in known if not is_judged(name)] == []
    exact = {name.lower() for names, _ in without_meaning() for name in names}
    assert not exact & meanings().keys()


def test_what_is_said_of_each_is_a_sentence_about_a_setting_that_there_is():
    for item in meanings().values():
        assert item.name.lower() in spark_settings()
        assert item.kind in (REFUSED, SPARK_ALONE)
        assert item.decides
    assert all(reason for _, reason in without_meaning())


@pytest.mark.parametrize("item", of_kind(REFUSED), ids=lambda item: item.name)
def test_what_would_have_a_program_misread_is_refused(item):
    text = f"SET {item.name} = '{another(item)}'"
    with pytest.raises(UnsupportedError) as refused:
        compile_program(text)
    (found,) = refused.value.diagnostics
    assert found.code == "SPARK_MEANING"
    assert item.name in found.message
    assert text[found.span.start : found.span.end] == f"'{another(item)}'"
    other = {item.name: another(item)}
    ways = [lambda: check_conf(other), lambda: penstock.Pipeline(PROGRAM, conf=other)]
    if item.name not in RUNTIME_SETTINGS:  # those are set in a session that is given
        ways.append(lambda: penstock.Pipeline(PROGRAM, spark=penstock.LaterSession(no_spark, other)))
    for wanted in ways:
        with pytest.raises(UnsupportedError) as refused:
            wanted()
        assert refused.value.code == "SPARK_MEANING"
    if item.assumed:
        compile_program(f"SET {item.name} = '{item.assumed.upper()}'")


@pytest.mark.parametrize("item", of_kind(SPARK_ALONE), ids=lambda item: item.name)
def test_under_another_value_than_is_proven_all_is_on_spark(item):
    program = compile_program(f"SET {item.name} = '{another(item)}'; {PROGRAM}")
    shown = explain(program, None, ("circuit",), placing=foreseen)
    assert f"all on Spark, for {item.name} = '{another(item)}': {item.decides}" in shown
    if item.assumed:
        program = compile_program(f"SET {item.name} = ' {item.assumed.upper()} '; {PROGRAM}")
        assert "in the process" in explain(program, None, ("circuit",), placing=foreseen)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"conf": {DECIMALS: "false"}},
            f"{DECIMALS} = 'false': the type of decimal arithmetic; proofs are for 'true' alone",
        ),
        ({"spark": penstock.LaterSession(no_spark, {DECIMALS: "FALSE"})}, f"{DECIMALS} = 'FALSE': the type of decimal"),
        ({"conf": {"spark.sql.ours.own": "1"}}, "spark.sql.ours.own = '1': nothing is known of what it decides"),
    ],
)
def test_under_a_session_that_will_have_another_value_all_works_there(options, said, monkeypatch):
    monkeypatch.setattr("penstock.pipeline.opening.running_session", lambda: None)
    assert f"all on Spark, for {said}" in penstock.Pipeline(PROGRAM, **options).explain("v", ["circuit"])


def test_the_program_goes_before_the_session(monkeypatch):
    monkeypatch.setattr("penstock.pipeline.opening.running_session", lambda: None)
    pipeline = penstock.Pipeline(f"SET {DECIMALS} = true; {PROGRAM}", conf={DECIMALS: "false"})
    assert "in the process" in pipeline.explain("v", ["circuit"])


@pytest.mark.parametrize("settings", [{}, {DECIMALS: "true"}, {"spark.sql.adaptive.enabled": "true"}, {"a.b": "c"}])
def test_what_decides_nothing_leaves_all_in_its_place(settings, monkeypatch):
    monkeypatch.setattr("penstock.pipeline.opening.running_session", lambda: None)
    assert differing(settings) == {}
    pipeline = penstock.Pipeline(PROGRAM, conf=settings)
    assert "in the process" in pipeline.explain("v", ["circuit"])


def test_native_is_refused_with_the_setting():
    with pytest.raises(UnsupportedError) as refused:
        penstock.Pipeline(PROGRAM, spark=penstock.LaterSession(no_spark, {DECIMALS: "false"}), engine="native").step(
            {"t": [("1",)]}
        )
    assert refused.value.code == "NOT_NATIVE"
    assert f"{DECIMALS} = 'false'" in str(refused.value)


@pytest.mark.parametrize("statement", [f"SET {DECIMALS} = false", "SET spark.sql.ours.own = '1'"])
def test_what_answers_depend_on_does_not_change_under_views(statement):
    with penstock.Pipeline(PROGRAM, spark=no_spark) as pipeline:
        pipeline.step({"t": [("1",)]})
        with pytest.raises(SqlError) as refused:
            pipeline.execute(statement)
        assert refused.value.code == "MEANING_FIXED"
        assert len(pipeline.step({"t": [("2",)]})["v"].rows) == 1


def test_settings_of_files_and_of_the_environment_are_known_before_a_session_is(tmp_path, monkeypatch):
    (tmp_path / "spark-defaults.conf").write_text(FILE)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--master local --conf '{DECIMALS}=false' -c a=b=c pyspark-shell")
    assert configured() == {
        "spark.sql.caseSensitive": "TRUE",
        "spark.sql.legacy.statisticalAggregate": "true",
        "spark.sql.legacy.timeParserPolicy": "LEGACY",
        "spark.nothing": "",
        DECIMALS: "false",
        "a": "b=c",
    }
    monkeypatch.setattr("penstock.pipeline.opening.running_session", lambda: None)
    with pytest.raises(UnsupportedError) as refused:
        penstock.Pipeline(PROGRAM)
    assert refused.value.code == "SPARK_MEANING"
    (tmp_path / "spark-defaults.conf").unlink()
    assert "all on Spark" in penstock.Pipeline(PROGRAM).explain("v", ["circuit"])
