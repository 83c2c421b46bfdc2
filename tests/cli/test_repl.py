"""The shell: what ends a statement, what is offered, and that nothing ends the loop."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from prompt_toolkit.document import Document

from penstock.catalog.model import Catalog, Column, Table
from penstock.cli.changes import TextOutput
from penstock.cli.repl.complete import CatalogCompleter
from penstock.cli.repl.prompt import above_prompt, history_path, terminal_prompt
from penstock.cli.repl.shell import Shell, stream_reader
from penstock.cli.repl.statement import is_complete
from penstock.cli.reporting import note
from penstock.errors import Diagnostic, SqlError

CATALOG = Catalog().with_table(Table("orders", (Column("amount", "int"), Column("customer", "string"))))


@pytest.mark.parametrize(
    "text",
    ["", "  \n", "SELECT 1;", "SELECT 1; -- done", "SELECT ';' /* ; */ ;", ".help", "SELECT `a;b`;", "SELECT 'it''s';"],
)
def test_complete(text):
    assert is_complete(text)


@pytest.mark.parametrize(
    "text", ["SELECT 1", "SELECT ';", "SELECT 1 -- ;", "SELECT 1 /* ;", "SELECT `a;", 'SELECT "a;', "SELECT 1; SELECT"]
)
def test_incomplete(text):
    assert not is_complete(text)


def offered(text):
    found = CatalogCompleter(lambda: CATALOG).get_completions(Document(text), None)
    return [item.text for item in found]


def test_completion_comes_from_the_catalog():
    assert offered("SELECT am")[0] == "amount"
    assert offered("SELECT * FROM ") == ["orders"]
    assert offered("SELECT orders.") == ["amount", "customer"]
    assert offered("SELECT o. FROM orders o".replace(" FROM orders o", "")) == []
    assert "explain" not in offered(".ex")
    assert offered(".ex") == [".explain"]
    assert "date_trunc" in offered("SELECT date_tr")
    assert "where" in offered("SELECT 1 whe")


class FakePipeline:
    """Refuses, breaks or is interrupted, as it is told."""

    dialect = "penstock"
    in_transaction = False
    catalog = CATALOG

    def __init__(self):
        self.ran = []

    def execute(self, text):
        self.ran.append(text.strip())
        for word, error in (("'bad'", REFUSED), ("'bug'", ZeroDivisionError("x\ny")), ("'slow'", KeyboardInterrupt())):
            if word in text:
                raise error
        return {}


REFUSED = SqlError(Diagnostic("UNKNOWN_COLUMN", "no such column"))


def shell_over(inputs):
    from penstock.cli.interpreter import Interpreter, Results

    pending = iter(inputs)

    def read(_):
        item = next(pending, EOFError())
        if isinstance(item, BaseException):
            raise item
        return item

    pipeline = FakePipeline()
    return Shell(Interpreter(pipeline, Results()), read), pipeline


def test_nothing_ends_the_loop_but_its_end(capsys):
    shell, pipeline = shell_over(
        [
            KeyboardInterrupt(),
            "INSERT INTO orders VALUES ('bad');",
            "INSERT INTO orders VALUES ('bug');",
            "INSERT INTO orders VALUES ('slow');",
            "INSERT INTO;",
            ".nonsense",
            ".format xml",
            ".read /no/such/file",
            "INSERT INTO orders VALUES (1);",
        ]
    )
    assert shell.loop()
    err = capsys.readouterr().err
    assert len(pipeline.ran) == 4
    for wanted in (
        "UNKNOWN_COLUMN",
        "ZeroDivisionError: x",
        "stopped",
        "UNKNOWN_COMMAND",
        "UNKNOWN_FORMAT",
        "/no/such/file",
    ):
        assert wanted in err
    assert "Traceback" not in err


def test_a_script_ends_at_its_first_mistake():
    shell, pipeline = shell_over(["INSERT INTO orders VALUES ('bad');", "INSERT INTO orders VALUES (1);"])
    assert not shell.loop(until_failure=True)
    assert len(pipeline.ran) == 1


def test_dot_commands(capsys):
    shell, _ = shell_over(
        [".help", ".tables", ".schema orders", ".format json", ".tables", ".timing on", ".quit", "x;"]
    )
    assert shell.loop()
    out = capsys.readouterr().out
    assert ".explain [VIEW]" in out
    assert "orders |" in out
    assert "customer | string" in out
    assert '{"table": "orders"' in out


def test_a_pipe_is_read_statement_by_statement():
    read = stream_reader(iter(["SELECT 1,\n", "2;\n", "\n", ".help\n", "SELECT 3"]))
    assert [read(""), read(""), read("")] == ["SELECT 1,\n2;\n", "\n.help\n", "SELECT 3"]
    with pytest.raises(EOFError):
        read("")


def test_the_prompt_takes_several_lines(monkeypatch, tmp_path):
    from prompt_toolkit.application import create_app_session
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput

    monkeypatch.setenv("PENSTOCK_HISTORY", str(tmp_path / "deep" / "history"))
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        keys.send_text("SELECT\r1;\r")
        assert terminal_prompt(lambda: CATALOG).prompt("> ") == "SELECT\n1;"
    assert "SELECT" in (tmp_path / "deep" / "history").read_text(encoding="utf-8")


def test_changes_are_shown_above_the_prompt(capsys):
    from prompt_toolkit.application import create_app_session
    from prompt_toolkit.output import DummyOutput

    shown = []

    class Terminal(DummyOutput):
        def write(self, data):
            shown.append(data)

        write_raw = write

    change = SimpleNamespace(step=1, view="v", rows=[(1, (7,)), (-1, (8,))])
    with create_app_session(output=Terminal()), above_prompt():
        TextOutput().write({"v": change})
        note("and a note")
    assert "step 1  v  -1  (8)\nstep 1  v  +1  (7)\nand a note\n" in "".join(shown).replace("\r", "")
    assert capsys.readouterr().out == ""


def test_a_history_that_cannot_be_written_is_done_without(monkeypatch, tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("", encoding="utf-8")
    monkeypatch.setenv("PENSTOCK_HISTORY", str(blocker / "history"))
    assert history_path() is None


def test_results_go_into_a_file_until_output_alone(tmp_path, capsys):
    file = tmp_path / "results.txt"
    typed = [".tables", ".nonsense", ".format json", "SHOW TABLES;", ".output", ".views", f".output {file}/x"]
    shell, _ = shell_over([f".output {file}", *typed])
    assert shell.loop()
    seen = capsys.readouterr()
    written = file.read_text(encoding="utf-8")
    assert "orders |" in written
    assert '{"table": "orders"' in written
    assert "orders" not in seen.out
    assert "UNKNOWN_COMMAND" in seen.err
    assert "CANNOT_ACCESS" in seen.err


def test_a_file_that_takes_nothing_is_said_and_left(capsys):
    shell, _ = shell_over([".output /dev/full", ".tables", ".output", ".tables"])
    assert shell.loop()
    seen = capsys.readouterr()
    assert "No space left" in seen.err
    assert "orders |" in seen.out


def test_the_file_is_left_with_the_shell(tmp_path, capsys):
    shell, _ = shell_over([f".output {tmp_path}/results.txt"])
    assert shell.loop()
    sys.stdout.write("after it")
    assert "after it" in capsys.readouterr().out


def test_who_reads_stdout_may_leave(monkeypatch):
    def gone(_):
        raise BrokenPipeError

    shell, _ = shell_over([".tables"])
    monkeypatch.setattr("sys.stdout", SimpleNamespace(write=gone, writelines=gone, isatty=lambda: False))
    with pytest.raises(BrokenPipeError):
        shell.loop()


def test_rows_are_laid_out_expanded(capsys):
    shell, _ = shell_over([".mode expanded", ".tables", ".mode table", ".tables", ".mode wide"])
    assert shell.loop()
    seen = capsys.readouterr()
    assert "-[ row 1 ]-\ntable | orders\nkey   |\nkind  | multiset\n(1 row)\ntable  | key | kind" in seen.out
    assert "UNKNOWN_FORMAT" in seen.err


def test_schema_says_whose_columns_they_are(capsys):
    shell, _ = shell_over([".schema", ".schema orders", ".schema nope"])
    assert shell.loop()
    seen = capsys.readouterr()
    assert seen.out.count("orders | amount   | int") == 2
    assert "UNKNOWN_RELATION" in seen.err
