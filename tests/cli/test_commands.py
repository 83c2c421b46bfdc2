"""The commands as a user calls them: output, streams, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from penstock.cli.main import main

GOOD = "CREATE TABLE t (amount INT); CREATE VIEW v AS SELECT SUM(amount) AS s FROM t;"
BAD = "CREATE TABLE t (amount INT);\nCREATE VIEW v AS SELECT amonut FROM t;"


def call(*arguments, stdin=None, env=None):
    return CliRunner().invoke(main, list(arguments), input=stdin, env=env)


def test_check_says_what_there_is():
    result = call("check", "-e", GOOD)
    assert (result.exit_code, result.stdout) == (0, "no mistakes: 1 table, 1 view, 0 functions\n")


def test_check_shows_the_place_on_stderr():
    result = call("check", "-e", BAD)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "UNKNOWN_COLUMN" in result.stderr
    assert "line 2, column 25" in result.stderr
    assert "did you mean: amount" in result.stderr


def test_check_as_json():
    result = call("check", "--format", "json", "-", stdin=BAD)
    found = json.loads(result.stdout)
    assert result.exit_code == 1
    assert not found["ok"]
    assert (found["diagnostics"][0]["line"], found["diagnostics"][0]["column"]) == (2, 25)


ONLY_SPARK_KNOWS = """CREATE TABLE t (x DOUBLE);
CREATE VIEW fine AS SELECT x FROM t;
CREATE VIEW one AS SELECT percentile(x, x) AS y FROM fine;
CREATE VIEW two AS SELECT y FROM one;
CREATE VIEW three AS SELECT percentile_approx(x, x) AS y FROM t;"""


def test_check_asks_spark_where_it_is_told_to(spark):
    assert call("check", "-e", ONLY_SPARK_KNOWS).exit_code == 0
    result = call("check", "--spark", "-e", ONLY_SPARK_KNOWS)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error[DATATYPE_MISMATCH.NON_FOLDABLE_INPUT]: view one: " in result.stderr
    assert "line 3, column 27" in result.stderr
    assert "view three: " in result.stderr
    assert "view two: " not in result.stderr


def test_check_with_spark_says_what_there_is(spark):
    result = call("check", "--spark", "-e", GOOD)
    assert (result.exit_code, result.stdout) == (0, "no mistakes: 1 table, 1 view, 0 functions\n")


def test_check_tells_a_circle_of_views_from_a_declaration_that_comes_too_late():
    circle = "CREATE VIEW a AS SELECT * FROM b;\nCREATE VIEW b AS SELECT * FROM c;\nCREATE VIEW c AS SELECT * FROM a;"
    result = call("check", "-e", circle)
    assert result.exit_code == 1
    assert "error[VIEW_CYCLE]: the views 'a' and 'b' read each other\n  at line 1, column 32" in result.stderr
    assert "DECLARE RECURSIVE VIEW a" in result.stderr
    late = "CREATE VIEW a AS SELECT * FROM b;\nCREATE VIEW b AS SELECT 1 AS x;"
    assert "move its declaration up" in call("check", "-e", late).stderr


def test_check_reports_what_is_else_found_when_a_pipeline_starts():
    """Connectors, formats, LATENESS, history, emit_final: everything at once, each at its place."""
    program = """CREATE TABLE a (x INT, at TIMESTAMP LATENESS INTERVAL 1 HOUR) WITH ('connector' = 'fils');
