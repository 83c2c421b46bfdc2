"""A bad value of a property or a setting is told where it stands, with the nearest that there is."""

import pytest

from penstock.bind.program.compile import compile_program
from penstock.catalog.settings import check_conf
from penstock.errors import SqlError, UnsupportedError
from penstock.pipeline.supported import check_supported

TABLE = "CREATE TABLE t (a INT)"
VIEW = f"{TABLE}; CREATE VIEW v WITH ('connector' = 'files', 'path' = 'o', %s) AS SELECT a FROM t"
KAFKA = "'connector' = 'kafka', 'topic' = 'a', 'bootstrap.servers' = 'b:1'"
WRONG = [
    (f"{TABLE} WITH ('connector' = 'files', 'path' = 'p', 'format' = 'csvv')", "'csvv'", "csv"),
    (f"{TABLE} WITH ('connector' = 'files', 'path' = 'p', 'on_replaced' = 'fial')", "'fial'", "fail"),
    (f"{TABLE} WITH ('connector' = 'flies', 'path' = 'p')", "'flies'", "files"),
    (f"{TABLE} WITH ('history' = 'al')", "'al'", "all"),
    (f"{TABLE} WITH ('append_only' = 'ture')", "'ture'", "true"),
    (f"{TABLE} USING csv OPTIONS (on_replaced 'fial') LOCATION 'x'", "'fial'", "fail"),
    (
        f"{TABLE} WITH ({KAFKA}, 'start_after' = 'files', 'start_after.path' = 'x', 'start_after.format' = 'csvv')",
        "'csvv'",
        "csv",
    ),
    (VIEW % "'form' = 'upsrt'", "'upsrt'", "upsert"),
    (VIEW % "'format' = 'jsonn'", "'jsonn'", "json"),
    (VIEW.replace("files", "flies") % "'form' = 'append'", "'flies'", "files"),
    ("SET unbounded_state = 'warm'", "'warm'", "warn"),
    ("SET profile = 'onn'", "'onn'", "on"),
    ("SET TIME ZONE 'Europe/Rom'", "'Europe/Rom'", "Europe/Rome"),
]


@pytest.mark.parametrize(("program", "place", "near"), WRONG)
def test_the_value_is_underlined(program, place, near):
    with pytest.raises(SqlError) as caught:
        check_supported(compile_program(program).catalog)
    (found,) = caught.value.diagnostics
    assert program[found.span.start : found.span.end] == place
    assert found.candidates[0] == near


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("spark.mastre", "spark.master"),
        ("spark.sql.shufle.partitions", "spark.sql.shuffle.partitions"),
        ("spark.executor.memry", "spark.executor.memory"),
    ],
)
def test_a_slip_in_a_setting_of_the_session_is_refused(name, meant):
    with pytest.raises(SqlError) as caught:
        check_conf({name: "x"})
    assert caught.value.code == "UNKNOWN_SETTING"
    assert meant in caught.value.diagnostics[0].candidates


@pytest.mark.parametrize(
    "name", ["spark.master", "spark.driver.defaultJavaOptions", "spark.yarn.dist.files", "spark.hadoop.fs.s3a.endpoint"]
)
def test_what_spark_or_a_library_may_know_is_not(name):
    check_conf({name: "x"})


@pytest.mark.parametrize(
    ("statement", "said", "hint"),
    [
        ("CREATE TABLE t USING parquet AS SELECT 1", "tables of a query", "CREATE VIEW"),
        ("CREATE TABLE t USING parquet LOCATION 'x'", "tables without columns", "(c TYPE, …) USING parquet"),
        ("CREATE TABLE t (a INT, g INT AS (1 + 1))", "computed columns with a type", "g AS …"),
    ],
)
def test_what_no_table_can_be_is_said_with_what_works(statement, said, hint):
    with pytest.raises(UnsupportedError) as caught:
        compile_program(statement)
    (found,) = caught.value.diagnostics
    assert said in found.message
    assert hint in found.hint
