"""Words that are misspelt: properties and settings are refused with the nearest right one, without Spark."""

from __future__ import annotations

import importlib

import pytest

import penstock
from penstock.bind.program.compile import compile_program
from penstock.catalog.properties import CONNECTORS, OUTPUTS, TABLE, VIEW
from penstock.catalog.settings import SETTINGS, spark_settings
from penstock.errors import SqlError, UnsupportedError
from penstock.outputs import connectors as outputs
from penstock.outputs.declared import COMMON
from penstock.sources import api as sources

FILES = "CREATE TABLE t (a INT) WITH ('connector' = 'files', 'path' = 'in', {})"
WORDS = [
    ("CREATE TABLE t (a INT) WITH ('conector' = 'files')", "'conector'", "connector"),
    (FILES.format("'fromat' = 'csv'"), "'fromat'", "format"),
    ("CREATE TABLE t (a INT) WITH (append_onyl = true)", "append_onyl", "append_only"),
    ("CREATE STREAM t (a INT) SETTINGS event_time_colum = 'a'", "event_time_colum", "event_time_column"),
    ("CREATE TABLE t (a INT) TBLPROPERTIES ('apend_only' = 'true')", "'apend_only'", "append_only"),
    ("CREATE VIEW v WITH ('emit_fnial' = 'a') AS SELECT 1 AS a", "'emit_fnial'", "emit_final"),
    ("SET unbounded_sate = 'reject'", "unbounded_sate", "unbounded_state"),
    ("RESET profil", "profil", "profile"),
    ("SET spark.sql.shufle.partitions = 3", "spark.sql.shufle.partitions", "spark.sql.shuffle.partitions"),
    ("SET shuffle.partitions = 3", "shuffle.partitions", "spark.sql.shuffle.partitions"),
]


def refused(program):
    with pytest.raises(SqlError) as caught:
        compile_program(program)
    return caught.value.diagnostics


@pytest.mark.parametrize(("program", "place", "near"), WORDS)
def test_a_misspelt_word_is_refused_with_the_right_one(program, place, near):
    (found,) = refused(program)
    assert found.code == ("UNKNOWN_SETTING" if "SET " in program[:6] else "UNKNOWN_PROPERTY")
    assert program[found.span.start : found.span.end] == place
    assert found.candidates[0] == near


def test_a_word_that_is_near_nothing_is_refused_with_those_that_there_are():
    (found,) = refused("SET nonsense = 1")
    assert (found.code, found.candidates) == ("UNKNOWN_SETTING", ())
    assert all(item.name in found.hint for item in SETTINGS)


@pytest.mark.parametrize("name", ["spark.master", "spark.driver.memory", "spark.sql.warehouse.dir", "spark.app.name"])
def test_what_spark_reads_at_its_start_cannot_be_set(name):
    (found,) = refused(f"SET {name} = 'x'")
    assert found.code == "STATIC_SETTING"
    assert "--master" in found.hint or "--conf" in found.hint


@pytest.mark.parametrize("program", ["SET spark.sql.ansi.enabled = false", "SET Spark.SQL.Ansi.Enabled = 'no'"])
def test_ansi_mode_cannot_be_switched_off(program):
    with pytest.raises(UnsupportedError) as caught:
        compile_program(program)
    (found,) = caught.value.diagnostics
    value = program.partition(" = ")[2]
    assert (found.code, program[found.span.start : found.span.end]) == ("ANSI_MODE", value)
    assert "try_divide" in found.hint
    compile_program("SET spark.sql.ansi.enabled = TRUE; RESET spark.sql.ansi.enabled")


def test_a_pipeline_is_not_made_without_ansi_mode():
    with pytest.raises(UnsupportedError, match="cannot be 'false'"):
        penstock.Pipeline("CREATE TABLE t (a INT)", conf={"spark.sql.ansi.enabled": "false"})


def test_settings_of_spark_keep_their_spelling_and_those_of_libraries_pass():
    program = (
        "SET SPARK.SQL.files.MAXPARTITIONBYTES = 1; SET spark.databricks.delta.retentionDurationCheck.enabled = false"
    )
    assert dict(compile_program(program).catalog.settings) == {
        "spark.sql.files.maxPartitionBytes": "1",
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    }


def test_the_zone_has_three_names_and_is_one_setting():
    for text in (
        "SET TIME ZONE 'Europe/Rome'",
        "SET timezone = 'Europe/Rome'",
        "SET spark.sql.session.timeZone = 'Europe/Rome'",
    ):
        assert dict(compile_program(text).catalog.settings) == {"time zone": "Europe/Rome"}


def test_a_property_of_a_connector_says_nothing_without_one():
    (found,) = refused("CREATE TABLE t (a INT) WITH ('path' = 'in')")
    assert (found.code, found.hint) == ("MISSING_PROPERTY", "add 'connector' = 'files'")


def test_a_property_of_the_other_kind_of_relation_says_so():
    (found,) = refused("CREATE TABLE t (a INT) WITH ('emit_final' = 'a')")
    assert found.hint == "it is a property of views"
    (found,) = refused("CREATE VIEW v WITH ('append_only' = 'true') AS SELECT 1 AS a")
    assert found.hint == "it is a property of tables"


def test_all_misspelt_words_of_a_table_are_said_at_once():
    found = refused("CREATE TABLE t (a INT) WITH ('conector' = 'files', 'histroy' = 'none', 'path' = 'in')")
    assert [item.candidates[0] for item in found] == ["connector", "history"]


def test_the_words_of_each_connector_are_those_that_it_takes():
    assert sources.CONNECTORS.keys() == CONNECTORS.keys()
    for name, module in sources.CONNECTORS.items():
        taken = [item.name for item in importlib.import_module(module).PROPERTIES]
        assert sorted(taken) == sorted(CONNECTORS[name])


def test_the_words_of_each_output_are_those_that_it_takes():
    assert outputs.CONNECTORS.keys() == OUTPUTS.keys()
    for name, module in outputs.CONNECTORS.items():
        taken = [item.name for item in (*COMMON, *importlib.import_module(module).PROPERTIES)]
        assert sorted(taken) == sorted(OUTPUTS[name])


def test_every_word_is_documented(repository):
    page = (repository / "docs" / "reference" / "sql.md").read_text(encoding="utf-8")
    names = [item.name for item in (*TABLE, *VIEW)]
    assert [name for name in names if f"`{name}`" not in page and f"'{name}'" not in page] == []
    assert [item.name for item in SETTINGS if f"`{item.name}`" not in page] == []


def test_settings_of_spark_can_be_set_while_it_runs(spark):
    wrong = [
        item.name
        for item in spark_settings().values()
        if item.at_start == spark.conf.isModifiable(item.name) and not item.name.startswith("spark.app.")
    ]
    assert wrong == []