CREATE TABLE b (x INT) WITH ('connector' = 'files', 'path' = 'in', 'format' = 'jsn');
CREATE TABLE c (x INT) WITH ('connector' = 'files', 'path' = 'in', 'on_error' = 'stop');
CREATE TABLE d (x INT) WITH ('history' = 'a while');
CREATE TABLE e (x STRING LATENESS INTERVAL 1 HOUR);
CREATE VIEW f WITH ('emit_final' = 'x') AS SELECT x, COUNT(*) AS n FROM a GROUP BY x;"""
    found = json.loads(call("check", "--format", "json", "-e", program).stdout)["diagnostics"]
    assert [(item["code"], item["line"]) for item in found] == [
        ("UNKNOWN_CONNECTOR", 1),
        ("UNKNOWN_FORMAT", 2),
        ("BAD_PROPERTY", 3),
        ("BAD_PROPERTY", 4),
        ("BAD_LATENESS", 5),
        ("NO_WATERLINE", 6),
    ]


def test_every_option_has_a_variable():
    result = call("check", env={"PENSTOCK_EXECUTE": GOOD, "PENSTOCK_FORMAT": "json"})
    assert json.loads(result.stdout)["views"] == 1
    import click

    context = click.Context(main)
    for name in main.list_commands(context):
        for parameter in main.get_command(context, name).params:
            if isinstance(parameter, click.Option):
                assert str(parameter.envvar).startswith("PENSTOCK_"), f"{name} {parameter.name}"


@pytest.mark.parametrize(
    "arguments",
    [
        ["chek"],
        ["check"],
        ["check", "/no/such/file.sql"],
        ["check", "--formt", "json", "-e", GOOD],
        ["check", "--format", "arrow", "-e", GOOD],
        ["run", "--conf", "nonsense", "-e", GOOD],
        ["test"],
        ["query"],
        ["run", "--format", "csv", "-e", GOOD + "CREATE VIEW w AS SELECT amount FROM t;"],
    ],
)
def test_wrong_usage_is_2(arguments):
    result = call(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_a_misspelt_command_is_met_with_the_right_one():
    assert "Did you mean 'check'?" in call("chek").stderr


def test_a_program_that_is_not_utf8(tmp_path):
    path = tmp_path / "p.sql"
    path.write_bytes(b"SELECT '\xff'")
    result = call("check", str(path))
    assert result.exit_code == 1
    assert "NOT_UTF8" in result.stderr


def test_our_own_mistake_is_3_without_a_traceback(monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("penstock.bind.program.compile.compile_program", broken)
    result = call("check", "-e", GOOD)
    assert result.exit_code == 3
    assert "please report" in result.stderr
    assert "Traceback" not in result.stderr


def test_explain_text_and_json():
    assert "incremental" in call("explain", "-e", GOOD).stdout
    assert json.loads(call("explain", "-e", GOOD, "--view", "v", "--format", "json").stdout)["views"]
    result = call("explain", "-e", GOOD, "--view", "w")
    assert (result.exit_code, "UNKNOWN_VIEW" in result.stderr) == (1, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["run", "--help"],
        ["check", "-e", GOOD],
        ["explain", "-e", GOOD],
        ["explain", "-e", GOOD, "--engine", "auto"],
    ],
)
def test_these_import_no_engine(arguments):
    program = (
        "import sys\nfrom penstock.cli.main import main\n"
        f"try: main({arguments!r})\nexcept SystemExit: pass\n"
        "sys.exit(9 if sys.modules.keys() & {'pyspark', 'duckdb'} else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_explain_does_not_wait_for_arrow():
    program = (
        "import sys\nfrom penstock.cli.main import main\n"
        f"try: main(['explain', '-e', {GOOD!r}, '--engine', 'auto', '--stage', 'circuit'])\nexcept SystemExit: pass\n"
        "sys.exit(9 if 'pyarrow' in sys.modules else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, text=True)
    assert (done.returncode, "in the process" in done.stdout) == (0, True), done.stderr


def test_a_malformed_case_file_starts_nothing(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("cases:\n- nme: x\n", encoding="utf-8")
    result = call("test", str(path))
    assert result.exit_code == 1
    assert "did you mean: name" in result.stderr


def test_refused_programs_need_no_spark_to_be_tested(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text(
        "cases:\n- {name: right, sql: CREATE TABLE t (a INT) b, expect: {error: {}}}\n"
        "- {name: wrong, sql: SELEC 1, expect: {error: {code: OTHER}}}\n"
        "- {name: waits, sql: 'CREATE TABLE t (a INT); CREATE VIEW v AS SELECT * FROM t VERSION AS OF 1'}\n",
        encoding="utf-8",
    )
    result = call("test", "--format", "json", str(path))
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(item["case"], item["status"]) for item in found] == [
        ("right", "passed"),
        ("wrong", "failed"),
        ("waits", "unsupported"),
    ]
    assert set(found[0]) == {"file", "line", "case", "status", "detail"}
    assert result.exit_code == 1


@pytest.fixture
def folder(spark, tmp_path):
    """A program that follows a folder with a broken row in the middle."""
    (tmp_path / "in").mkdir()
    lines = ['{"k": 1, "x": 2}', "broken", '{"k": 2, "x": 7}']
    (tmp_path / "in" / "a.json").write_text("\n".join(lines), encoding="utf-8")
    program = tmp_path / "p.sql"
    program.write_text(
        f"CREATE TABLE t (k INT, x INT) WITH ('connector' = 'files', 'path' = '{tmp_path / 'in'}', 'format' = 'json');"
        "CREATE VIEW s AS SELECT k, SUM(x) AS s FROM t GROUP BY k;\nINSERT INTO t VALUES (9, 9);",
        encoding="utf-8",
    )
    return program


def test_run_writes_changes_and_tells_progress_on_stderr(folder):
    result = call("run", "--once", "--format", "json", str(folder))
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 0, result.stderr
    assert rows[0] == {"view": "s", "__step": 1, "__weight": 1, "k": 9, "s": 9}
    # How many steps the files become depends on how fast they are read; what is shown does not.
    assert sorted((row["k"], row["s"]) for row in rows[1:]) == [(1, 2), (2, 7)]
    assert all(row["__step"] > 1 for row in rows[1:])
    assert "1 rejected" in result.stderr
    said = "".join(result.stderr.split("\n"))
    assert f"rejected from t: Bad row: {folder.parent}/in/a.json:2" in said
    assert "t: 1 row rejected (1 Bad row); error_view has them" in result.stderr


def test_a_run_that_is_started_again_begins_anew_but_with_a_directory(folder, tmp_path):
    arguments = ["run", "--once", "--quiet", "--format", "json", "--view", "s", str(folder)]
    first, second = call(*arguments), call(*arguments)
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert len(first.stdout.splitlines()) == 3
    changes = [sorted(line.partition("__weight")[2] for line in run.stdout.splitlines()) for run in (first, second)]
    assert changes[0] == changes[1]
    kept = [*arguments, "--dir", str(tmp_path / "kept")]
    assert call(*kept).stdout
    again = call(*kept)
    assert (again.exit_code, again.stdout) == (0, "")
    assert sorted(call(*kept, "--final").stdout.splitlines()) == sorted(call(*arguments, "--final").stdout.splitlines())
    written = [*arguments, "--output", str(tmp_path / "out")]
    assert call(*written).exit_code == 0
    assert "error[OUTPUT_IN_USE]" in call(*written).stderr
    assert call(*written, "--overwrite").exit_code == 0


def test_final_query_and_verify(folder):
    final = call("run", "--once", "--final", "--quiet", "--format", "csv", str(folder))
    assert sorted(final.stdout.splitlines()) == ["1,2", "2,7", "9,9", "k,s"]
    asked = call("query", "--format", "json", str(folder), "SELECT COUNT(*) AS n FROM s")
    assert json.loads(asked.stdout) == {"n": 3}
    verified = call("verify", "--quiet", str(folder))
    assert (verified.exit_code, verified.stdout) == (0, "s: 3 rows equal the batch result\n")


def test_a_content_that_nobody_keeps_is_refused_before_the_start(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"a": 1}\n{"a": 2}\n', encoding="utf-8")
    said = f"WITH ('connector' = 'files', 'path' = '{tmp_path}/in', 'history' = 'none')"
    (tmp_path / "p.sql").write_text(
        f"CREATE STREAM t (a INT) {said};\n"
        "CREATE VIEW v AS SELECT a FROM t;\n"
        "CREATE MATERIALIZED VIEW m AS SELECT a FROM t;\n"
        "CREATE VIEW w AS SELECT a FROM m;\n"
        "CREATE VIEW x AS SELECT a FROM v;\n",
        encoding="utf-8",
    )

    def final(*views):
        named = [word for view in views for word in ("--view", view)]
        return call(
            "run", "--once", "--final", "--engine", "native", "--format", "csv", *named, str(tmp_path / "p.sql")
        )

    for view, line in (("v", 2), ("x", 5)):
        found = final(view)
        assert (found.exit_code, found.stdout) == (1, "")
        assert f"error[NO_HISTORY]: the content of view {view} cannot be told at the end" in found.stderr
        assert f"p.sql:{line}:13" in found.stderr
        assert "following" not in found.stderr
    assert sorted(final("m").stdout.split()) == sorted(final("w").stdout.split()) == ["1", "2", "a"]


def test_sql_from_a_pipe(spark):
    statements = [
        "CREATE TABLE t (a INT);",
        "INSERT INTO t VALUES (1),",
        " (2);",
        ".tables",
        "SELECT SUM(a) AS s FROM t;",
    ]
    text = "\n".join([*statements, "SELECT b FROM t;"])
    result = call("sql", stdin=text)
    assert result.exit_code == 1
    assert "t     |     | multiset" in result.stdout
    assert "s\n-\n3\n(1 row)" in result.stdout
    assert "UNKNOWN_COLUMN" in result.stderr
    assert "Traceback" not in result.stderr


def test_explain_runs_nothing_and_says_where_measurements_come_from():
    result = call("explain", "--analyze", "-e", GOOD)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error[NOT_MEASURED]: nothing has run here" in result.stderr
    assert "penstock run --once --profile" in result.stderr


def test_a_profile_is_on_or_off():
    assert "BAD_SETTING" in call("check", "-e", f"SET profile = 'full'; {GOOD}").stderr
    assert call("check", "-e", f"SET profile = on; {GOOD} EXPLAIN ANALYZE v;").exit_code == 0


@pytest.mark.parametrize("arguments", [(), ("--once",)])
def test_run_without_anything_to_follow_says_so_before_spark_starts(arguments, monkeypatch):
    from penstock.pipeline.opening import Opened

    monkeypatch.setattr(Opened, "workspace", property(lambda _: pytest.fail("Spark was to start")))
    result = call("run", *arguments, "-e", GOOD)
    assert result.exit_code == 1
    assert "error[NO_SOURCE]: no table has a connector" in result.stderr


SPARKS = "CREATE TABLE t (a INT) USING delta\nCLUSTER BY (a);"


def test_what_has_no_meaning_is_a_warning_on_stderr():
    result = call("check", "-e", SPARKS)
    assert (result.exit_code, result.stdout) == (0, "no mistakes: 1 table, 0 views, 0 functions\n")
    assert "warning[NO_MEANING]: CLUSTER BY (a) has no meaning here\n  at line 2, column 1" in result.stderr


def test_warnings_as_json():
    found = json.loads(call("check", "--format", "json", "-e", SPARKS).stdout)
    assert found["ok"]
    assert [(item["severity"], item["line"]) for item in found["diagnostics"]] == [("warning", 2), ("warning", 1)]


def test_help_imports_no_spark():
    modules = "import sys; sys.modules['pyspark'] = None; from penstock.cli.main import main; main()"
    for arguments in (["--help"], ["sql", "--help"], ["run", "--help"]):
        subprocess.run([sys.executable, "-c", modules, *arguments], check=True, stdout=subprocess.DEVNULL)
