"""Places in programs of several files, and the forms in which builds read diagnostics."""

from __future__ import annotations

import json
import pickle
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

import penstock
from penstock.cli.main import main
from penstock.source_text import SourceText, location_of

TABLES = "CREATE TABLE t (\n  customer STRING\n);\n"
VIEWS = "-- views\n\nCREATE VIEW v AS SELECT custmer FROM t;\nCREATE VIEW w AS SELECT customer, RAND() AS r FROM t;\n"


def call(*arguments, stdin=None):
    return CliRunner().invoke(main, list(arguments), input=stdin)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "1.sql").write_text(TABLES, encoding="utf-8")
    (tmp_path / "2.sql").write_text(VIEWS, encoding="utf-8")
    return ["1.sql", "2.sql"]


@pytest.mark.parametrize("command", ["check", "explain"])
def test_a_place_is_one_in_its_file(files, command):
    said = call(command, *files).stderr
    assert (
        "  at 2.sql:3:25\n   3 | CREATE VIEW v AS SELECT custmer FROM t;\n     |                         ^^^^^^^\n"
        in said
    )
    assert "  at 2.sql:4:35\n" in said
    assert "RAND() AS r FROM t;\n     |                                   ^^^^^^\n" in said


def test_json_names_file_and_both_ends(files):
    first, second = json.loads(call("check", *files, "--format", "json").stdout)["diagnostics"]
    assert {key: first[key] for key in ("file", "line", "column", "end_line", "end_column")} == {
        "file": "2.sql",
        "line": 3,
        "column": 25,
        "end_line": 3,
        "end_column": 32,
    }
    assert (second["line"], second["column"], second["end_column"]) == (4, 35, 41)


def test_sarif_has_each_diagnostic_at_its_place(files):
    result = call("check", *files, "--format", "sarif")
    (run,) = json.loads(result.stdout)["runs"]
    assert result.exit_code == 1
    assert [item["id"] for item in run["tool"]["driver"]["rules"]] == ["UNKNOWN_COLUMN", "NON_DETERMINISTIC"]
    first, second = run["results"]
    assert (first["ruleId"], first["ruleIndex"], first["level"]) == ("UNKNOWN_COLUMN", 0, "error")
    assert first["message"]["text"] == "there is no column 'custmer'; did you mean: customer?"
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "2.sql"}
    assert place["region"] == {"startLine": 3, "startColumn": 25, "endLine": 3, "endColumn": 32}
    assert second["ruleIndex"] == 1


def test_sarif_of_a_program_without_mistakes_has_no_results(files):
    result = call("check", "1.sql", "--format", "sarif")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["runs"][0]["results"] == []


def test_sarif_has_warnings_and_whole_addresses_of_files_elsewhere(files, tmp_path, monkeypatch):
    (tmp_path / "a b.sql").write_text("CREATE TABLE t (a INT)\nCLUSTER BY (a);", encoding="utf-8")
    monkeypatch.chdir("/")
    result = call("check", str(tmp_path / "a b.sql"), "--format", "sarif")
    (found,) = json.loads(result.stdout)["runs"][0]["results"]
    assert (result.exit_code, found["level"]) == (0, "warning")
    uri = found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.endswith("/a%20b.sql")


def test_workflow_commands_of_github(files):
    result = call("check", *files, "--format", "github")
    first, second = result.stdout.splitlines()
    assert result.exit_code == 1
    assert first == (
        "::error file=2.sql,line=3,endLine=3,col=25,endColumn=32,title=UNKNOWN_COLUMN"
        "::there is no column 'custmer'; did you mean: customer?"
    )
    assert second.startswith("::error file=2.sql,line=4,")


