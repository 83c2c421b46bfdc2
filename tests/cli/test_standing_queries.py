"""Standing queries on the command line: in the shell's statements, and with `query --follow`; without a JVM."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.cli.interpreter import Interpreter, Results
from penstock.cli.main import main
from penstock.cli.repl.shell import Shell, stream_reader
from penstock.pipeline.pipeline import Pipeline

SUMS = "SELECT k, SUM(x) AS s FROM t GROUP BY k EMIT CHANGES"


def call(*arguments, code=0, **options):
    result = CliRunner().invoke(main, arguments, **options)
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def program(tmp_path):
    (tmp_path / "in").mkdir()
    lines = ['{"k": 1, "x": 2}', '{"k": 2, "x": 7}', '{"k": 1, "x": 3}']
    (tmp_path / "in" / "a.json").write_text("\n".join(lines) + "\n", encoding="utf-8")
    path = tmp_path / "p.sql"
    path.write_text(
        f"CREATE TABLE t (k INT, x INT) WITH ('connector' = 'files', 'path' = '{tmp_path / 'in'}', 'format' = 'json');"
    )
    return str(path)


def test_a_query_stands_beside_what_is_typed():
    text = f"""CREATE TABLE t (k INT, x INT); {SUMS}; INSERT INTO t VALUES (1, 5); SHOW QUERIES;
    INSERT INTO t VALUES (1, 7); KILL QUERY q1; INSERT INTO t VALUES (1, 1);"""
    result = call("sql", "-e", text)
    assert result.stdout.splitlines() == [
        "step 1  q1  (+I, 1, 5)",
        "query | rows shown | of      | text",
        f"------+------------+---------+-{len(SUMS) * '-'}",
        f"q1    |          1 | session | {SUMS}",
        "(1 row)",
        "step 2  q1  (-U, 1, 5)",
        "step 2  q1  (+U, 1, 12)",
    ]
    assert "q1 stands" in result.stderr


def test_a_query_is_killed_by_its_name():
    result = call("sql", "-e", "SELECT 1 EMIT CHANGES; KILL QUERY q2;", code=1)
    assert "error[UNKNOWN_QUERY]: no query q2 stands" in result.stderr
    assert "SHOW QUERIES lists them" in result.stderr


def test_one_that_is_to_show_nothing_has_ended_and_a_mistake_takes_no_name():
    text = "CREATE TABLE t (k INT); SELECT k FROM t LIMIT 0 EMIT CHANGES; INSERT INTO t VALUES (1); SHOW QUERIES;"
    result = call("sql", "-e", text)
    assert "(0 rows)" in result.stdout
    assert "step 1  q1" not in result.stdout
    assert "q1 has ended already" in result.stderr
    typed = "SELECT k FROM t EMIT AFTER WATERMARK;\nSELECT k FROM t EMIT CHANGES;\n"
    with Pipeline("CREATE TABLE t (k INT);", engine="native") as pipeline:
        shell = Shell(Interpreter(pipeline, Results()), stream_reader(io.StringIO(typed)))
        assert shell.loop()
        assert [query.name for query in pipeline.queries] == ["q1"]


def test_a_query_stands_beside_a_run_in_the_background(program, tmp_path, capsys):
    def more():
        """A row more, whose result is waited for: in one step with those before, or in the next."""
        (tmp_path / "in" / "b.json").write_text('{"k": 2, "x": 1}\n', encoding="utf-8")
        end = time.monotonic() + 60
        while ", 2, 8)" not in "".join(shown):
            assert time.monotonic() < end, shown
            shown.append(capsys.readouterr().out)
            time.sleep(0.02)

    def read(_):
        if not typed:
            raise EOFError
        if typed[0].startswith("KILL"):
            more()
        return typed.pop(0)

    typed, shown = [".run &", f"{SUMS};", "KILL QUERY q1;", ".stop"], []
    with Pipeline(Path(program).read_text(encoding="utf-8"), engine="native") as pipeline:
        assert Shell(Interpreter(pipeline, Results()), read).loop()
        assert pipeline.status.state == "stopped"
        assert pipeline.queries == []


def test_query_follow_writes_what_is_shown_until_the_input_ends(program):
    result = call("query", "--follow", "--once", program, f"{SUMS} PERIODIC 1h")  # the end shows what waits
    assert sorted(line.partition("  ")[2] for line in result.stdout.splitlines()) == [
        "q1  (+I, 1, 5)",
        "q1  (+I, 2, 7)",
    ]
    shown = call("query", "--follow", "--once", "--format", "json", program, SUMS)
    rows = [json.loads(line) for line in shown.stdout.splitlines()]
    assert sorted((row["change"], row["k"], row["s"]) for row in rows) == [("+I", 1, 5), ("+I", 2, 7)]
    assert {row["__query"] for row in rows} == {"q1"}
    table = call("query", "--follow", "--once", "--format", "csv", program, SUMS)
    assert table.stdout.splitlines()[0] == "__step,change,k,s"


def test_limit_ends_what_follows(program):
    result = call("query", "--follow", program, "SELECT k FROM t LIMIT 2 EMIT ON UPDATE")
    assert len(result.stdout.splitlines()) == 2


def test_a_mistake_in_emit_is_found_by_check(tmp_path):
    path = tmp_path / "p.sql"
    path.write_text("CREATE TABLE t (k INT);\nSELECT k FROM t EMIT PERIODIC 0s;\n")
    assert "error[EMIT_LENGTH]" in call("check", str(path), code=1).stderr
    path.write_text(
        "CREATE TABLE t (k INT);\nCREATE STREAM o (k INT);\nCREATE MATERIALIZED VIEW v INTO o AS SELECT k FROM t;\n"
    )
    assert "error[TAKES_ROWS_BACK]" in call("check", str(path), code=1).stderr


def test_statements_stand_beside_what_is_typed():
    text = """CREATE TABLE t (k INT, x INT); CREATE TABLE o (k INT, x INT);
    CREATE MATERIALIZED VIEW v INTO o AS SELECT k, x FROM t; SET dialect = 'flink';
    INSERT INTO o SELECT k, -x FROM t; INSERT INTO t VALUES (1, 5); SHOW QUERIES; KILL QUERY q1;
    INSERT INTO t VALUES (2, 6);
    SELECT k, x FROM o ORDER BY x; KILL QUERY v;"""
    result = call("sql", "--dialect", "flink", "-e", text, code=1)
    assert [line.split("|")[:3] for line in result.stdout.splitlines() if line.startswith(("q1", "v "))] == [
        ["q1    ", " into o     ", " session "],
        ["v     ", " into o     ", " program "],
    ]
    assert "-5" in result.stdout
    assert "-6" not in result.stdout
    assert "q1 stands: it writes into o" in result.stderr
    assert "v belongs to the program" in result.stderr


def test_a_bare_query_of_flink_shows_its_changes_until_its_sources_end(program, tmp_path):
    (tmp_path / "in" / "b.json").write_text('{"k": 1, "x": 10}\n', encoding="utf-8")
    text = "SET dialect = 'flink'; SELECT k, SUM(x) AS s FROM t GROUP BY k; SELECT COUNT(*) AS n FROM t;"
    result = call("sql", program, "--format", "json", "-e", text)
    shown = [json.loads(line) for line in result.stdout.splitlines()]
    last = {row["k"]: row["s"] for row in shown if row["__query"] == "q1" and row["change"] in ("+I", "+U")}
    assert last == {1: 15, 2: 7}
    assert [row["n"] for row in shown if row["__query"] == "q2" and row["change"] in ("+I", "+U")] == [4]


def test_without_a_source_it_ends_at_once_and_in_batch_mode_it_is_answered():
    text = """CREATE TABLE t (k INT, x INT); INSERT INTO t VALUES (1, 5), (1, 7);
    SELECT k, SUM(x) AS s FROM t GROUP BY k;
    SHOW QUERIES; SET 'execution.runtime-mode' = 'batch'; SELECT k, SUM(x) AS s FROM t GROUP BY k;"""
    result = call("sql", "--dialect", "flink", "-e", text.replace("\n", " "))
    assert result.stdout.splitlines()[0] == "step 1  query  (+I, 1, 12)"
    assert "(0 rows)" in result.stdout
    assert result.stdout.splitlines()[-3:] == ["--+---", "1 | 12", "(1 row)"]
    refused = call("sql", "--dialect", "flink", "-e", "SET 'execution.runtime-mode' = 'automatic';", code=1)
    assert "BAD_SETTING" in refused.stderr


SET_OF_STATEMENTS = [
    "EXECUTE STATEMENT SET BEGIN\nINSERT INTO b SELECT x FROM a;\nINSERT INTO b SELECT x + 1 FROM a;\nEND;",
    "BEGIN STATEMENT SET;\nINSERT INTO b SELECT x FROM a;\nINSERT INTO b SELECT x + 1 FROM a;\nEND;",
]


@pytest.mark.parametrize("statements", SET_OF_STATEMENTS)
@pytest.mark.parametrize("way", ["file", "-f", "-e", "stdin", "shell"])
def test_a_set_of_statements_runs_from_the_command_line(statements, way, tmp_path):
    feed = tmp_path / "in"
    feed.mkdir()
    (feed / "a.json").write_text('{"x": 1}\n', encoding="utf-8")
    declared = f"CREATE TABLE a (x INT) WITH ('connector' = 'files', 'path' = '{feed}', 'format' = 'json');\n"
    text = f"{declared}CREATE TABLE b (x INT);\nCREATE VIEW v AS SELECT x FROM b;\n{statements}\n"
    path = tmp_path / "p.sql"
    path.write_text(text, encoding="utf-8")
    if way == "shell":
        result = call("sql", "--dialect", "flink", input=f"{text}SHOW QUERIES;\nSELECT x FROM v;\n")
        assert len([line for line in result.stdout.splitlines() if "INSERT INTO b" in line]) == 2
        assert sorted(line for line in result.stdout.splitlines() if "+I" in line) == [
            "step 1  q3  (+I, 1)",
            "step 1  q3  (+I, 2)",
        ]
        return
    given = {"file": [str(path)], "-f": ["-f", str(path)], "-e": ["-e", text], "stdin": ["-"]}[way]
    flags = ["--once", "--final", "--format", "json", "--quiet", "--dialect", "flink"]
    result = call("run", *flags, *given, input=text if way == "stdin" else None)
    assert sorted(json.loads(line)["x"] for line in result.stdout.splitlines()) == [1, 2]