def test_workflow_commands_end_where_they_end(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a,b.sql").write_text("CREATE VIEW v AS SELECT '\n100%' FRM t;", encoding="utf-8")
    (line,) = call("check", "a,b.sql", "--format", "github").stdout.splitlines()
    assert line.startswith("::error file=a%2Cb.sql,line=")


def test_text_without_a_file_says_its_line_in_the_message():
    program = "CREATE TABLE t (a INT);\nCREATE VIEW v AS SELECT b FROM t;"
    (line,) = call("check", "-e", program, "--format", "github").stdout.splitlines()
    assert line.startswith("::error title=UNKNOWN_COLUMN::line 2, column 25: there is no column 'b'")
    (run,) = json.loads(call("check", "-e", program, "--format", "sarif").stdout)["runs"]
    assert "locations" not in run["results"][0]


def test_a_file_that_is_not_utf8_is_a_diagnostic_too(tmp_path):
    (tmp_path / "p.sql").write_bytes(b"SELECT '\xe4'")
    found = json.loads(call("check", str(tmp_path / "p.sql"), "--format", "json").stdout)
    assert found["diagnostics"][0]["code"] == "NOT_UTF8"


def test_standard_input_and_e_have_names_beside_files(files):
    said = call(
        "check", "1.sql", "-", "-e", "CREATE VIEW x AS\nSELECT b FROM t", stdin="CREATE VIEW y AS SELECT c FROM t"
    ).stderr
    assert "  at stdin:1:25\n" in said
    assert "  at -e:2:8\n" in said


def test_python_says_all_of_an_error(files):
    with pytest.raises(penstock.SqlError) as caught:
        penstock.Pipeline("CREATE TABLE t (customer STRING); CREATE VIEW v AS SELECT custmer FROM t;")
    said = str(caught.value)
    assert said.startswith(
        "error[UNKNOWN_COLUMN]: there is no column 'custmer' (SQLSTATE 42703)\n  at line 1, column 59\n"
    )
    assert "^^^^^^^\n  did you mean: customer?" in said
    assert caught.value.summary == "there is no column 'custmer'"
    assert str(caught.value.location) == "line 1, column 59"


def test_python_names_the_file_of_a_program(files):
    with pytest.raises(penstock.SqlError, match="there is no table or view") as caught:
        penstock.Pipeline("2.sql")
    assert "  at 2.sql:3:" in str(caught.value)
    assert caught.value.location.file == "2.sql"
    assert caught.value.to_json()[0]["file"] == "2.sql"


def test_an_error_is_the_same_in_another_process(files):
    with pytest.raises(penstock.SqlError) as caught:
        penstock.Pipeline("2.sql")
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - made here
    assert (str(again), again.location) == (str(caught.value), caught.value.location)


def test_locations_in_joined_texts():
    text = SourceText.joined([("ab\nc", "x"), ("", "y"), ("d\ne", None)])
    assert text == "ab\nc\n\nd\ne"
    places = [(text[at : at + 1], str(location_of(text, at))) for at in range(len(text) + 1)]
    assert places == [
        ("a", "x:1:1"),
        ("b", "x:1:2"),
        ("\n", "x:1:3"),
        ("c", "x:2:1"),
        ("\n", "x:2:2"),
        ("\n", "y:1:1"),
        ("d", "line 1, column 1"),
        ("\n", "line 1, column 2"),
        ("e", "line 2, column 1"),
        ("", "line 2, column 2"),
    ]


CASES = """cases:
- name: right
  sql: CREATE TABLE t (a INT)
- name: wrong
  sql: CREATE VIEW v AS SELECT a FROM t
- name: refused
  sql: CREATE TABLE t (a INT)
  expect: {error: {}}
"""


def test_results_of_cases_as_junit(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text(CASES, encoding="utf-8")
    result = call("test", str(path), "--oracle", "none", "--format", "junit")
    root = ET.fromstring(result.stdout)  # noqa: S314 - written here
    assert result.exit_code == 1
    assert (root.tag, root.get("tests"), root.get("failures"), root.get("errors")) == ("testsuites", "3", "2", "0")
    right, wrong, refused = root.find("testsuite")
    assert (right.get("name"), right.get("file"), right.get("line"), len(right)) == ("right", str(path), "2", 0)
    assert (wrong.get("line"), wrong.find("failure").get("message")[:32]) == ("4", "refused: error[UNKNOWN_RELATION]")
    assert refused.find("failure").text == "nothing was refused, but an error was expected"
